"""A receiver of deliveries that does as it is told: what came, and what to answer next. Knows no socket.

It keeps one visible item per idempotency key, as a careful receiver does, and every request beside it, so that a
test can tell "sent twice" from "seen twice".
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pixivflow.sandbox.pulse import Pulse

Channel = Literal["submit", "callback", "ready", "outcome", "notify"]
CHANNELS: Final[tuple[Channel, ...]] = ("submit", "callback", "ready", "outcome", "notify")
ANSWERS: Final = (
    "accepted",
    "duplicate",
    "replay",
    "failed",
    "status",
    "slow",
    "stall",
    "stall_after",
    "drop_before",
    "drop_after",
)
"""`stall` holds a request that was read and not stored, `stall_after` one that was stored and not answered."""


def read_channel(name: object) -> Channel | None:
    """The channel of that name, None if there is none."""
    return next((channel for channel in CHANNELS if channel == name), None)


class ScriptError(ValueError):
    """A receiver script that cannot be used; the text says where and why."""


@dataclass(frozen=True, slots=True)
class Step:
    """One answer of a script."""

    answer: str = "accepted"
    status: int | None = None
    seconds: float = 0
    retry_after_s: float | None = None
    word: str | None = None
    """The `status` value inside the record, where the default of the answer is not wanted."""
    matched_key: str | None = None
    body: Any = None


@dataclass(slots=True)
class Script:
    """Answers to give in order, then one for the rest."""

    steps: deque[Step] = field(default_factory=deque)
    default: Step = Step()

    def take(self) -> Step:
        """The next answer."""
        return self.steps.popleft() if self.steps else self.default


def _is_status(value: Any) -> bool:
    return isinstance(value, int) and 200 <= value <= 599


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_STEP_CHECKS: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "answer": (lambda value: value in ANSWERS, f"must be one of {', '.join(ANSWERS)}"),
    "status": (_is_status, "must be a status from 200 to 599"),
    "seconds": (_is_number, "must be a number >= 0"),
    "retry_after_s": (_is_number, "must be a number >= 0"),
    "word": (_is_text, "must be a text"),
    "matched_key": (_is_text, "must be a text"),
    "body": (lambda _value: True, ""),
}


def read_step(value: Any, at: str) -> Step:
    """A step from a script: an object, or the name of an answer. Raises ScriptError."""
    if isinstance(value, str):
        value = {"answer": value}
    if not isinstance(value, Mapping):
        raise ScriptError(f"{at}: must be an object or one of {', '.join(ANSWERS)}")
    for key, inner in value.items():
        if key not in _STEP_CHECKS:
            raise ScriptError(f"{at}: unknown key '{key}'")
        check, problem = _STEP_CHECKS[key]
        if not check(inner):
            raise ScriptError(f"{at}.{key}: {problem}")
    if "answer" not in value:
        raise ScriptError(f"{at}.answer: is required")
    if value["answer"] == "status" and "status" not in value:
        raise ScriptError(f"{at}.status: is required by the answer 'status'")
    return Step(**value)


@dataclass(frozen=True, slots=True)
class Reply:
    """What to send back: a status with a JSON body, or a dropped connection."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    drop: bool = False


