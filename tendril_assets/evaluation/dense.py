"""Dense retrieval: models as data, prompts applied, embeddings cached, exact search.

The models are sentence-transformers; that library and torch are imported when a model is loaded, never before.
Cosines are computed in 64 bits from normalised float32 embeddings and rounded to ``ranking.DECIMALS`` decimals before
they are ranked. Each distinct text is encoded once, so equal passages tie exactly; the order of the others does not
depend on batch size or device unless two cosines lie within the noise of the encoder (a few 1e-7 in float32).
"""

import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from tendril_assets.errors import TendrilError
from tendril_assets.evaluation.embeddings import EmbeddingStore, text_key
from tendril_assets.evaluation.models import is_pinned, load_model, model_identity
from tendril_assets.evaluation.ranking import Scope, run_rows, whole_run
from tendril_assets.spec import ModelSpec

_LOG = logging.getLogger(__name__)
_CHUNK = 2048  # texts per stored shard: what a killed run has to encode again at most

Kind = Literal["query", "document"]
Progress = Callable[[int, int], None]


class Encoder:
    """A model with its prompts and the store of what it encoded before.

    ``model`` needs ``encode(list, prompt=, batch_size=, normalize_embeddings=, show_progress_bar=)`` as
    SentenceTransformer has it; that method sorts by length, longest first, so that a batch holds texts of like length.
    """

    def __init__(
        self, model: Any, spec: ModelSpec, identity: str, store: EmbeddingStore | None = None, batch_size: int = 32
    ) -> None:
        self._model = model
        self._spec = spec
        self._identity = identity
        self._store = store
        self._batch_size = batch_size
        self.encoded = 0
        self.reused = 0

    def prompt(self, kind: Kind) -> str:
        return self._spec.query_prompt if kind == "query" else self._spec.document_prompt

    def encode(self, texts: Sequence[str], kind: Kind, on_progress: Progress | None = None) -> np.ndarray:
        """Embeddings of ``texts``, (texts, dimensions), float32, of length 1.

        ``on_progress(done, total)`` counts distinct texts. Raises TendrilError for an embedding that is not finite.
        """
        distinct = sorted(set(texts), key=len, reverse=True)
        keys = [text_key(text) for text in distinct]
        space = json.dumps([self._identity, self.prompt(kind)])
        vectors = np.zeros((len(distinct), self._spec.dimensions), dtype=np.float32)
        done = np.zeros(len(distinct), dtype=bool)
        if self._store:
            done, vectors = self._store.load(space, keys, self._spec.dimensions)
        self.reused += int(done.sum())
        open_rows = np.flatnonzero(~done)
        for start in range(0, len(open_rows), _CHUNK):
            rows = open_rows[start : start + _CHUNK]
            vectors[rows] = self._encode_new([distinct[row] for row in rows], kind)
            if self._store:
                self._store.add(space, [keys[row] for row in rows], vectors[rows])
            self.encoded += len(rows)
            if on_progress:
                on_progress(int(done.sum()) + start + len(rows), len(distinct))
        positions = {text: row for row, text in enumerate(distinct)}
        return vectors[[positions[text] for text in texts]] if texts else vectors

    def truncated(self, texts: Sequence[str], kind: Kind) -> int:
        """How many of the distinct texts are longer, prompt and special tokens included, than the model reads."""
        inputs = [self.prompt(kind) + text for text in sorted(set(texts))]
        if not inputs:
            return 0
        lengths = [len(ids) for ids in self._model.tokenizer(inputs, truncation=False, verbose=False)["input_ids"]]
        return sum(length > self._spec.max_length for length in lengths)

    def _encode_new(self, texts: list[str], kind: Kind) -> np.ndarray:
        encoded = self._model.encode(
            texts,
            prompt=self.prompt(kind),
            batch_size=self._batch_size,
            normalize_embeddings=True,
            show_progress_bar=False,
        )
        result = np.asarray(encoded, dtype=np.float32)
        if not np.isfinite(result).all():
            row = int(np.flatnonzero(~np.isfinite(result).all(axis=1))[0])
            raise TendrilError(f"{self._spec.base} gave an embedding that is not finite, for: {texts[row][:80]!r}")
        return result


def load_encoder(
    spec: ModelSpec,
    weights: Path | None = None,
    *,
    store: EmbeddingStore | None = None,
    device: str | None = None,
    batch_size: int = 32,
) -> Encoder:
    """The base model, or the fine-tuned one in folder ``weights``, ready to encode; see ``load_model`` for errors."""
    if weights is None and not is_pinned(spec):
        _LOG.warning("%s has no pinned revision: its embeddings are not stored", spec.base)
        store = None  # a stored vector must be traceable to the weights that gave it
    return Encoder(load_model(spec, weights, device), spec, model_identity(spec, weights), store, batch_size)


def rank_dense(
    scopes: Sequence[Scope], encoder: Encoder, depth: int, on_progress: Progress | None = None
) -> pl.DataFrame:
    """The run of a dense model over all scopes (``ranking.RUN_SCHEMA``): exact, at most ``depth`` rows per unit."""
    texts = [text for scope in scopes for text in scope.passages["text"]]
    asked = [text for scope in scopes for text in scope.queries["text"]]
    passages = encoder.encode(texts, "document", on_progress)
    queries = encoder.encode(asked, "query")
    parts, at_passage, at_query = [], 0, 0
    for scope in scopes:
        own = passages[at_passage : at_passage + scope.passages.height].astype(np.float64)
        mine = queries[at_query : at_query + scope.queries.height].astype(np.float64)
        parts.append(run_rows(scope, mine @ own.T, depth))
        at_passage += scope.passages.height
        at_query += scope.queries.height
    return whole_run(parts)
