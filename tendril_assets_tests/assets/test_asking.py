"""An asking step over a real HTTP server: what it tells while it runs, its caps, and two that ask at once."""

import itertools
import threading
from dataclasses import replace
from decimal import Decimal

import dagster as dg
import pytest

from tendril_assets.asking_display import told
from tendril_assets.assets import asking, asking_watch
from tendril_assets.errors import BudgetReached, DatabaseLocked, IncompleteJudgments, LedgerError, SettingsError
from tendril_assets.judging import systems
from tendril_assets.judging.prompts import load_guideline
from tendril_assets.resources.asking_progress import progress_folder, read_standings, write_standing
from tendril_assets.resources.ledger import Ledger
from tendril_assets.resources.lock import exclusive
from tendril_assets_tests.assets.http_stub import serving
from tendril_assets_tests.assets.toy_judging import REQUESTS, SUMMARIES, judge, resources_in, run, spec, stages

SUMMARISING = "summary_requests area_summary_replies area_summaries queries project_queries"
UP_TO_REQUESTS = f"{SUMMARISING} candidates"
# Everything the tables of the judging stage are loaded from.
HANDING_OVER = "calibration_requests calibration_replies"
QRELS = "judge_calls judgments qrels"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("TENDRIL_HOME", str(tmp_path))
    return tmp_path


def error_of(result: dg.ExecuteInProcessResult, step: str):
    (event,) = [e for e in result.all_events if e.event_type_value == "STEP_FAILURE" and e.step_key == step]
    error = event.step_failure_data.error
    return error.cause or error


def standing(home, step: str = "judge_replies"):
    return next(s for s in read_standings(progress_folder(home / "ledger")) if s.step == step)


def test_a_running_step_is_observed_before_it_ends(home, monkeypatch):
    """The observations are in the event log while the step runs, and the result's own metadata stays as it was."""
    monkeypatch.setattr(asking_watch, "OBSERVE_SECONDS", 0.0)
    monkeypatch.setattr(asking_watch, "LOG_SECONDS", 0.0)
    seen_while_running = []
    events = home / "events"
    events.mkdir()
    seen, asked = threading.Event(), itertools.count()

    def held(query: str, passage: str) -> tuple[int, str, str]:
        """From the fifth on answers wait until the step was seen running, however long a busy machine takes to look."""
        if query and next(asked) >= 4 and not seen.wait(60):
            seen.set()
        return judge(query, passage)

    with serving(held) as stub, dg.DagsterInstance.local_temp(str(events)) as instance:
        given = resources_in(home, stub.base_url)
        run(spec(), given, UP_TO_REQUESTS, raise_on_error=True)
        key, stage = dg.AssetKey(["toy", "judge_replies"]), stages(spec())

        def look(seen_by: dg.DagsterInstance) -> None:
            observed = seen_by.fetch_observations(key, limit=1).records
            if observed and standing(home).state == "running":
                seen_while_running.append(observed[0].asset_observation.metadata)
                seen.set()

        done = threading.Event()

        def looking():
            # An instance of its own on the same folder, as another process has: SQLite objects belong to one thread.
            with dg.DagsterInstance.local_temp(str(events)) as own:
                while not done.wait(0.05):
                    look(own)

        watcher = threading.Thread(target=looking)
        watcher.start()
        try:
            result = dg.materialize(
                [*stage.assets], selection=[key], resources=given, instance=instance, raise_on_error=True
            )
        finally:
            done.set()
            watcher.join()
        assert seen_while_running, "an observation only came when the step was over"
        figures = {name: value.value for name, value in seen_while_running[-1].items()}
        assert figures["requests_done"] + figures["requests_open"] + figures["requests_failed"] == REQUESTS
        assert 0 < figures["calls_in_flight_limit"] <= 2
        assert all(isinstance(value, int | float) for value in figures.values()), "the UI plots numbers alone"
        (made,) = result.asset_materializations_for_node("toy__judge_replies")
        assert made.metadata["state"].value == "complete"
        assert made.metadata["answered"].value == REQUESTS
        lines = [e.user_message for e in instance.all_logs(result.run_id) if e.dagster_event is None]
    assert any(f"judge: {REQUESTS} requests, " in line and " done, " in line for line in lines)


