"""A stand-in for ``training.fit`` that reports like it and then does what the variable TOY_SCRIPT says, without torch.

``install`` writes a folder for PYTHONPATH that puts it in place in every process started with it. A script may name the
one process of several that it is for: ``kill:1``; the others wait.
"""

import json
import os
import resource
import signal
import time
from pathlib import Path
from typing import NoReturn

from tendril_assets.errors import NonFiniteLoss
from tendril_assets.training.events import Began, CheckpointSaved, Evaluated, Note, Report, StepDone
from tendril_assets.training.job import TrainingJob
from tendril_assets.training.ranks import announced_rank

MEASURE = "balanced_ndcg@10"
SECRET = "correct horse battery staple"
_REPOSITORY = Path(__file__).resolve().parents[2]


class OutOfMemoryError(RuntimeError):
    """Named as torch's, which is one too."""


def install(folder: Path) -> str:
    """The PYTHONPATH of a process that is to be scripted."""
    folder.mkdir(parents=True)
    (folder / "sitecustomize.py").write_text(
        "import tendril_assets.training.fit as module\n"
        "from tendril_assets_tests.training.scripted_fit import scripted\n"
        "module.fit = scripted\n"
    )
    return os.pathsep.join((str(folder), str(_REPOSITORY)))


def evaluated(step: int, value: float) -> Evaluated:
    return Evaluated(step, 100, MEASURE, value, {MEASURE: value, "ndcg@10:area": value}, step, value)


def step_done(step: int) -> StepDone:
    return StepDone(step, 100, 0.5, 1e-5, 12.0, 3400.0)


def scripted(job: TrainingJob, report: Report) -> dict:
    rank = announced_rank() or 0
    if rank == 0:
        for event in (
            Note("tiny: loading"),
            Began(100, "cpu", "fp32", job.spec.processes),
            evaluated(0, 0.25),
            step_done(1),
            step_done(4),
            evaluated(4, 0.5),
            CheckpointSaved(4, 100, 1000),
        ):
            report(event)
        time.sleep(0.6)  # the progress file is written twice a second
        report(step_done(7))
    _await(job.folder / "pid.0", rank)
    Path(job.folder / f"pid.{rank}").write_text(str(os.getpid()))
    name, _, whose = os.environ["TOY_SCRIPT"].partition(":")
    if whose and int(whose) != rank:
        name = "wait"
    return {
        "wait": _wait,
        "deaf": _deaf,
        "kill": lambda _job: os.kill(os.getpid(), signal.SIGKILL),
        "crash": lambda _job: os.kill(os.getpid(), signal.SIGSEGV),
        "gpu": _gpu,
        "memory": _memory,
        "nan": _nan,
        "bug": _bug,
        "finish": _finish,
    }[name](job)


def _await(note: Path, rank: int) -> None:
    """The others act once the first has reported."""
    deadline = time.monotonic() + 60
    while rank and not note.exists() and time.monotonic() < deadline:
        time.sleep(0.05)


def _wait(_job: TrainingJob) -> NoReturn:
    time.sleep(120)
    raise AssertionError("nobody ended it")


def _deaf(job: TrainingJob) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _wait(job)


def _gpu(_job: TrainingJob) -> NoReturn:
    raise OutOfMemoryError(
        "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 79.15 GiB of which 5.25 MiB is "
        "free. If reserved but unallocated memory is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True."
    )


def _memory(_job: TrainingJob) -> NoReturn:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 2**26, used + 2**26))
    raise AssertionError(len(bytearray(2**30)))


def _nan(_job: TrainingJob) -> NoReturn:
    raise NonFiniteLoss("the loss is nan at step 7, pairs q1 p1: lower the learning rate", step=7)


def _bug(_job: TrainingJob) -> NoReturn:
    raise ValueError("nobody foresaw this")


def _finish(job: TrainingJob) -> dict:
    """Waits for the file ``go``, for at most 60 s; leaves a result and the names of its environment."""
    deadline = time.monotonic() + 60
    while not (job.folder / "go").exists():
        if time.monotonic() > deadline:
            raise AssertionError("its events were not heard while it ran")
        time.sleep(0.05)
    result = {
        "weights_sha256": "ab" * 32,
        "data_hash": "cd" * 32,
        "best_step": 4,
        "best_value": 0.5,
        "base_value": 0.25,
        "steps": 100,
        "seconds": 90.0,
        "truncated_inputs": 3,
        "stop_reason": "early_stop",
        "curve": [[0, MEASURE, 0.25], [1, "loss", 0.9], [4, "loss", 0.5], [4, MEASURE, 0.5]],
        "environment": dict(os.environ),
    }
    (job.folder / "result.json").write_text(json.dumps(result))
    return result
