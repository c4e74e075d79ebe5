"""Hard negatives that nobody judged: what BM25 ranks high for a training question and what is no answer to it.

Judged negatives cost a grade each. Where only the answers are known, a negative has to be likely to be irrelevant by what
it is: passages of the training groups that BM25 ranks within a depth, and that share a term with the question. What might
answer the question all the same, or must not be trained on, is left out, with the reason:

``relevant``   graded 1 or more for this question, or for another of the same wording
``leak``       repeats held-out text (``qrels.leakage``)
``neighbour``  stands next to a relevant passage in its document: it holds the overlap, or goes on with the answer
``repeats``    equal or near-equal to a relevant passage, or holds a good part of its n-grams, or is a part of it: another
               revision of the same clause answers as well, wherever it is cut

All the others may be negatives. Which of them an example gets is decided where it is for judged ones (``negatives``): by a
keyed draw and by document, not by rank, for of what BM25 ranks first most is likely to be an answer that nobody marked.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from tendril_assets.corpus.ngrams import Ints, normalise, shingle
from tendril_assets.evaluation.ranking import Scope
from tendril_assets.spec_corpus import NearDuplicateSpec
from tendril_assets.tables import TABLES

RELEVANT, LEAK, NEIGHBOUR, REPEATS = "relevant", "leak", "neighbour", "repeats"
MINING_VERSION = "1"
# (scopes, depth) -> a run, ``evaluation.ranking.RUN_SCHEMA``.
Rank = Callable[[Sequence[Scope], int], pl.DataFrame]


class MiningRule(NamedTuple):
    """How alike two passages may be. ``near_duplicate``: the rule of the corpus, whose n-grams count here too.

    ``share``: least share of a relevant passage's n-grams that makes another one a repeat of it.
    """

    near_duplicate: NearDuplicateSpec
    share: float


def mine_negatives(
    questions: pl.DataFrame,
    relevant: pl.DataFrame,
    passages: pl.DataFrame,
    leaked: Collection[str],
    rule: MiningRule,
    rank: Rank,
    depth: int,
) -> pl.DataFrame:
    """A ``mined_negatives`` frame, ordered by question and rank: what BM25 ranks for each, and what keeps it out.

    Args:
        questions: ``query_id``, ``group_id``, ``text`` of the training questions.
        relevant: ``query_id``, ``passage_id`` of every pair of grade 1 or more, also of passages of other groups.
        passages: ``passage_id``, ``group_id``, ``document_id``, ``position`` (order within the document, null where it is
            not known) and ``text`` of the training groups; ``compared``, the text without what all passages of a section
            have alike.
        leaked: passages that leave training.
        rule: what counts as a repeat.
        rank: ranks scopes.
        depth: passages per question.
    """
    ranked = _ranked(questions, passages, rank, depth)
    answers = _answers(questions, relevant)
    kept_out = ranked.join(answers.with_columns(is_answer=True), on=["query_id", "passage_id"], how="left")
    kept_out = kept_out.join(_neighbours(answers, passages), on=["query_id", "passage_id"], how="left")
    kept_out = kept_out.join(_repeats(ranked, answers, passages, rule), on=["query_id", "passage_id"], how="left")
    reason = (
        pl.when(pl.col("is_answer").is_not_null())
        .then(pl.lit(RELEVANT))
        .when(pl.col("passage_id").is_in(list(leaked)))
        .then(pl.lit(LEAK))
        .when(pl.col("beside").is_not_null())
        .then(pl.lit(NEIGHBOUR))
        .when(pl.col("repeated").is_not_null())
        .then(pl.lit(REPEATS))
    )
    told = kept_out.with_columns(reason=reason).with_columns(
        figure=pl.when(pl.col("reason") == REPEATS).then("share"),
        cause=pl.when(pl.col("reason") == NEIGHBOUR).then("beside").when(pl.col("reason") == REPEATS).then("repeated"),
    )
    columns = list(TABLES["mined_negatives"].schema)
    return told.select(columns).cast(dict(TABLES["mined_negatives"].schema)).sort("query_id", "rank")


def _ranked(questions: pl.DataFrame, passages: pl.DataFrame, rank: Rank, depth: int) -> pl.DataFrame:
    """query_id, passage_id, group_id (of the passage), rank, score: the passages that share a term with the question."""
    asked = questions.select("query_id", "group_id", "text").unique("query_id").sort("query_id", "group_id")
    ordered = passages.select("passage_id", "text").sort("passage_id", descending=True)
    run = rank([Scope(ordered, asked)] if asked.height and ordered.height else [], depth)
    found = run.filter(pl.col("score") > 0).select("query_id", "passage_id", "rank", "score")
    return found.join(passages.select("passage_id", "group_id"), on="passage_id")


def _answers(questions: pl.DataFrame, relevant: pl.DataFrame) -> pl.DataFrame:
    """query_id, passage_id: what is relevant to each question, or to another one of the same normalised wording."""
    worded = questions.select("query_id", "text").unique("query_id")
    worded = worded.select("query_id", wording=pl.Series([normalise(text) for text in worded["text"]], dtype=pl.String))
    by_wording = worded.join(relevant.select("query_id", "passage_id"), on="query_id").select("wording", "passage_id")
    return worded.join(by_wording.unique(), on="wording").select("query_id", "passage_id").unique().sort(pl.all())


def _neighbours(answers: pl.DataFrame, passages: pl.DataFrame) -> pl.DataFrame:
    """query_id, passage_id, beside: the passages right before and after each answer, by their order in the document.

    Passages that the filters dropped leave no gap: the next one that is there is the neighbour.
    """
    placed = passages.filter(pl.col("position").is_not_null()).sort("document_id", "position")
    beside = placed.select(
        beside="passage_id",
        passage_id=pl.concat_list(
            pl.col("passage_id").shift(1).over("document_id"), pl.col("passage_id").shift(-1).over("document_id")
        ),
    )
    pairs = beside.explode("passage_id").drop_nulls()
    found = answers.rename({"passage_id": "beside"}).join(pairs, on="beside")
    return found.group_by("query_id", "passage_id").agg(pl.col("beside").min())


def _repeats(ranked: pl.DataFrame, answers: pl.DataFrame, passages: pl.DataFrame, rule: MiningRule) -> pl.DataFrame:
    """query_id, passage_id, repeated (the answer it repeats most), share (of the answer's n-grams that it holds)."""
    looked_at = pl.concat([ranked["passage_id"], answers["passage_id"]]).unique().sort()
    texts = passages.select("passage_id", "compared").filter(pl.col("passage_id").is_in(looked_at.implode()))
    texts = texts.sort("passage_id")
    normalised = [normalise(text) for text in texts["compared"]]
    place = {passage: row for row, passage in enumerate(texts["passage_id"])}
    grams = _Grams(normalised, rule.near_duplicate)
    by_query: dict[str, list[str]] = {}
    for query_id, passage_id in answers.iter_rows():
        if passage_id in place:
            by_query.setdefault(query_id, []).append(passage_id)
    rows = []
    for (query_id,), mine in ranked.sort("query_id", "rank").group_by("query_id", maintain_order=True):
        candidates = mine["passage_id"].to_list()
        at = np.fromiter((place[passage] for passage in candidates), dtype=np.int64, count=len(candidates))
        closest: dict[str, tuple[float, str]] = {}
        for answer in by_query.get(str(query_id), ()):
            for number, share in grams.repeats(place[answer], at, rule):
                if candidates[number] != answer:
                    closest[candidates[number]] = max(closest.get(candidates[number], (0.0, "")), (share, answer))
        rows += [(query_id, passage, answer, share) for passage, (share, answer) in closest.items()]
    schema = {"query_id": pl.String, "passage_id": pl.String, "repeated": pl.String, "share": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


class _Grams:
    """The n-gram sets of some texts, as far as another text shares them, and how much of them two texts have in common."""

    def __init__(self, normalised: list[str], rule: NearDuplicateSpec) -> None:
        shingles = shingle(normalised, [0] * len(normalised), rule.unit, rule.n)
        order = np.lexsort((shingles.grams, shingles.texts))
        self._grams: Ints = shingles.grams[order]
        bounds = np.arange(len(normalised) + 1)
        self._start: Ints = np.searchsorted(shingles.texts[order], bounds).astype(np.int64)
        self._size = shingles.size
        equal: dict[str, int] = {}
        self._same = np.array([equal.setdefault(text, len(equal)) for text in normalised], dtype=np.int64)

    def repeats(self, answer: int, candidates: Ints, rule: MiningRule) -> Iterator[tuple[int, float]]:
        """(place in ``candidates``, share of the answer's n-grams that it holds) of those that repeat text ``answer``."""
        own = self._grams[self._start[answer] : self._start[answer + 1]]
        lengths = self._start[candidates + 1] - self._start[candidates]
        starts = np.cumsum(lengths) - lengths
        flat = np.arange(int(lengths.sum())) - np.repeat(starts - self._start[candidates], lengths)
        hits = _among(self._grams[flat], own)
        common = np.bincount(np.repeat(np.arange(len(candidates)), lengths), weights=hits, minlength=len(candidates))
        # A text shorter than an n-gram has none: it repeats another one where the two are equal, and not otherwise.
        ours, theirs = max(1, int(self._size[answer])), np.maximum(self._size[candidates], 1)
        share = common / ours
        jaccard = common / (ours + theirs - common)
        part = common / theirs
        is_equal = self._same[candidates] == self._same[answer]
        threshold = rule.near_duplicate.threshold
        is_repeat = is_equal | (share >= rule.share) | (jaccard >= threshold) | (part >= threshold)
        for number in np.flatnonzero(is_repeat).tolist():
            yield number, 1.0 if is_equal[number] else float(share[number])


def _among(grams: Ints, own: Ints) -> npt.NDArray[np.float64]:
    """1 for each of ``grams`` that is one of ``own`` (sorted), else 0."""
    if not len(own):
        return np.zeros(len(grams))
    at = np.minimum(np.searchsorted(own, grams), len(own) - 1)
    return (own[at] == grams).astype(np.float64)


def available(mined: pl.DataFrame) -> pl.DataFrame:
    """Those of the mined passages that may be negatives."""
    return mined.filter(pl.col("reason").is_null())


def mined_pairs(positives: pl.DataFrame, mined: pl.DataFrame, corpus: pl.DataFrame) -> pl.DataFrame:
    """Positives and mined negatives as pairs that ``examples.examples_of`` reads, as ``pools.judged_pairs`` gives them.

    A negative stands under the group of its question, though it may be a passage of another training group. A question
    that is asked in several groups has them in each.

    Args:
        positives: ``pools.judged_pairs``; only its positives are taken.
        mined: a ``mined_negatives`` frame.
        corpus: ``passage_id``, ``document_id``, ``text``.
    """
    taken = positives.filter("is_positive")
    asked = taken.filter(pl.col("reason").is_null()).select("query_id", "group_id", "level").unique()
    found = available(mined).select("query_id", "passage_id").join(asked, on="query_id")
    members = pl.concat([taken.select("passage_id"), found.select("passage_id")]).unique()
    texts = corpus.select("passage_id", "document_id", "text").join(members, on="passage_id", how="semi")
    numbered = texts.with_columns(
        text=pl.Series([normalise(text) for text in texts["text"]], dtype=pl.String).rank("dense")
    )
    negatives = found.join(numbered, on="passage_id").with_columns(
        is_positive=pl.lit(value=False), reason=pl.lit(None, pl.String)
    )
    # Texts are numbered anew: a number has to mean the same text on both sides.
    again = taken.drop("text").join(numbered.select("passage_id", "text"), on="passage_id", how="left")
    both = pl.concat([again.select(positives.columns), negatives.select(positives.columns)])
    return both.sort("query_id", "group_id", "passage_id")


def wrongly_mined(examples: pl.DataFrame, mined: pl.DataFrame, qrels: pl.DataFrame) -> pl.DataFrame:
    """Negatives of examples in use that were not mined, or that are relevant; must be empty.

    Args:
        examples: a ``training_examples`` frame.
        mined: the ``mined_negatives`` frame they were chosen from.
        qrels: accepted grades.

    Returns:
        query_id, positive_id, passage_id and ``score`` (null where the pair has no grade), sorted.
    """
    used = examples.filter("used").select("query_id", "positive_id", passage_id="negative_ids").explode("passage_id")
    key = ["query_id", "passage_id"]
    graded = used.join(qrels.select(*key, "score").unique(key), on=key, how="left")
    allowed = available(mined).select(*key, mined=True)
    right = pl.col("mined").is_not_null() & (pl.col("score").fill_null(0) == 0)
    wrong = graded.join(allowed, on=key, how="left").filter(~right)
    return wrong.select("query_id", "positive_id", "passage_id", "score").sort("query_id", "positive_id", "passage_id")


def mined_by_reason(mined: pl.DataFrame, levels: pl.DataFrame) -> pl.DataFrame:
    """``level``, ``reason`` (``available`` where nothing keeps it out), ``pairs``: what was ranked, sorted.

    ``levels``: ``query_id``, ``level``.
    """
    told = mined.join(levels.select("query_id", "level"), on="query_id").with_columns(
        pl.col("reason").fill_null("available")
    )
    return told.group_by("level", "reason").agg(pairs=pl.len()).sort("level", "reason")
