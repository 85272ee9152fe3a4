"""Cron lines as a configuration writes them: five fields, each with its range; names of months and days; no extras."""

import re

_NAMES = {
    3: {
        name: number
        for number, name in enumerate(
            ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], start=1
        )
    },
    4: {name: number for number, name in enumerate(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])},
}
_FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day of month", 1, 31), ("month", 1, 12), ("day of week", 0, 7))
_ITEM = re.compile(r"(?:(?P<all>\*)|(?P<low>[0-9a-z]+)(?:-(?P<high>[0-9a-z]+))?)(?:/(?P<step>[0-9]+))?\Z", re.ASCII)


def cron_fault(line: str) -> str | None:
    """What is wrong with a cron line, or None."""
    fields = line.split()
    if len(fields) != len(_FIELDS):
        return f"must have 5 fields (minute hour day month weekday), found {len(fields)}"
    for index, (field, (name, low, high)) in enumerate(zip(fields, _FIELDS, strict=True)):
        for item in field.lower().split(","):
            if not _item_ok(item, index, low, high):
                return f"the {name} field must hold numbers from {low} to {high}, ranges, lists or steps"
    return None


def _item_ok(item: str, index: int, low: int, high: int) -> bool:
    match = _ITEM.match(item)
    if match is None:
        return False
    if match["step"] is not None and not 1 <= int(match["step"][:6]) <= max(high, 1):
        return False
    if match["all"]:
        return True
    first = _number(match["low"], index)
    last = _number(match["high"], index) if match["high"] else first
    return first is not None and last is not None and low <= first <= last <= high


def _number(text: str, index: int) -> int | None:
    if text.isdigit():
        return int(text[:6])
    return _NAMES.get(index, {}).get(text)
