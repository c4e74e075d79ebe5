"""What a card says of data, balance and size follows from the tables, for collections of another shape too."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tendril_assets.release.model_cards import FEW_GROUPS, model_card
from tendril_assets.release.model_inputs import ModelInputs
from tendril_assets.tables import TABLES
from tendril_assets_tests.release import toy
from tendril_assets_tests.release.toy_models import described, folder, front, inputs, published

PLURALS = {"area_of_action": "areas of action", "criterion": "criteria"}


def card(given: ModelInputs, place: Path) -> str:
    return model_card("mini", given, folder(place))


def line(text: str, start: str) -> str:
    return next(found for found in text.splitlines() if found.startswith(f"- **{start}"))


def with_use(given: ModelInputs, *rows: tuple[str, str, int]) -> ModelInputs:
    """The same with other examples, in the numbers of the trained model's row."""
    use = pl.DataFrame(list(rows), schema=given.training_use.schema, orient="row")
    used = sum(n for _, fate, n in rows if fate == "used")
    return given._replace(training_use=use, trained=given.trained.with_columns(examples=pl.lit(used, pl.Int32)))


def test_levels_are_named_in_the_plural_that_the_specification_gives(tmp_path: Path) -> None:
    release = toy.spec().release.model_dump() | {"plurals": PLURALS}
    said = card(inputs(spec=toy.spec(release=release)), tmp_path)
    assert "validation projects (63 for areas of action and 62 for criteria)" in said
    assert "21 of 27 available examples were used (11 for areas of action and 10 for criteria)." in said
    assert "the validation set 63 for areas of action and 62 for criteria" in said
    with pytest.raises(ValueError, match=r"release\.plurals\.theme: unknown; "):
        toy.spec(release=release | {"plurals": {"theme": "themes"}})


def test_data_that_no_release_holds_is_named_by_its_hash_alone(tmp_path: Path) -> None:
    given = inputs(spec=published(), released=False)
    said = card(given, tmp_path)
    assert f"built from LLM-judged data (SHA-256 of the examples and validation texts: `{toy.DATA_HASH}`)" in said
    assert "version 1.0.0" not in said
    assert "datasets" not in front(said)


@pytest.mark.parametrize(
    ("rows", "cap", "told"),
    [
        ((("area_of_action", "used", 5), ("criterion", "used", 5)), None, "Levels were balanced: 10 of 10"),
        ((("area_of_action", "used", 5), ("criterion", "used", 5)), 5, "Levels were balanced and held to 5 each: 10 of"),
        ((("area_of_action", "used", 5), ("area_of_action", "cap", 2)), 5, "Examples were held to 5 per level: 5 of 7"),
        ((("area_of_action", "used", 5), ("criterion", "leak", 2)), None, " 5 of 5 available examples were used (5 for "
         "area of action and 0 for criterion)."),
    ],
)  # fmt: skip
def test_balance_is_claimed_where_there_was_one(rows: tuple, cap: int | None, told: str, tmp_path: Path) -> None:
    given = described({}, training={"max_examples_per_level": cap})
    data = line(card(with_use(given, *rows), tmp_path), "Data.")
    assert told in data
    assert ("balanced" in data) == (len({level for level, fate, _ in rows if fate == "used"}) > 1)


@pytest.mark.parametrize(
    ("training", "told"),
    [
        ({"positive_grade": 1}, "rated relevant (1 or 2) and 3 hard negatives"),
        ({"same_document_negatives": 0}, "project, 3 from others of the project; the other"),
        ({"same_document_negatives": 3}, "project, 3 from the positive's document; the other"),
    ],
)
def test_grades_and_origins_are_those_of_the_recipe(training: dict[str, Any], told: str, tmp_path: Path) -> None:
    assert told in line(card(described({}, training=training), tmp_path), "Data.")


def test_one_language_is_the_specification_s_word(tmp_path: Path) -> None:
    assert "The specification declares one language (`de`). Texts were not checked" in card(inputs(), tmp_path)


@pytest.mark.parametrize(
    ("scope", "told"),
    [("group", "of its own project only;"), ("collection", "of the whole test collection, and no more;")],
)
def test_what_was_ranked(scope: str, told: str, tmp_path: Path) -> None:
    said = card(inputs(spec=toy.spec(evaluation={"scope": scope})), tmp_path)
    assert f"Each query ranked the passages {told}" in line(said, "Evaluated narrowly.")


def test_few_groups_are_called_few_below_a_stated_number_alone(tmp_path: Path) -> None:
    """The toy's test collection has 33 groups, its validation set 62 at least."""
    few = line(card(inputs(), tmp_path), "Few projects, one run.")
    assert (
        f"has 33 projects, the validation set 63 for area of action and 62 for criterion; fewer than {FEW_GROUPS} are"
        in few
    )
    scores = inputs().scores.with_columns(groups=pl.lit(FEW_GROUPS, TABLES["system_scores"].schema["groups"]))
    many = card(inputs(scores=scores), tmp_path)
    assert "are few" not in line(many, "One run.")


@pytest.mark.parametrize(
    ("every", "steps", "told"),
    [
        (4, 2, "once, at its end"),
        (4, 4, "once, at its end"),
        (4, 8, "every 4 steps"),
        (4, 10, "every 4 steps and at its end"),
        (1, 3, "every 1 step"),
    ],
)
def test_evaluations_are_told_as_they_were(every: int, steps: int, told: str, tmp_path: Path) -> None:
    given = described({}, training={"evaluate_every": every})
    given = given._replace(trained=given.trained.with_columns(steps=pl.lit(steps, pl.Int32)))
    assert f"The model was evaluated {told}, and the weights" in card(given, tmp_path)
