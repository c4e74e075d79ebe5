"""Questions on articles as a judged collection in the tables' shapes: XQuAD's, or any other articles.

An article is a group. Of its passages the one (or ones) that answer a question have grade 2 and every other grade 0:
nobody else's verdict is needed, and nothing is known about other articles. XQuAD is read in one of two units:

``paragraphs``  A passage is a paragraph. The first three of an article stand for one document and the others for a
                second one, so that the rule "two negatives of the positive's document, one of another" acts as written
                for a positive of the first and fills in for one of the second.
``parts``       A paragraph is a document, and a passage is a part of it: whole sentences up to 240 characters. The part
                where the answer begins is right. Models that read few tokens see these passages whole.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import polars as pl

from tendril_assets.corpus.identifiers import keyed_order
from tendril_assets.corpus.ngrams import normalise
from tendril_assets.tables import TABLES

XQUAD = Path("xquad_de") / "xquad.de.json"
LEVELS = ("short", "long")
_SHORT_WORDS = 8
_FIRST_DOCUMENT = 3
_PART_CHARACTERS = 240
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[^\W\d_a-zäöü])")
_DRAW = "wrong_positives"

Unit = Literal["paragraphs", "parts"]


class Passage(NamedTuple):
    """``questions`` are those that it answers; ``document`` is a name within the article."""

    document: str
    text: str
    questions: Sequence[str]


class Article(NamedTuple):
    name: str
    passages: Sequence[Passage]


class Judged(NamedTuple):
    """Rows of the tables ``corpus``, ``queries`` and ``qrels``; ``repeated`` counts questions merged into another."""

    corpus: pl.DataFrame
    queries: pl.DataFrame
    qrels: pl.DataFrame
    repeated: int

    def of(self, groups: Iterable[str]) -> "Judged":
        """The part of some groups: their passages and grades, and the queries that are judged there."""
        wanted = list(groups)
        qrels = self.qrels.filter(pl.col("group_id").is_in(wanted))
        return Judged(
            self.corpus.filter(pl.col("group_id").is_in(wanted)),
            self.queries.join(qrels, on="query_id", how="semi"),
            qrels,
            self.repeated,
        )


def xquad_file() -> Path | None:
    """The German XQuAD below ``TENDRIL_TRIAL_DATA``, or None where that is unset or has none."""
    root = os.environ.get("TENDRIL_TRIAL_DATA")
    path = Path(root) / XQUAD if root else None
    return path if path and path.is_file() else None


def read_xquad(path: Path, unit: Unit = "paragraphs") -> list[Article]:
    """Articles of a file in SQuAD's format."""
    read = _paragraphs if unit == "paragraphs" else _parts
    document = json.loads(path.read_text(encoding="utf-8"))
    return [Article(article["title"], list(read(article["paragraphs"]))) for article in document["data"]]


def _paragraphs(paragraphs: list[dict]) -> Iterator[Passage]:
    for number, paragraph in enumerate(paragraphs):
        document = "a" if number < _FIRST_DOCUMENT else "b"
        yield Passage(document, paragraph["context"], [asked["question"] for asked in paragraph["qas"]])


def _parts(paragraphs: list[dict]) -> Iterator[Passage]:
    for number, paragraph in enumerate(paragraphs, start=1):
        text = paragraph["context"]
        cuts = part_starts(text)
        for start, end in zip(cuts, [*cuts[1:], len(text)], strict=True):
            asked = [a["question"] for a in paragraph["qas"] if start <= a["answers"][0]["answer_start"] < end]
            yield Passage(str(number), text[start:end].strip(), asked)


def part_starts(text: str) -> list[int]:
    """Where the parts of a text begin: whole sentences are joined as long as they stay within the set length."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    starts, last = [0], 0
    for end in [*ends, len(text)]:
        if end - starts[-1] > _PART_CHARACTERS and last > starts[-1]:
            starts.append(last)
        last = end
    return starts


def judged_articles(articles: Iterable[Article]) -> Judged:
    """The collection of some articles, ordered by id.

    Equal questions, by their normalised text, are one query: with several right passages where they stand in one
    article, judged in several groups where they stand in several. The level of a question is ``short`` up to eight
    words (two in five of XQuAD's) and ``long`` above.
    """
    passages, wording, right = [], {}, {}
    asked = 0
    for article in articles:
        for number, part in enumerate(article.passages, start=1):
            document = f"{article.name}/{part.document}"
            passage = f"{document}/{number:02}"
            passages.append((passage, part.text, article.name, document, number))
            for question in part.questions:
                asked += 1
                key = normalise(question)
                wording.setdefault(key, question)
                right.setdefault((key, article.name), set()).add(passage)
    ids = {key: f"q{number:05}" for number, key in enumerate(sorted(wording))}
    queries = [(ids[key], text, _level(key), "questions", ids[key]) for key, text in wording.items()]
    of_group: dict[str, list[str]] = {}
    for passage, _, group, *_ in passages:
        of_group.setdefault(group, []).append(passage)
    qrels = [
        (ids[key], passage, group, 2 if passage in answers else 0)
        for (key, group), answers in right.items()
        for passage in of_group[group]
    ]
    return Judged(
        TABLES["corpus"].frame(passages).sort("passage_id"),
        TABLES["queries"].frame(queries).sort("query_id"),
        TABLES["qrels"].frame(qrels).sort("query_id", "passage_id"),
        asked - len(wording),
    )


def _level(question: str) -> str:
    return LEVELS[len(question.split()) > _SHORT_WORDS]


def with_wrong_positives(judged: Judged, seed: int) -> Judged:
    """The same collection with each query's grades moved, within each group, to wrong passages: a control.

    Passages of a group are turned round by a keyed number of places, the same for all of a query's grades, and never by
    one that leaves a right paragraph right, so that the number of examples, texts and grades stays what it was.

    Raises ValueError for a query whose right passages cannot all be moved off one another.
    """
    rows = []
    for (query, group), part in judged.qrels.sort("passage_id").group_by("query_id", "group_id", maintain_order=True):
        grades = part["score"].to_list()
        n = len(grades)
        right = {place for place, grade in enumerate(grades) if grade}
        turns = [turn for turn in range(1, n) if not right & {(place + turn) % n for place in right}]
        if not turns:
            raise ValueError(f"query {query} in {group}: {len(right)} of {n} passages are right, none can be wrong")
        turn = turns[keyed_order(seed, _DRAW, f"{query}|{group}") % len(turns)]
        moved = [grades[(place - turn) % n] for place in range(n)]
        rows += [(query, passage, group, grade) for passage, grade in zip(part["passage_id"], moved, strict=True)]
    return judged._replace(qrels=TABLES["qrels"].frame(rows).sort("query_id", "passage_id"))
