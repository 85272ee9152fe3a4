"""The pictures Pixiv serves in place of a restricted work's files.

Source: listings answer 200 with ``https://s.pximg.net/common/images/limit_<x>_360.png`` where the work's own URLs
should be. Stored, such a picture would pass every check of integrity, so it is recognised by its address.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_PATH_END = re.compile(r"/common/images/limit_([a-z0-9_-]*?)(?:_\d+)?\.[a-z0-9]+\Z", re.IGNORECASE)

_KINDS = {
    "sanity_level": "sanity",  # the account's viewing settings hide it; the web API may still have it
    "mypixiv": "mypixiv",  # for the author's friends only
    "unviewable": "unviewable",
    "unknown": "unknown",  # deleted or withdrawn
}


def placeholder_kind(url: str) -> str | None:
    """Name the restriction that `url` stands for: sanity, mypixiv, unviewable or unknown; ``None`` for a real file.

    Only the end of the path is looked at, not the host, because configured endpoints send ``s.pximg.net`` elsewhere
    and may put a prefix before the path. A suffix never seen before is ``unknown``, so that a new kind of restriction
    cannot be stored as a work.
    """
    try:
        path = urlsplit(url.strip()).path
    except ValueError:  # for example a malformed IPv6 host: no address of a picture at all
        return None
    found = _PATH_END.search(path)
    return None if found is None else _KINDS.get(found[1].lower(), "unknown")