def test_the_progress_file_ends_with_the_state_and_holds_no_text(home):
    with serving(judge) as stub:
        given = resources_in(home, stub.base_url)
        run(spec(), given, UP_TO_REQUESTS, raise_on_error=True)
        result = run(spec(), given, "judge_replies", raise_on_error=True)
    left = standing(home)
    assert (left.state, left.requests, left.done, left.open, left.failed) == ("complete", REQUESTS, REQUESTS, 0, 0)
    assert (left.run, left.purpose, left.collection) == (result.run_id, "judge", "toy")
    assert str(left.cost) == "0.0012"
    files = list(progress_folder(home / "ledger").iterdir())
    assert sorted(f.name for f in files) == ["toy.area_summary_replies.json", "toy.judge_replies.json"]
    for text in ("FSC", "Watt", "test-key", "relevan"):
        assert all(text not in f.read_text("utf-8") for f in files)
    # A run with nothing to ask leaves the file as it is: it tells of the last run that asked.
    with serving(judge) as stub:
        run(spec(), resources_in(home, stub.base_url), "judge_replies", raise_on_error=True)
        assert stub.calls == 0
    assert standing(home) == left


def test_a_progress_file_that_cannot_be_written_costs_no_answer(home):
    with serving(judge) as stub:
        given = resources_in(home, stub.base_url)
        run(spec(), given, UP_TO_REQUESTS, raise_on_error=True)
        folder = progress_folder(home / "ledger")
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()
        folder.write_text("in the way")
        assert run(spec(), given, "judge_replies", raise_on_error=True).success
        assert Ledger(home / "ledger").answered("judge").len() == REQUESTS


def test_a_cap_holds_over_all_asking_steps_of_a_run_and_the_next_run_asks_exactly_the_rest(home):
    with serving(judge) as stub:
        capped = resources_in(home, stub.base_url, max_calls=SUMMARIES + 5)
        stopped = run(spec(), capped, f"{UP_TO_REQUESTS} judge_replies")
        assert stub.calls == SUMMARIES + 5, "the summaries of the same run count"
        error = error_of(stopped, "toy__judge_replies")
        assert error.cls_name == BudgetReached.__name__
        for said in (
            f"a cap of this run (TENDRIL_MAX_CALLS={SUMMARIES + 5}) was reached in step toy/judge_replies",
            "has spent 0.0007 USD (estimates of unnamed costs included) in 7 calls",
            "7 of the step's requests are open and will cost about 0.0007 USD more",
            "Run again: only what is open is asked",
        ):
            assert said in error.message
        assert (standing(home).state, standing(home).left) == ("incomplete: budget", 7)
        assert {e.run for e in Ledger(home / "ledger").entries()} == {stopped.run_id}

        run(spec(), {**capped, "gateway": resources_in(home, stub.base_url)["gateway"]}, HANDING_OVER)
        refused = run(spec(), capped, QRELS)
        assert not refused.success
        assert error_of(run(spec(), capped, "qrels"), "toy__qrels").cls_name == IncompleteJudgments.__name__

        # The cap holds for each run anew: a second run under the same one goes on by as much.
        before = stub.calls
        raised = resources_in(home, stub.base_url, max_calls=7)
        assert run(spec(), raised, "judge_replies", raise_on_error=True).success
        assert stub.calls - before == 7
        assert set(stub.asked.values()) == {1}
        assert run(spec(), capped, QRELS, raise_on_error=True).success
        assert stub.calls - before == 7


