"""The stage of registers on four toy acts: what it writes, what its checks stop, and ids that keep their text."""

import datetime as dt
import shutil
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest

from tendril_assets.assets.registers import register_assets
from tendril_assets.release.huggingface import published_rows, write_parquet
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES
from tendril_assets_tests.queries import test_register_queries as toy
from tendril_assets_tests.queries.toy_registers import ACTS, CLAUSES, RULES

LLM = {"model": "toy/asker", "max_tokens": 10}
SPEC: dict[str, Any] = {
    "collection": "toy",
    "group": "act",
    "subsets": ["live", "manual", "synthetic"],
    "splits": {"policy": "file", "test": ["test_live"]},
    "registers": {
        "live": {},
        "manual": {},
        "generation": {"sets": {"train": {"split": "train", "level": "synthetic", "family": "a", "llm": LLM}}},
    },
    "judge": {"llm": LLM},
    "models": {},
    "evaluation": {"test": "held_out"},
    "release": {"name": "toy", "version": "0.1.0", "title": "Toy", "licence_name": "none", "language": "ru"},
}


def before() -> dict[str, pl.DataFrame]:
    acts = [
        (place, project, number, date, kind, "Название", None, "kept", 1.0, 100, None)
        for place, (project, _, number, date, kind) in enumerate(ACTS.iter_rows(), 1)
    ]
    acts.append((9, None, "7-П", None, None, "Без дня", None, "no_date", None, None, "no day"))
    passages = CLAUSES.join(ACTS, on="project").select("passage_id", "group_id")
    corpus = [(passage, f"Текст {passage}", group, f"d-{group}", 1) for passage, group in passages.iter_rows()]
    return {
        "acts": TABLES["acts"].frame(acts),
        "sampled_projects": TABLES["sampled_projects"].frame(
            [
                (project, group, rank)
                for rank, (project, group) in enumerate(ACTS.select("project", "group_id").rows(), 1)
            ]
        ),
        "passage_clauses": CLAUSES,
        "corpus": TABLES["corpus"].frame(corpus),
        "live_questions": toy.LIVE,
        "manual_queries": toy.MANUAL,
        "generated_questions": toy.GENERATED,
    }


def warehouse_in(folder: Path) -> Warehouse:
    return Warehouse(database=str(folder / "w.duckdb"), snapshot=str(folder / "s.duckdb"), wait_s=60)


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    made = warehouse_in(tmp_path)
    made.replace("toy", before(), "test")
    return made


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dg.ExecuteInProcessResult]:
    """A whole run of the stage with its checks: the folder of its warehouse, and its result."""
    folder = tmp_path_factory.mktemp("registers")
    warehouse_in(folder).replace("toy", before(), "test")
    return folder, materialize(warehouse_in(folder), checks=True)


@pytest.fixture
def finished(first: tuple[Path, dg.ExecuteInProcessResult], tmp_path: Path) -> Warehouse:
    shutil.copytree(first[0], tmp_path, dirs_exist_ok=True)
    return warehouse_in(tmp_path)


def materialize(warehouse: Warehouse, *, checks: bool = False, **changes: Any) -> dg.ExecuteInProcessResult:
    stage = register_assets(CollectionSpec.model_validate(SPEC | changes))
    with dg.DagsterInstance.ephemeral() as instance:
        return dg.materialize(
            [*stage.assets, *(stage.checks if checks else [])],
            resources={"warehouse": warehouse},
            instance=instance,
            raise_on_error=False,
        )


def verdicts(result: dg.ExecuteInProcessResult) -> dict[str, bool]:
    return {check.check_name: check.passed for check in result.get_asset_check_evaluations()}


def check(warehouse: Warehouse, name: str) -> dg.AssetCheckResult:
    """What one check says now; those of this stage that stop what follows do so by themselves."""
    stage = register_assets(CollectionSpec.model_validate(SPEC))
    found = next(one for one in stage.checks for made in one.check_specs if made.name == name)
    result = found(warehouse=warehouse)
    assert isinstance(result, dg.AssetCheckResult)
    return result


def test_what_stops_the_graph() -> None:
    stage = register_assets(CollectionSpec.model_validate(SPEC))
    assert {made.name: made.blocking for one in stage.checks for made in one.check_specs} == {
        "every_live_question_has_one_route": True,
        "live_gold_is_in_the_corpus": True,
        "every_subset_has_queries": True,
        "published_queries_keep_their_text": True,
        "no_text_is_asked_twice": False,
    }


def test_the_stage_writes_its_tables_and_its_checks_pass(
    first: tuple[Path, dg.ExecuteInProcessResult], finished: Warehouse
) -> None:
    result = first[1]
    assert result.success
    assert set(verdicts(result).values()) == {True}
    assert finished.load("toy", "live_attachments").sort("query_id").rows() == toy.ATTACHMENTS.rows()
    assert finished.load("toy", "queries").sort("query_id").rows() == toy.built().queries.rows()
    assert finished.load("toy", "published_queries").is_empty()
    told = result.asset_materializations_for_node("toy__live_attachments")[0].metadata
    assert "| section | 3 | 2 | 1 | 0.5 |" in str(told["hit_rates"].value)
    (queries,) = [e for e in result.get_asset_materialization_events() if e.asset_key.path[-1] == "queries"]
    left_out = str(queries.materialization.metadata["left_out_first"].value)
    # Why a live question is none stands in its own table.
    assert "| man3 | manual | its act 1-П_01012001 is not in the corpus |" in left_out
    assert "exp2" not in left_out


