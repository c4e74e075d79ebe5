"""A person's verdict on a project's restrictions, which overrides the rules in both directions.

A rule may read a sentence wrongly, or an agreement with the author may lift what it says; and a document may restrict
its use in a way no rule knows, or in a picture. ``restriction_reviews`` says ``free`` or ``restricted`` per project,
with a reason and a day. What the rules found in a project declared free stays on record in ``cleared_restrictions``.
"""

from typing import NamedTuple

import polars as pl

from tendril_assets.tables import TABLES

VERDICTS = ("restricted", "free")
REVIEW_RULE = "review"
REVIEW_FILE = "restriction_reviews.csv"


class Reviewed(NamedTuple):
    """``restricted`` and ``cleared`` are the tables of these names (``cleared``: cleared_restrictions).

    ``unseen`` are cleared rows of sentences that came after the last run had cleared others of the same project: the
    person who said "free" may not have seen them.
    """

    restricted: pl.DataFrame
    cleared: pl.DataFrame
    unseen: pl.DataFrame


def apply_reviews(
    found: pl.DataFrame, reviews: pl.DataFrame, projects: pl.DataFrame, cleared_before: pl.DataFrame
) -> Reviewed:
    """``found`` (rows of ``restricted_projects`` by rule) after the verdicts of ``reviews``.

    ``projects`` (project, language) are the sampled ones: a verdict on another project has no effect yet. A verdict
    ``restricted`` is a row of its own, with rule ``review``, page 0 and the reason in place of the sentence.
    """
    free = reviews.filter(pl.col("verdict") == "free").select("project", "reason", "date")
    by_hand = (
        reviews.filter(pl.col("verdict") == "restricted")
        .join(projects.select("project", "language"), on="project")
        .select(
            "project",
            "language",
            document=pl.lit(REVIEW_FILE),
            page=pl.lit(0, dtype=pl.Int32),
            rule=pl.lit(REVIEW_RULE),
            sentence="reason",
        )
    )
    columns = list(TABLES["restricted_projects"].schema)
    restricted = pl.concat([found.join(free, on="project", how="anti").select(columns), by_hand.select(columns)])
    cleared = found.join(free, on="project").select(list(TABLES["cleared_restrictions"].schema))
    unseen = cleared.join(cleared_before.select("project").unique(), on="project", how="semi").join(
        cleared_before.select("project", "sentence"), on=["project", "sentence"], how="anti"
    )
    return Reviewed(
        restricted.sort(TABLES["restricted_projects"].key), cleared.sort(TABLES["cleared_restrictions"].key), unseen
    )
