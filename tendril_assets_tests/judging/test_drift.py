"""The drift check's sample, its rounds and its figures, by hand."""

import json
from datetime import date
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.judging.drift import (
    draw_sample,
    drift_reasons,
    drift_table,
    in_draw_order,
    label_of,
    repeat_requests,
    repeated,
    round_of,
    route_changes,
)
from tendril_assets.judging.prompts import load_guideline, render
from tendril_assets.judging.request import RequestFactory
from tendril_assets.spec import DriftSpec, LLMSpec

FACTORY = RequestFactory(LLMSpec(model="toy/judge", providers=("stub",)))
GUIDELINE = load_guideline("de_short")
LABEL = "drift 2026-11-30"


def graded(counts: dict[int, int]) -> pl.DataFrame:
    rows = [(f"{grade}-{i}", grade) for grade, n in counts.items() for i in range(n)]
    return pl.DataFrame(rows, schema={"request_key": pl.String, "grade": pl.Int8}, orient="row")


def sizes(sample: pl.DataFrame) -> dict[int, int]:
    return dict(sample["grade"].value_counts().sort("grade").iter_rows())


def test_a_round_is_a_day_and_other_repeats_are_none() -> None:
    assert label_of(date(2026, 11, 30)) == LABEL
    assert round_of(LABEL) == "2026-11-30"
    assert round_of("2") is None
    assert round_of(None) is None


@pytest.mark.parametrize(
    ("available", "size", "expected"),
    [
        ({0: 900, 1: 80, 2: 20}, 30, {0: 10, 1: 10, 2: 10}),
        ({0: 900, 1: 80, 2: 4}, 30, {0: 13, 1: 13, 2: 4}),  # what the rare grade lacks the others give
        ({0: 900, 1: 2, 2: 1}, 30, {0: 27, 1: 2, 2: 1}),
        ({0: 5, 1: 2, 2: 1}, 30, {0: 5, 1: 2, 2: 1}),
        ({0: 50}, 8, {0: 8}),
        ({0: 9, 1: 9, 2: 9}, 1, {2: 1}),
    ],
)
def test_each_grade_gives_its_share(available: dict[int, int], size: int, expected: dict[int, int]) -> None:
    assert sizes(draw_sample(graded(available), size, 42)) == expected


def test_an_empty_collection_has_an_empty_sample() -> None:
    assert draw_sample(graded({}), 10, 42).height == 0


@settings(max_examples=50, deadline=None)
@given(st.permutations(range(60)), st.integers(1, 40))
def test_the_sample_depends_on_no_order(order: list[int], size: int) -> None:
    rows = graded({0: 40, 1: 15, 2: 5})
    assert draw_sample(rows[order], size, 42).equals(draw_sample(rows, size, 42))


def test_requests_that_come_move_no_other_and_one_that_goes_is_replaced_by_the_next() -> None:
    rows = graded({0: 400, 1: 100, 2: 50})
    before = set(draw_sample(rows, 60, 42)["request_key"])
    more = pl.concat([rows, pl.DataFrame({"request_key": ["new-1", "new-2"], "grade": [0, 2]}, schema=rows.schema)])
    after = set(draw_sample(more, 60, 42)["request_key"])
    assert len(before - after) <= 2
    assert after - before <= {"new-1", "new-2"}
    gone = sorted(before)[0]
    without = set(draw_sample(rows.filter(pl.col("request_key") != gone), 60, 42)["request_key"])
    assert before - without == {gone}
    assert len(without - before) == 1
    assert draw_sample(rows, 60, 43)["request_key"].to_list() != draw_sample(rows, 60, 42)["request_key"].to_list()


def texts(n: int) -> pl.DataFrame:
    rows = [(f"Frage {i % 3}", f"Abschnitt {i}") for i in range(n)]
    keys = [FACTORY.key(render(GUIDELINE, q, p)) for q, p in rows]
    return pl.DataFrame({"request_key": keys, "query_text": [q for q, _ in rows], "passage_text": [p for _, p in rows]})


def test_a_repeat_has_a_key_of_its_own_and_the_same_texts() -> None:
    some = texts(9)
    requests = repeat_requests(some.head(4), some, FACTORY, GUIDELINE, LABEL)
    assert requests.height == 4
    for row in requests.iter_rows(named=True):
        messages = render(GUIDELINE, row["query_text"], row["passage_text"])
        assert row["request_key"] == FACTORY.key(messages, repeat=LABEL)
        assert row["repeats"] == FACTORY.key(messages)
    assert requests["query_text"].is_sorted()
    unknown = pl.DataFrame({"request_key": ["x"]})
    assert repeat_requests(unknown, some, FACTORY, GUIDELINE, LABEL).is_empty()


