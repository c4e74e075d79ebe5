"""BM25 within each scope, by bm25s.

Score of a passage: the sum over the query's tokens, repeats included, of idf tf / (tf + k1 (1 - b + b l / avg l)),
with idf = ln(1 + (N - n + 0.5) / (n + 0.5)), N and n counted within the scope (bm25s method ``lucene``). Every passage
of the scope is ranked, also those that share no token with the query: they score 0 and are ordered by id alone.

Tokens: NFC, lower case (not case-folded, so ß stays ß), runs of letters and digits of any length; no stop words.
"""

import importlib
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from tendril_assets.errors import SettingsError
from tendril_assets.evaluation.ranking import Scope, run_rows, whole_run
from tendril_assets.spec import Bm25Spec

TOKENISER_VERSION = "1"

_TOKEN = re.compile(r"[^\W_]+")

Stemmer = Callable[[list[str]], list[str]]


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


def tokenise(text: str, stem: Stemmer | None = None) -> list[str]:
    """Tokens of a text by the rule above, stemmed where a stemmer is given."""
    tokens = _TOKEN.findall(unicodedata.normalize("NFC", text.lower()))
    return stem(tokens) if stem else tokens


class Bm25Index:
    """The passages of one scope; an empty scope, and one without any token, is an index like any other."""

    def __init__(self, documents: Sequence[Sequence[str]], spec: Bm25Spec) -> None:
        import bm25s

        self.n_documents = len(documents)
        self._vocabulary: dict[str, int] = {}
        for tokens in documents:
            for token in tokens:
                self._vocabulary.setdefault(token, len(self._vocabulary))
        self._index: Any = None
        if self._vocabulary:
            ids = [[self._vocabulary[token] for token in tokens] for tokens in documents]
            self._index = bm25s.BM25(k1=spec.k1, b=spec.b, method="lucene", dtype="float64", backend="numpy")
            self._index.index((ids, self._vocabulary), create_empty_token=False, show_progress=False)

    def scores(self, query: Sequence[str]) -> np.ndarray:
        """Score of every document, in the order given; zeros for a query without a known token."""
        known = [self._vocabulary[token] for token in query if token in self._vocabulary]
        if not known:
            return np.zeros(self.n_documents)
        return self._index.get_scores_from_ids(known)


def rank_bm25(scopes: Sequence[Scope], spec: Bm25Spec, depth: int) -> pl.DataFrame:
    """The run of BM25 over all scopes (``ranking.RUN_SCHEMA``), at most ``depth`` passages per query and group.

    Raises SettingsError where the stemmer asked for is not installed.
    """
    stem = load_stemmer(spec.stemmer)
    queries: dict[str, list[str]] = {}
    parts = []
    for scope in scopes:
        index = Bm25Index([tokenise(text, stem) for text in scope.passages["text"]], spec)
        for text in scope.queries["text"]:
            if text not in queries:
                queries[text] = tokenise(text, stem)
        scores = np.stack([index.scores(queries[text]) for text in scope.queries["text"]])
        parts.append(run_rows(scope, scores, depth))
    return whole_run(parts)
