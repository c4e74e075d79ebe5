"""What a change costs, counted at a real HTTP server: only the requests it touches; nothing on the way back."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tendril_assets.resources.ledger import Ledger
from tendril_assets.spec import CollectionSpec
from tendril_assets_tests.assets.http_stub import Stub, serving
from tendril_assets_tests.assets.toy_judging import CANDIDATES, REQUESTS, judge, resources_in, run, spec

ASK = "candidates judge_replies"
READ = f"{ASK} judge_calls judgments"


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which everything is answered."""
    folder = tmp_path_factory.mktemp("answered")
    with serving(judge) as stub, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TENDRIL_HOME", str(folder))
        run(spec(), resources_in(folder, stub.base_url), raise_on_error=True)
    return folder


class Home:
    def __init__(self, folder: Path, stub: Stub) -> None:
        self.stub, self.resources, self.ledger = stub, resources_in(folder, stub.base_url), folder / "ledger"

    def calls_of(self, chosen: CollectionSpec, selection: str = ASK) -> int:
        before = self.stub.calls
        assert run(chosen, self.resources, selection, raise_on_error=True).success
        return self.stub.calls - before

    def change(self, statement: str) -> None:
        with self.resources["warehouse"].transaction("toy", "change") as connection:
            connection.execute(statement)


@pytest.fixture
def home(answered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    shutil.copytree(answered, tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("TENDRIL_HOME", str(tmp_path))
    with serving(judge) as stub:
        yield Home(tmp_path, stub)


def judged_by(**changes: Any) -> CollectionSpec:
    """The toy collection with another judge."""
    before = spec().judge.model_dump()
    llm = {**before["llm"], **{k: v for k, v in changes.items() if k != "guideline"}}
    return spec(judge={**before, "llm": llm, "guideline": changes.get("guideline", before["guideline"])})


@pytest.mark.parametrize(
    ("statement", "opened"),
    [
        ("UPDATE corpus SET page = 7", 0),
        # Four queries ask for p-2.
        ("UPDATE corpus SET text = 'Neu' WHERE passage_id = 'p-2'", 4),
        # p-4 repeats p-1; two queries ask for it, until now by the requests of p-1.
        ("UPDATE corpus SET text = 'Neu' WHERE passage_id = 'p-4'", 2),
        # p-3 becomes what p-1 is: its four queries have asked that.
        ("UPDATE corpus SET text = 'Es wird FSC verlangt.' WHERE passage_id = 'p-3'", 0),
        # The query meets p-1 and its copy p-4, p-2 and p-3: three texts.
        ("UPDATE queries SET text = 'Neu' WHERE query_id = 'c-holz.1'", 3),
    ],
)
def test_a_change_asks_what_it_touches_and_taking_it_back_asks_nothing(home: Home, statement: str, opened: int) -> None:
    former = {name: home.resources["warehouse"].load("toy", name) for name in ("corpus", "queries")}
    home.change(statement)
    assert home.calls_of(spec()) == opened
    assert home.calls_of(spec()) == 0
    home.resources["warehouse"].replace("toy", former, "take back")
    assert home.calls_of(spec()) == 0


@pytest.mark.parametrize("change", [{"guideline": "de_long"}, {"model": "toy/other"}, {"reasoning_effort": "low"}])
def test_another_judge_asks_everything_and_the_former_answers_stay(home: Home, change: dict[str, Any]) -> None:
    warehouse = home.resources["warehouse"]
    before = {name: warehouse.load("toy", name).sort("request_key") for name in ("judge_calls", "judgments")}
    assert home.calls_of(judged_by(**change), READ) == REQUESTS
    # What was asked before is no part of this collection's calls any more.
    calls = warehouse.load("toy", "judge_calls")
    assert calls.filter(purpose="judge").height == REQUESTS
    assert not set(calls.filter(purpose="judge")["request_key"]) & set(before["judgments"]["request_key"])
    assert Ledger(home.ledger).frame(purpose="judge").height == 2 * REQUESTS
    assert home.calls_of(spec(), READ) == 0
    for name, frame in before.items():
        assert warehouse.load("toy", name).sort("request_key").equals(frame)
    assert before["judgments"].height == CANDIDATES
