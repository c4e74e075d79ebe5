"""Does fine-tuning learn? MiniLM against its base on held-out articles of a judged question set, with a control.

``python -m tendril_assets_tests.benchmarks.learning [--size small|published] [--passages parts|paragraphs]``

The collection is the German XQuAD below ``TENDRIL_TRIAL_DATA``: 48 articles, 240 paragraphs, 1,181 different questions;
``question_sets`` says how it is graded. The protocol:

* Two-fold cross-validation over articles: each half is the test collection once, so that every article is held out
  once. Of the other half a fifth of the articles is for validation and the rest for training (``assign_splits``). Small
  runs the first fold alone, for one epoch on 96 examples per level.
* Splits, leakage (the test half as the external test collection), examples, hand-over, training and scores are the
  project's own functions, from the three frames to the paired test. Nothing of the test half is read in training.
* The recipe is the published one but for the learning rate and the effective batch, which are those of the sandbox
  profile (5e-5 and 8; published are 1e-5 and 32): they were chosen for this small model and for few examples, on other
  data. No value was tuned on these articles. The kept step is the best on the validation articles.
* Headline: nDCG@10 (level ``all``) in the scope ``group``, where a question ranks the passages of its article, as the
  training stage itself validates. The scope ``collection`` (all passages of the test half) is printed beside it.
  Intervals and p values: paired bootstrap over articles, 10,000 resamples, pooled over the folds.
* Control, on the first fold: the same run where each question's grades were moved to wrong passages of its article, in
  training and validation alike, scored by the true grades. A gain that came from elsewhere than the labels (the
  domain, the language, the stage itself) would show there too; it must vanish or turn negative.

The unit ``parts`` came second, before any of it was scored. Whole paragraphs had been tried first at the small size, and
showed nothing: read to 64 tokens, where two answers in three begin after the cut, 0.826 became 0.834, +0.009 [-0.005,
+0.023]; to 256 tokens, where one in ten does, 0.893 became 0.888, -0.005 [-0.020, +0.010], 192 examples, step 8 of 24 kept.
At the published size (742 examples over both folds, two epochs, all 48 articles) they gain: 0.877 became 0.904, +0.026
[+0.014, +0.039] in the scope ``group`` and +0.064 [+0.042, +0.087] in ``collection``, the control -0.191 and -0.624, step 32
kept in both folds. So the small size was too small to see a gain of that size. Parts leave more to learn, for there the
base is at 0.68, and take a quarter of the time.

The last line is one JSON object; ``gain gain_low gain_high`` are the headline's.
"""

import argparse
import functools
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tendril_assets.corpus.duplicates import duplicate_index
from tendril_assets.defs import DEFAULT_COLLECTION, collection_files
from tendril_assets.evaluation import aggregate, significance
from tendril_assets.evaluation.bm25 import rank_bm25
from tendril_assets.evaluation.collection import Reach, judged_collection
from tendril_assets.evaluation.dense import Encoder, load_encoder, rank_dense
from tendril_assets.evaluation.embeddings import EmbeddingStore
from tendril_assets.evaluation.metrics import score_queries
from tendril_assets.qrels.leakage import find_leakage, leaking, leaks_left
from tendril_assets.qrels.splits import TRAIN, VALIDATION, assign_splits, groups_of
from tendril_assets.spec import ModelSpec, SplitSpec, TrainingSpec, read_spec
from tendril_assets.spec_corpus import NearDuplicateSpec
from tendril_assets.spec_evaluation import Bm25Spec
from tendril_assets.training.examples import build_examples, exchange_set
from tendril_assets.training.fit import fit
from tendril_assets.training.job import TrainingJob
from tendril_assets_tests.benchmarks.question_sets import (
    LEVELS,
    Judged,
    Unit,
    judged_articles,
    read_xquad,
    with_wrong_positives,
    xquad_file,
)

