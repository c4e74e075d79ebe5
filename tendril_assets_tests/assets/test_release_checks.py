"""Every blocking check upstream of a release is repeated by it: materialised alone while one is red, it refuses."""

from collections.abc import Callable
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from tendril_assets.assets import release_checks
from tendril_assets.assets.landing import landing_assets
from tendril_assets.assets.release import release_inputs
from tendril_assets.assets.release_checks import blocking_checks, red_checks
from tendril_assets.components.retrieval_collection import stages
from tendril_assets.defs.tenders.sources import landing_tables
from tendril_assets.errors import ExportInvariantError, IncompleteJudgments
from tendril_assets.release.invariants import Breach
from tendril_assets.release.manifest import file_hashes
from tendril_assets.release.publish import write_release
from tendril_assets.settings import Settings
from tendril_assets.tables import TABLES
from tendril_assets_tests.assets.test_release import _resources, finished, home, run
from tendril_assets_tests.release import toy
from tendril_assets_tests.release.test_publish import unchecked

__all__ = ["finished", "home"]  # the fixtures

# One step writes both.
WRITTEN = ("releases", "released_passages")
Tables = dict[str, pl.DataFrame]


def test_none_is_forgotten() -> None:
    """From the asset graph itself: the blocking checks of every asset that the release is made from."""
    spec = toy.spec()
    built = [landing_assets(spec, landing_tables), *stages(spec)]
    needs: dict[dg.AssetKey, set[dg.AssetKey]] = {}
    for definition in (asset for stage in built for asset in stage.assets):
        for key in definition.keys:
            needs[key] = set(definition.asset_deps[key])
    upstream, waiting = set(), [dg.AssetKey(["toy", "releases"])]
    while waiting:
        for key in needs.get(waiting.pop(), set()) - upstream:
            upstream.add(key)
            waiting.append(key)
    specs = [one for stage in built for check in stage.checks for one in check.check_specs]
    wanted = {(one.asset_key, one.name) for one in specs if one.blocking and one.asset_key in upstream}
    repeated = {(one.asset_key, one.name) for check in blocking_checks(spec) for one in check.check_specs}
    assert wanted <= repeated
    assert len(wanted) > 15


def test_a_sound_collection_has_no_red_check(home: Path) -> None:
    resources = _resources(home)
    assert red_checks(resources["warehouse"], resources["artifacts"], toy.spec()) == []


