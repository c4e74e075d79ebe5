"""Checkpoints are whole or not used; what is wrong is told; what is kept is bounded."""

import errno
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tendril_assets.errors import CheckpointMismatch, TrainingError
from tendril_assets.training import whole
from tendril_assets.training.checkpoints import Progress, RunFolder
from tendril_assets.training.whole import MARKER, seal
from tendril_assets_tests.training.toy import said

STATE = ("model.safetensors", "optimizer.pt", "scheduler.pt", "trainer_state.json", "rng_state.pth")
VERSIONS = {"torch": "2.13.0", "transformers": "5.24.0"}


def run_folder(tmp_path: Path, config: str = "c" * 64, data: str = "d" * 64) -> RunFolder:
    return RunFolder(tmp_path / "model", config, data, VERSIONS)


def save(run: RunFolder, step: int, best: int) -> Progress:
    """What training leaves behind at an evaluation step."""
    progress = Progress(run.config_hash, run.data_hash, step, best, 0.5, 0.4, 12.5, "here", [(step, "loss", 1 / 3)])
    if not run.best(best).exists():
        run.keep_best(replace(progress, step=0), lambda folder: write(Path(folder), STATE[:1]))
    run.checkpoint(step).mkdir()
    write(run.checkpoint(step), STATE)
    run.mark(run.checkpoint(step), progress)
    return progress


def write(folder: Path, names: tuple[str, ...]) -> None:
    for name in names:
        (folder / name).write_text(f"{name} of {folder.name}")


def resume(run: RunFolder, processes: int = 1) -> tuple[int | None, list[str]]:
    """The step that the run resumes from, and what is told."""
    lines: list[str] = []
    point = run.resume_point(said(lines), processes)
    return (None if point is None else point[1].step), lines


def names(run: RunFolder) -> list[str]:
    return sorted(path.name for path in run.path.iterdir())


def test_last_whole_checkpoint_comes_back_as_it_was(tmp_path: Path) -> None:
    run = run_folder(tmp_path)
    save(run, 56, 56)
    progress = save(run, 112, 56)
    lines: list[str] = []
    assert run.resume_point(said(lines)) == (run.checkpoint(112), progress)
    assert lines == []
    assert names(run) == ["best-56", "checkpoint-112", "checkpoint-56"]


def test_numbers_are_ordered_as_numbers(tmp_path: Path) -> None:
    run = run_folder(tmp_path)
    for step in (56, 112, 8):
        save(run, step, step)
    assert resume(run)[0] == 112


def test_nothing_there(tmp_path: Path) -> None:
    assert resume(run_folder(tmp_path)) == (None, [])


def test_checkpoint_that_was_cut_off_is_deleted_and_told(tmp_path: Path) -> None:
    run = run_folder(tmp_path)
    save(run, 56, 56)
    run.checkpoint(112).mkdir()
    write(run.checkpoint(112), STATE[:1])
    (run.path / "best-112.partial").mkdir()
    (run.path / "checkpoint-notes").mkdir()
    step, lines = resume(run)
    assert step == 56
    assert lines == [
        "checkpoint-112 is not whole and is deleted: complete.json is missing: it was cut off while it was written"
    ]
    assert names(run) == ["best-56", "checkpoint-56", "checkpoint-notes"]


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        (lambda folder: (folder / "optimizer.pt").unlink(), "optimizer.pt is missing"),
        (lambda folder: (folder / "optimizer.pt").write_text("opt"), "optimizer.pt has 3 bytes"),
        (lambda folder: (folder / "rng_state.pth").write_text("rng_state.pth of checkpoint-113"), "has other bytes"),
        (lambda folder: (folder / MARKER).write_text("{"), "complete.json cannot be read"),
    ],
)
def test_damaged_checkpoint_is_set_aside_and_the_former_one_used(
    tmp_path: Path, damage: Callable[[Path], object], fault: str
) -> None:
    run = run_folder(tmp_path)
    save(run, 56, 56)
    save(run, 112, 112)
    damage(run.checkpoint(112))
    step, lines = resume(run)
    assert step == 56
    assert len(lines) == 1
    assert fault in lines[0]
    assert lines[0].endswith(f"It is kept as {run.path / 'damaged-checkpoint-112'}")
    # the best weights of step 112 come again with training
    assert names(run) == ["best-56", "checkpoint-56", "damaged-checkpoint-112"]


