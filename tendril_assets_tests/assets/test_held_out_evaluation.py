"""Ranking and scores of a toy collection that tests on groups it holds out of itself: BM25, a model, hybrids, reranked."""

import json
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest

from tendril_assets.assets.common import asset_key
from tendril_assets.assets.evaluation import REGISTER_SCORES, SCORES, evaluation_assets
from tendril_assets.assets.rank_system import rank_system, rank_system_once
from tendril_assets.errors import TendrilError
from tendril_assets.evaluation.collection import whole_scope
from tendril_assets.evaluation.fuse import fuse
from tendril_assets.files import file_hash
from tendril_assets.resources import sql
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES
from tendril_assets_tests.training.toy import DIMENSIONS, tiny_encoder

SPLITS = {"t1": "train", "v1": "validation", "a1": "test_live", "a2": "test_live", "n1": "test_unseen"}
CORPUS = [
    (f"{group}#{n}", f"w{4 * g + n} w{4 * g + n + 1} w30", group, f"{group}.d", 1)
    for g, group in enumerate(SPLITS)
    for n in range(4)
]
# Four live questions, three of them about a1; one generated query each over n1, v1 and t1.
ASKED = {
    "l1": ("live", "w8", "a1", "a1#0"),
    "l2": ("live", "w9", "a1", "a1#1"),
    "l3": ("live", "w10 w30", "a1", "a1#2"),
    "l4": ("live", "w12", "a2", "a2#0"),
    "u1": ("unseen", "w17", "n1", "n1#1"),
    "d1": ("synthetic", "w5", "v1", "v1#1"),
    "x1": ("synthetic", "w1", "t1", "t1#0"),
}
SYSTEMS = ("bm25", "mini_base", "mini_tuned", "hybrid", "reranked")


def spec_of(base: Path, **evaluation: Any) -> CollectionSpec:
    writer = {"model": "maker/writer"}
    sets = {
        "train": {"split": "train", "level": "synthetic", "family": "a", "llm": writer},
        "unseen": {"split": "test_unseen", "level": "unseen", "family": "b", "llm": writer},
    }
    rules = {
        "test": "held_out",
        "scope": "collection",
        "resamples": 200,
        "hybrids": {"hybrid": {"of": ["bm25", "mini_tuned"]}},
        "reranked": {"reranked": {"of": "hybrid", "reranker": "words", "depth": 5}},
        "without_dominant": ["live"],
    }
    return CollectionSpec.model_validate(
        {
            "collection": "toy",
            "group": "act",
            "subsets": ["live", "unseen", "synthetic"],
            "registers": {"live": {}, "generation": {"sets": sets}},
            "judge": {"llm": {"model": "maker/judge"}},
            "splits": {"policy": "file", "test": ["test_live", "test_unseen"], "live": "test_live"},
            "models": {"mini": {"base": str(base), "dimensions": DIMENSIONS, "max_length": 32, "licence": "MIT"}},
            "rerankers": {"words": {"base": "lexical"}},
            "evaluation": rules | evaluation,
            "release": {"name": "toy", "version": "0.1.0", "title": "Toy", "licence_name": "MIT"},
        }
    )


def filled(table: str, **given: Any) -> dict[str, Any]:
    """A row of a table: what is given, and of the rest a word where there must be one."""
    words = {"VARCHAR": "-", "VARCHAR[]": []}
    needed = {column.name: words[column.type] for column in TABLES[table].columns if not column.nullable}
    return {column.name: None for column in TABLES[table].columns} | needed | given


