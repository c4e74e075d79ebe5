"""The training process as its asset sees it: heard live, failing in one clear way, and never left behind."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from tendril_assets.assets import training as training_assets_module
from tendril_assets.assets import training_process
from tendril_assets.assets.training import training_job
from tendril_assets.errors import TrainingError
from tendril_assets.training.display import told
from tendril_assets.training.standing import FAILED, FINISHED, STOPPED
from tendril_assets_tests.assets.toy_training import (
    COLLECTION,
    MODEL,
    TrainingHome,
    await_true,
    children_of,
    end_all,
    failure_of,
    is_running,
    toy_spec,
)
from tendril_assets_tests.training.scripted_fit import MEASURE, SECRET, install

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
SECRETS = ("TENDRIL_HASH_KEY", "TENDRIL_LLM_API_KEY", "AWS_SECRET_ACCESS_KEY", "DAGSTER_CLOUD_API_TOKEN", "PGPASSWORD")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that can be hashed as a base; the scripted processes load no model."""
    folder = tmp_path_factory.mktemp("base")
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "tokenizer.json").write_text("{}")
    return folder


@pytest.fixture
def home(tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch) -> TrainingHome:
    monkeypatch.setenv("PYTHONPATH", install(tmp_path / "scripted"))
    return TrainingHome(tmp_path, toy_spec(base))


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as found:
        yield found


def test_a_cut_of_the_base_is_told_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, instance: dg.DagsterInstance
) -> None:
    wide = tmp_path / "wide"
    wide.mkdir()
    (wide / "config.json").write_text(json.dumps({"hidden_size": 64}))
    (wide / "model.safetensors").write_bytes(b"weights")
    (wide / "tokenizer.json").write_text("{}")

    def train(*_: object) -> None:
        raise TrainingError("as far as this test goes")

    monkeypatch.setattr(training_assets_module, "train", train)
    result = TrainingHome(tmp_path, toy_spec(wide)).materialise(instance)
    (line,) = [line for line in lines_of(instance, result.run_id) if "cut" in line]
    assert line.startswith(f"{wide}: 64 dimensions of the base cut to 16; 16 is none of the widths in matryoshka")


def lines_of(instance: dg.DagsterInstance, run: str) -> list[str]:
    return [entry.user_message for entry in instance.all_logs(run) if entry.dagster_event is None]


