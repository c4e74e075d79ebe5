"""The card of a model whose tests are held out of its own collection: no figure over all registers without its composition."""

from pathlib import Path

import polars as pl
import pytest

from tendril_assets.evaluation.registers import GROUP, WHOLE, WITHOUT
from tendril_assets.release.model_cards import model_card
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES
from tendril_assets_tests.release import toy, toy_models

# The toy's two levels as registers: the first of people, the second written by a model for tests.
PEOPLE, WRITTEN = "area_of_action", "criterion"
DOMINANT = "7-П_01022020"


def spec() -> CollectionSpec:
    made = toy.spec()
    generation = {
        "sets": {
            "test": {"split": "test_unseen", "level": WRITTEN, "family": "b", "llm": {"model": "toy/b"}},
        }
    }
    registers = {"live": {"level": PEOPLE}, "generation": generation}
    plurals = {PEOPLE: "live questions", WRITTEN: "written questions"}
    return made.model_copy(
        update={
            "registers": type(made).model_fields["registers"].annotation.__args__[0].model_validate(registers),
            "release": made.release.model_copy(update={"plurals": plurals}),
            "evaluation": made.evaluation.model_copy(
                update={"test": "held_out", "scope": "collection", "without_dominant": (PEOPLE,)}
            ),
        }
    )


def register_rows() -> pl.DataFrame:
    rows = []
    for system in ("bm25", "mini_base", "mini_tuned"):
        for part, value in ((WHOLE, 0.5), (WITHOUT, 0.25)):
            figures = {"value": value, "low": value - 0.1, "high": value + 0.1, "n": 4, "queries": 21, "groups": 4}
            rests_on = {"excluded": 0, "generated": 0.0, "dominant": DOMINANT, "dominant_share": 0.45}
            keys = {"system": system, "level": PEOPLE, "part": part, "unit": GROUP, "measure": "ndcg@10"}
            rows.append(keys | figures | rests_on)
    return TABLES["register_scores"].frame(rows)


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> str:
    scores = toy.tables()["system_scores"]
    # Of 198 queries 120 are live and 60 written; 18 are of a register with too few for a row of its own.
    queries = {"all": 198, PEOPLE: 120, WRITTEN: 60}
    counted = scores.with_columns(queries=pl.col("level").replace_strict(queries, return_dtype=pl.Int32))
    folder: Path = tmp_path_factory.mktemp("weights") / "mini"
    inputs = toy_models.inputs(spec=spec(), scores=counted, registers=register_rows())
    return model_card("mini", inputs, toy_models.folder(folder)).replace("\u00a0", " ")


def test_the_tests_are_told_as_what_they_are(card: str) -> None:
    assert "external test collection" not in card
    assert "Tests: the held-out projects of the collection, 33 projects" in card
    assert "Each query ranked the passages of the whole corpus, and no more" in card


def test_the_figures_over_all_registers_stand_beside_their_composition(card: str) -> None:
    assert (
        "The first table is over all registers: 120 live questions, 60 written questions and 18 of registers with too few for a "
        "table of their own. A language model wrote 30 % of these queries"
    ) in card
    results = toy_models.front(card)["model-index"][0]["results"]
    levels = {metric["args"]["level"] for one in results for metric in one["metrics"]}
    assert levels == {PEOPLE, WRITTEN}  # none over all of them: there is no room for a composition
    assert {one["dataset"]["name"] for one in results} == {"toy-train, held-out projects"}


def test_a_register_is_shown_once_more_without_its_dominant_group(card: str) -> None:
    assert f"Without `{DOMINANT}`, the project of 45 % of these queries: 4 projects, 21 queries." in card
    assert "| BM25 | 0.250 [0.150, 0.350] |" in card


def test_the_card_of_an_external_test_is_as_it_was(tmp_path: Path) -> None:
    text = model_card("mini", toy_models.inputs(), toy_models.folder(tmp_path / "mini"))
    assert "Test collection: the external test collection, 33 projects" in text
    assert "The first table is over all registers" not in text
    results = toy_models.front(text)["model-index"][0]["results"]
    assert "all" in {metric["args"]["level"] for one in results for metric in one["metrics"]}
