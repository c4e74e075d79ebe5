"""A landing folder of a few projects, each with texts of its own; some hold a marker in one passage.

A marker is a sentence of words that occur nowhere else. What is looked for after a removal is each of its words, for a
trace may hold a part of it.
"""

import json
from pathlib import Path

from tendril_assets_tests.corpus import documents

COLLECTION = "tenders"
CATALOGS = {
    "c.yaml": "catalog: c\ntitle: Beschaffung\nareas:\n"
    "- {id: wood, title: Holz, text: Holz aus Wald., criteria: [{id: w1, text: Label fuer Holz.}]}\n"
    "- {id: power, title: Strom, text: Strom sparen., criteria: [{id: s1, text: Wenig Watt.}]}\n"
}
# Project -> (the words of its marker, the file that holds it). Each word is a name for something that is not there.
MARKED = {
    "m-delivered": ("Quastelbirne Nebelpfosten Zwirnkaskade Ofenlaterne", "lieferung.pdf"),
    "m-pdf": ("Trompelwachs Hagebuttenkran Silbenmosaik Graupelschuppen", "anhang.pdf"),
    "m-docx": ("Kolbenfarn Wachtelgitter Muldenorgel Teichposaune", "beilage.docx"),
    "m-html": ("Drosselkante Rauchmurmel Fadenglimmer Astgondel", "blatt.html"),
}
# The first word of each marked sentence, and of no other.
OPENING = "Beim"
CLEAN = ("c-one", "c-two", "c-three", "c-four", "c-five")
AREAS, TIER = ("wood", "power"), "validated_relevant"
TEST_PASSAGE = {"id": "t", "text": "Text zu Holz", "project": "g", "document": "d", "page": 1}
TEST_QUERY = {"id": "q", "text": "Holz", "level": "criterion", "catalog": "c", "area": "wood"}
THINGS = ("Holz", "Strom", "Kies", "Stahl", "Glas", "Lehm", "Kalk", "Ton")


def marker(project: str) -> str:
    """The marked sentence; it names wood, so that it is relevant to a query, and is the only passage of its file page."""
    one, two, three, four = MARKED[project][0].split()
    return (
        f"{OPENING} {one} wird Holz mit dem {two} geprüft, danach trägt die {three} ein Label "
        f"und der {four} bleibt zwei Wochen liegen."
    )


def words(project: str) -> tuple[str, ...]:
    return tuple(MARKED[project][0].split())


def ordinary(project: str, number: int) -> str:
    """A paragraph that shares no run of five words with any other."""
    name = project.replace("-", "")
    thing, other = THINGS[number % len(THINGS)], THINGS[(number + 3) % len(THINGS)]
    return (
        f"{thing} für {name}{number} wird {number} Mal geprüft; {other} bleibt {name}{number} Wochen liegen und "
        f"{thing} {name}{number} trägt ein Label von {other} {name}{number} oder mehr."
    )


def fill(root: Path) -> Path:
    """The landing folder of the collection below ``root``."""
    folder = root / COLLECTION
    projects = sorted((*MARKED, *CLEAN))
    _text(folder / "projects.csv", "project,title,published,language,cpv", *(f"{p},Titel {p},,de," for p in projects))
    _text(
        folder / "evidence.csv",
        "project,area,tier",
        *(f"{p},{a},{TIER}" for p in projects for a in AREAS),
    )
    for name, text in CATALOGS.items():
        _text(folder / "catalogs" / name, text)
    _text(folder / "test" / "projects.csv", "project", "tested")
    _text(folder / "test" / "corpus.jsonl", json.dumps(TEST_PASSAGE))
    _text(folder / "test" / "queries.jsonl", json.dumps(TEST_QUERY))
    _text(folder / "test" / "qrels.tsv", "query-id\tcorpus-id\tscore", "q\tt\t1")
    for project in projects:
        place = folder / "documents" / project
        place.mkdir(parents=True)
        _text(place / "a.txt", "\n\n".join(ordinary(project, n) for n in (0, 1, 2)))
        _text(place / "b.txt", "\n\n".join(ordinary(project, n) for n in (3, 4, 5)))
    documents.pdf(folder / "documents/m-pdf/anhang.pdf", [documents.lines(ordinary("m-pdf", 8)[:90]), _broken("m-pdf")])
    documents.docx(
        folder / "documents/m-docx/beilage.docx",
        "".join(map(documents.paragraph, (ordinary("m-docx", 8), marker("m-docx"), ordinary("m-docx", 9)))),
    )
    page = "".join(f"<p>{text}</p>" for text in (ordinary("m-html", 8), marker("m-html"), ordinary("m-html", 9)))
    _text(folder / "documents/m-html/blatt.html", f"<html><body>{page}</body></html>")
    delivered = [
        ("m-delivered", "lieferung.pdf", 1, ordinary("m-delivered", 8)),
        ("m-delivered", "lieferung.pdf", 2, marker("m-delivered")),
    ]
    _text(
        folder / "passages.jsonl",
        *(json.dumps(dict(zip(("project", "document", "page", "text"), row, strict=True))) for row in delivered),
    )
    removals(folder)
    return folder


def removals(folder: Path, *entries: tuple[str, str]) -> None:
    _text(folder / "removals.csv", "kind,id,reason,date", *(f"{kind},{i},Begehren,2026-05-01" for kind, i in entries))


def _broken(project: str) -> list[documents.Place]:
    text = marker(project).split()
    return documents.lines(*(" ".join(text[i : i + 7]) for i in range(0, len(text), 7)))


def _text(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
