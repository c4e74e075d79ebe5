"""The notebooks run to the end over a published snapshot, are read-only, and are kept without outputs."""

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.tables import TABLES
from tendril_assets_tests.release import toy

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def homes(tmp_path_factory) -> dict[str, Path]:
    """Two homes with a snapshot: the toy collection, and the same tables without a row."""
    made = {}
    for name, frames in (("filled", toy.tables()), ("empty", {n: t.empty() for n, t in TABLES.items()})):
        home = tmp_path_factory.mktemp(name)
        warehouse = Warehouse(
            database=str(home / "warehouse.duckdb"), snapshot=str(home / "snapshot.duckdb"), wait_s=10
        )
        warehouse.replace("toy", frames, "test")
        warehouse.publish_snapshot()
        made[name] = home
    return made


def test_there_are_three() -> None:
    assert [p.stem for p in NOTEBOOKS] == ["judge_agreement", "overview", "results"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_outputs_are_stripped_and_the_snapshot_is_opened_read_only(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [c for c in notebook.cells if c.cell_type == "code"]
    assert all(not c.outputs and c.execution_count is None for c in code)
    source = "\n".join(c.source for c in code)
    assert source.count("duckdb.connect(") == 1
    assert 'duckdb.connect(str(home / "snapshot.duckdb"), read_only=True)' in source


@pytest.mark.parametrize("filled", ["filled", "empty"])
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_it_runs(path: Path, filled: str, homes: dict[str, Path], tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("TENDRIL_HOME", str(homes[filled]))
    monkeypatch.delenv("TENDRIL_COLLECTION", raising=False)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "matplotlib"))
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute(env=dict(os.environ))
    pictures = [
        o for c in notebook.cells if c.cell_type == "code" for o in c.outputs if "image/png" in o.get("data", {})
    ]
    assert pictures
