"""From areas to qrels over a real HTTP server: asked once, kept, fanned out, refused while incomplete."""

import shutil

import dagster as dg
import polars as pl
import pytest

from tendril_assets.errors import BudgetReached, IncompleteJudgments, InsufficientCredits, WarehouseError
from tendril_assets.resources.ledger import Ledger
from tendril_assets_tests.assets.http_stub import Stub, serving
from tendril_assets_tests.assets.toy_judging import (
    ALL_CALLS,
    CALIBRATION,
    CANDIDATES,
    REQUESTS,
    SUMMARIES,
    judge,
    resources_in,
    run,
    spec,
    stages,
)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("TENDRIL_HOME", str(tmp_path))
    return tmp_path


def resources(home, stub: Stub, **gateway):
    return resources_in(home, stub.base_url, **gateway)


def checks(result: dg.ExecuteInProcessResult) -> dict[str, bool]:
    return {e.check_name: e.passed for e in result.get_asset_check_evaluations()}


def failure(result: dg.ExecuteInProcessResult, step: str):
    """The error class that ended a step, as Dagster recorded it."""
    events = [e for e in result.all_events if e.event_type_value == "STEP_FAILURE" and e.step_key == step]
    assert events, f"step {step} did not fail"
    error = events[0].step_failure_data.error
    return (error.cause or error).cls_name


def grades(warehouse) -> dict[tuple[str, str], int]:
    return {(q, p): s for q, p, s in warehouse.load("toy", "qrels", ["query_id", "passage_id", "score"]).iter_rows()}


def test_the_whole_flow_grades_every_pair_and_asks_each_request_once(home):
    with serving(judge) as stub:
        given = resources(home, stub)
        result = run(spec(), given, raise_on_error=True)
        assert result.success
        assert set(checks(result).values()) == {True}
        assert stub.calls == ALL_CALLS
        assert set(stub.asked.values()) == {1}

        warehouse = given["warehouse"]
        queries = dict(warehouse.load("toy", "queries", ["query_id", "text"]).iter_rows())
        assert queries == {
            "a-holz": "Zusammenfassung: Holz",
            "a-strom": "Zusammenfassung: Strom",
            "c-holz.1": "Nur FSC\nBasis: Basis-Text",
            "c-strom.1": "Wenig Watt",
        }
        # Holz queries: 2 for FSC (p-1 and its twin p-4), 1 for Watt, 0 for Anreise. Strom queries: 2 for Watt, else 0.
        assert grades(warehouse) == {
            **{(q, p): g for q in ("a-holz", "c-holz.1") for p, g in (("p-1", 2), ("p-2", 1), ("p-3", 0), ("p-4", 2))},
            **{(q, p): g for q in ("a-strom", "c-strom.1") for p, g in (("p-1", 0), ("p-2", 2), ("p-3", 0))},
        }
        candidates = warehouse.load("toy", "candidates")
        assert (candidates.height, candidates["request_key"].n_unique()) == (CANDIDATES, REQUESTS)

        calls = warehouse.load("toy", "judge_calls")
        assert dict(calls["purpose"].value_counts().iter_rows()) == {
            "judge": REQUESTS,
            "calibration": CALIBRATION,
            "area_summary": SUMMARIES,
        }
        assert str(calls["cost"].sum()) == "0.001700000"  # 17 calls at 0.0001

        kappa = warehouse.load("toy", "judge_agreement").filter(
            pl.col("level") == "all", pl.col("scale") == "graded", pl.col("statistic") == "kappa"
        )
        # Judge 2, 0, 2 against 2, 0, 1: observed 6/9, chance (1*1 + 1*0 + 1*2)/9 = 3/9, kappa 3/6.
        assert kappa.row(0, named=True)["value"] == pytest.approx(0.5)

        second = run(spec(), given, raise_on_error=True)
        assert stub.calls == ALL_CALLS
        assert versions(second) == versions(result)
        assert None not in versions(result).values()


def test_models_that_cannot_be_used_are_warned_of_before_money_is_spent(home, capfd: pytest.CaptureFixture[str]):
    """Runs of the UI go on; the command line has refused such a run before."""
    bad = {"base": str(home / "nowhere"), "dimensions": 2, "licence": "MIT"}
    with serving(judge) as stub:
        chosen = spec(models={"one": bad, "two": bad})
        assert run(chosen, resources(home, stub), raise_on_error=True).success
    lines = capfd.readouterr().err.splitlines()
    (first,) = [n for n, line in enumerate(lines) if "judge: 12 requests, 12 open" in line]
    told = [n for n, line in enumerate(lines) if "WARNING" in line and "Training and ranking will fail on it" in line]
    assert len(told) == 2
    assert max(told) < first
    assert f"models.one: base: there is no folder {home / 'nowhere'}" in lines[told[0]]
    assert "models.two: " in lines[told[1]]


