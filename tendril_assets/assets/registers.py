"""Queries of several registers: what people asked, what was written by hand, what was generated."""

from collections.abc import Iterator

import dagster as dg
import polars as pl

from tendril_assets.assets.common import Stage, counts, store, table_assets, table_check
from tendril_assets.assets.published_queries import published_queries
from tendril_assets.queries.live import attachment_rows, hit_rates, miscounted
from tendril_assets.queries.references import grammar
from tendril_assets.queries.register_queries import build_registers, changed_texts, lengths, repeated_texts
from tendril_assets.queries.routes import ROUTES
from tendril_assets.release.wording import markdown_table
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES

_SHOWN = 20


def register_assets(spec: CollectionSpec) -> Stage:
    """acts, live_questions, generated_questions -> live_attachments -> queries, project_queries, published_queries."""
    if spec.registers is None:
        return Stage([], [])
    return Stage([_attachments(spec), _queries(spec)], [*_live_checks(spec), *_query_checks(spec)])


def corpus_acts(warehouse: Warehouse, collection: str) -> pl.DataFrame:
    """project, group_id, number, date, kind of the groups that have a passage in the corpus, by project; the last three are
    null where the landing folder lists no such act."""
    there = warehouse.load(collection, "corpus", ["group_id"]).unique()
    groups = warehouse.load(collection, "sampled_projects", ["project", "group_id"]).join(there, on="group_id")
    acts = warehouse.load(collection, "acts", ["project", "number", "date", "kind", "outcome"])
    kept = acts.filter(pl.col("outcome") == "kept").drop("outcome")
    return (
        groups.join(kept, on="project", how="left")
        .select("project", "group_id", "number", "date", "kind")
        .sort("project")
    )


def _attachments(spec: CollectionSpec) -> dg.AssetsDefinition:
    collection, live = spec.collection, spec.registers.live if spec.registers else None

    @table_assets(
        spec,
        ["live_attachments"],
        deps=["live_questions", "acts", "sampled_projects", "passage_clauses", "corpus", "erased_ids"],
    )
    def write_live_attachments(
        context: dg.AssetExecutionContext, warehouse: Warehouse
    ) -> Iterator[dg.MaterializeResult]:
        if live is None:
            yield from store(context, warehouse, spec, {"live_attachments": TABLES["live_attachments"].empty()})
            return
        with warehouse.one_state("attach live questions"):
            attachments = attachment_rows(
                warehouse.load(collection, "live_questions"),
                corpus_acts(warehouse, collection).drop_nulls("number"),
                warehouse.load(collection, "passage_clauses"),
                warehouse.load(collection, "corpus", ["passage_id"])["passage_id"],
                live,
                grammar(live.references),
            )
        rates = hit_rates(attachments)
        metadata = {
            "by_route": counts(attachments, "route"),
            "by_source": counts(attachments, "how"),
            "hit_rates": dg.MetadataValue.md(markdown_table(rates.columns, rates.rows())),
            "acts": attachments["project"].n_unique() - int(attachments["project"].has_nulls()),
            "by_reason": counts(attachments.filter(pl.col("route") != "clauses"), "reason"),
        }
        yield from store(context, warehouse, spec, {"live_attachments": attachments}, {"live_attachments": metadata})

    return write_live_attachments


def _queries(spec: CollectionSpec) -> dg.AssetsDefinition:
    collection, registers = spec.collection, spec.registers
    live = registers.live if registers else None
    inputs = ["live_attachments", "live_questions", "manual_queries", "acts", "sampled_projects", "corpus"]
    made = ["queries", "project_queries", "published_queries"]
    # What counts the queries counts the generated ones too: without generation their table is there, and empty.
    (inputs if registers and registers.generation else made).append("generated_questions")

    @table_assets(spec, made, deps=inputs)
    def write_register_queries(
        context: dg.AssetExecutionContext, warehouse: Warehouse
    ) -> Iterator[dg.MaterializeResult]:
        assert registers is not None
        with warehouse.one_state("read the registers"):
            generated = TABLES["generated_questions"].empty()
            if registers.generation:
                generated = warehouse.load(collection, "generated_questions")
            built = build_registers(
                registers,
                warehouse.load(collection, "live_questions"),
                warehouse.load(collection, "live_attachments"),
                warehouse.load(collection, "manual_queries"),
                generated,
                corpus_acts(warehouse, collection),
            )
            published = published_queries(warehouse, collection)
        long = lengths(built.queries)
        metadata = {
            "queries": {
                "by_level": counts(built.queries, "level"),
                "left_out": counts(built.left_out, "level"),
                "left_out_first": _first_left_out(built.left_out, live.level if live else None),
                "lengths": dg.MetadataValue.md(markdown_table(long.columns, long.rows())),
            },
            "project_queries": {"by_level": counts(built.project_queries, "level")},
            "published_queries": {"by_version": counts(published, "version")},
        }
        frames = {
            "queries": built.queries,
            "project_queries": built.project_queries,
            "published_queries": published,
        }
        if not registers.generation:
            frames["generated_questions"] = generated
        yield from store(context, warehouse, spec, frames, metadata)

    return write_register_queries


