"""Four acts with their clauses: two share a number, one restarts its numbers in an appendix and in two sections."""

import datetime as dt

import polars as pl

from tendril_assets.tables import TABLES

RULES, OLD, NEW, SMALL = "590-П_28062017", "4892-У_31082018", "4892-У_01022022", "11-МР_20042015"
ACTS = pl.DataFrame(
    [
        (RULES, "g-rules", "590-П", dt.date(2017, 6, 28), "Положение"),
        (OLD, "g-old", "4892-У", dt.date(2018, 8, 31), "Указание"),
        (NEW, "g-new", "4892-У", dt.date(2022, 2, 1), "Указание"),
        (SMALL, "g-small", "11-МР", dt.date(2015, 4, 20), "Методические рекомендации"),
    ],
    schema=["project", "group_id", "number", "date", "kind"],
    orient="row",
)
# act, place, section, clauses, first and last character: 1 and 2 of the rules overlap, and so do 5 and 6.
_PASSAGES = [
    (RULES, 0, "", ["1", "2"], 0, 100),
    (RULES, 1, "Глава 3", ["3.1"], 90, 200),
    (RULES, 2, "Глава 3", ["3.1", "3.9"], 180, 300),
    (RULES, 3, "Глава 3", ["3.10", "3.10.1"], 300, 400),
    (RULES, 4, "Приложение 1", ["1", "2", "5"], 500, 600),
    (RULES, 5, "Приложение 2", ["1"], 600, 700),
    (RULES, 6, "Глава 4", ["4.1", "4.3"], 400, 500),
    (OLD, 0, "", ["1", "1.1"], 0, 100),
    (NEW, 0, "", ["1", "1.2"], 0, 100),
    (SMALL, 0, "Раздел I", ["1"], 0, 100),
    (SMALL, 1, "Раздел II", ["1", "2"], 200, 300),
]
CLAUSES = TABLES["passage_clauses"].frame(
    [
        (f"{act}#{place:04d}", act, section, clauses, None, start, end, 50, f"{place:016x}")
        for act, place, section, clauses, start, end in _PASSAGES
    ]
)
PRESENT = CLAUSES["passage_id"]
RULES_SECTION = "Резервы (Положение Банка России от 28.06.2017 № 590-П)"


def live(*rows: tuple[str, str, str, str]) -> pl.DataFrame:
    """Rows of ``live_questions``: id, text, section, topic; empty for none."""
    return TABLES["live_questions"].frame([(*row[:2], row[2] or None, row[3] or None, None) for row in rows])
