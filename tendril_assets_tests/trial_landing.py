"""A landing folder made from public data, as a first user would make one from the tenders at hand.

Two sources, both read where they lie and never copied into the project: a complete catalogue of requirements of a
German tender (CC0, YAML modules), spread over four projects as text, HTML, Word and PDF, and recorded answers of the
Swiss procurement platform, whose HTML texts become the documents of three more. Further search results are projects
without documents. Catalogs come from European criteria with two ambition levels and from a few German ones of our own.
"""

import csv
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import docx
import yaml
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Paragraph, SimpleDocTemplate

# project -> its title, its CPV code and its modules; the file type goes round within a project
TICKETING = {
    "ticketing-verkauf": ("Ticketverkauf", "48000000", ("webshop", "kasse", "abo", "b2b")),
    "ticketing-einlass": ("Zutrittskontrolle", "35120000", ("zutrittskontrolle", "ressourcen", "produkte")),
    "ticketing-technik": ("Betrieb", "72000000", ("backend", "saas", "onpremise", "schnittstellen", "aussteller")),
    "ticketing-zahlen": ("Auswertungen", "48400000", ("reporting", "rechnungswesen")),
}
HELD_OUT = ("automat", "support")
TYPES = ("txt", "html", "docx", "pdf")
PUBLICATIONS = ("publication_details.json", "publication_details_lot.json", "publication_details_tender.json")
SEARCH = "project_search_ti_20.json"

OWN_CATALOG = {
    "catalog": "ticketing",
    "title": "Nachhaltige Ticketsysteme",
    "areas": [
        {
            "id": "langlebigkeit",
            "title": "Langlebige Geräte",
            "text": "Kassensysteme, Drucker und Scanner sollen lange genutzt und repariert statt ersetzt werden. "
            "Betriebssystem und Hardware erhalten während Jahren Sicherheitsupdates.",
            "criteria": [
                {
                    "id": "langlebigkeit-1",
                    "text": "Das Betriebssystem der Hardware erhält Sicherheitsupdates.",
                    "levels": {"basis": "Während drei Jahren.", "vorbild": "Während zehn Jahren."},
                },
                {"id": "langlebigkeit-2", "text": "Die Hardware hat eine lange Lebensdauer."},
            ],
        },
        {
            "id": "barrierefreiheit",
            "title": "Barrierefreie Bedienung",
            "text": "Menschen mit Behinderungen sollen den Webshop und die Kasse ohne Hilfe bedienen können. Verlangt "
            "ist Barrierefreiheit nach europäischen Normen.",
            "criteria": [{"id": "barrierefreiheit-1", "text": "Der Webshop erfüllt Normen der Barrierefreiheit."}],
        },
        {
            "id": "papierlos",
            "title": "Papierlose Abläufe",
            "text": "Tickets, Belege und Berichte sollen digital statt auf Papier abgegeben werden.",
            "criteria": [
                {"id": "papierlos-1", "text": "Digitale Tickets und Belege."},
                {"id": "papierlos-2", "text": "Das System verschickt E-Mails statt Papier."},
            ],
        },
    ],
}
EVIDENCE = (
    *((project, "papierlos", "validated_relevant") for project in TICKETING),
    *((project, "barrierefreiheit", "unvalidated_relevant") for project in TICKETING),
    *((project, "langlebigkeit", "unsure") for project in TICKETING),
    ("26921", "langlebigkeit", "irrelevant"),
    ("34121", "langlebigkeit", "unsure"),
)
# Queries of the small test collection: passages with the first words grade 2, with the second ones 1.
TEST_QUERIES = {
    "langlebigkeit": ("Lange Lebensdauer und Reparatur der Geräte", r"Reparatur|10 Jahre", r"Fernwartung|vor Ort"),
    "barrierefreiheit": ("Barrierefreie Bedienung", r"Barrierefreiheit|Rollstuhl", r"Bedienoberfläche|sensorisch"),
    "papierlos": ("Verzicht auf Papier", r"digitale[rn]? Beleg|elektronisch", r"Belegdruck|auszudrucken"),
}


class Requirement(NamedTuple):
    title: str
    level: str
    description: str
    depth: int


def lay_out(data: Path, target: Path) -> None:
    """Write ``target/tenders`` from the folder of public data ``data``."""
    folder = target / "tenders"
    rows = [*_ticketing(data / "german_tender_cc0" / "modules", folder), *_publications(data / "simap", folder)]
    columns = ("project", "title", "published", "language", "cpv")
    _write_csv(folder / "projects.csv", columns, [*rows, *_found(data / "simap" / SEARCH)])
    (folder / "catalogs").mkdir()
    criteria = json.loads((data / "gpp_criteria" / "gpp_criteria.json").read_text("utf-8"))
    for catalog in (OWN_CATALOG, *european_catalogs(criteria)):
        text = yaml.safe_dump(catalog, allow_unicode=True, sort_keys=False)
        (folder / "catalogs" / f"{catalog['catalog']}.yaml").write_text(text, "utf-8")
    _write_csv(folder / "evidence.csv", ("project", "area", "tier"), list(EVIDENCE))
    _test_collection(data / "german_tender_cc0" / "modules", folder / "test")


