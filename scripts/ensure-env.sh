#!/bin/sh
# Find a Python that can run PixivFlow and let it bring the virtual environment up to date.
# Usage: ensure-env.sh runtime|full     (reads VENV and PYTHON from the environment)
set -eu

cd "$(dirname "$0")/.."
: "${VENV:=.venv}" "${PYTHON:=}"

# A shim may exist for a version that is not there, and a Python may lack the parts that make environments:
# so each candidate is tried, not only looked up.
usable() {
    "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

if [ -n "$PYTHON" ]; then
    if ! usable "$PYTHON"; then
        echo "PYTHON=$PYTHON cannot be used: Python 3.11 or newer with the venv module is needed." >&2
        exit 2
    fi
    exec "$PYTHON" scripts/environment.py "$VENV" "$1"
fi

# The interpreter an existing environment was made with comes first: a second run must not rebuild it.
for candidate in "$VENV/bin/python" python3.13 python3.12 python3.11 python3 python python3.14; do
    if usable "$candidate"; then
        exec "$candidate" scripts/environment.py "$VENV" "$1"
    fi
done

cat >&2 <<'END'
No usable Python found. PixivFlow needs Python 3.11 or newer with its venv module
(on Debian and Ubuntu: the packages python3 and python3-venv).
Point to one with: make PYTHON=/path/to/python3.12 ...
END
exit 2
