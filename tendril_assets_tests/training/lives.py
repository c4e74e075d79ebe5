"""Trainings that are killed again and again, for tests: ``python -m tendril_assets_tests.training.lives PLANS.json``.

A plan has a job and moments. torch is loaded once; every life of a training is a forked process, which kills itself
(SIGKILL) at its moment:

* ``{"saved": n}``: when the checkpoint of step n is whole; with ``"flip": file`` a byte of that file of the run folder
  is changed after the process's end;
* ``{"operation": share}``: at a file operation in the model's folder, as a share of those that an unbroken run makes;
* ``null``: never.

Each life finds the folder of the former one moved. The last line printed is JSON, per plan: the unbroken run, and the
lives with how they ended, what they told and left, the last one with its result.
"""

import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

from tendril_assets.training.events import CheckpointSaved, Event
from tendril_assets.training.fit import fit
from tendril_assets.training.job import TrainingJob


def end_here() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def count_operations(folder: Path, at: int | None = None) -> list[int]:
    """Counts file operations below ``folder``, as Python's audit events tell them; ends the process before number ``at``.

    Writes inside torch and safetensors raise no event; they lie between those that are seen.
    """
    seen = [0]
    below = str(folder)

    def hook(name: str, arguments: tuple) -> None:
        if name.startswith(("open", "os.", "shutil.")) and any(below in str(part) for part in arguments[:2]):
            seen[0] += 1
            if seen[0] == at:
                end_here()

    sys.addaudithook(hook)
    return seen


def live(job: TrainingJob, moment: dict | None, operations: int, answer: Path) -> None:
    """One life, in a process of its own."""
    lines: list[str] = []

    def report(event: Event) -> None:
        lines.append(str(event))
        answer.write_text(json.dumps({"lines": lines}))
        if moment and isinstance(event, CheckpointSaved) and event.step == moment.get("saved"):
            end_here()

    moment = moment or {}
    at = max(1, round(moment["operation"] * operations)) if "operation" in moment else None
    seen = count_operations(job.folder, at)
    result = fit(job, report)
    told = {"result": result, "lines": lines, "operations": seen[0]}
    answer.write_text(json.dumps(told))


def in_own_process(job: TrainingJob, moment: dict | None, operations: int, folder: Path) -> dict:
    answer = folder / "answer.json"
    answer.write_text("{}")
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            live(job, moment, operations, answer)
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    told = json.loads(answer.read_text() or "{}")  # a process that was killed while it wrote leaves nothing
    return {"killed": os.WIFSIGNALED(status), "status": status, "lines": [], **told}


def change_a_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def all_lives(job: TrainingJob, moments: list[dict], folder: Path) -> dict:
    folder.mkdir()
    unbroken = in_own_process(replace(job, folder=folder / "unbroken" / "tiny"), None, 0, folder)
    lives = []
    place = folder / "life-0"
    for number, moment in enumerate([*moments, None]):
        moved = folder / f"life-{number + 1}"
        if place.exists():
            place.rename(moved)
        place = moved
        # The model keeps its name: only what is above it moves.
        told = in_own_process(replace(job, folder=place / "tiny"), moment, unbroken["operations"], folder)
        for file in place.glob(f"tiny/runs/*/{moment['flip']}") if moment and "flip" in moment else ():
            change_a_byte(file)
        names = sorted(path.name for path in place.glob("tiny/runs/*/*"))
        lives.append({"moment": moment, "left": names, **told})
        if not told["killed"]:
            break
    return {"unbroken": unbroken, "lives": lives}


def main(plan_file: str) -> None:
    import torch

    from tendril_assets.training import trainer  # noqa: F401  loaded before the forks

    torch.set_num_threads(1)
    folder = Path(plan_file).parent
    told = {
        name: all_lives(TrainingJob.read(Path(plan["job"])), plan["moments"], folder / f"{name} lives")
        for name, plan in json.loads(Path(plan_file).read_text()).items()
    }
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
