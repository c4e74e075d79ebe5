"""The calibration over a real HTTP server: asked once, measured, chosen, refused where no judge is good enough."""

from typing import Any

import dagster as dg
import polars as pl
import pytest

from tendril_assets.errors import IncompleteJudgments, NoJudgeAccepted
from tendril_assets.resources.ledger import Ledger
from tendril_assets_tests.assets.http_stub import serving
from tendril_assets_tests.assets.toy_judging import SPEC, judge, resources_in, run, spec

CALIBRATION = "calibration_requests calibration_replies judge_agreement calibration_systems judge_choice"
BEFORE = "summary_requests area_summary_replies area_summaries queries project_queries"
ACCEPTANCE = {"minimum": 0.4, "levels": "all", "min_pairs": 3}


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("TENDRIL_HOME", str(tmp_path))
    return tmp_path


def with_calibration(**calibration: Any):
    """The toy's judge and ``toy/other``, two efforts each; the figures over all pairs, for there are three."""
    grid = {"models": ["toy/other"], "efforts": ["none", "low"], "resamples": 100, "choice": {"levels": "all"}}
    return spec(judge={**SPEC["judge"], "calibration": {**grid, "acceptance": ACCEPTANCE, **calibration}})


def failure(result: dg.ExecuteInProcessResult, step: str) -> tuple[str, str]:
    events = [e for e in result.all_events if e.event_type_value == "STEP_FAILURE" and e.step_key == step]
    assert events, f"step {step} did not fail"
    error = events[0].step_failure_data.error
    error = error.cause or error
    return error.cls_name, error.message


def evaluations(result: dg.ExecuteInProcessResult) -> dict[str, tuple[bool, str]]:
    return {e.check_name: (e.passed, e.severity.value) for e in result.get_asset_check_evaluations()}


def curated(query, passage):
    """The toy's curated grades: 2 for FSC to a wood query, 1 for Watt to Strom, else 0."""
    if not query:
        return judge(query, passage)
    known = {("Nur FSC", "Es wird FSC verlangt."): "2", ("Strom", "Watt"): "1"}
    return 200, known.get((query, passage), "0"), "stop"


def hopeless(query, passage):
    return judge(query, passage) if not query else (200, "0", "stop")


def test_every_system_is_asked_once_and_the_rows_say_who_did_how(home):
    chosen = with_calibration(repeats=2, repeat_pairs=2)
    with serving(judge) as stub:
        given = resources_in(home, stub.base_url)
        result = run(chosen, given, CALIBRATION, raise_on_error=True)
        # 3 systems x (3 pairs + 2 repeats); the toy's two texts of one query are different requests.
        assert stub.calls == 15
        assert set(stub.asked.values()) == {1}
        assert stub.repeats == {"2": 6}
        rows = given["warehouse"].load("toy", "calibration_systems")
        assert rows.select("system", "declared", "in_use", "pairs", "graded", "requests", "repeat_n").rows() == [
            ("toy/judge [stub] default de_short", True, True, 3, 3, 5, 2),
            ("toy/other low de_short", False, False, 3, 3, 5, 2),
            ("toy/other none de_short", False, False, 3, 3, 5, 2),
        ]
        assert rows["price_per_1000"].to_list() == pytest.approx([0.1] * 3)
        assert rows["known_cost"].cast(pl.Float64).to_list() == pytest.approx([0.0005] * 3)
        assert rows["providers"].to_list() == [["stub"]] * 3
        # A stub that ignores repeats answers the same; a single class among two pairs would leave kappa undefined.
        assert rows["repeat_share"].to_list() == [1.0] * 3
        assert evaluations(result) == {
            "declared_judge_is_accepted": (True, "WARN"),
            "one_inference_stack": (True, "WARN"),
        }
        again = run(chosen, given, CALIBRATION, raise_on_error=True)
        assert stub.calls == 15
        assert _versions(again) == _versions(result)


def _versions(result):
    return {
        e.asset_key.to_user_string(): e.materialization.tags.get("dagster/data_version")
        for e in result.get_asset_materialization_events()
    }