def test_what_a_round_repeated_is_found_again_from_its_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tendril_assets.judging.drift._FIRST_LOOK", 5)
    some = texts(200)
    ordered = in_draw_order(some["request_key"], 42).join(some, on="request_key", maintain_order="left")
    requests = repeat_requests(ordered[[0, 3, 100, 199]], some, FACTORY, GUIDELINE, LABEL)
    keys = pl.concat([requests["request_key"], pl.Series(["a request that exists no longer"])])
    found = repeated(keys, LABEL, ordered, FACTORY, GUIDELINE)
    assert dict(found.iter_rows()) == dict(requests.select("request_key", "repeats").iter_rows())
    # Under another label the same requests have other keys.
    assert repeated(keys, "drift 2026-12-01", ordered, FACTORY, GUIDELINE).is_empty()


def pair(i: int, before: int | None, after: int | None, **changes: object) -> dict[str, object]:
    plain = {
        "round": "2026-11-30",
        "level": "criterion",
        "repeats": f"r{i}",
        "before": before,
        "after": after,
        "model_before": "toy/judge",
        "provider_before": "stub",
        "model_after": "toy/judge",
        "provider_after": "stub",
        "cost": Decimal("0.0001"),
    }
    return {**plain, **changes}


def table(*pairs: dict[str, object]) -> dict[tuple[str, str, str], dict[str, object]]:
    schema = {"before": pl.Int8, "after": pl.Int8, "cost": pl.Decimal(18, 9)}
    given = pl.DataFrame(list(pairs), schema_overrides=schema)
    # What was compared is the whole collection: each former grade weighs what it has.
    compared = given.drop_nulls(["before", "after"])
    own = compared.select("level", request_key="repeats", grade="before").unique()
    rows = drift_table(given, own, seed=42, resamples=200)
    return {(r["round"], r["level"], r["scale"]): r for r in rows.iter_rows(named=True)}


def test_the_figures_of_a_round_by_hand() -> None:
    marks = [(0, 0), (0, 0), (0, 1), (1, 1), (1, 0), (2, 2), (2, 2), (2, 1), (2, None), (None, 0)]
    rows = table(*(pair(i, before, after) for i, (before, after) in enumerate(marks)))
    graded_ = rows["2026-11-30", "all", "graded"]
    assert (graded_["n"], graded_["missing"], graded_["cost"], graded_["cost_unknown"]) == (8, 2, Decimal("0.001"), 0)
    assert json.loads(str(graded_["confusion"])) == [[2, 1, 0], [1, 1, 0], [0, 1, 2]]
    # 5 of 8 equal; shifts 0 0 +1 0 -1 0 0 -1; chance (3*3 + 2*3 + 3*2)/64 = 21/64, kappa (40/64 - 21/64) / (43/64).
    assert graded_["agreement"] == pytest.approx(5 / 8)
    assert graded_["mean_shift"] == pytest.approx(-1 / 8)
    assert graded_["kappa"] == pytest.approx(19 / 43)
    assert graded_["low"] <= graded_["kappa"] <= graded_["high"]
    binary = rows["2026-11-30", "all", "binary"]
    assert json.loads(str(binary["confusion"])) == [[2, 1], [1, 4]]
    assert (binary["agreement"], binary["mean_shift"]) == (pytest.approx(6 / 8), pytest.approx(0))


def test_each_round_and_level_has_its_rows_and_a_request_counts_once_in_all() -> None:
    rows = table(
        pair(1, 2, 2, level="area"),
        pair(1, 2, 2, level="criterion"),
        pair(2, 0, 1, level="criterion"),
        pair(1, 2, 0, round="2026-12-07", cost=None),
    )
    assert {key: row["n"] for key, row in rows.items() if key[2] == "graded"} == {
        ("2026-11-30", "area", "graded"): 1,
        ("2026-11-30", "criterion", "graded"): 2,
        ("2026-11-30", "all", "graded"): 2,
        ("2026-12-07", "criterion", "graded"): 1,
        ("2026-12-07", "all", "graded"): 1,
    }
    later = rows["2026-12-07", "all", "graded"]
    assert (later["cost"], later["cost_unknown"]) == (None, 1)


def test_without_pairs_there_is_no_row() -> None:
    none = pl.DataFrame([pair(1, 0, 0)]).clear()
    own = none.select("level", request_key="repeats", grade="before")
    assert drift_table(none, own, seed=42).is_empty()


