"""The second collection on the data folder of the first: killed once on the way, then looked at from every side."""

import json
import re
from pathlib import Path

import duckdb
import pytest

from tendril_assets.release.huggingface import PARTS
from tendril_assets.resources.ledger import Ledger
from tendril_assets.tables import OF_REGISTERS
from tendril_assets_tests.conftest import FinishedDemo
from tendril_assets_tests.demo import tendril

pytestmark = pytest.mark.demo
RELEASE = "release/regulations/0.1.0"


@pytest.fixture(scope="module")
def snapshot(regulations: FinishedDemo) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(str(regulations.home / "snapshot.duckdb"), read_only=True)
    connection.execute("USE regulations")
    return connection


def rows(snapshot: duckdb.DuckDBPyConnection, statement: str) -> list[tuple]:
    return snapshot.execute(statement).fetchall()


def test_it_goes_on_after_the_kill_and_ends_well(regulations: FinishedDemo) -> None:
    assert regulations.finished.code == 0, regulations.finished.output[-4000:]
    assert "(ERROR)" not in regulations.finished.output
    assert regulations.left_over == ()
    assert regulations.finished.asked_twice == 0
    report = Ledger(regulations.home / "ledger").verify()
    assert (report.is_sound, report.answered_twice) == (True, 0)


def test_a_second_run_of_either_sends_nothing_and_trains_nothing(regulations: FinishedDemo) -> None:
    again = tendril(regulations.home, "demo", "--collection", "regulations")
    assert again.code == 0, again.output[-4000:]
    assert (again.requests, again.asked_twice) == (0, 0)
    assert not re.search(r"models__minilm: step \d+/", again.output)


def test_a_part_of_the_graph_runs_by_itself(regulations: FinishedDemo) -> None:
    done = tendril(regulations.home, "run", "regulations_corpus")
    assert done.code == 0, done.output[-4000:]


def test_both_collections_are_in_one_snapshot(snapshot: duckdb.DuckDBPyConnection) -> None:
    schemas = {name for (name,) in rows(snapshot, "SELECT DISTINCT schema_name FROM duckdb_tables()")}
    assert {"tenders", "regulations"} <= schemas
    there = {
        schema: {
            name for (name,) in rows(snapshot, f"SELECT table_name FROM duckdb_tables() WHERE schema_name = '{schema}'")
        }
        for schema in ("tenders", "regulations")
    }
    of_registers = {table.name for table in OF_REGISTERS}
    assert of_registers <= there["regulations"]
    assert of_registers.isdisjoint(there["tenders"])


def test_every_table_of_registers_holds_rows(snapshot: duckdb.DuckDBPyConnection) -> None:
    # Nothing was published before: a sandbox release binds nobody.
    empty_by_nature = {"published_queries"}
    for table in OF_REGISTERS:
        [(n,)] = rows(snapshot, f"SELECT count(*) FROM {table.name}")
        assert n > 0 or table.name in empty_by_nature, table.name


def test_every_listed_act_has_an_outcome_and_every_kept_one_a_split(snapshot: duckdb.DuckDBPyConnection) -> None:
    outcomes = dict(rows(snapshot, "SELECT outcome, count(*) FROM acts GROUP BY outcome"))
    assert outcomes["kept"] >= 40
    assert {"amendment", "low_cyrillic", "not_found"} <= outcomes.keys()
    splits = dict(rows(snapshot, "SELECT split, count(*) FROM splits GROUP BY split"))
    assert splits.keys() == {"train", "validation", "test_live", "test_genre", "test_unseen"}
    [(groups,)] = rows(snapshot, "SELECT count(DISTINCT group_id) FROM corpus")
    assert sum(splits.values()) == groups


def test_every_grade_has_one_route_and_the_routes_are_all_used(snapshot: duckdb.DuckDBPyConnection) -> None:
    routes = dict(rows(snapshot, "SELECT route, count(*) FROM qrel_evidence GROUP BY route"))
    assert {"clauses", "generated", "judge"} <= routes.keys()
    [(grades,)] = rows(snapshot, "SELECT count(*) FROM qrels")
    assert sum(routes.values()) == grades
    kinds = {route for (route,) in rows(snapshot, "SELECT DISTINCT route FROM live_attachments")}
    assert kinds == {"clauses", "pool", "dropped", "none"}


def test_live_questions_stand_twice_and_no_row_rests_on_too_few(snapshot: duckdb.DuckDBPyConnection) -> None:
    parts = {part for (part,) in rows(snapshot, "SELECT DISTINCT part FROM register_scores WHERE level = 'live'")}
    assert parts == {"whole", "without_dominant"}
    [(least,)] = rows(snapshot, "SELECT min(queries) FROM register_scores")
    assert least >= 20
    systems = {s for (s,) in rows(snapshot, "SELECT DISTINCT system FROM register_comparisons")}
    assert systems == {"minilm_base", "minilm_tuned", "hybrid_base", "hybrid", "hybrid_reranked"}


def test_the_release_has_dev_and_test_judgments_that_load(regulations: FinishedDemo) -> None:
    folder = regulations.home / RELEASE
    judged = {path.stem: path.read_text("utf-8").splitlines() for path in (folder / "beir/qrels").iterdir()}
    assert judged.keys() == set(PARTS)
    assert all(lines[0] == "query-id\tcorpus-id\tscore" and len(lines) > 1 for lines in judged.values())
    known = {json.loads(line)["_id"] for line in (folder / "beir/corpus.jsonl").read_text("utf-8").splitlines()}
    assert all(line.split("\t")[1] in known for lines in judged.values() for line in lines[1:])
    card = (folder / "README.md").read_text("utf-8")
    assert "license: mit" in card
    assert "annotated quer" in card
    assert _front(card).count("split: ") == 2 + len(PARTS)


def _front(card: str) -> str:
    front = card.split("---\n", 2)[1]
    return front[: front.index("dataset_info:")]


def test_no_text_of_an_act_is_in_dagsters_storage(regulations: FinishedDemo) -> None:
    """What the snapshot shows of a passage stands nowhere in the storage of runs."""
    [(text,)] = (
        duckdb.connect(str(regulations.home / "snapshot.duckdb"), read_only=True)
        .execute("SELECT text FROM regulations.corpus ORDER BY length(text) DESC LIMIT 1")
        .fetchall()
    )
    marker = max(text.splitlines(), key=len).encode()[:120].decode(errors="ignore").encode()
    holding = [path for path in _files(regulations.home / "dagster") if marker in path.read_bytes()]
    assert len(marker) > 60
    assert holding == []


def _files(folder: Path) -> list[Path]:
    assert folder.is_dir()
    return [path for path in folder.rglob("*") if path.is_file()]
