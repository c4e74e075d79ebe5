"""The evaluation stage on a toy test collection, with a tiny random encoder as base and another as fine-tuned model."""

import json
import shutil
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from tendril_assets.assets.common import asset_key
from tendril_assets.assets.evaluation import SCORES, evaluation_assets
from tendril_assets.assets.runs import EMPTY, weights_name
from tendril_assets.errors import TendrilError
from tendril_assets.files import file_hash
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec, ModelSpec
from tendril_assets.tables import TABLES
from tendril_assets_tests.training.toy import DIMENSIONS, tiny_encoder

CORPUS = [
    ("a1", "w1 w2 w3", "g1", "d1", 1),
    ("a2", "w4 w5 w6", "g1", "d1", 2),
    ("a3", "w7 w8 w9", "g1", "d2", 1),
    ("b1", "w1 w4 w7", "g2", "d3", 1),
    ("b2", "w2 w5 w8", "g2", "d3", 2),
]
QUERIES = [("t1", "w1", "area", None, None), ("t2", "w5", "area", None, None), ("t3", "w9", "criterion", None, None)]
# t1: a1 in g1, b1 in g2. t2: a2 in g1, nothing relevant in g2. t3: a3 in g1.
QRELS = [
    *[("t1", "a1", 2), ("t1", "a2", 0), ("t1", "a3", 0), ("t1", "b1", 1), ("t1", "b2", 0)],
    *[("t2", "a1", 0), ("t2", "a2", 2), ("t2", "b1", 0), ("t3", "a3", 1), ("t3", "a1", 0)],
]


RANKINGS = ["evaluation_inputs", "runs/bm25", "retrieval_runs", "ranked_systems"]


def spec_of(base: Path | None = None) -> CollectionSpec:
    model = {
        "base": str(base),
        "dimensions": DIMENSIONS,
        "max_length": 32,
        "query_prompt": "query : ",
        "licence": "MIT",
    }
    return CollectionSpec.model_validate(
        {
            "collection": "toy",
            "group": "project",
            "subsets": ["area", "criterion"],
            "queries": {"summary": {"model": "maker/summary"}},
            "judge": {"llm": {"model": "maker/judge"}},
            "models": {"mini": model} if base else {},
            "evaluation": {"resamples": 200},
            "release": {"name": "toy", "version": "0.1.0", "title": "Toy", "licence_name": "MIT"},
        }
    )


class Home:
    """A warehouse with the landed test tables, and artifacts, in one folder."""

    def __init__(self, folder: Path, spec: CollectionSpec, qrels: list[tuple] = QRELS) -> None:
        self.spec = spec
        self.warehouse = Warehouse(database=str(folder / "w.duckdb"), snapshot=str(folder / "s.duckdb"))
        self.artifacts = Artifacts(root=str(folder / "artifacts"))
        self.land(qrels=qrels)

    def land(self, *, corpus: list[tuple] = CORPUS, queries: list[tuple] = QUERIES, qrels: list[tuple] = QRELS) -> None:
        rows = {"test_corpus": corpus, "test_queries": queries, "test_qrels": qrels}
        frames = {name: TABLES[name].frame(table) for name, table in rows.items()}
        self.warehouse.replace(self.spec.collection, frames, purpose="test")

    def materialise(self, only: list[str] | None = None, **options: bool) -> dg.ExecuteInProcessResult:
        stage = evaluation_assets(self.spec)
        return dg.materialize(
            [*stage.assets, *stage.checks],
            resources={"warehouse": self.warehouse, "artifacts": self.artifacts},
            selection=None if only is None else dg.AssetSelection.assets(*(asset_key(self.spec, n) for n in only)),
            **options,
        )

    def metadata(self, result: dg.ExecuteInProcessResult, name: str) -> dict:
        found = [
            event.step_materialization_data.materialization
            for event in result.get_asset_materialization_events()
            if event.asset_key == asset_key(self.spec, name)
        ]
        return {key: value.value for key, value in found[-1].metadata.items()}

    def finish_training(self, weights: Path) -> None:
        folder = self.artifacts.folder(self.spec.collection, "models", "mini")
        shutil.copytree(weights, folder / "kept")
        result = {"weights_sha256": file_hash(folder / "kept" / "model.safetensors")}
        (folder / "result.json").write_text(json.dumps(result))

    def scores(self, system: str, measure: str) -> dict[str, float]:
        table = self.warehouse.load(self.spec.collection, "system_scores")
        rows = table.filter((pl.col("system") == system) & (pl.col("measure") == measure))
        return dict(rows.select("level", "value").iter_rows())


