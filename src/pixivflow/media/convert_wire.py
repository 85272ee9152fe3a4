"""The JSON that travels between `conversion` and its child process, read and written at both ends here."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pixivflow.domain.work import Frame
from pixivflow.media.convert import Converted, ConvertOptions, ConvertRequest
from pixivflow.media.ugoira import UgoiraLimits
from pixivflow.media.verdict import Broken, BrokenReason


def encode_request(request: ConvertRequest) -> bytes:
    """One line of JSON, ended by a line feed."""
    document = {
        "archive": str(request.archive),
        "frames": [[frame.file, frame.delay_ms] for frame in request.frames],
        "out": str(request.out_path),
        "options": asdict(request.options),
        "limits": asdict(request.limits),
    }
    return json.dumps(document).encode("ascii") + b"\n"


def decode_request(line: bytes) -> ConvertRequest:
    """The inverse of `encode_request`; only our own parent process writes this, so a mistake raises."""
    document = json.loads(line)
    return ConvertRequest(
        archive=Path(document["archive"]),
        frames=tuple(Frame(file, delay) for file, delay in document["frames"]),
        out_path=Path(document["out"]),
        options=ConvertOptions(**document["options"]),
        limits=UgoiraLimits(**document["limits"]),
    )


def encode_outcome(outcome: Converted | Broken) -> bytes:
    """One JSON document."""
    document: dict[str, Any]
    if isinstance(outcome, Broken):
        document = {"broken": {"reason": outcome.reason.value, "detail": outcome.detail}}
    else:
        document = {"converted": {**asdict(outcome), "path": str(outcome.path)}}
    return json.dumps(document).encode("ascii")


def decode_outcome(data: bytes) -> Converted | Broken | None:
    """What the child said, or None when it did not get so far as to say something whole."""
    try:
        document = json.loads(data)
        if "broken" in document:
            said = document["broken"]
            return Broken(BrokenReason(said["reason"]), str(said["detail"]))
        said = document["converted"]
        return Converted(**{**said, "path": Path(said["path"])})
    except (ValueError, KeyError, TypeError):
        return None
