"""The table of measures at the end of a run, drawn at the widths of terminals."""

import io

import polars as pl
import pytest
from rich.console import Console

from tendril_assets.summary import SHOWN_MEASURES, scores_table

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
