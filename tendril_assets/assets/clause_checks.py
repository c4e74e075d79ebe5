"""What must hold of passages that are cut along clauses, and of the gold that was published for them."""

import dagster as dg
import polars as pl

from tendril_assets.assets.common import table_check
from tendril_assets.corpus.content_check import GONE, MOVED, standing_of
from tendril_assets.qrels.published import without_removed
from tendril_assets.resources.erased_rows import stored
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec

SHOWN = 20
_PAIR = ["query_id", "passage_id", "content_check"]


def clause_checks(spec: CollectionSpec) -> list[dg.AssetChecksDefinition]:
    """Checks of a collection that cuts clauses; that of published gold where it has registers."""
    if spec.chunking.policy != "clauses":
        return []
    collection, most = spec.collection, spec.chunking.max_tokens

    @table_check(
        spec,
        "passage_clauses",
        "every_passage_has_its_place",
        description="Each raw passage has one row that says where it stands in its act, and none has more tokens than allowed.",
    )
    def every_passage_has_its_place(warehouse: Warehouse) -> dg.AssetCheckResult:
        clauses = warehouse.load(collection, "passage_clauses", ["passage_id", "starts_at", "ends_at", "tokens"])
        passages = warehouse.load(collection, "passages", ["passage_id"])["passage_id"]
        wrong = {
            "without_a_place": sorted(set(passages) ^ set(clauses["passage_id"])),
            "empty": sorted(clauses.filter(pl.col("starts_at") >= pl.col("ends_at"))["passage_id"]),
            "too_long": sorted(clauses.filter(pl.col("tokens") > most)["passage_id"]),
        }
        return dg.AssetCheckResult(
            passed=not any(wrong.values()),
            metadata={
                "passages": len(passages),
                "tokens_median": clauses.select(pl.col("tokens").median().fill_null(0.0)).item(),
                "tokens_most": clauses.select(pl.col("tokens").max().fill_null(0)).item(),
                "wrong": {what: ids[:SHOWN] for what, ids in wrong.items() if ids},
            },
        )

    @table_check(
        spec,
        "corpus",
        "gold_stands_where_it_stood",
        description="Under the passage id of each published pair stands the text that the pair was published for.",
    )
    def gold_stands_where_it_stood(warehouse: Warehouse) -> dg.AssetCheckResult:
        pairs = [stored(warehouse, collection, table).select(_PAIR) for table in ("published_pairs", "landed_qrels")]
        both = pl.concat(pairs).unique(maintain_order=True)
        has_check = pl.col("content_check").is_not_null()
        # Published again with a check, a pair of the landing folder that had none is one pair with a check.
        published = both.filter(has_check | ~has_check.any().over("query_id", "passage_id"))
        entries = warehouse.load(collection, "removals", ["kind", "id"]).rows()
        out = warehouse.load(collection, "removed_passages", ["passage_id"])["passage_id"]
        binding = without_removed(published, entries, out)
        corpus = warehouse.load(collection, "corpus", ["passage_id", "text"])
        found = standing_of(binding, corpus)
        wrong = found.filter(pl.col("state").is_in([MOVED, GONE]))
        told = [
            f"{query} / {passage}: {'another text stands there' if state == MOVED else 'no such passage'}"
            + (f"; its text stands under {now_at}" if now_at else "")
            for query, passage, state, now_at in wrong.select("query_id", "passage_id", "state", "now_at")
            .head(SHOWN)
            .iter_rows()
        ]
        moved, gone = (wrong.filter(state=state).height for state in (MOVED, GONE))
        return dg.AssetCheckResult(
            passed=wrong.is_empty(),
            description=f"{moved} of {binding.height} published pairs moved and {gone} have no passage: the acts, the rule of "
            "cutting or the tokenizer changed. Restore what cut them, or take the pairs out by the removal list"
            if wrong.height
            else None,
            metadata={
                "published": published.height,
                "taken_out_by_removal": published.height - binding.height,
                "without_a_check": int(binding["content_check"].is_null().sum()),
                "moved": moved,
                "gone": gone,
                "pairs": told,
            },
        )

    return [every_passage_has_its_place, *([gold_stands_where_it_stood] if spec.registers else [])]
