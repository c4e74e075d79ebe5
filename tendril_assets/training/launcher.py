"""Several training processes on this machine, by torchrun's agent inside this process. Importing it loads torch.

The agent runs here and not as a program of its own, so that it dies with whoever started this process, on every system,
and takes its workers along. It starts ``training.child`` once per process, hands each its rank, and ends all when one
ends in error; then the error nearest to the cause is the one that is told.
"""

import contextlib
import logging
import os
import tempfile
from dataclasses import replace
from pathlib import Path

import torch
from torch.distributed import run as torchrun
from torch.distributed.elastic.multiprocessing import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure

from tendril_assets.errors import FolderInUse, TrainingCrashed, TrainingError
from tendril_assets.training.display import ending
from tendril_assets.training.failures import killed, stop_of, weight
from tendril_assets.training.job import TrainingJob
from tendril_assets.training.standing import FAILED, STOPPED, Standing, Stop, read_standing, write_standing
from tendril_assets.training.telling import write_line

# Between asking the workers to end and killing them.
SHUTDOWN_SECONDS = 5


def launch(path: Path, job: TrainingJob) -> int:
    """Train ``job``, which lies at ``path``, with ``job.spec.processes`` processes; returns the exit status."""
    try:
        require_devices(job)
    except TrainingError as error:
        return _failed(job, stop_of(error, job))
    # The agent's own account of each process says nothing that is not told here.
    logging.getLogger("torch.distributed.elastic").setLevel(os.environ.get("LOGLEVEL", "CRITICAL"))
    with tempfile.TemporaryDirectory(prefix="training-") as logs:
        try:
            torchrun.run(torchrun.parse_args(agent_arguments(path, job, Path(logs))))
        except ChildFailedError as error:
            return _failed(job, cause_of(error.failures, job.model))
        except SignalException as error:
            standing = _standing(job)
            # The first worker has said so itself, unless it had to be killed.
            if standing.state != STOPPED:
                standing = standing.ended(STOPPED)
                _write(job, standing)
            write_line(ending(standing))
            return 128 + error.sigval
    return 0


def require_devices(job: TrainingJob) -> None:
    """Raise TrainingError where there are GPUs, but fewer than processes. Without GPUs the processors are shared."""
    found = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if 0 < found < job.spec.processes:
        raise TrainingError(
            f"models.{job.model}.processes is {job.spec.processes}, and this machine has {found} GPU{'s' * (found > 1)} "
            f"(CUDA_VISIBLE_DEVICES={os.environ.get('CUDA_VISIBLE_DEVICES', 'unset')}): set it to {found}"
        )


def agent_arguments(path: Path, job: TrainingJob, logs: Path) -> list[str]:
    """What follows ``python -m torch.distributed.run``; the workers' parent is this process."""
    return [
        "--standalone",
        "--nproc-per-node",
        str(job.spec.processes),
        "--shutdown-timeout",
        str(SHUTDOWN_SECONDS),
        "--log-dir",
        str(logs),
        "-m",
        "tendril_assets.training.child",
        str(path),
        str(os.getpid()),
    ]


def cause_of(failures: dict[int, ProcessFailure], model: str) -> Stop:
    """The failure that the others follow from: nearest to the cause, of those the earliest."""

    def told(rank: int) -> tuple[int, float, Stop]:
        failure = failures[rank]
        number = max(0, -failure.exitcode)
        stop = _recorded(failure, rank)
        if stop is None:
            error = killed(number, model) if number else _silent(failure)
            stop = Stop(type(error).__name__, str(error), rank=rank, signal=number or None)
        return weight(stop, number), failure.timestamp, stop

    return min((told(rank) for rank in failures), key=lambda entry: entry[:2])[2]


def _silent(failure: ProcessFailure) -> TrainingCrashed:
    return TrainingCrashed(f"a training process ended with status {failure.exitcode} and did not say why")


def _recorded(failure: ProcessFailure, rank: int) -> Stop | None:
    message = failure.error_file_data["message"]
    stop = message["extraInfo"].get("stop") if isinstance(message, dict) else None
    return None if stop is None else replace(Stop(**stop), rank=rank)


def _failed(job: TrainingJob, stop: Stop) -> int:
    if stop.kind != FolderInUse.__name__:  # else the file belongs to the training that runs there
        _write(job, _standing(job).ended(FAILED, stop))
    write_line((stop.stack or "") + str(stop))
    return 1


def _write(job: TrainingJob, standing: Standing) -> None:
    with contextlib.suppress(OSError):  # what ended training is told all the same
        write_standing(job.folder, standing)


def _standing(job: TrainingJob) -> Standing:
    """Where the first worker left it, or the beginning where none got so far."""
    found = read_standing(job.folder)
    begins = Standing.beginning(job, None, found)
    return found if found is not None and found.config_hash == begins.config_hash else begins
