"""Where a text may be cut without breaking what a reader sees as one character. Pure.

An approximation of Unicode's extended grapheme clusters (UAX 29) with the standard library's data: combining marks,
variation selectors, emoji joined by ZWJ, skin tones, flags, tag sequences and conjoining Hangul. It may keep a little
more together than the full algorithm does, never less of those, which is the safe side for cutting names.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

ZWJ = "\u200d"
_EXTENDERS = frozenset("\uff9e\uff9f")  # half-width voicing marks: letters by category, yet part of the kana before
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_TAGS = range(0xE0020, 0xE0080)
_FLAG_LETTERS = range(0x1F1E6, 0x1F200)
_HANGUL_TAILS = range(0x1160, 0x1200)
_PICTOGRAPHS = (
    range(0x1F000, 0x1FB00),
    range(0x2190, 0x2C00),
    frozenset({0xA9, 0xAE, 0x203C, 0x2049, 0x2122, 0x2139, 0x3030, 0x303D, 0x3297, 0x3299}),
)


def is_pictograph(char: str) -> bool:
    """Whether `char` can be a part of an emoji sequence on either side of a ZWJ."""
    return any(ord(char) in block for block in _PICTOGRAPHS)


def clusters(text: str) -> Iterator[str]:
    """The characters a reader would count, in order; joined they are `text`."""
    current = ""
    for char in text:
        if current and not _continues(current, char):
            yield current
            current = ""
        current += char
    if current:
        yield current


def cut(text: str, max_bytes: int) -> str:
    """The longest beginning of `text` that ends between clusters and takes at most `max_bytes` bytes of UTF-8.

    A first cluster that alone is longer, such as a letter under a tower of marks, is cut between code points.
    """
    kept: list[str] = []
    used = 0
    for cluster in clusters(text):
        size = len(cluster.encode("utf-8"))
        if used + size > max_bytes:
            if not kept:
                return cluster.encode("utf-8")[: max(0, max_bytes)].decode("utf-8", "ignore")
            break
        kept.append(cluster)
        used += size
    return "".join(kept)


def _continues(cluster: str, char: str) -> bool:
    code = ord(char)
    if code in _FLAG_LETTERS:
        # Flags are pairs: a third letter begins the next flag.
        return len(cluster) == 1 and ord(cluster) in _FLAG_LETTERS
    return (
        char == ZWJ
        or cluster.endswith(ZWJ)
        or char in _EXTENDERS
        or code in _SKIN_TONES
        or code in _TAGS
        or code in _HANGUL_TAILS
        or unicodedata.category(char) in {"Mn", "Me", "Mc"}
    )