def changed(table: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> Callable[[Tables], Tables]:
    return lambda tables: {table: change(tables[table]).select(TABLES[table].schema.keys())}


def first(column: str, value: pl.Expr) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """The first row's ``column`` set to ``value``."""
    return lambda frame: frame.with_columns(
        pl.when(pl.int_range(pl.len()) == 0).then(value).otherwise(column).cast(frame.schema[column]).alias(column)
    )


# Each makes one blocking check red, most of them only this one.
RED: dict[str, Callable[[Tables], Tables]] = {
    "corpus.ids_are_unique_and_texts_within_bounds": changed("corpus", first("text", pl.lit("zu kurz"))),
    "corpus.no_residual_personal_data": changed(
        "corpus", first("text", pl.lit("Fragen an anna.muster@example.ch, bitte"))
    ),
    "passage_decisions.every_document_was_masked": changed(
        "passage_decisions", lambda d: d.with_columns(reason=pl.lit("masking_failed"), kept=pl.lit(False))
    ),
    "passage_decisions.every_raw_passage_has_one_fate": changed(
        "passage_decisions", first("reason", pl.lit("too_long"))
    ),
    "corpus.nothing_removed_is_left": changed(
        "removals",
        lambda r: pl.concat([r, TABLES["removals"].frame([("document", "P-1/doc1.pdf", "", toy.date(2026, 11, 1))])]),
    ),
    "queries.every_subset_has_queries": changed("queries", lambda q: q.with_columns(level=pl.lit("criterion"))),
    "candidates.every_pair_of_a_group": changed("candidates", lambda c: c.slice(1)),
    "judgments.judgments_are_the_fan_out": changed("judgments", lambda j: j.slice(1)),
    "judgments.every_request_is_answered": changed("judge_calls", first("status", pl.lit("error"))),
    "qrels.qrels_match_judgments": changed("qrels", lambda q: q.with_columns(score=pl.lit(0, pl.Int8))),
    "splits.each_group_in_one_split": changed("splits", lambda s: s.slice(1)),
    "splits.no_test_group_in_splits": changed(
        "test_projects", lambda p: pl.concat([p, TABLES["test_projects"].frame([("P-1",)])])
    ),
    "split_sizes.validation_holds_every_level": changed(
        "split_sizes", lambda s: s.with_columns(groups_with_relevant=pl.lit(0).cast(s.schema["groups_with_relevant"]))
    ),
    "training_examples.no_leak_in_training": changed(
        "leakage",
        lambda rows: TABLES["leakage"].frame(
            [(toy.passage(2, 1, 2), "train", toy.passage(10, 1, 1), "validation", 0.9, 1)]
        ),
    ),
    "training_examples.only_training_groups": changed("training_examples", first("group_id", pl.lit(toy.group(10)))),
    "training_examples.every_positive_accounted": changed("training_examples", lambda e: e.slice(1)),
    "training_examples.grades_as_judged": changed(
        "training_examples", first("positive_id", pl.lit(toy.passage(1, 2, 3)))
    ),
}


# Dagster would only add its seconds: the asset hands these inputs to this function, as the test below runs it.
@pytest.fixture
def released(home: Path) -> tuple[Path, dict[str, str]]:
    warehouse, artifacts = _resources(home).values()
    sound = release_inputs(warehouse, artifacts, toy.spec(), Settings.from_env())
    folder = write_release(home / "release" / "toy", sound, unchecked).path
    return folder, file_hashes(folder)


def test_a_release_made_alone_refuses_each_red_check(
    home: Path, released: tuple[Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One home for all, since each refusal leaves it as it was; what is changed is put back. Each harm is shown to the check
    it is for; that none is left out, ``test_none_is_forgotten`` sees to.
    """
    folder, before = released
    warehouse, artifacts = _resources(home).values()
    sound = toy.tables()
    spec = toy.spec(release=toy.spec().release.model_dump() | {"version": "2.0.0"})
    covered = {f"{'/'.join(one.asset_key.path[1:])}.{one.name}" for c in blocking_checks(spec) for one in c.check_specs}
    assert covered - RED.keys() == {"erased_ids.nothing_erased_is_left"}  # has a test of its own
    checks = {f"{'/'.join(c.check_key.asset_key.path[1:])}.{c.check_key.name}": c for c in blocking_checks(spec)}
    for name, harm in RED.items():
        harmed = harm(sound)
        warehouse.replace("toy", harmed, "test")
        monkeypatch.setattr(release_checks, "blocking_checks", lambda *_, name=name: [checks[name]])
        made = release_inputs(warehouse, artifacts, spec, Settings.from_env())
        assert Breach("blocking_check", name) in made.breaches
        with pytest.raises((ExportInvariantError, IncompleteJudgments)):
            write_release(folder.parent, made, unchecked)
        warehouse.replace("toy", {table: sound[table] for table in harmed}, "test")
        assert [p.name for p in folder.parent.iterdir()] == ["1.0.0"], name
    assert file_hashes(folder) == before


def test_the_error_names_the_check(home: Path) -> None:
    warehouse = _resources(home)["warehouse"]
    warehouse.replace("toy", RED["qrels.qrels_match_judgments"](toy.tables()), "test")
    with pytest.raises(ExportInvariantError, match=r"blocking_check: qrels\.qrels_match_judgments"):
        run(home, *WRITTEN)