def test_bm25_alone_end_to_end(tmp_path: Path) -> None:
    home = Home(tmp_path, spec_of())
    result = home.materialise()
    runs = home.warehouse.load("toy", "retrieval_runs")
    # Each query ranks every passage of the groups it was judged in: t1 3 + 2, t2 3 + 2, t3 3.
    assert runs.height == 13
    assert runs.filter((pl.col("query_id") == "t1") & (pl.col("group_id") == "g2"))["passage_id"].to_list() == [
        "b1",
        "b2",
    ]
    # One word finds the one relevant passage, always at rank 1.
    assert home.scores("bm25", "mrr@10") == {"all": 1.0, "area": 1.0, "criterion": 1.0}
    table = home.warehouse.load("toy", "system_scores").filter(pl.col("measure") == "ndcg@10")
    rows = {r["level"]: r for r in table.iter_rows(named=True)}
    # Units with a relevant passage: (t1, g1), (t1, g2), (t2, g1), (t3, g1); left out: (t2, g2).
    assert (rows["all"]["groups"], rows["all"]["queries"], rows["all"]["excluded"]) == (2, 4, 1)
    assert (rows["criterion"]["groups"], rows["criterion"]["low"], rows["criterion"]["excluded"]) == (1, None, 0)
    assert (rows["area"]["low"], rows["area"]["high"]) == (1.0, 1.0)
    assert home.metadata(result, "system_scores")["without_interval"] == ["one_group"]
    assert home.warehouse.load("toy", "comparisons").is_empty()
    assert all(e.passed for e in result.get_asset_check_evaluations())


def test_a_ranking_is_reused_until_its_inputs_change(tmp_path: Path) -> None:
    home = Home(tmp_path, spec_of())

    def reused() -> bool:
        return home.metadata(home.materialise(["evaluation_inputs", "runs/bm25"]), "runs/bm25")["reused"]

    assert not reused()
    assert reused()
    home.land(qrels=[(q, p, min(s + 1, 2)) for q, p, s in QRELS])
    assert reused()  # grades do not change a ranking
    home.land(corpus=[("a1", "w1 w2 w30", "g1", "d1", 1), *CORPUS[1:]])
    assert not reused()


def test_a_ranking_of_other_data_is_not_loaded(tmp_path: Path) -> None:
    home = Home(tmp_path, spec_of())
    home.materialise()
    home.land(corpus=[("a1", "w1 w2 w30", "g1", "d1", 1), *CORPUS[1:]])
    with pytest.raises(TendrilError, match="ranking of bm25 is of another test collection"):
        home.materialise(["evaluation_inputs", "retrieval_runs", "ranked_systems"])
    # Nor are scores made of the rankings that were loaded before: what is new would count 0 in every system.
    before = home.warehouse.load("toy", "system_scores")
    with pytest.raises(
        TendrilError, match=r"toy\.retrieval_runs holds no ranking of the present .* by bm25: materialise"
    ):
        home.materialise([*SCORES])
    assert home.warehouse.load("toy", "system_scores").equals(before)


def test_a_system_that_was_never_ranked_gets_no_scores(tmp_path: Path) -> None:
    """The specification has got a model since the rankings were loaded."""
    home = Home(tmp_path, spec_of())
    home.materialise(RANKINGS)
    home.spec = spec_of(tmp_path / "base")
    with pytest.raises(TendrilError, match=r"by mini_base, mini_tuned: materialise toy/runs/<system>"):
        home.materialise([*SCORES])


