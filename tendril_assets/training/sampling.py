"""Which rows an optimiser step holds, and which of them each process gets.

An epoch is one seeded shuffle, cut into steps of ``effective_batch`` rows; the last step may be short. Rows are not
grouped by length: their order is part of the recipe. A step holds the same rows whatever the batch and the number of
processes, so that both are a matter of the machine alone. The stock loader of a process group leaves out the last,
uneven batch or repeats rows to fill it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class StepPlan:
    """``rows`` of one epoch in steps of ``effective_batch``, in micro-batches of ``batch`` rows on each process.

    ``effective_batch`` is a multiple of ``batch`` x ``processes`` (``TrainingJob.accumulation_over`` checks it).
    """

    rows: int
    effective_batch: int
    batch: int
    processes: int = 1

    @property
    def steps(self) -> int:
        """Optimiser steps of an epoch."""
        return math.ceil(self.rows / self.effective_batch)

    def rows_in(self, step: int) -> int:
        """Rows of a step, counted from 0 within its epoch, over all processes."""
        return min(self.effective_batch, self.rows - step * self.effective_batch)

    def micro_batches_in(self, step: int) -> int:
        """Micro-batches of a step: as many on every process, for all take part in each exchange of gradients."""
        return math.ceil(self.rows_in(step) / (self.batch * self.processes))

    @property
    def micro_batches(self) -> int:
        """Micro-batches of an epoch on each process."""
        return sum(map(self.micro_batches_in, range(self.steps)))

    def deal(self, order: Sequence[int], rank: int) -> Iterator[list[int]]:
        """The micro-batches of process ``rank`` over an epoch whose rows come in ``order``.

        In the last step a micro-batch may be short, and empty on a process for which no row is left.
        """
        for step in range(self.steps):
            start = step * self.effective_batch
            rows = order[start : start + self.rows_in(step)]
            for number in range(self.micro_batches_in(step)):
                first = (number * self.processes + rank) * self.batch
                yield list(rows[first : first + self.batch])
