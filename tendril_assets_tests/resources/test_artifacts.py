from pathlib import Path

import polars as pl
import pytest

from tendril_assets.errors import WarehouseError
from tendril_assets.resources.artifacts import Artifacts

OWNER = ("toy", "g-1", "d-1")


@pytest.fixture
def artifacts(tmp_path: Path) -> Artifacts:
    return Artifacts(root=str(tmp_path / "artifacts"))


def test_what_is_cached_comes_back_and_nothing_else_does(artifacts: Artifacts) -> None:
    artifacts.put("masked", OWNER, "key", b"value")
    artifacts.put("masked", OWNER, "empty", b"")
    assert artifacts.cached("masked", OWNER, "key") == b"value"
    assert artifacts.cached("masked", OWNER, "empty") == b""
    assert artifacts.cached("masked", OWNER, "other") is None
    assert artifacts.cached("extractions", OWNER, "key") is None
    assert artifacts.cached("masked", (*OWNER[:2], "d-2"), "key") is None


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b[:40] + b"x" + b[41:], lambda b: b""])
def test_a_damaged_cache_file_counts_as_absent(artifacts: Artifacts, damage) -> None:
    artifacts.put("masked", OWNER, "key", b"a value of some length")
    (path,) = Path(artifacts.root).glob("cache/masked/toy/g-1/d-1/*")
    path.write_bytes(damage(path.read_bytes()))
    assert artifacts.cached("masked", OWNER, "key") is None
    artifacts.put("masked", OWNER, "key", b"again")
    assert artifacts.cached("masked", OWNER, "key") == b"again"


def test_a_handed_over_frame_round_trips_and_damage_is_named(artifacts: Artifacts) -> None:
    with pytest.raises(WarehouseError, match="materialise the upstream asset first"):
        artifacts.read_frame("toy", "pairs")
    path = artifacts.write_frame("toy", "pairs", pl.DataFrame({"a": [1, 2], "b": ["x", "y"]}))
    assert artifacts.read_frame("toy", "pairs", ["b"]).rows() == [("x",), ("y",)]
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(WarehouseError, match=r"pairs\.parquet is damaged"):
        artifacts.read_frame("toy", "pairs")


def test_names_are_identifiers(artifacts: Artifacts) -> None:
    with pytest.raises(WarehouseError, match="no identifier"):
        artifacts.folder("../elsewhere", "models")


def test_caches_are_found_by_document_and_group(artifacts: Artifacts) -> None:
    for kind, group, document, key in (
        ("masked", "g-1", "d-1", "a"),
        ("masked", "g-1", "d-1", "b"),
        ("readings", "g-2", "d-3", "a"),
    ):
        artifacts.put(kind, ("toy", group, document), key, b"value")
    artifacts.put("masked", ("other", "g-1", "d-1"), "a", b"value")
    artifacts.put("runs", ("toy", "bm25"), "a", b"a ranking has no document")
    found = [(each.kind, each.group_id, each.document_id) for each in artifacts.cached_documents("toy")]
    assert found == [("masked", "g-1", "d-1"), ("readings", "g-2", "d-3")]
    (first, _) = artifacts.cached_documents("toy")
    assert len(list(first.folder.iterdir())) == 2
    assert list(Artifacts(root=f"{artifacts.root}/none").cached_documents("toy")) == []


@pytest.mark.parametrize("owner", [(), ("toy", ""), ("toy", ".."), ("toy", "../b"), ("toy", "-a"), ("toy", "a\0")])
def test_an_owner_can_name_a_folder(artifacts: Artifacts, owner: tuple[str, ...]) -> None:
    with pytest.raises(WarehouseError, match="cannot name a folder"):
        artifacts.put("masked", owner, "key", b"value")
    with pytest.raises(WarehouseError, match="cannot name a folder"):
        artifacts.cached("masked", owner, "key")
    assert not Path(artifacts.root).exists()


def test_names_of_public_groups_are_one_folder_each(artifacts: Artifacts) -> None:
    owner = ("toy", "590-П_28062017", "590-П_28062017/act.txt")
    artifacts.put("chunks", owner, "key", b"value")
    assert artifacts.cached("chunks", owner, "key") == b"value"
    [found] = artifacts.cached_documents("toy")
    assert (found.group_id, found.document_id) == owner[1:]
    # case 23: letters and signs percent-encoded, reversibly
    assert found.folder.parent.name == "590-%D0%9F_28062017"
    assert found.folder.name == "590-%D0%9F_28062017%2Fact.txt"


def test_what_was_stored_without_an_owner_is_swept_once(artifacts: Artifacts) -> None:
    kind = Path(artifacts.root) / "cache" / "masked"
    digest = "ab" + "0" * 62
    (kind / "ab").mkdir(parents=True)
    (kind / "ab" / digest).write_bytes(b"a text of nobody knows which document")
    (kind / "ab" / f".{digest}.17.18.partial").write_bytes(b"half of one")
    # A collection may be named by two letters too: its folders hold folders.
    (kind / "cd" / "g-1" / "d-1").mkdir(parents=True)
    (kind / "cd" / "g-1" / "d-1" / digest).write_bytes(b"of a document")
    artifacts.put("masked", OWNER, "key", b"value")
    left = {path.relative_to(kind).as_posix() for path in kind.rglob("*") if path.is_file()}
    assert {name for name in left if not name.startswith("toy/")} == {".by_owner", f"cd/g-1/d-1/{digest}"}
    assert not (kind / "ab").exists()
    # Later it is not looked at again: a put costs one look.
    (kind / "ab").mkdir()
    (kind / "ab" / digest).write_bytes(b"put there by hand")
    artifacts.put("masked", OWNER, "other", b"value")
    assert (kind / "ab" / digest).exists()


def test_two_steps_that_sweep_at_a_time_leave_nothing(artifacts: Artifacts, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = Path(artifacts.root) / "cache" / "masked"
    names = [f"ab{n:062x}" for n in range(5)]
    (kind / "ab").mkdir(parents=True)
    for name in names:
        (kind / "ab" / name).write_bytes(b"a text")
    unlink = Path.unlink

    def after_another(path: Path, missing_ok: bool = False) -> None:
        """The other step was here a moment earlier, for two of the files, and is killed."""
        if path.name in names[1:3]:
            unlink(path)
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", after_another)
    artifacts.put("masked", OWNER, "key", b"value")
    assert not (kind / "ab").exists()