def test_it_is_heard_while_it_runs_and_has_no_secret(
    home: TrainingHome, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOY_SCRIPT", "finish")
    for name in SECRETS:
        monkeypatch.setenv(name, SECRET)
    heard: list[str] = []

    def let_it_end() -> None:
        """Once the checkpoint, the observations and the progress file tell of it, and not before."""

        def is_heard() -> bool:
            runs = instance.get_runs()
            lines = lines_of(instance, runs[0].run_id) if runs else []
            standing = home.standing()
            if not any("checkpoint written" in line for line in lines) or standing is None or standing.step != 7:
                return False
            heard.append(told(standing, COLLECTION))
            return True

        if await_true(is_heard, 50):
            (home.folder / "go").touch()

    listener = threading.Thread(target=let_it_end)
    listener.start()
    result = home.materialise(instance)
    listener.join()
    assert result.success
    assert "toy/models/tiny is training at step 7 of 100 (process " in heard[0]
    assert re.search(r"last checkpoint step 4, 00:[0-5]\d ago", heard[0])  # within the 50 s it is listened for

    lines = lines_of(instance, result.run_id)
    assert [line for line in lines if line.startswith(f"step 4/100  loss 0.5000  lr 1.00e-05  {MEASURE}")]
    observed = [
        {name: value.value for name, value in event.asset_observation_data.asset_observation.metadata.items()}
        for event in result.all_events
        if event.event_type_value == "ASSET_OBSERVATION"
    ]
    assert {"step": 4, "best_step": 4, "best_value": 0.5, MEASURE: 0.5, "ndcg@10:area": 0.5} in observed
    assert any(values.get("loss") == 0.5 and values["tokens_per_s"] == 3400.0 for values in observed)

    (event,) = result.get_asset_materialization_events()
    metadata = event.step_materialization_data.materialization.metadata
    assert (metadata["gain"].value, metadata["reused"].value) == (0.25, False)
    assert (metadata["truncated_inputs"].value, metadata["stop_reason"].value) == (3, "early_stop")
    assert metadata["path"].value == str(home.folder / "kept")
    assert "| **4** | 0.5000 | 0.5000 |" in metadata["evaluations"].value
    assert metadata["curve"].value.count("data:image/svg+xml;base64,") == 2
    assert home.standing().state == FINISHED

    given = json.loads((home.folder / "result.json").read_text())["environment"]
    assert not set(SECRETS) & set(given)
    assert SECRET not in given.values()


FAILURES = {
    "gpu": (
        "TrainingOutOfMemory",
        "CUDA out of memory. Tried to allocate 20.00 MiB. What helps: models.tiny.gradient_c",
        False,
    ),
    "memory": (
        "TrainingOutOfMemory",
        "this machine's memory ran out (MemoryError). What helps: models.tiny.gradient",
        False,
    ),
    "nan": ("NonFiniteLoss", "the loss is nan at step 7, pairs q1 p1: lower the learning rate", False),
    "kill": ("TrainingCrashed", "ended by SIGKILL: most likely by the kernel because memory ran out (dmesg", True),
    "crash": ("TrainingCrashed", "ended by SIGSEGV: a library crashed", True),
    "bug": ("TrainingCrashed", "ValueError: nobody foresaw this", False),
}


@pytest.mark.parametrize("script", FAILURES)
def test_a_failure_is_told_once_with_what_to_do(
    home: TrainingHome, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setenv("TOY_SCRIPT", script)
    kind, words, may_come_again = FAILURES[script]
    failures: list[dg.Failure] = []  # Dagster keeps no word of another try in its events
    make = training_process.failure
    monkeypatch.setattr(training_process, "failure", lambda *given: failures.append(make(*given)) or failures[-1])
    result = home.materialise(instance)
    description, metadata = failure_of(result)
    assert description.startswith(f"tiny: {kind}: ")
    assert words in description
    assert (metadata["model"], metadata["error"]) == ("tiny", kind)
    assert (metadata["step"], metadata["resumes_from_step"]) == (7, 4)
    (event,) = [event for event in result.all_events if event.is_step_failure]
    assert event.step_failure_data.error.cause is None, "no chain of errors behind it"
    errors = [entry for entry in instance.all_logs(result.run_id) if entry.level >= 40 and entry.dagster_event is None]
    assert len(errors) == (script == "bug"), "a stack is logged for what nobody foresaw, once"
    if errors:
        assert errors[0].user_message.count("Traceback") == 1
        assert "in _bug" in errors[0].user_message
    standing = home.standing()
    assert standing.was_cut_off() if standing.state != FAILED else kind in told(standing, COLLECTION)
    assert "resumes from step 4" in told(standing, COLLECTION)
    assert [failure.allow_retries for failure in failures] == [may_come_again]


@pytest.mark.parametrize(("code", "signalled"), [(143, True), (-1, True), (1, False), (2, False)])
def test_only_a_signal_is_worth_another_try(home: TrainingHome, code: int, signalled: bool) -> None:
    """143: it ended in good order after a SIGTERM, as on a machine that is taken away."""
    job = training_job(home.spec, home.artifacts, MODEL)
    stop = training_process.stop_of_process(job, 1, code, ["12:00:00 stopped at step 7 of 100"])
    assert (stop.kind, stop.signal) == ("TrainingCrashed", (15 if code == 143 else 1) if signalled else None)
    assert training_process.failure(job, stop, []).allow_retries is signalled


def test_a_log_that_fails_ends_no_training(
    home: TrainingHome, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    heard: list[object] = []

    def locked(_watch: object, event: object) -> None:
        heard.append(event)
        raise OSError("database is locked")

    monkeypatch.setattr(training_assets_module.TrainingWatch, "__call__", locked)
    monkeypatch.setenv("TOY_SCRIPT", "finish")
    home.folder.mkdir(parents=True)
    (home.folder / "go").touch()
    assert home.materialise().success
    assert len(heard) > 5
    told = [line for line in capfd.readouterr().err.splitlines() if "could not be logged" in line]
    assert len(told) == 1
    assert "OSError: database is locked" in told[0]


def test_a_process_that_never_speaks_is_told_by_its_last_words(
    home: TrainingHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "dagster_pipes.py").write_text("raise ImportError('this installation is broken')")
    monkeypatch.setenv("PYTHONPATH", str(broken))
    description, metadata = failure_of(home.materialise())
    assert "status 1 before it could say why" in description
    assert description.endswith("ImportError: this installation is broken")
    assert "Traceback" in metadata["stderr"]


RUN = """
import sys
from pathlib import Path
from tendril_assets_tests.assets.toy_training import TrainingHome, toy_spec
home = TrainingHome(Path(sys.argv[1]), toy_spec(Path(sys.argv[2]), processes=int(sys.argv[3])))
sys.exit(0 if home.materialise().success else 1)
"""


def started(tmp_path: Path, base: Path, script: str, processes: int = 1) -> tuple[subprocess.Popen, list[int]]:
    """A process that materialises the model, and all those below it, once each of them trains."""
    environment = {**os.environ, "PYTHONPATH": install(tmp_path / "scripted"), "TOY_SCRIPT": script}
    command = [sys.executable, "-c", RUN, str(tmp_path), str(base), str(processes)]
    parent = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    folder = tmp_path / "artifacts" / COLLECTION / "models" / "tiny"
    notes = [folder / f"pid.{rank}" for rank in range(processes)]
    assert await_true(lambda: all(note.is_file() and note.read_text() for note in notes)), "it never began"
    below = children_of(parent.pid)
    assert {int(note.read_text()) for note in notes} <= set(below)
    assert len(below) == (1 if processes == 1 else processes + 1)
    return parent, below


@on_linux
def test_a_stopped_run_ends_it_at_once_and_keeps_the_checkpoint(tmp_path: Path, base: Path) -> None:
    parent, below = started(tmp_path, base, "wait")
    try:
        parent.terminate()
        parent.wait(30)
        assert not any(is_running(pid) for pid in below)
    finally:
        end_all([parent.pid, *below])
        parent.wait()
    standing = TrainingHome(tmp_path, toy_spec(base)).standing()
    assert standing.state == STOPPED
    assert "toy/models/tiny stopped at step 7 of 100" in told(standing, COLLECTION)
    assert told(standing, COLLECTION).endswith("Run again: it resumes from step 4")


@on_linux
def test_one_that_does_not_listen_is_killed(home: TrainingHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_SCRIPT", "deaf")
    monkeypatch.setattr(training_process, "STOP_SECONDS", 0.5)
    pid = home.folder / "pid.0"

    def interrupt() -> None:
        await_true(lambda: pid.is_file() and pid.read_text() != "", 60)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises((KeyboardInterrupt, dg.DagsterExecutionInterruptedError)):
        home.definitions().resolve_job_def("training").execute_in_process()
    thread.join()
    assert not is_running(int(pid.read_text()))
    assert home.standing().was_cut_off()


@on_linux
@pytest.mark.parametrize("processes", [1, 2])
def test_nothing_outlives_a_killed_run(tmp_path: Path, base: Path, processes: int) -> None:
    parent, below = started(tmp_path, base, "wait", processes)
    try:
        parent.kill()
        parent.wait()
        assert await_true(lambda: not any(is_running(pid) for pid in below), 20)
    finally:
        end_all(below)
    standing = TrainingHome(tmp_path, toy_spec(base)).standing()
    assert standing.was_cut_off()
    assert "was cut off at step 7 of 100 (process" in told(standing, COLLECTION)


@on_linux
def test_of_several_processes_the_one_that_failed_is_named(
    tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", install(tmp_path / "scripted"))
    monkeypatch.setenv("TOY_SCRIPT", "kill:1")
    home = TrainingHome(tmp_path, toy_spec(base, processes=2))
    description, metadata = failure_of(home.materialise())
    assert description.startswith(
        "tiny: TrainingCrashed: the training process was ended by SIGKILL: most likely by the "
    )
    assert description.endswith("(in training process 1)")
    assert (metadata["training_process"], metadata["resumes_from_step"]) == (1, 4)
    assert home.standing().state == FAILED
