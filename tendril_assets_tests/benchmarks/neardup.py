"""Near-duplicates: recall and CPU time of the rule within projects and of the index over the whole collection.

``python -m tendril_assets_tests.benchmarks.neardup [--size small|published]``

Texts are invented tender passages; every eighth is a copy of an earlier one, of its project or of another, with some
words or a number changed, so that similarities lie on both sides of the threshold. ``within_cpu_s`` is the whole rule
with its guard for 86,000 passages, ``index_cpu_s`` the whole index for 100,000, texts normalised and cut into words
included; ``peak_rss_mb`` is the peak after both. The right pairs come from counting shared n-grams in plain Python
(``plain_cpu_s``, the baseline). datasketch works on the first texts only: MinHash LSH of 128 permutations as it comes,
at the threshold and, with its pairs counted exactly, at 0.5; ``cpu_ratio_datasketch`` is its CPU time over ours for the
same texts.
"""

import argparse
import json
import random
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import polars as pl
from datasketch import MinHash, MinHashLSH

from tendril_assets.corpus.duplicates import passage_texts, similar_texts
from tendril_assets.corpus.neardup import near_duplicates
from tendril_assets.corpus.ngrams import normalise, shingle, similar_pairs
from tendril_assets.spec_corpus import NearDuplicateSpec
from tendril_assets_tests.published_passages import Writing

# Passages within projects, over the whole collection, and given to datasketch.
SIZES = {"small": (4_000, 5_000, 1_000), "published": (86_000, 100_000, 5_000)}
PER_PROJECT, COPIES, PERMUTATIONS, LOW_THRESHOLD = 136, 0.125, 128, 0.5
SPEC = NearDuplicateSpec()
Pairs = dict[tuple[int, int], float]


def cpu_seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.process_time()
    result = work()
    return time.process_time() - begin, result


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def made_up(n: int) -> pl.DataFrame:
    """``n`` passages: passage_id, group, order, text; every project has about as many as the published ones."""
    rng = random.Random(42)
    rows: list[tuple[str, str, int, str]] = []
    while len(rows) < n:
        project = f"{len(rows) // PER_PROJECT}"
        writing = Writing(project, f"office {int(project) % 60}", "example", "de", ())
        start = len(rows)
        for block in writing.document(PER_PROJECT, None):
            if block.kind == "heading":
                continue
            text = block.text
            if rng.random() < COPIES and rows:
                # Half of the copies are of the same project.
                low = start if rng.random() < 0.5 and len(rows) > start else 0
                text = _changed(rng, rows[rng.randrange(low, len(rows))][3], text)
            rows.append((f"p-{len(rows):020x}", project, len(rows), text))
    return pl.DataFrame(rows[:n], schema=["passage_id", "group", "order", "text"], orient="row")


