"""Which texts go through a model together, by their length in tokens: pure arithmetic on lengths.

Texts of one batch are padded to its longest, so a batch costs ``texts x longest`` tokens. A text's result does not
depend on the texts beside it but for rounding, therefore any grouping is right and the cheapest is chosen.
"""

from collections.abc import Sequence

import numpy as np


def longest_first(lengths: Sequence[int] | np.ndarray) -> np.ndarray:
    """Row numbers by falling length; equal lengths keep their order, so that the same texts form the same batches."""
    return np.argsort(-np.asarray(lengths, dtype=np.int64), kind="stable")


def batch_end(longest: int, start: int, total: int, budget: int) -> int:
    """End of the batch that begins at ``start`` of the texts sorted by falling length, and whose longest is there.

    At most ``budget`` padded tokens, but never fewer than one text.
    """
    return min(total, start + max(1, budget // max(1, longest)))


def cheapest_groups(lengths: Sequence[int] | np.ndarray, overhead: int) -> list[np.ndarray]:
    """Split rows into groups so that the sum of ``overhead + texts x longest`` over the groups is smallest.

    ``overhead`` is what one more pass through the model costs, in tokens: 0 groups equal lengths only, a large value
    gives one group. In an optimal split the groups are neighbours by length, so the exact answer is a shortest path
    over the sorted rows, found in O(rows^2): meant for the texts of a micro-batch, not for a corpus.

    Returns:
        Row numbers of each group, longest texts first.
    """
    order = longest_first(lengths)
    tall = np.asarray(lengths, dtype=np.int64)[order]
    n = len(tall)
    best = np.zeros(n + 1, dtype=np.int64)  # cost of the rows from here to the end
    ends = np.zeros(n, dtype=np.int64)
    for start in range(n - 1, -1, -1):
        costs = overhead + tall[start] * np.arange(1, n - start + 1) + best[start + 1 :]
        ends[start] = n - int(np.argmin(costs[::-1]))  # of equal costs the largest group: fewest passes
        best[start] = costs[ends[start] - start - 1]
    groups, start = [], 0
    while start < n:
        groups.append(order[start : ends[start]])
        start = int(ends[start])
    return groups
