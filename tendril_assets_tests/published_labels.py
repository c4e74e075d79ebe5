"""Grades for the published pairs: 839,805 irrelevant, 53,201 partly and 18,534 fully relevant, 63 groups held out.

63 is what the policy ``exact`` holds out of 631. Production uses ``independent``, whose number varies with the seed, so
the published figure is not to be expected of it.

The pairs are those of ``published_pairs``, with short texts: only which of them are equal matters here. Where the fully
relevant ones stand is planned, so that every rule on the way to training examples has something to do, and what it should
give is arithmetic on the plan:

* ``USABLE`` positives per level stand among plenty of irrelevant passages: they are what is available.
* Each query of an area in the first ``TESTED`` training groups has a positive that stands, in capitals and with other
  line ends, in the test collection too; so have those of a criterion in half as many groups.
* Of a pair of twins on both sides of the split, the training one's shared texts are held-out text. One is a positive of
  each of its queries.
* ``NARROW`` query and group pairs have ``NARROW_POSITIVES`` positives each and two irrelevant passages, all else is
  partly relevant.
* In ``REPEATING`` groups two positives of one query are one text, in other capitals.
* Of twins that both train, the first one's text is partly relevant and the second one's equal text irrelevant, for each
  query that both are asked.
"""

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from tendril_assets.qrels.splits import TRAIN, VALIDATION, assign_splits, groups_of
from tendril_assets.spec import SplitSpec
from tendril_assets.tables import TABLES
from tendril_assets_tests.published_pairs import PUBLISHED, Shape, tables

LEVELS = ("area_of_action", "criterion")
IRRELEVANT, PARTLY, FULLY = 839_805, 53_201, 18_534
USABLE = {"area_of_action": 8_890, "criterion": 4_500}
TESTED, REPEATING = 300, 50
NARROW = {"area_of_action": 60, "criterion": 40}
NARROW_POSITIVES = 7
# Where in its group a passage stands: 0 to 16 may be a twin's text, and each plan has a place of its own.
_CONTRADICTED, _TWIN_LEAK, _REPEATED, _FIRST, _PARTLY, _IN_TEST = 0, 1, (17, 18), 20, 60, 130


@dataclass
class Labels:
    """Tables, and what the rules should make of them, counted while the plan is carried out."""

    corpus: pl.DataFrame
    test_corpus: pl.DataFrame
    queries: pl.DataFrame
    qrels: pl.DataFrame
    splits: pl.DataFrame
    expected: dict[tuple[str, str], int] = field(default_factory=dict)


