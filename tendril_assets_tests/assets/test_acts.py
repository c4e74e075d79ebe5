"""The check that every listed act has one fate: each way in which it can be wrong is told."""

import datetime as dt

import polars as pl
import pytest

from tendril_assets.assets.acts import acts_metadata, unaccounted
from tendril_assets.tables import TABLES

DAY = dt.date(2020, 1, 1)


def act(place: int, key: str | None, outcome: str = "kept", message: str | None = None) -> tuple[object, ...]:
    return (place, key, "5-У", DAY, "Указание", "О деле", None, outcome, 1.0, 10, message)


def acts(*rows: tuple[object, ...]) -> pl.DataFrame:
    return TABLES["acts"].frame(list(rows))


def test_all_accounted() -> None:
    frame = acts(act(1, "a"), act(2, "b", "amendment"), act(3, None, "no_date"))
    assert unaccounted(frame, pl.Series(["a"]), pl.Series(["a"])) == []


@pytest.mark.parametrize(
    ("frame", "projects", "documents", "told"),
    [
        (acts(act(1, "a"), act(3, "b")), ["a", "b"], ["a", "b"], "the rows are not numbered 1 to their number"),
        (acts(act(1, "a", "lost")), [], [], "row 1 has the outcome lost"),
        (acts(act(1, "a"), act(2, "a")), ["a"], ["a"], "a is kept twice"),
        (acts(act(1, "a")), [], ["a"], "a is kept and not among the projects"),
        (acts(act(1, "a")), ["a"], [], "a is kept and not among the documents"),
        (acts(act(1, "a")), ["a", "b"], ["a"], "b is among the projects and not kept"),
        (acts(act(1, "a")), ["a"], ["a", "a"], "a is twice among the documents"),
        (acts(act(1, None)), [], [], "1 acts are kept without a key"),
    ],
)
def test_what_does_not_add_up(frame: pl.DataFrame, projects: list[str], documents: list[str], told: str) -> None:
    assert unaccounted(frame, pl.Series(projects, dtype=pl.String), pl.Series(documents, dtype=pl.String)) == [told]


def test_what_was_not_found_is_told_first() -> None:
    found = acts_metadata(acts(act(1, "a", message="read as"), act(2, "b", "not_found", "no such issue")))
    assert found["kept_by_kind"].value.endswith("| Указание | 1 |")
    lines = found["told"].value.splitlines()
    assert "no such issue" in lines[2]
    assert "read as" in lines[3]
    assert found["characters"] == 10