def test_a_base_that_is_only_not_here_is_no_warning_while_judging(home, monkeypatch, capfd: pytest.CaptureFixture[str]):
    """Another machine may be the one that trains; and where nothing is to be asked, nothing is told."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(home / "hub"))
    chosen = spec(models={"one": {"base": "maker/not-fetched", "dimensions": 2, "licence": "MIT"}})
    with serving(judge) as stub:
        given = resources(home, stub)
        assert run(chosen, given, raise_on_error=True).success
        lines = capfd.readouterr().err.splitlines()
        (told,) = [line for line in lines if "models.one: the base model 'maker/not-fetched'" in line]
        assert "INFO" in told
        assert "WARNING" not in told
        assert told.endswith("Training on this machine would need it; judging does not")
        assert run(chosen, given, raise_on_error=True).success
        assert "models.one" not in capfd.readouterr().err


def versions(result: dg.ExecuteInProcessResult) -> dict[str, str | None]:
    return {
        e.asset_key.to_user_string(): e.materialization.tags.get("dagster/data_version")
        for e in result.get_asset_materialization_events()
    }


def test_a_summary_that_stays_too_long_is_a_row_without_a_query(home):
    def long_winded(query, passage):
        if not query and "Strom" in passage:
            return 200, " ".join(["Wort"] * (11 if "Versuch" in passage else 12)), "stop"
        return judge(query, passage)

    with serving(long_winded) as stub:
        given = resources(home, stub)
        result = run(spec(), given, raise_on_error=True)
        assert checks(result)["every_area_has_a_summary"] is False
        row = given["warehouse"].load("toy", "area_summaries").filter(pl.col("area") == "strom").row(0, named=True)
        # The second attempt's reply counts: 11 words.
        assert (row["status"], row["words"]) == ("too_long", 11)
        assert "a-strom" not in set(given["warehouse"].load("toy", "queries")["query_id"])
        # One summary more than usual, three requests (a-strom x 3 passages) fewer.
        assert stub.calls == ALL_CALLS + 1 - 3
        run(spec(), given, raise_on_error=True)
        assert stub.calls == ALL_CALLS + 1 - 3


def test_a_second_attempt_that_is_short_enough_counts(home):
    def improves(query, passage):
        if not query and "Versuch" not in passage:
            return 200, " ".join(["Wort"] * 12), "stop"
        return judge(query, passage)

    with serving(improves) as stub:
        given = resources(home, stub)
        run(spec(), given, "summary_requests area_summary_replies area_summaries", raise_on_error=True)
        summaries = given["warehouse"].load("toy", "area_summaries")
        assert summaries.select("area", "status", "text").rows() == [
            ("holz", "ok", "Zusammenfassung: Holz"),
            ("strom", "ok", "Zusammenfassung: Strom"),
        ]
        assert stub.calls == 2 * SUMMARIES


def test_failures_are_statuses_and_never_grades(home):
    def unreliable(query, passage):
        if passage == "Anreise":
            return 200, "Nicht relevant (0)", "stop"
        if "Watt" in passage and query and "FSC" in query:
            return 200, "1", "length"
        return judge(query, passage)

    with serving(unreliable) as stub:
        given = resources(home, stub)
        result = run(spec(), given, raise_on_error=True)
        assert set(checks(result).values()) == {True}  # answered, though not all with a grade
        judgments = given["warehouse"].load("toy", "judgments")
        # Anreise meets four queries; c-holz.1 and p-2 is the one pair of FSC and Watt.
        assert dict(judgments["status"].value_counts().iter_rows()) == {"ok": 9, "parse_error": 4, "truncated": 1}
        assert len(grades(given["warehouse"])) == 9
        assert stub.calls == ALL_CALLS


def test_no_credit_stops_the_judge_and_the_next_run_asks_the_rest(home):
    credit = [5]

    def paid(query, passage):
        if query and "Strom" not in query:
            credit[0] -= 1
            if credit[0] < 0:
                return 402, "insufficient credits", ""
        return judge(query, passage)

    with serving(paid) as stub:
        given = resources(home, stub)
        run(spec(), given, "summary_requests area_summary_replies area_summaries queries project_queries candidates")
        broke = run(spec(), given, "judge_replies")
        assert not broke.success
        assert failure(broke, "toy__judge_replies") == InsufficientCredits.__name__
        assert observations(broke) == ["InsufficientCredits"]
        kept = Ledger(home / "ledger").answered_keys("judge")
        assert kept
        credit[0] = 1000
        before = stub.calls
        assert run(spec(), given, "judge_replies", raise_on_error=True).success
        assert stub.calls - before == REQUESTS - len(kept)


def observations(result: dg.ExecuteInProcessResult) -> list[str]:
    return [
        e.asset_observation_data.asset_observation.metadata["state"].value
        for e in result.all_events
        if e.event_type_value == "ASSET_OBSERVATION"
    ]


def test_a_cap_stops_the_step_and_incomplete_judgments_are_refused(home):
    with serving(judge) as stub:
        given = resources(home, stub)
        run(spec(), given, "summary_requests area_summary_replies area_summaries queries project_queries candidates")
        run(spec(), given, "calibration_requests calibration_replies")
        capped = {**given, "gateway": resources(home, stub, max_calls=4)["gateway"]}
        stopped = run(spec(), capped, "judge_replies")
        assert failure(stopped, "toy__judge_replies") == BudgetReached.__name__
        assert observations(stopped) == ["incomplete: budget"]
        assert len(Ledger(home / "ledger").answered_keys("judge")) == 4

        rest = run(spec(), given, "judge_calls judgments qrels")
        assert checks(rest)["every_request_is_answered"] is False
        assert not rest.success

        alone = run(spec(), given, "qrels")
        assert failure(alone, "toy__qrels") == IncompleteJudgments.__name__
        with pytest.raises(WarehouseError, match="qrels"):
            given["warehouse"].load("toy", "qrels")


def test_incomplete_judgments_go_on_only_by_name(home):
    allowing = spec(judge={**spec().judge.model_dump(), "allow_incomplete": True})
    with serving(judge) as stub:
        given = resources(home, stub)
        run(spec(), given, "summary_requests area_summary_replies area_summaries queries project_queries candidates")
        run(spec(), given, "calibration_requests calibration_replies")
        capped = {**given, "gateway": resources(home, stub, max_calls=4)["gateway"]}
        result = run(allowing, capped, "judge_replies judge_calls judgments qrels", raise_on_error=True)
        assert result.success
        assert checks(result)["every_request_is_answered"] is False
        answered = Ledger(home / "ledger").answered_keys("judge")
        candidates = given["warehouse"].load("toy", "candidates")
        expected = candidates.filter(pl.col("request_key").is_in(list(answered))).height
        assert len(grades(given["warehouse"])) == expected
        assert 4 <= expected < CANDIDATES


@pytest.fixture(scope="module")
def finished_home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    with serving(judge) as stub, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TENDRIL_HOME", str(folder))
        run(spec(), resources_in(folder, stub.base_url), raise_on_error=True)
    return folder


@pytest.fixture
def finished(finished_home, home):
    shutil.copytree(finished_home, home, dirs_exist_ok=True)
    return resources_in(home, "http://127.0.0.1:9/api/v1")


@pytest.mark.parametrize(
    ("table", "statement", "check"),
    [
        ("candidates", "DELETE FROM candidates WHERE passage_id = 'p-3'", "every_pair_of_a_group"),
        ("judgments", "DELETE FROM judgments WHERE passage_id = 'p-4'", "judgments_are_the_fan_out"),
        ("judgments", "UPDATE judgments SET request_key = 'x' WHERE passage_id = 'p-4'", "judgments_are_the_fan_out"),
        ("judgments", "UPDATE judge_calls SET status = 'error' WHERE purpose = 'judge'", "every_request_is_answered"),
        ("qrels", "UPDATE qrels SET score = 1 WHERE passage_id = 'p-4'", "qrels_match_judgments"),
        ("qrels", "DELETE FROM qrels WHERE passage_id = 'p-4'", "qrels_match_judgments"),
        ("queries", "DELETE FROM queries WHERE level = 'criterion'", "every_subset_has_queries"),
        ("area_summaries", "UPDATE area_summaries SET status = 'error'", "every_area_has_a_summary"),
    ],
)
def test_each_check_fails_where_its_property_is_broken(finished, table, statement, check):
    with finished["warehouse"].transaction("toy", "break") as connection:
        connection.execute(statement)
    chosen = [c for c in stages(spec()).checks if check in {s.name for s in c.check_specs}]
    selection = dg.AssetSelection.checks(dg.AssetCheckKey(dg.AssetKey(["toy", table]), check))
    result = dg.materialize(
        chosen, resources=finished, selection=selection, instance=dg.DagsterInstance.ephemeral(), raise_on_error=False
    )
    assert checks(result) == {check: False}
