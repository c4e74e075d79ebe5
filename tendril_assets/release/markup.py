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


def picture(drawn: Picture | None, otherwise: str, *, details: str = "") -> str:
    """A figure at both widths, with its numbers folded below; the sentence ``otherwise`` where there is none."""
    if drawn is None:
        return note(otherwise) if otherwise else ""
    folded = f"<details><summary>The figures as a table</summary>{details}</details>" if details else ""
    return (
        f"<figure><figcaption>{escape(drawn.caption)}</figcaption>"
        f'<div class="wide">{drawn.wide}</div><div class="narrow">{drawn.narrow}</div></figure>{folded}'
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
    return f'<div class="scroll"><table{kind}><thead><tr>{cells("th", header)}</tr></thead><tbody>{body}</tbody></table></div>'


def listing(facts: Sequence[tuple[str, str]]) -> str:
    """Name and HTML content, one pair a row."""
    rows = "".join(
        f"<tr><td>{name}</td><td class=left style='white-space:normal'>{content}</td></tr>" for name, content in facts
    )
    return f'<div class="scroll"><table><tbody>{rows}</tbody></table></div>'
