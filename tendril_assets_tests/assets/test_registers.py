"""The stage of registers on four toy acts: what it writes, what its checks stop, and ids that keep their text."""

import datetime as dt
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


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    made = Warehouse(database=str(tmp_path / "w.duckdb"), snapshot=str(tmp_path / "s.duckdb"), wait_s=60)
    made.replace("toy", before(), "test")
    return made


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


def test_the_stage_writes_its_tables_and_its_checks_pass(warehouse: Warehouse) -> None:
    result = materialize(warehouse, checks=True)
    assert result.success
    assert set(verdicts(result).values()) == {True}
    assert warehouse.load("toy", "live_attachments").sort("query_id").rows() == toy.ATTACHMENTS.rows()
    assert warehouse.load("toy", "queries").sort("query_id").rows() == toy.built().queries.rows()
    assert warehouse.load("toy", "published_queries").is_empty()
    told = result.asset_materializations_for_node("toy__live_attachments")[0].metadata
    assert "| section | 3 | 2 | 1 | 0.5 |" in str(told["hit_rates"].value)


def test_a_second_run_changes_nothing(warehouse: Warehouse) -> None:
    def versions() -> dict[str, str]:
        events = materialize(warehouse).get_asset_materialization_events()
        return {
            str(e.asset_key): str(e.materialization.tags and e.materialization.tags["dagster/data_version"])
            for e in events
        }

    assert versions() == versions()


def test_gold_that_is_not_in_the_corpus_is_named(warehouse: Warehouse) -> None:
    materialize(warehouse)
    left = warehouse.load("toy", "corpus").filter(pl.col("passage_id") != f"{RULES}#0002")
    warehouse.replace("toy", {"corpus": left}, "test")
    found = check(warehouse, "live_gold_is_in_the_corpus")
    assert (found.passed, found.description) == (False, f"not in the corpus: exp1 / {RULES}#0002")


def test_an_act_without_a_passage_left_has_no_queries(warehouse: Warehouse) -> None:
    left = warehouse.load("toy", "corpus").filter(pl.col("group_id") != "g-rules")
    warehouse.replace("toy", {"corpus": left}, "test")
    materialize(warehouse)
    attached = warehouse.load("toy", "live_attachments", ["query_id", "project", "route"]).sort("query_id")
    assert set(attached["route"]) == {"none"}
    assert "exp1" not in set(warehouse.load("toy", "queries")["query_id"])


def test_a_row_that_has_no_question_stops_what_follows(warehouse: Warehouse) -> None:
    materialize(warehouse)
    fewer = toy.LIVE.filter(pl.col("query_id") != "exp3")
    warehouse.replace("toy", {"live_questions": fewer}, "test")
    found = check(warehouse, "every_live_question_has_one_route")
    assert (found.passed, found.description) == (False, "exp3 is no landed question")


def test_a_published_query_keeps_its_text_when_its_release_is_gone(warehouse: Warehouse, tmp_path: Path) -> None:
    materialize(warehouse)
    folder = tmp_path / "release" / "0.1.0"
    queries = warehouse.load("toy", "queries")
    rows = published_rows(warehouse.load("toy", "corpus"), queries, TABLES["qrels"].empty(), "act")
    folder.mkdir(parents=True)
    write_parquet(folder, rows)
    release = dict.fromkeys(TABLES["releases"].schema) | {
        "version": "0.1.0", "path": str(folder), "content_hash": "x", "key_fingerprint": "x", "sandbox": True,
        "corpus_rows": 1, "query_rows": 1, "qrel_rows": 1, "created_at": dt.datetime(2026, 1, 1),
    }  # fmt: skip
    warehouse.replace("toy", {"releases": TABLES["releases"].frame([release])}, "test")
    materialize(warehouse)
    # A sandbox release cannot be published and binds nobody.
    assert warehouse.load("toy", "published_queries").is_empty()
    warehouse.replace("toy", {"releases": TABLES["releases"].frame([release | {"sandbox": False}])}, "test")
    materialize(warehouse)
    assert check(warehouse, "published_queries_keep_their_text").passed
    assert warehouse.load("toy", "published_queries").height == queries.height

    for shard in folder.rglob("*.parquet"):
        shard.unlink()
    changed = toy.LIVE.with_columns(text=pl.col("text").replace("Верно ли вообще?", "Верно ли и вообще?"))
    warehouse.replace("toy", {"live_questions": changed}, "test")
    materialize(warehouse)
    found = check(warehouse, "published_queries_keep_their_text")
    assert not found.passed
    assert found.description == (
        "another text than published: exp3 (published in 0.1.0). Give the new wording an id of its own"
    )


def test_a_text_asked_twice_is_told_and_stops_nothing(warehouse: Warehouse) -> None:
    again = toy.question(f"{RULES}#0004", "g-rules", "q-9", text="что это")
    frame = pl.concat([toy.GENERATED, TABLES["generated_questions"].frame([again])])
    warehouse.replace("toy", {"generated_questions": frame}, "test")
    materialize(warehouse)
    found = check(warehouse, "no_text_is_asked_twice")
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