def test_a_pair_that_is_judged_too_is_paid_for_once(home):
    """Calibration pair q, p with the very texts of a candidate: one request, whoever asks first."""
    with serving(judge) as stub:
        given = resources_in(home, stub.base_url)
        run(spec(), given, BEFORE, raise_on_error=True)
        texts = dict(given["warehouse"].load("toy", "queries", ["query_id", "text"]).iter_rows())
        row = ("a-holz", "p-1", "area_of_action", texts["a-holz"], "Es wird FSC verlangt.", 2)
        pairs = given["warehouse"].load("toy", "calibration_pairs").clear()
        given["warehouse"].replace("toy", {"calibration_pairs": _with(pairs, row)}, "test")
        run(with_calibration(), given, "candidates judge_replies", raise_on_error=True)
        before = stub.calls
        run(with_calibration(), given, CALIBRATION, raise_on_error=True)
        # Three systems, of which the declared judge has its answer.
        assert stub.calls == before + 2
        assert given["warehouse"].load("toy", "calibration_systems")["graded"].to_list() == [1, 1, 1]


def _with(frame: pl.DataFrame, row: tuple) -> pl.DataFrame:
    return pl.concat([frame, pl.DataFrame([row], schema=frame.schema, orient="row")])


def test_the_chosen_judge_judges(home):
    chosen = with_calibration(apply="chosen", models=["toy/other"], efforts=["low"])

    with serving(judge, delay_s=0.02) as stub:
        given = resources_in(home, stub.base_url)
        stub.by_model = {"toy/other": curated}
        run(chosen, given, raise_on_error=True)
        rows = given["warehouse"].load("toy", "judge_choice")
        assert rows.filter("chosen")["system"].to_list() == ["toy/other low de_short"]
        assert rows.filter("in_use")["system"].to_list() == ["toy/other low de_short"]
        calls = given["warehouse"].load("toy", "judge_calls")
        assert set(calls.filter(pl.col("purpose") == "judge")["model"]) == {"toy/other"}
        in_use = given["warehouse"].load("toy", "judge_agreement").filter("in_use")
        assert set(in_use["system"]) == {"humans", "toy/other low de_short"}


def test_where_no_judge_is_good_enough_nothing_is_asked(home):
    chosen = with_calibration(apply="chosen")
    with serving(hopeless) as stub:
        given = resources_in(home, stub.base_url)
        run(chosen, given, f"{BEFORE} {CALIBRATION}", raise_on_error=True)
        before = stub.calls
        result = run(chosen, given, "candidates judge_replies")
        name, message = failure(result, "toy__candidates__request_passages")
        assert name == NoJudgeAccepted.__name__
        assert "nothing is asked" in message
        assert "toy/other low de_short: not accepted: Cohen's kappa" in message
        assert stub.calls == before
        assert Ledger(home / "ledger").answered_keys("judge") == set()


def test_a_declared_judge_that_fails_is_a_warning_and_judges(home):
    chosen = with_calibration()
    with serving(hopeless) as stub:
        given = resources_in(home, stub.base_url)
        result = run(chosen, given, raise_on_error=True)
        assert evaluations(result)["declared_judge_is_accepted"] == (False, "WARN")
        assert given["warehouse"].load("toy", "judgments").height == 14


def test_a_declared_judge_that_fails_stops_the_graph_where_the_specification_says_so(home):
    chosen = with_calibration(refuse=True)
    with serving(hopeless) as stub:
        given = resources_in(home, stub.base_url)
        result = run(chosen, given)
        assert evaluations(result)["declared_judge_is_accepted"] == (False, "ERROR")
        assert not result.success
        assert Ledger(home / "ledger").answered_keys("judge") == set()
        # Candidates alone do not get round it.
        assert (
            failure(run(chosen, given, "candidates"), "toy__candidates__request_passages")[0]
            == NoJudgeAccepted.__name__
        )


def test_open_requests_are_no_failures_of_a_judge(home):
    chosen = with_calibration()
    with serving(judge) as stub:
        given = resources_in(home, stub.base_url)
        run(chosen, given, "calibration_requests", raise_on_error=True)
        result = run(chosen, given, "judge_agreement calibration_systems judge_choice")
        steps = {e.step_key for e in result.all_events if e.event_type_value == "STEP_FAILURE"}
        assert len(steps) == 1
        assert failure(result, steps.pop())[0] == IncompleteJudgments.__name__


def test_two_routes_of_one_system_are_told(home):
    with serving(judge) as stub:
        given = resources_in(home, stub.base_url)
        plain, routes = stub.reply, iter(["one", "two"] * 20)

        def reply(body, repeat=None):
            status, payload = plain(body, repeat)
            return status, {**payload, "provider": next(routes)}

        stub.reply = reply
        result = run(with_calibration(), given, CALIBRATION, raise_on_error=True)
        assert evaluations(result)["one_inference_stack"] == (False, "WARN")
