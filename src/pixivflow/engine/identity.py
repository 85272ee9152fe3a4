"""The identity of a job: the same request always makes the same id, whoever asks and however often."""

from __future__ import annotations

import hashlib
import re

_PLAIN = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}\Z")


def manual_job_id(plan_id: str, key: str) -> str:
    """The id of a requested job.

    A plain key stands in the id as it is (lower-cased). Any other key is represented by the first 128 bits of its
    SHA-256, so that ids stay safe in URLs and on terminals whatever a caller chose as a key.
    """
    folded = key.lower()
    if _PLAIN.match(folded):
        return f"{plan_id}@manual-{folded}"
    return f"{plan_id}@manual-x{hashlib.sha256(folded.encode()).hexdigest()[:32]}"
