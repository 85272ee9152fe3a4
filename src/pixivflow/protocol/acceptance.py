"""The acceptance list of Workflow Protocol v1, whole and in order."""

from __future__ import annotations

from typing import Any

from pixivflow.protocol.checks import cancelling, everything, legacy, reading, story, submitting
from pixivflow.protocol.point import Point

POINTS: tuple[Point, ...] = (
    *reading.PART,
    *submitting.PART,
    *story.PART,
    *cancelling.PART,
    *legacy.PART,
    *everything.PART,  # last: it judges every answer there was
)


def listed() -> dict[str, Any]:
    """What stands in `protocol/v1/acceptance.json`."""
    return {
        "protocol": "1",
        "points": [
            {
                "id": point.id,
                "title": point.title,
                "section": point.section,
                "needs": point.needs.value,
                "strict": point.strict,
            }
            for point in POINTS
        ],
    }
