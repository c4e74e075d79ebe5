"""The filters that generated questions pass: which questions would make a test easier, vaguer or wrong.

In this order, the first that rejects counts. What is not in the language comes first: the others say nothing of it.

``wrong_language``      not in the language of the collection. Figure: share of foreign letters.
``verbatim``            a run of more than ``max_verbatim_words`` words taken over from the passage: searching for a
                        substring, which lexical systems win. Figure: words of the longest run.
``unspecific``          words that most passages have: no passage is the right answer. Figure: mean inverse document
                        frequency of the question's words, ln(1 + (N - n + 0.5) / (n + 0.5)) as BM25 counts it.
``refers_to_passage``   points at a text its reader does not have ("this clause"). Figure: none; the evidence says it.
``repeated``            the wording of another question: both passages are right answers. Figure: questions of the wording.
``teacher``             a cross-encoder does not rank the passage in the better part of BM25's candidates: some other passage
                        answers better. Figure: rank of the passage.

The teacher comes last, for it is dear. A word is a run of letters and digits, with hyphens, dots and slashes inside it:
``590-П`` and ``3.9.2`` are one word each. Case, ``ё`` and punctuation make no difference.
"""

import itertools
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tendril_assets.errors import TendrilError
from tendril_assets.evaluation.bm25 import Bm25Index, Tokeniser
from tendril_assets.evaluation.ranking import rounded, top
from tendril_assets.evaluation.rerank import Reranker
from tendril_assets.queries.languages import LanguageRules
from tendril_assets.spec_registers import GenerationFilterSpec, TeacherSpec

SCREENING_VERSION = "1"
ACCEPTED = "accepted"
VERBATIM, UNSPECIFIC, LANGUAGE, REFERS = "verbatim", "unspecific", "wrong_language", "refers_to_passage"
REPEATED, TEACHER = "repeated", "teacher"
FILTERS = (LANGUAGE, VERBATIM, UNSPECIFIC, REFERS, REPEATED, TEACHER)
# What is not seen does not part a word: soft hyphens, joiners, stress marks.
_UNSEEN_CLASS = "\u00ad\u200b-\u200d\u2060\ufeff\u0300\u0301"
_UNSEEN = re.compile(f"[{_UNSEEN_CLASS}]")
_LETTERS = rf"(?:[^\W_][{_UNSEEN_CLASS}]*)+"
_WORD = re.compile(rf"{_LETTERS}(?:[-./‐‑]{_LETTERS})*")
_EVIDENCE_WORDS = 8


class Rejection(NamedTuple):
    """The ``filter`` that rejected a question, what it measured and the words, or the passage, that it did so for."""

    filter: str
    figure: float | None
    evidence: str


def words_of(text: str) -> list[tuple[str, int, int]]:
    """Words as they are compared, each with its first character in ``text`` (in NFC) and the one after its last."""
    return [(_plain(match[0]), *match.span()) for match in _WORD.finditer(text)]


def _plain(word: str) -> str:
    """Lower case; ё as е; hyphens of one kind; without what is not seen."""
    bare = _UNSEEN.sub("", word.lower()).replace("ё", "е")
    return bare.replace("‐", "-").replace("‑", "-")


def longest_run(question: str, passage: str) -> tuple[int, str]:
    """Number of words of the longest run that both hold, and the run as the question writes it; (0, "") without one."""
    text = unicodedata.normalize("NFC", question)
    asked = words_of(text)
    places: dict[str, list[int]] = {}
    for at, (word, _, _) in enumerate(words_of(unicodedata.normalize("NFC", passage))):
        places.setdefault(word, []).append(at)
    best, last = 0, 0
    ending: dict[int, int] = {}  # of each place in the passage, the length of the run that ends there and at this word
    for at, (word, _, _) in enumerate(asked):
        ending = {place: ending.get(place - 1, 0) + 1 for place in places.get(word, ())}
        length = max(ending.values(), default=0)
        if length > best:
            best, last = length, at
    return (best, text[asked[last - best + 1][1] : asked[last][2]]) if best else (0, "")


class Frequencies:
    """In how many of ``n_passages`` each term occurs; terms as ``tokenise`` numbers them."""

    def __init__(self, documents: Sequence[Sequence[int]], tokenise: Tokeniser) -> None:
        self.n_passages, self._tokenise = len(documents), tokenise
        self._holding: dict[int, int] = {}
        for terms in documents:
            for term in set(terms):
                self._holding[term] = self._holding.get(term, 0) + 1

    def mean_idf(self, question: str) -> tuple[float, list[str]]:
        """Mean over the question's distinct terms that some passage has, and its words from the commonest on.

        A term that no passage has tells none of them from another, so it has no part in the mean; without any other term
        the mean is 0. Stop words of the tokeniser are no terms.
        """
        known: dict[int, str] = {}
        for word in _WORD.findall(unicodedata.normalize("NFC", question)):
            for term in self._tokenise(word):
                if term in self._holding:
                    known.setdefault(term, word)
        if not known:
            return 0.0, []
        n = np.array([self._holding[term] for term in known], dtype=np.float64)
        idf = np.log1p((self.n_passages - n + 0.5) / (n + 0.5))
        by_idf = sorted(zip(idf.tolist(), known.values(), strict=True))
        commonest = list(dict.fromkeys(word for _, word in by_idf))
        return float(idf.mean()), commonest