SEED = 42
MEASURE = "ndcg@10"
HEADLINE: Reach = "group"
SCOPES: tuple[Reach, ...] = ("group", "collection")
RESAMPLES, CONFIDENCE = 10_000, 0.95
DEPTH = 10
_HALVES = SplitSpec(policy="exact", validation_share=0.5)
_INNER = SplitSpec(policy="exact", validation_share=0.2)
BASE, TUNED, CONTROL, BM25 = "base", "tuned", "control", "bm25"


class Size(NamedTuple):
    """``cap`` is examples per level; ``folds`` is 1 or 2."""

    folds: int
    epochs: int
    evaluate_every: int
    cap: int | None = None


SIZES = {
    "small": Size(folds=1, epochs=1, evaluate_every=8, cap=96),
    "published": Size(folds=2, epochs=2, evaluate_every=16),
}
# Tokens a passage is read to: parts are seen whole, one paragraph in two as well.
MAX_LENGTH: dict[Unit, int] = {"parts": 96, "paragraphs": 256}


class Fold(NamedTuple):
    """Groups of the test half, and the rest with its splits."""

    test: list[str]
    pool: list[str]
    splits: pl.DataFrame


def folds(groups: Sequence[str]) -> list[Fold]:
    """Both folds: a half is drawn by keyed hashes, and each half is the test collection of the other."""
    halves = assign_splits(groups, _HALVES, SEED)
    first, second = groups_of(halves, VALIDATION), groups_of(halves, TRAIN)
    return [
        Fold(test, pool, assign_splits(pool, _INNER, SEED + 1)) for test, pool in ((first, second), (second, first))
    ]


@functools.cache
def base_model(max_length: int) -> tuple[ModelSpec, TrainingSpec]:
    """The sandbox profile's model, pinned by its hash, and the recipe that the protocol names; read once in a run."""
    sandbox = read_spec(collection_files()[DEFAULT_COLLECTION], "sandbox")
    (spec,) = sandbox.models.values()
    recipe = TrainingSpec(
        learning_rate=sandbox.training.learning_rate, effective_batch=sandbox.training.effective_batch
    )
    # The micro-batch is a matter of memory: here a whole step goes through at once.
    return spec.model_copy(update={"max_length": max_length, "batch": recipe.effective_batch}), recipe


class HandedOver(NamedTuple):
    """A job with its files in place, and what became of the examples."""

    job: TrainingJob
    examples: pl.DataFrame
    leaked: frozenset[str]


def hand_over(judged: Judged, true: Judged, fold: Fold, size: Size, max_length: int, folder: Path) -> HandedOver:
    """Splits, leakage, examples and the hand-over files in ``folder``, as the assets make them.

    ``judged`` is what is trained on; ``true`` has the texts of the test half that leakage is looked for in.
    """
    spec, recipe = base_model(max_length)
    changed = {"max_epochs": size.epochs, "evaluate_every": size.evaluate_every, "max_examples_per_level": size.cap}
    recipe = recipe.model_copy(update=changed)
    pool, test = judged.of(fold.pool), true.of(fold.test)
    leakage = find_leakage(duplicate_index(pool.corpus, test.corpus, NearDuplicateSpec()), fold.splits)
    leaked = frozenset(leaking(leakage))
    examples = build_examples(pool.qrels, pool.corpus, pool.queries, fold.splits, leaked, recipe, SEED)
    if not leaks_left(examples, leakage).is_empty():
        raise RuntimeError("an example in use holds a passage that repeats held-out text")
    exchange = exchange_set(
        examples, pool.qrels, pool.corpus, pool.queries, fold.splits, whole_corpus=HEADLINE == "collection"
    )
    files = {}
    for part, frame in exchange._asdict().items():
        files[part] = folder / "exchange" / f"{part}.parquet"
        files[part].parent.mkdir(parents=True, exist_ok=True)
        frame.write_parquet(files[part])
    job = TrainingJob(folder.name, folder / "model", files, recipe, spec, LEVELS, SEED, HEADLINE)
    job.write(folder / "job.json")
    return HandedOver(job, examples, leaked)