class Home:
    """A warehouse with what the evaluation reads, and a fine-tuned model, in one folder."""

    def __init__(self, folder: Path, spec: CollectionSpec) -> None:
        self.spec = spec
        self.warehouse = Warehouse(database=str(folder / "w.duckdb"), snapshot=str(folder / "s.duckdb"))
        self.artifacts = Artifacts(root=str(folder / "artifacts"))
        self.write()

    def write(self, corpus: list[tuple] = CORPUS) -> None:
        passages = {row[0]: row[2] for row in corpus}
        rows = {
            "corpus": corpus,
            "queries": [(name, text, level, "-", "-") for name, (level, text, *_) in ASKED.items()],
            "project_queries": [(group, group, name, level) for name, (level, _, group, _) in ASKED.items()],
            "qrels": [(name, gold, passages[gold], 2) for name, (*_, gold) in ASKED.items()],
            "splits": list(SPLITS.items()),
            "generated_questions": [
                filled(
                    "generated_questions",
                    query_id=name,
                    passage_id=gold,
                    question_set=level,
                    level=level,
                    group_id=group,
                )
                for name, (level, _, group, gold) in ASKED.items()
                if level != "live"
            ],
        }
        frames = {name: TABLES[name].frame(table) for name, table in rows.items()}
        self.warehouse.replace("toy", frames, purpose="test")

    def finish_training(self, weights: Path) -> None:
        folder = self.artifacts.folder("toy", "models", "mini")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(weights, folder / "kept")
        result = {"weights_sha256": file_hash(folder / "kept" / "model.safetensors")}
        (folder / "result.json").write_text(json.dumps(result))

    def materialise(self, *only: str) -> dg.ExecuteInProcessResult:
        stage = evaluation_assets(self.spec)
        return dg.materialize(
            [*stage.assets, *stage.checks],
            resources={"warehouse": self.warehouse, "artifacts": self.artifacts},
            selection=dg.AssetSelection.assets(*(asset_key(self.spec, n) for n in only)) if only else None,
            instance=dg.DagsterInstance.ephemeral(),
        )

    def table(self, name: str) -> pl.DataFrame:
        return self.warehouse.load("toy", name)


def told(result: dg.ExecuteInProcessResult, name: str) -> dict[str, Any]:
    made = {
        event.asset_key.to_user_string(): event.step_materialization_data.materialization.metadata
        for event in result.get_asset_materialization_events()
    }
    return {key: value.value for key, value in made[f"toy/{name}"].items()}


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    pytest.importorskip("sentence_transformers")
    folder = tmp_path_factory.mktemp("encoders")
    return [tiny_encoder(folder / str(layers), layers=layers) for layers in (1, 2, 3)]


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory, encoders: list[Path]) -> tuple[Home, dg.ExecuteInProcessResult]:
    home = Home(tmp_path_factory.mktemp("first"), spec_of(encoders[0]))
    home.finish_training(encoders[1])
    return home, home.materialise()


@pytest.fixture
def made(tmp_path: Path, first: tuple[Home, dg.ExecuteInProcessResult]) -> Home:
    """A copy of the first run that a test may change."""
    shutil.copytree(Path(first[0].artifacts.root).parent, tmp_path / "home")
    again = Home.__new__(Home)
    again.spec = first[0].spec
    again.warehouse = Warehouse(database=str(tmp_path / "home/w.duckdb"), snapshot=str(tmp_path / "home/s.duckdb"))
    again.artifacts = Artifacts(root=str(tmp_path / "home/artifacts"))
    return again


def test_every_system_ranks_what_is_held_out_and_validation(first: tuple[Home, dg.ExecuteInProcessResult]) -> None:
    home, result = first
    runs = home.table("retrieval_runs")
    assert set(runs["system"]) == set(SYSTEMS)
    # Every query but that of the training group, each against all 20 passages, those of the training group too.
    assert set(runs["query_id"]) == {"l1", "l2", "l3", "l4", "u1", "d1"}
    assert runs.filter(system="mini_base").group_by("query_id").len()["len"].unique().to_list() == [len(CORPUS)]
    assert "t1#0" in runs["passage_id"].to_list()
    assert all(e.passed for e in result.get_asset_check_evaluations())
    assert told(result, "evaluation_inputs")["judged_queries_by_level"] == {"live": 4, "synthetic": 1, "unseen": 1}


