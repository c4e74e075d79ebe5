"""Where each grade comes from, and which source wins where several speak of one pair.

The order, strongest first:

- ``clauses``: the question names the clause that begins in the passage. Evidence from outside: no system found it.
- ``generated``: the question was written from the passage.
- ``judge``: a judge that was accepted graded the pair, blind to where it came from. Only pairs of the pool are asked about.
- ``published``: nothing above speaks of the pair, and it was published before: it stays, with its grade. Where the rule
  below gives the same grade, that is its route.
- ``neighbour``: the passage holds a stated share of a gold one's text. A rule of thumb, so every judgment of the pair itself
  goes before it. Gold is ``clauses`` and ``generated`` alone: a neighbour of what a judge liked proves nothing.
"""

from collections.abc import Mapping

import polars as pl

from tendril_assets.errors import TendrilError
from tendril_assets.judging.answer_form import OK
from tendril_assets.tables import TABLES

PAIR = ["query_id", "passage_id"]
CLAUSES, GENERATED, JUDGE, PUBLISHED, NEIGHBOUR = "clauses", "generated", "judge", "published", "neighbour"
# The first that speaks of a pair wins.
ROUTES = (CLAUSES, GENERATED, JUDGE, PUBLISHED, NEIGHBOUR)
GOLD_GRADE, NEIGHBOUR_GRADE = 2, 1
_GRADED = {"query_id": pl.String, "passage_id": pl.String, "score": pl.Int8, "route": pl.String, "evidence": pl.String}


def by_clauses(attachments: pl.DataFrame, clauses: pl.DataFrame) -> pl.DataFrame:
    """Gold of the questions that name clauses: query_id, passage_id, score, route, evidence.

    Args:
        attachments: rows of ``live_attachments``; only those of route ``clauses`` count.
        clauses: passage_id, clauses, continues, of ``passage_clauses``. The evidence names the clauses of the question that
            begin or go on in the passage, or all that were found, where a part of one stands for it.
    """
    named = attachments.filter(pl.col("route") == CLAUSES)
    pairs = named.select("query_id", "found", passage_id="passages").explode("passage_id").drop_nulls("passage_id")
    held = clauses.select("passage_id", held=pl.concat_list("clauses", pl.concat_list("continues").list.drop_nulls()))
    joined = pairs.join(held, on="passage_id", how="left").with_columns(
        here=pl.col("found").list.set_intersection(pl.col("held").fill_null([])).list.sort()
    )
    said = pl.when(pl.col("here").list.len() > 0).then("here").otherwise("found").list.join(", ")
    return _graded(joined, GOLD_GRADE, CLAUSES, pl.format("clause {}", said))


def by_generation(questions: pl.DataFrame) -> pl.DataFrame:
    """Gold of the generated questions that passed the filters, from rows of ``generated_questions``."""
    kept = questions.filter((pl.col("status") == "accepted") & pl.col("query_id").is_not_null())
    return _graded(kept, GOLD_GRADE, GENERATED, pl.format("written from it, request {}", "request_key"))


def by_judge(judgments: pl.DataFrame) -> pl.DataFrame:
    """The accepted verdicts among rows of ``judgments``; a failure never becomes a grade."""
    kept = judgments.filter(pl.col("status") == OK)
    return _graded(kept, pl.col("grade"), JUDGE, pl.format("request {}", "request_key"))


def by_publication(standing: pl.DataFrame, beside: pl.DataFrame) -> pl.DataFrame:
    """Published pairs that can stay, from what ``qrels.published.standing`` gives.

    ``beside``: what ``by_neighbours`` gave. Where that rule still gives the published grade, it is what the grade stands on:
    else the first publication would turn every neighbour into a pair whose origin nobody knows.
    """
    same = beside.select(*PAIR, "score")
    kept = standing.filter(pl.col("lost").is_null()).join(same, on=[*PAIR, "score"], how="anti")
    return _graded(kept, pl.col("score"), PUBLISHED, pl.format("version {}", "version"))


def by_neighbours(found: pl.DataFrame) -> pl.DataFrame:
    """Grade 1 of what ``qrels.neighbours.neighbours`` found."""
    share = (pl.col("share") * 100).floor().cast(pl.Int64)
    return _graded(found, NEIGHBOUR_GRADE, NEIGHBOUR, pl.format("holds {} % of {}", share, "gold_id"))


def strongest(parts: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """One row per pair, by pair: of all parts (route -> rows) that of the route that wins; see the module.

    Within a route the highest grade, and of equal ones the first evidence by its words: the order of rows decides nothing.
    """
    order = {route: place for place, route in enumerate(ROUTES)}
    every = pl.concat([pl.DataFrame(schema=_GRADED), *parts.values()])
    ranked = every.with_columns(rank=pl.col("route").replace_strict(order, return_dtype=pl.Int8))
    descending = [False, False, False, True, False]
    return (
        ranked.sort(*PAIR, "rank", "score", "evidence", descending=descending)
        .unique(PAIR, keep="first", maintain_order=True)
        .drop("rank")
    )


def qrel_tables(graded: pl.DataFrame, corpus: pl.DataFrame, queries: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Tables ``qrels`` and ``qrel_evidence``.

    Args:
        graded: rows as ``strongest`` gives them.
        corpus: passage_id, group_id, content_check.
        queries: query_id.

    Raises TendrilError for a grade of a query or passage that is not there: a table is older than its inputs.
    """
    for column, known in (("query_id", queries), ("passage_id", corpus)):
        lost = graded.join(known, on=column, how="anti").sort(PAIR)
        if lost.height:
            shown = [f"{q} / {p} ({r})" for q, p, r in lost.head(20).select(*PAIR, "route").iter_rows()]
            raise TendrilError(
                f"{lost.height:,} grades name a {column} that is not there: {', '.join(shown)}. A table upstream is older "
                "than the corpus or the queries: materialise live_attachments and generated_questions again, then what follows"
            )
    joined = graded.join(corpus.select("passage_id", "group_id", "content_check"), on="passage_id")
    return {
        name: joined.select(*TABLES[name].schema).cast(dict(TABLES[name].schema)).sort(PAIR)
        for name in ("qrels", "qrel_evidence")
    }


def _graded(rows: pl.DataFrame, score: int | pl.Expr, route: str, evidence: pl.Expr) -> pl.DataFrame:
    return rows.select(
        *PAIR,
        score=(pl.lit(score) if isinstance(score, int) else score).cast(pl.Int8),
        route=pl.lit(route),
        evidence=evidence,
    ).unique(maintain_order=True)
