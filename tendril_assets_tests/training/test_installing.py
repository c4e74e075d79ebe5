"""The result is in place with its own weights, or there is none and the run can end again."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tendril_assets.errors import TrainingError
from tendril_assets.tables import TABLES
from tendril_assets.training import installing
from tendril_assets.training.installing import KEPT, RESULT, finished, install
from tendril_assets.training.whole import MARKER, seal

CONFIG, DATA = "c" * 64, "d" * 64


def best_weights(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "1_Pooling").mkdir()
    (folder / "model.safetensors").write_text(text)
    (folder / "1_Pooling" / "config.json").write_text(f"config of {text}")
    seal(folder, {})
    return folder


def result(**more: object) -> dict:
    columns = dict.fromkeys(TABLES["trained_models"].schema.keys() - {"path"})
    return columns | {"config_hash": CONFIG, "data_hash": DATA, "best_step": 56, **more}


def found(model: Path, config: str = CONFIG, data: str = DATA) -> dict | None:
    return finished(model, config, data)


def test_installed_result_is_found_for_the_same_hashes_only(tmp_path: Path) -> None:
    stored = install(tmp_path / "m", best_weights(tmp_path / "b", "one"), result(best_step=56))
    assert found(tmp_path / "m") == stored
    assert found(tmp_path / "m", config="e" * 64) is None
    assert found(tmp_path / "m", data="e" * 64) is None
    assert not (tmp_path / "m" / KEPT / MARKER).exists()


@pytest.mark.parametrize("name", ["model.safetensors", "1_Pooling/config.json"])
@pytest.mark.parametrize("damage", ["changed", "deleted"])
def test_a_kept_file_that_was_changed_is_no_reason_to_train_for_another_day(
    tmp_path: Path, damage: str, name: str
) -> None:
    model = tmp_path / "m"
    install(model, best_weights(tmp_path / "b", "one"), result())
    path = model / KEPT / name
    path.unlink()
    if damage == "changed":
        path.write_text("other")
    with pytest.raises(TrainingError) as caught:
        found(model)
    assert str(caught.value) == (
        f"{path} was changed or is gone since training left it: put back what training left, or delete {model / RESULT} to "
        "train again"
    )
    assert found(model, config="e" * 64) is None  # another recipe is trained anyway


def test_a_card_beside_the_weights_does_no_harm(tmp_path: Path) -> None:
    stored = install(tmp_path / "m", best_weights(tmp_path / "b", "one"), result())
    (tmp_path / "m" / KEPT / "README.md").write_text("card")
    assert found(tmp_path / "m") == stored


@pytest.mark.parametrize("text", ["", "{", "[]", "{}"])
def test_a_damaged_record_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / RESULT).write_text(text)
    with pytest.raises(TrainingError, match=r"result\.json is damaged"):
        found(tmp_path)


@pytest.mark.parametrize("change", [{"files": None}, {"files": ["model.safetensors"]}, {"best_step": None}])
def test_a_record_without_what_it_vouches_for_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    stored = install(tmp_path / "m", best_weights(tmp_path / "b", "one"), result())
    (tmp_path / "m" / RESULT).write_text(json.dumps(stored | change))
    with pytest.raises(TrainingError, match=r"result\.json is damaged .* delete it to train m again"):
        found(tmp_path / "m")
    for name in change:
        del stored[name]
    (tmp_path / "m" / RESULT).write_text(json.dumps(stored))
    with pytest.raises(TrainingError, match=r"result\.json is damaged .* delete it to train m again"):
        found(tmp_path / "m")


def test_a_record_of_before_a_column_is_no_finished_training(tmp_path: Path) -> None:
    stored = install(tmp_path / "m", best_weights(tmp_path / "b", "one"), result())
    del stored["reproduced_value"], stored["base_weights"]
    (tmp_path / "m" / RESULT).write_text(json.dumps(stored))
    with pytest.raises(TrainingError, match=r"another version .* without base_weights, reproduced_value: delete it"):
        found(tmp_path / "m")


def test_new_result_replaces_the_former_one(tmp_path: Path) -> None:
    model = tmp_path / "m"
    install(model, best_weights(tmp_path / "b1", "one"), result(best_step=56))
    stored = install(model, best_weights(tmp_path / "b2", "two"), result(best_step=112))
    assert found(model) == stored
    assert (model / KEPT / "model.safetensors").read_text() == "two"
    assert sorted(path.name for path in model.iterdir()) == [KEPT, RESULT]


def test_installing_takes_no_room_where_there_are_hard_links(tmp_path: Path) -> None:
    best = best_weights(tmp_path / "b", "one")
    install(tmp_path / "m", best, result())
    assert (tmp_path / "m" / KEPT / "model.safetensors").samefile(best / "model.safetensors")


def test_without_hard_links_files_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_paths: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(installing.os, "link", no_links)
    best = best_weights(tmp_path / "b", "one")
    stored = install(tmp_path / "m", best, result())
    assert not (tmp_path / "m" / KEPT / "model.safetensors").samefile(best / "model.safetensors")
    assert found(tmp_path / "m") == stored


def test_only_what_was_written_is_installed(tmp_path: Path) -> None:
    best = best_weights(tmp_path / "b", "one")
    (best / "._model.safetensors").write_text("stray")
    stored = install(tmp_path / "m", best, result())
    assert set(stored["files"]) == {"model.safetensors", "1_Pooling/config.json"}
    assert {path.name for path in (tmp_path / "m" / KEPT).rglob("*")} == {
        "model.safetensors",
        "1_Pooling",
        "config.json",
    }
    # sha256 of b"one", by sha256sum
    expected = "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
    assert stored["files"]["model.safetensors"] == stored["weights_sha256"] == expected


@pytest.mark.parametrize("damage", ["two", None])
def test_weights_of_other_bytes_are_not_installed(tmp_path: Path, damage: str | None) -> None:
    stored = install(tmp_path / "m", best_weights(tmp_path / "b1", "one"), result(best_step=56))
    best = best_weights(tmp_path / "b2", "1 2")
    (best / "model.safetensors").unlink()
    if damage:
        (best / "model.safetensors").write_text(damage)
    with pytest.raises(
        TrainingError, match=r"b2 are not as they were written: .*model\.safetensors.*Nothing was installed"
    ):
        install(tmp_path / "m", best, result(best_step=112))
    assert found(tmp_path / "m") == stored


def test_whether_there_are_hard_links_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert installing.has_links(tmp_path)

    def no_links(*_paths: object) -> None:
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr(installing.os, "link", no_links)
    assert not installing.has_links(tmp_path)
    assert list(tmp_path.iterdir()) == []


KILLING = """
import json, os, sys
from pathlib import Path
from tendril_assets.training.installing import install
from tendril_assets_tests.training.lives import count_operations
from tendril_assets_tests.training.test_installing import best_weights, result
base = Path(sys.argv[1])
number = 0
while True:
    number += 1
    model = base / str(number) / "m"
    install(model, best_weights(base / str(number) / "b1", "one"), result(best_step=56))
    best = best_weights(base / str(number) / "b2", "two")
    pid = os.fork()
    if pid == 0:
        count_operations(base / str(number), at=number)
        install(model, best, result(best_step=112))
        os._exit(0)
    if os.WIFEXITED(os.waitpid(pid, 0)[1]):
        break
print(number)
"""


def test_killed_at_every_file_operation_of_installing(tmp_path: Path) -> None:
    """What is left is the former result, the new one, or none; never the figures of one beside the weights of another.

    Installing again, as a resumed run does, then gives the new one and leaves nothing else.
    """
    done = subprocess.run(
        [sys.executable, "-c", KILLING, str(tmp_path)], capture_output=True, text=True, timeout=120, check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    operations = int(done.stdout)
    assert operations > 15
    outcomes = []
    for number in range(1, operations + 1):
        model = tmp_path / str(number) / "m"
        present = found(model)
        if present is None:
            outcomes.append("none")
            assert not (model / RESULT).exists()
        else:
            outcomes.append((model / KEPT / "model.safetensors").read_text())
            assert outcomes[-1] == {56: "one", 112: "two"}[present["best_step"]]
        stored = install(model, tmp_path / str(number) / "b2", result(best_step=112))
        assert found(model) == stored
        assert json.loads((model / RESULT).read_text())["best_step"] == 112
        assert sorted(path.name for path in model.iterdir()) == [KEPT, RESULT]
    changes = [b for a, b in zip(["", *outcomes], outcomes, strict=False) if a != b]
    assert changes == ["one", "none", "two"]
