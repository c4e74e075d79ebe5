"""Assets carry the report's pictures, drawn from what the tables hold once they are written."""

import base64
import re

import dagster as dg
import polars as pl
import pytest

from tendril_assets.assets import shown
from tendril_assets.assets.common import asset_key, store, table_assets
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.tables import TABLES
from tendril_assets_tests.release import toy


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory) -> Warehouse:
    home = tmp_path_factory.mktemp("home")
    made = Warehouse(database=str(home / "w.duckdb"), snapshot=str(home / "s.duckdb"), wait_s=10)
    made.replace("toy", toy.tables(), "test")
    return made


def drawn(metadata: dict) -> list[str]:
    """Texts of the pictures in a metadata entry."""
    assert set(metadata) == {"picture"}
    found = re.findall(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)", metadata["picture"].value)
    return [base64.b64decode(code).decode() for code in found]


def test_pictures_of_the_warehouse(warehouse: Warehouse) -> None:
    spec = toy.spec()
    (fates,) = drawn(shown.passage_fates(warehouse, spec))
    assert ">80  (73\u00a0%)<" in fates  # 80 of 110 raw passages are in the corpus
    grades, positives = drawn(shown.label_pictures(warehouse, spec))
    assert ">75\u00a0%  (72)<" in grades
    assert "Catalog_0" in positives
    (costs,) = drawn(shown.cost_pictures(warehouse, spec))  # of one day there is no picture by day
    assert "Judge: maker/judge-2" in costs


def test_pictures_of_the_results() -> None:
    spec, tables = toy.spec(), toy.tables()
    assert len(drawn(shown.agreement_picture(spec, tables["judge_agreement"]))) == 1
    assert len(drawn(shown.choice_picture(spec, tables["judge_choice"], tables["judge_agreement"]))) == 1
    assert len(drawn(shown.score_pictures(spec, tables["system_scores"]))) == 1
    assert len(drawn(shown.comparison_pictures(spec, tables["comparisons"]))) == 1
    assert len(drawn(shown.catalog_pictures(spec, tables["catalog_scores"]))) == 1
    assert len(drawn(shown.catalog_comparison_pictures(spec, tables["catalog_comparisons"]))) == 1
    (groups,) = drawn(shown.group_pictures(spec, tables["group_scores"]))
    # One column per test project, each with its difference as a tooltip: the same as the analysts' view gives.
    view = toy.reader(toy.database())("views/group_differences")
    own = view.filter((pl.col("measure") == "ndcg@10") & (pl.col("level") == "all"))
    expected = {f"{group}: {difference:+.3f}" for group, difference in own.select("group_id", "difference").iter_rows()}
    assert set(re.findall(r"<title>(g-test\d+: [+-][\d.]+)</title>", groups)) == expected
    assert len(expected) == 33


def test_nothing_to_show_is_no_entry() -> None:
    spec = toy.spec()
    assert shown.score_pictures(spec, TABLES["system_scores"].empty()) == {}
    assert shown.group_pictures(spec, TABLES["group_scores"].empty()) == {}


def test_what_is_shown_is_read_after_the_table_was_written(tmp_path) -> None:
    spec = toy.spec()
    table = toy.tables()["split_sizes"]
    warehouse = Warehouse(database=str(tmp_path / "w.duckdb"), snapshot=str(tmp_path / "s.duckdb"), wait_s=10)

    def rows(store_of: Warehouse, described) -> dict[str, int]:
        return {"seen": store_of.load(described.collection, "split_sizes").height}

    @table_assets(spec, ["split_sizes"])
    def sizes(context: dg.AssetExecutionContext, warehouse: Warehouse):
        told = {"split_sizes": {"told": "before"}}
        yield from store(context, warehouse, spec, {"split_sizes": table}, told, {"split_sizes": rows})

    result = dg.materialize([sizes], resources={"warehouse": warehouse})
    (event,) = result.get_asset_materialization_events()
    assert event.asset_key == asset_key(spec, "split_sizes")
    metadata = event.materialization.metadata
    assert (metadata["seen"].value, metadata["told"].value) == (table.height, "before")
    assert table.height > 0