def test_a_cap_in_money_holds_over_all_asking_steps_of_a_run(home):
    with serving(judge) as stub:
        # Each call costs 0.0001; the worst case of one is below 0.0003 by the stub's prices.
        capped = resources_in(home, stub.base_url, max_usd="0.001")
        stopped = run(spec(), capped, f"{UP_TO_REQUESTS} judge_replies")
        error = error_of(stopped, "toy__judge_replies")
        assert error.cls_name == BudgetReached.__name__
        assert "TENDRIL_MAX_USD=0.001" in error.message
        spent = Ledger(home / "ledger").spent(stopped.run_id)
        assert spent.usd <= Decimal("0.001")
        assert spent.calls == stub.calls < SUMMARIES + REQUESTS


def test_a_step_that_finds_another_asking_says_which_and_asks_nothing(home, monkeypatch):
    monkeypatch.setattr(asking, "WAIT_S", 0.2)
    with serving(judge) as stub:
        given = resources_in(home, stub.base_url)
        run(spec(), given, UP_TO_REQUESTS, raise_on_error=True)
        before = stub.calls
        held, release = threading.Event(), threading.Event()

        def other():
            with exclusive(home / "ledger" / ".asking", "ask judge", 5):
                held.set()
                release.wait(60)

        thread = threading.Thread(target=other)
        thread.start()
        held.wait(60)
        try:
            error = error_of(run(spec(), given, "judge_replies"), "toy__judge_replies")
        finally:
            release.set()
            thread.join()
        assert error.cls_name == DatabaseLocked.__name__
        assert "holds it (ask judge)" in error.message
        assert stub.calls == before