def test_each_catalog_is_averaged_by_itself(tmp_path: Path) -> None:
    home = Home(tmp_path, spec_of())
    home.materialise()
    assert home.warehouse.load("toy", "catalog_scores").is_empty()  # no query names a catalog
    home.land(queries=[(*QUERIES[0][:3], "food", None), (*QUERIES[1][:3], "food", None), QUERIES[2]])
    result = home.materialise()
    table = home.warehouse.load("toy", "catalog_scores").filter(pl.col("measure") == "mrr@10")
    counted = table.select("catalog", "level", "value", "groups", "queries", "excluded", "excluded_groups")
    # food: (t1, g1), (t1, g2), (t2, g1) count, (t2, g2) does not; t3 names no catalog and counts in g1.
    assert counted.sort("catalog", "level").rows() == [
        ("(none)", "all", 1.0, 1, 1, 0, 0),
        ("(none)", "criterion", 1.0, 1, 1, 0, 0),
        ("food", "all", 1.0, 2, 3, 1, 0),
        ("food", "area", 1.0, 2, 3, 1, 0),
    ]
    whole = home.warehouse.load("toy", "system_scores").filter(
        (pl.col("measure") == "mrr@10") & (pl.col("level") == "all")
    )
    own = counted.filter(pl.col("level") == "all")
    assert (own["queries"].sum(), own["excluded"].sum()) == whole.select("queries", "excluded").row(0)
    assert "| mrr@10 | food" not in home.metadata(result, "catalog_scores")["scores"]  # the headline measure alone
    assert (
        "| ndcg@10 | food | all | bm25 | 1.000 | [1.000, 1.000] | 2 | 3 | 1 | 0 |"
        in (home.metadata(result, "catalog_scores")["scores"])
    )
    assert home.metadata(result, "query_scores")["tied_at_cut"] == {"bm25": {"@10": 0.0, "@100": 0.0}}


def test_an_empty_test_collection_gives_empty_tables_that_say_so(tmp_path: Path) -> None:
    home = Home(tmp_path, spec_of())
    for tables in ({"corpus": [], "queries": [], "qrels": []}, {"qrels": []}):
        home.land(**tables)
        result = home.materialise()
        for name in ("runs/bm25", "retrieval_runs", "query_scores", "system_scores", "comparisons"):
            assert home.metadata(result, name)["note"] == EMPTY
        for name in ("retrieval_runs", "query_scores", "group_scores", "system_scores", "comparisons"):
            assert home.warehouse.load("toy", name).is_empty()