def train(
    judged: Judged, true: Judged, fold: Fold, size: Size, max_length: int, folder: Path
) -> tuple[Encoder, dict[str, Any]]:
    """Train on ``judged`` (see ``hand_over``): the kept weights, ready to rank, and the facts of the training."""
    job, examples, leaked = hand_over(judged, true, fold, size, max_length, folder)
    begin = time.perf_counter()
    result = fit(job, lambda event: print(f"  {event}", file=sys.stderr, flush=True))
    reasons = examples.filter(~pl.col("used")).group_by("reason").len()
    facts = {
        "examples": examples.filter("used").height,
        "left_out": dict(sorted(reasons.iter_rows())),
        "leaking_passages": len(leaked),
        "seconds": time.perf_counter() - begin,
        **{name: result[name] for name in ("steps", "best_step", "base_value", "best_value", "truncated_inputs")},
    }
    return load_encoder(job.spec, job.folder / "kept", store=EmbeddingStore(folder / "embeddings")), facts


def scored(judged: Judged, system: str, rank: Callable[[list], pl.DataFrame]) -> pl.DataFrame:
    """Query scores of one system on a test half, in both scopes: the scope enters the level's name."""
    frames = []
    for reach in SCOPES:
        test = judged_collection(judged.corpus, judged.queries, judged.qrels, reach)
        scores = aggregate.with_levels(score_queries(rank(test.scopes), test.qrels, [MEASURE]), test.queries)
        frames.append(scores.with_columns(system=pl.lit(system), reach=pl.lit(reach)))
    return pl.concat(frames)


def run(judged: Judged, size: Size, max_length: int, folder: Path) -> tuple[pl.DataFrame, list[dict[str, Any]]]:
    """Query scores of all systems over the folds, and the facts of each training. The control comes last."""
    spec, _ = base_model(max_length)
    base = load_encoder(spec, store=EmbeddingStore(folder / "embeddings"))
    halves = list(enumerate(folds(judged.corpus["group_id"].unique().sort().to_list())[: size.folds], start=1))
    scores, facts = [], []
    for _, fold in halves:
        test = judged.of(fold.test)
        scores.append(scored(test, BM25, lambda scopes: rank_bm25(scopes, Bm25Spec(), DEPTH)))
        scores.append(scored(test, BASE, lambda scopes: rank_dense(scopes, base, DEPTH)))
    trained = [(TUNED, judged, *half) for half in halves]
    trained.append((CONTROL, with_wrong_positives(judged, SEED), *halves[0]))
    for system, source, number, fold in trained:
        print(f"fold {number}, {system}: {len(fold.test)} articles held out", file=sys.stderr, flush=True)
        encoder, told = train(source, judged, fold, size, max_length, folder / f"fold{number}_{system}")
        test = judged.of(fold.test)
        scores.append(scored(test, system, lambda scopes, own=encoder: rank_dense(scopes, own, DEPTH)))
        facts.append({"fold": number, "system": system, "test_groups": len(fold.test)} | told)
        print(f"  {json.dumps(facts[-1])}", file=sys.stderr, flush=True)
    return pl.concat(scores), facts


def compared(scores: pl.DataFrame, reach: Reach, system: str, baseline: str) -> dict[str, Any]:
    """Macro means and the paired test of two systems over the articles that both were scored on."""
    own = scores.filter(pl.col("reach") == reach, pl.col("system").is_in([system, baseline])).drop("reach")
    shared = own.filter(pl.col("system") == system).select("group_id").unique()
    by_group = aggregate.group_scores(own.join(shared, on="group_id", how="semi"))
    means = aggregate.macro_means(by_group).filter(pl.col("level") == aggregate.ALL)
    value = dict(means.select("system", "value").iter_rows())
    test = significance.comparisons(
        by_group, {"one": [(system, baseline)]}, seed=SEED, resamples=RESAMPLES, confidence=CONFIDENCE
    ).row(by_predicate=pl.col("level") == aggregate.ALL, named=True)
    counted = means.filter(pl.col("system") == system).row(0, named=True)
    return {
        "value": value[system],
        "baseline": value[baseline],
        **{name: test[name] for name in ("difference", "low", "high", "p", "groups")},
        "queries": counted["queries"],
    }


