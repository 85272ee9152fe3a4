"""Write protocol/v1/: schema, errors, acceptance list and fixtures; with --check say whether they are in step.

python scripts/gen_protocol.py [--check]

Fixtures are bodies of ours. What can be answered without collecting anything is recorded from the real application on
a ledger in a temporary folder, with a clock that stands; the rest is fixed records put through the same projection.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pixivflow.api.app import Application, create_app
from pixivflow.api.auth import Tokens
from pixivflow.bootstrap import Stack
from pixivflow.config import load_config
from pixivflow.protocol import samples, schema, vocabulary
from pixivflow.protocol.acceptance import listed
from pixivflow.protocol.samples import FULL_TASK, MINIMAL_TASK, T0, TARGET, Sample

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "protocol" / "v1"
TOKEN = "an-invented-token"  # noqa: S105 - never leaves this process
_ROUTE = {
    "type": "httpMultipart",
    "url": "http://receiver.example/works",
    "refetchOutcomeUrl": "http://receiver.example/outcomes",
    "fields": {"refetch_request_id": "{{refetchRequestId}}"},
}


def render() -> dict[str, str]:
    """Every file by its path below protocol/v1/."""
    files = {
        "schema.json": schema.encoded().decode(),
        "errors.json": _text(vocabulary.errors()),
        "acceptance.json": _text(listed()),
    }
    found = {**samples.samples(), **asyncio.run(_record())}
    for name, sample in found.items():
        files[f"fixtures/{name}.json"] = _text(sample.body)
    index = [
        {"file": f"{name}.json", "schema": sample.schema, "request": sample.request, "status": sample.status}
        for name, sample in sorted(found.items())
    ]
    files["fixtures/index.json"] = _text(index)
    return files


class _Standing:
    """A clock that moves only by a second for each request."""

    def __init__(self) -> None:
        self.ms = T0

    def now_ms(self) -> int:
        return self.ms

    def now(self) -> float:
        return self.ms / 1000

    def monotonic(self) -> float:
        return self.ms / 1000

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


Ask = Callable[..., Any]


async def _record() -> dict[str, Sample]:
    one = [_target(TARGET)]
    found: dict[str, Sample] = {}

    async with _application([*one, _target("weekly-dogs")], twice=TARGET) as ask:
        found["error-ambiguous-target"] = await ask("ErrorBody", "POST", "/jobs", {**MINIMAL_TASK, "params": {}})
        found["error-ambiguous-plans"] = await ask("ErrorBody", "POST", "/jobs", MINIMAL_TASK)
    async with _application([_target(TARGET, delivery={"targets": []})]) as ask:
        found["error-no-eligible-target"] = await ask("ErrorBody", "POST", "/jobs", {**MINIMAL_TASK, "params": {}})
    async with _application(one) as ask:
        found["capabilities"] = await ask("Capabilities", "GET", "/capabilities")
        found["job-accepted"] = await ask("JobEnvelope", "POST", "/jobs", FULL_TASK)
        found["job-replayed"] = await ask("JobEnvelope", "POST", "/jobs", FULL_TASK)
        path = f"/jobs/{found['job-accepted'].body['job']['job_id'].replace('@', '%40')}"
        found["job-page"] = await ask("JobPage", "GET", f"/jobs?idempotency_key={FULL_TASK['idempotency_key']}")
        found["event-page"] = await ask("EventPage", "GET", f"{path}/events?unacked=1")
        ack = {"ack_through": found["event-page"].body["events"][-1]["event_id"]}
        found["ack-request"] = Sample("AckRequest", "POST /jobs/{job_id}/events/ack", None, ack)
        found["ack-result"] = await ask("AckResult", "POST", f"{path}/events/ack", ack)
        for name, change in _REFUSED.items():
            task = {**FULL_TASK, "idempotency_key": f"fresh-{name}", **change}
            found[f"error-{name}"] = await ask("ErrorBody", "POST", "/jobs", task)
        found["error-unknown-job"] = await ask("ErrorBody", "GET", "/jobs/nobody-made-this")
        found["error-unknown-route"] = await ask("ErrorBody", "GET", "/jobs/a/b/c")
        found["error-wrong-method"] = await ask("ErrorBody", "PUT", "/jobs")
        found["error-query"] = await ask("ErrorBody", "GET", "/jobs?limit=none")
        found["refusal-unauthorized"] = await ask("Refusal", "GET", "/jobs", token="another")  # noqa: S106 - invented
        found["job-cancelled"] = await ask("Job", "POST", f"{path}/cancel")
        found["event-page-ended"] = await ask("EventPage", "GET", f"{path}/events")
    return found


_REFUSED: dict[str, dict[str, Any]] = {
    "idempotency-conflict": {"idempotency_key": FULL_TASK["idempotency_key"], "params": MINIMAL_TASK["params"]},
    "unknown-target": {"params": {"target_id": "nothing-of-ours"}},
    "account-unavailable": {"params": {"target_id": TARGET, "source": {"account": "somebody-else"}}},
    "work-type-not-available": {"params": {"target_id": TARGET, "constraints": {"work_types": ["novel"]}}},
    "callback-not-allowed": {"callback_url": "file:///etc/passwd"},
}


def _target(ident: str, **changes: Any) -> dict[str, Any]:
    return {"id": ident, "type": "illustration", "tag": "猫", "delivery": {"targets": ["main"]}, **changes}


@asynccontextmanager
async def _application(targets: list[dict[str, Any]], twice: str | None = None) -> AsyncIterator[Ask]:
    """The application over a fresh ledger on which nothing runs, and how it is asked."""
    plan = {"id": "daily", "cron": "0 8 * * *", "timezone": "UTC", "targetIds": [target["id"] for target in targets]}
    other = [{**plan, "id": "weekly", "targetIds": [twice]}] if twice else []
    document = {
        "pixiv": {"refreshToken": "an-invented-token"},
        "storage": {"databasePath": "data/ledger.db", "downloadDirectory": "library"},
        "delivery": {"targets": {"main": _ROUTE}},
        "targets": targets,
        "schedules": [plan, *other],
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        loaded = load_config(path, env={})
        if loaded.config is None:
            raise RuntimeError(f"the configuration of the recording is wrong: {loaded.problems}")
        clock = _Standing()
        stack = await Stack.open(loaded.config, purpose="recording", clock=clock)
        app = create_app(stack.service, Tokens(TOKEN), now_ms=clock.now_ms)

        async def ask(name: str, method: str, path: str, body: object = None, token: str = TOKEN) -> Sample:
            clock.ms += 1000
            status, answer = await _exchange(app, method, path, body, token)
            return Sample(name, f"{method} {path}", status, answer)

        try:
            yield ask
        finally:
            await stack.stop(0.0)


async def _exchange(app: Application, method: str, path: str, body: object, token: str) -> tuple[int, Any]:
    sent: list[Any] = []
    raw, _, query = path.partition("?")

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"" if body is None else json.dumps(body).encode()}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": raw.replace("%40", "@"),
        "raw_path": raw.encode(),
        "query_string": query.encode(),
        "headers": [(b"authorization", f"Bearer {token}".encode())],
    }
    await app(scope, receive, send)
    return sent[0]["status"], json.loads(b"".join(part.get("body", b"") for part in sent[1:]))


def _text(document: Any) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> int:
    """Write the files, or compare them."""
    if arguments not in ([], ["--check"]):
        print("usage: gen_protocol.py [--check]", file=sys.stderr)
        return 2
    files = render()
    there = {str(path.relative_to(FOLDER)): path for path in FOLDER.rglob("*.json")}
    if arguments:
        wrong = [name for name, text in files.items() if name not in there or there[name].read_text("utf-8") != text]
        wrong += sorted(there.keys() - files.keys())
        for name in wrong:
            print(f"protocol/v1/{name} is not in step with the code; run `make docs`", file=sys.stderr)
        return 1 if wrong else 0
    for name in there.keys() - files.keys():
        there[name].unlink()
    for name, text in files.items():
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