def _first_left_out(left_out: pl.DataFrame, live: str | None) -> dg.MarkdownMetadataValue:
    """Queries that were left out, with why; those of live questions stand in ``live_attachments``."""
    other = left_out.filter(pl.col("level") != (live or "")).sort("level", "query_id").head(_SHOWN)
    return dg.MetadataValue.md(markdown_table(other.columns, other.rows()) if other.height else "none")


def _live_checks(spec: CollectionSpec) -> list[dg.AssetChecksDefinition]:
    collection = spec.collection
    if spec.registers is None or spec.registers.live is None:
        return []

    @table_check(
        spec,
        "live_attachments",
        "every_live_question_has_one_route",
        description="Every landed question has one row, and the routes add up to the questions.",
    )
    def every_live_question_has_one_route(warehouse: Warehouse) -> dg.AssetCheckResult:
        attachments = warehouse.load(collection, "live_attachments")
        live = warehouse.load(collection, "live_questions", ["query_id"])
        wrong = miscounted(attachments, live, ROUTES)
        return dg.AssetCheckResult(
            passed=not wrong,
            description="; ".join(wrong[:_SHOWN]) or None,
            metadata={"questions": live.height, "by_route": counts(attachments, "route"), "found": len(wrong)},
        )

    @table_check(
        spec,
        "live_attachments",
        "live_gold_is_in_the_corpus",
        description="The gold passages of a live question are passages of the act it is attached to.",
    )
    def live_gold_is_in_the_corpus(warehouse: Warehouse) -> dg.AssetCheckResult:
        gold = warehouse.load(collection, "live_attachments", ["query_id", "group_id", "passages"])
        pairs = gold.explode("passages").drop_nulls("passages").rename({"passages": "passage_id"})
        corpus = warehouse.load(collection, "corpus", ["passage_id", "group_id"])
        lost = pairs.join(corpus, on=["passage_id", "group_id"], how="anti").sort("query_id", "passage_id")
        named = [f"{query} / {passage}" for query, passage in lost.select("query_id", "passage_id").iter_rows()]
        return dg.AssetCheckResult(
            passed=not named,
            description=f"not in the corpus: {'; '.join(named[:_SHOWN])}" if named else None,
            metadata={"pairs": pairs.height, "found": len(named)},
        )

    return [every_live_question_has_one_route, live_gold_is_in_the_corpus]


def _query_checks(spec: CollectionSpec) -> list[dg.AssetChecksDefinition]:
    collection = spec.collection

    @table_check(
        spec, "queries", "every_subset_has_queries", description="A subset without any query could not be judged."
    )
    def every_subset_has_queries(warehouse: Warehouse) -> dg.AssetCheckResult:
        present = set(warehouse.load(collection, "queries", ["level"])["level"])
        return dg.AssetCheckResult(
            passed=present == set(spec.subsets),
            metadata={"expected": list(spec.subsets), "present": sorted(present)},
        )

    @table_check(
        spec,
        "queries",
        "published_queries_keep_their_text",
        description="No query has another text than the one that was published under its id.",
    )
    def published_queries_keep_their_text(warehouse: Warehouse) -> dg.AssetCheckResult:
        queries = warehouse.load(collection, "queries", ["query_id", "text"])
        published = warehouse.load(collection, "published_queries")
        changed = changed_texts(queries, published)
        gone = sorted(set(published["query_id"]) - set(queries["query_id"]))
        told = f"another text than published: {'; '.join(changed[:_SHOWN])}. Give the new wording an id of its own"
        return dg.AssetCheckResult(
            passed=not changed,
            description=told if changed else None,
            metadata={
                "changed": len(changed),
                "published": published["query_id"].n_unique(),
                "gone": str(gone[:_SHOWN]),
            },
        )

    @table_check(
        spec,
        "queries",
        "no_text_is_asked_twice",
        description="No two queries of one register have the same text: it would count twice.",
        blocking=False,
    )
    def no_text_is_asked_twice(warehouse: Warehouse) -> dg.AssetCheckResult:
        found = repeated_texts(warehouse.load(collection, "queries", ["query_id", "text", "level"]))
        named = [f"{query} repeats {first}" for _, query, first in found.iter_rows()]
        return dg.AssetCheckResult(
            passed=not named,
            severity=dg.AssetCheckSeverity.WARN,
            description="; ".join(named[:_SHOWN]) or None,
            metadata={"found": len(named)},
        )

    return [every_subset_has_queries, published_queries_keep_their_text, no_text_is_asked_twice]
