"""Pieces of the report's HTML. Arguments named ``text`` are escaped here; ``content`` is HTML already."""

from collections.abc import Sequence
from html import escape

from tendril_assets.release.pictures import Picture


def section(text: str, anchor: str, content: str) -> str:
    return f'<section id="{anchor}"><h2>{escape(text)}</h2>{content}</section>\n'


def block(text: str, *content: str) -> str:
    """A lead paragraph, where there is one, and what follows."""
    lead = f"<p>{escape(text)}</p>" if text else ""
    return lead + "".join(content)


def note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>'


def warning(text: str) -> str:
    return f'<p class="stamp" role="note">{escape(text)}</p>'


def side_by_side(content: Sequence[str], *, three: bool = False) -> str:
    """Small tables beside each other where the page is wide enough: two in a row, or ``three``."""
    return f'<div class="side{" three" if three else ""}">{"".join(content)}</div>' if content else ""


def folded(text: str, content: str, *, long: bool = False) -> str:
    """Content behind a line that opens it; on paper it is open, or left out where it is ``long``."""
    kind = ' class="long"' if long else ""
    return f"<details{kind}><summary>{escape(text)}</summary>{content}</details>"


def picture(drawn: Picture | None, otherwise: str, *, details: str = "", long: bool = False) -> str:
    """A figure at both widths, with its numbers folded below; the sentence ``otherwise`` where there is none.

    ``long``: more rows than anybody wants on paper.
    """
    if drawn is None:
        return note(otherwise) if otherwise else ""
    table = folded("The figures as a table", details, long=long) if details else ""
    return (
        f"<figure><figcaption>{escape(drawn.caption)}</figcaption>"
        f'<div class="wide">{drawn.wide}</div><div class="narrow">{drawn.narrow}</div></figure>{table}'
    )


def page_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """A table in a scroll box; the first ``left`` columns are left-aligned. Cells are text."""
    return raw_table([escape(h) for h in header], [[escape(c) for c in row] for row in rows], left=left)


def raw_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1, css: str = "") -> str:
    """As ``page_table``, cells are HTML; a row of one cell opens a block and spans the table. ``css``: class of the table."""

    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(f"<{tag}{' class=left' if i < left else ''}>{c}</{tag}>" for i, c in enumerate(row))

    body = "".join(
        f'<tr class="block"><td colspan="{len(header)}">{row[0]}</td></tr>'
        if len(row) == 1
        else f"<tr>{cells('td', row)}</tr>"
        for row in rows
    )
    kind = f' class="{css}"' if css else ""
    head = f"<thead><tr>{cells('th', header)}</tr></thead>"
    return f'<div class="scroll" tabindex="0"><table{kind}>{head}<tbody>{body}</tbody></table></div>'


def listing(facts: Sequence[tuple[str, str]]) -> str:
    """Name and HTML content, one pair a row."""
    rows = "".join(f"<tr><td>{name}</td><td class=left>{content}</td></tr>" for name, content in facts)
    return f'<div class="scroll" tabindex="0"><table class="facts"><tbody>{rows}</tbody></table></div>'
