"""What a removal leaves to be done by hand, and how it is told at the end of a run."""

import io
from datetime import datetime
from pathlib import Path

import pytest
from rich.console import Console

from tendril_assets.defs import DEFAULT_COLLECTION, collection_spec
from tendril_assets.removal_state import RemovalState, WithdrawnVersion, removal_state
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import Settings
from tendril_assets.summary import show_after
from tendril_assets.tables import TABLES

AT = datetime(2026, 11, 30, 18)
TAGS = "tendril publish --delete-tags takes old tags off the hub"


def warehouse(settings: Settings) -> Warehouse:
    return Warehouse(database=str(settings.warehouse), snapshot=str(settings.snapshot), wait_s=10)


def add_removal(settings: Settings, collection: str) -> None:
    """A version withdrawn, one that stands, and a model trained on one removed passage and one that is not."""
    rows = {
        "releases": [
            ("0.0.1", "/r/0.0.1", "h", "k", False, 2, 1, 2, AT, AT, 1, 1),
            ("0.0.2", "/r/0.0.2", "i", "k", False, 1, 1, 1, AT, None, None, None),
        ],
        "erased_ids": [("passage", "p-1", "P-1/doc/1/1", AT)],
        "trained_passages": [("most_embed_de", "w", f"p-{i}", "d-1", "g-1", "train") for i in (1, 2)],
    }
    frames = {name: TABLES[name].frame(found) for name, found in rows.items()}
    warehouse(settings).replace(collection, frames, "test")


def test_it_is_read_from_the_warehouse(tmp_path: Path) -> None:
    settings = Settings.from_env({"TENDRIL_HOME": str(tmp_path)})
    assert removal_state(warehouse(settings), DEFAULT_COLLECTION) == RemovalState()
    add_removal(settings, DEFAULT_COLLECTION)
    assert removal_state(warehouse(settings), DEFAULT_COLLECTION) == RemovalState(
        {"0.0.1": WithdrawnVersion("2026-11-30", sandbox=False)},
        {"most_embed_de": "trained on 1 passage removed since 2026-11-30"},
    )


@pytest.mark.parametrize(
    ("is_present", "sandbox", "advice"),
    [
        (True, False, f": raise release.version; {TAGS}"),
        (False, False, f": {TAGS}"),
        (True, True, ": raise release.version"),
        (False, True, ""),
    ],
)
def test_a_withdrawn_version_says_what_to_do(is_present: bool, sandbox: bool, advice: str) -> None:
    spec = collection_spec(DEFAULT_COLLECTION, None)
    version = spec.release.version if is_present else "0.0.1"
    [line] = RemovalState({version: WithdrawnVersion("2026-11-30", sandbox)}).lines(spec)
    assert line == f"version {version} was withdrawn on 2026-11-30, for it held removed passages{advice}"


def test_a_stale_model_is_trained_again_or_its_weights_go() -> None:
    state = RemovalState({}, {"most_embed_de": "trained on x", "former": "trained on y"})
    assert state.lines(collection_spec(DEFAULT_COLLECTION, None)) == [
        "model most_embed_de was trained on x: train again: tendril run",
        "model former was trained on y: delete its weights, it is not declared",
    ]


@pytest.mark.parametrize("job", ["", "_corpus", "_judging"])
def test_the_end_of_a_run_tells_it_where_there_is_any(tmp_path: Path, job: str) -> None:
    settings = Settings.from_env({"TENDRIL_HOME": str(tmp_path), "TENDRIL_PROFILE": "none"})
    # Measures are not what is looked at here: there are none.
    rows = {name: TABLES[name].empty() for name in ("comparisons", "erased_ids")}
    warehouse(settings).replace(DEFAULT_COLLECTION, rows, "test")

    def told() -> list[str]:
        screen = io.StringIO()
        show_after(settings, f"{DEFAULT_COLLECTION}{job}", DEFAULT_COLLECTION, Console(file=screen, width=400))
        return [line for line in screen.getvalue().splitlines() if line.startswith("after a removal")]

    assert told() == []
    add_removal(settings, DEFAULT_COLLECTION)
    assert told() == [
        f"after a removal version 0.0.1 was withdrawn on 2026-11-30, for it held removed passages: {TAGS}",
        "after a removal model most_embed_de was trained on 1 passage removed since 2026-11-30: train again: tendril run",
    ]