def _changed(rng: random.Random, text: str, other: str) -> str:
    """``text`` with up to one word in twelve, and one more, replaced by words of another text or by numbers."""
    words, source = text.split(" "), other.split()
    for _ in range(rng.randint(0, 1 + len(words) // 12)):
        words[rng.randrange(len(words))] = rng.choice(source) if rng.random() < 0.7 else str(rng.randint(2, 99))
    return " ".join(words)


def plain_pairs(texts: Sequence[str], scopes: Sequence[int]) -> Pairs:
    """All pairs at or above the threshold, by counting the n-grams that two texts share: exact, in plain Python."""
    n = SPEC.n
    sizes: list[int] = []
    holders: defaultdict[tuple, list[int]] = defaultdict(list)
    for i, text in enumerate(texts):
        words = text.split(" ")
        grams = {tuple(words[k : k + n]) for k in range(len(words) - n + 1)}
        sizes.append(len(grams))
        for gram in grams:
            holders[(scopes[i], gram)].append(i)
    shared = Counter(
        (a, b) for group in holders.values() if len(group) > 1 for k, b in enumerate(group) for a in group[:k]
    )
    exact = {(a, b): count / (sizes[a] + sizes[b] - count) for (a, b), count in shared.items()}
    return {pair: similarity for pair, similarity in exact.items() if similarity >= SPEC.threshold}


def our_pairs(texts: Sequence[str], scopes: Sequence[int]) -> Pairs:
    found = similar_pairs(shingle(texts, scopes, SPEC.unit, SPEC.n), SPEC.threshold)
    pairs = zip(found.first.tolist(), found.second.tolist(), strict=True)
    return dict(zip(pairs, found.similarity.tolist(), strict=True))


def datasketch_pairs(texts: Sequence[str], threshold: float) -> set[tuple[int, int]]:
    """Pairs that MinHash LSH puts in one bucket."""
    index = MinHashLSH(threshold=threshold, num_perm=PERMUTATIONS)
    found: set[tuple[int, int]] = set()
    for i, text in enumerate(texts):
        words = text.split(" ")
        grams = [" ".join(words[k : k + SPEC.n]).encode() for k in range(len(words) - SPEC.n + 1)]
        if not grams:
            continue
        sketch = MinHash(num_perm=PERMUTATIONS)
        sketch.update_batch(grams)
        found |= {(int(str(other)), i) for other in index.query(sketch)}
        index.insert(i, sketch)
    return found


def verified(texts: Sequence[str], pairs: Iterable[tuple[int, int]]) -> Pairs:
    """The pairs whose exact similarity reaches the threshold."""
    grams: dict[int, set] = {}
    exact: Pairs = {}
    for pair in pairs:
        for i in pair:
            if i not in grams:
                words = texts[i].split(" ")
                grams[i] = {tuple(words[k : k + SPEC.n]) for k in range(len(words) - SPEC.n + 1)}
        a, b = (grams[i] for i in pair)
        similarity = len(a & b) / len(a | b)
        if similarity >= SPEC.threshold:
            exact[pair] = similarity
    return exact


def measure(n_within: int, n_whole: int, n_sketch: int) -> dict[str, Any]:
    frame = made_up(n_whole)
    within = frame.head(n_within)
    base_mb = peak_mb()
    within_s, decided = cpu_seconds(lambda: near_duplicates(within, SPEC))
    within_mb = peak_mb()
    corpus = frame.select("passage_id", "text", group_id="group")
    index_s, similar = cpu_seconds(lambda: similar_texts(passage_texts(corpus, corpus.clear()), SPEC))
    index_mb = peak_mb()

    # Right values: the pairs of different texts within each project, then those of the first texts across projects.
    unique = within.with_columns(text=pl.Series([normalise(text) for text in within["text"]])).unique(
        ["group", "text"], maintain_order=True
    )
    texts, scopes = unique["text"].to_list(), unique["group"].cast(pl.Int64).to_list()
    engine_s, ours = cpu_seconds(lambda: our_pairs(texts, scopes))
    plain_s, right = cpu_seconds(lambda: plain_pairs(texts, scopes))
    some = list(dict.fromkeys(texts))[:n_sketch]
    one = [0] * len(some)
    some_s, some_ours = cpu_seconds(lambda: our_pairs(some, one))
    some_right = plain_pairs(some, one)
    sketch_s, sketched = cpu_seconds(lambda: datasketch_pairs(some, SPEC.threshold))
    low_s, low = cpu_seconds(lambda: verified(some, datasketch_pairs(some, LOW_THRESHOLD)))
    assert some_right, "no similar pairs: nothing to measure recall on"
    return {
        "passages_within": n_within,
        "passages_whole": n_whole,
        "removed": len(decided.removed),
        "guarded": len(decided.guarded),
        "pairs_within": len(right),
        "pairs_across": similar.height,
        "recall": len(ours.keys() & right.keys()) / len(right),
        "wrong": len(ours.items() - right.items()) + len(some_ours.items() ^ some_right.items()),
        "cpu_s": within_s,
        "within_cpu_s": within_s,
        "index_cpu_s": index_s,
        "pairs_cpu_s": engine_s,
        "plain_cpu_s": plain_s,
        "cpu_ratio_plain": plain_s / engine_s,
        "datasketch_passages": len(some),
        "datasketch_recall": len(sketched & some_right.keys()) / len(some_right),
        "datasketch_cpu_s": sketch_s,
        "cpu_ratio_datasketch": sketch_s / some_s,
        "datasketch_low_recall": len(low.keys() & some_right.keys()) / len(some_right),
        "datasketch_low_cpu_s": low_s,
        "cpu_ratio_datasketch_low": low_s / some_s,
        "base_rss_mb": base_mb,
        "within_peak_rss_mb": within_mb,
        "peak_rss_mb": index_mb,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="small")
    size = parser.parse_args().size
    figures = measure(*SIZES[size])
    for name, value in figures.items():
        print(f"{name:28}{value:>14,.3f}" if isinstance(value, float) else f"{name:28}{value:>14,}")
    print(json.dumps({"size": size, **figures}))


if __name__ == "__main__":
    main()
