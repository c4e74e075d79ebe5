"""Dense retrieval: models as data, prompts applied, embeddings cached, exact search.

The models are sentence-transformers; that library and torch are imported when a model is loaded, never before.
Cosines are computed in 64 bits from normalised float32 embeddings and rounded to ``ranking.DECIMALS`` decimals before
they are ranked. Each distinct text is encoded once, so equal passages tie exactly; the order of the others does not
depend on batch size or device unless two cosines lie within the noise of the encoder (a few 1e-7 in float32).
"""

import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import polars as pl

from tendril_assets.errors import TendrilError
from tendril_assets.evaluation.embeddings import EmbeddingStore, text_key
from tendril_assets.evaluation.encoding import BatchedModel, count_truncated
from tendril_assets.evaluation.models import is_pinned, load_model, model_identity
from tendril_assets.evaluation.ranking import Scope, TopK, rounded, whole_run
from tendril_assets.spec import ModelSpec

_LOG = logging.getLogger(__name__)
# A shard is written after so many texts or seconds: what a killed run has to encode again at most.
_SHARD_TEXTS, _SHARD_SECONDS = 2048, 60.0
_TOLD_SECONDS = 5.0
_BLOCK = 8_192  # passages in memory at a time: 64 MB of 2,048 dimensions in float32, twice that in 64 bits
_ASKED = 256  # queries multiplied with them at a time: 16 MB of scores

Kind = Literal["query", "document"]
Progress = Callable[[int, int], None]


class Encoder:
    """A model with its prompts and the store of what it encoded before.

    ``model`` is a SentenceTransformer. Batches are made by length in tokens, up to ``spec.encode_tokens``
    (``evaluation.encoding``); with ``bf16`` the model computes as in a bf16 training, for validation there.
    """

    def __init__(
        self, model: Any, spec: ModelSpec, identity: str, store: EmbeddingStore | None = None, *, bf16: bool = False
    ) -> None:
        self._model = model
        self._batched = BatchedModel(model, spec.encode_tokens, bf16=bf16)
        self._spec = spec
        self._identity = identity
        self._store = store
        self.encoded = 0
        self.reused = 0

    @property
    def budget(self) -> int:
        """Padded tokens of a batch at most; less than the specification says after a GPU had no room for so many."""
        return self._batched.budget

    @property
    def stores(self) -> bool:
        """Whether what is encoded is kept, and found again."""
        return self._store is not None

    def prompt(self, kind: Kind) -> str:
        return self._spec.query_prompt if kind == "query" else self._spec.document_prompt

    def encode(self, texts: Sequence[str], kind: Kind, on_progress: Progress | None = None) -> np.ndarray:
        """Embeddings of ``texts``, (texts, dimensions), float32, of length 1, in the order of ``texts``.

        ``on_progress(done, total)`` counts distinct texts, every few seconds and at the end; the longest come first,
        so the pace rises. Raises TendrilError for an embedding that is not finite, and as ``BatchedModel.embed`` does.
        """
        positions = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        distinct = list(positions)
        keys = [text_key(text) for text in distinct]
        vectors = np.zeros((len(distinct), self._spec.dimensions), dtype=np.float32)
        stored = np.zeros(len(distinct), dtype=bool)
        if self._store:
            stored, vectors = self._store.load(self._space(kind), keys, self._spec.dimensions)
        self.reused += int(stored.sum())
        missing = np.flatnonzero(~stored)
        fresh: list[int] = []  # encoded, not yet stored
        done, kept_at, told_at = int(stored.sum()), time.monotonic(), time.monotonic()
        for rows, embedded in self._batched.embed([distinct[row] for row in missing], self.prompt(kind), kind):
            places = missing[rows]
            self._require_finite(embedded, [keys[row] for row in places])
            vectors[places] = embedded
            fresh.extend(places.tolist())
            done += len(places)
            now = time.monotonic()
            if len(fresh) >= _SHARD_TEXTS or now - kept_at >= _SHARD_SECONDS or done == len(distinct):
                self._keep(kind, [keys[row] for row in fresh], vectors[fresh])
                fresh, kept_at = [], now
            if on_progress and (now - told_at >= _TOLD_SECONDS or done == len(distinct)):
                on_progress(done, len(distinct))
                told_at = now
        return vectors[[positions[text] for text in texts]] if texts else vectors

    def truncated(self, texts: Sequence[str], kind: Kind) -> int:
        """How many of the distinct texts are longer, prompt and special tokens included, than the model reads."""
        return count_truncated(self._model, [self.prompt(kind) + text for text in dict.fromkeys(texts)])

    def keep_only(self, texts: Iterable[str]) -> int:
        """Drop the stored embeddings of all other texts, and those of other weights or prompts; returns how many.

        The store is to be this encoder's own.
        """
        spaces = [self._space(kind) for kind in get_args(Kind)]
        return self._store.keep_only(spaces, {text_key(text) for text in texts}) if self._store else 0

    def _space(self, kind: Kind) -> str:
        # Vectors computed in bf16 are others than those of the same weights in float32.
        return json.dumps([self._identity, self.prompt(kind)] + ["bf16"] * self._batched.bf16)

    def _keep(self, kind: Kind, keys: list[bytes], vectors: np.ndarray) -> None:
        self.encoded += len(keys)
        if self._store:
            self._store.add(self._space(kind), keys, vectors)

    def _require_finite(self, vectors: np.ndarray, keys: list[bytes]) -> None:
        finite = np.isfinite(vectors).all(axis=1)
        if not finite.all():
            key = keys[int(np.flatnonzero(~finite)[0])].hex()
            raise TendrilError(
                f"{self._spec.base} gave an embedding that is not finite, for the text of SHA-256 {key}: its weights "
                "are damaged, or they overflow in this precision"
            )


