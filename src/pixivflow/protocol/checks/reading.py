"""What can be asked of a producer without changing anything there."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import msgspec

from pixivflow.api import wire
from pixivflow.protocol.point import Part
from pixivflow.protocol.session import Failed, Session, Skipped, Token, expect, job_path, shown
from pixivflow.protocol.shapes import error_faults

PART = Part()


@PART.point("capabilities", "GET /capabilities declares version 1 and candidate_search", section="5.6")
async def capabilities(session: Session) -> None:
    body = await session.want(200, "GET", "/capabilities")
    versions = body.get("protocol_versions")
    major = [str(version).partition(".")[0] for version in versions] if isinstance(versions, list) else []
    expect("1" in major, f"protocol_versions is {shown(versions)}")
    kinds = body.get("job_types")
    names = [kind.get("name") for kind in kinds if isinstance(kind, dict)] if isinstance(kinds, list) else []
    expect("candidate_search" in names, f"job_types names {shown(names)}")


@PART.point("token", "without the token, or with another one, nothing is read", section="2")
async def token(session: Session) -> None:
    for kind in (Token.NONE, Token.WRONG):
        for path in ("/capabilities", "/jobs?idempotency_key=x"):
            answer = await session.ask("GET", path, token=kind)
            expect(answer.status == 401, f"GET {path} answers {answer.status} with {kind.value} token")


@PART.point("unknown-job", "an unknown job is a 404 with code invalid_params", section="2")
async def unknown_job(session: Session) -> None:
    body = await session.want(404, "GET", job_path(session.new_key()))
    faults = error_faults(body)
    expect(not faults, "; ".join(faults))
    expect(body["error"]["code"] == "invalid_params", f"its code is {shown(body['error']['code'])}")


@PART.point("unknown-key", "GET /jobs of a key nobody used is an empty page", section="3")
async def unknown_key(session: Session) -> None:
    body = await session.want(200, "GET", f"/jobs?idempotency_key={quote(session.new_key(), safe='')}")
    expect(body.get("jobs") == [], f"jobs is {shown(body.get('jobs'))}")


@PART.point("capabilities-whole", "every job type has its features and its four budgets", section="5.6", strict=True)
async def capabilities_whole(session: Session) -> None:
    described(await session.want(200, "GET", "/capabilities"), wire.Capabilities)


@PART.point("list", "GET /jobs lists without a key, and refuses a limit that is none", section="18.10", strict=True)
async def listing(session: Session) -> None:
    described(await session.want(200, "GET", "/jobs?limit=1"), wire.JobPage)
    for query in ("limit=0", "limit=many", "status=unheard-of", "idempotency_key=%20"):
        answer = await session.ask("GET", f"/jobs?{query}")
        expect(answer.status == 400, f"GET /jobs?{query} answers {answer.status}")


@PART.point(
    "routes", "unknown routes and wrong methods under /jobs answer the error envelope", section="2", strict=True
)
async def routes(session: Session) -> None:
    for method, path, statuses in (
        ("GET", "/jobs/a/b/c", (404,)),
        ("GET", "/jobs/a/cancel", (404, 405)),
        ("DELETE", "/jobs", (404, 405)),
    ):
        faults = error_faults(await session.want(statuses, method, path))
        expect(not faults, f"{method} {path}: {'; '.join(faults)}")


@PART.point("published", "the schema of every object is served", section="5", strict=True)
async def published(session: Session) -> None:
    body = await session.want(200, "GET", "/protocol/v1/schema.json")
    definitions = body.get("$defs")
    expect(isinstance(definitions, dict), "it has no $defs")
    named = (await session.want(200, "GET", "/capabilities")).get("job_types")
    if not isinstance(named, list):
        raise Skipped("capabilities names no job types")
    for kind in named:
        for key in ("params_schema", "result_schema"):
            name = str(kind.get(key)).removeprefix("#/$defs/")
            expect(name in (definitions or {}), f"{shown(kind.get('name'))}.{key} is {shown(kind.get(key))}: not there")


def described(body: Any, kind: type[Any]) -> None:
    """Fail unless a body is what our types say. Keys they do not know are ignored, as a reader must."""
    try:
        msgspec.convert(body, kind)
    except msgspec.ValidationError as error:
        raise Failed(shown(error)) from None
