"""Both loggers through one pipe, as JSON for programs and as lines for people, without secrets."""

from __future__ import annotations

import io
import json
import logging

import pytest
import structlog

from pixivflow.observability import logs

SECRET = "pL4nt3d-S3cret_value"


@pytest.fixture
def pipe():
    root, stream = logging.getLogger(), io.StringIO()
    level, raising = root.level, logging.raiseExceptions
    yield stream
    for handler in list(root.handlers):
        if getattr(handler, "pixivflow", False):
            root.removeHandler(handler)
    root.setLevel(level)
    logging.raiseExceptions = raising
    structlog.reset_defaults()


def test_both_loggers_write_json_lines(pipe):
    logs.configure("info", stream=pipe)
    logging.getLogger("room").info("plain %s", "text", extra={"job_id": "j1"})
    structlog.stdlib.get_logger("other").info("event", attempt=2)
    first, second = (json.loads(line) for line in pipe.getvalue().splitlines())
    assert (first["level"], first["logger"], first["event"], first["job_id"]) == ("info", "room", "plain text", "j1")
    assert (second["logger"], second["event"], second["attempt"]) == ("other", "event", 2)
    assert list(first)[:4] == ["ts", "level", "logger", "event"]


def test_levels_and_quiet_libraries(pipe):
    logs.configure("warn", stream=pipe)
    logging.getLogger("room").info("unheard")
    logging.getLogger("uvicorn.error").info("chatter")
    logging.getLogger("room").warning("heard")
    assert [json.loads(line)["event"] for line in pipe.getvalue().splitlines()] == ["heard"]
    logs.configure("info", stream=pipe)
    logging.getLogger("aiohttp.client").info("chatter")
    assert "chatter" not in pipe.getvalue()


def test_configuring_twice_writes_once(pipe):
    logs.configure("info", stream=pipe)
    logs.configure("info", stream=pipe)
    logging.getLogger("room").info("once")
    assert len(pipe.getvalue().splitlines()) == 1


@pytest.mark.parametrize("human", [True, False])
def test_planted_secrets_do_not_come_out(pipe, human):
    logs.configure("debug", stream=pipe, human=human)
    log = logging.getLogger("room")
    log.info("GET /auth refresh_token=%s", SECRET)
    log.info("headers", extra={"headers": {"Authorization": f"Bearer {SECRET}"}})
    structlog.stdlib.get_logger("x").warning("signed", url=f"https://h/p?X-Amz-Signature={SECRET}", token=SECRET)
    try:
        int(f"password={SECRET}")
    except ValueError:
        log.exception("it failed")
    assert SECRET not in pipe.getvalue()
    assert "it failed" in pipe.getvalue()
    assert "ValueError" in pipe.getvalue()


def test_a_line_for_people_cannot_be_forged(pipe):
    logs.configure("info", stream=pipe, human=True)
    logging.getLogger("room").info("title \x1b[31m\n12:00:00 error    forged")
    assert len(pipe.getvalue().splitlines()) == 1
    assert "\x1b" not in pipe.getvalue()


def test_json_lines_cannot_be_forged(pipe):
    logs.configure("info", stream=pipe, human=False)
    logging.getLogger("room").info('x\n{"level": "error"}')
    assert len(pipe.getvalue().splitlines()) == 1