def test_no_test_figure_is_over_validation_queries(first: tuple[Home, dg.ExecuteInProcessResult]) -> None:
    home, _ = first
    for name in ("query_scores", "group_scores", "system_scores", "comparisons", *REGISTER_SCORES):
        assert set(home.table(name)["level"]) - {"all"} == {"live", "unseen"}, name
    assert set(home.table("query_scores")["query_id"]) == {"l1", "l2", "l3", "l4", "u1"}
    # One word finds the answer first, but for l1: of two passages with w8 the higher id is first.
    everything = home.table("system_scores").filter(system="bm25", level="all", measure="mrr@10").row(0, named=True)
    assert (everything["groups"], everything["queries"], everything["value"]) == (
        3,
        5,
        pytest.approx((2.5 / 3 + 1 + 1) / 3),
    )


def test_live_twice_and_each_row_with_its_composition(first: tuple[Home, dg.ExecuteInProcessResult]) -> None:
    home, result = first
    scores = home.table("register_scores").filter(system="hybrid", measure="ndcg@10", unit="query")
    rows = {(r["level"], r["part"]): r for r in scores.iter_rows(named=True)}
    assert set(rows) == {("all", "whole"), ("live", "whole"), ("live", "without_dominant"), ("unseen", "whole")}
    live, rest, whole = rows["live", "whole"], rows["live", "without_dominant"], rows["all", "whole"]
    assert (live["queries"], live["dominant"], live["dominant_share"], live["generated"]) == (4, "a1", 0.75, 0.0)
    assert (rest["queries"], rest["dominant"]) == (1, "a2")
    assert (whole["queries"], whole["generated"]) == (5, 0.2)
    by_query = home.table("query_scores").filter(system="hybrid", measure="ndcg@10", level="live")
    assert live["value"] == pytest.approx(by_query["value"].mean())
    page = told(result, "register_scores")
    assert "5 queries of 3 acts, 20" in page["headline"]
    assert "Live without a1" in page["headline"]
    assert "<img" in page["picture"] or "![" in page["picture"]
    compared = home.table("register_comparisons")
    assert set(compared.select("system", "baseline").unique().iter_rows()) == {(s, "bm25") for s in SYSTEMS[1:]}


def test_a_hybrid_is_its_parts_fused_without_what_bm25_did_not_find(
    first: tuple[Home, dg.ExecuteInProcessResult],
) -> None:
    runs = first[0].table("retrieval_runs")
    bm25, dense = (runs.filter(system=name).drop("system") for name in ("bm25", "mini_tuned"))
    expected = fuse([bm25.filter(pl.col("score") > 0), dense], 60, 1000)
    assert runs.filter(system="hybrid").drop("system").equals(expected)
    # One word is asked for, two passages have it: the others have the model's gain alone.
    top = expected.filter(query_id="l1")
    assert bm25.filter(query_id="l1").filter(pl.col("score") > 0)["passage_id"].to_list() == ["v1#3", "a1#0"]
    assert set(top.filter(pl.col("score") > 1 / 61)["passage_id"]) <= {"a1#0", "v1#3"}


def test_reranked_moves_the_first_five_alone(first: tuple[Home, dg.ExecuteInProcessResult]) -> None:
    runs = first[0].table("retrieval_runs")
    for query in ("l1", "u1", "d1"):
        before, after = (runs.filter(system=s, query_id=query)["passage_id"].to_list() for s in ("hybrid", "reranked"))
        assert sorted(before[:5]) == sorted(after[:5])
        assert before[5:] == after[5:]


def test_a_second_run_scores_and_encodes_nothing(made: Home) -> None:
    result = made.materialise("evaluation_inputs", *(f"runs/{system}" for system in SYSTEMS))
    assert all(told(result, f"runs/{system}")["reused"] for system in SYSTEMS)


def test_another_text_scores_its_own_pairs_alone(made: Home, first: tuple[Home, dg.ExecuteInProcessResult]) -> None:
    # "w8 w9" changes: of the pairs that are reranked again only those with this passage are new.
    changed = [(row[0], "w8 w9 w9 w30", *row[2:]) if row[0] == "a1#0" else row for row in CORPUS]
    made.write(changed)
    result = made.materialise("evaluation_inputs", *(f"runs/{system}" for system in SYSTEMS))
    page = told(result, "runs/reranked")
    assert not page["reused"]
    assert 0 < page["scored_pairs"] < page["scored_pairs"] + page["pairs_from_store"] == 6 * 5
    assert told(first[1], "runs/reranked")["scored_pairs"] == 6 * 5


