"""The result is in place with its own weights, or there is none and the run can end again."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tendril_assets.errors import TrainingError
from tendril_assets.training import installing
from tendril_assets.training.events import Event
from tendril_assets.training.installing import KEPT, RESULT, finished, install
from tendril_assets.training.whole import MARKER

CONFIG, DATA = "c" * 64, "d" * 64


def best_weights(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "1_Pooling").mkdir()
    (folder / "model.safetensors").write_text(text)
    (folder / "1_Pooling" / "config.json").write_text(f"config of {text}")
    (folder / MARKER).write_text("{}")
    return folder


def result(**more: object) -> dict:
    return {"config_hash": CONFIG, "data_hash": DATA, **more}


def found(model: Path, config: str = CONFIG, data: str = DATA) -> tuple[dict | None, list[str]]:
    lines: list[str] = []

    def report(event: Event) -> None:
        lines.append(str(event))

    return finished(model, config, data, report), lines


def test_installed_result_is_found_for_the_same_hashes_only(tmp_path: Path) -> None:
    stored = install(tmp_path / "m", best_weights(tmp_path / "b", "one"), result(best_step=56))
    assert found(tmp_path / "m") == (stored, [])
    assert found(tmp_path / "m", config="e" * 64) == (None, [])
    assert found(tmp_path / "m", data="e" * 64) == (None, [])
    assert not (tmp_path / "m" / KEPT / MARKER).exists()


@pytest.mark.parametrize("name", ["model.safetensors", "1_Pooling/config.json"])
@pytest.mark.parametrize("damage", ["changed", "deleted"])
def test_damaged_result_is_no_result_and_is_told(tmp_path: Path, damage: str, name: str) -> None:
    model = tmp_path / "m"
    install(model, best_weights(tmp_path / "b", "one"), result())
    path = model / KEPT / name
    path.unlink()
    if damage == "changed":
        path.write_text("other")
    nothing, lines = found(model)
    assert nothing is None
    assert lines == [f"{path} is not as training left it: the model is trained again"]


def test_a_card_beside_the_weights_does_no_harm(tmp_path: Path) -> None:
    stored = install(tmp_path / "m", best_weights(tmp_path / "b", "one"), result())
    (tmp_path / "m" / KEPT / "README.md").write_text("card")
    assert found(tmp_path / "m")[0] == stored


@pytest.mark.parametrize("text", ["", "{", "[]", "{}"])
def test_a_damaged_record_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / RESULT).write_text(text)
    with pytest.raises(TrainingError, match=r"result\.json is damaged"):
        found(tmp_path)


def test_new_result_replaces_the_former_one(tmp_path: Path) -> None:
    model = tmp_path / "m"
    install(model, best_weights(tmp_path / "b1", "one"), result(best_step=56))
    stored = install(model, best_weights(tmp_path / "b2", "two"), result(best_step=112))
    assert found(model)[0] == stored
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
    assert found(tmp_path / "m")[0] == stored


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
        present, lines = found(model)
        assert lines == []
        if present is None:
            outcomes.append("none")
            assert not (model / RESULT).exists()
        else:
            outcomes.append((model / KEPT / "model.safetensors").read_text())
            assert outcomes[-1] == {56: "one", 112: "two"}[present["best_step"]]
        stored = install(model, tmp_path / str(number) / "b2", result(best_step=112))
        assert found(model)[0] == stored
        assert json.loads((model / RESULT).read_text())["best_step"] == 112
        assert sorted(path.name for path in model.iterdir()) == [KEPT, RESULT]
    changes = [b for a, b in zip(["", *outcomes], outcomes, strict=False) if a != b]
    assert changes == ["one", "none", "two"]
