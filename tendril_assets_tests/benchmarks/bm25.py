"""BM25: ours beside bm25s as it comes, on passages and queries of published shape.

``python -m tendril_assets_tests.benchmarks.bm25 [--size small|published]``

``groups``: 33 projects of 140 passages, each asked 60 queries: how the test collection is ranked. ``corpus``: one index of
all passages. Texts are invented tender passages, queries the beginnings of others. Both arms start from the texts and end
with the 100 best passages of each query; bm25s is called as its own documentation has it (its tokeniser without stop words,
float32, ``retrieve`` on one thread), ours ranks by the stated tie rule and makes the rows of a run. ``plain`` is the
formula in Python over an inverted index, and what the scores are compared with. CPU seconds, arms in turns.

``ratio_bm25s`` is our CPU time over that of bm25s: at most 1 is no slower.
"""

import argparse
import json
import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import bm25s
import numpy as np
import polars as pl

from tendril_assets.evaluation.bm25 import rank_bm25, split
from tendril_assets.evaluation.ranking import Scope
from tendril_assets.spec_evaluation import Bm25Spec
from tendril_assets_tests.benchmarks.neardup import made_up

# Groups, passages and queries of each; passages and queries of the one corpus; rounds.
SIZES = {"small": ((33, 140, 60), (4_000, 100), 3), "published": ((33, 140, 60), (62_594, 541), 2)}
DEPTH, QUERY_WORDS = 100, 12
RULES = Bm25Spec()


def scope_of(texts: Sequence[str], asked: Sequence[str], group: str) -> Scope:
    n = len(texts)
    ids = [f"p-{group}-{n - row:08d}" for row in range(n)]  # descending
    queries = {"query_id": [f"q-{row:05d}" for row in range(len(asked))], "group_id": group, "text": list(asked)}
    return Scope(pl.DataFrame({"passage_id": ids, "text": list(texts)}), pl.DataFrame(queries))


def scopes(groups: int, passages: int, queries: int) -> list[Scope]:
    """Queries are the first words of passages that are in none of the groups, the same for all groups."""
    texts = made_up(groups * passages + 4 * queries)["text"].to_list()
    asked = [" ".join(text.split()[:QUERY_WORDS]) for text in texts[groups * passages :]][:queries]
    return [scope_of(texts[g * passages :][:passages], asked, f"{g:03d}") for g in range(groups)]


def theirs(scopes: Sequence[Scope]) -> list[tuple[np.ndarray, np.ndarray]]:
    """(passages, scores) of each scope, both (queries, depth)."""
    found = []
    for scope in scopes:
        index = bm25s.BM25(k1=RULES.k1, b=RULES.b, method="lucene")
        index.index(
            bm25s.tokenize(scope.passages["text"].to_list(), stopwords=None, show_progress=False), show_progress=False
        )
        asked = bm25s.tokenize(scope.queries["text"].to_list(), stopwords=None, show_progress=False)
        depth = min(DEPTH, scope.passages.height)
        found.append(tuple(index.retrieve(asked, k=depth, n_threads=1, show_progress=False)))
    return found


def plain(scope: Scope) -> list[dict[int, float]]:
    """Scores above 0 of each query, by the formula."""
    documents = [Counter(split(text)) for text in scope.passages["text"]]
    lengths = [sum(document.values()) for document in documents]
    mean = sum(lengths) / len(lengths)
    postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for row, document in enumerate(documents):
        for token, tf in document.items():
            postings[token].append((row, tf))
    scored = []
    for text in scope.queries["text"]:
        scores: dict[int, float] = defaultdict(float)
        for token in split(text):
            n = len(postings.get(token, ()))
            idf = math.log(1 + (len(documents) - n + 0.5) / (n + 0.5))
            for row, tf in postings.get(token, ()):
                scores[row] += idf * tf / (tf + RULES.k1 * (1 - RULES.b + RULES.b * lengths[row] / mean))
        scored.append(scores)
    return scored


def largest_difference(run: pl.DataFrame, scope: Scope) -> float:
    """Between the scores of our run and those of the formula."""
    rows = {passage: row for row, passage in enumerate(scope.passages["passage_id"])}
    order = {query: place for place, query in enumerate(scope.queries["query_id"])}
    expected = plain(scope)
    own = run.filter(pl.col("group_id") == scope.queries["group_id"][0]).select("query_id", "passage_id", "score")
    return max(abs(score - expected[order[query]].get(rows[passage], 0.0)) for query, passage, score in own.iter_rows())


def measure(parts: Sequence[Scope], rounds: int) -> dict[str, float]:
    results: dict[str, Any] = {}
    arms: dict[str, Callable[[], Any]] = {
        "ours": lambda: rank_bm25(parts, RULES, DEPTH),
        "bm25s": lambda: theirs(parts),
    }
    cpu = dict.fromkeys(arms, math.inf)
    for _ in range(rounds):
        for name, arm in arms.items():
            begin = time.process_time()
            results[name] = arm()
            cpu[name] = min(cpu[name], time.process_time() - begin)
    begin = time.process_time()
    apart = max(largest_difference(results["ours"], scope) for scope in parts[:3])
    assert apart < 1e-4, f"the scores are not those of the formula: {apart}"
    return {
        "passages": float(sum(scope.passages.height for scope in parts)),
        "queries": float(sum(scope.queries.height for scope in parts)),
        **{f"{name}_cpu_s": seconds for name, seconds in cpu.items()},
        "plain_cpu_s_of_first_scopes": time.process_time() - begin,
        "ratio_bm25s": cpu["ours"] / cpu["bm25s"],
        "largest_difference": apart,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="small")
    size = parser.parse_args().size
    grouped, corpus, rounds = SIZES[size]
    figures: dict[str, Any] = {"size": size}
    by_group = measure(scopes(*grouped), rounds)
    figures |= {f"groups_{name}": value for name, value in by_group.items()}
    figures |= {f"corpus_{name}": value for name, value in measure(scopes(1, *corpus), rounds).items()}
    figures["ratio_bm25s"] = by_group["ratio_bm25s"]
    for name, value in figures.items():
        print(f"{name:38} {value:.6g}" if isinstance(value, float) else f"{name:38} {value}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