def test_damaged_best_weights_lead_to_the_former_checkpoint(tmp_path: Path) -> None:
    run = run_folder(tmp_path)
    save(run, 56, 56)
    save(run, 112, 112)
    (run.best(112) / "model.safetensors").write_text("other")
    step, lines = resume(run)
    assert step == 56
    assert "checkpoint-112 is whole, but not its best weights: best-112: model.safetensors" in lines[0]
    assert "best-112 is not whole and is not used: model.safetensors has 5 bytes" in lines[1]
    assert names(run) == ["best-56", "checkpoint-56", "damaged-best-112"]


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_without_any_usable_checkpoint_people_are_asked_and_nothing_is_changed(tmp_path: Path) -> None:
    run = run_folder(tmp_path)
    save(run, 56, 56)
    save(run, 112, 56)
    shutil.rmtree(run.best(56))
    (run.checkpoint(112) / "scheduler.pt").unlink()
    run.checkpoint(168).mkdir()  # cut off, which alone would be no reason to ask
    before = content(run.path)
    for _ in range(2):
        with pytest.raises(TrainingError) as caught:
            resume(run)
        assert str(caught.value) == (
            f"no checkpoint in {run.path} can be used: checkpoint-112 is not whole: scheduler.pt is missing; checkpoint-56 is "
            "whole, but not its best weights: best-56: is missing. Nothing was changed: put back what is missing or damaged, "
            f"or delete {run.path} to begin anew"
        )
        assert content(run.path) == before


def test_where_no_checkpoint_was_ever_finished_training_begins_anew(tmp_path: Path) -> None:
    run = run_folder(tmp_path)
    run.checkpoint(56).mkdir(parents=True)
    write(run.checkpoint(56), STATE)
    step, lines = resume(run)
    assert step is None
    assert lines[-1] == "no checkpoint was ever finished: training begins anew"
    assert names(run) == []


def test_several_checkpoints_without_a_marker_are_not_taken_for_a_kill(tmp_path: Path) -> None:
    run = run_folder(tmp_path)
    for step in (56, 112):
        save(run, step, step)
        (run.checkpoint(step) / MARKER).unlink()
    before = content(run.path)
    with pytest.raises(
        TrainingError, match=r"checkpoint-112, checkpoint-56 in .* have no complete\.json.* to begin anew"
    ):
        resume(run)
    assert content(run.path) == before


@pytest.mark.parametrize("steps", [(8,), (4, 8), (8, 12)])
@pytest.mark.parametrize("kind", ["checkpoint", "best"])
def test_a_renamed_folder_is_refused_before_anything_is_deleted(
    tmp_path: Path, kind: str, steps: tuple[int, ...]
) -> None:
    run = run_folder(tmp_path)
    for step in steps:
        save(run, step, 8)
    if kind == "best":
        save(run, 2, 2)
        shutil.rmtree(run.best(8))
    source = run.checkpoint(8) if kind == "checkpoint" else run.best(2)
    source.rename(run.checkpoint(10) if kind == "checkpoint" else run.best(8))
    before = content(run.path)
    with pytest.raises(CheckpointMismatch, match=rf"{kind}-\d+ was written as {kind}-\d+: "):
        resume(run)
    assert content(run.path) == before


@pytest.mark.parametrize("lacking", ["versions", "batch", "processes", "progress", "best_measured_on", "step"])
@pytest.mark.parametrize("at", [56, 112])
def test_a_marker_that_lacks_a_field_is_of_another_version(tmp_path: Path, lacking: str, at: int) -> None:
    run = run_folder(tmp_path)
    for step in (56, 112):
        save(run, step, step)
    written = json.loads((run.checkpoint(at) / MARKER).read_text())["content"]
    (written if lacking in written else written["progress"]).pop(lacking)
    seal(run.checkpoint(at), written)
    before = content(run.path)
    with pytest.raises(CheckpointMismatch, match=r"another version"):
        resume(run)
    assert content(run.path) == before


