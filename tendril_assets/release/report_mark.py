"""The mark on a report that was made before a removal: its figures are kept, and say that they are of before."""

import re
from datetime import datetime
from html import escape
from pathlib import Path

from tendril_assets.files import write_atomically

_MARK = b'id="before-removal"'
# Inside the first of them, which has the page's margins, or else the second.
_TOPS = (re.compile(rb"<header[^>]*>"), re.compile(rb"<body[^>]*>"))


def mark_report(path: Path, at: datetime) -> bool:
    """Put a boxed line at the top of the page at ``path``; False, and nothing written, where there is no page or it has one.

    ``at``: time of the removal, UTC. The first removal after the page was made is the one it names. The next report is
    written anew, and has no mark. Raises OSError where the page cannot be read or written.
    """
    if not path.is_file():
        return False
    page = path.read_bytes()
    if _MARK in page:
        return False
    text = (
        f"Made before a removal of {at:%Y-%m-%d}: figures and models may rest on what is removed. The next whole run makes "
        "it anew."
    )
    line = f'<p class="stamp" id="before-removal" role="note">{escape(text)}</p>\n'.encode()
    place = next((top.end() for one in _TOPS if (top := one.search(page))), 0)
    write_atomically(path, page[:place] + line + page[place:])
    return True
