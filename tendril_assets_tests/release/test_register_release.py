"""A release with several splits of its judgments: how it loads, is measured, follows another, and is withdrawn."""

import json
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from tendril_assets.corpus.erasure import Removed
from tendril_assets.errors import ExportInvariantError, IncompleteJudgments
from tendril_assets.evaluation import aggregate
from tendril_assets.evaluation.collection import judged_collection
from tendril_assets.evaluation.held_out import held_out, under_test
from tendril_assets.evaluation.metrics import score_queries
from tendril_assets.release.beir import read_beir
from tendril_assets.release.huggingface import PART_COLUMN, read_configs, read_rows, split_files
from tendril_assets.release.manifest import damaged_files, read_manifest
from tendril_assets.release.publish import require_publishable, write_release
from tendril_assets.release.verify import require_loadable
from tendril_assets.release.withdrawing import withdraw
from tendril_assets_tests.release import toy, toy_registers
from tendril_assets_tests.release.test_publish import unchecked

NOW = datetime(2026, 11, 30, 18, 22, 59)
# Judgments by hand: live 7, manual 3 and unseen 1 are tests, one synthetic question is of the dev act, two of training acts.
PARTS = {"train": 2, "dev": 1, "test": 11}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_release(
        tmp_path_factory.mktemp("release"), toy_registers.inputs(toy_registers.tables()), unchecked
    ).path


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy to change, in a release folder of its own."""
    return Path(shutil.copytree(made, tmp_path / "release" / made.name))


def removed(*, groups=(), passages=()) -> Removed:
    return Removed(frozenset(groups), frozenset(), frozenset(passages))


def test_every_config_and_split_loads_whole_and_streamed(made: Path) -> None:
    expected = {config.name: config.rows for config in read_configs(made)}
    assert expected == {"corpus": 28, "queries": 11, "qrels": 14}
    assert read_configs(made)[2].splits == PARTS
    require_loadable(made, expected)


def test_beir_has_a_file_of_judgments_for_each_split(made: Path) -> None:
    rows = read_rows(made)
    for part, n in PARTS.items():
        beir = read_beir(made / "beir", part)
        assert beir.qrels.height == n
        assert beir.qrels.equals(rows.qrels.filter(pl.col(PART_COLUMN) == part).drop(PART_COLUMN))
        assert (beir.corpus["id"].to_list(), beir.queries["id"].to_list()) == (
            rows.corpus["id"].to_list(),
            rows.queries["id"].to_list(),
        )


@pytest.mark.parametrize("config", ["corpus", "qrels"])
def test_shards_of_two_writings_are_refused(folder: Path, config: str) -> None:
    [first, *_] = split_files(folder, config).values()
    stray = {"corpus": "train-00000-of-00001.parquet", "qrels": "other-00000-of-00001.parquet"}[config]
    shutil.copyfile(first[0], folder / config / stray)
    with pytest.raises(ExportInvariantError, match="of one writing"):
        read_rows(folder)


def test_registers_are_measured_as_mteb_task_as_by_us(made: Path) -> None:
    pytest.importorskip("mteb")
    from tendril_assets.release.mteb import retrieval_task
    from tendril_assets_tests.release.test_mteb import Given, by_mteb

    frames = toy_registers.tables()
    found = held_out(
        frames["queries"],
        frames["qrels"],
        frames["project_queries"],
        frames["splits"],
        toy_registers.spec().splits.test,
        list(toy_registers.GENERATED),
    )
    ours = under_test(judged_collection(frames["corpus"], found.queries, found.qrels.drop("group_id"), "collection"))
    passages = frames["corpus"]["passage_id"].to_list()
    scores = {text: {p: round(toy.noise(text, p), 6) for p in passages} for text in frames["queries"]["text"]}
    run = [
        (query, group, passage, value)
        for query, group, text in ours.units.join(ours.queries.select("query_id", "text"), on="query_id").iter_rows()
        for passage, value in scores[text].items()
    ]
    ranked = pl.DataFrame(run, schema=["query_id", "group_id", "passage_id", "score"], orient="row")
    by_query = aggregate.with_levels(score_queries(ranked, ours.qrels, ["ndcg@10"]), ours.queries)
    macro = aggregate.macro_means(aggregate.group_scores(by_query))
    plain = by_query.group_by("level").agg(pl.col("value").mean())
    task = retrieval_task(made, scope="collection", language="rus-Cyrl")
    assert task.eval_splits == ["test"]
    theirs = by_mteb(task, Given(scores))
    for level in ("live", "manual", "unseen"):
        assert theirs[f"macro_ndcg_at_10_{level}"] == pytest.approx(macro.filter(level=level)["value"][0], abs=1e-12)
        assert theirs[f"ndcg_at_10_{level}"] == pytest.approx(plain.filter(level=level)["value"][0], abs=1e-12)
    assert retrieval_task(made, scope="collection", split="dev").eval_splits == ["dev"]
    for place in (made, made / "beir"):
        with pytest.raises(
            ExportInvariantError, match=r"no split 'validation' of the judgments; it has dev, test, train"
        ):
            retrieval_task(place, scope="collection", split="validation")


def test_a_query_counts_in_the_act_it_belongs_to_and_not_in_that_of_its_answers(made: Path) -> None:
    """``man1`` belongs to act 7; were its relevant passages of act 1, it would still count in act 7."""
    pytest.importorskip("mteb")
    from tendril_assets.release.mteb import read_source

    source = read_source(made, group_column=None, split="test", scope="collection")
    own = dict(source.queries.select("query_id", "group_id").iter_rows())
    assert (own["man1"], own["man2"], own["live8"]) == (toy_registers.U1, None, toy_registers.L1)
    answered = pl.when(pl.col("query_id") == "man1").then(pl.lit(toy_registers.passage(toy_registers.T1, 0)))
    elsewhere = source.qrels.with_columns(passage_id=answered.otherwise("passage_id")).unique(
        ["query_id", "passage_id"]
    )
    judged = judged_collection(source.corpus, source.queries, elsewhere, "collection")
    assert judged.qrels.filter(query_id="man1")["group_id"].unique().to_list() == [toy_registers.U1]


def test_a_second_version_says_what_changed_and_what_went_to_another_split(folder: Path) -> None:
    frames = toy_registers.tables()
    moved = pl.when(pl.col("group_id") == toy_registers.T2).then(pl.lit("validation")).otherwise("split")
    frames["splits"] = frames["splits"].with_columns(split=moved)
    second = write_release(folder.parent, toy_registers.inputs(frames, "0.2.0"), unchecked).path
    text = (second / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "- Judgments: 14 (0 added, 0 taken out, 1 changed)." in text  # q-2, from train to dev
    assert "First release: 28 passages, 11 queries, 14 judgments." in text
    assert read_configs(second)[2].splits == {"train": 1, "dev": 2, "test": 11}


def test_a_version_is_withdrawn_with_the_questions_written_from_it(folder: Path) -> None:
    root, gone = folder.parent, removed(groups=[toy_registers.T1])
    (told,) = withdraw(root, gone, NOW)
    # Four passages; q-1 was written from the first, man2 was judged on the last.
    assert (len(told.passages), told.judgments) == (4, 2)
    left = read_rows(folder)
    assert (left.corpus.height, left.queries.height, left.qrels.height) == (24, 10, 12)
    assert "q-1" not in left.queries["id"].to_list()
    assert "man2" in left.queries["id"].to_list()
    assert "Текст q-1" not in (folder / "beir" / "queries.jsonl").read_text(encoding="utf-8")
    assert [path.name for path in (folder / "beir" / "qrels").iterdir()] == ["withdrawn.tsv"]
    assert damaged_files(folder, read_manifest(folder)) == []
    # A later removal still knows that questions were written from passages.
    (again,) = withdraw(root, removed(passages=[toy_registers.passage(toy_registers.U1, 0)]), NOW)
    assert (again.taken, len(again.passages), again.judgments) == (1, 5, 2 + 2)
    assert "q-4" not in read_rows(folder).queries["id"].to_list()
    assert withdraw(root, gone, NOW) == []
    later = write_release(root, toy_registers.inputs(toy_registers.tables(), "0.2.0"), unchecked).path
    assert "- Queries: 11 (2 added, 2 taken out, 0 changed)." in (later / "CHANGELOG.md").read_text(encoding="utf-8")


def test_a_question_keeps_its_place_while_another_of_its_answers_stands(folder: Path) -> None:
    withdraw(folder.parent, removed(passages=[toy_registers.passage(toy_registers.L1, 1)]), NOW)
    left = read_rows(folder).queries["id"].to_list()
    assert "live1" in left  # its gold is another passage
    assert "live2" not in left  # its only gold is gone


def test_a_version_without_any_judgment_left_is_withdrawn_too(folder: Path) -> None:
    withdraw(folder.parent, removed(groups=toy_registers.ACTS), NOW)
    assert [frame.height for frame in read_rows(folder)] == [0, 3, 0]  # live8, man1 and man2 had no grade 2


def test_nothing_loads_a_withdrawn_version(folder: Path, tmp_path: Path) -> None:
    """Files called ``test-*`` are a data set for a reader that knows no card, so none may be left."""
    withdraw(folder.parent, removed(groups=[toy_registers.T1]), NOW)
    assert not [path for path in folder.rglob("*.parquet") if not path.name.startswith("train-")]
    code = (
        "import datasets, json, sys\n"
        "try: found = sorted(datasets.load_dataset(sys.argv[1]))\n"
        "except Exception as error: found = type(error).__name__\n"
        "print(json.dumps(found))"
    )
    environment = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "cache"), "PATH": "/usr/bin"}
    done = subprocess.run([sys.executable, "-c", code, str(folder)], env=environment, capture_output=True, text=True)
    assert str(json.loads(done.stdout.splitlines()[-1])).startswith("DatasetGeneration"), done.stderr[-500:]


def test_an_unfinished_pool_is_no_release() -> None:
    frames = toy_registers.tables()
    frames["judgments"] = frames["judgments"].filter(pl.col("query_id") != "live8")
    pairs = pl.col("query_id") == "live8"
    for name in ("qrels", "qrel_evidence"):
        frames[name] = frames[name].filter(~pairs)
    with pytest.raises(IncompleteJudgments, match="1 judge requests are open"):
        require_publishable(toy_registers.inputs(frames, open_requests=1))
