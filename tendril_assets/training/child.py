"""The training process: ``python -m tendril_assets.training.child job.json``.

Started by the model's asset through Dagster Pipes, or by hand, on this machine or another that has the job's files. It
dies with its parent, so a stopped run leaves no process on the GPU; the next start resumes from the last checkpoint.

Where the model asks for several processes this one becomes their launcher (``training.launcher``), and each of them is
this program again. The first of them alone talks to Dagster and writes; of the others only an error is heard.
"""

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Generator
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import NoReturn

from dagster_pipes import PipesEnvVarParamsLoader, open_dagster_pipes

from tendril_assets.children import die_with_parent
from tendril_assets.errors import TrainingError
from tendril_assets.training.display import ending
from tendril_assets.training.environment import child_environment
from tendril_assets.training.events import Event, to_message
from tendril_assets.training.failures import stop_of
from tendril_assets.training.fit import fit
from tendril_assets.training.job import TrainingJob
from tendril_assets.training.ranks import announced_rank, is_of_a_group
from tendril_assets.training.standing import FAILED, FINISHED, STOPPED, Standing, Stop
from tendril_assets.training.telling import Teller, to_terminal, write_line

# torchrun gives each process a file for the error that ends it.
_ERROR_FILE = "TORCHELASTIC_ERROR_FILE"


def main(arguments: list[str]) -> int:
    """Exit status 0 after a result is in place, 1 after an error, 2 for a wrong call, 128 + signal after a stop."""
    if len(arguments) not in (1, 2):
        sys.stderr.write("usage: python -m tendril_assets.training.child JOB.json [PARENT]\n")
        return 2
    die_with_parent(int(arguments[1]) if len(arguments) == 2 else None)
    path = Path(arguments[0])
    try:
        job = TrainingJob.read(path)
    except TrainingError as error:
        write_line(f"{type(error).__name__}: {error}")
        return 1
    rank = announced_rank()
    if rank is None:
        for name in filter(is_of_a_group, list(os.environ)):
            del os.environ[name]
        os.environ.update(child_environment(os.environ, job.spec.processes))
    if rank is None and job.spec.processes > 1:
        os.environ.setdefault("LOGLEVEL", "CRITICAL")  # some of torchrun's loggers take it on import
        from tendril_assets.training.launcher import launch

        return launch(path, job)
    with _stoppable() as signalled:
        if rank:
            return _train(job, lambda _event: None, lambda *_: None, signalled, rank)
        if PipesEnvVarParamsLoader().is_dagster_pipes_process():
            # Nothing is raised through it: what ends training is told once, by the progress file.
            with open_dagster_pipes() as pipes:
                teller = Teller(job, lambda event: pipes.report_custom_message(to_message(event)), pipes.run_id)
                return _train(job, teller, teller.end, signalled, rank)
        with to_terminal() as (pass_on, show):
            teller = Teller(job, pass_on)
            code = _train(job, _shown(teller, show), teller.end, signalled, rank)
    stop = teller.standing.stopped_by
    if rank is None:  # of several, the launcher says it
        if stop is not None:
            write_line((stop.stack or "") + str(stop))
        elif teller.standing.state == STOPPED:
            write_line(ending(teller.standing))
    return code


def _shown(teller: Teller, show: Callable[[Standing], None]) -> Callable[[Event], None]:
    def report(event: Event) -> None:
        teller(event)
        show(teller.standing)

    return report


def _train(
    job: TrainingJob,
    report: Callable[[Event], None],
    end: Callable[[str, Stop | None], None],
    signalled: list[int],
    rank: int | None,
) -> int:
    try:
        fit(job, report)
    except KeyboardInterrupt:
        end(STOPPED, None)
        return 128 + (signalled[0] if signalled else signal.SIGINT)
    except Exception as error:
        stop = stop_of(error, job, rank)
        if rank is None:
            end(FAILED, stop)
        else:
            _leave_word(stop)
        return 1
    end(FINISHED, None)
    return 0


@contextlib.contextmanager
def _stoppable() -> Generator[list[int], None, None]:
    """Have SIGTERM and SIGINT raise KeyboardInterrupt once; gives the list that the signal is noted in."""
    signalled: list[int] = []

    def stop(number: int, _frame: FrameType | None) -> None:
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, signal.SIG_IGN)
        signalled.append(number)
        raise KeyboardInterrupt

    former = {each: signal.signal(each, stop) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield signalled
    finally:
        if not signalled:
            for each, handler in former.items():
                signal.signal(each, handler)


def _leave_word(stop: Stop) -> None:
    """Write an error where the launcher looks for it, in torchrun's own shape (``ErrorHandler.record_exception``)."""
    message = {
        "message": str(stop),
        "extraInfo": {"py_callstack": stop.stack or "", "timestamp": str(int(time.time())), "stop": asdict(stop)},
    }
    Path(os.environ[_ERROR_FILE]).write_text(json.dumps({"message": message}), encoding="utf-8")


def _leave(code: int) -> NoReturn:
    """End this process. One of several ends at once after an error: Python's own end would take down the process group,
    which may wait for ever for processes that no longer answer (NCCL), and the launcher ends those when this one is gone.
    """
    if code and announced_rank() is not None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    _leave(main(sys.argv[1:]))