def test_damage_that_was_found_earlier_is_never_deleted_while_it_may_be_wanted(tmp_path: Path) -> None:
    run = run_folder(tmp_path)
    (run.path / "damaged-checkpoint-112").mkdir(parents=True)
    save(run, 56, 56)
    save(run, 112, 56)
    (run.checkpoint(112) / "scheduler.pt").unlink()
    step, lines = resume(run)
    assert step == 56
    assert names(run) == ["best-56", "checkpoint-56", "damaged-checkpoint-112", "damaged-checkpoint-112-2"]
    run.discard(said(lines))
    assert lines[-1] == (
        "training is over, its checkpoints are deleted, with them damaged-checkpoint-112, damaged-checkpoint-112-2"
    )
    assert not run.path.parent.exists()


@pytest.mark.parametrize("name", ["._model.safetensors", "adapter_config.json", "pytorch_model.bin", "modeling.py"])
def test_a_stray_file_costs_no_checkpoint_and_is_not_loaded(tmp_path: Path, name: str) -> None:
    """As a copy by SMB leaves one beside each file."""
    run = run_folder(tmp_path)
    save(run, 56, 56)
    progress = save(run, 112, 56)
    for folder in (run.checkpoint(56), run.checkpoint(112), run.best(56)):
        (folder / name).write_text("stray")
    lines: list[str] = []
    assert run.resume_point(said(lines)) == (run.checkpoint(112), progress)
    assert names(run) == ["best-56", "checkpoint-112", "checkpoint-56"]
    assert lines == [
        f"{run.path / folder / name} was not written with it and is not loaded: renamed to {name}.foreign"
        for folder in ("checkpoint-112", "best-56")
    ]
    assert not (run.best(56) / name).exists()


def test_a_checkpoint_of_another_format_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_folder(tmp_path)
    save(run, 56, 56)
    monkeypatch.setattr("tendril_assets.training.whole._FORMAT", 2)
    save(run, 112, 56)
    monkeypatch.undo()
    before = content(run.path)
    with pytest.raises(CheckpointMismatch, match=r"checkpoint-112 was written by another version.*format 2"):
        resume(run)
    assert content(run.path) == before


def test_a_field_that_this_version_does_not_know_is_of_another_version(tmp_path: Path) -> None:
    run = run_folder(tmp_path)
    save(run, 56, 56)
    marker = json.loads((run.checkpoint(56) / MARKER).read_text())
    marker["content"]["progress"]["unheard_of"] = 1
    seal(run.checkpoint(56), marker["content"])
    with pytest.raises(CheckpointMismatch, match=r"another version of this product.*unheard_of"):
        resume(run)
    assert names(run) == ["best-56", "checkpoint-56"]


@pytest.mark.parametrize("unreadable", [MARKER, "optimizer.pt"])
def test_a_disk_that_does_not_give_a_file_out_is_not_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unreadable: str
) -> None:
    run = run_folder(tmp_path)
    save(run, 56, 56)
    save(run, 112, 56)
    before = content(run.path)
    read_text, file_hash = Path.read_text, whole.file_hash

    def failing(path: Path) -> None:
        if path == run.checkpoint(112) / unreadable:
            raise OSError(errno.EIO, "Input/output error", str(path))

    with monkeypatch.context() as broken:
        broken.setattr(Path, "read_text", lambda path, **how: failing(path) or read_text(path, **how))
        broken.setattr(whole, "file_hash", lambda path: failing(path) or file_hash(path))
        with pytest.raises(TrainingError, match=r"checkpoint-112 cannot be read: .*Input/output error"):
            resume(run)
    assert content(run.path) == before


@pytest.mark.parametrize("other", [{"config": "e" * 64}, {"data": "e" * 64}])
@pytest.mark.parametrize("kind", ["checkpoint-56", "best-56"])
def test_checkpoint_of_another_run_is_refused(tmp_path: Path, other: dict[str, str], kind: str) -> None:
    run, foreign = run_folder(tmp_path / "a"), run_folder(tmp_path / "b", **other)
    save(run, 56, 56)
    save(foreign, 56, 56)
    shutil.rmtree(run.path / kind)
    (foreign.path / kind).rename(run.path / kind)
    with pytest.raises(CheckpointMismatch, match=f"{next(iter(other))}_hash eeeeeeee"):
        resume(run)


