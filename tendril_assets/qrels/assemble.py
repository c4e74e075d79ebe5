"""Qrels: the grades that were accepted, and the refusal to take an incomplete set for a whole one."""

import polars as pl

from tendril_assets.errors import IncompleteJudgments
from tendril_assets.judging.answer_form import OK
from tendril_assets.tables import TABLES


def assemble(judgments: pl.DataFrame) -> pl.DataFrame:
    """Rows of ``qrels``: the judgments with status ``ok``, ordered by pair; a failure never becomes a grade."""
    accepted = judgments.filter(pl.col("status") == OK)
    return (
        accepted.select("query_id", "passage_id", "group_id", score=pl.col("grade"))
        .cast(dict(TABLES["qrels"].schema))
        .sort("query_id", "passage_id")
    )


def require_complete(n_open: int, n_requests: int, *, allow_incomplete: bool, where: str) -> None:
    """Raise IncompleteJudgments where requests wait for their answer and the specification does not allow it.

    ``n_open`` counts requests, not pairs: a request that was never asked, or failed for a passing reason. One that was
    answered but not with a grade is not open; it is a judgment with a status.
    """
    if n_open and not allow_incomplete:
        raise IncompleteJudgments(
            f"{where}: {n_open:,} of {n_requests:,} judge requests are open. Materialise judge_replies again (it asks "
            "only those), or set judge.allow_incomplete in the collection's specification; nothing was written.",
            n_open=n_open,
        )
