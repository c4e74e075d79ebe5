"""A cross-encoder on this machine: a model that reads query and passage together. Nothing is fetched, nothing unpickled.

sentence-transformers and torch are imported when a pair is scored for the first time, never before.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tendril_assets.errors import TendrilError
from tendril_assets.evaluation.model_files import check_folder, folder_hash
from tendril_assets.evaluation.models import find_base
from tendril_assets.spec_base import is_commit
from tendril_assets.spec_evaluation import RerankerSpec

CROSS_ENCODER_VERSION = "1"
_HEAD = "AutoModelForSequenceClassification"


class CrossEncoder:
    """Scores are the model's single output before any squashing: a sigmoid in 32 bits ties what is surely relevant.

    ``truncated`` counts the pairs scored so far that are longer than ``max_length`` tokens; their passages were cut.
    """

    def __init__(self, spec: RerankerSpec, device: str | None = None) -> None:
        """Raises BaseMissing where the model is not on this machine, TendrilError where it must not be loaded."""
        self._spec, self._device = spec, device
        self._folder, commit = _source(spec)
        self.identity = _identity(spec, self._folder, commit)
        self.truncated = 0
        self._model: Any = None

    @property
    def max_length(self) -> int:
        """Tokens of query and passage together, special ones included."""
        return self._spec.max_length

    def scores(self, query: str, passages: Sequence[str]) -> np.ndarray:
        """(passages,), 64-bit floats. Raises TendrilError for a model that cannot be loaded or whose scores are not finite."""
        if not passages:
            return np.zeros(0)
        if self._model is None:
            self._model = _load(self._spec, self._folder, self._device)
        pairs = [(query, passage) for passage in passages]
        self.truncated += self._cut(pairs)
        found = self._model.predict(pairs, batch_size=self._spec.batch, show_progress_bar=False)
        scores = np.asarray(found, dtype=np.float64).reshape(len(pairs))
        if not np.isfinite(scores).all():
            raise TendrilError(
                f"reranker {self._spec.base}: {int((~np.isfinite(scores)).sum())} of {len(scores)} scores are not finite: the "
                "weights are damaged; fetch or copy the model again, whole"
            )
        return scores

    def _cut(self, pairs: Sequence[tuple[str, str]]) -> int:
        read = self._model.tokenizer(
            [query for query, _ in pairs],
            [passage for _, passage in pairs],
            truncation=False,
            add_special_tokens=True,
            return_attention_mask=False,
            verbose=False,
        )
        return sum(len(ids) > self._spec.max_length for ids in read["input_ids"])


def _source(spec: RerankerSpec) -> tuple[Path, str | None]:
    """The model's folder, fit to be loaded, and its commit where it is a snapshot of the hub's cache."""
    _, folder, commit = find_base(spec)
    check_folder(folder, spec.base, runs_code=False)
    config = folder / "config.json"
    try:
        mapped = json.loads(config.read_text(encoding="utf-8")).get("auto_map") or {}
    except (OSError, ValueError, AttributeError) as error:
        raise TendrilError(f"reranker {spec.base}: {config} cannot be read ({error}): fetch the model again") from error
    if _HEAD in mapped:
        raise TendrilError(
            f"reranker {spec.base} comes with code of its own ({mapped[_HEAD]}), and no code is run for a reranker: choose a "
            "model of a class that the library has"
        )
    return folder, commit


def _identity(spec: RerankerSpec, folder: Path, commit: str | None) -> str | None:
    """Content of a folder, or hub id and commit; None for a model of the hub that no commit pins."""
    content = f"{spec.base}@{commit}"
    if not spec.is_hub_id:
        content = folder_hash(folder)
    elif not is_commit(spec.revision):
        return None
    named = {"cross_encoder": CROSS_ENCODER_VERSION, "content": content, "max_length": spec.max_length}
    return json.dumps(named, sort_keys=True)


def _load(spec: RerankerSpec, folder: Path, device: str | None) -> Any:
    import torch
    from safetensors import SafetensorError
    from sentence_transformers import CrossEncoder as LibraryModel
    from transformers.utils import logging as transformers_logging

    from tendril_assets.evaluation.model_shape import all_weights_read, position_limit

    transformers_logging.disable_progress_bar()
    try:
        with all_weights_read(spec.base, folder, unused=()):
            model = LibraryModel(
                str(folder),
                device=device,
                max_length=spec.max_length,
                activation_fn=torch.nn.Identity(),
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"dtype": torch.float32, "use_safetensors": True},
            )
    except (OSError, ValueError, ImportError, AttributeError, TypeError, LookupError, SafetensorError) as error:
        told = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise TendrilError(f"reranker {spec.base} cannot be loaded from {folder}: {told}") from error
    if (outputs := model.num_labels) != 1:
        raise TendrilError(
            f"reranker {spec.base} has {outputs} outputs, a cross-encoder that ranks has one: choose another model"
        )
    if (limit := position_limit(model)) is not None and spec.max_length > limit:
        raise TendrilError(
            f"reranker {spec.base} reads {limit} tokens, max_length is {spec.max_length}: set it to {limit} or less"
        )
    return model.eval()
