"""The step that plans the candidates notes what each request asks about, before anything can be asked."""

from pathlib import Path

import polars as pl
import pytest

from tendril_assets.corpus.erasure import Removed
from tendril_assets.judging.purposes import DRIFT, HAND_OVERS
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.erasing import documents_hit, erase_texts, removed_requests
from tendril_assets.resources.ledger import Ledger
from tendril_assets.tables import TABLES
from tendril_assets_tests.assets.http_stub import serving
from tendril_assets_tests.assets.toy_judging import (
    CANDIDATES,
    REQUESTS,
    SPEC,
    TABLES_BEFORE,
    judge,
    resources_in,
    run,
    spec,
)
from tendril_assets_tests.resources.test_erasing import HASHER

UP_TO = "summary_requests area_summary_replies area_summaries queries project_queries candidates request_passages"
REST = "calibration_requests judge_replies judge_calls judgments"
OTHER = {"judge": {**SPEC["judge"], "llm": {**SPEC["judge"]["llm"], "model": "toy/other"}}}
DOCUMENTS = {row[0]: row[3] for row in TABLES_BEFORE["corpus"]}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TENDRIL_HOME", str(tmp_path))
    return tmp_path


def noted(given) -> set[tuple]:
    return set(given["warehouse"].load("toy", "request_passages").rows())


def pairs(given) -> set[tuple]:
    rows = given["warehouse"].load("toy", "candidates", ["request_key", "passage_id", "group_id"]).rows()
    return {(key, passage, DOCUMENTS[passage], group) for key, passage, group in rows}


def test_nothing_is_handed_over_that_was_not_noted(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Artifacts.write_frame

    def cut_off(self: Artifacts, collection: str, name: str, frame: pl.DataFrame) -> Path:
        if name == "judge_requests":
            raise RuntimeError("cut off")
        return write(self, collection, name, frame)

    with serving(judge) as stub:
        given = resources_in(home, stub.base_url)
        monkeypatch.setattr(Artifacts, "write_frame", cut_off)
        with pytest.raises(RuntimeError, match="cut off"):
            run(spec(), given, UP_TO, raise_on_error=True)
    assert len(noted(given)) == CANDIDATES
    assert not given["warehouse"].exists("toy", "candidates")


def test_every_judge_is_remembered_and_all_its_replies_go_with_their_passage(home: Path) -> None:
    """p-2 ("Höchstens 5 Watt") has 4 requests of each judge, of which the drift check repeats some."""
    checked = spec(judge={**SPEC["judge"], "drift": {"sample": REQUESTS}})
    with serving(judge) as stub:
        given = resources_in(home, stub.base_url)
        run(spec(**OTHER), given, f"{UP_TO} {REST}", raise_on_error=True)
        first = pairs(given)
        # 14 pairs; none of them is asked twice about the same passage.
        assert noted(given) == first
        assert len(first) == CANDIDATES
        run(checked, given, f"candidates request_passages {REST}", raise_on_error=True)
        second = pairs(given)
        assert not {row[0] for row in first} & {row[0] for row in second}
        assert noted(given) == first | second
        result = run(checked, given, "candidates request_passages drift_requests", raise_on_error=True)
    made = {
        event.asset_key.path[-1]: event.step_materialization_data.materialization.metadata
        for event in result.get_asset_materialization_events()
    }["request_passages"]
    assert (made["new"].value, made["dagster/row_count"].value) == (0, 2 * CANDIDATES)
    repeats = given["artifacts"].read_frame("toy", HAND_OVERS[DRIFT].file)
    assert repeats.height == REQUESTS
    asked = noted(given)
    assert set(repeats["request_key"]) <= {row[0] for row in asked}
    assert len(asked) == 3 * CANDIDATES

    ledger = Ledger(home / "ledger")
    before = ledger.answered_keys()
    removed = Removed.of([("passage", "p-2")])
    left = [row for row in TABLES_BEFORE["corpus"] if row[0] != "p-2"]
    given["warehouse"].replace("toy", {"corpus": TABLES["corpus"].frame(left)}, "test")
    texts = given["warehouse"].load("toy", "corpus", ["text"])["text"]
    hit = documents_hit(given["warehouse"], "toy", removed, HASHER)
    assert hit == {"d-1"}
    found = removed_requests(given["warehouse"], given["artifacts"], "toy", removed, hit, texts)
    of_passage = {row[0] for row in asked if row[1] == "p-2"}
    assert len(of_passage) == 12
    assert set(found.keys) == of_passage
    list(erase_texts(given["warehouse"], given["artifacts"], ledger, "toy", removed, HASHER))
    # The replies to the repeats were never asked for.
    assert before - ledger.answered_keys() == of_passage - set(repeats["request_key"])
    assert len(before - ledger.answered_keys()) == 8
    for name in ("judge_requests", HAND_OVERS[DRIFT].file):
        rows = given["artifacts"].read_frame("toy", name)
        assert "Höchstens 5 Watt {im} Betrieb." not in set(rows["passage_text"])
        assert rows.height == REQUESTS - 4