class Receiver:
    """One named receiver: its script, its items and everything it was sent."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.pulse = Pulse()
        self.token: str | None = None
        self.enforce_token = False
        self.clear()

    def clear(self) -> None:
        """Forget everything received and every script; the expected token stays."""
        self.items: list[dict[str, Any]] = []
        self.requests: list[dict[str, Any]] = []
        self.callbacks: list[dict[str, Any]] = []
        self.outcomes: list[dict[str, Any]] = []
        self.notices: list[dict[str, Any]] = []
        self.arrived = 0
        """Requests read to their end, whatever becomes of them (readiness probes are counted apart)."""
        self.ready_checks = 0
        self.dropped_unread = 0
        self._by_key: dict[str, dict[str, Any]] = {}
        self._scripts: dict[Channel, Script] = {channel: Script() for channel in CHANNELS}
        self.pulse.beat()

    def script(self, answers: Sequence[Any] = (), *, default: Any = "accepted", channel: Channel = "submit") -> None:
        """Set what a channel answers: `answers` in order, then `default`. Raises ScriptError."""
        steps = deque(read_step(answer, f"answers[{index}]") for index, answer in enumerate(answers))
        self._scripts[channel] = Script(steps, read_step(default, "default"))

    def read_script(self, document: Any) -> None:
        """Set a script from its JSON form. Raises ScriptError."""
        if isinstance(document, list):
            document = {"answers": document}
        if not isinstance(document, dict):
            raise ScriptError("a script is a list of answers or an object with 'answers'")
        if unknown := sorted(set(document) - {"answers", "default", "channel", "token", "enforce_token"}):
            raise ScriptError(f"unknown key '{unknown[0]}'")
        channel, answers = read_channel(document.get("channel", "submit")), document.get("answers", [])
        if channel is None:
            raise ScriptError(f"channel: must be one of {', '.join(CHANNELS)}")
        if not isinstance(answers, list):
            raise ScriptError("answers: must be a list")
        token = document.get("token", self.token)
        if token is not None and not isinstance(token, str):
            raise ScriptError("token: must be a text")
        self.script(answers, default=document.get("default", "accepted"), channel=channel)
        self.token, self.enforce_token = token, document.get("enforce_token", self.enforce_token) is True

    def kept(self, channel: Channel) -> list[dict[str, Any]]:
        """What came by a channel, in order of arrival (readiness probes are only counted)."""
        lists: dict[Channel, list[dict[str, Any]]] = {
            "submit": self.requests,
            "callback": self.callbacks,
            "outcome": self.outcomes,
            "notify": self.notices,
            "ready": [],
        }
        return lists[channel]

    def next_step(self, channel: Channel) -> Step:
        """Take the next answer of a channel."""
        return self._scripts[channel].take()

    def authorization(self, header: str | None) -> str:
        """How an Authorization header compares: absent, unchecked, right or wrong. The value itself is not kept."""
        if header is None:
            return "absent"
        if self.token is None:
            return "unchecked"
        return "right" if header == f"Bearer {self.token}" else "wrong"

    def refuses(self, authorization: str) -> bool:
        """Whether a request with that authorization is turned away with 401."""
        return self.enforce_token and self.token is not None and authorization != "right"

    def submitted(self, step: Step, request: dict[str, Any]) -> Reply:
        """Take a submission in and say what to answer. `request` is the description of what came."""
        self.requests.append(request)
        key = request.get("idempotency_key")
        reply = self._submission_reply(step, request, key)
        request["answered"] = "dropped" if reply.drop else reply.status
        self.pulse.beat()
        return reply

    def _submission_reply(self, step: Step, request: dict[str, Any], key: str | None) -> Reply:
        match step.answer:
            case "status":
                return _status_reply(step)
            case "failed":
                return Reply(step.status or 200, _ack(None, step.word or "failed"))
            case "duplicate":
                matched = step.matched_key or "earlier-delivery"
                ack = _ack("rv-earlier", step.word or "pending", reason="duplicate_existing", matched=matched)
                return Reply(step.status or 200, ack)
            case "replay":
                known = self._by_key.get(key or "")
                review = known["review_id"] if known else "rv-earlier"
                return Reply(
                    step.status or 200, _ack(review, step.word or "pending", reason="idempotency_key", matched=key)
                )
            case _:
                return self._store(step, request, key)

    def _store(self, step: Step, request: dict[str, Any], key: str | None) -> Reply:
        known = self._by_key.get(key) if key else None
        drop = step.answer == "drop_after"
        if known is not None:
            known["times"] += 1
            ack = _ack(known["review_id"], step.word or "pending", reason="idempotency_key", matched=key)
            return Reply(200, ack, drop=drop)
        item: dict[str, Any] = {
            "review_id": f"rv-{len(self.items) + 1}",
            "idempotency_key": key,
            "times": 1,
        }
        item.update((name, request[name]) for name in ("fields", "files", "json") if name in request)
        self.items.append(item)
        if key:
            self._by_key[key] = item
        return Reply(step.status or 201, _ack(item["review_id"], step.word or "pending"), drop=drop)

    def noticed(self, channel: Channel, step: Step, request: dict[str, Any]) -> Reply:
        """Take in a callback, outcome or notice and say what to answer."""
        self.kept(channel).append(request)
        match step.answer:
            case "status" | "failed":
                reply = _status_reply(step)
            case "duplicate" | "replay":
                reply = Reply(step.status or 409, {"status": "duplicate"})
            case _:
                reply = Reply(step.status or 200, {"status": "ok"}, drop=step.answer == "drop_after")
        request["answered"] = "dropped" if reply.drop else reply.status
        self.pulse.beat()
        return reply

    def document(self) -> dict[str, Any]:
        """Everything received, as JSON values."""
        return {
            "name": self.name,
            "items": self.items,
            "requests": self.requests,
            "callbacks": self.callbacks,
            "outcomes": self.outcomes,
            "notices": self.notices,
            "arrived": self.arrived,
            "ready_checks": self.ready_checks,
            "dropped_unread": self.dropped_unread,
            "scripted": {channel: len(script.steps) for channel, script in self._scripts.items()},
        }

    async def until(self, condition: Callable[[Receiver], bool]) -> None:
        """Wait until the condition holds for this receiver; it is looked at after every arrival."""
        await self.pulse.until(lambda: condition(self))


def ready_reply(step: Step) -> Reply:
    """What a readiness probe gets."""
    return (
        _status_reply(step) if step.answer in {"status", "failed"} else Reply(step.status or 200, {"status": "ready"})
    )


def _status_reply(step: Step) -> Reply:
    status = step.status or 500
    headers = {} if step.retry_after_s is None else {"Retry-After": str(int(step.retry_after_s))}
    return Reply(status, step.body if step.body is not None else {"error": f"scripted {status}"}, headers)


def _ack(review: str | None, word: str, *, reason: str | None = None, matched: str | None = None) -> dict[str, Any]:
    return {
        "data": {
            "review_id": review,
            "status": word,
            "reused": reason is not None,
            "reuse_reason": reason,
            "matched_idempotency_key": matched,
        }
    }
