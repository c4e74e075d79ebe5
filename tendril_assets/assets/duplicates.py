"""The duplicate index over the corpus and the test collection, which later stages ask about leakage."""

from collections.abc import Iterator

import dagster as dg

from tendril_assets.assets.common import Stage, store, table_assets
from tendril_assets.corpus.duplicates import INDEX_VERSION, DuplicateIndex, Texts, passage_texts, similar_texts
from tendril_assets.errors import WarehouseError
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec

_MADE_WITH = "duplicate_index"


def duplicate_assets(spec: CollectionSpec) -> Stage:
    """corpus, test_corpus -> passage_texts, similar_texts."""
    collection, rule = spec.collection, spec.filters.near_duplicate

    @table_assets(
        spec, ["passage_texts", "similar_texts"], deps=["corpus", "test_corpus"], pool="cpu", version=INDEX_VERSION
    )
    def index(context: dg.AssetExecutionContext, warehouse: Warehouse) -> Iterator[dg.MaterializeResult]:
        texts = _present(warehouse, collection)
        made_with = f"{INDEX_VERSION}|{rule.model_dump_json(exclude={'guard'})}"
        same = warehouse.meta_get(collection, _MADE_WITH) == made_with and warehouse.exists(collection, "similar_texts")
        if same and warehouse.load(collection, "passage_texts").sort("source", "passage_id").equals(texts.frame):
            similar = warehouse.load(collection, "similar_texts").sort("text_id", "other_id")
            context.log.info("no text has changed: the pairs of the last run hold")
        else:
            similar = similar_texts(texts, rule)
            # Unset while the tables are written, so that a run cut off in between leaves nothing that looks current.
            warehouse.meta_set(collection, _MADE_WITH, "")
        metadata = {
            "passage_texts": {"texts": len(texts.normalised), **_repeated(DuplicateIndex(texts.frame, similar))},
            "similar_texts": {"rule": made_with},
        }
        frames = {"passage_texts": texts.frame, "similar_texts": similar}
        yield from store(context, warehouse, spec, frames, metadata)
        warehouse.meta_set(collection, _MADE_WITH, made_with)

    return Stage([index], [])


def _repeated(index: DuplicateIndex) -> dict[str, int]:
    in_groups = index.texts.unique(["text_id", "source", "group_id"])["text_id"]
    repeated = set(in_groups.filter(in_groups.is_duplicated()))
    return {
        "texts_in_several_groups": len(repeated),
        "texts_equal_or_similar_across_groups": len(
            repeated.union(index.similar["text_id"], index.similar["other_id"])
        ),
    }


def load_index(warehouse: Warehouse, collection: str) -> DuplicateIndex:
    """The index as it stands. Raises WarehouseError where it is not that of the present texts."""
    index = DuplicateIndex(warehouse.load(collection, "passage_texts"), warehouse.load(collection, "similar_texts"))
    present = _present(warehouse, collection).frame
    changed = present.join(index.texts, on=present.columns, how="anti").height
    if changed or present.height != index.texts.height:
        raise WarehouseError(
            f"{collection}: the duplicate index has {index.texts.height:,} passages, the corpus and the test collection "
            f"{present.height:,}, of which {changed:,} are not in it as they are: materialise {collection}/similar_texts again"
        )
    return index


def _present(warehouse: Warehouse, collection: str) -> Texts:
    columns = ["passage_id", "group_id", "text"]
    return passage_texts(*(warehouse.load(collection, table, columns) for table in ("corpus", "test_corpus")))
