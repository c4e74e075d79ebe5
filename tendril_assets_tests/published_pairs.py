"""The tables that pairs are made of, in the published numbers or in others: corpus, queries and who gets which.

A group has so many passages and is asked so many queries; two *twins* are projects of one buyer, which share standard
clauses and some queries, so that their pairs share requests. All other texts occur once. What comes out is arithmetic::

    passages  = groups x passages_each + longer                     631 x 135 + 587          =  85,772
    judgments = passages x queries_each
              + (passages_each + 1) x longer_with_query
              + passages_each x shorter_with_query                  857,720 + 136 x 360 + 135 x 36 = 911,540
    shared    = twins x twin_queries x twin_texts                   67 x 4 x 17              =   4,556
    requests  = judgments - shared                                                             906,984
"""

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from tendril_assets.tables import TABLES
from tendril_assets_tests.published_words import generator, sentence


@dataclass(frozen=True)
class Shape:
    """How many of what; the first groups are the longer ones, and of each kind the first have one query more."""

    groups: int
    passages_each: int
    longer: int
    queries: int
    queries_each: int
    longer_with_query: int
    shorter_with_query: int
    twins: int
    twin_queries: int
    twin_texts: int

    @property
    def passages(self) -> int:
        return self.groups * self.passages_each + self.longer

    @property
    def judgments(self) -> int:
        more = (self.passages_each + 1) * self.longer_with_query + self.passages_each * self.shorter_with_query
        return self.passages * self.queries_each + more

    @property
    def requests(self) -> int:
        return self.judgments - self.twins * self.twin_queries * self.twin_texts


PUBLISHED = Shape(631, 135, 587, 1_041, 10, 360, 36, 67, 4, 17)
# 14 groups: 14 x 135 + 10 = 1,900 passages, 19,000 + 136 x 6 + 135 x 2 = 20,086 judgments, 20,086 - 3 x 68 = 19,882.
SMALL = Shape(14, 135, 10, 60, 10, 6, 2, 3, 4, 17)
# 4 x 9 + 2 = 38 passages, 38 x 8 + 10 + 9 = 323 judgments, 323 - 2 x 2 x 5 = 303 requests.
TINY = Shape(4, 9, 2, 30, 8, 1, 1, 2, 2, 5)


def sentences(group: int, number: int) -> str:
    """A passage in words, as long as published ones."""
    rng = generator("pairs", f"{group}/{number}")
    text = " ".join(sentence(rng) for _ in range(rng.choice((1, 1, 2, 3))))
    return f"{text} (Ziffer {group}.{number})"


def tables(shape: Shape, passage: Callable[[int, int], str] = sentences) -> dict[str, pl.DataFrame]:
    """``corpus``, ``queries`` and ``project_queries`` of ``shape``; the same on every call.

    ``passage``: text of a group's so many-th passage, all of them different.
    """
    texts, asked, first = [], [], 0
    for group in range(shape.groups):
        is_longer = group < shape.longer
        is_second = group < 2 * shape.twins and group % 2 == 1
        size = shape.passages_each + is_longer
        own = [passage(group, i) for i in range(size)]
        if is_second:
            own[: shape.twin_texts] = texts[-1][: shape.twin_texts]
            first -= shape.twin_queries
        texts.append(own)
        with_query = group < shape.longer_with_query or 0 <= group - shape.longer < shape.shorter_with_query
        n_queries = shape.queries_each + with_query
        asked += [(group, (first + i) % shape.queries) for i in range(n_queries)]
        first += n_queries
    corpus = [
        (f"p{group:03d}-{i:03d}", text, f"g{group:03d}", f"d{group:03d}-{i // 40}", 1 + i % 40 // 4)
        for group, own in enumerate(texts)
        for i, text in enumerate(own)
    ]
    queries = [_query(number) for number in range(shape.queries)]
    of_groups = [(f"project-{group:03d}", f"g{group:03d}", *_name(number)) for group, number in sorted(asked)]
    return {
        "corpus": TABLES["corpus"].frame(corpus),
        "queries": TABLES["queries"].frame(queries),
        "project_queries": TABLES["project_queries"].frame(of_groups),
    }


def _name(number: int) -> tuple[str, str]:
    """Id and level of a query: two of five are areas of action."""
    return (f"a-{number:04d}", "area_of_action") if number % 5 < 2 else (f"c-{number:04d}", "criterion")


def _query(number: int) -> tuple[str, str, str, str, str]:
    name, level = _name(number)
    rng = generator("pairs/query", str(number))
    text = f"{sentence(rng)} (Nummer {number})"
    if level == "criterion":
        text += f"\nBasis: {sentence(rng)}\nGute Praxis: {sentence(rng)}"
    return name, text, level, "invented", f"area-{number // 5:03d}"
