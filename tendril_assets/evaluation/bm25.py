"""BM25 within each scope, by bm25s.

Score of a passage: the sum over the query's tokens, repeats included, of idf tf / (tf + k1 (1 - b + b l / avg l)),
with idf = ln(1 + (N - n + 0.5) / (n + 0.5)), N and n counted within the scope (bm25s method ``lucene``). Every passage
of the scope is ranked, also those that share no token with the query: they score 0 and are ordered by id alone.

Tokens: NFC, lower case (not case-folded, so ß stays ß), runs of letters and digits. What is not seen does not part a word:
soft hyphens, zero-width marks and joiners are taken out, and accents that have no letter of their own (the stress marks of
Russian textbooks). By option: only tokens of a least length, without a language's stop words, stemmed by Snowball, in this
order. bm25s's own tokeniser is the same with two characters at least and English stop words.
"""

import importlib
import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl

from tendril_assets.errors import SettingsError
from tendril_assets.evaluation.ranking import Scope, TopK, rounded, whole_run
from tendril_assets.spec_evaluation import Bm25Spec

TOKENISER_VERSION = "2"

_TOKEN = re.compile(r"\w+")
# Soft hyphen, zero-width space and joiners, word joiner, byte order mark; combining accents that NFC found no letter for.
_UNSEEN = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff\u0300-\u036f]")
_DROPPED = -1
_SCORES_TOGETHER = 2**23  # of one pass over queries: 64 MB as 64-bit floats

Stemmer = Callable[[list[str]], list[str]]
_STOP_WORDS = {"english": "STOPWORDS_EN", "german": "STOPWORDS_GERMAN", "russian": "STOPWORDS_RUSSIAN"}


def load_stemmer(name: str) -> Stemmer | None:
    """Snowball stemmer of a language, or None for ``none``.

    Raises SettingsError where the package is not installed: an unstemmed run under a stemmed name would be wrong.
    """
    if name == "none":
        return None
    try:
        snowball = importlib.import_module("Stemmer")
    except ImportError as error:
        raise SettingsError(
            f"evaluation.bm25.stemmer is {name!r}, which needs the package PyStemmer: install it "
            "(python -m pip install PyStemmer), or set the stemmer to none"
        ) from error
    return snowball.Stemmer(name).stemWords


def load_stop_words(name: str) -> frozenset[str]:
    """bm25s's list for a language; none for ``none``."""
    if name == "none":
        return frozenset()
    return frozenset(getattr(importlib.import_module("bm25s.stopwords"), _STOP_WORDS[name]))


def split(text: str) -> list[str]:
    """All tokens of a text, of any length, unstemmed."""
    seen = text.lower()
    if not seen.isascii():
        seen = _UNSEEN.sub("", unicodedata.normalize("NFC", seen))
    # An underscore is no letter. Without it the class is plain, which is what makes the search fast.
    return _TOKEN.findall(seen.replace("_", " "))


class Tokeniser:
    """Terms of a text by the rule above: its tokens, without those that are dropped, stemmed.

    A term is a number, the same for all texts of one tokeniser: each distinct token is looked at once.
    """

    def __init__(self, spec: Bm25Spec) -> None:
        """Raises SettingsError where the stemmer asked for is not installed."""
        self._stem = load_stemmer(spec.stemmer)
        self._stop_words = load_stop_words(spec.stop_words)
        self._shortest = spec.min_token_length
        self._drops = bool(self._stop_words) or self._shortest > 1
        self._terms: dict[str, int] = {}
        self._known: dict[str, int] = {}  # of each token its term

    def __call__(self, text: str) -> list[int]:
        tokens = split(text)
        known = self._known
        try:
            terms = [known[token] for token in tokens]
        except KeyError:
            self._learn(dict.fromkeys(tokens))
            terms = [known[token] for token in tokens]
        return [term for term in terms if term != _DROPPED] if self._drops else terms

    def _learn(self, tokens: Iterable[str]) -> None:
        new = [token for token in tokens if token not in self._known]
        self._known.update(dict.fromkeys(new, _DROPPED))
        kept = [token for token in new if len(token) >= self._shortest and token not in self._stop_words]
        for token, word in zip(kept, self._stem(kept) if self._stem else kept, strict=True):
            self._known[token] = self._terms.setdefault(word, len(self._terms))


class Bm25Index:
    """The passages of one scope, as terms; an empty scope, and one without any term, is an index like any other."""

    def __init__(self, documents: Sequence[Sequence[int]], spec: Bm25Spec) -> None:
        import bm25s

        self.n_documents = len(documents)
        # Numbered anew within the scope, for bm25s keeps a row for each number up to the largest; unless all are there.
        own = dict.fromkeys(itertools.chain.from_iterable(documents))
        dense = bool(own) and max(own) == len(own) - 1
        self._rows: dict[int, int] = dict(zip(own, own if dense else range(len(own)), strict=True))
        self._index: Any = None
        if self._rows:
            ids = documents if dense else [list(map(self._rows.__getitem__, terms)) for terms in documents]
            self._index = bm25s.BM25(k1=spec.k1, b=spec.b, method="lucene", dtype="float64", backend="numpy")
            self._index.index((ids, self._rows), create_empty_token=False, show_progress=False)

    def scores(self, query: Sequence[int]) -> np.ndarray:
        """Score of every document, in the order given; zeros for a query without a known term."""
        known = [self._rows[term] for term in query if term in self._rows]
        if not known:
            return np.zeros(self.n_documents)
        return self._index.get_scores_from_ids(known)


def rank_bm25(scopes: Sequence[Scope], spec: Bm25Spec, depth: int) -> pl.DataFrame:
    """The run of BM25 over all scopes (``ranking.RUN_SCHEMA``), at most ``depth`` passages per query and group.

    Raises SettingsError where the stemmer asked for is not installed.
    """
    tokenise = Tokeniser(spec)
    queries: dict[str, list[int]] = {}
    parts = []
    for scope in scopes:
        index = Bm25Index([tokenise(text) for text in scope.passages["text"]], spec)
        for text in scope.queries["text"]:
            if text not in queries:
                queries[text] = tokenise(text)
        together = max(1, _SCORES_TOGETHER // max(1, index.n_documents))
        for asked in scope.queries.iter_slices(together):
            scores = np.empty((asked.height, index.n_documents))
            for row, text in enumerate(asked["text"]):
                scores[row] = index.scores(queries[text])
            best = TopK(asked.height, depth)
            best.add(rounded(scores), 0)
            parts.append((Scope(scope.passages, asked), best))
    return whole_run(parts)
