"""The sample's human side: the external test collection and the calibration pairs with three annotators."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tendril_assets.queries.wording import criterion_wording
from tendril_assets.sandbox.draws import Draws
from tendril_assets.sandbox.layout import Document
from tendril_assets.sandbox.passages import AREA_LEVEL, CRITERION_LEVEL, Passage
from tendril_assets.sandbox.plan import Project
from tendril_assets.sandbox.wording import areas

SUMMARY_WORDS = 60
ANNOTATORS = ("annotator_1", "annotator_2", "annotator_3")
# Pairs per level and true grade. Grade 0 is most frequent, as among real candidates, but not overwhelming.
PAIRS_PER_GRADE = {0: 34, 1: 20, 2: 26}
# Shares by which an annotator reads a true grade as 0, 1 or 2; chosen for an alpha of 0.5 to 0.7 among the three.
READINGS = {0: (0.87, 0.10, 0.03), 1: (0.23, 0.58, 0.19), 2: (0.05, 0.17, 0.78)}
MISSING_SHARE = 0.03


@dataclass(frozen=True)
class Query:
    query_id: str
    text: str
    level: str
    catalog: str
    area: str
    catalog_id: str


def area_query(area_id: str) -> Query:
    """The area in its first whole sentences, up to ``SUMMARY_WORDS`` words."""
    area = areas()[area_id]
    sentences = area["text"].split(". ")
    text = f"{area['title']}: {sentences[0]}."
    for sentence in sentences[1:]:
        longer = f"{text} {sentence.rstrip('.')}."
        if len(longer.split()) > SUMMARY_WORDS:
            break
        text = longer
    return Query(f"a-{area_id}", text, AREA_LEVEL, area["catalog"], area_id, area_id)


def criterion_query(area_id: str, criterion_id: str) -> Query:
    area = areas()[area_id]
    criterion = next(c for c in area["criteria"] if c["id"] == criterion_id)
    levels = criterion["levels"]
    columns = {"basis": levels["basis"], "good_practice": levels["gute_praxis"], "exemplary": levels["vorbild"]}
    text = criterion_wording(criterion["text"], columns)
    return Query(f"c-{criterion_id}", text, CRITERION_LEVEL, area["catalog"], area_id, criterion_id)


def test_files(projects: list[Project], documents: dict[str, list[Document]]) -> dict[str, bytes]:
    """``test/``: every passage of a test project is judged against each of that project's queries, 0 included."""
    queries: dict[str, Query] = {}
    corpus: list[dict[str, object]] = []
    qrels = ["query-id\tcorpus-id\tscore"]
    for project in projects:
        own = _project_queries(project)
        queries |= {q.query_id: q for q in own}
        for document in documents[project.number]:
            for passage, page in document.placed:
                row = _test_passage(project, document, passage, page)
                if any(row["id"] == known["id"] for known in corpus[-200:]):
                    continue
                corpus.append(row)
                qrels += [f"{q.query_id}\t{row['id']}\t{passage.grade(q.level, q.catalog_id)}" for q in own]
    rows = [
        {"id": q.query_id, "text": q.text, "level": q.level, "catalog": q.catalog, "area": q.area}
        for q in sorted(queries.values(), key=lambda q: q.query_id)
    ]
    return {
        "test/projects.csv": _lines(["project", *(p.number for p in projects)]),
        "test/corpus.jsonl": _jsonl(corpus),
        "test/queries.jsonl": _jsonl(rows),
        "test/qrels.tsv": _lines(qrels),
    }


def calibration_files(projects: list[Project], passages: dict[str, list[Passage]]) -> dict[str, bytes]:
    """``calibration/``: pairs of both levels, stratified by true grade; the curated grade is the truth."""
    draws = Draws("calibration")
    pairs: list[dict[str, object]] = []
    annotations = ["query_id,passage_id,annotator,grade"]
    candidates: dict[tuple[str, int], list[tuple[Query, Passage]]] = {}
    for project in projects:
        for query in _project_queries(project):
            for passage in passages[project.number]:
                if passage.kind not in ("personal", "restriction"):
                    key = (query.level, passage.grade(query.level, query.catalog_id))
                    candidates.setdefault(key, []).append((query, passage))
    for level in (AREA_LEVEL, CRITERION_LEVEL):
        for grade, n in PAIRS_PER_GRADE.items():
            shuffled = draws.shuffled(f"{level}/{grade}", candidates[level, grade])
            if grade == 0:
                # Half of the irrelevant pairs are distractors of their own area: the ones people disagree on.
                near = [(q, p) for q, p in shuffled if p.area == q.area]
                shuffled = near[: n // 2] + [(q, p) for q, p in shuffled if p.area != q.area]
            chosen: dict[tuple[str, str], tuple[Query, Passage]] = {}
            for query, passage in shuffled:
                chosen.setdefault((query.query_id, _passage_id(passage.text.masked)), (query, passage))
                if len(chosen) == n:
                    break
            for (query_id, passage_id), (query, passage) in chosen.items():
                pairs.append(
                    {
                        "query_id": query_id,
                        "passage_id": passage_id,
                        "level": level,
                        "query_text": query.text,
                        "passage_text": passage.text.masked,
                        "curated_grade": grade,
                    }
                )
    pairs.sort(key=lambda p: (str(p["query_id"]), str(p["passage_id"])))
    for pair in pairs:
        key = f"{pair['query_id']}/{pair['passage_id']}"
        for annotator in ANNOTATORS:
            mark = _mark(f"{key}/{annotator}", int(str(pair["curated_grade"])))
            annotations.append(f"{pair['query_id']},{pair['passage_id']},{annotator},{mark}")
    return {"calibration/pairs.jsonl": _jsonl(pairs), "calibration/annotations.csv": _lines(annotations)}


def _mark(entity: str, truth: int) -> str:
    """An annotator's grade, now and then missing."""
    draws = Draws("annotator")
    if draws.chance(f"{entity}/missing", MISSING_SHARE):
        return ""
    position = draws.number(entity, 0, 9_999) / 10_000
    for grade, share in enumerate(READINGS[truth]):
        position -= share
        if position < 0:
            return str(grade)
    return str(truth)


def _project_queries(project: Project) -> list[Query]:
    """The areas the project is strong in, and one criterion of each."""
    queries = []
    for area_id in project.strong_areas:
        criterion = Draws("test-criterion").pick(f"{project.number}/{area_id}", areas()[area_id]["criteria"])
        queries += [area_query(area_id), criterion_query(area_id, criterion["id"])]
    return queries


def _test_passage(project: Project, document: Document, passage: Passage, page: int) -> dict[str, object]:
    return {
        "id": "t" + _passage_id(f"{project.number}/{passage.text.masked}"),
        "text": passage.text.masked,
        "project": "tg-" + _digest(f"project/{project.number}"),
        "document": "td-" + _digest(f"document/{project.number}/{document.name}"),
        "page": page,
    }


def _passage_id(text: str) -> str:
    return "p-" + _digest(f"passage/{text}")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _jsonl(rows: Sequence[Mapping[str, object]]) -> bytes:
    return _lines([json.dumps(row, ensure_ascii=False) for row in rows])


def _lines(lines: list[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode()
