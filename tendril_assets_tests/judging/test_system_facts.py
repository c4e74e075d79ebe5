"""What a calibration says of a system besides agreement, by hand: failures, money, time, stack, stability."""

from decimal import Decimal

import polars as pl
import pytest

from tendril_assets.judging.choice import choose
from tendril_assets.judging.measured import Measured
from tendril_assets.judging.system_facts import choice_table, facts_of, judge_in_use, systems_table
from tendril_assets.judging.systems import systems_of
from tendril_assets.spec import JudgeSpec
from tendril_assets.tables import TABLES
from tendril_assets_tests.judging.toy_calibration import marks

JUDGE = JudgeSpec.model_validate(
    {
        "llm": {"model": "m"},
        "calibration": {"repeats": 2, "resamples": 100, "acceptance": {"min_pairs": 2, "stack": "one"}},
    }
)
SYSTEM = systems_of(JUDGE)[0]


def call(key: str, sequence: int, *, counts: bool = True, **changes):
    own = {
        **dict.fromkeys(TABLES["judge_calls"].schema),
        "request_key": key,
        "sequence": sequence,
        "status": "answered",
        "http_status": 200,
        "attempts": 1,
        "seconds": 1.0,
        "cost": Decimal("0.001"),
        "answered_model": "m-1",
        "provider": "r",
        "prompt_tokens": 10,
        "completion_tokens": 2,
    }
    return {**own, **changes, "counts": counts}


def table(calls: list[dict], statuses=("ok", "ok", "parse_error")) -> pl.DataFrame:
    rows = [
        (SYSTEM.name, run, f"{run}{i}", status, 1 if status == "ok" else None)
        for run in ("1", "2")
        for i, status in enumerate(statuses)
    ]
    names = ["system", "run", "request_key", "status", "grade"]
    verdicts = pl.DataFrame(rows, schema=names, orient="row")
    frame = pl.DataFrame(calls, schema={**TABLES["judge_calls"].schema, "counts": pl.Boolean}, orient="row")
    return systems_table([SYSTEM], verdicts, frame, MEASURED)


MEASURED = Measured(marks([0, 1, 2], {SYSTEM.name: [[0, 1, None], [0, 2, 2]]}), JUDGE.calibration, 1)


def test_failures_are_counted_in_the_first_run_by_status():
    row = table([call("10", 1)]).row(0, named=True)
    assert (row["pairs"], row["graded"], row["failed"]) == (3, 2, 1)
    assert row["failure_share"] == pytest.approx(1 / 3)
    assert row["failures"] == '{"parse_error": 1}'


def test_a_failure_that_was_charged_is_a_cost_and_every_request_a_share_of_it():
    # Two requests; the first failed once at 0.004 and was then answered at 0.001: 0.006 over 2 requests, 3 entries.
    failed = call("10", 1, counts=False, status="empty", cost=Decimal("0.004"), attempts=3)
    row = table([failed, call("10", 2), call("11", 3)]).row(0, named=True)
    assert (row["requests"], row["calls"], row["cost_known"], row["cost_unknown"]) == (2, 5, 3, 0)
    assert row["known_cost"] == Decimal("0.006")
    assert row["price_per_1000"] == pytest.approx(3.0)
    assert row["known_cost_per_1000"] == pytest.approx(3.0)


def test_an_unknown_cost_is_not_zero():
    unknown = call("11", 2, cost=None)
    row = table([call("10", 1), unknown]).row(0, named=True)
    assert (row["cost_unknown"], row["price_per_1000"], row["known_cost_per_1000"]) == (1, None, pytest.approx(1.0))
    estimated = call("11", 2, cost=None, cost_estimate=Decimal("0.003"))
    row = table([call("10", 1), estimated]).row(0, named=True)
    assert (row["cost_unknown"], row["price_per_1000"], row["known_cost"]) == (1, pytest.approx(2.0), Decimal("0.001"))
    free = call("10", 1, cost=Decimal(0))
    assert table([free]).row(0, named=True)["price_per_1000"] == 0.0


def many(statuses: int = 100) -> pl.DataFrame:
    rows = [(SYSTEM.name, "1", f"k{i}", "ok", 1) for i in range(statuses)]
    return pl.DataFrame(rows, schema=["system", "run", "request_key", "status", "grade"], orient="row")


def facts_after(calls: list[dict]) -> dict:
    frame = pl.DataFrame(calls, schema={**TABLES["judge_calls"].schema, "counts": pl.Boolean}, orient="row")
    return systems_table([SYSTEM], many(), frame, MEASURED).row(0, named=True)


