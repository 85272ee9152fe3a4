"""Repeatable pseudo-random streams: same seed and name, same numbers, on every machine and Python version."""

from __future__ import annotations

import hashlib
import random


def stream(*name: object) -> random.Random:
    """A generator of its own for one named thing, so that adding a draw in one place never shifts another."""
    return random.Random("/".join(map(str, name)))  # noqa: S311 - invented pictures and titles, nothing secret


def digest(*name: object) -> str:
    """32 hexadecimal digits that stand for a name, for hashes inside URLs."""
    return hashlib.sha256("/".join(map(str, name)).encode()).hexdigest()[:32]


def number(*name: object) -> int:
    """A stable whole number in 0 .. 2**32-1 for a name; cheaper than a whole stream where one number is enough."""
    return int.from_bytes(hashlib.sha256("/".join(map(str, name)).encode()).digest()[:4], "big")
