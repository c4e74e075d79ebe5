"""A folder is whole with its marker and every listed file as it was written, or it is not."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.errors import CheckpointMismatch
from tendril_assets.training.whole import MARKER, NotWhole, read_marker, seal, set_foreign_aside, verify

CONTENT = {"progress": {"step": 56, "value": 1 / 3}, "text": "grün"}


def sealed(folder: Path) -> Path:
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"weights" * 1000)
    (folder / "optimizer.pt").write_bytes(b"moments")
    (folder / "1_Pooling" / "config.json").write_text("{}")
    seal(folder, CONTENT)
    return folder


def fault(folder: Path) -> str:
    with pytest.raises(NotWhole) as caught:
        verify(folder, read_marker(folder)[1])
    return str(caught.value)


def flip(path: Path, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


def test_what_was_sealed_comes_back(tmp_path: Path) -> None:
    folder = sealed(tmp_path / "checkpoint")
    content, files = read_marker(folder)
    assert content == CONTENT
    assert {name: file["size"] for name, file in files.items()} == {
        "1_Pooling/config.json": 2,
        "model.safetensors": 7000,
        "optimizer.pt": 7,
    }
    # sha256 of b"moments", by sha256sum
    assert files["optimizer.pt"]["sha256"] == "690a8d18f75dfaa79dd8134ac62cdad42fffe0f34cb78dd14e2d3aae3ae83ad3"
    verify(folder, files)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda f: (f / "optimizer.pt").unlink(), "optimizer.pt is missing"),
        (lambda f: (f / "model.safetensors").write_bytes(b"weights" * 999), "has 6993 bytes, 7000 were written"),
        (lambda f: (f / "optimizer.pt").write_bytes(b""), "optimizer.pt has 0 bytes, 7 were written"),
        (lambda f: flip(f / "model.safetensors", 12345), "model.safetensors has other bytes"),
        (lambda f: shutil.rmtree(f / "1_Pooling"), "1_Pooling/config.json is missing"),
        (lambda f: (f / MARKER).unlink(), "complete.json is missing"),
        (lambda f: (f / MARKER).write_bytes(b"\xff\x00"), "complete.json cannot be read"),
        (lambda f: (f / MARKER).write_text("[]"), "complete.json is not as it was written"),
        (
            lambda f: (f / MARKER).write_text((f / MARKER).read_text().replace('"step": 56', '"step": 57')),
            "complete.json is not as it was written",
        ),
    ],
)
def test_damage_is_named(tmp_path: Path, damage: Callable[[Path], object], said: str) -> None:
    folder = sealed(tmp_path / "checkpoint")
    damage(folder)
    assert said in fault(folder)


def test_files_that_are_not_listed_do_no_harm_and_those_a_loader_might_read_are_renamed(tmp_path: Path) -> None:
    folder = sealed(tmp_path / "checkpoint")
    for name in ("notes.txt", ".DS_Store", "training_args.bin", "1_Pooling/model.py", "._model.safetensors"):
        (folder / name).write_text("x")
    files = read_marker(folder)[1]
    verify(folder, files)
    assert set_foreign_aside(folder, files) == ["._model.safetensors", "1_Pooling/model.py", "training_args.bin"]
    assert (folder / "1_Pooling" / "model.py.foreign").read_text() == "x"
    assert (folder / "notes.txt").exists()
    assert set_foreign_aside(folder, files) == []
    verify(folder, files)


def test_only_a_folder_without_marker_was_cut_off(tmp_path: Path) -> None:
    folder = sealed(tmp_path / "checkpoint")
    (folder / MARKER).write_text("half")
    with pytest.raises(NotWhole) as caught:
        read_marker(folder)
    assert not caught.value.cut_off
    (folder / MARKER).unlink()
    with pytest.raises(NotWhole) as caught:
        read_marker(folder)
    assert caught.value.cut_off


def test_another_format_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    monkeypatch.setattr("tendril_assets.training.whole._FORMAT", 2)
    seal(folder, {})
    monkeypatch.undo()
    with pytest.raises(CheckpointMismatch, match="format 2, this version reads 1"):
        read_marker(folder)


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_any_bit_that_turns_is_found(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """In a listed file or in the marker itself; blanks between the parts of the marker's JSON mean nothing."""
    folder = sealed(tmp_path_factory.mktemp("flip") / "checkpoint")
    name = data.draw(st.sampled_from(["model.safetensors", "optimizer.pt", "1_Pooling/config.json", MARKER]))
    path = folder / name
    before = path.read_bytes()
    flip(path, data.draw(st.integers(0, 8 * len(before) - 1)))
    if name == MARKER and same_json(before, path.read_bytes()):
        return
    assert re.match(r"\S+ (has other bytes|is not as it was written|cannot be read)", fault(folder))


def same_json(one: bytes, other: bytes) -> bool:
    try:
        return json.loads(one) == json.loads(other)
    except ValueError:
        return False
