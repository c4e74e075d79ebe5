"""What the command line shows of registers: each with the number of queries behind it, the live ones twice."""

import io

import polars as pl
from rich.console import Console

from tendril_assets.defs import collection_spec
from tendril_assets.summary_registers import compositions, register_table

SPEC = collection_spec("regulations", "sandbox")
# level, part, queries, groups, generated, dominant, its share, value of bm25, value of hybrid
ROWS = [
    ("live", "whole", 76, 6, 0.0, "214-П_12032019", 0.45, 0.84, 0.376),
    ("live", "without_dominant", 42, 5, 0.0, "318-П_21092015", 0.33, 0.845, 0.331),
    ("unseen", "whole", 41, 8, 1.0, "447-П_19042021", 0.2, 0.53, None),
    ("all", "whole", 117, 14, 0.35, "214-П_12032019", 0.29, 0.7314, 0.4),
]


def scores() -> pl.DataFrame:
    rows = [
        {
            "system": system,
            "level": level,
            "part": part,
            "value": value,
            "queries": queries,
            "groups": groups,
            "excluded": 3,
            "generated": generated,
            "dominant": dominant,
            "dominant_share": share,
        }
        for level, part, queries, groups, generated, dominant, share, *values in ROWS
        for system, value in zip(("bm25", "hybrid"), values, strict=True)
        if value is not None
    ]
    return pl.DataFrame(rows)


def drawn(width: int) -> list[list[str]]:
    screen = io.StringIO()
    Console(file=screen, width=width, highlight=False, soft_wrap=True).print(register_table(scores(), SPEC))
    return [line.split() for line in screen.getvalue().splitlines()]


def test_a_register_is_a_column_with_its_number_of_queries() -> None:
    head, _, *rows = drawn(80)
    assert head == ["system", "live", "live*", "unseen", "all"]
    assert rows == [
        ["queries", "76", "42", "41", "117"],
        ["bm25", "0.840", "0.845", "0.530", "0.731"],
        ["hybrid", "0.376", "0.331", "-", "0.400"],
    ]


def test_no_register_stands_without_what_it_rests_on() -> None:
    assert [line.strip().replace("\u00a0", " ") for line in compositions(scores(), SPEC)] == [
        "all registers: 117 queries of 14 acts, 35 % written by a model, 29 % about 214-П_12032019, 3 left out",
        "live: 76 queries of 6 acts, 0 % written by a model, 45 % about 214-П_12032019, 3 left out",
        "live*: without 214-П_12032019",
        "unseen: 41 queries of 8 acts, 100 % written by a model, 20 % about 447-П_19042021, 3 left out",
    ]