def requirements(path: Path) -> tuple[str, list[Requirement]]:
    """Title and requirements of one module, the ones below another right behind it."""
    module = yaml.safe_load(path.read_text("utf-8"))
    return module["title"], list(_flat(module["requirements"], 1))


def _flat(entries: list[dict[str, Any]], depth: int) -> Iterator[Requirement]:
    for entry in entries:
        yield Requirement(entry["title"], entry["level"], entry["description"], depth)
        yield from _flat(entry.get("sub", []), depth + 1)


def european_catalogs(criteria: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One catalog per document and one area per category; Core is the level Basis, Comprehensive is Vorbild.

    The source's descriptions are placeholders, so names stand for texts.
    """
    catalogs: dict[str, dict[str, Any]] = {}
    for entry in criteria:
        catalog_id = _slug(entry["gppDocument"].removeprefix("EU GPP Criteria for "))
        catalog = catalogs.setdefault(catalog_id, {"catalog": catalog_id, "title": entry["gppDocument"], "areas": {}})
        category = entry["category"] or "All procurements"
        area_id = f"{catalog_id}.{_slug(category)}"
        area = catalog["areas"].setdefault(area_id, {"id": area_id, "title": category, "criteria": {}})
        criterion_id = f"{catalog_id[:20]}.{_slug(category)[:30]}.{_slug(entry['id'])}.{_slug(entry['name'])[:40]}"
        criterion = area["criteria"].setdefault(criterion_id, {"id": criterion_id, "text": entry["name"], "levels": {}})
        for word, level in (("Core", "basis"), ("Comprehensive", "vorbild")):
            if word in entry["ambitionLevel"]:
                criterion["levels"][level] = f"{entry['name']} ({word})"
    return [
        {
            "catalog": catalog["catalog"],
            "title": catalog["title"],
            "areas": [
                {
                    "id": area["id"],
                    "title": area["title"],
                    "text": f"{area['title']}: {', '.join(c['text'] for c in area['criteria'].values())}.",
                    "criteria": list(area["criteria"].values()),
                }
                for area in catalog["areas"].values()
            ],
        }
        for catalog in catalogs.values()
    ]


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


# Requirements as documents --------------------------------------------------------------------------------------------


def _ticketing(modules: Path, folder: Path) -> Iterator[tuple[str, ...]]:
    for project, (title, cpv, names) in TICKETING.items():
        target = folder / "documents" / project
        target.mkdir(parents=True)
        for name, suffix in zip(names, TYPES * 2, strict=False):
            heading, entries = requirements(modules / f"{name}.yml")
            _WRITERS[suffix](target / f"{name}.{suffix}", heading, entries)
        yield project, title, "2026-03-31", "de", cpv


def _numbered(entries: list[Requirement]) -> Iterator[tuple[str, Requirement]]:
    counters: list[int] = []
    for entry in entries:
        del counters[entry.depth :]
        counters += [0] * (entry.depth - len(counters))
        counters[-1] += 1
        yield ".".join(map(str, counters)), entry


def _as_text(path: Path, heading: str, entries: list[Requirement]) -> None:
    """Plain text in Windows-1252, wrapped as in the source."""
    parts = [heading]
    for number, entry in _numbered(entries):
        parts += [f"{number} {entry.title} ({entry.level})", entry.description.strip()]
    path.write_bytes("\r\n\r\n".join(part.replace("\n", "\r\n") for part in parts).encode("cp1252"))


def _as_html(path: Path, heading: str, entries: list[Requirement]) -> None:
    body = [f"<h1>{html.escape(heading)}</h1>"]
    for number, entry in _numbered(entries):
        body.append(f"<h2>{number} {html.escape(entry.title)} <small>({entry.level})</small></h2>")
        items = re.findall(r"^- (.*)", entry.description, re.MULTILINE)
        prose = re.sub(r"^- .*\n?", "", entry.description, flags=re.MULTILINE)
        body.append(f"<p>{html.escape(prose.strip())}</p>")
        body += [f"<ul>{''.join(f'<li>{html.escape(item)}</li>' for item in items)}</ul>"] if items else []
    _write_html(path, heading, "\n".join(body))


def _as_word(path: Path, heading: str, entries: list[Requirement]) -> None:
    document = docx.Document()
    document.add_heading(heading, 0)
    for number, entry in _numbered(entries):
        document.add_heading(f"{number} {entry.title} ({entry.level})", min(entry.depth, 9))
        for paragraph in re.split(r"\n(?=- )|\n\n", entry.description.strip()):
            document.add_paragraph(" ".join(paragraph.split()))
    document.save(str(path))


def _as_pdf(path: Path, heading: str, entries: list[Requirement]) -> None:
    styles = getSampleStyleSheet()
    story = [Paragraph(html.escape(heading), styles["Title"])]
    for number, entry in _numbered(entries):
        story.append(Paragraph(html.escape(f"{number} {entry.title} ({entry.level})"), styles["Heading2"]))
        story.append(Paragraph(html.escape(entry.description.strip()), styles["BodyText"]))
    SimpleDocTemplate(str(path), title=heading, invariant=True).build(story)


_WRITERS = {"txt": _as_text, "html": _as_html, "docx": _as_word, "pdf": _as_pdf}


def _write_html(path: Path, title: str, body: str) -> None:
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title>'
    path.write_text(f"<!DOCTYPE html><html><head>{head}</head><body>\n{body}\n</body></html>\n", "utf-8")


# Publications ---------------------------------------------------------------------------------------------------------


def _publications(simap: Path, folder: Path) -> Iterator[tuple[str, ...]]:
    for name in PUBLICATIONS:
        answer = json.loads((simap / name).read_text("utf-8"))
        base = answer["base"]
        target = folder / "documents" / base["projectNumber"]
        target.mkdir(parents=True)
        for language in ("de", "fr"):
            if answer["procurement"]["orderDescription"][language]:
                title = base["title"][language] or base["title"]["de"]
                _write_html(target / f"publikation_{language}.html", title, _publication(answer, language))
        cpv = answer["procurement"]["cpvCode"]["code"]
        yield base["projectNumber"], base["title"]["de"], base["publicationDate"], base["creationLanguage"], cpv


def _publication(answer: dict[str, Any], language: str) -> str:
    """Address block, then every text of the answer in ``language``; the texts are HTML already, or plain."""
    office = answer["project-info"]["procOfficeAddress"]
    name, street, city = (office[key][language] or office[key]["de"] for key in ("name", "street", "city"))
    address = [
        name,
        street,
        f"{office['postalCode']} {city}",
        f"Telefon {office['phone']}",
        f"E-Mail {office['email']}",
    ]
    parts = [f"<p>{'<br>'.join(html.escape(line) for line in address)}</p>"]
    rest = {key: value for key, value in answer.items() if key != "base"}
    for title, text in _texts(rest, language):
        parts += [f"<h3>{html.escape(title)}</h3>"] if title else []
        parts.append(text if text.startswith("<") else f"<p>{html.escape(text).replace(chr(10), '<br>')}</p>")
    return "\n".join(parts)


def _texts(node: Any, language: str) -> Iterator[tuple[str | None, str]]:
    """(title or None, text) of all prose below ``node`` in this language; names, labels and addresses left out."""
    if isinstance(node, list):
        for item in node:
            yield from _texts(item, language)
    if not isinstance(node, dict):
        return
    title = node.get("title")
    own = title[language] if isinstance(title, dict) and "description" in node else None
    for key, value in node.items():
        if key in ("title", "label") or key.endswith("Address"):
            continue
        if isinstance(value, dict) and set(value) == {"de", "en", "fr", "it"}:
            if value[language]:
                yield own, value[language]
                own = None
        else:
            yield from _texts(value, language)


def _found(path: Path) -> Iterator[tuple[str, ...]]:
    """Search results: projects nobody has documents of."""
    for project in json.loads(path.read_text("utf-8"))["projects"]:
        language, title = next((k, project["title"][k]) for k in ("it", "fr", "de") if project["title"][k])
        yield project["projectNumber"], title, project["publicationDate"], language, ""


# Test collection ------------------------------------------------------------------------------------------------------


def _test_collection(modules: Path, folder: Path) -> None:
    """Two modules that are no document above, with grades by words: enough to run, nothing to conclude from."""
    folder.mkdir()
    corpus, qrels = [], []
    for name in HELD_OUT:
        _, entries = requirements(modules / f"{name}.yml")
        for number, entry in enumerate(entries, start=1):
            text = f"{entry.title}\n{' '.join(entry.description.split())}"
            row = {"id": f"{name}-{number}", "text": text, "project": f"test-{name}", "document": name, "page": 1}
            corpus.append(row)
            for area, (_, exact, near) in TEST_QUERIES.items():
                grade = 2 if re.search(exact, text) else 1 if re.search(near, text) else 0
                qrels.append((f"q-{name}-{area}", row["id"], str(grade)))
    answerable = {query for query, _, grade in qrels if grade != "0"}
    queries = [
        {"id": query, "text": TEST_QUERIES[area][0], "level": "area_of_action", "catalog": "ticketing", "area": area}
        for name in HELD_OUT
        for area in TEST_QUERIES
        if (query := f"q-{name}-{area}") in answerable
    ]
    _write_csv(folder / "projects.csv", ("project",), [(f"test-{name}",) for name in HELD_OUT])
    _write_lines(folder / "corpus.jsonl", corpus)
    _write_lines(folder / "queries.jsonl", queries)
    lines = ["query-id\tcorpus-id\tscore", *("\t".join(row) for row in qrels if row[0] in answerable)]
    (folder / "qrels.tsv").write_text("\n".join(lines) + "\n", "utf-8")


def _write_csv(path: Path, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def _write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