def figures(scores: pl.DataFrame, facts: list[dict[str, Any]]) -> dict[str, Any]:
    """The table, printed, and what the last line says."""
    pairs = ((TUNED, BASE), (CONTROL, BASE), (TUNED, BM25))
    tests = {(reach, pair): compared(scores, reach, *pair) for reach in SCOPES for pair in pairs}
    print(
        f"{'scope':<12}{'system':<9}{'against':<9}{'value':>8}{'other':>8}{'gain':>9}   interval 95 %{'p':>10}{'n':>6}"
    )
    for (reach, (system, baseline)), test in tests.items():
        ends = f"[{test['low']:+.4f}, {test['high']:+.4f}]"
        print(
            f"{reach:<12}{system:<9}{baseline:<9}{test['value']:>8.4f}{test['baseline']:>8.4f}{test['difference']:>+9.4f}"
            f"  {ends:>18}{test['p']:>9.4f}{test['groups']:>6}"
        )
    for told in facts:
        print(
            ", ".join(
                f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}" for name, value in told.items()
            )
        )
    head, control = tests[HEADLINE, (TUNED, BASE)], tests[HEADLINE, (CONTROL, BASE)]
    wide = tests["collection", (TUNED, BASE)]
    return {
        "scope": HEADLINE,
        "gain": head["difference"],
        "gain_low": head["low"],
        "gain_high": head["high"],
        "p": head["p"],
        "base": head["baseline"],
        "tuned": head["value"],
        "bm25": tests[HEADLINE, (TUNED, BM25)]["baseline"],
        "groups": head["groups"],
        "n": head["queries"],
        **{f"control_{name}": control[key] for name, key in _ENDS},
        **{f"collection_{name}": wide[key] for name, key in _ENDS},
        **{f"collection_control_{name}": tests["collection", (CONTROL, BASE)][key] for name, key in _ENDS},
        "collection_base": wide["baseline"],
        "collection_tuned": wide["value"],
        "collection_bm25": tests["collection", (TUNED, BM25)]["baseline"],
        "steps": sum(told["steps"] for told in facts if told["system"] == TUNED),
        "examples": sum(told["examples"] for told in facts if told["system"] == TUNED),
        "best_steps": [told["best_step"] for told in facts if told["system"] == TUNED],
        "train_s": sum(told["seconds"] for told in facts),
    }


_ENDS = (("gain", "difference"), ("gain_low", "low"), ("gain_high", "high"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--passages", choices=MAX_LENGTH, default="parts", help="what of XQuAD is a passage")
    parser.add_argument(
        "--folder", type=Path, help="where the temporary folder is made; default the system's own place"
    )
    given = parser.parse_args()
    source = xquad_file()
    if source is None:
        sys.exit("TENDRIL_TRIAL_DATA names no folder with xquad_de/xquad.de.json: there is nothing to learn from")
    begin = time.perf_counter()
    size = SIZES[given.size]
    judged = judged_articles(read_xquad(source, given.passages))
    with tempfile.TemporaryDirectory(prefix="tendril-learning-", dir=given.folder) as folder:
        found = {"size": given.size, "passages": given.passages} | figures(
            *run(judged, size, MAX_LENGTH[given.passages], Path(folder))
        )
    found["seconds"] = time.perf_counter() - begin
    print(json.dumps({name: round(value, 5) if isinstance(value, float) else value for name, value in found.items()}))


if __name__ == "__main__":
    main()
