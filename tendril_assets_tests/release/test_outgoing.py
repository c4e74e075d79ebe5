"""What a folder would send, by content, and every reason why it must not be sent."""

import hashlib
import json
import shutil
import subprocess
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendril_assets.corpus.erasure import Removed
from tendril_assets.release.manifest import MANIFEST, read_manifest
from tendril_assets.release.outgoing import dataset, front_matter_of, model, never_sent, read_file
from tendril_assets.release.withdrawing import withdraw
from tendril_assets_tests.release import outgoing_toy as toy
from tendril_assets_tests.release.toy import passage


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy.write(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A release below ``tmp_path``."""
    return Path(shutil.copytree(whole, tmp_path / "1.0.0"))


def reasons(root: Path) -> str:
    return "\n".join(dataset(root, toy.spec()).reasons)


@given(st.binary(max_size=2000))
def test_hashes_are_those_of_sha256_and_of_git(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("f") / "file"
    path.write_bytes(data)
    made = read_file("a/file", path)
    assert (made.name, made.size, made.sha256) == ("a/file", len(data), hashlib.sha256(data).hexdigest())
    header = b"blob " + str(len(data)).encode() + b"\0"
    assert made.git_sha1 == hashlib.sha1(header + data).hexdigest()


def test_the_git_hash_is_git_s_own(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\x00\xff" * 700_000)  # more than one part is read
    told = subprocess.run(["git", "hash-object", "--no-filters", path], capture_output=True, text=True, check=True)
    assert read_file("file", path).git_sha1 == told.stdout.strip()


def test_a_whole_release_is_sent_whole(folder: Path, tmp_path: Path) -> None:
    made = dataset(tmp_path, toy.spec())
    assert (made.kind, made.repo, made.tag, made.gate, made.reasons) == ("dataset", toy.REPO, "v1.0.0", "auto", ())
    there = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert {f.name for f in made.files} == there
    assert {f.name: f.sha256 for f in made.files if f.name != MANIFEST} == read_manifest(folder)["files"]
    assert made.size == sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())


def test_nothing_is_there_yet(tmp_path: Path) -> None:
    assert "materialise toy/releases" in reasons(tmp_path)
    (tmp_path / "1.0.0").mkdir()
    assert "is empty" in reasons(tmp_path)


def test_a_sandbox_release_stays_here(tmp_path: Path) -> None:
    toy.write(tmp_path, sandbox=True)
    assert "stamped sandbox" in reasons(tmp_path)


def test_without_an_owner_there_is_no_repository(folder: Path, tmp_path: Path) -> None:
    spec = toy.spec()
    alone = spec.model_copy(update={"release": spec.release.model_copy(update={"organisation": None})})
    assert any("release.organisation is not set" in r for r in dataset(tmp_path, alone).reasons)


def test_a_withdrawn_version_stays_here(folder: Path, tmp_path: Path) -> None:
    gone = Removed(passages=frozenset({passage(1, 1, 1)}), documents=frozenset(), groups=frozenset())
    withdraw(tmp_path, gone, datetime(2026, 11, 30, 12))
    [reason] = [r for r in dataset(tmp_path, toy.spec()).reasons if "withdrawn" in r]
    assert reason.startswith("it was withdrawn on 2026-11-30: 1 passage with 3 judgments removed on request. Raise")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("beir/corpus.jsonl", lambda p: p.write_bytes(p.read_bytes()[:-1])),
        ("qrels/train-00000-of-00001.parquet", lambda p: p.unlink()),
        ("notes.txt", lambda p: p.write_text("mine")),
    ],
)
def test_a_folder_that_is_not_as_it_was_written(folder: Path, tmp_path: Path, name: str, change) -> None:
    change(folder / name)
    assert "changed, added or taken away" in reasons(tmp_path)
    assert name in reasons(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"files": {}, "sandbox": false, "name": "x", "version": "1"}'])
def test_a_manifest_that_cannot_be_read(folder: Path, tmp_path: Path, text: str) -> None:
    (folder / MANIFEST).write_text(text)
    assert "does not say whether the folder is whole" in reasons(tmp_path)


@pytest.mark.parametrize("key", ["files", "content_hash"])
def test_a_manifest_that_lacks_what_is_compared(folder: Path, tmp_path: Path, key: str) -> None:
    """As of another version of this product."""
    told = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps({name: value for name, value in told.items() if name != key}))
    assert f"({MANIFEST} lacks {key}): move it away, or raise release.version" in reasons(tmp_path)


def test_a_manifest_of_something_else(folder: Path, tmp_path: Path) -> None:
    told = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps(told | {"name": "other"}))
    assert "its manifest speaks of {'name': 'other'" in reasons(tmp_path)


def test_hidden_files_and_links_are_never_sent(folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("a key")
    (folder / "beir" / "extra.jsonl").symlink_to(secret)
    (folder / ".env").write_text("HF_TOKEN=x")
    (folder / ".cache").mkdir()
    (folder / ".cache" / "x").write_text("x")
    made = dataset(tmp_path, toy.spec())
    assert not {"beir/extra.jsonl", ".env", ".cache/x"} & {f.name for f in made.files}
    [reason] = [r for r in made.reasons if "no plain visible file" in r]
    assert ".cache" in reason
    assert ".env" in reason
    assert "beir/extra.jsonl" in reason


def test_the_licence_and_the_conditions_must_be_there(folder: Path, tmp_path: Path) -> None:
    (folder / "LICENSE.md").write_text(" \n")
    assert "LICENSE.md is missing or empty" in reasons(tmp_path)
    (folder / "LICENSE.md").write_text("public domain")
    assert "is not the text that the specification's licence has now" in reasons(tmp_path)
    card = folder / "README.md"
    card.write_text(card.read_text().replace("extra_gated_prompt:", "extra_prompt:"))
    assert "no text to accept before access" in reasons(tmp_path)
    (folder / "LICENSE.md").unlink()
    assert "names no licence whose text is in the folder" in reasons(tmp_path)
    card.write_text("# no front matter")
    assert front_matter_of(card) == {}


@pytest.mark.parametrize("text", ["---\n: :\n---\n", "---\n- a\n---\n", "x---\na: 1\n---\n", "---\na: 1\n", "\xff"])
def test_front_matter_that_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "README.md").write_bytes(text.encode("latin-1"))
    assert front_matter_of(tmp_path / "README.md") == {}
    assert front_matter_of(tmp_path / "nowhere.md") == {}


def test_a_model_folder(tmp_path: Path) -> None:
    folder = toy.write_models(tmp_path / "models")
    made = model(tmp_path / "models", toy.spec(), "mini")
    assert (made.kind, made.repo, made.tag, made.gate, made.reasons) == ("model", toy.MODEL, "v1.0.0", None, ())
    assert {"README.md", "LICENSE", "NOTICE", "model.safetensors", "1_Pooling/config.json"} <= {
        f.name for f in made.files
    }
    (folder / "pytorch_model.bin").write_bytes(b"pickle")
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").write_bytes(b"x")
    (folder / "NOTICE").write_text("")
    (folder / "LICENSE").unlink()
    (folder / "model.safetensors").unlink()
    card = folder / "README.md"
    card.write_text(card.read_text().replace("license:", "licence:").replace("- retrieval", "- sandbox"))
    told = "\n".join(model(tmp_path / "models", toy.spec(), "mini").reasons)
    for said in (
        "(onnx/model.onnx, pytorch_model.bin)",
        "NOTICE is missing or empty",
        "LICENSE is missing or empty",
        "holds no weights",
        "names no licence",
        "stamped sandbox",
    ):
        assert said in told
    assert "train mini" in model(tmp_path, toy.spec(), "mini").reasons[0]


def test_what_lies_beside_is_told_as_never_sent(tmp_path: Path) -> None:
    root = tmp_path / "release" / "toy"
    toy.write(root)
    toy.write(root, "1.1.0")
    (tmp_path / "warehouse.duckdb").write_text("x")
    (tmp_path / "ledger").mkdir()
    told = never_sent(tmp_path, dataset(root, toy.spec()))
    assert told == ["ledger/", "release/toy/1.1.0/", "warehouse.duckdb"]