def test_a_hybrid_of_former_weights_gets_no_scores(made: Home, encoders: list[Path]) -> None:
    made.finish_training(encoders[2])
    made.materialise("runs/mini_tuned")
    with pytest.raises(
        TendrilError, match=r"hybrid was made of another ranking than the present one of mini_tuned; mat"
    ):
        made.materialise("retrieval_runs", "ranked_systems")
    made.materialise("runs/hybrid", "runs/reranked", "retrieval_runs", "ranked_systems")
    made.materialise(*SCORES, *REGISTER_SCORES)
    named = dict(made.table("ranked_systems").select("system", "weights").iter_rows())
    assert named["hybrid"] == named["mini_tuned"]
    assert named["reranked"] == f"{named['mini_tuned']} + lexical"


def test_a_hybrid_of_a_former_bm25_gets_no_scores(made: Home) -> None:
    """BM25 has no weights that could name it, so a hybrid has to know the very rankings it was made of."""
    made.spec = spec_of(Path(made.spec.models["mini"].base), bm25={"b": 0.0})
    made.write([(row[0], f"{row[1]} {'w31 ' * place}", *row[2:]) for place, row in enumerate(CORPUS)])
    made.materialise("evaluation_inputs", *(f"runs/{system}" for system in SYSTEMS))
    made.spec = spec_of(Path(made.spec.models["mini"].base), bm25={"b": 1.0})
    made.materialise("runs/bm25")
    with pytest.raises(TendrilError, match=r"hybrid was made of another ranking than the present one of bm25; mat"):
        made.materialise("retrieval_runs", "ranked_systems")
    made.materialise("runs/hybrid", "runs/reranked", "retrieval_runs", "ranked_systems")


def test_no_page_shows_a_figure_over_all_registers_without_what_it_rests_on(
    first: tuple[Home, dg.ExecuteInProcessResult],
) -> None:
    home, result = first
    assert "all" in home.table("system_scores")["level"].to_list()
    for name in ("system_scores", "catalog_scores"):
        assert "| all |" not in told(result, name)["scores"]
    assert "| live |" in told(result, "system_scores")["scores"]
    assert "picture" in told(result, "system_scores")
    assert "picture" not in told(result, "group_scores")


def test_the_hardest_queries_have_their_wording_and_the_rank_of_their_answer(made: Home) -> None:
    """No test collection was landed: wording and grades are the collection's own."""
    landed = {name: TABLES[name].empty() for name in ("test_queries", "test_qrels")}
    made.warehouse.replace("toy", landed, purpose="test")
    worst = made.warehouse.frame("toy", sql.query("views/worst_queries")).filter(system="bm25")
    rows = {query: (text, rank) for query, text, rank in worst.select("query_id", "text", "first_relevant_rank").rows()}
    assert set(rows) == {"l1", "l2", "l3", "l4", "u1"}
    assert rows["l1"] == ("w8", 2)
    assert rows["u1"] == ("w17", 1)


def test_what_is_made_of_stale_weights_is_stale(made: Home) -> None:
    """A removed passage was trained on: the fine-tuned model, the hybrid and the reranked system, not BM25."""
    weights = dict(made.table("ranked_systems").select("system", "weights").iter_rows())["mini_tuned"]
    frames = {
        "trained_passages": TABLES["trained_passages"].frame([("mini", weights, "t1#0", "t1.d", "t1", "train")]),
        "trained_models": TABLES["trained_models"].empty(),
        "erased_ids": TABLES["erased_ids"].frame([("passage", "t1#0", "e1", datetime(2026, 5, 1))]),
    }
    made.warehouse.replace("toy", frames, purpose="test")
    stale = made.warehouse.frame("toy", sql.query("views/stale_systems"))
    assert stale["system"].to_list() == ["hybrid", "mini_tuned", "reranked"]
    assert set(stale["stale"]) == {"trained on 1 passage removed since 2026-05-01; train it again"}
    results = made.warehouse.frame("toy", sql.query("views/results"))
    assert set(results.filter(pl.col("stale").is_not_null())["system"]) == {"hybrid", "mini_tuned", "reranked"}
    assert results.height == made.table("system_scores").height
    both = made.warehouse.frame("toy", sql.query("views/register_results"))
    assert both.height == made.table("register_scores").height // 2
    assert both.filter(pl.col("system") == "bm25")["difference"].null_count() == both.filter(system="bm25").height


