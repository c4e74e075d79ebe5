"""BM25: ours beside bm25s as it comes, on passages and queries of published shape.

``python -m tendril_assets_tests.benchmarks.bm25 [--size small|published]``

``groups``: 33 projects of 140 passages, each asked 60 queries: how the test collection is ranked. ``corpus``: one index of
all passages. ``russian``: one index of passages in invented inflected Russian, 180 words each, about as many as a clause of
a regulation has, asked as a collection of regulations asks: Russian stop words and stemmer in both arms, the list and the
stemmer those of bm25s. Elsewhere texts are invented tender passages, queries the beginnings of others. All arms start from
the texts and end with the 100 best passages of each query; bm25s is called as its own documentation has it (its tokeniser,
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

from tendril_assets.evaluation.bm25 import Tokeniser, load_stemmer, load_stop_words, rank_bm25
from tendril_assets.evaluation.ranking import Scope
from tendril_assets.spec_evaluation import Bm25Spec
from tendril_assets_tests.benchmarks.neardup import made_up

# Groups, passages and queries of each; passages and queries of the one corpus; rounds.
SIZES = {"small": ((33, 140, 60), (4_000, 100), 3), "published": ((33, 140, 60), (62_594, 541), 2)}
DEPTH, QUERY_WORDS = 100, 12
CHECKED = 60  # queries of a scope whose scores are compared with the formula
RULES = Bm25Spec()
RUSSIAN = Bm25Spec(stemmer="russian", stop_words="russian")
RUSSIAN_WORDS, RUSSIAN_STEMS = 180, 20_000
_SYLLABLES = (
    "бан",
    "кре",
    "дит",
    "рас",
    "чет",
    "лик",
    "вид",
    "про",
    "цен",
    "опе",
    "ра",
    "це",
    "до",
    "го",
    "вор",
    "ко",
    "ми",
)
_ENDINGS = (
    "",
    "а",
    "у",
    "ом",
    "е",
    "ы",
    "ов",
    "ам",
    "ами",
    "ах",
    "ость",
    "ости",
    "ный",
    "ного",
    "ному",
    "ным",
    "ная",
    "ной",
)
_SMALL_WORDS = ("и", "в", "не", "на", "с", "по", "для", "от", "к", "о", "из", "что", "при", "или")


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


def russian_scope(passages: int, queries: int, seed: int = 7) -> Scope:
    """Words by a power law over invented stems with Russian endings; every third is a small word. A query is ten words of
    three passages each."""
    generator = np.random.default_rng(seed)
    syllables = generator.integers(0, len(_SYLLABLES), (RUSSIAN_STEMS, 3))
    stems = ["".join(_SYLLABLES[part] for part in parts) for parts in syllables]
    weights = 1.0 / np.arange(1, RUSSIAN_STEMS + 1)
    drawn = generator.choice(RUSSIAN_STEMS, size=(passages, RUSSIAN_WORDS), p=weights / weights.sum())
    ends = generator.integers(0, len(_ENDINGS), drawn.shape)
    small = generator.integers(0, 3 * len(_SMALL_WORDS), drawn.shape)
    texts = [
        " ".join(
            _SMALL_WORDS[w] if w < len(_SMALL_WORDS) else stems[s] + _ENDINGS[e] for s, e, w in zip(*row, strict=True)
        )
        for row in zip(drawn, ends, small, strict=True)
    ]
    origins = generator.integers(0, passages, (queries, 3))
    asked = [" ".join(word for origin in row for word in texts[origin].split()[:10]) for row in origins]
    return scope_of(texts, asked, "russian")


def theirs(scopes: Sequence[Scope], rules: Bm25Spec = RULES) -> list[tuple[np.ndarray, np.ndarray]]:
    """(passages, scores) of each scope, both (queries, depth)."""
    found = []
    reads: dict[str, Any] = {"stopwords": None}
    if rules.stemmer != "none":
        reads = {"stopwords": list(load_stop_words(rules.stop_words)), "stemmer": load_stemmer(rules.stemmer)}
    for scope in scopes:
        index = bm25s.BM25(k1=rules.k1, b=rules.b, method="lucene")
        tokens = bm25s.tokenize(scope.passages["text"].to_list(), show_progress=False, **reads)
        index.index(tokens, show_progress=False)
        asked = bm25s.tokenize(scope.queries["text"].to_list(), show_progress=False, **reads)
        depth = min(DEPTH, scope.passages.height)
        found.append(tuple(index.retrieve(asked, k=depth, n_threads=1, show_progress=False)))
    return found


def plain(scope: Scope, rules: Bm25Spec = RULES) -> list[dict[int, float]]:
    """Scores above 0 of each query, by the formula."""
    terms = Tokeniser(rules)
    documents = [Counter(terms(text)) for text in scope.passages["text"]]
    lengths = [sum(document.values()) for document in documents]
    mean = sum(lengths) / len(lengths)
    postings: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for row, document in enumerate(documents):
        for token, tf in document.items():
            postings[token].append((row, tf))
    scored = []
    for text in scope.queries["text"]:
        scores: dict[int, float] = defaultdict(float)
        for token in terms(text):
            n = len(postings.get(token, ()))
            idf = math.log(1 + (len(documents) - n + 0.5) / (n + 0.5))
            for row, tf in postings.get(token, ()):
                scores[row] += idf * tf / (tf + rules.k1 * (1 - rules.b + rules.b * lengths[row] / mean))
        scored.append(scores)
    return scored


def largest_difference(run: pl.DataFrame, scope: Scope, rules: Bm25Spec = RULES) -> float:
    """Between the scores of our run and those of the formula."""
    rows = {passage: row for row, passage in enumerate(scope.passages["passage_id"])}
    order = {query: place for place, query in enumerate(scope.queries["query_id"])}
    expected = plain(scope, rules)
    own = run.filter(pl.col("group_id") == scope.queries["group_id"][0], pl.col("query_id").is_in(list(order)))
    own = own.select("query_id", "passage_id", "score")
    return max(abs(score - expected[order[query]].get(rows[passage], 0.0)) for query, passage, score in own.iter_rows())


def _few(scope: Scope) -> Scope:
    """The scope with its first queries alone: the formula in Python takes its time."""
    return Scope(scope.passages, scope.queries.head(CHECKED))


def measure(parts: Sequence[Scope], rounds: int, rules: Bm25Spec = RULES) -> dict[str, float]:
    results: dict[str, Any] = {}
    arms: dict[str, Callable[[], Any]] = {
        "ours": lambda: rank_bm25(parts, rules, DEPTH),
        "bm25s": lambda: theirs(parts, rules),
    }
    cpu = dict.fromkeys(arms, math.inf)
    for _ in range(rounds):
        for name, arm in arms.items():
            begin = time.process_time()
            results[name] = arm()
            cpu[name] = min(cpu[name], time.process_time() - begin)
    begin = time.process_time()
    apart = max(largest_difference(results["ours"], _few(scope), rules) for scope in parts[:3])
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
    figures |= {f"russian_{name}": v for name, v in measure([russian_scope(*corpus)], rounds, RUSSIAN).items()}
    figures["ratio_bm25s"] = by_group["ratio_bm25s"]
    for name, value in figures.items():
        print(f"{name:38} {value:.6g}" if isinstance(value, float) else f"{name:38} {value}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