def test_judgments_of_unknown_passages_are_named(tmp_path: Path) -> None:
    home = Home(tmp_path, spec_of(), [*QRELS, ("t1", "zz", 1)])
    with pytest.raises(TendrilError, match="zz"):
        home.materialise(["evaluation_inputs"])


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A base, and "fine-tuned" weights that differ from it."""
    pytest.importorskip("sentence_transformers")
    folder = tmp_path_factory.mktemp("encoders")
    return tiny_encoder(folder / "base"), tiny_encoder(folder / "tuned", layers=2)


def test_models_are_ranked_compared_and_cached(tmp_path: Path, encoders: tuple[Path, Path]) -> None:
    base, tuned = encoders
    home = Home(tmp_path, spec_of(base))
    with pytest.raises(TendrilError, match="holds no finished training"):
        home.materialise(["evaluation_inputs", "runs/mini_tuned"])
    home.finish_training(tuned)
    first = home.materialise()
    runs = home.warehouse.load("toy", "retrieval_runs")
    assert dict(runs.group_by("system").len().iter_rows()) == {"bm25": 13, "mini_base": 13, "mini_tuned": 13}
    told = home.metadata(first, "runs/mini_base")
    # The scores say whose they are, and of which texts.
    scores = home.warehouse.load("toy", "system_scores")
    hashes = {"bm25": None} | {
        f"mini_{kind}": file_hash(folder / "model.safetensors") for kind, folder in (("base", base), ("tuned", tuned))
    }
    assert dict(scores.select("system", "weights").unique().iter_rows()) == hashes
    assert (
        scores["test_hash"].unique().to_list()
        == home.warehouse.load("toy", "ranked_systems")["test_hash"].unique().to_list()
    )
    # 5 passages and 3 queries; t1 and t2 each occur in two groups but are encoded once.
    assert (told["encoded_texts"], told["texts_from_store"], told["truncated_inputs"]) == (8, 0, 0)
    assert told["embeddings_dropped"] == 0
    compared = home.warehouse.load("toy", "comparisons")
    assert set(compared.select("system", "baseline").iter_rows()) == {
        ("mini_tuned", "mini_base"),
        ("mini_tuned", "bm25"),
    }
    assert "judged@10" not in compared["measure"].to_list()
    assert compared.select("system", "baseline", "level", "measure").unique().height == compared.height
    both = compared.filter(
        (pl.col("baseline") == "bm25") & (pl.col("level") == "area") & (pl.col("measure") == "mrr@10")
    )
    expected = home.scores("mini_tuned", "mrr@10")["area"] - home.scores("bm25", "mrr@10")["area"]
    assert both["difference"].item() == pytest.approx(expected)
    second = home.materialise([*RANKINGS, "runs/mini_base", "runs/mini_tuned"])
    for system in ("bm25", "mini_base", "mini_tuned"):
        assert home.metadata(second, f"runs/{system}")["reused"] is True
    assert home.warehouse.load("toy", "retrieval_runs").equals(runs)
    # Another passage: the others' embeddings come from the store.
    home.land(corpus=[("a1", "w1 w2 w30", "g1", "d1", 1), *CORPUS[1:]])
    told = home.metadata(home.materialise(["evaluation_inputs", "runs/mini_base"]), "runs/mini_base")
    assert (told["encoded_texts"], told["texts_from_store"]) == (1, 7)
    assert told["embeddings_dropped"] == 1  # of the passage that is no longer there


def test_a_cut_of_the_base_is_one_line_of_its_ranking(
    tmp_path: Path, encoders: tuple[Path, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    base = encoders[0]
    cut = spec_of(base).models["mini"].model_copy(update={"dimensions": DIMENSIONS // 2})
    home = Home(tmp_path, spec_of(base).model_copy(update={"models": {"mini": cut}}))
    home.materialise(["evaluation_inputs", "runs/mini_base"])
    told = f"{DIMENSIONS} dimensions of the base cut to {DIMENSIONS // 2}; {DIMENSIONS // 2} is none of the widths"
    lines = [line for line in capfd.readouterr().err.splitlines() if told in line]
    assert len(lines) == 1
    assert "WARNING" in lines[0]


def test_weights_that_training_did_not_leave_are_refused(tmp_path: Path, encoders: tuple[Path, Path]) -> None:
    base, tuned = encoders
    home = Home(tmp_path, spec_of(base))
    home.finish_training(tuned)
    kept = home.artifacts.folder("toy", "models", "mini") / "kept" / "model.safetensors"
    kept.write_bytes((base / "model.safetensors").read_bytes())
    with pytest.raises(TendrilError, match="is not what training left"):
        home.materialise(["evaluation_inputs", "runs/mini_tuned"])


def test_the_graph() -> None:
    keys = {key.to_user_string() for a in evaluation_assets(spec_of(Path("/base"))).assets for key in a.keys}
    runs = {f"toy/runs/{system}" for system in ("bm25", "mini_base", "mini_tuned")}
    tables = {"retrieval_runs", "ranked_systems", *SCORES}
    assert keys == {"toy/evaluation_inputs", *runs, *(f"toy/{t}" for t in tables)}
    tuned = next(a for a in evaluation_assets(spec_of(Path("/base"))).assets if "mini_tuned" in str(a.keys))
    assert tuned.op.pool == "gpu"
    assert dg.AssetKey(["toy", "models", "mini"]) in tuned.dependency_keys


def test_a_ranking_that_does_not_say_which_weights_ranked_is_not_loaded(tmp_path: Path) -> None:
    home = Home(tmp_path, spec_of())
    home.materialise(RANKINGS[:2])
    run = home.artifacts.read_frame("toy", "run_bm25")
    home.artifacts.write_frame("toy", "run_bm25", run.drop("weights"))
    with pytest.raises(TendrilError, match="the ranking of bm25 does not say which weights ranked"):
        home.materialise(["retrieval_runs", "ranked_systems"])


def test_a_base_from_the_hub_is_named_by_its_revision() -> None:
    hub = ModelSpec(base="maker/model", revision="a" * 40, dimensions=8, licence="MIT")
    assert weights_name(hub, None) == f"maker/model@{'a' * 40}"
    # Without one it is named by the commit that is here; where none is, nobody can say which weights ranked.
    with pytest.raises(TendrilError, match="not in the hub's cache"):
        weights_name(hub.model_copy(update={"revision": None}), None)
