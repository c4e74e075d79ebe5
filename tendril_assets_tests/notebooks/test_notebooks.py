"""The notebooks run to the end over a published snapshot at any stage, are read-only, and are kept without outputs."""

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.tables import TABLES
from tendril_assets_tests.release import toy

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
# Cells that draw, of a collection that has everything.
PICTURES = {"judge_agreement": 3, "overview": 4, "results": 5}
NOTHING = "nothing at all"


@pytest.fixture(scope="module")
def homes(tmp_path_factory) -> dict[str, Path]:
    """Homes with a snapshot: the toy collection, its corpus stages alone, all tables without a row, and no table."""
    filled = toy.tables()
    frames = {
        "filled": filled,
        "corpus": {n: f for n, f in filled.items() if TABLES[n].stage in ("landing", "corpus")},
        "empty": {n: t.empty() for n, t in TABLES.items()},
        NOTHING: {},
    }
    made = {}
    for name, tables in frames.items():
        home = tmp_path_factory.mktemp(name.replace(" ", "_"))
        warehouse = Warehouse(
            database=str(home / "warehouse.duckdb"), snapshot=str(home / "snapshot.duckdb"), wait_s=10
        )
        warehouse.replace("toy", tables, "test")
        warehouse.publish_snapshot()
        made[name] = home
    return made


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("TENDRIL_COLLECTION", raising=False)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "matplotlib"))


def executed(path: Path, folder: Path, home: Path | None = None) -> nbformat.NotebookNode:
    """The notebook after a run from ``folder``; ``home`` None leaves ``TENDRIL_HOME`` unset."""
    notebook = nbformat.read(path, as_version=4)
    given = {k: v for k, v in os.environ.items() if k != "TENDRIL_HOME"}
    client = NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    client.execute(env=given | ({"TENDRIL_HOME": str(home)} if home else {}))
    return notebook


def outputs(notebook: nbformat.NotebookNode, kind: str) -> list[str]:
    """What code cells gave of one media type."""
    return [
        o["data"][kind] for c in notebook.cells if c.cell_type == "code" for o in c.outputs if kind in o.get("data", {})
    ]


def test_there_are_three() -> None:
    assert [p.stem for p in NOTEBOOKS] == sorted(PICTURES)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_outputs_are_stripped_and_the_snapshot_is_opened_read_only(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [c for c in notebook.cells if c.cell_type == "code"]
    assert all(not c.outputs and c.execution_count is None for c in code)
    source = "\n".join(c.source for c in code)
    assert source.count("duckdb.connect(") == 1
    assert 'duckdb.connect(str(home / "snapshot.duckdb"), read_only=True)' in source


def test_they_begin_alike() -> None:
    """What opens the snapshot is the same cell in each, so that it is understood once."""
    first = {next(c.source for c in nbformat.read(p, as_version=4).cells if c.cell_type == "code") for p in NOTEBOOKS}
    assert len(first) == 1


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_finished_collection_is_drawn(path: Path, homes: dict[str, Path], tmp_path: Path) -> None:
    notebook = executed(path, tmp_path, homes["filled"])
    assert len(outputs(notebook, "image/png")) == PICTURES[path.stem]
    assert not [text for text in outputs(notebook, "text/markdown") if "Not there yet" in text]
    drawn = [c for c in notebook.cells if c.cell_type == "code" and "plt.subplots(" in c.source]
    assert all("xlabel=" in c.source or "set_xlabel(" in c.source for c in drawn)


@pytest.mark.parametrize(
    ("path", "stage"),
    [*((p, stage) for p in NOTEBOOKS for stage in ("empty", "corpus")), (NOTEBOOKS[1], NOTHING)],
    ids=lambda given: getattr(given, "stem", given),
)
def test_what_is_not_there_yet_is_said(path: Path, stage: str, homes: dict[str, Path], tmp_path: Path) -> None:
    notebook = executed(path, tmp_path, homes[stage])
    word = "No rows yet" if stage == "empty" else "Not there yet"
    assert [text for text in outputs(notebook, "text/markdown") if word in text]
    # Of a collection that has its corpus alone, the overview draws what became of the passages.
    assert len(outputs(notebook, "image/png")) == (stage == "corpus" and path.stem == "overview")


def test_the_data_folder_is_found_from_a_folder_below(homes: dict[str, Path], tmp_path: Path) -> None:
    """As when Jupyter starts the notebook in its own folder, beside the default data folder."""
    below = tmp_path / "notebooks"
    below.mkdir()
    (tmp_path / ".tendril").symlink_to(homes["corpus"], target_is_directory=True)
    assert outputs(executed(NOTEBOOKS[1], below), "image/png")


def test_without_a_snapshot_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(CellExecutionError, match=r"no snapshot in .*: run `tendril run`, or set TENDRIL_HOME"):
        executed(NOTEBOOKS[1], tmp_path, tmp_path)
