"""A picture that stands alone, with the report's style inside it, for pages that have no style of ours."""

import base64
from pathlib import Path

from tendril_assets.release.pictures import Picture

_STYLE = Path(__file__).parent / "report.css"
# Whoever shows it may be light where the system is dark.
_PAPER = "svg { background: var(--paper); }"


def markdown_image(picture: Picture) -> str:
    """Markdown with the whole picture in the address: nothing has to be stored or fetched."""
    style = f"<style>{_STYLE.read_text(encoding='utf-8')}{_PAPER}</style>"
    alone = picture.wide.replace(">", f">{style}", 1)
    return f"![{picture.caption}](data:image/svg+xml;base64,{base64.b64encode(alone.encode()).decode()})"
