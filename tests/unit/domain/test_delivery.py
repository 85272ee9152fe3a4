"""What an answer leads to."""

from __future__ import annotations

import pytest

from pixivflow.domain.cell import CellState
from pixivflow.domain.delivery import (
    DELIVERY_ATTEMPTS,
    Answer,
    AnswerClass,
    DeliveryState,
    OutboxState,
    delivery_key,
    settlement,
)
from pixivflow.domain.event import EventKind
from pixivflow.domain.reason import Code, Reason, code_of
from pixivflow.domain.work import WorkRef, WorkType


def test_the_key_names_the_work_the_route_and_the_cell() -> None:
    ref = WorkRef(WorkType.NOVEL, "7")
    assert delivery_key("main", ref, "p@1", "t") == "pixivflow:main:novel:7:p@1:t"


@pytest.mark.parametrize("kind", [AnswerClass.ACCEPTED, AnswerClass.REPLAYED])
def test_a_yes_submits(kind: AnswerClass) -> None:
    end = settlement(Answer(kind), attempt=1)
    assert (end.outbox, end.delivery, end.pick) == (OutboxState.DONE, DeliveryState.DELIVERED, CellState.SUBMITTED)
    assert (end.event, end.reason) == (EventKind.OUTBOX_DELIVERED, None)


def test_a_work_the_receiver_had_is_a_duplicate_not_a_success() -> None:
    end = settlement(Answer(AnswerClass.DUPLICATE, error_class="duplicate"), attempt=1)
    assert (end.outbox, end.delivery, end.pick) == (OutboxState.DONE, DeliveryState.DUPLICATE, CellState.DUPLICATE)


def test_a_fault_waits_until_the_last_try_and_ends_then() -> None:
    fault = Answer(AnswerClass.RETRYABLE, error_class="remote_5xx")
    for attempt in range(1, DELIVERY_ATTEMPTS):
        wait = settlement(fault, attempt=attempt)
        assert (wait.outbox, wait.delivery, wait.pick) == (OutboxState.RETRY_WAIT, DeliveryState.PENDING, None)
    end = settlement(fault, attempt=DELIVERY_ATTEMPTS)
    assert (end.outbox, end.delivery, end.pick) == (OutboxState.DEAD, DeliveryState.DEAD, CellState.FAILED)
    assert code_of(end.reason) is Code.DELIVERY_FAILED


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(AnswerClass.FAILED_INSIDE, error_class="remote_rejected"), Reason.DELIVERY_REJECTED),
        (Answer(AnswerClass.PERMANENT, error_class="remote_4xx"), Reason.DELIVERY_REJECTED),
        (Answer(AnswerClass.PERMANENT, error_class="configuration_error"), Reason.CONFIGURATION_ERROR),
        (Answer(AnswerClass.PERMANENT, error_class="invalid_payload"), Reason.DELIVERY_FAILED),
        (Answer(AnswerClass.PERMANENT), Reason.DELIVERY_REJECTED),
    ],
)
def test_a_no_ends_at_once(answer: Answer, reason: Reason) -> None:
    end = settlement(answer, attempt=1)
    assert (end.outbox, end.delivery, end.pick) == (OutboxState.DEAD, DeliveryState.FAILED, CellState.FAILED)
    assert (end.event, end.reason) == (EventKind.OUTBOX_DEAD, reason)


@pytest.mark.parametrize("kind", list(AnswerClass))
def test_every_class_has_a_consequence(kind: AnswerClass) -> None:
    end = settlement(Answer(kind), attempt=1)
    assert (end.pick is CellState.FAILED) == (end.reason is not None)
