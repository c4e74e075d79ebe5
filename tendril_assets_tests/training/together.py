"""Trainings of two processes, for tests: ``python -m tendril_assets_tests.training.together PLAN.json``.

torch is loaded once; the processes of each training are forked from here with the environment that torchrun gives them.
(polars' threads do not outlive a fork, so nothing here touches it first.) The plan is a list of ``{"job", "fault"}``:

* ``killed``: the first process kills itself (SIGKILL) once the checkpoint of step 5 is whole;
* ``nan``: the loss of the second process's third micro-batch is not a number;
* ``memory``: the second process finds no room for its first loss;
* ``none``.

The last line printed is JSON: for each training what became of its processes, ``{"result": ...}``, ``{"error": type,
"text": ..., "pairs": ...}`` or ``{"exit": code}``.
"""

import json
import multiprocessing
import os
import signal
import socket
import sys
from multiprocessing.connection import Connection
from pathlib import Path

from tendril_assets.training import loss as loss_module
from tendril_assets.training import trainer as _loaded_before_forking  # noqa: F401
from tendril_assets.training.events import CheckpointSaved, Event
from tendril_assets.training.fit import fit
from tendril_assets.training.job import TrainingJob

SIZE = 2
_SECONDS = 200


def _break(fault: str, rank: int) -> None:
    honest, calls = loss_module.info_nce, []

    def broken(*args: object):
        calls.append(1)
        if fault == "memory":
            raise MemoryError("no room for this")
        return honest(*args) * (float("nan") if len(calls) == 3 else 1.0)

    if fault in ("nan", "memory") and rank == 1:
        loss_module.info_nce = broken


def _work(path: str, fault: str, rank: int, port: int, answer: Connection) -> None:
    ranks = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": SIZE, "LOCAL_WORLD_SIZE": SIZE}
    os.environ.update({name: str(value) for name, value in ranks.items()})
    os.environ.update({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "TORCHELASTIC_RUN_ID": "together"})
    _break(fault, rank)

    def report(event: Event) -> None:
        if fault == "killed" and isinstance(event, CheckpointSaved) and event.step == 5:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        answer.send({"result": fit(TrainingJob.read(Path(path)), report)})
    except Exception as error:
        answer.send({"error": type(error).__name__, "text": str(error), "pairs": getattr(error, "pairs", None)})


def train(path: str, fault: str) -> list[dict]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    forks = multiprocessing.get_context("fork")
    pipes = [forks.Pipe(duplex=False) for _ in range(SIZE)]
    processes = [forks.Process(target=_work, args=(path, fault, rank, port, pipes[rank][1])) for rank in range(SIZE)]
    for process, (_, sender) in zip(processes, pipes, strict=True):
        process.start()
        sender.close()
    answers = []
    for process, (receiver, _) in zip(processes, pipes, strict=True):
        try:
            answers.append(receiver.recv() if receiver.poll(_SECONDS) else {"error": "hangs"})
        except EOFError:
            process.join()
            answers.append({"exit": process.exitcode})
    for process in processes:
        process.join(10)
        process.kill()
    return answers


if __name__ == "__main__":
    plan = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    sys.stdout.write(json.dumps([train(each["job"], each["fault"]) for each in plan]) + "\n")
