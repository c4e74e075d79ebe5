"""The notebooks run to the end over a published snapshot at any stage, are read-only, and are kept without outputs."""

import os
import re
import shutil
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import duckdb
import nbformat
import pytest
from nbclient import NotebookClient

from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.tables import TABLES
from tendril_assets_tests.release import toy

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
# Cells that draw, of a collection that has everything.
PICTURES = {"judge_agreement": 3, "overview": 4, "results": 5}
NOTHING = "nothing at all"


@pytest.fixture(scope="module")
def homes(tmp_path_factory) -> dict[str, Path]:
    """Homes with a snapshot: the toy collection, a model of it stale, its corpus stages alone, all tables without a row,
    and no table."""
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
    made["stale"] = tmp_path_factory.mktemp("stale")
    snapshot = shutil.copy(made["filled"] / "snapshot.duckdb", made["stale"])
    with duckdb.connect(snapshot) as con:
        removed = ("passage", toy.passage(1, 1, 2), "entry", datetime(2026, 11, 2))
        con.execute("INSERT INTO toy.erased_ids BY POSITION VALUES (?, ?, ?, ?)", removed)
    return made


@pytest.fixture(scope="module")
def runs(homes: dict[str, Path], tmp_path_factory) -> dict[tuple[str, str], list[nbformat.NotebookNode]]:
    """The code cells of (notebook, home) after a run, each from an empty namespace; one kernel for all, for it starts slowly."""
    folder = tmp_path_factory.mktemp("runs")
    below = folder / "notebooks"
    below.mkdir()
    (folder / ".tendril").symlink_to(homes["corpus"], target_is_directory=True)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    places = {
        **{(path.stem, name): (elsewhere, homes[name]) for path in NOTEBOOKS for name in ("filled", "empty", "corpus")},
        ("results", "stale"): (elsewhere, homes["stale"]),
        ("overview", NOTHING): (elsewhere, homes[NOTHING]),
        ("overview", "found"): (below, None),
        ("overview", "missing"): (elsewhere, elsewhere),
    }
    cells, spans = [], {}
    for (stem, name), (start, home) in places.items():
        given = f"os.environ['TENDRIL_HOME'] = {str(home)!r}" if home else "os.environ.pop('TENDRIL_HOME', None)"
        clean = f"%reset -f\nimport os\nos.chdir({str(start)!r})\n{given}\ndel os"
        cells.append(nbformat.v4.new_code_cell(clean))
        read = nbformat.read(NOTEBOOKS[0].parent / f"{stem}.ipynb", as_version=4).cells
        own = [nbformat.v4.new_code_cell(c.source) for c in read if c.cell_type == "code"]
        if name == "stale":  # said before anything is drawn
            own = own[:2]
        spans[stem, name] = slice(len(cells), len(cells) + len(own))
        cells += own
    notebook = nbformat.v4.new_notebook(cells=cells)
    client = NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True)
    apart = {"IPYTHONDIR": str(folder / "ipython"), "MPLCONFIGDIR": str(folder / "matplotlib")}
    given = {k: v for k, v in os.environ.items() if not k.startswith("TENDRIL_")}
    client.execute(env=given | apart)
    return {key: notebook.cells[span] for key, span in spans.items()}


def errors(cells: list[nbformat.NotebookNode]) -> list[str]:
    return [f"{o.ename}: {o.evalue}" for c in cells for o in c.outputs if o.output_type == "error"]


def outputs(cells: list[nbformat.NotebookNode], kind: str) -> list[str]:
    """What code cells gave of one media type."""
    return [o["data"][kind] for c in cells for o in c.outputs if kind in o.get("data", {})]


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
def test_a_finished_collection_is_drawn(path: Path, runs) -> None:
    cells = runs[path.stem, "filled"]
    assert errors(cells) == []
    assert len(outputs(cells, "image/png")) == PICTURES[path.stem]
    assert not [text for text in outputs(cells, "text/markdown") if "Not there yet" in text]
    drawn = [c for c in cells if "plt.subplots(" in c.source]
    assert all("xlabel=" in c.source or "set_xlabel(" in c.source for c in drawn)


def test_figures_that_no_longer_hold_are_said_to_be_stale(runs) -> None:
    told = [text for text in outputs(runs["results", "stale"], "text/markdown") if "stale" in text]
    assert told == [
        "**mini_tuned is stale**: trained on 1 passage removed since 2026-11-02; train it again. "
        "Its figures below no longer hold."
    ]
    assert not [text for text in outputs(runs["results", "filled"], "text/markdown") if "stale" in text]


def test_no_two_curves_look_alike() -> None:
    """Levels and measures are drawn all, however many: none is left out for want of a colour."""
    start = next(c.source for c in nbformat.read(NOTEBOOKS[1], as_version=4).cells if c.cell_type == "code")
    given: dict = {}
    exec(start[start.index("BLUE, ORANGE") : start.index("plt.rcParams")], given)
    looks = [tuple(given["curve"](place).values()) for place in range(20)]
    assert len(set(looks)) == 20
    assert all(a[0] != b[0] and a[1] != b[1] for a, b in pairwise(looks))


@pytest.mark.parametrize(
    ("stem", "stage"),
    [*((p.stem, stage) for p in NOTEBOOKS for stage in ("empty", "corpus")), ("overview", NOTHING)],
)
def test_what_is_not_there_yet_is_said(stem: str, stage: str, runs) -> None:
    cells = runs[stem, stage]
    assert errors(cells) == []
    word = "No rows yet" if stage == "empty" else "Not there yet"
    assert [text for text in outputs(cells, "text/markdown") if word in text]
    # Of a collection that has its corpus alone, the overview draws what became of the passages.
    assert len(outputs(cells, "image/png")) == (stage == "corpus" and stem == "overview")


def test_the_data_folder_is_found_from_a_folder_below(runs) -> None:
    """As when Jupyter starts the notebook in its own folder, beside the default data folder."""
    assert errors(runs["overview", "found"]) == []
    assert outputs(runs["overview", "found"], "image/png")


def test_without_a_snapshot_it_says_what_to_do(runs) -> None:
    first = errors(runs["overview", "missing"])[0]
    assert re.search(r"no snapshot in .*: run `tendril run`, or set TENDRIL_HOME", first)
