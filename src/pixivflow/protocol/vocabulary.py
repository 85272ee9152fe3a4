"""The closed set of error codes with their retryable defaults, and the total map from internal reasons, as data."""

from __future__ import annotations

from typing import Any

from pixivflow.domain.reason import CODE_OF, OUTAGES, RETRYABLE, Code, Reason, code_of


def errors() -> dict[str, Any]:
    """What stands in `protocol/v1/errors.json`.

    `retryable` is the default; the flag in a body wins over it. `absent_or_unknown` is the code of a job that ended
    without a stored reason, or with one that is not in the list.
    """
    return {
        "codes": [{"code": code.value, "retryable": RETRYABLE[code]} for code in Code],
        "reasons": [
            {"reason": reason.value, "code": CODE_OF[reason].value, "outage": reason in OUTAGES} for reason in Reason
        ],
        "absent_or_unknown": code_of(None).value,
    }
