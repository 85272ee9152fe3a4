"""Taking secrets out of texts and structures before anybody sees them.

Two nets: secrets that are known to this process are removed wherever they stand, and what looks like a credential (a
bearer token, a value named like a secret, a signed query string, a password in an address) is removed by its shape.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MASK = "***"
_SHORTEST = 6
_DEEPEST = 8

_PLAIN = (  # they are ordinary words as well: in running text only `=` or a quoted member makes them a secret
    r"token|secret|pass|signature|sig|policy"
)
_SURE = (
    r"access[_-]?token|refresh[_-]?token|id[_-]?token|auth[_-]?token|bot[_-]?token|device[_-]?token|csrf[_-]?token|"
    r"client[_-]?secret|password|passwd|api[_-]?key|private[_-]?key|code[_-]?verifier|"
    r"set-cookie|cookie|phpsessid|x-client-hash|key-pair-id|awsaccesskeyid|"
    r"x-(?:amz|goog|oss|ms)-(?:signature|credential|security-token)"
)
_VALUE = r"""[^\s"'&,;)}\]]+"""
_NAME = re.compile(rf"(?:{_SURE}|{_PLAIN}|authorization|proxy-authorization)\Z", re.IGNORECASE)
# A form field, a query parameter, a keyword argument, or a member of JSON or of a printed mapping.
_NAMED = re.compile(rf"""((?<![A-Za-z])(?:{_SURE}|{_PLAIN})(?:["']?\s*=|["']\s*:)\s*["']?){_VALUE}""", re.IGNORECASE)
_HEADED = re.compile(rf"((?<![A-Za-z])(?:{_SURE}):\s*){_VALUE}", re.IGNORECASE)
_SCHEME = re.compile(r"\b(Bearer|Basic|Digest)\s+[A-Za-z0-9._~+/=-]+", re.IGNORECASE)
_HEADER = re.compile(
    r"""((?:proxy-)?authorization["']?\s*[=:]\s*["']?)(?!(?:bearer|basic|digest)\b)[^\s"',}]+""", re.IGNORECASE
)
_USERINFO = re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^\s/@\"']+@", re.IGNORECASE)
_BOT = re.compile(r"\bbot\d{5,}:[A-Za-z0-9_-]{20,}")
_JWT = re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?")

_known: set[str] = set()


def add_secret(*secrets: str | None) -> None:
    """Remember values that must never be shown. Very short ones are left out: masking them would hide plain words."""
    _known.update(secret for secret in secrets if secret and len(secret) >= _SHORTEST)


def redact_text(text: str) -> str:
    """A text without secrets. What is left stays readable: names and hosts are kept."""
    for secret in sorted(_known, key=len, reverse=True):
        text = text.replace(secret, MASK)
    text = _SCHEME.sub(rf"\1 {MASK}", text)
    text = _HEADER.sub(rf"\1{MASK}", text)
    text = _HEADED.sub(rf"\1{MASK}", _NAMED.sub(rf"\1{MASK}", text))
    text = _USERINFO.sub(rf"\1{MASK}@", text)
    return _JWT.sub(MASK, _BOT.sub(f"bot{MASK}", text))


def redact(value: Any, depth: int = 0) -> Any:  # noqa: PLR0911 - a row of cases
    """A value as it may be shown: texts are redacted wherever they stand, members named like a secret are masked."""
    if isinstance(value, str):
        return redact_text(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if depth >= _DEEPEST:
        return MASK
    if isinstance(value, bytes):
        return redact_text(value.decode("utf-8", "replace"))
    if isinstance(value, Mapping):
        return {
            str(key): MASK if _NAME.match(str(key)) and item not in (None, "", False) else redact(item, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [redact(item, depth + 1) for item in value]
    return redact_text(str(value))