def test_another_configuration_starts_its_own_folder(tmp_path: Path) -> None:
    save(run_folder(tmp_path), 56, 56)
    assert resume(run_folder(tmp_path, config="f" * 64)) == (None, [])
    assert resume(run_folder(tmp_path, data="f" * 64)) == (None, [])


def test_a_run_that_ends_deletes_its_own_folder_and_tells_of_the_others(tmp_path: Path) -> None:
    ours, theirs = run_folder(tmp_path), run_folder(tmp_path, config="f" * 64)
    save(theirs, 56, 56)
    save(theirs, 112, 56)
    save(ours, 56, 56)
    lines: list[str] = []
    ours.discard(said(lines))
    ours.tell_others(said(lines))
    assert resume(theirs) == (112, [])
    assert not ours.path.exists()
    (line,) = lines
    assert line.startswith(f"{theirs.path} holds a training of another recipe, model entry or other data, with a ")
    assert "a checkpoint of step 112 (0.0 MB)" in line
    assert line.endswith(f"rm -r {theirs.path}")


def test_moved_folder_is_found_again(tmp_path: Path) -> None:
    save(run_folder(tmp_path / "old"), 56, 56)
    (tmp_path / "old").rename(tmp_path / "new")
    assert resume(run_folder(tmp_path / "new")) == (56, [])


def test_other_library_versions_are_told(tmp_path: Path) -> None:
    save(run_folder(tmp_path), 56, 56)
    later = RunFolder(tmp_path / "model", "c" * 64, "d" * 64, VERSIONS | {"torch": "2.14.0", "numpy": "3.0"})
    step, lines = resume(later)
    assert step == 56
    assert lines == [
        "checkpoint-56 was written by torch 2.13.0 (now 2.14.0), numpy unknown (now 3.0): from here the curve may differ "
        "slightly"
    ]


def test_another_number_of_processes_is_told(tmp_path: Path) -> None:
    run = run_folder(tmp_path)
    progress = save(run, 56, 56)
    (run.checkpoint(56) / "rng_state.pth").unlink()
    write(run.checkpoint(56), ("rng_state_0.pth", "rng_state_1.pth"))
    run.mark(run.checkpoint(56), progress)
    assert resume(run, processes=2) == (56, [])
    step, lines = resume(run, processes=1)
    assert step == 56
    assert "was written by 2 process(es), this run has 1" in lines[0]


def test_another_batch_is_told(tmp_path: Path) -> None:
    run = run_folder(tmp_path)
    run.batch = 4
    save(run, 56, 56)
    run.batch = 2
    step, lines = resume(run)
    assert step == 56
    assert lines == [
        "checkpoint-56 was written with batch 4, this run has 2: the steps hold the same rows, dropout draws differently from "
        "here"
    ]


@pytest.mark.parametrize("missing", STATE)
def test_a_checkpoint_without_a_part_of_the_state_is_never_called_whole(tmp_path: Path, missing: str) -> None:
    run = run_folder(tmp_path)
    run.checkpoint(56).mkdir(parents=True)
    write(run.checkpoint(56), tuple(name for name in STATE if name != missing))
    with pytest.raises(TrainingError, match="lacks (random states|" + missing + ")"):
        run.mark(run.checkpoint(56), Progress(run.config_hash, run.data_hash, 56))
    assert not (run.checkpoint(56) / MARKER).exists()


def test_sweep_makes_room_but_for_the_last_checkpoint(tmp_path: Path) -> None:
    """As before an evaluation: the next checkpoint is the second one then, and the last stays until that is whole."""
    run = run_folder(tmp_path)
    save(run, 56, 56)
    progress = save(run, 112, 112)
    (run.path / "damaged-checkpoint-56").mkdir()
    run.sweep(progress)
    assert names(run) == ["best-112", "checkpoint-112", "damaged-checkpoint-56"]


def test_best_weights_are_in_place_whole_or_not_at_all(tmp_path: Path) -> None:
    run = run_folder(tmp_path)
    progress = Progress(run.config_hash, run.data_hash, 0, 56)

    def cut_off(folder: str) -> None:
        write(Path(folder), STATE[:1])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.keep_best(progress, cut_off)
    assert names(run) == ["best-56.partial"]
    run.keep_best(progress, lambda folder: write(Path(folder), STATE[:1]))
    assert names(run) == ["best-56"]
