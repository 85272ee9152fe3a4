"""`pixivflow` and `python -m pixivflow`. Imports almost nothing, so that `--help` and `--version` are quick."""

from __future__ import annotations

import sys


def main(argv: list[str] | None = None) -> int:
    """Run one command line. Returns the exit status; see `cli.exits`."""
    try:
        from pixivflow.cli import front

        return front.main(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:
        # Before a command has begun there is nothing to tell.
        return 130


if __name__ == "__main__":
    sys.exit(main())
