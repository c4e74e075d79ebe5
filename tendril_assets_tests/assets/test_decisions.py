"""Decisions and duplicate index as assets: what the UI shows, that it adds up, and what a second run does."""

import logging
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from tendril_assets.assets import duplicates
from tendril_assets.assets.decisions import decision_checks
from tendril_assets.assets.duplicates import duplicate_assets, load_index
from tendril_assets.errors import WarehouseError
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES
from tendril_assets_tests.assets.test_corpus import BETON, HOLZ, SAND, Home, installation, spec

LONGER = f"{HOLZ} Der Nachweis liegt dem Angebot bei."


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    return installation(tmp_path, monkeypatch)


def metadata_of(result: dg.ExecuteInProcessResult, table: str) -> dict[str, dg.MetadataValue]:
    (event,) = [e for e in result.get_asset_materialization_events() if e.asset_key == dg.AssetKey(["toy", table])]
    return dict(event.step_materialization_data.materialization.metadata)


def table_of(value: dg.MetadataValue) -> dict[str, list[str]]:
    """A Markdown table as its first column -> the other cells."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in str(value.value).split("\n")]
    assert {len(row) for row in rows} == {len(rows[0])}
    assert all(set(cell) <= set("-:") for cell in rows[1])
    return {row[0]: row[1:] for row in (rows[0], *rows[2:])}


def outcome_of(check: dg.AssetChecksDefinition, home: Home) -> dg.AssetCheckResult:
    outcome = check(home.warehouse)
    assert isinstance(outcome, dg.AssetCheckResult)
    return outcome


def test_the_drop_report_in_the_ui_adds_up(home: Home) -> None:
    result = home.run()
    shown = metadata_of(result, "passage_decisions")
    reasons = table_of(shown["by_reason"])
    # 9 raw passages, 4 of them kept; beta's 2 go with their project, gamma's document could not be read.
    assert reasons == {
        "fate": ["passages", "share", "projects"],
        "kept": ["4", "44.4%", "2"],
        "restricted project": ["2", "22.2%", "1"],
        "digits or symbols": ["1", "11.1%", "1"],
        "near duplicate": ["1", "11.1%", "1"],
        "too short": ["1", "11.1%", "1"],
        "**all**": ["9", "100.0%", "3"],
    }
    ids = {passage_id for (passage_id,) in home.rows("passages", "passage_id")}
    examples = table_of(shown["examples"])
    assert examples.pop("fate") == ["rule", "one of them"]
    assert set(examples) == set(reasons) - {"fate", "**all**"}
    assert all(example.strip("`") in ids for _, example in examples.values())
    catalogs = table_of(shown["by_catalog"])
    assert catalogs["catalog"][:2] == ["raw", "kept"]
    for cells in list(catalogs.values())[1:]:
        raw, *fates = (int(cell) for cell in cells)
        assert raw == sum(fates)
    checks = {e.check_name: e for e in result.get_asset_check_evaluations()}
    assert checks["every_raw_passage_has_one_fate"].passed


@pytest.mark.parametrize(
    ("spoil", "wrong"),
    [
        ({"kept": False, "reason": None}, "kept_for_a_reason"),
        ({"kept": False, "reason": "too_short"}, "kept_and_not_in_the_corpus"),
        ({"kept": False, "reason": "restricted_project"}, "of_a_restricted_project"),
        ({"kept": False, "reason": "near_duplicate", "cause": "p-unknown"}, "without_a_cause"),
    ],
)
def test_decisions_that_do_not_add_up_block(home: Home, spoil: dict[str, object], wrong: str) -> None:
    home.run()
    decisions = home.warehouse.load("toy", "passage_decisions")
    victim = pl.col("passage_id") == decisions.filter("kept")["passage_id"][0]
    changed = decisions.with_columns(
        **{name: pl.when(victim).then(pl.lit(value)).otherwise(pl.col(name)) for name, value in spoil.items()}
    )
    home.warehouse.replace("toy", {"passage_decisions": changed}, "test")
    (check,) = decision_checks(spec())
    outcome = outcome_of(check, home)
    assert not outcome.passed
    assert wrong in str(outcome.metadata["wrong"].value)
    assert next(iter(check.check_specs)).blocking


def test_a_passage_without_a_decision_blocks(home: Home) -> None:
    home.run()
    home.warehouse.replace(
        "toy", {"passage_decisions": home.warehouse.load("toy", "passage_decisions").head(8)}, "test"
    )
    (check,) = decision_checks(spec())
    assert "undecided" in str(outcome_of(check, home).metadata["wrong"].value)


def test_an_added_document_takes_no_published_passage_away(home: Home) -> None:
    home.documents = [row for row in home.documents if row[0] != "alpha"]
    home.write("alpha", "first.txt", HOLZ)
    home.run()
    (published,) = home.warehouse.load("toy", "corpus").filter(text=HOLZ)["passage_id"]
    # Whatever the keyed hashes of the new names are, some of them are drawn before the old one.
    for number in range(4):
        home.write("alpha", f"new{number}.txt", LONGER)
    home.run()
    assert published in {passage_id for (passage_id,) in home.rows("corpus", "passage_id")}
    drawn = dict(home.rows("sampled_documents", "document", "rank"))
    assert min(drawn[f"new{number}.txt"] for number in range(4)) < drawn["first.txt"]


def test_guarded_pairs_are_a_table(home: Home) -> None:
    home.write("alpha", "c.txt", f"Anteil 40 Prozent: {HOLZ}", f"Anteil 60 Prozent: {HOLZ}")
    result = home.run()
    found = home.rows("guarded_pairs", "project", "difference")
    assert ("alpha", "number") in found
    assert "number" in str(metadata_of(result, "guarded_pairs")["by_difference"].value)


class Index:
    """Corpus and test collection of two groups and one passage, in a warehouse of their own."""

    def __init__(self, folder: Path) -> None:
        self.warehouse = Warehouse(database=str(folder / "w.duckdb"), snapshot=str(folder / "s.duckdb"))
        corpus = [("p1", HOLZ, "g1", "d1", 1), ("p2", f"4 {HOLZ}", "g2", "d2", 1), ("p3", SAND, "g2", "d2", 1)]
        self.write(corpus=corpus, test_corpus=[("x1", HOLZ, "t1", None, None), ("x2", BETON, "t1", None, None)])

    def write(self, **rows: list[tuple]) -> None:
        self.warehouse.replace("toy", {name: TABLES[name].frame(table) for name, table in rows.items()}, "test")

    def run(self, chosen: CollectionSpec) -> dg.ExecuteInProcessResult:
        return dg.materialize(duplicate_assets(chosen).assets, resources={"warehouse": self.warehouse})


def test_the_index_is_made_anew_only_where_a_text_or_the_rule_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    index, made = Index(tmp_path), []
    real = duplicates.similar_texts
    monkeypatch.setattr(duplicates, "similar_texts", lambda *args: made.append(1) or real(*args))
    caplog.set_level(logging.INFO)
    shown = metadata_of(index.run(spec()), "passage_texts")
    # HOLZ stands in g1 and in the test collection, and g2 has it with a number in front.
    assert (shown["texts"].value, shown["texts_in_several_groups"].value) == (4, 1)
    assert shown["texts_equal_or_similar_across_groups"].value == 2
    before = [frame.sort(frame.columns) for frame in load_index(index.warehouse, "toy")]
    index.run(spec())
    assert made == [1]
    assert all(a.equals(b.sort(b.columns)) for a, b in zip(before, load_index(index.warehouse, "toy"), strict=True))
    index.run(spec(filters={"near_duplicate": {"threshold": 0.99}}))
    assert made == [1, 1]
    assert load_index(index.warehouse, "toy").similar.is_empty()
    index.write(corpus=[("p1", SAND, "g1", "d1", 1), ("p2", f"4 {SAND}", "g2", "d2", 1)])
    index.run(spec())
    assert made == [1, 1, 1]
    assert load_index(index.warehouse, "toy").similar.height == 1


def test_an_index_of_other_texts_is_refused(tmp_path: Path) -> None:
    index = Index(tmp_path)
    index.run(spec())
    # The same id with another text, as after another masking.
    index.write(test_corpus=[("x1", BETON, "t1", None, None), ("x2", BETON, "t1", None, None)])
    with pytest.raises(WarehouseError, match=r"toy/similar_texts"):
        load_index(index.warehouse, "toy")
