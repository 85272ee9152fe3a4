"""Every body of the job surface that any test sees is held against the protocol's schema and its forbidden words.

`seen` stands in the clients the tests speak through, so that no test has to remember it; `check` is for bodies that
come another way (callbacks, files). The schema is the closed one: a key that is not described fails the test.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import jsonschema

from pixivflow.protocol import schema, words

_OPEN = ("capabilities", "jobs")
_SEEN: set[str] = set()


class WrongBody(AssertionError):
    """A body is not what the protocol says it is."""


def check(body: Any, name: str) -> None:
    """Fail unless a body is a `$defs/<name>` of the protocol, without a key it does not know and a word it forbids."""
    # The same answer comes again and again while a test waits; only the server's time differs.
    seal = f"{name}:{json.dumps({**body, 'server_time': 0} if 'server_time' in body else body, sort_keys=True)}"
    if seal in _SEEN and isinstance(body.get("server_time", 0), int):
        return
    problems = [
        f"{'/'.join(map(str, error.absolute_path)) or 'the body'}: {error.message}"
        for error in _validator(name).iter_errors(body)
    ]
    problems += [f"forbidden word at {found}" for found in words.in_body(body)]
    if problems:
        raise WrongBody(f"no {name}: {'; '.join(problems)[:2000]}\n{json.dumps(body, ensure_ascii=False)[:2000]}")
    if len(_SEEN) > 20_000:
        _SEEN.clear()
    _SEEN.add(seal)


def seen(method: str, path: str, status: int, body: Any) -> None:
    """Check the JSON answer to a request, where it is one of the job surface. `path` may have a query."""
    name = schema_of(method, path, status, body)
    if name is not None:
        check(body, name)


def schema_of(method: str, path: str, status: int, body: Any) -> str | None:
    """The schema an answer has to follow, None for what is not the job surface's."""
    parts = path.partition("?")[0].strip("/").split("/")
    if parts[0] not in _OPEN:
        return None
    if status >= 400:
        # The token check answers in the protocol's older shape.
        older = status in (401, 503) and isinstance(body, dict) and "status" in body
        return "Refusal" if older else "ErrorBody"
    if parts == ["capabilities"]:
        return "Capabilities"
    if parts == ["jobs"]:
        return "JobEnvelope" if method == "POST" else "JobPage"
    return {(): "Job", ("cancel",): "Job", ("events",): "EventPage", ("events", "ack"): "AckResult"}.get(
        tuple(parts[2:])
    )


@cache
def _validator(name: str) -> jsonschema.Draft202012Validator:
    definitions = schema.closed(schema.document())["$defs"]
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": definitions})