def test_a_second_run_changes_nothing(first: tuple[Path, dg.ExecuteInProcessResult], finished: Warehouse) -> None:
    def versions(result: dg.ExecuteInProcessResult) -> dict[str, str]:
        return {
            str(e.asset_key): str(e.materialization.tags and e.materialization.tags["dagster/data_version"])
            for e in result.get_asset_materialization_events()
        }

    assert versions(materialize(finished)) == versions(first[1])


def test_gold_that_is_not_in_the_corpus_is_named(finished: Warehouse) -> None:
    left = finished.load("toy", "corpus").filter(pl.col("passage_id") != f"{RULES}#0002")
    finished.replace("toy", {"corpus": left}, "test")
    found = check(finished, "live_gold_is_in_the_corpus")
    assert (found.passed, found.description) == (False, f"not in the corpus: exp1 / {RULES}#0002")


def test_an_act_without_a_passage_left_has_no_queries(warehouse: Warehouse) -> None:
    left = warehouse.load("toy", "corpus").filter(pl.col("group_id") != "g-rules")
    warehouse.replace("toy", {"corpus": left}, "test")
    materialize(warehouse)
    attached = warehouse.load("toy", "live_attachments", ["query_id", "project", "route"]).sort("query_id")
    assert set(attached["route"]) == {"none"}
    assert "exp1" not in set(warehouse.load("toy", "queries")["query_id"])


def test_a_row_that_has_no_question_stops_what_follows(finished: Warehouse) -> None:
    fewer = toy.LIVE.filter(pl.col("query_id") != "exp3")
    finished.replace("toy", {"live_questions": fewer}, "test")
    found = check(finished, "every_live_question_has_one_route")
    assert (found.passed, found.description) == (False, "exp3 is no landed question")


def test_a_published_query_keeps_its_text_when_its_release_is_gone(finished: Warehouse, tmp_path: Path) -> None:
    folder = tmp_path / "release" / "0.1.0"
    queries = finished.load("toy", "queries")
    rows = published_rows(finished.load("toy", "corpus"), queries, TABLES["qrels"].empty(), "act")
    folder.mkdir(parents=True)
    write_parquet(folder, rows)
    release = dict.fromkeys(TABLES["releases"].schema) | {
        "version": "0.1.0", "path": str(folder), "content_hash": "x", "key_fingerprint": "x", "sandbox": False,
        "corpus_rows": 1, "query_rows": 1, "qrel_rows": 1, "created_at": dt.datetime(2026, 1, 1),
    }  # fmt: skip
    # A sandbox release cannot be published and binds nobody.
    tried = release | {"version": "0.0.9", "sandbox": True}
    finished.replace("toy", {"releases": TABLES["releases"].frame([tried, release])}, "test")
    materialize(finished)
    assert check(finished, "published_queries_keep_their_text").passed
    assert set(finished.load("toy", "published_queries")["version"]) == {"0.1.0"}
    assert finished.load("toy", "published_queries").height == queries.height

    for shard in folder.rglob("*.parquet"):
        shard.unlink()
    changed = toy.LIVE.with_columns(text=pl.col("text").replace("Верно ли вообще?", "Верно ли и вообще?"))
    finished.replace("toy", {"live_questions": changed}, "test")
    materialize(finished)
    found = check(finished, "published_queries_keep_their_text")
    assert not found.passed
    assert found.description == (
        "another text than published: exp3 (published in 0.1.0). Give the new wording an id of its own"
    )


def test_a_text_asked_twice_is_told_and_stops_nothing(finished: Warehouse) -> None:
    queries = finished.load("toy", "queries")
    again = queries.filter(query_id="q-1").with_columns(query_id=pl.lit("q-9"))
    finished.replace("toy", {"queries": pl.concat([queries, again])}, "test")
    found = check(finished, "no_text_is_asked_twice")
    assert (found.passed, found.description) == (False, "q-9 repeats q-1")


def test_a_collection_without_live_questions_has_an_empty_table(warehouse: Warehouse) -> None:
    registers = {"manual": {}}
    result = materialize(warehouse, registers=registers, subsets=["manual"])
    assert result.success
    assert warehouse.load("toy", "live_attachments").is_empty()
    assert warehouse.load("toy", "queries")["query_id"].to_list() == ["man1", "man2"]


def test_a_collection_without_registers_has_no_such_stage() -> None:
    queries = {"summary": LLM, "summary_max_words": 10}
    spec = CollectionSpec.model_validate(
        {**SPEC, "registers": None, "queries": queries, "splits": {}, "evaluation": {}}
    )
    assert register_assets(spec) == ([], [])