def labels(shape: Shape = PUBLISHED) -> Labels:
    """The label set; the same on every call. Only the published shape has room for the plan."""
    made = tables(shape, _short)
    corpus, asked = made["corpus"], made["project_queries"].sort("group_id", "query_id")
    splits = assign_splits(corpus["group_id"].unique(), SplitSpec(policy="exact"), seed=42)
    train, held_out = groups_of(splits, TRAIN), groups_of(splits, VALIDATION)
    sizes = dict(corpus.group_by("group_id").len().iter_rows())
    rows = list(asked.select("group_id", "query_id", "level").iter_rows())
    starts = np.concatenate([[0], np.cumsum([sizes[group] for group, _, _ in rows])]).astype(int)
    grades = np.zeros(starts[-1], dtype=np.int8)
    plan = _Plan(grades, {})

    twins = {f"g{i:03d}": f"g{i ^ 1:03d}" for i in range(2 * shape.twins)}
    of = {(group, query): int(start) for (group, query, _), start in zip(rows, starts, strict=False)}
    training = set(train)
    tested = {"area_of_action": set(train[:TESTED]), "criterion": set(train[: TESTED // 2])}
    repeating = iter(train[-REPEATING:])
    repeats_at, narrow = next(repeating), dict(NARROW)
    plain: dict[str, list[int]] = {level: [] for level in LEVELS}
    for (group, query, level), start in zip(rows, starts, strict=False):
        if group not in training:
            continue
        size, twin = sizes[group], twins.get(group, group)
        if narrow[level] and group not in tested[level] and twin == group:
            narrow[level] -= 1
            grades[start + NARROW_POSITIVES + 2 : start + size] = 1
            plan.put(level, "too_few_negatives", *range(start, start + NARROW_POSITIVES))
            continue
        plain[level].append(int(start))
        if group in tested[level]:
            plan.put(level, "leak", start + _IN_TEST)
        if twin not in training:
            plan.put(level, "leak", start + _TWIN_LEAK)
        elif group < twin and (twin, query) in of:
            grades[start + _CONTRADICTED] = 1
            plan.count(level, "contradiction", 1)
        if group == repeats_at:
            first, second = _REPEATED
            grades[start + first] = 2
            plan.put(level, "repeat", start + second)
            plan.count(level, "usable", 1)
            repeats_at = next(repeating, "")
    for level, total in USABLE.items():
        plan.spread(plain[level], total - plan.expected.get((level, "usable"), 0))
    # One held-out group has nothing relevant for its criteria: 63 groups have area queries, 62 criterion queries.
    without = held_out[0]
    spots = [int(at) for (g, _, lv), at in zip(rows, starts, strict=False) if g not in training]
    nothing_there = {of[group, query] for group, query, level in rows if group == without and level == "criterion"}
    spots = [at for at in spots if at not in nothing_there]
    plan.spread(spots, FULLY - int((grades == 2).sum()))
    plan.spread([*spots, *plain["area_of_action"], *plain["criterion"]], PARTLY - int((grades == 1).sum()), _PARTLY, 1)

    passages = dict(corpus.group_by("group_id", maintain_order=True).agg("passage_id").iter_rows())
    qrels = TABLES["qrels"].frame(
        {
            "query_id": np.repeat([query for _, query, _ in rows], np.diff(starts)),
            "passage_id": [passage for group, _, _ in rows for passage in passages[group]],
            "group_id": np.repeat([group for group, _, _ in rows], np.diff(starts)),
            "score": grades,
        }
    )
    number = pl.col("passage_id").str.slice(-3).cast(pl.Int32)
    is_second = pl.col("group_id").is_in(train[-REPEATING:]) & (number == _REPEATED[1])
    first_text = corpus.filter(number == _REPEATED[0]).select("group_id", first="text")
    corpus = (
        corpus.join(first_text, on="group_id", maintain_order="left")
        .with_columns(text=pl.when(is_second).then(pl.col("first").str.to_uppercase()).otherwise("text"))
        .drop("first")
    )
    copied = corpus.filter(pl.col("group_id").is_in(train[:TESTED]) & (number == _IN_TEST))
    test_corpus = copied.with_columns(
        passage_id=pl.lit("test-") + pl.col("passage_id"),
        group_id=pl.lit("test-") + pl.col("group_id"),
        text=pl.col("text").str.to_uppercase().str.replace_all(" ", "\n  "),
    )
    return Labels(corpus, test_corpus, made["queries"], qrels, splits, plan.expected)


def _short(group: int, number: int) -> str:
    return f"Absatz {number} der Gruppe {group}"


@dataclass
class _Plan:
    """Grades being filled in, and how many of what were put."""

    grades: np.ndarray
    expected: dict[tuple[str, str], int]

    def count(self, level: str, what: str, number: int) -> None:
        self.expected[level, what] = self.expected.get((level, what), 0) + number

    def put(self, level: str, what: str, *places: int) -> None:
        self.grades[list(places)] = 2
        self.count(level, what, len(places))

    def spread(self, starts: list[int], total: int, first: int = _FIRST, grade: int = 2) -> None:
        """``total`` passages get the grade, evenly over the pairs that start there."""
        each, more = divmod(total, len(starts))
        for number, start in enumerate(starts):
            self.grades[start + first : start + first + each + (number < more)] = grade
