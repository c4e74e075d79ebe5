"""What analysts see of the money: by model and by day, unknown apart from zero, cached shares of what was named."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import duckdb
import polars as pl
import pytest

from tendril_assets.resources import sql
from tendril_assets.resources.warehouse import create_statements
from tendril_assets.tables import TABLES

CALL: dict[str, Any] = {
    "purpose": "judge",
    "model": "maker/model",
    "provider": "route",
    "status": "answered",
    "attempts": 1,
    "seconds": 2.0,
    "called_at": datetime(2026, 11, 29, 23, 59, 59),
    "prompt_tokens": 100,
    "completion_tokens": 2,
    "cached_tokens": 40,
    "cost": Decimal("0.0003"),
    "cost_estimate": None,
}


def call(sequence: int, **fields: Any) -> dict[str, Any]:
    row = dict.fromkeys(TABLES["judge_calls"].schema)
    return {**row, **CALL, "request_key": f"k{sequence}", "sequence": sequence, **fields}


CALLS = [
    call(1),
    # A free answer is a known cost of zero; this one was asked twice before it came.
    call(2, cost=Decimal(0), cached_tokens=0, attempts=3, called_at=datetime(2026, 11, 30)),
    # Its cost was not named: by token prices 0.0002, which is never added.
    call(3, cost=None, cost_estimate=Decimal("0.0002"), cached_tokens=80, called_at=datetime(2026, 11, 30)),
    # This route names no cached tokens, so its prompt is no part of the share.
    call(4, provider=None, cached_tokens=None, status="truncated", called_at=datetime(2026, 11, 30)),
    call(5, purpose="area_summary", prompt_tokens=0, cached_tokens=0, called_at=datetime(2026, 11, 30)),
]


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for statement in create_statements("toy", TABLES["judge_calls"]):
        connection.execute(statement)
    connection.execute("USE toy")
    connection.register("incoming", pl.DataFrame(CALLS, schema=TABLES["judge_calls"].schema))
    connection.execute("INSERT INTO judge_calls SELECT * FROM incoming")
    return connection


def rows(connection: duckdb.DuckDBPyConnection, view: str) -> list[dict[str, Any]]:
    return connection.sql(sql.query(f"views/{view}")).pl().rows(named=True)


def test_by_day_purpose_model_and_route(connection: duckdb.DuckDBPyConnection) -> None:
    found = rows(connection, "cost_by_day")
    assert [(r["day"], r["purpose"], r["provider"]) for r in found] == [
        (date(2026, 11, 29), "judge", "route"),
        (date(2026, 11, 30), "area_summary", "route"),
        (date(2026, 11, 30), "judge", "route"),
        (date(2026, 11, 30), "judge", None),
    ]
    second = found[2]
    assert (second["calls"], second["answers"]) == (4, 2)
    assert (second["known_cost"], second["unknown_costs"], second["estimated_cost"]) == (0, 1, Decimal("0.0002"))
    assert (second["prompt_tokens"], second["completion_tokens"], second["cached_tokens"]) == (200, 4, 80)
    assert second["cached_share"] == pytest.approx(0.4)
    # Nothing named and nothing asked are no share, which is not a share of zero.
    assert [r["cached_share"] for r in (found[1], found[3])] == [None, None]


def test_by_model_and_route(connection: duckdb.DuckDBPyConnection) -> None:
    found = {(r["purpose"], r["provider"]): r for r in rows(connection, "cost_by_model")}
    judge = found["judge", "route"]
    assert (judge["requests"], judge["answers"], judge["attempts"]) == (3, 3, 5)
    assert (judge["known_cost"], judge["unknown_costs"]) == (Decimal("0.0003"), 1)
    assert judge["estimated_cost"] == Decimal("0.0002")
    # 40 + 0 + 80 of 300 tokens; two known costs of together 0.0003.
    assert judge["cached_share"] == pytest.approx(0.4)
    assert judge["usd_per_1000_known"] == pytest.approx(0.15)
    assert found["judge", None]["cached_share"] is None
    assert found["judge", None]["answered"] == 0


@pytest.mark.parametrize("view", ["cost_by_day", "cost_by_model"])
def test_shares_are_shown_to_4_digits(connection: duckdb.DuckDBPyConnection, view: str) -> None:
    connection.execute("UPDATE judge_calls SET prompt_tokens = 300, cached_tokens = 100, cost = 0.000123456")
    found = rows(connection, view)
    assert {r["cached_share"] for r in found} == {0.3333}
    if view == "cost_by_model":
        assert {r["usd_per_1000_known"] for r in found} == {0.123456}


@pytest.mark.parametrize("view", ["cost_by_day", "cost_by_model"])
def test_views_add_up_to_the_ledger(connection: duckdb.DuckDBPyConnection, view: str) -> None:
    found = rows(connection, view)
    assert sum(r["known_cost"] for r in found) == Decimal("0.0009")
    assert sum(r["answers"] for r in found) == len(CALLS)
    assert sum(r["unknown_costs"] for r in found) == 1
