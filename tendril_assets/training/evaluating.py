"""Weights in the making, measured by ``training.validation`` on all processes of a training. Importing it loads torch."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.evaluation import SentenceEvaluator

from tendril_assets.evaluation.dense import Encoder, Kind, Progress
from tendril_assets.spec import ModelSpec
from tendril_assets.training.devices import Group
from tendril_assets.training.job import TrainingJob
from tendril_assets.training.validation import Validation


class SharedEncoder(Encoder):
    """An encoder whose texts are shared among the processes of a group; all of them get all embeddings.

    Every process has to encode the same texts. Nothing is stored: these are weights in the making.
    """

    def __init__(self, model: SentenceTransformer, spec: ModelSpec, *, bf16: bool, group: Group) -> None:
        super().__init__(model, spec, identity="in training", store=None, bf16=bf16)
        self._group = group

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
    """Hands ``Validation`` to the trainer."""

    def __init__(self, validation: Validation, job: TrainingJob, *, bf16: bool, group: Group) -> None:
        super().__init__()
        self._validation = validation
        self._job = job
        self._bf16 = bf16
        self._group = group

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: float = -1, steps: int = -1
    ) -> dict[str, float]:
        # The ranking is computed once: equal embeddings give equal values, but not on processors of different make.
        encoder = SharedEncoder(model, self._job.spec, bf16=self._bf16, group=self._group)
        return self._group.from_first(self._validation.score(encoder))
