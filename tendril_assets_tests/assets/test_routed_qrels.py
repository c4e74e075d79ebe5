"""From the pool to qrels over a real HTTP server: routes, an unaccepted judge, published pairs, and each check broken once."""

import shutil
from datetime import date, datetime
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from tendril_assets.errors import PublishedPairMissing
from tendril_assets.release.huggingface import Rows, write_parquet
from tendril_assets.resources.ledger import Ledger
from tendril_assets_tests.assets.http_stub import serving
from tendril_assets_tests.assets.toy_pool import (
    COLLECTION,
    SPEC,
    hopeless,
    judge,
    resources_in,
    run,
    spec,
    stages,
    write,
)

GOLD = {("l1", "1-П_01022020#0000"): 2, ("l1", "1-П_01022020#0001"): 1, ("q-1", "2-У_01022021#0000"): 2}
JUDGED = {("l2", "1-П_01022020#0002"): 2, ("m1", "2-У_01022021#0001"): 2}
# Six calibration pairs and the two of the pool.
CALLS = 8
DAY = date(2026, 1, 1)
NEIGHBOUR = ("l1", "1-П_01022020#0001")
NOWHERE = "http://127.0.0.1:9/api/v1"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("TENDRIL_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A whole run with a judge that was accepted: its folder, its result and how often the judge was asked."""
    folder = tmp_path_factory.mktemp("finished")
    with serving(judge) as stub, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TENDRIL_HOME", str(folder))
        result = run(spec(), resources_in(folder, stub.base_url))
    return folder, result, stub.calls


@pytest.fixture
def finished(first, home):
    shutil.copytree(first[0], home, dirs_exist_ok=True)
    return resources_in(home, NOWHERE)


def graded(given) -> dict[tuple[str, str], int]:
    return {(q, p): score for q, p, _, score in given["warehouse"].load(COLLECTION, "qrels").iter_rows()}


def routes(given) -> dict[tuple[str, str], str]:
    return {tuple(row[:2]): row[2] for row in given["warehouse"].load(COLLECTION, "qrel_evidence").iter_rows()}


def checks(result: dg.ExecuteInProcessResult) -> dict[str, bool]:
    return {e.check_name: e.passed for e in result.get_asset_check_evaluations()}


def failure(result: dg.ExecuteInProcessResult) -> tuple[str, str]:
    (event,) = [e for e in result.all_events if e.event_type_value == "STEP_FAILURE"]
    error = event.step_failure_data.error
    error = error.cause or error
    return error.cls_name, error.message


def versions(result: dg.ExecuteInProcessResult) -> dict[str, str | None]:
    return {
        e.asset_key.path[-1]: e.materialization.tags.get("dagster/data_version")
        for e in result.get_asset_materialization_events()
    }


def test_each_route_gives_its_grades(first, finished):
    _, result, calls = first
    assert result.success
    assert set(checks(result).values()) == {True}
    assert graded(finished) == GOLD | JUDGED
    assert routes(finished) == {
        **dict.fromkeys(JUDGED, "judge"),
        ("l1", "1-П_01022020#0000"): "clauses",
        NEIGHBOUR: "neighbour",
        ("q-1", "2-У_01022021#0000"): "generated",
    }
    evidence = finished["warehouse"].load(COLLECTION, "qrel_evidence").filter(route="neighbour")["evidence"].to_list()
    # 40 of the 78 characters below the heading.
    assert evidence == ["holds 51 % of 1-П_01022020#0000"]
    # A question whose clause our text lacks has no candidates, and the gold ones are not put to the judge.
    assert set(finished["warehouse"].load(COLLECTION, "candidates")["query_id"]) == {"l2", "m1"}
    assert calls == CALLS


def test_a_second_run_asks_and_changes_nothing(first, finished):
    """No gateway answers there: a request would fail the run."""
    second = run(spec(), finished)
    assert second.success
    assert versions(second) == versions(first[1])
    assert None not in versions(second).values()


def test_where_no_judge_is_accepted_the_graph_goes_on_without_its_labels(home):
    with serving(hopeless) as stub:
        given = resources_in(home, stub.base_url)
        result = run(spec(), given)
        assert result.success
        assert checks(result)["declared_judge_is_accepted"] is False
        assert {name for name, passed in checks(result).items() if not passed} == {"declared_judge_is_accepted"}
        assert graded(given) == GOLD
        assert given["warehouse"].load(COLLECTION, "candidates").is_empty()
        assert given["warehouse"].load(COLLECTION, "judgments").is_empty()
        # The pool stands all the same: people may grade it.
        assert given["warehouse"].load(COLLECTION, "pool").height == len(JUDGED)
        assert Ledger(home / "ledger").answered_keys("judge") == set()
        assert stub.calls == CALLS - len(JUDGED)


def test_what_was_published_stays_though_nothing_grades_it_any_more(finished):
    """Graded by a judge that was accepted once; and by a rule for neighbours that gives another grade now."""
    published = [(*pair, score, None) for pair, score in (JUDGED | {NEIGHBOUR: 2}).items()]
    write(finished["warehouse"], {"landed_qrels": published, "judgments": []})
    result = run(spec(qrels={"neighbour_overlap": 0.9, "append_only": True}), finished, "qrels")
    assert graded(finished) == GOLD | JUDGED | {NEIGHBOUR: 2}
    assert {routes(finished)[pair] for pair in (*JUDGED, NEIGHBOUR)} == {"published"}
    assert set(checks(result).values()) == {True}


def test_a_published_grade_that_a_route_still_gives_keeps_that_route(finished):
    """Else the next build after a release would know of no neighbour any more."""
    before = routes(finished)
    landed = [(*pair, score, None) for pair, score in graded(finished).items()]
    write(finished["warehouse"], {"landed_qrels": landed})
    assert run(spec(), finished, "qrels").success
    assert routes(finished) == before


def test_a_better_grade_replaces_the_published_one_and_is_told(finished, capfd):
    """An accepted judge goes before history, history before the rule for neighbours."""
    write(finished["warehouse"], {"landed_qrels": [("l2", "1-П_01022020#0002", 1, None), (*NEIGHBOUR, 2, None)]})
    assert run(spec(), finished, "qrels").success
    assert graded(finished) == GOLD | JUDGED | {NEIGHBOUR: 2}
    assert "1 published pairs have another grade" in capfd.readouterr().err


LOST = {
    ("l1", "1-П_01022020#0007", 2, None): "the passage is no longer there",
    ("l9", "1-П_01022020#0000", 2, None): "the query is no longer there",
    ("l1", "1-П_01022020#0000", 2, "0123456789abcdef"): "the passage's text is another one than was graded",
}


def test_published_pairs_that_would_vanish_stop_the_build_and_are_named(finished):
    write(finished["warehouse"], {"landed_qrels": list(LOST)})
    before = graded(finished)
    name, message = failure(run(spec(), finished, "qrels"))
    assert name == PublishedPairMissing.__name__
    assert "3 of 3 published pairs would vanish" in message
    for (query, passage, *_), reason in LOST.items():
        assert f"{query} / {passage} (grade 2, published in landed): {reason}" in message
    assert graded(finished) == before
    # The removal list is the one way out; what neighboured a removed gold pair neighbours nothing.
    write(finished["warehouse"], {"removals": [("pair", f"{q}/{p}", "wrong", DAY) for q, p, *_ in LOST]})
    result = run(spec(), finished, "qrels")
    assert set(checks(result).values()) == {True}
    assert graded(finished) == {pair: n for pair, n in before.items() if pair[0] != "l1"}


def test_without_append_only_history_is_told_and_binds_nobody(finished):
    write(finished["warehouse"], {"landed_qrels": [("l1", "1-П_01022020#0007", 2, None)]})
    result = run(spec(qrels={"neighbour_overlap": 0.3}), finished, "qrels")
    assert result.success
    assert "published_pairs_stay" not in checks(result)
    assert graded(finished) == GOLD | JUDGED


def released(given, folder: Path, query_id: str, *, sandbox: bool) -> tuple:
    """A release with one pair that nothing else grades; its row of table ``releases``."""
    corpus = given["warehouse"].load(COLLECTION, "corpus")
    page = pl.col("page").cast(pl.Int64)
    texts = corpus.select(id="passage_id", text="text", act="group_id", document="document_id", page=page)
    qrels = pl.DataFrame([(query_id, "2-У_01022021#0000", 1)], schema=["query-id", "corpus-id", "score"], orient="row")
    columns = ["id", "text", "level", "catalog", "area"]
    queries = pl.DataFrame([(query_id, "?", "manual", "-", "-")], schema=columns, orient="row")
    folder.mkdir(parents=True)
    write_parquet(folder, Rows(texts, queries, qrels))
    return (folder.name, str(folder), "hash", "key", sandbox, 1, 1, 1, datetime(2026, 1, 1), None, None, None)


def test_what_a_release_published_binds_the_next_one_and_a_sandbox_release_does_not(finished, home, capfd):
    own = ("m1", "2-У_01022021#0000")
    tried, real = (
        released(finished, home / "0.1.0", "l2", sandbox=True),
        released(finished, home / "0.2.0", "m1", sandbox=False),
    )
    write(finished["warehouse"], {"releases": [tried, real]})
    assert run(spec(), finished, "qrels").success
    assert graded(finished) == GOLD | JUDGED | {own: 1}
    assert "1 pairs of the sandbox release 0.1.0 are not among the qrels any more" in capfd.readouterr().err
    assert routes(finished)[own] == "published"
    known = finished["warehouse"].load(COLLECTION, "published_pairs").rows()
    assert [row[:3] + row[4:] for row in known] == [(*own, 1, "0.2.0")]

    # Its text changes afterwards: the check that was published with it no longer holds, though the folder is gone.
    changed = pl.when(passage_id=own[1]).then(pl.lit("2-У\nДругой текст.")).otherwise("text")
    corpus = finished["warehouse"].load(COLLECTION, "corpus").with_columns(text=changed)
    finished["warehouse"].replace(COLLECTION, {"corpus": corpus}, "test")
    shutil.rmtree(home / "0.2.0")
    name, message = failure(run(spec(), finished, "qrels"))
    assert name == PublishedPairMissing.__name__
    assert "m1 / 2-У_01022021#0000 (grade 1, published in 0.2.0): the passage's text is another one" in message


def test_a_removed_pair_is_neither_pooled_nor_graded(finished):
    write(finished["warehouse"], {"removals": [("pair", "l2/1-П_01022020#0002", "wrong", DAY)]})
    result = run(spec(), finished, "pool candidates judge_replies judge_calls judgments qrels")
    assert set(checks(result).values()) == {True}
    assert graded(finished) == {pair: n for pair, n in (GOLD | JUDGED).items() if pair[0] != "l2"}


@pytest.mark.parametrize(
    ("table", "statement", "check"),
    [
        ("pool", "UPDATE pool SET place = place + 1", "pool_is_blind_and_whole"),
        ("pool", "UPDATE pool SET systems = ['other']", "pool_is_blind_and_whole"),
        ("pool", "UPDATE pool SET best_rank = 4", "pool_is_blind_and_whole"),
        ("pool", "UPDATE pool SET group_id = 'x'", "pool_is_blind_and_whole"),
        ("pool", "UPDATE pool SET query_id = 'l1' WHERE query_id = 'l2'", "pool_is_blind_and_whole"),
        ("candidates", "DELETE FROM candidates WHERE query_id = 'l2'", "every_pair_of_the_pool"),
        ("candidates", "UPDATE candidates SET passage_id = 'x' WHERE query_id = 'l2'", "every_pair_of_the_pool"),
        ("qrels", "UPDATE qrels SET score = 0 WHERE query_id = 'l2'", "qrels_match_their_evidence"),
        ("qrels", "DELETE FROM qrels WHERE query_id = 'q-1'", "qrels_match_their_evidence"),
        ("qrels", "INSERT INTO published_pairs VALUES ('q', 'p', 1, NULL, '0.1.0')", "published_pairs_stay"),
    ],
)  # fmt: skip
def test_each_check_fails_where_its_property_is_broken(finished, table, statement, check):
    (chosen,) = [c for c in stages(spec()).checks if {s.name for s in c.check_specs} == {check}]
    assert chosen.check_key == dg.AssetCheckKey(dg.AssetKey([COLLECTION, table]), check)
    given = {name: finished[name] for name in chosen.required_resource_keys & finished.keys()}
    assert chosen(dg.build_op_context(), **given).passed
    with finished["warehouse"].transaction(COLLECTION, "break") as connection:
        connection.execute(statement)
    assert not chosen(dg.build_op_context(), **given).passed


def test_the_declared_stack_is_asked_anew_and_a_judge_without_one_is_not_accepted(home):
    stack = {"quantization": "AWQ 4 bit", "libraries": {"vllm": "0.6.3"}, "hardware": "Tesla T4"}

    def with_stacks(**stacks):
        judged = SPEC["judge"]
        grid = {**judged["calibration"], "models": ["toy/judge", "toy/other"]}
        return spec(judge={**judged, "calibration": grid, "stacks": stacks})

    with serving(judge) as stub:
        given = resources_in(home, stub.base_url)
        calibration = "calibration_requests calibration_replies judge_agreement"
        assert run(with_stacks(), given, calibration).success
        assert stub.calls == 12
        assert run(with_stacks(**{"toy/judge": stack}), given, calibration).success
        # The judge whose stack is declared is another judge now; the other one has its answers.
        assert stub.calls == 18
        rows = {r["model"]: r for r in given["warehouse"].load(COLLECTION, "judge_choice").iter_rows(named=True)}
        assert rows["toy/judge"]["accepted"] is True
        assert rows["toy/other"]["accepted"] is False
        assert "judge.stacks declares no quantisation, libraries and hardware" in rows["toy/other"]["reason"]
        systems = {
            r["model"]: r["stacks"]
            for r in given["warehouse"].load(COLLECTION, "calibration_systems").iter_rows(named=True)
        }
        assert systems == {
            "toy/judge": ["toy/judge by stub (AWQ 4 bit; vllm 0.6.3; Tesla T4)"],
            "toy/other": ["toy/other by stub"],
        }
        newer = {**stack, "libraries": {"vllm": "0.7.0"}}
        assert run(with_stacks(**{"toy/judge": newer}), given, calibration).success
        assert stub.calls == 24