def test_figures_weigh_each_former_grade_as_the_collection_does_by_hand() -> None:
    # Of 100 graded requests 80, 16 and 4 had grade 0, 1 and 2. Repeated: four 0 (one now 1), two 1 (one now 0), one 2.
    marks = [(0, 0), (0, 0), (0, 0), (0, 1), (1, 1), (1, 0), (2, 2)]
    schema = {"before": pl.Int8, "after": pl.Int8, "cost": pl.Decimal(18, 9)}
    pairs = pl.DataFrame([pair(i, *both) for i, both in enumerate(marks)], schema_overrides=schema)
    collection = graded({0: 80, 1: 16, 2: 4}).with_columns(level=pl.lit("criterion"))
    rows = {
        (r["level"], r["scale"]): r
        for r in drift_table(pairs, collection, seed=42, resamples=200).iter_rows(named=True)
    }
    # The sample stands for (60, 20, 0), (8, 8, 0), (0, 0, 4) of 100. Equal 72; shift (20 - 8)/100; chance
    # (80*68 + 16*28 + 4*4)/100^2 = 0.5904, kappa (0.72 - 0.5904) / 0.4096.
    for level in ("criterion", "all"):
        row = rows[level, "graded"]
        assert (row["n"], json.loads(row["confusion"])) == (7, [[3, 1, 0], [1, 1, 0], [0, 0, 1]])
        assert (row["agreement"], row["mean_shift"]) == (pytest.approx(0.72), pytest.approx(0.12))
        assert row["kappa"] == pytest.approx(0.1296 / 0.4096)
        assert row["low"] <= row["kappa"] <= row["high"]
    # Binary: (60, 20), (8, 12). Grades 1 and 2 keep their own weights.
    assert rows["all", "binary"]["agreement"] == pytest.approx(0.72)
    # A grade of which nothing was heard leaves the others to stand for all.
    heard = pairs.filter(pl.col("before") != 2)
    row = drift_table(heard, collection, seed=42, resamples=200).row(0, named=True)
    assert row["agreement"] == pytest.approx(68 / 96)


def asked_again(seed: int, moves: float = 0.0) -> dict:
    """A round over 10,000 requests: nine in ten are of no relevance, and every answer redraws its grade once in twenty
    times. ``moves``: share of the new answers that give a grade more than before."""
    rng = np.random.default_rng(seed)
    latent = rng.choice(3, 10_000, p=[0.90, 0.07, 0.03])
    before, after = (np.where(rng.random(10_000) < 0.05, rng.integers(0, 3, 10_000), latent) for _ in range(2))
    after = np.where(rng.random(10_000) < moves, np.minimum(after + 1, 2), after)
    keys = [f"r{i}" for i in range(10_000)]
    collection = pl.DataFrame({"request_key": keys, "grade": before.astype(np.int8)})
    sample = draw_sample(collection, DriftSpec().sample, 42)["request_key"]
    drawn = [pair(i, int(before[i]), int(after[i])) for i in (int(key[1:]) for key in sample)]
    pairs = pl.DataFrame(drawn, schema_overrides={"before": pl.Int8, "after": pl.Int8, "cost": pl.Decimal(18, 9)})
    whole = collection.with_columns(level=pl.lit("criterion"))
    rows = drift_table(pairs, whole, seed=42, resamples=100).filter(
        pl.col("level") == "all", pl.col("scale") == "graded"
    )
    return {
        **rows.row(0, named=True),
        "true": ((before == after).mean(), (after - before).mean()),
        "plain": ((pairs["before"] == pairs["after"]).mean(), (pairs["after"] - pairs["before"]).mean()),
    }


@pytest.mark.parametrize("seed", range(6))
def test_a_noisy_judge_that_did_not_change_is_not_reported(seed: int) -> None:
    row = asked_again(seed)
    assert drift_reasons(row, DriftSpec()) == []
    # A sample of 200 holds some 67 requests of each grade; the common one decides: standard errors of 0.02 and 0.035.
    assert (row["agreement"], row["mean_shift"]) == pytest.approx(row["true"], abs=0.09)
    # Taken as it is, the sample would have condemned the judge: noise moves it towards the common grade.
    assert row["plain"][0] < 0.85
    assert row["plain"][1] < -0.1


@pytest.mark.parametrize("seed", range(6))
def test_a_noisy_judge_that_did_change_is_reported(seed: int) -> None:
    row = asked_again(seed, moves=0.25)
    assert len(drift_reasons(row, DriftSpec())) == 2
    assert row["mean_shift"] > 0.1


LIMITS = DriftSpec(sample=100, min_agreement=0.9, max_mean_shift=0.1, max_missing_share=0.1)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({}, []),
        ({"agreement": 0.9, "mean_shift": -0.1, "missing": 11, "n": 99}, []),  # on each limit
        ({"agreement": 0.85}, ["85.0% of 100 grades are as before, declared were 90.0%"]),
        ({"mean_shift": -0.125}, ["grades moved by -0.125 on average, declared were 0.100"]),
        ({"missing": 20}, ["20 of 120 repeated requests have no two grades to compare"]),
        ({"n": 0, "missing": 5}, ["none of 5 repeated requests has two grades to compare"]),
    ],
)
def test_reasons_name_the_figure_and_what_was_declared(row: dict, said: list[str]) -> None:
    plain = {"n": 100, "missing": 0, "agreement": 0.95, "mean_shift": 0.01}
    assert drift_reasons({**plain, **row}, LIMITS) == said


def test_a_route_that_changed_is_named() -> None:
    row = {"models_before": ["a"], "models_after": ["a"], "providers_before": [], "providers_after": ["x", "y"]}
    assert route_changes(row) == ["providers: not named before, x, y now"]
