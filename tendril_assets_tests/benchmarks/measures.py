"""Measures and significance: equal to trec_eval, and how fast.

``python -m tendril_assets_tests.benchmarks.measures [--size small|published]``

The baseline is a plain Python loop over queries, worked from the same rows; where pytrec_eval is installed it is the
second one, given its own dictionaries ready-made and asked for the same measures. The conversion of frames to arrays is
timed apart, as is that of frames to dictionaries. CPU seconds, the best of three.
"""

import argparse
import importlib.util
import json
import math
import time
from collections import defaultdict
from collections.abc import Callable
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


def best_of(n: int, work: Callable[[], Any]) -> tuple[float, Any]:
    seconds, result = math.inf, None
    for _ in range(n):
        begin = time.process_time()
        result = work()
        seconds = min(seconds, time.process_time() - begin)
    return seconds, result


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

    return best_of(3, work)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="small")
    size = parser.parse_args().size
    run, qrels = made_up(*SIZES[size])
    judgments = Judgments(qrels)
    place_s, placed = best_of(3, lambda: judgments.place(run))
    score_s, scores = best_of(3, lambda: judgments.score(placed, list(TREC_EVAL)))
    convert_s, run_dict = best_of(1, lambda: dictionaries(run, float))
    qrel_dict = dictionaries(qrels, int)
    plain_s, plain = best_of(1, lambda: plain_ndcg(run_dict, qrel_dict))
    ours = {(q, m): v for q, _, m, v, _ in scores.iter_rows()}
    figures: dict[str, Any] = {
        "size": size,
        "rows": run.height,
        "place_s": place_s,
        "score_s": score_s,
        "plain_ndcg_s": plain_s,
        "speedup_plain_ndcg": plain_s / score_s,
        "max_difference": max(abs(ours[q, "ndcg@10"] - v) for q, v in plain.items()),
        "compared_with": "plain Python, ndcg@10",
        "comparisons_s": significance_seconds(),
    }
    if importlib.util.find_spec("pytrec_eval"):
        pytrec_eval = importlib.import_module("pytrec_eval")
        evaluator = pytrec_eval.RelevanceEvaluator(qrel_dict, {"ndcg_cut.10", "recall.10,100", "P.10", "recip_rank"})
        theirs_s, theirs = best_of(3, lambda: evaluator.evaluate(run_dict))
        figures |= {
            "pytrec_eval_s": theirs_s,
            "dictionaries_s": convert_s,
            "speedup_pytrec_eval": theirs_s / score_s,
            "speedup_pytrec_eval_from_frames": (theirs_s + convert_s) / (score_s + place_s),
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