def load_encoder(
    spec: ModelSpec,
    weights: Path | None = None,
    *,
    store: EmbeddingStore | None = None,
    device: str | None = None,
    bf16: bool = False,
) -> Encoder:
    """The base model, or the fine-tuned one in folder ``weights``, ready to encode; see ``load_model`` for errors."""
    if weights is None and not is_pinned(spec):
        _LOG.warning("%s has no pinned revision: its embeddings are not stored", spec.base)
        store = None  # a stored vector must be traceable to the weights that gave it
    return Encoder(load_model(spec, weights, device), spec, model_identity(spec, weights), store, bf16=bf16)


class _Asked(NamedTuple):
    """Some queries of a scope, their embeddings, and the best of the passages seen so far."""

    queries: pl.DataFrame
    vectors: np.ndarray
    best: TopK


class _Search(NamedTuple):
    """A scope that is being searched, few queries at a time: that bounds the scores in memory."""

    passages: pl.DataFrame
    asked: list[_Asked]

    @classmethod
    def of(cls, scope: Scope, vectors: np.ndarray, depth: int) -> "_Search":
        slices = scope.queries.iter_slices(_ASKED)
        parts = zip(slices, range(0, len(vectors), _ASKED), strict=True)
        asked = [_Asked(q, vectors[at : at + _ASKED].astype(np.float64), TopK(q.height, depth)) for q, at in parts]
        return cls(scope.passages, asked)

    def add(self, vectors: np.ndarray, start: int) -> None:
        """``vectors`` are the embeddings of the passages from ``start`` on."""
        own = vectors.astype(np.float64).T
        for part in self.asked:
            part.best.add(rounded(part.vectors @ own), start)

    def found(self) -> list[tuple[Scope, TopK]]:
        return [(Scope(self.passages, part.queries), part.best) for part in self.asked]


def rank_dense(
    scopes: Sequence[Scope], encoder: Encoder, depth: int, on_progress: Progress | None = None
) -> pl.DataFrame:
    """The run of a dense model over all scopes (``ranking.RUN_SCHEMA``): exact, at most ``depth`` rows per unit.

    Passages are encoded, or read from the store, and searched block by block: in memory are the embeddings of one block
    and of all queries, never those of the corpus. ``on_progress(done, total)`` counts passages.
    """
    asked = encoder.encode([text for scope in scopes for text in scope.queries["text"]], "query")
    searches, at = [], 0
    for scope in scopes:
        searches.append(_Search.of(scope, asked[at : at + scope.queries.height], depth))
        at += scope.queries.height
    total = sum(scope.passages.height for scope in scopes)
    repeated = _Repeated(scopes, encoder)
    done = 0
    for block in _blocks(searches):
        texts = [text for search, start, end in block for text in search.passages["text"][start:end]]
        vectors, at = repeated.encode(texts, _within(on_progress, done, len(texts), total)), 0
        for search, start, end in block:
            search.add(vectors[at : at + end - start], start)
            at += end - start
        done += len(texts)
    return whole_run([part for search in searches for part in search.found()])


def _blocks(searches: Sequence[_Search]) -> Iterator[list[tuple[_Search, int, int]]]:
    """All passages in order, ``_BLOCK`` at a time: pieces (search, first passage, end) of as many scopes as it takes."""
    block, room = [], _BLOCK
    for search in searches:
        start, height = 0, search.passages.height
        while start < height:
            end = min(height, start + room)
            block.append((search, start, end))
            room -= end - start
            start = end
            if not room:
                yield block
                block, room = [], _BLOCK
    if block:
        yield block


class _Repeated:
    """Encodes passages so that a text that occurs in several blocks has one embedding, and ties with itself.

    The store sees to that where there is one; without, the embeddings of texts that occur again are kept.
    """

    def __init__(self, scopes: Sequence[Scope], encoder: Encoder) -> None:
        self._encoder = encoder
        self._again: dict[str, np.ndarray | None] = {}
        if not encoder.stores and sum(scope.passages.height for scope in scopes) > _BLOCK:
            counts = Counter(text for scope in scopes for text in scope.passages["text"])
            self._again = dict.fromkeys(text for text, n in counts.items() if n > 1)

    def encode(self, texts: Sequence[str], on_progress: Progress | None) -> np.ndarray:
        known = [row for row, text in enumerate(texts) if self._again.get(text) is not None]
        if not known:
            vectors = self._encoder.encode(texts, "document", on_progress)
        else:
            new = sorted(set(range(len(texts))) - set(known))
            fresh = self._encoder.encode([texts[row] for row in new], "document", on_progress)
            vectors = np.empty((len(texts), fresh.shape[1]), dtype=np.float32)
            vectors[new] = fresh
            vectors[known] = [self._again[texts[row]] for row in known]
        for row, text in enumerate(texts):
            if text in self._again and self._again[text] is None:
                self._again[text] = vectors[row].copy()
        return vectors


def _within(on_progress: Progress | None, before: int, block: int, total: int) -> Progress | None:
    """Progress over all passages from that over the distinct texts of one block."""
    if on_progress is None:
        return None
    return lambda done, distinct: on_progress(before + block * done // distinct, total)
