"""What a judge and its gateway say of a passage stays in the ledger and its tables: Dagster's storage cannot be erased."""

import json
from pathlib import Path

import polars as pl
import pytest

from tendril_assets_tests.assets.http_stub import serving
from tendril_assets_tests.assets.toy_judging import judge, resources_in, run, spec

QUOTED = "chstens 5 Watt {im} Betrieb"  # of p-2, without its umlaut: SQLite, JSON and UTF-8 write it alike
UP_TO_REPLIES = "summary_requests area_summary_replies area_summaries queries project_queries candidates judge_replies"
FROM_REPLIES = "judge_replies calibration_requests judge_calls judgments"


def refusing(query: str, passage: str) -> tuple[int, str, str]:
    """Refuses what it was asked about, and quotes it as a gateway does that hands on its provider's body."""
    if not query:
        return judge(query, passage)
    return 400, f"provider returned {json.dumps({'input': passage, 'query': query})}", "stop"


def talking(query: str, passage: str) -> tuple[int, str, str]:
    """No verdict but a remark on the passage, as an answer or as one cut short."""
    if not query:
        return judge(query, passage)
    return 200, f"Zum Absatz «{passage}» sage ich nichts.", "stop" if "Holz" in query else "length"


def test_no_reply_and_no_refusal_reaches_dagster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, storage = tmp_path / "home", tmp_path / "dagster"
    home.mkdir()
    storage.mkdir()
    monkeypatch.setenv("TENDRIL_HOME", str(home))
    with serving(refusing) as stub:
        given = resources_in(home, stub.base_url)
        refused = run(spec(), given, UP_TO_REPLIES, storage=str(storage))
        assert not refused.success
        stub.rule = talking
        told = run(spec(), given, FROM_REPLIES, storage=str(storage))
    # Both happened: the refusal is told without its words, and the remarks are in the table for whom they are meant.
    events = b"".join(path.read_bytes() for path in storage.rglob("*") if path.is_file())
    assert b"refused model" in events
    assert b"with status 400. Asking again" in events
    assert told.success, [event.message for event in told.all_events if event.is_failure]
    calls = given["warehouse"].load("toy", "judge_calls")
    said = calls.filter(pl.col("content").str.contains(QUOTED, literal=True))
    assert set(said["status"]) == {"answered", "truncated"}
    assert QUOTED.encode() not in events
    assert b"sage ich nichts" not in events
