"""Checkpoints are whole or ignored; the result is written last."""

import json
from pathlib import Path

import pytest

from tendril_assets.errors import CheckpointMismatch
from tendril_assets.training.checkpoints import KEPT, MARKER, RESULT, Progress, RunFolder, finished, install


def run_folder(tmp_path: Path, config: str = "c" * 64, data: str = "d" * 64) -> RunFolder:
    return RunFolder(tmp_path / "model", config, data)


def save(run: RunFolder, step: int, best: int) -> Progress:
    """What training leaves behind at an evaluation step."""
    progress = Progress(run.config_hash, run.data_hash, step, best, 0.5, 0.4, 12.5, [(step, "loss", 1 / 3)])
    for folder in (run.best(best), run.checkpoint(step)):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.safetensors").write_bytes(f"{folder.name}".encode())
        run.mark(folder, progress)
    return progress


def test_last_whole_checkpoint_comes_back_as_it_was(tmp_path: Path) -> None:
    run = run_folder(tmp_path)
    save(run, 56, 56)
    progress = save(run, 112, 56)
    assert run.last_whole() == (run.checkpoint(112), progress)


def test_numbers_are_ordered_as_numbers(tmp_path: Path) -> None:
    run = run_folder(tmp_path)
    save(run, 56, 56)
    save(run, 112, 56)
    save(run, 8, 8)
    assert run.last_whole()[1].step == 112


def test_half_written_checkpoint_is_ignored(tmp_path: Path) -> None:
    run = run_folder(tmp_path)
    save(run, 56, 56)
    run.checkpoint(112).mkdir()
    (run.checkpoint(112) / "model.safetensors").write_bytes(b"half")
    (run.path / "checkpoint-notes").mkdir()
    assert run.last_whole()[0] == run.checkpoint(56)


def test_checkpoint_whose_best_weights_are_gone_is_ignored(tmp_path: Path) -> None:
    run = run_folder(tmp_path)
    save(run, 56, 56)
    save(run, 112, 112)
    (run.best(112) / MARKER).unlink()
    assert run.last_whole()[0] == run.checkpoint(56)


def test_nothing_there(tmp_path: Path) -> None:
    assert run_folder(tmp_path).last_whole() is None


@pytest.mark.parametrize(("field", "named"), [("config_hash", "config_hash"), ("data_hash", "data_hash")])
def test_foreign_checkpoint_is_refused(tmp_path: Path, field: str, named: str) -> None:
    run = run_folder(tmp_path)
    save(run, 56, 56)
    marker = run.checkpoint(56) / MARKER
    marker.write_text(json.dumps(json.loads(marker.read_text()) | {field: "e" * 64}))
    with pytest.raises(CheckpointMismatch, match=named):
        run.last_whole()


def test_another_configuration_starts_its_own_folder(tmp_path: Path) -> None:
    save(run_folder(tmp_path), 56, 56)
    assert run_folder(tmp_path, config="f" * 64).last_whole() is None
    assert run_folder(tmp_path, data="f" * 64).last_whole() is None


def test_moved_folder_is_found_again(tmp_path: Path) -> None:
    run = run_folder(tmp_path / "old")
    save(run, 56, 56)
    (tmp_path / "old").rename(tmp_path / "new")
    moved = run_folder(tmp_path / "new")
    assert moved.last_whole()[0] == moved.checkpoint(56)


def test_sweep_keeps_the_last_checkpoint_and_the_best_weights(tmp_path: Path) -> None:
    run = run_folder(tmp_path)
    save(run, 56, 56)
    save(run, 112, 56)
    run.checkpoint(168).mkdir()
    run.sweep(save(run, 112, 56))
    assert sorted(path.name for path in run.path.iterdir()) == ["best-56", "checkpoint-112"]


def result(run: RunFolder, **more) -> dict:
    return {"config_hash": run.config_hash, "data_hash": run.data_hash, **more}


def test_installed_result_is_found_for_the_same_hashes_only(tmp_path: Path) -> None:
    run = run_folder(tmp_path)
    save(run, 56, 56)
    stored = install(run.model_folder, run.best(56), result(run, best_step=56))
    assert finished(run.model_folder, run.config_hash, run.data_hash) == stored
    assert finished(run.model_folder, "e" * 64, run.data_hash) is None
    assert finished(run.model_folder, run.config_hash, "e" * 64) is None
    assert not (run.model_folder / KEPT / MARKER).exists()


@pytest.mark.parametrize("damage", ["changed", "deleted", "no result"])
def test_damaged_result_is_no_result(tmp_path: Path, damage: str) -> None:
    run = run_folder(tmp_path)
    save(run, 56, 56)
    install(run.model_folder, run.best(56), result(run))
    weights = run.model_folder / KEPT / "model.safetensors"
    if damage == "changed":
        weights.write_bytes(b"others")
    elif damage == "deleted":
        weights.unlink()
    else:
        (run.model_folder / RESULT).unlink()
    assert finished(run.model_folder, run.config_hash, run.data_hash) is None


def test_new_result_replaces_the_former_one(tmp_path: Path) -> None:
    run = run_folder(tmp_path)
    save(run, 56, 56)
    save(run, 112, 112)
    install(run.model_folder, run.best(56), result(run, best_step=56))
    install(run.model_folder, run.best(112), result(run, best_step=112))
    assert finished(run.model_folder, run.config_hash, run.data_hash)["best_step"] == 112
    assert (run.model_folder / KEPT / "model.safetensors").read_bytes() == b"best-112"
    assert sorted(path.name for path in run.model_folder.iterdir()) == [KEPT, RESULT, "runs"]


def test_crash_during_install_leaves_no_result_that_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old figures must not stand beside the new weights."""
    run = run_folder(tmp_path)
    save(run, 56, 56)
    save(run, 112, 112)
    install(run.model_folder, run.best(56), result(run, best_step=56))

    def full_disk(*_args: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("tendril_assets.training.checkpoints.write_json", full_disk)
    with pytest.raises(OSError, match="no space"):
        install(run.model_folder, run.best(112), result(run, best_step=112))
    monkeypatch.undo()
    assert finished(run.model_folder, run.config_hash, run.data_hash) is None
    install(run.model_folder, run.best(112), result(run, best_step=112))
    assert finished(run.model_folder, run.config_hash, run.data_hash)["best_step"] == 112
