"""A picture that stands alone, with its style inside it, for pages that have no style of ours."""

import base64
import re
from functools import cache
from pathlib import Path

from tendril_assets.release.pictures import Picture

_STYLE = Path(__file__).parent / "pictures.css"
# Whoever shows it may be light where the system is dark.
_PAPER = "svg { background: var(--paper); }"


@cache
def picture_style() -> str:
    """The style sheet of pictures, without what a browser does not read."""
    return " ".join(_STYLE.read_text(encoding="utf-8").split())


def markdown_image(picture: Picture) -> str:
    """Markdown: the caption, and the whole picture in the address of an image, so that nothing has to be stored or
    fetched."""
    style = f"<style>{picture_style()} {_PAPER}</style>"
    alone = picture.wide.replace(">", f">{style}", 1)
    address = f"data:image/svg+xml;base64,{base64.b64encode(alone.encode()).decode()}"
    return f"{_escaped(picture.caption)}\n\n![{_escaped(picture.caption)}]({address})"


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is, in one line."""
    return re.sub(r"([\\`*_\[\]<>|~])", r"\\\1", " ".join(text.split()))