def with_context(home: Home, work: Callable[[dg.AssetExecutionContext], Any]) -> Any:
    """What ``work`` returns, called within a step as the pool calls it."""
    found = []

    @dg.asset
    def step(context: dg.AssetExecutionContext) -> None:
        found.append(work(context))

    dg.materialize([step], instance=dg.DagsterInstance.ephemeral())
    return found[0]


def test_any_system_ranks_any_passages_alike(made: Home) -> None:
    """What the pool asks for: the same systems, over queries of its own, to a depth of its own."""
    queries = pl.DataFrame({"query_id": ["l1", "u1"], "group_id": ["-", "-"], "text": ["w8", "w17"]})
    scopes = whole_scope(made.table("corpus"), queries)
    runs = made.table("retrieval_runs")
    given = made.artifacts, made.spec
    ranked = with_context(made, lambda c: {s: rank_system(c, *given, s, scopes, 3)[0] for s in SYSTEMS})
    for system, run in ranked.items():
        for query in ("l1", "u1"):
            expected = runs.filter(system=system, query_id=query).head(3)["passage_id"].to_list()
            assert run.filter(query_id=query)["passage_id"].to_list() == expected, (system, query)
    twice = [
        with_context(made, lambda c: [rank_system_once(c, *given, s, scopes, 3) for s in SYSTEMS]) for _ in range(2)
    ]
    for (before, new), (after, again) in zip(*twice, strict=True):
        assert (new["reused"], again["reused"]) == (False, True)
        assert before.equals(after)


def test_a_system_that_there_is_not_is_named(made: Home) -> None:
    scopes = whole_scope(made.table("corpus"), pl.DataFrame({"query_id": ["q"], "group_id": ["-"], "text": ["w8"]}))
    with pytest.raises(TendrilError, match="toy has no system 'mini'; there are bm25, mini_base"):
        with_context(made, lambda c: rank_system(c, made.artifacts, made.spec, "mini", scopes, 3))


def test_too_small_a_register_has_no_row_anywhere(made: Home) -> None:
    made.spec = spec_of(Path(made.spec.models["mini"].base), min_queries=2)
    result = made.materialise(*SCORES, *REGISTER_SCORES)
    for name in ("system_scores", "comparisons", "register_scores", "register_comparisons"):
        assert set(made.table(name)["level"]) == {"all", "live"}, name
    assert set(made.table("register_scores")["part"]) == {"whole"}
    assert "| Live without its dominant group | 1 |" in told(result, "register_scores")["left_out"]
    assert "| Unseen | 1 |" in told(result, "register_scores")["left_out"]


def test_the_graph_follows_what_is_read(encoders: list[Path]) -> None:
    by_key = {key.to_user_string(): a for a in evaluation_assets(spec_of(encoders[0])).assets for key in a.keys}
    needs = {k: {d.to_user_string() for d in a.dependency_keys} for k, a in by_key.items()}
    assert needs["toy/evaluation_inputs"] == {
        f"toy/{name}" for name in ("corpus", "queries", "project_queries", "qrels", "splits", "generated_questions")
    }
    assert {"toy/runs/bm25", "toy/runs/mini_tuned"} < needs["toy/runs/hybrid"]
    assert "toy/runs/hybrid" in needs["toy/runs/reranked"]
    assert by_key["toy/runs/reranked"].op.pool == "cpu"
    assert {f"toy/{name}" for name in REGISTER_SCORES} <= set(by_key)
