"""The drift job over a real HTTP server: a sample asked again once a day, compared, kept, and started by nobody's accident."""

import json
from datetime import UTC, datetime

import dagster as dg
import polars as pl
import pytest

from tendril_assets.assets import drift
from tendril_assets.components.retrieval_collection import collection_jobs
from tendril_assets.errors import SettingsError
from tendril_assets.resources.ledger import Ledger
from tendril_assets_tests.assets.http_stub import serving
from tendril_assets_tests.assets.toy_judging import REQUESTS, judge, resources_in, run, spec, stages

UP_TO_JUDGMENTS = (
    "summary_requests area_summary_replies area_summaries queries project_queries candidates judge_replies judge_calls "
    "judgments calibration_requests calibration_replies"
)
SAMPLE = 9


def drifting(**limits: float):
    chosen = spec()
    return spec(judge={**chosen.judge.model_dump(), "drift": {"sample": SAMPLE, **limits}})


def definitions(chosen, resources) -> dg.Definitions:
    """The toy's stages with those of its jobs that hold the judging stage; the others name stages it has not."""
    stage = stages(chosen)
    jobs = [job for job in collection_jobs(chosen) if job.name in ("toy", "toy_drift")]
    return dg.Definitions(assets=stage.assets, asset_checks=stage.checks, jobs=jobs, resources=resources)


def run_job(chosen, resources, name: str = "toy_drift", **options) -> dg.ExecuteInProcessResult:
    job = definitions(chosen, resources).resolve_job_def(name)
    return job.execute_in_process(instance=dg.DagsterInstance.ephemeral(), **{"raise_on_error": True, **options})


def checks(result) -> dict[str, dg.AssetCheckEvaluation]:
    return {e.check_name: e for e in result.get_asset_check_evaluations()}


@pytest.fixture
def judged(tmp_path, monkeypatch):
    monkeypatch.setenv("TENDRIL_HOME", str(tmp_path))
    with serving(judge) as stub:
        given = resources_in(tmp_path, stub.base_url)
        run(drifting(), given, UP_TO_JUDGMENTS, raise_on_error=True)
        stub.asked.clear()
        yield stub, given


