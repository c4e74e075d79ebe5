"""Weights in the making, measured by ``training.validation`` on all processes of a training. Importing it loads torch."""

import gc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.evaluation import SentenceEvaluator

from tendril_assets.errors import TrainingError
from tendril_assets.evaluation.dense import Encoder, Kind, Progress
from tendril_assets.evaluation.models import load_model
from tendril_assets.spec import ModelSpec
from tendril_assets.training.devices import Group
from tendril_assets.training.examples import ExchangeSet
from tendril_assets.training.job import TrainingJob
from tendril_assets.training.validation import BALANCED, Validation

_COMPARED = 16  # texts of each kind, and as many of the shortest as of the longest
# Embeddings have length 1. On a CPU the same texts in the same batches give the same bits; a GPU may add up in another
# order. A fault of saving (a layer, a prompt, a pooling that is not there) moves embeddings by far more.
_APART = {"cpu": 1e-6}
_APART_ELSEWHERE = 1e-2


class SharedEncoder(Encoder):
    """An encoder whose texts are shared among the processes of a group; all of them get all embeddings.

    Every process has to encode the same texts. Nothing is stored: these are weights in the making.
    """

    def __init__(self, model: SentenceTransformer, spec: ModelSpec, *, bf16: bool, group: Group) -> None:
        super().__init__(model, spec, identity="in training", store=None, bf16=bf16)
        self._group = group

    @property
    def budget(self) -> int:
        """Padded tokens per batch, as far as they had to be lowered."""
        return self._batched.budget

    def encode(self, texts: Sequence[str], kind: Kind, on_progress: Progress | None = None) -> np.ndarray:
        if self._group.size == 1:
            return super().encode(texts, kind, on_progress)
        distinct = sorted(set(texts), key=lambda text: (len(text), text))
        size = self._group.size
        mine = super().encode(distinct[self._group.rank :: size], kind, on_progress)
        shares = self._group.gather(mine)
        vectors = np.empty((len(distinct), self._spec.dimensions), dtype=np.float32)
        for rank, share in enumerate(shares):
            vectors[rank::size] = share
        rows = {text: row for row, text in enumerate(distinct)}
        return vectors[[rows[text] for text in texts]]


class BalancedEvaluator(SentenceEvaluator):
    """Hands ``Validation`` to the trainer.

    ``budget``: padded tokens of a batch at most on any process, None before the first evaluation. Once lowered for lack of
    memory it stays so: the next evaluation need not find out again, and makes the same batches.
    """

    def __init__(self, validation: Validation, job: TrainingJob, *, bf16: bool, group: Group) -> None:
        super().__init__()
        self._validation = validation
        self._job = job
        self._bf16 = bf16
        self._group = group
        self.budget: int | None = None

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: float = -1, steps: int = -1
    ) -> dict[str, float]:
        # The ranking is computed once: equal embeddings give equal values, but not on processors of different make.
        spec = self._job.spec.model_copy(update={} if self.budget is None else {"encode_tokens": self.budget})
        encoder = SharedEncoder(model, spec, bf16=self._bf16, group=self._group)
        values = self._validation.score(encoder)
        self.budget = min(self._group.gather(encoder.budget))
        return self._group.from_first(values)

    def reproduced(self, weights: Path) -> float:
        """The balanced value of the weights in a folder, loaded as whoever uses them does."""
        return self(load_model(self._job.spec, weights, device=self._group.device))[BALANCED]

    def require_reload(self, model: SentenceTransformer, weights: Path, exchange: ExchangeSet) -> None:
        """That the weights saved in a folder embed as ``model`` does, from which they were saved.

        The shortest and the longest texts of validation are compared. For the first process alone.

        Raises:
            TrainingError: they do not, so training would end in weights that are not those it measured.
        """
        kept = load_model(self._job.spec, weights, device=self._group.device)
        alone = Group(device=self._group.device)
        ours, theirs = (SharedEncoder(one, self._job.spec, bf16=self._bf16, group=alone) for one in (model, kept))
        texts: dict[Kind, list[str]] = {
            "query": exchange.queries["text"].to_list(),
            "document": exchange.corpus["text"].to_list(),
        }
        allowed = _APART.get(model.device.type, _APART_ELSEWHERE)
        for kind, all_texts in texts.items():
            ordered = sorted(all_texts, key=len)
            chosen = ordered[:_COMPARED] + ordered[-_COMPARED:]
            apart = float(np.abs(ours.encode(chosen, kind) - theirs.encode(chosen, kind)).max(initial=0.0))
            if apart > allowed:
                raise TrainingError(
                    f"model {self._job.model}: saved and loaded again, the base gives other embeddings of a {kind} (apart by "
                    f"up to {apart:.2g}, allowed {allowed:.0e}): what is kept would not be what was measured. Nothing was "
                    "trained; look at the modules of the base and at the versions of the libraries"
                )


def free_memory() -> None:
    """Give back what nobody holds any more: a trainer and its callbacks hold each other, and torch keeps what it had."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