@pytest.mark.parametrize("refusals", [0, 4, 10])
@pytest.mark.parametrize("status", [503, 429, 401])
def test_refusals_that_nobody_was_charged_for_change_no_price(refusals, status):
    refused = [
        call(
            f"k{i}", i, counts=False, status="error", http_status=status, cost=None, completion_tokens=None, attempts=6
        )
        for i in range(refusals)
    ]
    row = facts_after([*refused, *(call(f"k{i}", 200 + i) for i in range(100))])
    assert (row["price_per_1000"], row["cost_unknown"]) == (pytest.approx(1.0), 0)
    assert row["known_cost_per_1000"] == pytest.approx(1.0)
    # A request that was refused and never answered is no cheap one.
    short = facts_after([*refused, *(call(f"k{i}", 200 + i) for i in range(20, 100))])
    assert short["price_per_1000"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "empty"},
        {"status": "bad_body"},
        {"status": "error"},  # an error inside a reply with status 200
        {"status": "error", "http_status": None, "completion_tokens": None},  # perhaps it was sent, and timed out
        {"status": "error", "http_status": 502},  # it names tokens
    ],
)
def test_a_failure_that_may_have_been_charged_leaves_the_price_unknown_where_there_are_many(changes):
    failed = [call(f"k{i}", i, counts=False, cost=None, **changes) for i in range(10)]
    row = facts_after([*failed, *(call(f"k{i}", 200 + i) for i in range(100))])
    assert (row["price_per_1000"], row["cost_unknown"]) == (None, 10)


def test_the_price_is_that_of_the_first_run():
    # The second run sends the same prompts, which the provider's cache serves at a tenth.
    row = table([call("10", 1), call("11", 2), call("20", 3, cost=Decimal("0.0001")), call("21", 4, cost=None)])
    row = row.row(0, named=True)
    assert (row["price_per_1000"], row["known_cost_per_1000"]) == (pytest.approx(1.0), pytest.approx(1.0))
    assert (row["requests"], row["known_cost"], row["cost_unknown"]) == (4, Decimal("0.0021"), 1)


def test_a_few_unknown_costs_are_taken_for_the_mean_of_the_others():
    calls = [call(f"1{i}", i, cost=None if i == 0 else Decimal("0.002")) for i in range(20)]
    verdict_keys = [f"1{i}" for i in range(20)]
    rows = [(SYSTEM.name, "1", key, "ok", 1) for key in verdict_keys]
    verdicts = pl.DataFrame(rows, schema=["system", "run", "request_key", "status", "grade"], orient="row")
    frame = pl.DataFrame(calls, schema={**TABLES["judge_calls"].schema, "counts": pl.Boolean}, orient="row")
    assert systems_table([SYSTEM], verdicts, frame, MEASURED)["price_per_1000"][0] == pytest.approx(2.0)


def test_time_and_stack_come_from_answers_alone():
    timeout = call(
        "11", 2, http_status=None, status="error", seconds=600.0, answered_model=None, provider=None, cost=None
    )
    silent = call("12", 3, provider=None, seconds=3.0)
    row = table([call("10", 1), timeout, silent]).row(0, named=True)
    assert (row["seconds_median"], row["seconds_p95"]) == (2.0, pytest.approx(2.9))
    assert (row["answered_models"], row["providers"], row["unrecorded"]) == (["m-1"], ["r"], 1)
    assert row["stacks"] == ["m-1 by r"]
    routes = [("A", "X"), ("A", "Y"), ("B", "X"), ("B", "X")]
    calls = [call(f"1{i}", i, answered_model=model, provider=route) for i, (model, route) in enumerate(routes[:3])]
    assert table(calls).row(0, named=True)["stacks"] == ["A by X", "A by Y", "B by X"]


def test_two_runs_of_one_judge():
    row = table([call("10", 1)]).row(0, named=True)
    # (0,0) and (1,2); the third pair has one grade only.
    assert (row["repeat_n"], row["repeat_share"]) == (2, 0.5)


def test_a_system_nothing_was_heard_of():
    measured = table([]).row(0, named=True)
    assert (measured["requests"], measured["price_per_1000"], measured["seconds_median"]) == (0, None, None)


def test_the_choice_table_has_each_criterion_with_its_threshold():
    facts = facts_of(table([call("10", 1)]), MEASURED, JUDGE.calibration)
    rulings = choose(facts, JUDGE.calibration)
    row = choice_table(rulings, [SYSTEM], JUDGE.calibration).row(0, named=True)
    assert (row["pairs"], row["pairs_threshold"], row["pairs_met"]) == (2.0, 2.0, True)
    assert (row["agreement"], row["agreement_threshold"], row["agreement_met"]) == (1.0, 0.4, True)
    assert (row["stack"], row["stack_threshold"], row["stack_met"]) == (1.0, 1.0, True)
    # Not declared: no figure, no threshold, neither met nor missed.
    assert (row["repeat"], row["repeat_threshold"], row["repeat_met"]) == (None, None, None)
    assert (row["accepted"], row["chosen"], row["in_use"], row["rank"]) == (True, True, True, 1)
    assert judge_in_use(rulings, JUDGE.calibration) == SYSTEM.name
