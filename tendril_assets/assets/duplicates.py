"""The duplicate index over the corpus and the test collection, which later stages ask about leakage."""

from collections.abc import Iterator

import dagster as dg

from tendril_assets.assets.common import Stage, store, table_assets
from tendril_assets.corpus.duplicates import INDEX_VERSION, DuplicateIndex, Texts, passage_texts, similar_texts
from tendril_assets.errors import WarehouseError
from tendril_assets.resources.frames import content_hash
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES

_MADE_FROM = "duplicate_index"
_INPUTS = ("corpus", "test_corpus")


def duplicate_assets(spec: CollectionSpec) -> Stage:
    """corpus, test_corpus -> passage_texts, similar_texts."""
    collection, rule = spec.collection, spec.filters.near_duplicate

    @table_assets(
        spec, ["passage_texts", "similar_texts"], deps=["corpus", "test_corpus"], pool="cpu", version=INDEX_VERSION
    )
    def index(context: dg.AssetExecutionContext, warehouse: Warehouse) -> Iterator[dg.MaterializeResult]:
        read = "|".join(content_hash(TABLES[name], warehouse.load(collection, name)) for name in _INPUTS)
        made_with = f"{INDEX_VERSION}|{rule.model_dump_json(exclude={'guard'})}"
        made_from = f"{made_with}|{read}"
        if warehouse.meta_get(collection, _MADE_FROM) == made_from and warehouse.exists(collection, "similar_texts"):
            texts, similar = (warehouse.load(collection, name) for name in ("passage_texts", "similar_texts"))
            context.log.info("no text has changed: the index of the last run holds")
        else:
            present = _present(warehouse, collection)
            texts, similar = present.frame, similar_texts(present, rule)
            # Unset while the tables are written, so that a run cut off in between leaves nothing that looks current.
            warehouse.meta_set(collection, _MADE_FROM, "")
        metadata = {
            "passage_texts": {"texts": texts["text_id"].n_unique(), **_repeated(DuplicateIndex(texts, similar))},
            "similar_texts": {"rule": made_with},
        }
        frames = {"passage_texts": texts, "similar_texts": similar}
        yield from store(context, warehouse, spec, frames, metadata)
        warehouse.meta_set(collection, _MADE_FROM, made_from)

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
    return passage_texts(*(warehouse.load(collection, table, columns) for table in _INPUTS))
