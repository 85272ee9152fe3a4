"""Run a conversion where it cannot hurt: in a child process with bounded memory that dies at a cancel or a deadline.

Decoders are native code fed with bytes from outside. In a process of their own a crash, a hang or a memory bomb costs
one outcome instead of the service; and unlike a thread a process can be stopped in the middle of an encoder call.
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress

from pixivflow.media.convert import Converted, ConvertOptions, ConvertRequest, Format
from pixivflow.media.convert_wire import decode_outcome, encode_request
from pixivflow.media.convert_worker import MEMORY_BYTES_VARIABLE
from pixivflow.media.verdict import Broken, BrokenReason

__all__ = ["ConvertOptions", "ConvertRequest", "Converted", "Format", "run_conversion"]

MEMORY_BYTES_DEFAULT = 2 * 1024**3
_OUTCOME_BYTES_MAX = 64 * 1024
# Nothing else of the environment: it may hold secrets, and the child has no use for them.
_PASSED_ON = frozenset({"PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP"})


async def run_conversion(
    request: ConvertRequest,
    *,
    timeout_s: float,
    cancel: asyncio.Event | None = None,
    memory_bytes: int = MEMORY_BYTES_DEFAULT,
) -> Converted | Broken:
    """Convert in a child process and return its outcome.

    When `cancel` is set, when `timeout_s` seconds have passed, or when the calling task is cancelled, the child is
    killed and the unfinished file removed before this returns (or raises `CancelledError`, in the last case).
    """
    if cancel is not None and cancel.is_set():
        return Broken(BrokenReason.CANCELLED, "cancelled before the start")
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # the folder we happen to stand in must not offer modules to the child
        "-m",
        "pixivflow.media.convert_worker",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=_environment(memory_bytes),
        limit=_OUTCOME_BYTES_MAX,
        start_new_session=True,  # a Ctrl-C at the terminal is for the parent, which then stops the child in its order
    )
    conversation = asyncio.create_task(_converse(child, request), name="ugoira-conversion")
    stop = asyncio.create_task(_until_set(cancel), name="ugoira-conversion-cancel")
    try:
        done, _ = await asyncio.wait({conversation, stop}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        if conversation in done:
            outcome = conversation.result()
        elif stop in done:
            outcome = Broken(BrokenReason.CANCELLED, "cancelled while converting")
        else:
            outcome = Broken(BrokenReason.TIMEOUT, f"not finished after {timeout_s:g} s")
    except BaseException:
        await _end(child, conversation, stop)
        _remove_part(request)
        raise
    await _end(child, conversation, stop)
    if isinstance(outcome, Broken):
        _remove_part(request)
    return outcome


async def _converse(child: asyncio.subprocess.Process, request: ConvertRequest) -> Converted | Broken:
    assert child.stdin is not None  # noqa: S101 - both were asked for as pipes
    assert child.stdout is not None  # noqa: S101
    with suppress(BrokenPipeError, ConnectionResetError):  # it died early; its exit status tells
        child.stdin.write(encode_request(request))
        await child.stdin.drain()
    said = await child.stdout.read(_OUTCOME_BYTES_MAX)
    while more := await child.stdout.read(_OUTCOME_BYTES_MAX - len(said)):
        said += more
    status = await child.wait()
    outcome = decode_outcome(said) if status == 0 else None
    return outcome or Broken(BrokenReason.CRASHED, f"the converter ended with status {status} and no outcome")


async def _until_set(cancel: asyncio.Event | None) -> None:
    await (asyncio.Event() if cancel is None else cancel).wait()


async def _end(child: asyncio.subprocess.Process, *tasks: asyncio.Task[object]) -> None:
    with suppress(ProcessLookupError):
        child.kill()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    if child.stdin is not None:
        child.stdin.close()
    # Waited for, so that no process is left behind and the file it was writing is at rest before it is removed.
    await child.wait()


def _remove_part(request: ConvertRequest) -> None:
    with suppress(OSError):
        request.out_path.with_name(request.out_path.name + ".part").unlink()


def _environment(memory_bytes: int) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name.upper() in _PASSED_ON}
    return {**kept, MEMORY_BYTES_VARIABLE: str(memory_bytes)}
