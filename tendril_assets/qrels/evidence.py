"""Whether each grade stands on what it says it stands on: the evidence held against its sources, in both directions."""

import polars as pl

from tendril_assets.judging.answer_form import OK
from tendril_assets.qrels.routes import (
    CLAUSES,
    GENERATED,
    GOLD_GRADE,
    JUDGE,
    NEIGHBOUR,
    NEIGHBOUR_GRADE,
    PAIR,
    PUBLISHED,
    by_clauses,
    by_generation,
)

_FAULT = {"rule": pl.String, "query_id": pl.String, "passage_id": pl.String}
_OF = r" of (\S+)$"


def evidence_faults(
    qrels: pl.DataFrame,
    evidence: pl.DataFrame,
    judgments: pl.DataFrame,
    attachments: pl.DataFrame,
    questions: pl.DataFrame,
    published: pl.DataFrame,
    removed: pl.DataFrame,
) -> pl.DataFrame:
    """``rule``, ``query_id``, ``passage_id`` of every pair that breaks a rule; empty where all is well.

    Rules: a qrel without evidence or the reverse; a grade of the judge that is none of an accepted judgment; an accepted
    judgment without qrel; a gold passage of a clause or a generated question that is none, that has another grade, or that
    has no qrel; a neighbour with another grade than 1 or without a gold passage beside it; a published pair that was not.

    Args:
        qrels, evidence, judgments, attachments, questions: rows of ``qrels``, ``qrel_evidence``, ``judgments``,
            ``live_attachments``, ``generated_questions``.
        published: query_id, passage_id of every pair published before.
        removed: query_id, passage_id of the pairs that the removal list takes out.
    """
    graded = qrels.join(evidence, on=PAIR, how="full", coalesce=True)
    verdicts = judgments.filter(pl.col("status") == OK).select(*PAIR, verdict="grade")
    no_clauses = pl.DataFrame(schema={"passage_id": pl.String, "clauses": pl.List(pl.String), "continues": pl.String})
    gold = {
        CLAUSES: by_clauses(attachments, no_clauses).select(PAIR).unique(),
        GENERATED: by_generation(questions).select(PAIR).unique(),
    }
    found = [
        _faults("qrel_without_evidence", graded.filter(pl.col("route").is_null())),
        _faults("evidence_without_qrel", graded.filter(pl.col("score").is_null())),
        _faults(
            "not_the_judges_grade",
            graded.filter(route=JUDGE)
            .join(verdicts, on=PAIR, how="left")
            .filter(pl.col("verdict").ne_missing(pl.col("score"))),
        ),
        _faults("judgment_without_qrel", _lacking(verdicts, qrels, removed)),
        _faults("published_pair_that_was_not", graded.filter(route=PUBLISHED).join(published, on=PAIR, how="anti")),
        *_neighbour_faults(graded),
    ]
    for route, pairs in gold.items():
        own = graded.filter(route=route)
        off = own.join(pairs, on=PAIR, how="anti")
        found += [
            _faults(f"{route}_without_source", off),
            _faults(f"{route}_with_another_grade", own.filter(pl.col("score") != GOLD_GRADE)),
            _faults(f"{route}_without_qrel", _lacking(pairs, qrels, removed)),
        ]
    return pl.concat([pl.DataFrame(schema=_FAULT), *found]).sort("rule", *PAIR)


def _neighbour_faults(graded: pl.DataFrame) -> list[pl.DataFrame]:
    own = graded.filter(route=NEIGHBOUR).with_columns(gold_id=pl.col("evidence").str.extract(_OF))
    gold = graded.filter(pl.col("route").is_in([CLAUSES, GENERATED])).select("query_id", gold_id="passage_id")
    return [
        _faults("neighbour_with_another_grade", own.filter(pl.col("score") != NEIGHBOUR_GRADE)),
        _faults("neighbour_of_no_gold", own.join(gold, on=["query_id", "gold_id"], how="anti")),
    ]


def _lacking(pairs: pl.DataFrame, qrels: pl.DataFrame, removed: pl.DataFrame) -> pl.DataFrame:
    return pairs.join(qrels, on=PAIR, how="anti").join(removed, on=PAIR, how="anti")


def _faults(rule: str, rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select(pl.lit(rule).alias("rule"), *PAIR)
