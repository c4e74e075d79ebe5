"""Measures and significance: equal to trec_eval, and how fast.

``python -m tendril_assets_tests.benchmarks.measures [--size small|published]``

The baseline is a plain Python loop over queries, worked from the same rows; where pytrec_eval is installed it is the
second one, given its own dictionaries ready-made and asked for the same measures. The conversion of frames to arrays is
timed apart, as is that of frames to dictionaries; ``speedup_pytrec_eval_from_frames`` has both in it. CPU seconds, arms in
turns, the best of each.
"""

import argparse
import importlib.util
import json
import math
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl

from tendril_assets.evaluation.metrics import Judgments
from tendril_assets.evaluation.significance import comparisons, system_intervals

SIZES = {"small": (300, 60), "published": (2000, 150)}
MEASURES = ("ndcg@10", "recall@10", "recall@100", "mrr@10", "p@10", "judged@10")
# What pytrec_eval is asked for; reciprocal rank has no cutoff there, so ours is one that no ranking reaches.
TREC_EVAL = {
    "ndcg@10": "ndcg_cut_10",
    "recall@10": "recall_10",
    "recall@100": "recall_100",
    "p@10": "P_10",
    "mrr@1000": "recip_rank",
}
N_GROUPS, N_MODELS, RESAMPLES = 33, 4, 10_000
ROUNDS = 7


def in_turns(rounds: int, arms: Mapping[str, Callable[[], Any]]) -> tuple[dict[str, float], dict[str, Any]]:
    """Fewest CPU seconds of each arm, and its last result: what slows the machine for a while meets all arms alike."""
    seconds, results = dict.fromkeys(arms, math.inf), {}
    for _ in range(rounds):
        for name, arm in arms.items():
            begin = time.process_time()
            results[name] = arm()
            seconds[name] = min(seconds[name], time.process_time() - begin)
    return seconds, results


def made_up(n_queries: int, n_passages: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A run and qrels of the published shape; one score in ten is tied with another."""
    generator = np.random.default_rng(42)
    query = np.repeat(np.arange(n_queries), n_passages)
    run = pl.DataFrame(
        {
            "query_id": [f"q-{q:020x}" for q in query],
            "group_id": [f"g-{q % N_GROUPS:020x}" for q in query],
            "passage_id": [f"p-{q % N_GROUPS:08x}{i:012x}" for q in range(n_queries) for i in range(n_passages)],
            "score": np.round(generator.random(len(query)), 3).astype(np.float64),
        }
    )
    grades = generator.choice(3, size=len(query), p=[0.92, 0.05, 0.03])
    kept = generator.random(len(query)) < 0.9
    qrels = run.drop("score").with_columns(score=pl.Series(grades.astype(np.int8))).filter(pl.Series(kept))
    return run, qrels


def dictionaries(frame: pl.DataFrame, kind: type) -> dict[str, dict[str, Any]]:
    nested: dict[str, dict[str, Any]] = defaultdict(dict)
    for query, passage, value in frame.select("query_id", "passage_id", "score").iter_rows():
        nested[query][passage] = kind(value)
    return dict(nested)


def plain_ndcg(run: dict[str, dict[str, float]], qrels: dict[str, dict[str, int]]) -> dict[str, float]:
    """nDCG@10 one query after the other: the bare baseline, which does one measure only."""
    values = {}
    for query, grades in qrels.items():
        ideal = sorted(grades.values(), reverse=True)[:10]
        best = sum(g / math.log2(i + 2) for i, g in enumerate(ideal))
        if best == 0:
            continue
        ranking = sorted(((np.float32(s), p) for p, s in run[query].items()), reverse=True)[:10]
        values[query] = sum(grades.get(p, 0) / math.log2(i + 2) for i, (_, p) in enumerate(ranking)) / best
    return values


def significance_seconds() -> float:
    """All intervals and comparisons of 4 models, their bases and BM25 over 33 groups, 3 levels and 5 measures."""
    generator = np.random.default_rng(7)
    systems = ["bm25", *(f"m{i}_{kind}" for i in range(N_MODELS) for kind in ("base", "tuned"))]
    axes = [systems, [f"g{g:02d}" for g in range(N_GROUPS)], ["all", "area", "criterion"], list(MEASURES[:5])]
    rows = [(s, g, level, m) for s in axes[0] for g in axes[1] for level in axes[2] for m in axes[3]]
    groups = pl.DataFrame(rows, schema=["system", "group_id", "level", "measure"], orient="row").with_columns(
        value=pl.Series(generator.random(len(rows))), queries=pl.lit(10)
    )
    models = [f"m{i}" for i in range(N_MODELS)]
    families = {
        "base": [(f"{m}_tuned", f"{m}_base") for m in models],
        "bm25": [(f"{m}_tuned", "bm25") for m in models],
    }
    options = {"seed": 42, "resamples": RESAMPLES, "confidence": 0.95}

    def work() -> None:
        system_intervals(groups, **options)
        comparisons(groups, families, **options)

    return in_turns(3, {"all": work})[0]["all"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="small")
    size = parser.parse_args().size
    run, qrels = made_up(*SIZES[size])
    judgments = Judgments(qrels)
    placed = judgments.place(run)
    run_dict, qrel_dict = dictionaries(run, float), dictionaries(qrels, int)
    arms: dict[str, Callable[[], Any]] = {
        "place": lambda: judgments.place(run),
        "score": lambda: judgments.score(placed, list(TREC_EVAL)),
        "plain_ndcg": lambda: plain_ndcg(run_dict, qrel_dict),
        "dictionaries": lambda: dictionaries(run, float),
    }
    if peer := importlib.util.find_spec("pytrec_eval"):
        pytrec_eval = importlib.import_module("pytrec_eval")
        evaluator = pytrec_eval.RelevanceEvaluator(qrel_dict, {"ndcg_cut.10", "recall.10,100", "P.10", "recip_rank"})
        arms["pytrec_eval"] = lambda: evaluator.evaluate(run_dict)
    seconds, results = in_turns(ROUNDS, arms)
    ours = {(q, m): v for q, _, m, v, _ in results["score"].iter_rows()}
    figures: dict[str, Any] = {
        "size": size,
        "rows": run.height,
        **{f"{name}_s": spent for name, spent in seconds.items()},
        "speedup_plain_ndcg": seconds["plain_ndcg"] / seconds["score"],
        "max_difference": max(abs(ours[q, "ndcg@10"] - v) for q, v in results["plain_ndcg"].items()),
        "compared_with": "plain Python, ndcg@10",
        "comparisons_s": significance_seconds(),
    }
    if peer:
        theirs, with_frames = results["pytrec_eval"], seconds["pytrec_eval"] + seconds["dictionaries"]
        figures |= {
            "speedup_pytrec_eval": seconds["pytrec_eval"] / seconds["score"],
            "speedup_pytrec_eval_from_frames": with_frames / (seconds["score"] + seconds["place"]),
            "max_difference": max(abs(v - theirs[q][TREC_EVAL[m]]) for (q, m), v in ours.items()),
            "compared_with": f"pytrec_eval, {', '.join(TREC_EVAL.values())}",
        }
    else:
        print("pytrec_eval is not installed: compared with a plain Python loop instead")
    for name, value in figures.items():
        print(f"{name:34} {value:.6g}" if isinstance(value, float) else f"{name:34} {value}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
