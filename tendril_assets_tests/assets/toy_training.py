"""A collection of one toy model whose hand-over files lie there: what its asset needs, and nothing before it."""

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import dagster as dg

from tendril_assets.assets.examples import exchange_files
from tendril_assets.assets.training import training_assets
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.spec import CollectionSpec
from tendril_assets.training.standing import Standing, read_standing
from tendril_assets_tests.training.toy import DIMENSIONS, SUBSETS, toy_exchange

COLLECTION, MODEL = "toy", "tiny"


def toy_spec(encoder: Path, *, processes: int = 1, **recipe: object) -> CollectionSpec:
    model = {
        "base": str(encoder),
        "dimensions": DIMENSIONS,
        "max_length": 32,
        "batch": 4,
        "query_prompt": "query: ",
        "document_prompt": "passage: ",
        "licence": "MIT",
        "processes": processes,
    }
    return CollectionSpec.model_validate(
        {
            "collection": COLLECTION,
            "group": "project",
            "subsets": list(SUBSETS),
            "queries": {"summary": {"model": "toy/writer"}},
            "judge": {"llm": {"model": "toy/judge"}},
            "training": {"learning_rate": 5e-3, "effective_batch": 8, "evaluate_every": 4, "max_epochs": 1} | recipe,
            "models": {MODEL: model},
            "release": {"name": "toy", "version": "0.1.0", "title": "Toy", "licence_name": "none"},
        }
    )


class TrainingHome:
    """``artifacts`` below ``folder`` with hand-over files, the model's ``folder``, and its asset."""

    def __init__(self, folder: Path, spec: CollectionSpec, examples: int = 44) -> None:
        self.spec = spec
        self.artifacts = Artifacts(root=str(folder / "artifacts"))
        self.folder = self.artifacts.folder(COLLECTION, "models", MODEL)
        for name, path in exchange_files(spec, self.artifacts).items():
            path.parent.mkdir(parents=True, exist_ok=True)
            toy_exchange(examples)._asdict()[name].write_parquet(path)

    def definitions(self) -> dg.Definitions:
        job = dg.define_asset_job(
            "training", selection=dg.AssetSelection.assets(dg.AssetKey([COLLECTION, "models", MODEL]))
        )
        return dg.Definitions(
            assets=training_assets(self.spec).assets[:1], jobs=[job], resources={"artifacts": self.artifacts}
        )

    def materialise(self, instance: dg.DagsterInstance | None = None) -> dg.ExecuteInProcessResult:
        job = self.definitions().resolve_job_def("training")
        return job.execute_in_process(instance=instance, raise_on_error=False)

    def standing(self) -> Standing | None:
        return read_standing(self.folder)


def failure_of(result: dg.ExecuteInProcessResult) -> tuple[str, dict[str, object]]:
    """Description and metadata of the one failure of the run."""
    (event,) = [event for event in result.all_events if event.is_step_failure]
    data = event.step_failure_data.user_failure_data
    assert data is not None, event.step_failure_data.error
    return data.description, {name: value.value for name, value in data.metadata.items()}


def is_running(pid: int) -> bool:
    """False too for a process that has ended and waits to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def await_true(condition: Callable[[], bool], seconds: float = 120.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def children_of(pid: int) -> list[int]:
    """Processes below ``pid``, the nearest first."""
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            for child in map(int, path.read_text().split()):
                found += [child, *children_of(child)]
    return found


def end_all(pids: list[int]) -> None:
    """Kill those of a test's own processes that are still there."""
    for pid in pids:
        if is_running(pid):
            os.kill(pid, signal.SIGKILL)
