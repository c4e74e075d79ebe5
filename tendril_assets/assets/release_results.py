"""What the systems measure on the very rows that are released: a card says nothing of figures over other rows."""

import polars as pl

from tendril_assets.assets.ranked_inputs import needed_tables, read_test
from tendril_assets.evaluation.collection import judged_collection
from tendril_assets.evaluation.held_out import under_test
from tendril_assets.evaluation.metrics import score_queries
from tendril_assets.release.register_results import MeasuredRows
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec

# Scores are read back as they were written: what differs by more was measured on other grades.
_SAME = 1e-9
_UNIT = ["system", "query_id"]


def result_tables(spec: CollectionSpec) -> set[str]:
    """The tables that a card's results are read from, and compared with; none where the tests are an external collection."""
    if spec.evaluation.test != "held_out":
        return set()
    return {"register_scores", "query_scores", "retrieval_runs", "ranked_systems", *needed_tables(spec)}


def measured_rows(warehouse: Warehouse, spec: CollectionSpec) -> MeasuredRows:
    """Table ``register_scores``, where every system ranked the present texts and was scored with the present grades.

    The hash of what is ranked says the first. The scores of the first measure, computed again from the stored rankings and
    the present grades, say the second: a hash of grades was never stored.
    """
    names = sorted(result_tables(spec))
    if not names or not all(warehouse.exists(spec.collection, name) for name in names):
        return MeasuredRows()
    collection, measure = spec.collection, spec.evaluation.measures[0]
    test = judged_collection(*read_test(warehouse, spec)[:3], spec.evaluation.scope)
    of = dict(warehouse.load(collection, "ranked_systems", ["system", "test_hash"]).iter_rows())
    if other := [system for system in spec.systems if of.get(system) != test.ranked_hash]:
        return MeasuredRows(None, f"{', '.join(other)} did not rank the passages and queries of this version")
    qrels = under_test(test).qrels
    runs = warehouse.load(collection, "retrieval_runs").partition_by("system", as_dict=True)
    present = [
        score_queries(run, qrels, [measure]).select(pl.lit(system).alias("system"), "query_id", "value")
        for (system,), run in sorted(runs.items())
    ]
    stored = warehouse.load(collection, "query_scores").filter(measure=measure).select(*_UNIT, "value")
    if not _are_same(pl.concat([stored.clear(), *present]), stored):
        return MeasuredRows(None, "the systems were scored with other grades than those of this version")
    return MeasuredRows(warehouse.load(collection, "register_scores"))


def _are_same(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    both = one.join(other, on=_UNIT, how="full", suffix="_stored")
    same = (pl.col("value") - pl.col("value_stored")).abs() <= _SAME
    return both.select(same.fill_null(value=False).all()).item()
