"""Dense retrieval: models as data, prompts applied, embeddings cached, exact search.

The models are sentence-transformers; that library and torch are imported when a model is loaded, never before.
Cosines are computed in 64 bits from normalised float32 embeddings and rounded to ``ranking.DECIMALS`` decimals before
they are ranked. Each distinct text is encoded once, so equal passages tie exactly; the order of the others does not
depend on batch size or device unless two cosines lie within the noise of the encoder (a few 1e-7 in float32).
"""

import hashlib
import importlib.util
import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from tendril_assets.errors import TendrilError
from tendril_assets.evaluation.embeddings import EmbeddingStore, text_key
from tendril_assets.evaluation.ranking import Scope, run_rows, whole_run
from tendril_assets.files import file_hash
from tendril_assets.spec import ModelSpec

ENCODER_VERSION = "1"
WEIGHTS = "model.safetensors"

_LOG = logging.getLogger(__name__)
_PACKAGE = "package:"
_CHUNK = 2048  # texts per stored shard: what a killed run has to encode again at most

Kind = Literal["query", "document"]
Progress = Callable[[int, int], None]


def model_source(spec: ModelSpec) -> Path | str:
    """Where the base model is: a folder (checked against ``sha256`` where given), or a hub id as it stands.

    ``package:<import name>`` is the model folder that an installed package carries; it is found without importing the
    package. A hub id is returned unchanged; ``revision`` and the check of its weights follow when it is loaded.
    Raises TendrilError for a package or folder without weights, and for weights of another hash.
    """
    folder = _base_folder(spec)
    if folder is None:
        return spec.base
    weights = folder / WEIGHTS
    if not weights.is_file():
        raise TendrilError(f"base model {spec.base!r}: there is no {WEIGHTS} in {folder}")
    _check_weights(spec, weights)
    return folder


def model_identity(spec: ModelSpec, weights: Path | None = None) -> str:
    """Names everything an embedding depends on but prompt and text: weights, pooling, length, width, code version.

    ``weights`` is the folder of a fine-tuned model; without it the base is meant. Folders are named by their content,
    hub ids by their revision. Hashing reads the folder once.
    """
    source = weights or model_source(spec)
    content = folder_hash(source) if isinstance(source, Path) else f"{source}@{spec.revision or 'unpinned'}"
    named = {
        "version": ENCODER_VERSION,
        "content": content,
        "pooling": spec.pooling,
        "max_length": spec.max_length,
        "dimensions": spec.dimensions,
    }
    return json.dumps(named, sort_keys=True)


def is_pinned(spec: ModelSpec) -> bool:
    """Whether the base is known by content or revision, so that what it gave may be used again later."""
    return bool(spec.revision) or _base_folder(spec) is not None


def folder_hash(folder: Path) -> str:
    """SHA-256 over the names and contents of a model folder's files, the card (README.md) left out."""
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "README.md"):
        digest.update(f"{path.relative_to(folder).as_posix()}\0{file_hash(path)}\n".encode())
    return digest.hexdigest()


def load_model(spec: ModelSpec, weights: Path | None = None, device: str | None = None) -> Any:
    """A ``SentenceTransformer`` in float32 with the maximum length, prompts and width of the specification.

    ``weights`` is the folder of a fine-tuned model; without it the base is loaded. Raises TendrilError where the
    model pools, measures or limits otherwise than the specification says, and where hub weights have another hash.
    """
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling
    from transformers.utils import logging as transformers_logging

    # Loading is over in a moment; its bar would be drawn over the run's own progress.
    transformers_logging.disable_progress_bar()
    source = weights or model_source(spec)
    if isinstance(source, str) and spec.sha256:
        from huggingface_hub import hf_hub_download

        _check_weights(spec, Path(hf_hub_download(source, WEIGHTS, revision=spec.revision)))
    model = SentenceTransformer(
        str(source),
        device=device,
        revision=spec.revision if isinstance(source, str) else None,
        local_files_only=isinstance(source, Path),
        trust_remote_code=spec.trust_remote_code,
        prompts={"query": spec.query_prompt, "document": spec.document_prompt},
        model_kwargs={"dtype": torch.float32},
    )
    modes = {module.pooling_mode for module in model if isinstance(module, Pooling)}
    if modes and modes != {spec.pooling}:
        raise TendrilError(
            f"{spec.base} pools by {sorted(modes)}, the specification says {spec.pooling!r}: set pooling"
        )
    width = model.get_embedding_dimension()
    if width is not None and width < spec.dimensions:
        raise TendrilError(f"{spec.base} gives {width} dimensions, the specification says {spec.dimensions}")
    model.truncate_dim = spec.dimensions if width is None or width > spec.dimensions else None
    limit = getattr(getattr(model.transformers_model, "config", None), "max_position_embeddings", None)
    if limit is not None and spec.max_length > limit:
        raise TendrilError(f"{spec.base} reads at most {limit} tokens, the specification says {spec.max_length}")
    model.max_seq_length = spec.max_length
    return model


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


def _base_folder(spec: ModelSpec) -> Path | None:
    """Folder of the base, or None for a hub id."""
    if spec.base.startswith(_PACKAGE):
        return _package_folder(spec.base.removeprefix(_PACKAGE))
    if Path(spec.base).is_absolute() or spec.base.startswith("."):
        return Path(spec.base)
    return None


def _package_folder(name: str) -> Path:
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise TendrilError(
            f"the package {name!r} that carries the base model is not installed: see the extra 'sandbox'"
        )
    roots = [Path(location) for location in found.submodule_search_locations]
    folders = sorted({weights.parent for root in roots for weights in root.rglob(WEIGHTS)})
    if len(folders) != 1:
        raise TendrilError(f"the package {name!r} carries {len(folders)} model folders with {WEIGHTS}, one is needed")
    return folders[0]


def _check_weights(spec: ModelSpec, weights: Path) -> None:
    if spec.sha256 and (actual := file_hash(weights)) != spec.sha256.lower():
        raise TendrilError(
            f"{WEIGHTS} of {spec.base} has SHA-256 {actual}, the specification says {spec.sha256}: these are other "
            "weights; install the right ones, or correct sha256"
        )
