"""What was decided on the raw passages: the step's part of it, the report in the UI, and the check that it adds up."""

import hashlib
import json
from typing import Any

import dagster as dg
import polars as pl

from tendril_assets.assets.common import table_check
from tendril_assets.corpus.drops import by_catalog, by_reason
from tendril_assets.corpus.passages import NEAR_DUPLICATE, RESTRICTED, RULE_VERSION, Decided, decide_passages
from tendril_assets.corpus.restrictions import RULE_VERSION as RESTRICTION_VERSION
from tendril_assets.errors import WarehouseError
from tendril_assets.release.wording import markdown_table
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.frames import content_hash
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES

SHOWN = 20


def decide_all(
    warehouse: Warehouse, artifacts: Artifacts, spec: CollectionSpec, passages: pl.DataFrame, documents: pl.DataFrame
) -> Decided:
    """Decisions on all of ``passages``; those of the last run, where there was one, tell what was kept before.

    The decisions are handed over to the next run, which takes them as they are where nothing they depend on has changed:
    decided again after themselves they would come out the same (see ``near_duplicates``).
    """
    collection = spec.collection
    former = None
    if warehouse.exists(collection, "passage_decisions"):
        former = warehouse.load(collection, "passage_decisions", ["passage_id", "reason"])
    restricted = warehouse.load(collection, "restricted_projects", ["project"])["project"].unique().sort().to_list()
    inputs = _inputs(spec, passages, documents, restricted)
    decided = None if former is None else _of_last_run(artifacts, collection, inputs, former)
    if decided is None:
        decided = decide_passages(passages, documents, restricted, spec.filters, former)
        mark = pl.lit(f"{inputs}:{decided.guarded.height}")
        for table, frame in decided._asdict().items():
            artifacts.write_frame(collection, f"last_{table}", frame.with_columns(inputs=mark))
    return decided


def _inputs(spec: CollectionSpec, passages: pl.DataFrame, documents: pl.DataFrame, restricted: list[str]) -> str:
    """Hash of everything the decisions depend on besides those of the last run."""
    parts = [
        *(RULE_VERSION, RESTRICTION_VERSION, spec.filters.fingerprint(), *restricted),
        content_hash(TABLES["passages"], passages),
        content_hash(TABLES["sampled_documents"], documents),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _of_last_run(artifacts: Artifacts, collection: str, inputs: str, former: pl.DataFrame) -> Decided | None:
    """What the last run decided, if it had the same ``inputs`` and its table ``former`` is the one that came of it."""
    frames = {}
    for table in Decided._fields:
        try:
            frame = artifacts.read_frame(collection, f"last_{table}")
        except WarehouseError:
            return None  # never handed over, or damaged: decided again
        frames[table] = frame
    # Both files are of one run, and of these inputs: a stop between the two leaves one of another run.
    marks = {mark for frame in frames.values() for mark in frame["inputs"].unique()}
    if marks != {f"{inputs}:{frames['guarded'].height}"}:
        return None
    decided = Decided(**{table: frame.drop("inputs") for table, frame in frames.items()})
    repeated = [set(frame.filter(reason=NEAR_DUPLICATE)["passage_id"]) for frame in (decided[0], former)]
    same = repeated[0] == repeated[1] and set(decided[0]["passage_id"]) == set(former["passage_id"])
    return decided if same else None


def drop_report(warehouse: Warehouse, collection: str, decisions: pl.DataFrame) -> dict[str, Any]:
    """Metadata of ``passage_decisions``: tables by reason and by catalog."""
    reasons = by_reason(decisions)
    rows = [
        (_words(fate), f"{n:,}", f"{share:.1%}", f"{projects:,}")
        for fate, n, share, projects, _, _ in reasons.iter_rows()
    ]
    everything = (f"{decisions.height:,}", "100.0%" if rows else "-", f"{decisions['project'].n_unique():,}")
    examples = [(_words(fate), version, f"`{example}`") for fate, *_, version, example in reasons.iter_rows()]
    areas = warehouse.load(collection, "areas", ["area", "catalog"])
    given = warehouse.load(collection, "project_areas", ["project", "area"]).join(areas, on="area")
    table = by_catalog(decisions, given)
    lines = [(catalog, *(f"{n:,}" for n in counts)) for catalog, *counts in table.iter_rows()]
    # The page shows metadata in a narrow column: headings may wrap, and examples have a table of their own.
    headings = [_words(name) for name in table.columns]
    return {
        "by_reason": dg.MetadataValue.md(
            markdown_table(("fate", "passages", "share", "projects"), [*rows, ("**all**", *everything)])
        ),
        "by_catalog": dg.MetadataValue.md(markdown_table(headings, lines)),
        "examples": dg.MetadataValue.md(markdown_table(("fate", "rule", "one of them"), examples, figures=False)),
        "raw_passages": decisions.height,
        "kept_passages": int(decisions["kept"].sum()),
    }


def _words(name: str) -> str:
    """Wraps where ``name`` would not."""
    return name.replace("_", " ")


def decision_checks(spec: CollectionSpec) -> list[dg.AssetChecksDefinition]:
    collection = spec.collection

    @table_check(
        spec,
        "passage_decisions",
        "every_raw_passage_has_one_fate",
        description="Raw passages are those kept, which are the corpus, and those dropped for one reason each, exactly.",
    )
    def every_raw_passage_has_one_fate(warehouse: Warehouse) -> dg.AssetCheckResult:
        decisions = warehouse.load(collection, "passage_decisions")
        raw = warehouse.load(collection, "passages", ["passage_id", "project"])
        kept = decisions.filter("kept")
        limited = set(warehouse.load(collection, "restricted_projects", ["project"])["project"])
        repeated = decisions.filter(reason=NEAR_DUPLICATE)
        caused = repeated.join(decisions, left_on=["cause", "project"], right_on=["passage_id", "project"], how="left")
        wrong = {
            "undecided": set(raw["passage_id"]) ^ set(decisions["passage_id"]),
            "decided_twice": set(decisions.filter(pl.col("passage_id").is_duplicated())["passage_id"]),
            "kept_for_a_reason": set(decisions.filter(pl.col("kept") != pl.col("reason").is_null())["passage_id"]),
            "kept_and_not_in_the_corpus": set(kept["passage_id"])
            ^ set(warehouse.load(collection, "corpus", ["passage_id"])["passage_id"]),
            "of_a_restricted_project": set(raw.filter(pl.col("project").is_in(list(limited)))["passage_id"])
            ^ set(decisions.filter(reason=RESTRICTED)["passage_id"]),
            # What a passage repeats is of its project and no repetition itself.
            "without_a_cause": set(
                caused.filter(pl.col("kept_right").is_null() | (pl.col("reason_right") == NEAR_DUPLICATE))["passage_id"]
            ),
        }
        dropped = {str(reason): n for reason, n in decisions["reason"].drop_nulls().value_counts(sort=True).rows()}
        adds_up = raw.height == kept.height + sum(dropped.values())
        return dg.AssetCheckResult(
            passed=adds_up and not any(wrong.values()),
            metadata={
                "raw": raw.height,
                "kept": kept.height,
                "dropped": dropped,
                "wrong": {what: sorted(ids)[:SHOWN] for what, ids in wrong.items() if ids},
            },
        )

    return [every_raw_passage_has_one_fate]
