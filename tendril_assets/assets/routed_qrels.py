"""Qrels of a collection with registers: every grade with its route and evidence, and nothing published lost."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import dagster as dg
import polars as pl

from tendril_assets.assets.common import Stage, counts, store, table_assets, table_check
from tendril_assets.assets.judging import completeness
from tendril_assets.assets.released import former_releases
from tendril_assets.assets.shown import label_pictures
from tendril_assets.corpus.content_check import content_check
from tendril_assets.errors import ExportInvariantError
from tendril_assets.qrels import published, routes
from tendril_assets.qrels.assemble import require_complete
from tendril_assets.qrels.evidence import evidence_faults
from tendril_assets.qrels.neighbours import NO_NEIGHBOURS, neighbours
from tendril_assets.release.huggingface import shard_files
from tendril_assets.release.wording import markdown_table
from tendril_assets.resources.erased_rows import stored
from tendril_assets.resources.sql import query
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec

# Entries of the removal list, and every id that it ever hit.
Removals = tuple[list[tuple[str, str]], list[str]]
TABLES_WRITTEN = ("qrels", "qrel_evidence", "published_pairs")
_READ = (
    "judgments",
    "candidates",
    "judge_calls",
    "queries",
    "corpus",
    "passages",
    "live_attachments",
    "landed_qrels",
    "removals",
    "erased_ids",
)


def routed_qrels(spec: CollectionSpec) -> Stage:
    """judgments, attachments, generated questions, published pairs -> qrels, qrel_evidence, published_pairs."""
    return Stage([_write(spec)], _checks(spec))


def _write(spec: CollectionSpec) -> dg.AssetsDefinition:
    collection = spec.collection
    clauses = ["passage_clauses"] if spec.chunking.policy == "clauses" else []
    generated = ["generated_questions"] if spec.registers and spec.registers.generation else []

    # Not after the releases, which follow from the qrels: their folders are read as they are, as a history is.
    @table_assets(spec, TABLES_WRITTEN, deps=[*_READ, *clauses, *generated])
    def write_qrels(context: dg.AssetExecutionContext, warehouse: Warehouse) -> Iterator[dg.MaterializeResult]:
        """The check upstream blocks too; this holds where the asset is materialised by itself."""
        with warehouse.one_state("read what grades rest on"):
            state = completeness(warehouse, spec)
            require_complete(
                state["n_open"], state["requests"], allow_incomplete=spec.judge.allow_incomplete, where=collection
            )
            made = _graded(warehouse, spec)
        tables = made.tables
        for line in made.told:
            context.log.warning(line)
        grades = tables["qrels"].select(pl.col("score").cast(pl.String))
        metadata = {
            "qrels": {
                "by_score": counts(grades, "score"),
                "queries": tables["qrels"]["query_id"].n_unique(),
                "open_requests": state["n_open"],
            },
            "qrel_evidence": {"by_route": counts(tables["qrel_evidence"], "route"), "routes": _by_route(tables)},
            "published_pairs": {"by_version": counts(tables["published_pairs"], "version"), "removed": made.removed},
        }
        yield from store(context, warehouse, spec, tables, metadata, {"qrels": label_pictures})

    return write_qrels


class _Graded(NamedTuple):
    """``tables``: all that is written. ``removed``: published pairs that the removal list takes out. ``told``: warnings."""

    tables: dict[str, pl.DataFrame]
    removed: int
    told: list[str]


def _graded(warehouse: Warehouse, spec: CollectionSpec) -> _Graded:
    """Every grade with its route. Raises PublishedPairMissing where append-only qrels would lose a pair."""
    collection = spec.collection
    removals = _removals(warehouse, collection)
    history = published_pairs(warehouse, collection)
    binding = published.without_removed(history, *removals)
    parts = _parts(warehouse, spec, removals)
    queries = warehouse.load(collection, "queries", ["query_id"])
    wanted = {p for frame in (binding, *parts.values()) for p in frame["passage_id"]}
    corpus = _checked_corpus(warehouse, collection, wanted)
    standing = published.standing(binding, queries, corpus)
    if spec.qrels.append_only:
        parts[routes.PUBLISHED] = routes.by_publication(standing, parts[routes.NEIGHBOUR])
    graded = published.without_removed(routes.strongest(parts), *removals)
    tables = routes.qrel_tables(graded, corpus, queries)
    if spec.qrels.append_only:
        published.require_published(standing, tables["qrels"], collection)
    told = [*_gone_from_sandbox(warehouse, collection, tables["qrels"]), *_regraded(binding, tables["qrels"])]
    return _Graded({**tables, "published_pairs": history}, history.height - binding.height, told)


def _checks(spec: CollectionSpec) -> list[dg.AssetChecksDefinition]:
    collection = spec.collection

    @table_check(
        spec,
        "qrels",
        "qrels_match_their_evidence",
        description="Each qrel has one route and its evidence is there: the judgment it repeats, the gold it neighbours, the "
        "question it was written for; no accepted judgment, gold passage or accepted question is left without its qrel.",
    )
    def qrels_match_their_evidence(warehouse: Warehouse) -> dg.AssetCheckResult:
        with warehouse.one_state("hold grades against their evidence"):
            gone = published.removed_pairs(_removals(warehouse, collection)[0])
            faults = evidence_faults(
                warehouse.load(collection, "qrels"),
                warehouse.load(collection, "qrel_evidence"),
                warehouse.load(collection, "judgments"),
                stored(warehouse, collection, "live_attachments"),
                stored(warehouse, collection, "generated_questions"),
                warehouse.load(collection, "published_pairs", published.PAIR),
                pl.DataFrame(sorted(gone), dict.fromkeys(published.PAIR, pl.String), orient="row"),
            )
        found = dict(faults.group_by("rule").len().sort("rule").iter_rows())
        return dg.AssetCheckResult(
            passed=faults.is_empty(), metadata={"faults": found, "examples": str(faults.head(20).rows())}
        )

    if not spec.qrels.append_only:
        return [qrels_match_their_evidence]

    @table_check(
        spec,
        "qrels",
        "published_pairs_stay",
        description="Every pair that the landing folder or a release published is among the qrels, and its passage holds "
        "the text that was graded; only the removal list takes a pair out.",
    )
    def published_pairs_stay(warehouse: Warehouse) -> dg.AssetCheckResult:
        with warehouse.one_state("look for published pairs"):
            known = warehouse.load(collection, "published_pairs")
            binding = published.without_removed(known, *_removals(warehouse, collection))
            corpus = _checked_corpus(warehouse, collection, set(binding["passage_id"]))
            standing = published.standing(binding, warehouse.load(collection, "queries", ["query_id"]), corpus)
            lost = published.missing(standing, warehouse.load(collection, "qrels", published.PAIR))
        named = [f"{q}/{p} ({why})" for q, p, why in lost.head(20).select(*published.PAIR, "why").iter_rows()]
        return dg.AssetCheckResult(
            passed=lost.is_empty(),
            metadata={"published": known.height, "removed": known.height - binding.height, "missing": lost.height}
            | ({"pairs": named} if named else {}),
        )

    return [qrels_match_their_evidence, published_pairs_stay]


def _checked_corpus(warehouse: Warehouse, collection: str, wanted: set[str]) -> pl.DataFrame:
    """passage_id, group_id and content_check of the corpus; the check of those that are ``wanted``, of others empty."""
    corpus = warehouse.load(collection, "corpus", ["passage_id", "group_id", "text"])
    checks = [
        content_check(text) if p in wanted else None for p, text in corpus.select("passage_id", "text").iter_rows()
    ]
    return corpus.select("passage_id", "group_id", content_check=pl.Series(checks, dtype=pl.String))


def _parts(warehouse: Warehouse, spec: CollectionSpec, removals: Removals) -> dict[str, pl.DataFrame]:
    """Route -> its graded pairs, of every route but that of what was published before."""
    collection = spec.collection
    held = ["passage_id", "clauses", "continues"]
    clauses = stored(warehouse, collection, "passage_clauses").select(held)
    parts = {
        routes.CLAUSES: routes.by_clauses(stored(warehouse, collection, "live_attachments"), clauses),
        routes.GENERATED: routes.by_generation(stored(warehouse, collection, "generated_questions")),
        routes.JUDGE: routes.by_judge(warehouse.load(collection, "judgments")),
    }
    parts[routes.NEIGHBOUR] = routes.by_neighbours(_neighbours(warehouse, spec, parts, removals))
    return parts


def _neighbours(
    warehouse: Warehouse, spec: CollectionSpec, parts: Mapping[str, pl.DataFrame], removals: Removals
) -> pl.DataFrame:
    if spec.qrels.neighbour_overlap is None:
        return NO_NEIGHBOURS
    gold = pl.concat([parts[routes.CLAUSES], parts[routes.GENERATED]]).select("query_id", "passage_id")
    # A gold pair that is removed is none, and its neighbour with it.
    gold = published.without_removed(gold, *removals)
    places = warehouse.frame(spec.collection, query("qrels/places"), "places of the passages")
    return neighbours(gold, places, spec.qrels.neighbour_overlap, headed=spec.chunking.policy == "clauses")


def _removals(warehouse: Warehouse, collection: str) -> Removals:
    entries = warehouse.load(collection, "removals", ["kind", "id"]).rows()
    return entries, stored(warehouse, collection, "erased_ids")["id"].to_list()


def published_pairs(warehouse: Warehouse, collection: str) -> pl.DataFrame:
    """Table ``published_pairs``: of what is landed, and of the releases' folders as they are. A sandbox release is none: it
    cannot be published, and each run replaces it."""
    releases = former_releases(warehouse, collection).filter(~pl.col("sandbox")).sort("created_at")
    pairs = [(version, released_pairs(Path(path))) for version, path in releases.select("version", "path").iter_rows()]
    return published.published_table(
        warehouse.load(collection, "landed_qrels"), pairs, stored(warehouse, collection, "published_pairs")
    )


def released_pairs(folder: Path) -> pl.DataFrame | None:
    """query_id, passage_id, score and content_check of a release's judgments, the check of the text it published; None where
    its files are gone or damaged, which check release_files_intact says."""
    try:
        qrels = pl.read_parquet(shard_files(folder, "qrels"))
        corpus = pl.read_parquet(shard_files(folder, "corpus"), columns=["id", "text"])
    except (ExportInvariantError, OSError, pl.exceptions.PolarsError):
        return None
    graded = qrels.select(query_id="query-id", passage_id="corpus-id", score=pl.col("score").cast(pl.Int8))
    texts = corpus.rename({"id": "passage_id"}).join(graded, on="passage_id", how="semi")
    checks = pl.Series([content_check(text) for text in texts["text"]], dtype=pl.String)
    return graded.join(texts.select("passage_id", content_check=checks), on="passage_id", how="left")


def _gone_from_sandbox(warehouse: Warehouse, collection: str, qrels: pl.DataFrame) -> list[str]:
    """What to tell of pairs that a sandbox release holds and the next one will not."""
    told = []
    for version, path in (
        former_releases(warehouse, collection).filter("sandbox").select("version", "path").sort("version").iter_rows()
    ):
        pairs = released_pairs(Path(path))
        gone = 0 if pairs is None else pairs.join(qrels, on=published.PAIR, how="anti").height
        if gone:
            told.append(
                f"{gone:,} pairs of the sandbox release {version} are not among the qrels any more. A sandbox release binds "
                "nobody; a published one would have stopped here"
            )
    return told


def _regraded(binding: pl.DataFrame, qrels: pl.DataFrame) -> list[str]:
    now = qrels.select(*published.PAIR, now="score")
    changed = binding.join(now, on=published.PAIR).filter(pl.col("score") != pl.col("now"))
    if changed.is_empty():
        return []
    shown = [f"{q} / {p}: {before} -> {after}" for q, p, before, after in
             changed.head(5).select(*published.PAIR, "score", "now").iter_rows()]  # fmt: skip
    return [
        f"{changed.height:,} published pairs have another grade, for stronger evidence replaced it: {'; '.join(shown)}"
    ]


def _by_route(tables: dict[str, pl.DataFrame]) -> dg.MarkdownMetadataValue:
    """How many pairs and queries each route gave, by grade."""
    joined = tables["qrel_evidence"].join(tables["qrels"], on=published.PAIR)
    rows = [
        (
            route,
            f"{own.height:,}",
            f"{own['query_id'].n_unique():,}",
            *(f"{own.filter(score=score).height:,}" for score in (0, 1, 2)),
        )
        for route in routes.ROUTES
        for own in [joined.filter(route=route)]
        if own.height
    ]
    return dg.MetadataValue.md(markdown_table(("route", "pairs", "queries", "0", "1", "2"), rows))
