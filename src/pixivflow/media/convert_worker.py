"""The child process of a conversion: ``python -m pixivflow.media.convert_worker``.

One request as a line of JSON on standard input, one outcome as JSON on standard output. Standard input stays open
for as long as the parent lives: when it closes, the child ends at once, so that a killed parent leaves no orphan
burning a core. A watch on the parent's process id would not notice a parent that was replaced.
"""

from __future__ import annotations

import os
import sys
import threading

from pixivflow.media.convert import convert
from pixivflow.media.convert_wire import decode_request, encode_outcome

MEMORY_BYTES_VARIABLE = "PIXIVFLOW_CONVERT_MEMORY_BYTES"
_PARENT_GONE = 75


def main() -> int:
    """Serve one request."""
    _bound_memory(os.environ.get(MEMORY_BYTES_VARIABLE, ""))
    line = sys.stdin.buffer.readline()
    if not line:
        return _PARENT_GONE
    request = decode_request(line)
    threading.Thread(target=_end_with_parent, name="parent-watch", daemon=True).start()
    outcome = convert(request)
    sys.stdout.buffer.write(encode_outcome(outcome))
    sys.stdout.buffer.flush()
    # Not a plain return: the watching thread still holds the lock of standard input, which the interpreter's orderly
    # shutdown would want.
    os._exit(0)


def _end_with_parent() -> None:
    # The descriptor itself, because a buffered reader cannot be shared with the main thread.
    while os.read(0, 4096):
        pass
    os._exit(_PARENT_GONE)


def _bound_memory(text: str) -> None:
    """Let the system refuse memory beyond the bound, where it can (not on Windows)."""
    if not text.isdecimal() or sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - does not exist on every platform

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = int(text) if hard == resource.RLIM_INFINITY else min(int(text), hard)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))


if __name__ == "__main__":
    sys.exit(main())
