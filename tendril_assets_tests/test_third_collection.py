"""A third collection is a folder of two files, and nothing else: put beside the shipped ones, it runs to a release.

It is like neither of them: circulars of a works department, keyed identifiers, plain paragraphs, hand-written queries, a
pool of BM25 alone, splits by file, a judge of the two-question form, no model.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tendril_assets_tests.assets.http_stub import serving
from tendril_assets_tests.test_architecture import PACKAGE, REPOSITORY

DEFS = """
type: tendril_assets.components.RetrievalCollection
attributes:
  collection: circulars
  seed: 7
  group: circular
  subsets: [manual]
  sampling: {n_projects: null, documents_per_project: 1}
  restrictions: {policy: none}
  anonymization: {detector: none}
  filters: {near_duplicate: {drop: false}}
  registers: {manual: {level: manual}}
  candidates: {policy: pooled, systems: [bm25], depth: 4}
  judge: {llm: {model: toy/judge, max_tokens: 64, require_parameters: false}, guideline: ru_two_questions}
  splits: {policy: file, test: [held_out], live: held_out}
  models: {}
  evaluation: {test: held_out, scope: collection, resamples: 200, bm25: {stemmer: russian}}
  release: {name: circulars, version: 0.1.0, title: Circulars, licence_name: CC0-1.0, language: ru, group_column: circular}
"""
SOURCES = """
import json
from pathlib import Path

import polars as pl

from tendril_assets.files import file_hash
from tendril_assets.tables import ACTS, LANDING, TABLES


def landing_tables(folder: Path, spec, hash_of=file_hash) -> dict[str, pl.DataFrame]:
    content = json.loads((folder / "circulars.json").read_text(encoding="utf-8"))
    files = sorted((folder / "texts").glob("*.txt"))
    rows = {
        "projects": [(path.stem, path.stem, None, "ru", None) for path in files],
        "documents": [
            (path.stem, path.name, str(path), hash_of(path), path.stat().st_size, False) for path in files
        ],
        "manual_queries": [tuple(row) for row in content["queries"]],
        "landed_splits": [(name, split) for split, names in content["splits"].items() for name in names],
    }
    return {table.name: table.empty() for table in (*LANDING, *ACTS)} | {
        name: TABLES[name].frame(found) for name, found in rows.items()
    }
"""
SUBJECTS = ("лестницы", "насосы", "кабели", "окна", "ворота", "краны")
PLACES = ("подвале", "цехе", "дворе")


def text(subject: str) -> str:
    return "\n\n".join(
        f"Осмотр: {subject} в {place} проверяет мастер участка номер {n} раз в {n + len(subject)} недель, затем {subject} "
        f"чистят и {place}-{subject}-{n} заносят в журнал."
        for n, place in enumerate(PLACES, 1)
    )


def land(folder: Path) -> None:
    """Four circulars to train on, one to validate by, one held out with all three queries."""
    (folder / "texts").mkdir(parents=True)
    for subject in SUBJECTS:
        (folder / "texts" / f"{subject}.txt").write_text(text(subject), encoding="utf-8")
    queries = [[f"m{n}", f"Когда проверяют краны в {place}?", "краны"] for n, place in enumerate(PLACES)]
    splits = {"train": SUBJECTS[:4], "dev": SUBJECTS[4:5], "held_out": SUBJECTS[5:]}
    (folder / "circulars.json").write_text(json.dumps({"queries": queries, "splits": splits}), encoding="utf-8")


def verdict(query: str, passage: str) -> tuple[int, str, str]:
    place = next(place for place in PLACES if place in query)
    answer = "полный" if "краны" in passage and place in passage else "нет"
    return 200, json.dumps({"предмет": "да" if "краны" in passage else "нет", "ответ": answer}), "stop"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package with one folder more, and the data folder after ``tendril run circulars``."""
    root = tmp_path_factory.mktemp("third")
    shutil.copytree(PACKAGE, root / "tendril_assets")
    shutil.copytree(REPOSITORY / "sql", root / "sql")
    for name in ("pyproject.toml", "dagster.yaml", "workspace.yaml"):
        shutil.copyfile(REPOSITORY / name, root / name)
    own = root / "tendril_assets" / "defs" / "circulars"
    own.mkdir()
    (own / "defs.yaml").write_text(DEFS, encoding="utf-8")
    (own / "sources.py").write_text(SOURCES, encoding="utf-8")
    land(root / "landing" / "circulars")
    with serving(verdict) as stub:
        variables = {
            "TENDRIL_HOME": str(root / "home"),
            "TENDRIL_LANDING": str(root / "landing"),
            "TENDRIL_PROFILE": "none",
            "TENDRIL_HASH_KEY": "k" * 40,
            "TENDRIL_LLM_BASE_URL": stub.base_url,
            "TENDRIL_LLM_API_KEY": "key",
            "PYTHONPATH": str(root),
        }
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("TENDRIL_", "DAGSTER_"))}
        done = subprocess.run(
            [sys.executable, "-m", "tendril_assets.cli", "run", "circulars"],
            env=keep | variables,
            cwd=root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-6000:]
    return root


def test_it_runs_to_a_release(house: Path) -> None:
    folder = house / "home" / "release" / "circulars" / "0.1.0"
    qrels = (folder / "beir" / "qrels" / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]
    # Three queries, a pool of four each: the one passage of the place answers, other passages on cranes are about it.
    grades = sorted(int(line.split("\t")[2]) for line in qrels)
    assert grades.count(2) == 3
    assert len(grades) == 12
    assert "circulars" in (folder / "README.md").read_text(encoding="utf-8").lower()


def test_its_tables_are_those_of_its_own_policies(house: Path) -> None:
    with duckdb.connect(str(house / "home" / "snapshot.duckdb"), read_only=True) as snapshot:

        def rows(statement: str) -> list[tuple]:
            return snapshot.execute(statement).fetchall()

        assert rows("SELECT DISTINCT substr(passage_id, 1, 2), substr(group_id, 1, 2) FROM circulars.corpus") == [
            ("p-", "g-")
        ]
        splits = rows("SELECT split, count(*) FROM circulars.splits GROUP BY split ORDER BY split")
        assert splits == [("held_out", 1), ("train", 4), ("validation", 1)]
        ((ndcg,),) = rows(
            "SELECT value FROM circulars.system_scores WHERE system = 'bm25' AND level = 'all' AND measure = 'ndcg@10'"
        )
        assert 0.5 < ndcg <= 1
