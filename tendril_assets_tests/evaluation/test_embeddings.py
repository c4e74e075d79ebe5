from pathlib import Path

import numpy as np
import pytest

from tendril_assets.errors import TendrilError
from tendril_assets.evaluation.embeddings import EmbeddingStore, text_key

KEYS = [text_key(text) for text in ("eins", "zwei", "drei")]
VECTORS = np.arange(6, dtype=np.float32).reshape(3, 2)


def test_what_was_added_is_found_in_any_order(tmp_path: Path) -> None:
    store = EmbeddingStore(tmp_path)
    store.add("space", KEYS[:1], VECTORS[:1])
    store.add("space", KEYS[1:], VECTORS[1:])
    found, vectors = EmbeddingStore(tmp_path).load("space", [KEYS[2], text_key("vier"), KEYS[0]], 2)
    assert found.tolist() == [True, False, True]
    assert vectors.tolist() == [[4.0, 5.0], [0.0, 0.0], [0.0, 1.0]]


def test_spaces_stay_apart(tmp_path: Path) -> None:
    store = EmbeddingStore(tmp_path)
    store.add("model one", KEYS, VECTORS)
    assert store.load("model two", KEYS, 2)[0].tolist() == [False, False, False]


def test_adding_the_same_again_adds_no_file_and_nothing_leaves_a_partial(tmp_path: Path) -> None:
    store = EmbeddingStore(tmp_path)
    assert store.add("space", [], np.zeros((0, 2), dtype=np.float32)) is None
    first, second = store.add("space", KEYS, VECTORS), store.add("space", KEYS, VECTORS)
    assert first == second
    assert [p.name for p in store.space_folder("space").iterdir()] == [first.name]


def test_a_partial_shard_of_a_killed_run_is_ignored(tmp_path: Path) -> None:
    store = EmbeddingStore(tmp_path)
    path = store.add("space", KEYS[:1], VECTORS[:1])
    path.with_suffix(".123.partial").write_bytes(b"half")
    assert store.load("space", KEYS, 2)[0].tolist() == [True, False, False]


def test_a_damaged_shard_is_named(tmp_path: Path) -> None:
    store = EmbeddingStore(tmp_path)
    path = store.add("space", KEYS, VECTORS)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(TendrilError, match=path.name):
        store.load("space", KEYS, 2)


def test_another_width_is_refused(tmp_path: Path) -> None:
    store = EmbeddingStore(tmp_path)
    store.add("space", KEYS, VECTORS)
    with pytest.raises(TendrilError, match="3 dimensions"):
        store.load("space", KEYS, 3)


def test_keys_with_zero_bytes_are_found(tmp_path: Path) -> None:
    keys = [bytes(31) + b"\x01", b"\x01" + bytes(31), bytes(32)]
    store = EmbeddingStore(tmp_path)
    store.add("space", keys, VECTORS)
    found, vectors = store.load("space", list(reversed(keys)), 2)
    assert found.all()
    assert vectors.tolist() == VECTORS[::-1].tolist()


def test_shards_of_others_are_seen_and_cleared_folders_forgotten(tmp_path: Path) -> None:
    """One store looks first, another process adds, somebody deletes: the first one follows."""
    store, other = EmbeddingStore(tmp_path), EmbeddingStore(tmp_path)
    assert not store.load("space", KEYS, 2)[0].any()
    first, second = other.add("space", KEYS[:1], VECTORS[:1]), other.add("space", KEYS[1:], VECTORS[1:])
    assert store.load("space", KEYS, 2)[0].tolist() == [True, True, True]
    first.unlink()
    assert store.load("space", KEYS, 2)[0].tolist() == [False, True, True]
    second.unlink()
    assert store.load("space", KEYS, 2)[0].tolist() == [False, False, False]


def test_what_left_the_collection_and_other_weights_leave(tmp_path: Path) -> None:
    store, own = EmbeddingStore(tmp_path), ["passages", "queries"]
    store.add("passages", KEYS, VECTORS)
    store.add("queries", KEYS[:1], VECTORS[:1])
    store.add("queries", KEYS[1:2], VECTORS[1:2])
    store.add("passages of other weights", KEYS, np.ones((3, 5), dtype=np.float32))
    assert store.load("passages", KEYS, 2)[0].all()
    assert store.keep_only(own, {KEYS[1], KEYS[2]}) == 2 + 3
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or KEYS[0] not in path.read_bytes()
    found, vectors = store.load("passages", KEYS, 2)
    assert found.tolist() == [False, True, True]
    assert vectors[1:].tolist() == VECTORS[1:].tolist()
    left = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npy")}
    assert len(left) == 2  # the shards that held nothing else are gone
    assert store.keep_only(own, set(KEYS)) == 0
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npy")} == left


def test_a_file_that_is_no_shard_is_named(tmp_path: Path) -> None:
    store = EmbeddingStore(tmp_path)
    folder = store.space_folder("space")
    folder.mkdir(parents=True)
    np.save(folder / "other.npy", np.zeros(3))
    with pytest.raises(TendrilError, match=r"other\.npy is no shard"):
        store.load("space", KEYS, 2)