def test_two_steps_at_once_ask_every_request_once(home, monkeypatch):
    monkeypatch.setattr(asking, "WAIT_S", 300.0)  # the second waits for the first, however long a busy machine takes
    with serving(judge, delay_s=0.05) as stub:
        given = resources_in(home, stub.base_url)
        run(spec(), given, UP_TO_REQUESTS, raise_on_error=True)
        results = []
        threads = [
            threading.Thread(target=lambda: results.append(run(spec(), given, "judge_replies").success))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == [True, True]
        assert set(stub.asked.values()) == {1}
        assert stub.calls == SUMMARIES + REQUESTS


def changed_judge(**llm):
    before = spec().judge.model_dump()
    return spec(judge={**before, "llm": {**before["llm"], **llm}})


def test_a_judge_that_was_changed_since_the_requests_were_written_is_asked_nothing(home):
    """Its answers would lie under the keys of the former judge."""
    with serving(judge) as stub:
        given = resources_in(home, stub.base_url)
        run(spec(), given, f"{UP_TO_REQUESTS} calibration_requests", raise_on_error=True)
        before = stub.calls
        longer = changed_judge(max_tokens=17)
        error = error_of(run(longer, given, "judge_replies"), "toy__judge_replies")
        assert error.cls_name == SettingsError.__name__
        assert "Nothing was asked of this one. Materialise toy/candidates again" in error.message
        # The same name, so the same system: only the key tells.
        error = error_of(run(longer, given, "calibration_replies"), "toy__calibration_replies")
        assert "Materialise toy/calibration_requests again" in error.message
        other = changed_judge(model="toy/other")
        error = error_of(run(other, given, "calibration_replies"), "toy__calibration_replies")
        assert "no system 'toy/judge [stub] default de_short'" in error.message
        assert "materialise calibration_requests again" in error.message
        assert stub.calls == before
        assert standing(home).state == SettingsError.__name__
        assert Ledger(home / "ledger").answered("judge").is_empty()
        run(longer, given, "candidates calibration_requests judge_replies calibration_replies", raise_on_error=True)
        assert Ledger(home / "ledger").answered("judge").len() == REQUESTS


def test_a_guideline_that_was_changed_since_the_requests_were_written_is_asked_nothing(home, monkeypatch):
    with serving(judge) as stub:
        given = resources_in(home, stub.base_url)
        run(spec(), given, UP_TO_REQUESTS, raise_on_error=True)
        before, guideline = stub.calls, load_guideline("de_short")
        reworded = replace(guideline, system=guideline.system + "\nSei streng.", hash="0" * 16)
        monkeypatch.setattr(systems, "load_guideline", lambda name: reworded)
        error = error_of(run(spec(), given, "judge_replies"), "toy__judge_replies")
        assert error.cls_name == SettingsError.__name__
        assert "toy/candidates again" in error.message
        assert stub.calls == before


def test_summaries_of_another_length_are_not_asked_under_the_former_keys(home):
    with serving(judge) as stub:
        given = resources_in(home, stub.base_url)
        run(spec(), given, "summary_requests", raise_on_error=True)
        shorter = spec(queries={**spec().queries.model_dump(), "summary_max_words": 11})
        error = error_of(run(shorter, given, "area_summary_replies"), "toy__area_summary_replies")
        assert "Materialise toy/summary_requests again" in error.message
        assert stub.calls == 0


def test_a_step_that_was_cut_off_and_finds_everything_answered_is_told_as_complete(home):
    with serving(judge) as stub:
        given = resources_in(home, stub.base_url)
        run(spec(), given, f"{UP_TO_REQUESTS} judge_replies", raise_on_error=True)
        # As a killed process leaves it: running, and none that goes on.
        left = standing(home)
        gone = replace(left.author, started="never")
        write_standing(
            progress_folder(home / "ledger"), replace(left, state="running", author=gone, done=5, open=REQUESTS - 5)
        )
        assert "was cut off" in told(standing(home))
        before = stub.calls
        run(spec(), given, "judge_replies", raise_on_error=True)
        assert stub.calls == before
    found = standing(home)
    assert (found.state, found.done, found.left) == ("complete", REQUESTS, 0)
    assert "is complete" in told(found)


def test_a_ledger_folder_where_no_lock_can_be_made_is_one_clear_error(home):
    """A folder in the place of the lock file: refused to root too."""
    with serving(judge) as stub:
        given = resources_in(home, stub.base_url)
        run(spec(), given, UP_TO_REQUESTS, raise_on_error=True)
        before = stub.calls
        (home / "ledger" / ".asking").unlink()
        (home / "ledger" / ".asking").mkdir()
        error = error_of(run(spec(), given, "judge_replies"), "toy__judge_replies")
        assert error.cls_name == LedgerError.__name__
        assert "nothing was asked" in error.message
        assert stub.calls == before


def test_costs_the_gateway_did_not_name_are_in_the_metadata_as_estimates(home):
    with serving(judge, cost=None) as stub:
        given = resources_in(home, stub.base_url, max_usd="1")
        result = run(spec(), given, f"{UP_TO_REQUESTS} judge_replies", raise_on_error=True)
    (made,) = result.asset_materializations_for_node("toy__judge_replies")
    # The stub lists 1e-7 USD a token and names 10 tokens in and 1 out: 12 requests of 11e-7.
    assert made.metadata["cost_estimate_usd"].value == "0.0000132"
    assert (made.metadata["cost_usd"].value, made.metadata["cost_unknown"].value) == ("0", REQUESTS)
    assert (made.metadata["rate_limited"].value, made.metadata["lowest_limit"].value) == (0, 2)


def test_a_cap_below_one_request_says_that_running_again_does_not_help(home):
    with serving(judge) as stub:
        run(spec(), resources_in(home, stub.base_url), UP_TO_REQUESTS, raise_on_error=True)
        before = stub.calls
        capped = resources_in(home, stub.base_url, max_usd="0.000000001")
        message = error_of(run(spec(), capped, "judge_replies"), "toy__judge_replies").message
        assert stub.calls == before
    assert "does not cover the most that one request can cost or needs: raise it" in message
    assert "Run again: only what is open is asked" not in message
