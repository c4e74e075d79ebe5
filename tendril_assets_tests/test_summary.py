"""What stands at the end of a run: the table of measures, drawn at the widths of terminals, and what of it is stale."""

import io
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import Settings
from tendril_assets.summary import SHOWN_MEASURES, scores_table, show_results
from tendril_assets.tables import TABLES

NAMES = ["bm25", *(f"arctic_embed_l_v2_0_{i}_{end}" for i in range(4) for end in ("base", "tuned"))]


def drawn(width: int, systems: int) -> list[str]:
    rows = [(name, m, 0.5012, 0.4361, 0.5604) for name in NAMES[:systems] for m in (*SHOWN_MEASURES, "recall@100")]
    scores = pl.DataFrame(rows, schema=["system", "measure", "value", "low", "high"], orient="row")
    screen = io.StringIO()
    Console(file=screen, width=width, highlight=False, soft_wrap=True).print(scores_table(scores))
    return screen.getvalue().splitlines()


@pytest.mark.parametrize("systems", [3, 5, 9])
@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_system_is_one_line(width: int, systems: int) -> None:
    head, _, *rows = drawn(width, systems)
    assert head.split() == ["system", *SHOWN_MEASURES]
    assert [row.split() for row in rows] == [
        [name, "0.501", "[0.436,", "0.560]", "0.501", "0.501", "0.501"] for name in NAMES[:systems]
    ]
    # 27 characters of the longest name, 20 + 9 + 6 + 5 of the measures, 3 between two columns.
    assert len(drawn(width, 9)[0].rstrip()) <= 79


@pytest.mark.parametrize("collection", ["tenders", "regulations"])
def test_stale_figures_are_told_beside_the_measures_of_any_collection(tmp_path: Path, collection: str) -> None:
    """A passage was removed that the fine-tuned model was trained on."""
    settings = Settings.from_env({"TENDRIL_HOME": str(tmp_path)})
    frames = {name: table.empty() for name, table in TABLES.items()}
    since = datetime(2026, 5, 1)
    scored = {"system": "mini_tuned", "level": "all", "measure": "ndcg@10", "value": 0.5, "groups": 3, "queries": 30}
    scored |= {"weights": "w1", "test_hash": "h", "excluded": 0, "excluded_groups": 0}
    scored |= {"part": "whole", "unit": "query", "n": 30, "generated": 0.0, "dominant": "g1", "dominant_share": 0.4}
    for name in ("system_scores", "register_scores"):
        columns = TABLES[name].schema
        row = {column: scored.get(column) for column in columns}
        frames[name] = pl.DataFrame([row], schema=columns)
    frames["trained_passages"] = TABLES["trained_passages"].frame([("mini", "w1", "p1", "d1", "g1", "train")])
    frames["erased_ids"] = TABLES["erased_ids"].frame([("passage", "p1", "e1", since)])
    Warehouse(database=str(settings.warehouse), snapshot=str(settings.snapshot)).replace(
        collection, frames, purpose="test"
    )
    screen = io.StringIO()
    show_results(settings, collection, Console(file=screen, width=120, highlight=False, soft_wrap=True))
    assert "mini_tuned is stale: trained on 1 passage removed since 2026-05-01" in screen.getvalue()
