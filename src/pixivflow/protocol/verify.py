"""Running the acceptance list against a producer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from pixivflow.protocol.acceptance import POINTS
from pixivflow.protocol.point import Need, Point
from pixivflow.protocol.session import Failed, HttpPort, Plan, Session, Skipped


class Verdict(StrEnum):
    """How a point came out."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    FAIL = "fail"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One point and how it came out; `why` is empty where it holds."""

    point: Point
    verdict: Verdict
    why: str = ""


_ALLOW = {
    Need.SUBMIT: "submits a job; allow it with --submit",
    Need.CANCEL: "submits a second job and cancels it; allow it with --cancel",
    Need.LEGACY: "orders by the older route; allow it with --legacy",
}


async def verify(
    port: HttpPort,
    plan: Plan,
    *,
    new_key: Callable[[], str],
    sleep: Callable[[float], Awaitable[None]],
    clock: Callable[[], float],
    told: Callable[[Outcome], None],
    points: Iterable[Point] = POINTS,
) -> list[Outcome]:
    """Run every point that is allowed, in order. `told` hears of each as soon as it is known.

    Raises:
        Unreachable: the producer does not answer, or stopped answering; `told` has heard of what came before.
    """
    session = Session(port, plan, new_key, sleep, clock)
    outcomes = []
    for point in points:
        outcome = await _judge(point, session)
        told(outcome)
        outcomes.append(outcome)
    return outcomes


async def _judge(point: Point, session: Session) -> Outcome:
    if point.strict and not session.plan.strict:
        return Outcome(point, Verdict.SKIP, "asked for with --strict")
    if point.needs not in session.plan.allowed:
        return Outcome(point, Verdict.SKIP, _ALLOW[point.needs])
    try:
        await point.run(session)
    except Failed as failed:
        return Outcome(point, Verdict.FAIL, str(failed))
    except Skipped as skipped:
        return Outcome(point, Verdict.SKIP, str(skipped))
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        # A point reads what another producer sent; a shape it did not expect is that producer's failure.
        return Outcome(point, Verdict.FAIL, f"an answer has a shape that cannot be read ({type(error).__name__})")
    return Outcome(point, Verdict.PASS)
