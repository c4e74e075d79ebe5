"""Questions over the passages of a toy collection, by real requests: drawn, asked once, filtered, kept, erased."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest

from tendril_assets.assets.asking import open_ledger
from tendril_assets.assets.common import store, table_assets
from tendril_assets.assets.fixed_splits import fixed_splits_checks
from tendril_assets.assets.generation import REQUESTS, generation_assets
from tendril_assets.corpus.erasure import Removed
from tendril_assets.errors import IncompleteJudgments
from tendril_assets.judging.purposes import HAND_OVERS, needed
from tendril_assets.queries.questions import draw_passages, question_id
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.erasing import erase_hand_over, removed_requests
from tendril_assets.resources.gateway import Gateway
from tendril_assets.resources.sql import query
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec
from tendril_assets.spec_registers import LiveSpec
from tendril_assets.tables import TABLES
from tendril_assets_tests.assets.http_stub import Stub, serving

SETS: dict[str, Any] = {
    "train": {"split": "train", "level": "synthetic", "family": "qwen", "llm": {"model": "toy/qwen-7b"}},
    "unseen": {"split": "test_unseen", "level": "unseen", "family": "mistral", "llm": {"model": "toy/mistral-7b"}},
}
SUBJECTS = ("вексель", "депозит", "лизинг", "аккредитив", "факторинг", "овердрафт", "чек", "форвард")


def spec(**generation: Any) -> CollectionSpec:
    filters = {"min_mean_idf": 0.5, "teacher": {"reranker": "lexical", "depth": 6, "keep_rank": 3}}
    written = {"per_group": 2, "min_characters": 20, "sets": SETS, "filters": filters, **generation}
    return CollectionSpec.model_validate(
        {
            "collection": "toy",
            "group": "act",
            "subsets": ["synthetic", "unseen"],
            "registers": {"generation": written},
            "splits": {"policy": "file", "test": ["test_unseen"]},
            "judge": {"llm": {"model": "toy/judge"}},
            "models": {},
            "rerankers": {"lexical": {"base": "lexical"}},
            "evaluation": {"bm25": {"stemmer": "russian"}},
            "release": {"name": "toy", "version": "0.1.0", "title": "Toy", "licence_name": "none"},
        }
    )


def text(subject: str) -> str:
    return f"Положение № 1-П\n1. Банк хранит {subject} пять лет, если {subject} выдан до ввода правил надзора."


# Acts a and c are trained on, b is unseen. a has three passages, of which two may be asked about.
CORPUS = [
    *((f"a#{n}", text(SUBJECTS[n]), "a", "a", 1) for n in range(3)),
    *((f"b#{n}", text(SUBJECTS[3 + n]), "b", "b", 1) for n in range(2)),
    *((f"c#{n}", text(SUBJECTS[5 + n]), "c", "c", 1) for n in range(2)),
]
SPLITS = [("a", "train"), ("b", "test_unseen"), ("c", "train")]
ASKED = 6


def subject_of(passage: str) -> str:
    return next(one for one in SUBJECTS if one in passage)


def ask(_: str, passage: str) -> tuple[int, str, str]:
    return 200, f"Как долго хранится {subject_of(passage)}?", "stop"


@pytest.fixture(scope="module")
def unasked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unasked")
    warehouse = Warehouse(database=str(folder / "warehouse.duckdb"), snapshot=str(folder / "snapshot.duckdb"))
    rows = {"corpus": CORPUS, "splits": SPLITS}
    warehouse.replace("toy", {name: TABLES[name].frame(given) for name, given in rows.items()}, "test")
    return folder


@pytest.fixture
def home(unasked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A collection whose splits are fixed."""
    monkeypatch.setenv("TENDRIL_HOME", str(tmp_path))
    return shutil.copytree(unasked, tmp_path, dirs_exist_ok=True)


@pytest.fixture(scope="module")
def first(unasked: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dg.ExecuteInProcessResult]:
    """The same, all its questions asked and answered, and the run that did it."""
    folder = shutil.copytree(unasked, tmp_path_factory.mktemp("asked"), dirs_exist_ok=True)
    with pytest.MonkeyPatch.context() as patch, serving(ask) as stub:
        patch.setenv("TENDRIL_HOME", str(folder))
        result = run(spec(), resources(folder, stub))
        assert (result.success, stub.calls) == (True, ASKED)
    return folder, result


