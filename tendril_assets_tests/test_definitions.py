"""The code location loads, and its graph is the one on record."""

import json

import dagster as dg
import pytest

from tendril_assets.assets.common import OWNERS, POOLS
from tendril_assets.definitions import definitions
from tendril_assets.tables import TABLES
from tendril_assets_tests.asset_graph import SNAPSHOT, describe


@pytest.fixture(scope="module")
def loaded() -> dg.Definitions:
    return definitions()


def test_definitions_are_loadable(loaded: dg.Definitions) -> None:
    dg.Definitions.validate_loadable(loaded)


def test_the_asset_graph_is_the_one_on_record(loaded: dg.Definitions) -> None:
    """After a wanted change: python -m tendril_assets_tests.asset_graph, and commit the difference."""
    assert describe(loaded) == json.loads(SNAPSHOT.read_text("utf-8"))


def test_every_asset_is_described_owned_and_pooled(loaded: dg.Definitions) -> None:
    graph = loaded.resolve_asset_graph()
    for key in graph.get_all_asset_keys():
        node = graph.get(key)
        assert node.description, key
        assert node.owners == OWNERS, key
        assert node.kinds, key
        assert set(node.pools or ()) <= set(POOLS), key
        assert node.pools, key


def test_every_declared_table_is_an_asset_with_its_columns(loaded: dg.Definitions) -> None:
    graph = loaded.resolve_asset_graph()
    keys = {k.path[-1]: k for k in graph.get_all_asset_keys() if len(k.path) == 2}
    for name, table in TABLES.items():
        assert name in keys, name
        schema = graph.get(keys[name]).metadata["dagster/column_schema"]
        assert [c.name for c in schema.columns] == [c.name for c in table.columns]


def test_nothing_is_partitioned_and_nothing_paid_is_automated(loaded: dg.Definitions) -> None:
    graph = loaded.resolve_asset_graph()
    for key in graph.get_all_asset_keys():
        node = graph.get(key)
        assert node.partitions_def is None, key
        if set(node.pools or ()) & {"judge_api", "gpu"}:
            assert node.automation_condition is None, key


def test_what_is_paid_a_second_time_has_a_job_of_its_own(loaded: dg.Definitions) -> None:
    graph = loaded.resolve_asset_graph()
    again = {key for key in graph.get_all_asset_keys() if (graph.get(key).group_name or "").endswith("_drift")}
    assert again
    for job in loaded.resolve_all_job_defs():
        held = set(job.asset_layer.executable_asset_keys) & again
        if not job.name.startswith("__"):
            assert held == (again if job.name.endswith("_drift") else set()), job.name


def test_the_two_halves_make_the_whole(loaded: dg.Definitions) -> None:
    """One asks and needs no model, the other trains, ranks and releases and asks nothing."""
    graph = loaded.resolve_asset_graph()

    def steps(job: str) -> set[dg.AssetKey]:
        return set(loaded.resolve_job_def(job).asset_layer.executable_asset_keys)

    asking, learning = steps("tenders_judging"), steps("tenders_training")
    assert asking | learning == steps("tenders")
    shared = {"/".join(key.path[1:]) for key in asking & learning}
    assert shared == {"splits", "split_sizes", "leakage", "snapshot"}
    assert not {key for key in asking if key.path[1] in ("models", "runs")}
    assert not {key for key in learning if "judge_api" in (graph.get(key).pools or ())}
    assert {key for key in asking if "judge_api" in (graph.get(key).pools or ())}


def test_a_job_with_a_snapshot_ends_with_it(loaded: dg.Definitions) -> None:
    """Else the analysts' copy of a part of the graph would lack what that part has written last."""
    graph = loaded.resolve_asset_graph()
    snapshot = dg.AssetKey(["tenders", "snapshot"])
    before, left = {snapshot}, [snapshot]
    while left:
        above = graph.get(left.pop()).parent_keys - before
        before |= above
        left += above
    # What a step writes beside a table that comes before comes before as well; the model cards are files.
    before |= {key for above in before for key in graph.get(above).execution_set_asset_keys}
    cards = {dg.AssetKey(["tenders", "model_cards"])}
    jobs = [job for job in loaded.resolve_all_job_defs() if not job.name.startswith("__")]
    held = {job.name: set(job.asset_layer.executable_asset_keys) for job in jobs}
    ending = {name for name, keys in held.items() if snapshot in keys}
    assert ending >= {"tenders", "tenders_corpus", "tenders_judging", "tenders_training"}
    for name in ending:
        assert held[name] - before - cards == set(), name
