from pathlib import Path

import polars as pl
import pytest

from tendril_assets.errors import WarehouseError
from tendril_assets.resources.artifacts import Artifacts


@pytest.fixture
def artifacts(tmp_path: Path) -> Artifacts:
    return Artifacts(root=str(tmp_path / "artifacts"))


def test_what_is_cached_comes_back_and_nothing_else_does(artifacts: Artifacts) -> None:
    artifacts.put("masked", "key", b"value")
    artifacts.put("masked", "empty", b"")
    assert artifacts.cached("masked", "key") == b"value"
    assert artifacts.cached("masked", "empty") == b""
    assert artifacts.cached("masked", "other") is None
    assert artifacts.cached("extractions", "key") is None


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b[:40] + b"x" + b[41:], lambda b: b""])
def test_a_damaged_cache_file_counts_as_absent(artifacts: Artifacts, damage) -> None:
    artifacts.put("masked", "key", b"a value of some length")
    (path,) = (p for p in Path(artifacts.root).rglob("*") if p.is_file())
    path.write_bytes(damage(path.read_bytes()))
    assert artifacts.cached("masked", "key") is None
    artifacts.put("masked", "key", b"again")
    assert artifacts.cached("masked", "key") == b"again"


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