@pytest.fixture
def asked(
    first: tuple[Path, dg.ExecuteInProcessResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[dict[str, Any], Stub]]:
    """Resources on a copy of it, and a gateway that nothing was asked of yet."""
    monkeypatch.setenv("TENDRIL_HOME", str(tmp_path))
    shutil.copytree(first[0], tmp_path, dirs_exist_ok=True)
    with serving(ask) as stub:
        yield resources(tmp_path, stub), stub


def resources(home: Path, stub: Stub, **gateway: Any) -> dict[str, Any]:
    return {
        "warehouse": Warehouse(database=str(home / "warehouse.duckdb"), snapshot=str(home / "snapshot.duckdb")),
        "artifacts": Artifacts(root=str(home / "artifacts")),
        "gateway": Gateway(base_url=stub.base_url, api_key="test-key", **{"concurrency": 2, **gateway}),
    }


def run(chosen: CollectionSpec, given: dict[str, Any], selection: str = "") -> dg.ExecuteInProcessResult:
    stage = generation_assets(chosen)
    keys = dg.AssetSelection.assets(*(["toy", name] for name in selection.split()))
    return execute([*stage.assets, *stage.checks], given, keys if selection else None)


def execute(
    definitions: list[Any], given: dict[str, Any], selection: dg.AssetSelection | None = None
) -> dg.ExecuteInProcessResult:
    return dg.materialize(
        definitions,
        resources=given,
        selection=selection,
        instance=dg.DagsterInstance.ephemeral(),
        raise_on_error=False,
        run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
    )


def table(given: dict[str, Any]) -> pl.DataFrame:
    return given["warehouse"].load("toy", "generated_questions")


def metadata(result: dg.ExecuteInProcessResult, name: str) -> dict[str, Any]:
    (event,) = [e for e in result.get_asset_materialization_events() if e.asset_key.path[-1] == name]
    return {k: v.value for k, v in event.step_materialization_data.materialization.metadata.items()}


def checks(result: dg.ExecuteInProcessResult) -> dict[str, bool]:
    return {e.check_name: e.passed for e in result.get_asset_check_evaluations()}


def test_each_drawn_passage_is_asked_about_once_and_a_second_run_does_nothing(
    first: tuple[Path, dg.ExecuteInProcessResult], asked: tuple[dict[str, Any], Stub]
) -> None:
    given, stub = asked
    assert set(checks(first[1]).values()) == {True}
    rows = table(given)
    assert rows["status"].to_list() == ["accepted"] * ASKED
    assert rows.group_by("question_set", "group_id").len().sort("group_id").rows() == [
        ("train", "a", 2),
        ("unseen", "b", 2),
        ("train", "c", 2),
    ]
    assert set(rows.filter(question_set="train")["level"]) == {"synthetic"}
    assert set(rows.filter(question_set="unseen")["model"]) == {"toy/mistral-7b"}
    assert rows["query_id"].n_unique() == ASKED
    assert rows["query_id"].str.contains(r"^q-[0-9a-f]{20}$").all()
    # Depth 6 of 7 passages for each of 6 questions.
    told = metadata(first[1], "generated_questions")
    assert (told["pairs_scored"], told["pairs_scored_before"], told["median_teacher_rank"]) == (36, 0, 1.0)
    assert told["accepted_share_train"] == 1.0
    assert "What became of the generated questions" in told["picture"]
    again = metadata(run(spec(), given), "generated_questions")
    assert (again["pairs_scored"], again["pairs_scored_before"]) == (0, 36)
    assert stub.calls == 0
    assert table(given).equals(rows)


def test_every_reply_gets_one_outcome_with_its_figure_and_evidence(home: Path) -> None:
    replies = {
        "вексель": "Верно ли, что банк хранит вексель пять лет, если вексель выдан?",
        "депозит": "Что хранит банк?",
        "лизинг": "How long is a lease kept by the bank?",
        "аккредитив": "Вопрос: Сколько лет хранится аккредитив согласно тексту?",
        "факторинг": "ПРОПУСК",
        "овердрафт": "Как долго хранится чек?",
        "чек": "Как долго хранится чек?",
    }

    def rule(_: str, passage: str) -> tuple[int, str, str]:
        return 200, replies[subject_of(passage)], "stop"

    with serving(rule) as stub:
        given = resources(home, stub)
        result = run(spec(per_group=3), given)
        assert result.success
        assert checks(result)["every_set_has_questions"] is False
        found = table(given).sort("passage_id")
        by_subject = dict(zip(SUBJECTS, found.iter_rows(named=True), strict=False))
        rows = {one: (row["status"], row["evidence"]) for one, row in by_subject.items()}
        assert rows["вексель"] == ("verbatim", "банк хранит вексель пять лет, если вексель выдан")
        assert by_subject["вексель"]["figure"] == 8
        assert rows["депозит"] == ("unspecific", "банк хранит")
        # None of its words is known either, which the filter for vague questions would say by itself.
        assert rows["лизинг"] == ("wrong_language", "How long is a lease kept by the")
        assert by_subject["лизинг"]["rejections"] == ["wrong_language", "unspecific"]
        assert rows["аккредитив"] == ("refers_to_passage", "согласно тексту")
        assert rows["факторинг"] == ("declined", None)
        assert by_subject["факторинг"]["query_id"] is None
        # One wording for two passages.
        assert [rows["овердрафт"][0], rows["чек"][0]] == ["repeated", "repeated"]
        assert rows["овердрафт"][1] == by_subject["чек"]["query_id"]
        shares = given["warehouse"].frame("toy", query("views/questions_by_filter"), "test")
        train = shares.filter(question_set="train", outcome="unspecific").row(0, named=True)
        # Of five passages the one about the deposit; by itself also the copied one and the English one.
        assert (train["questions"], train["share"], train["by_itself"]) == (1, 0.2, 3)
        assert abs(shares.filter(question_set="train")["share"].sum() - 1.0) < 1e-9


def test_a_published_question_outlives_new_acts_and_stricter_filters(home: Path) -> None:
    with serving(ask) as stub:
        given = resources(home, stub)
        chosen = spec(sets={"unseen": {**SETS["unseen"], "questions": 1}})
        chosen = chosen.model_copy(update={"qrels": chosen.qrels.model_copy(update={"append_only": True})})
        landed = TABLES["landed_qrels"]
        warehouse = given["warehouse"]
        passages = warehouse.load("toy", "corpus").join(warehouse.load("toy", "splits"), on="group_id")
        (first,) = draw_passages(passages, chosen.registers.generation, chosen.seed)["passage_id"]
        # Of all passages the one that is not drawn by itself was published.
        other = {"b#0": "b#1", "b#1": "b#0"}[first]
        text_of = {passage: words for passage, words, *_ in CORPUS}
        published = question_id(other, ask("", text_of[other])[1])
        given["warehouse"].replace("toy", {"landed_qrels": landed.frame([(published, other, 2, None)])}, "test")
        strict = chosen.registers.generation.filters.model_copy(update={"min_mean_idf": 9.0})
        generation = chosen.registers.generation.model_copy(update={"filters": strict})
        chosen = chosen.model_copy(update={"registers": chosen.registers.model_copy(update={"generation": generation})})
        assert run(chosen, given).success
        (row,) = table(given).iter_rows(named=True)
        assert (row["query_id"], row["status"]) == (published, "accepted")
        assert row["rejections"] == ["unspecific"]


def test_the_teacher_rejects_a_question_that_other_passages_answer_better(home: Path) -> None:
    wrong = {"вексель": "Как долго хранится форвард и кто его выдал?"}
    others = [(f"d#{n}", f"Форвард хранится долго, форвард {n} выдан на {n} лет.", "d", "d", 1) for n in range(6)]

    def rule(_: str, passage: str) -> tuple[int, str, str]:
        return 200, wrong.get(subject_of(passage), f"Как долго хранится {subject_of(passage)}?"), "stop"

    with serving(rule) as stub:
        given = resources(home, stub)
        given["warehouse"].replace("toy", {"corpus": TABLES["corpus"].frame([*CORPUS, *others])}, "test")
        filters = {"min_mean_idf": 0.1, "teacher": {"reranker": "lexical", "depth": 6, "keep_rank": 3}}
        assert run(spec(per_group=3, filters=filters), given).success
        row = table(given).filter(passage_id="a#0").row(0, named=True)
        assert (row["status"], row["figure"], row["teacher_rank"]) == ("teacher", 6.0, 6)
        assert row["evidence"].startswith("d#")


def test_open_questions_stop_the_table_unless_that_is_allowed(home: Path) -> None:
    with serving(ask) as stub:
        given = resources(home, stub, max_calls=4)
        assert not run(spec(), given).success
        broke = run(spec(), given, "generated_questions")
        error = next(e for e in broke.all_events if e.is_step_failure).step_failure_data.error
        assert (error.cause or error).cls_name == IncompleteJudgments.__name__
        assert run(spec(allow_incomplete=True), given, "generated_questions").success
        assert dict(table(given)["status"].value_counts().iter_rows()) == {"accepted": 4, "open": 2}
        # The next run asks what is open, and no more.
        assert run(spec(), resources(home, stub)).success
        assert stub.calls == ASKED


def test_an_asked_question_about_a_training_act_blocks_before_anything_is_paid_for(home: Path) -> None:
    chosen = spec()
    registers = chosen.registers.model_copy(update={"live": LiveSpec()})
    splits = chosen.splits.model_copy(update={"live": "test_unseen"})
    chosen = chosen.model_copy(update={"registers": registers, "splits": splits})
    attachments = TABLES["live_attachments"]

    def attached(act: str, stub: Stub) -> dg.ExecuteInProcessResult:
        row = {"query_id": "l1", "project": act, "group_id": act, "how": "section", "route": "pool"}

        @table_assets(chosen, ["live_attachments"])
        def attach(context: dg.AssetExecutionContext, warehouse: Warehouse) -> Iterator[dg.MaterializeResult]:
            frame = attachments.frame([row | {"clauses": [], "found": [], "passages": []}])
            yield from store(context, warehouse, chosen, {"live_attachments": frame})

        stage = generation_assets(chosen)
        checks_of_splits = {next(iter(one.check_specs)).name: one for one in fixed_splits_checks(chosen)}
        live = checks_of_splits["live_groups_are_held_out"]
        return execute([attach, *stage.assets, live, *stage.checks], resources(home, stub))

    with serving(ask) as stub:
        blocked = attached("a", stub)
        assert not blocked.success
        assert checks(blocked) == {"live_groups_are_held_out": False}
        assert stub.calls == 0
        assert attached("b", stub).success
        assert stub.calls == ASKED


def test_a_family_that_the_models_names_tell_blocks_before_anything_is_paid_for(home: Path) -> None:
    sets = {**SETS, "unseen": {**SETS["unseen"], "llm": {"model": "toy/Vikhr-Qwen-2.5"}}}
    with serving(ask) as stub:
        result = run(spec(sets=sets), resources(home, stub))
        assert not result.success
        assert checks(result)["generator_families_differ"] is False
        assert stub.calls == 0


def test_a_family_declared_for_both_is_a_mistake_of_the_specification() -> None:
    sets = {**SETS, "unseen": {**SETS["unseen"], "family": "qwen"}}
    with pytest.raises(ValueError, match="qwen writes the training set 'train' too"):
        spec(sets=sets)
    with pytest.raises(ValueError, match="'test_live' is no split; there are train, validation, test_unseen"):
        spec(sets={"live": {**SETS["unseen"], "split": "test_live"}})


def test_a_changed_passage_is_asked_about_anew_and_no_other(asked: tuple[dict[str, Any], Stub]) -> None:
    given, stub = asked
    changed = [(i, t + " Срок считается с даты возврата." if i == "b#0" else t, *rest) for i, t, *rest in CORPUS]
    given["warehouse"].replace("toy", {"corpus": TABLES["corpus"].frame(changed)}, "test")
    stale = run(spec(), given, "generated_questions")
    assert not stale.success
    assert run(spec(), given).success
    assert stub.calls == 1


def test_a_removed_passage_takes_its_request_and_its_reply_with_it(asked: tuple[dict[str, Any], Stub]) -> None:
    warehouse, artifacts = asked[0]["warehouse"], asked[0]["artifacts"]
    left = TABLES["corpus"].frame([row for row in CORPUS if row[0] != "b#0"])
    warehouse.replace("toy", {"corpus": left}, "test")
    removed = Removed.of([("passage", "b#0")])
    requests = removed_requests(warehouse, artifacts, "toy", removed, set(), left["text"])
    handed = artifacts.read_frame("toy", REQUESTS)
    assert requests.keys.to_list() == handed.filter(passage_id="b#0")["request_key"].to_list()
    assert open_ledger().frame(keys=requests.keys).height == 1
    (erased,) = erase_hand_over(artifacts, "toy", removed, left["text"], requests.keys)
    assert (erased.name, erased.items) == (REQUESTS, 1)
    after = artifacts.read_frame("toy", REQUESTS)
    assert after.height == ASKED - 1
    assert not after["passage_text"].str.contains("аккредитив").any()


def test_a_text_that_the_corpus_still_has_keeps_its_reply(asked: tuple[dict[str, Any], Stub]) -> None:
    warehouse, artifacts = asked[0]["warehouse"], asked[0]["artifacts"]
    words = next(words for passage, words, *_ in CORPUS if passage == "b#0")
    # The same text stands in another act by now, under an id that was never asked about.
    left = TABLES["corpus"].frame([row for row in CORPUS if row[0] != "b#0"] + [("e#0", words, "e", "e", 1)])
    warehouse.replace("toy", {"corpus": left}, "test")
    requests = removed_requests(warehouse, artifacts, "toy", Removed.of([("passage", "b#0")]), set(), left["text"])
    assert requests.keys.is_empty()
    assert requests.rows["passage_id"].to_list() == ["b#0"]


def test_questions_are_asked_before_the_judge_and_nothing_else_is_worded() -> None:
    assert needed(spec()) == ("generation", "calibration", "judge")
    assert HAND_OVERS["generation"].step == REQUESTS
