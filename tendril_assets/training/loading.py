"""The rows of ``training.sampling`` as batches for a trainer. Importing it loads torch."""

from collections.abc import Iterator

import torch
from torch.utils.data import DataLoader, Sampler

from tendril_assets.training.sampling import StepPlan


class StepSampler(Sampler[list[int]]):
    """The micro-batches of one process as row numbers; ``padding`` is the row for those that have none."""

    def __init__(self, plan: StepPlan, seed: int, rank: int, padding: int) -> None:
        self.plan = plan
        self._seed = seed
        self._rank = rank
        self._padding = padding
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """The trainer calls it before each epoch: every epoch has a shuffle of its own, known without the former."""
        self._epoch = epoch

    def __iter__(self) -> Iterator[list[int]]:
        shuffled = torch.randperm(self.plan.rows, generator=torch.Generator().manual_seed(self._seed + self._epoch))
        for rows in self.plan.deal(shuffled.tolist(), self._rank):
            yield rows or [self._padding]

    def __len__(self) -> int:
        return self.plan.micro_batches


class StepLoader(DataLoader):
    """The trainer looks for ``set_epoch`` on the loader."""

    def set_epoch(self, epoch: int) -> None:
        assert isinstance(self.batch_sampler, StepSampler)
        self.batch_sampler.set_epoch(epoch)