def screen(
    question: str, passage: str, rules: GenerationFilterSpec, frequencies: Frequencies, language: LanguageRules
) -> list[Rejection]:
    """What the filters that look at one question alone say of it, in their order; empty where it passes them all."""
    found = []
    if foreign := language.foreign(question):
        found.append(Rejection(LANGUAGE, *foreign))
    run, copied = longest_run(question, passage)
    if run > rules.max_verbatim_words:
        found.append(Rejection(VERBATIM, float(run), copied))
    idf, commonest = frequencies.mean_idf(question)
    if idf < rules.min_mean_idf:
        found.append(Rejection(UNSPECIFIC, idf, " ".join(commonest[:_EVIDENCE_WORDS])))
    if pointing := language.points_at_passage(question):
        found.append(Rejection(REFERS, None, pointing))
    return found


def repeated(questions: Mapping[str, str]) -> dict[str, Rejection]:
    """Of questions by id, all those whose wording another one has too, with the lowest id of the others as evidence.

    All of them: each of their passages is a right answer, and each question would count the other's as a wrong one.
    Wordings are compared word by word, as ``words_of`` gives them.
    """
    same: dict[str, list[str]] = {}
    for key in sorted(questions):
        same.setdefault(" ".join(word for word, _, _ in words_of(questions[key])), []).append(key)
    return {
        key: Rejection(REPEATED, float(len(keys)), keys[1] if key == keys[0] else keys[0])
        for keys in same.values()
        if len(keys) > 1
        for key in keys
    }


class Candidates:
    """BM25's candidates for a question among all passages of the collection, the question's own always among them."""

    def __init__(self, passage_ids: Sequence[str], index: Bm25Index, tokenise: Tokeniser) -> None:
        """``passage_ids`` are in the index's order, descending: the order in which ties are ranked."""
        if any(one <= other for one, other in itertools.pairwise(passage_ids)):
            raise TendrilError("passages must be ordered by passage id, descending, each once")
        self._rows = {passage: row for row, passage in enumerate(passage_ids)}
        self._index, self._tokenise = index, tokenise

    def of(self, question: str, own: str, depth: int) -> list[int]:
        """Rows of at most ``depth`` passages, best first; the last of them gives way where ``own`` is not there."""
        scores = rounded(self._index.scores(self._tokenise(question)))
        rows = top(scores[None, :], depth)[0].tolist()
        if (gold := self._rows[own]) not in rows:
            rows[-1] = gold
        return rows

    def row(self, passage: str) -> int:
        return self._rows[passage]


def last_rank(teacher: TeacherSpec, candidates: int) -> int:
    """The last rank at which a question stays: ``keep_rank`` of ``depth``, and the same share of fewer candidates."""
    return max(1, teacher.keep_rank * min(candidates, teacher.depth) // teacher.depth)


def teacher_rank(scores: np.ndarray, gold: int) -> int:
    """1 + the number of candidates scored above the one at ``gold``, after rounding: equal texts do not count against it."""
    exact = rounded(scores)
    return 1 + int((exact > exact[gold]).sum())


def teach(
    question: str,
    own: str,
    candidates: Candidates,
    passages: Sequence[tuple[str, str]],
    reranker: Reranker,
    teacher: TeacherSpec,
) -> tuple[int, Rejection | None]:
    """Rank of the question's own passage among its candidates by the reranker, and the rejection where it is too low.

    ``passages``: (passage id, text) by row. Evidence: id of the passage that comes first. Raises TendrilError for scores
    that are not finite, or not one for each candidate.
    """
    rows = candidates.of(question, own, teacher.depth)
    scores = np.asarray(reranker.scores(question, [passages[row][1] for row in rows]), dtype=np.float64)
    if scores.shape != (len(rows),) or not np.isfinite(scores).all():
        raise TendrilError(
            f"the teacher gave {scores.shape} scores for {len(rows)} passages, or one that is not finite: its model is damaged, "
            "or no cross-encoder with one output"
        )
    rank = teacher_rank(scores, rows.index(candidates.row(own)))
    if rank <= last_rank(teacher, len(rows)):
        return rank, None
    return rank, Rejection(TEACHER, float(rank), passages[rows[int(np.argmax(scores))]][0])


def first_of(found: Collection[Rejection]) -> Rejection | None:
    """The one of the first filter among them."""
    return min(found, key=lambda one: FILTERS.index(one.filter), default=None)
