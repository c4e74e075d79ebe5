"""What became of the listed acts: figures for the UI, and the check that none was lost."""

from typing import Any

import dagster as dg
import polars as pl

from tendril_assets.assets.common import counts, table_check
from tendril_assets.corpus.acts import KEPT, NOT_FOUND, OUTCOMES
from tendril_assets.release.wording import markdown_table
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec

_SHOWN = 20


def acts_metadata(acts: pl.DataFrame) -> dict[str, Any]:
    """Acts by outcome, kept ones by kind, how many were cut from issues, and what is told about single ones."""
    kept = acts.filter(outcome=KEPT)
    of_issue = acts.filter(pl.col("issue").is_not_null() & pl.col("outcome").is_in([KEPT, NOT_FOUND]))
    told = acts.filter(pl.col("message").is_not_null()).sort(pl.col("outcome") != NOT_FOUND, "place")
    columns = ("place", "number", "outcome", "issue", "message")
    return {
        "by_outcome": counts(acts, "outcome"),
        "kept_by_kind": counts(kept, "kind"),
        "characters": int(kept["characters"].sum()),
        "in_issues": of_issue.height,
        "of_these_not_found": of_issue.filter(outcome=NOT_FOUND).height,
        "told": dg.MetadataValue.md(
            markdown_table(columns, told.select(pl.col(columns).cast(pl.String).fill_null("-")).head(_SHOWN).rows())
        ),
    }


def acts_checks(spec: CollectionSpec) -> list[dg.AssetChecksDefinition]:
    collection = spec.collection

    @table_check(
        spec,
        "acts",
        "every_act_accounted",
        description="Each row of the list has one outcome, and those that are kept are the projects, with one text each.",
    )
    def every_act_accounted(warehouse: Warehouse) -> dg.AssetCheckResult:
        acts = warehouse.load(collection, "acts")
        projects, documents = (
            warehouse.load(collection, table, ["project"])["project"] for table in ("projects", "documents")
        )
        # Registers do not need a list of acts: a landing folder may name its groups otherwise.
        wrong = [] if acts.is_empty() else unaccounted(acts, projects, documents)
        outcomes = dict(acts["outcome"].value_counts().rows())
        return dg.AssetCheckResult(
            passed=not wrong,
            description="; ".join(wrong[:_SHOWN]) or None,
            metadata={"listed": acts.height, "wrong": len(wrong), **{name: outcomes.get(name, 0) for name in OUTCOMES}},
        )

    return [every_act_accounted]


def unaccounted(acts: pl.DataFrame, projects: pl.Series, documents: pl.Series) -> list[str]:
    """What does not add up between the list, the projects and their documents, in words; empty where all does."""
    wrong = []
    if acts["place"].sort().to_list() != list(range(1, acts.height + 1)):
        wrong.append("the rows are not numbered 1 to their number")
    unknown = acts.filter(~pl.col("outcome").is_in(list(OUTCOMES)))
    wrong += [f"row {place} has the outcome {outcome}" for place, outcome in unknown.select("place", "outcome").rows()]
    kept = acts.filter(outcome=KEPT)["project"]
    twice = kept.filter(kept.is_duplicated()).unique().sort()
    wrong += [f"{key} is kept twice" for key in twice]
    for name, found in (("projects", projects), ("documents", documents)):
        wrong += [f"{key} is kept and not among the {name}" for key in sorted(set(kept.drop_nulls()) - set(found))]
        wrong += [f"{key} is among the {name} and not kept" for key in sorted(set(found) - set(kept.drop_nulls()))]
        wrong += [f"{key} is twice among the {name}" for key in found.filter(found.is_duplicated()).unique().sort()]
    if kept.null_count():
        wrong.append(f"{kept.null_count()} acts are kept without a key")
    return wrong
