"""Small questions about raw values, shared by the rules."""

from typing import Any, TypeGuard

from pixivflow.config.days import is_day
from pixivflow.config.draft import Draft


def is_int(value: Any) -> TypeGuard[int]:
    """Whether a value is a whole number; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_day_text(value: Any) -> TypeGuard[str]:
    """Whether a value is a day or a placeholder for one."""
    return isinstance(value, str) and is_day(value)


def unique_ids(draft: Draft, section: str) -> None:
    """Report an id that an earlier member of the list has already."""
    first: dict[str, int] = {}
    for position, item in draft.objects(section):
        ident, place = item.get("id"), (section, position, "id")
        if not isinstance(ident, str):
            continue
        if ident in first:
            shown = draft.shown(place, ident)
            draft.report(place, "duplicate_id", f"the id {shown} is already that of {section}[{first[ident]}]")
        first.setdefault(ident, position)
