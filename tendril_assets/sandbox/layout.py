"""Which documents a project has and what stands in them, before any file format."""

import math
import unicodedata
from dataclasses import dataclass, field, replace

from tendril_assets.sandbox.draws import Draws
from tendril_assets.sandbox.passages import Passage
from tendril_assets.sandbox.plan import Project, text_of
from tendril_assets.sandbox.wording import Text, general

PDF_NAMES = ("Pflichtenheft.pdf", "Ausschreibungsunterlagen.pdf", "Leistungsbeschrieb.pdf")
# The order of formats after the first document; positions rotate through it.
OTHER_FORMATS = ("docx", "html", "txt", "pdf", "docx")
OTHER_NAMES = {
    "docx": ("Allgemeine_Bedingungen.docx", "Ausführungsbestimmungen.docx"),
    "html": ("Publikation.html",),
    "txt": ("Fragen_und_Antworten.txt",),
    "pdf": ("Anhang_technische_Vorgaben.pdf",),
}
DECOMPOSED_NAME_AT = 9
SPECIAL = {3: "encrypted", 7: "scanned", 10: "partial", 13: "two_columns", 22: "two_columns"}
PER_SECTION = 5


@dataclass(frozen=True)
class Block:
    """A paragraph, or the rows of a table."""

    text: str = ""
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Section:
    heading: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Document:
    """``style`` is plain, or for PDF two_columns, partial (page 2 is a picture), scanned or encrypted."""

    name: str
    title: str
    sections: tuple[Section, ...]
    style: str = "plain"
    placed: tuple[tuple[Passage, int], ...] = field(default=(), repr=False)

    @property
    def suffix(self) -> str:
        return self.name.rsplit(".", 1)[1]


def documents_of(project: Project, passages: list[Passage]) -> list[Document]:
    """The project's documents; together they hold every passage once, and a few of them again (see ``_repeats``)."""
    names = _names(project)
    style = SPECIAL.get(project.position, "plain")
    shares = _split(passages, len(names), 0.75 if style == "two_columns" else 0.5)
    documents = []
    for i, (name, share) in enumerate(zip(names, shares, strict=True)):
        body = share + (_repeats(project, shares[0]) if i == 1 else [])
        own_style = style if i == 0 and style in ("partial", "two_columns") else "plain"
        documents.append(_document(project, name, body, own_style, with_table=i != 1 and own_style != "two_columns"))
    if style in ("encrypted", "scanned"):
        name = "Preisblatt_geschuetzt.pdf" if style == "encrypted" else "Situationsplan_Scan.pdf"
        documents.append(_document(project, name, shares[-1][:4], style, with_table=False))
    return documents


def _names(project: Project) -> list[str]:
    draws = Draws("documents")
    p = project.position
    if project.is_test:
        return [PDF_NAMES[p % len(PDF_NAMES)], "Publikation.html"][: 1 + p % 2]
    first = PDF_NAMES[p % len(PDF_NAMES)] if p % 3 != 2 or p in SPECIAL else "Leistungsverzeichnis.docx"
    formats = [OTHER_FORMATS[p % len(OTHER_FORMATS)], OTHER_FORMATS[(p + 2) % len(OTHER_FORMATS)]]
    names = [first]
    for suffix in formats[: 1 + draws.chance(project.number, 0.55)]:
        names += [n for n in draws.shuffled(f"{project.number}/{suffix}", OTHER_NAMES[suffix]) if n not in names][:1]
    if p == DECOMPOSED_NAME_AT:
        names.append(unicodedata.normalize("NFD", "Erläuterungen_Gebäude.txt"))
    return names


def _split(passages: list[Passage], n: int, share: float) -> list[list[Passage]]:
    """The first document gets ``share`` of the passages, the others divide the rest evenly."""
    if n == 1:
        return [passages]
    first = math.ceil(share * len(passages))
    rest = passages[first:]
    return [passages[:first], *(rest[i :: n - 1] for i in range(n - 1))]


def _repeats(project: Project, source: list[Passage]) -> list[Passage]:
    """Near-duplicates on purpose: one passage word for word, one with two words more."""
    long = [p for p in source if p.kind in ("relevant", "prose") and len(p.text.raw.split()) >= 18]
    chosen = Draws("repeats").sample(project.number, long, 2)
    return [
        p if i == 0 else replace(p, text=p.text + Text("(siehe oben)", "(siehe oben)")) for i, p in enumerate(chosen)
    ]


def _document(project: Project, name: str, passages: list[Passage], style: str, *, with_table: bool) -> Document:
    draws = Draws("sections")
    key = f"{project.number}/{name}"
    headings = draws.shuffled(key, general()["headings"])
    sections, placed = [], []
    for i, start in enumerate(range(0, len(passages), PER_SECTION)):
        part = passages[start : start + PER_SECTION]
        placed += [(p, i + 1) for p in part]
        heading = text_of(project, headings[i % len(headings)], f"{name}/h{i}").raw.split(" ", 1)[1]
        sections.append(Section(f"{i + 1} {heading}", tuple(Block(p.text.raw) for p in part)))
    if with_table:
        sections[-1] = _with(sections[-1], Block(rows=_price_table(project, key)))
        if draws.chance(f"{key}/matrix", 0.35):
            sections[-1] = _with(sections[-1], Block("Zuordnung der Lose zu den Standorten:"), Block(rows=_matrix(key)))
    if draws.chance(f"{key}/debris", 0.3):
        sections[0] = _with(sections[0], Block(draws.pick(f"{key}/debris", general()["debris"])))
    return Document(name, project.title, tuple(sections), style, tuple(placed))


def _price_table(project: Project, key: str) -> tuple[tuple[str, ...], ...]:
    draws = Draws("prices")
    rows = [tuple(general()["table_headers"])]
    items = draws.sample(key, general()["table_items"], draws.number(key, 3, 6))
    for i, (item, unit) in enumerate(items, start=1):
        quantity = draws.number(f"{key}/{i}/n", 1, 240)
        price = draws.number(f"{key}/{i}/p", 4, 900) * 5
        rows.append((f"{i}", item, f"{quantity}", unit, _francs(price), _francs(quantity * price)))
    return tuple(rows)


def _matrix(key: str) -> tuple[tuple[str, ...], ...]:
    """A table of crosses and blanks: debris once it is read as text."""
    draws = Draws("matrix")
    codes = ("", "A1", "A2", "B1", "B2", "C1")
    rows = [(f"{i}", *(draws.pick(f"{key}/{i}/{code}", ("x", "", "-")) for code in codes[1:])) for i in range(1, 6)]
    return (codes, *rows)


def _with(section: Section, *blocks: Block) -> Section:
    return Section(section.heading, (*section.blocks, *blocks))


def _francs(amount: int) -> str:
    return f"{amount:,}.00".replace(",", "'")