def on(day: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.fromisoformat(day).replace(tzinfo=UTC)

    monkeypatch.setattr(drift, "datetime", Clock)


def test_a_round_asks_the_sample_once_a_day_and_the_judge_is_steady(judged, monkeypatch):
    stub, given = judged
    on("2026-11-30", monkeypatch)
    result = run_job(drifting(), given)
    assert stub.calls == SAMPLE
    assert stub.repeats == {"drift 2026-11-30": SAMPLE}
    assert set(stub.asked.values()) == {1}
    check = checks(result)["judge_has_not_drifted"]
    assert (check.passed, check.description) == (True, "round of 2026-11-30: grades as before, by the same route")

    table = given["warehouse"].load("toy", "judge_drift")
    assert sorted(set(table["level"])) == ["all", "area_of_action", "criterion"]
    whole = table.filter(pl.col("level") == "all", pl.col("scale") == "graded").row(0, named=True)
    assert (whole["n"], whole["missing"], whole["agreement"], whole["mean_shift"]) == (SAMPLE, 0, 1.0, 0.0)
    assert (whole["models_after"], whole["providers_after"]) == (["toy/judge"], ["stub"])
    assert str(whole["cost"]) == "0.000900000"
    # Twelve requests: four each of grade 2, 1 and 0 or fewer; every grade is in the sample.
    assert all(sum(row) for row in json.loads(whole["confusion"]))

    run_job(drifting(), given)
    assert stub.calls == SAMPLE, "the same day costs nothing"


def test_rounds_are_kept_and_rebuilt_from_the_ledger(judged, monkeypatch):
    stub, given = judged
    for day in ("2026-11-30", "2026-12-07"):
        on(day, monkeypatch)
        run_job(drifting(), given)
    assert stub.calls == 2 * SAMPLE
    table = given["warehouse"].load("toy", "judge_drift")
    assert sorted(set(table["round"])) == ["2026-11-30", "2026-12-07"]
    with given["warehouse"].transaction("toy", "lose the table") as connection:
        connection.execute("DROP TABLE judge_drift")
    run(drifting(), given, "judge_drift", raise_on_error=True)
    assert given["warehouse"].load("toy", "judge_drift").equals(table)
    # What was asked again was paid for: once loaded, the costs of all calls hold it.
    run(drifting(), given, "judge_calls", raise_on_error=True)
    purposes = given["warehouse"].load("toy", "judge_calls", ["purpose"])["purpose"].to_list()
    assert (purposes.count("drift"), purposes.count("judge")) == (2 * SAMPLE, REQUESTS)
    # The judged requests keep their grades: a repeat is no answer to them.
    assert Ledger(given["warehouse"].database.replace("warehouse.duckdb", "ledger")).answered("judge").len() == REQUESTS


def test_a_judge_that_changed_is_told_with_figures_and_route(judged, monkeypatch):
    stub, given = judged
    on("2026-11-30", monkeypatch)
    stub.again = lambda query, passage: (200, "2", "stop")
    result = run_job(drifting(min_agreement=0.9, max_mean_shift=0.2), given)
    assert result.success, "the check reports; nothing is blocked"
    check = checks(result)["judge_has_not_drifted"]
    assert not check.passed
    assert check.description.startswith("round of 2026-11-30: ")
    assert "grades are as before, declared were 90.0%; grades moved by +" in check.description
    assert len(check.metadata["entries"].value) == 2


def test_repeats_that_fail_are_missing_and_too_many_are_a_reason(judged, monkeypatch):
    stub, given = judged
    on("2026-11-30", monkeypatch)
    stub.again = lambda query, passage: (200, "Nicht relevant", "stop")
    check = checks(run_job(drifting(), given))["judge_has_not_drifted"]
    assert not check.passed
    assert f"none of {SAMPLE} repeated requests has two grades" in check.description


def test_a_run_of_everything_asks_nothing_again(judged):
    stub, given = judged
    names = "drift_requests drift_replies judge_drift"
    result = run(drifting(), given, names, raise_on_error=True)
    assert stub.calls == 0
    assert not result.get_asset_materialization_events() or {
        e.asset_key.path[-1] for e in result.get_asset_materialization_events()
    } == {"drift_requests"}
    assert {e.step_key for e in result.all_events if e.event_type_value == "STEP_SKIPPED"} >= {"toy__judge_drift"}


def test_only_the_drift_job_holds_the_steps_that_ask_again(judged):
    _, given = judged
    loaded = definitions(drifting(), given)
    ours = {dg.AssetKey(["toy", name]) for name in drift.ASSETS}
    for job in loaded.resolve_all_job_defs():
        keys = set(job.asset_layer.executable_asset_keys)
        if job.name == "toy_drift":
            assert keys == ours
        elif not job.name.startswith("__"):
            assert not keys & ours, job.name


def test_without_a_drift_check_there_is_neither_step_nor_job(judged):
    _, given = judged
    loaded = definitions(spec(), given)
    assert "toy_drift" not in {job.name for job in loaded.resolve_all_job_defs()}
    assert not {key.path[-1] for key in loaded.resolve_asset_graph().get_all_asset_keys()} & set(drift.ASSETS)


def test_a_judge_that_was_changed_since_the_sample_was_written_is_asked_nothing(judged):
    stub, given = judged
    chosen = drifting()
    run(chosen, given, "drift_requests", raise_on_error=True)
    before = chosen.judge.model_dump()
    changed = spec(judge={**before, "llm": {**before["llm"], "max_tokens": 17}})
    with pytest.raises(SettingsError, match="Materialise toy/drift_requests again"):
        run_job(changed, given, asset_selection=[dg.AssetKey(["toy", "drift_replies"])])
    assert stub.calls == 0
