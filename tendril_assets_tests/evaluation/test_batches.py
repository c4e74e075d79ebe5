"""Grouping by length."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.evaluation.batches import batch_end, cheapest_groups, longest_first

LENGTHS = st.lists(st.integers(1, 60), max_size=30)


def cost(lengths: list[int], groups: list[list[int]], overhead: int) -> int:
    return sum(overhead + len(group) * max(lengths[row] for row in group) for group in groups)


def partitions(rows: list[int]) -> list[list[list[int]]]:
    """Every way to put rows into groups."""
    if not rows:
        return [[]]
    first, rest = rows[0], rows[1:]
    found = []
    for size in range(len(rest) + 1):
        for others in itertools.combinations(rest, size):
            left = [row for row in rest if row not in others]
            found += [[[first, *others], *more] for more in partitions(left)]
    return found


def test_longest_first_keeps_the_order_of_equals() -> None:
    assert longest_first([3, 5, 3, 9]).tolist() == [3, 1, 0, 2]


@pytest.mark.parametrize(
    ("longest", "start", "total", "budget", "end"),
    [
        (100, 0, 50, 1000, 10),
        (100, 45, 50, 1000, 50),  # what is left is fewer
        (300, 0, 50, 1000, 3),  # a fourth would be 1,200 tokens
        (8192, 2, 50, 1000, 3),  # longer than the budget: alone
        (0, 0, 2, 10, 2),  # no token at all
    ],
)
def test_a_batch_holds_what_the_budget_allows(longest: int, start: int, total: int, budget: int, end: int) -> None:
    assert batch_end(longest, start, total, budget) == end


@settings(max_examples=50, deadline=None)
@given(LENGTHS, st.integers(1, 200))
def test_batches_hold_each_text_once_within_the_budget(lengths: list[int], budget: int) -> None:
    order, start, seen = longest_first(lengths), 0, []
    while start < len(order):
        longest = lengths[order[start]]
        end = batch_end(longest, start, len(order), budget)
        own = [lengths[row] for row in order[start:end]]
        assert max(own) == longest
        assert len(own) == 1 or len(own) * longest <= budget
        assert end == len(order) or (len(own) + 1) * longest > budget  # no batch could have taken one more
        seen += order[start:end].tolist()
        start = end
    assert sorted(seen) == list(range(len(lengths)))


def test_groups_worked_out_by_hand() -> None:
    """10, 9, 2, 2 with 5 a pass: one group 5 + 40 = 45, {10, 9} {2, 2} 5 + 20 + 5 + 4 = 34, {10} {9} {2, 2} 38."""
    assert [sorted(group.tolist()) for group in cheapest_groups([2, 10, 9, 2], 5)] == [[1, 2], [0, 3]]
    assert len(cheapest_groups([2, 10, 9, 2], 0)) == 3
    assert len(cheapest_groups([2, 10, 9, 2], 1000)) == 1
    assert cheapest_groups([], 5) == []


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 20), min_size=1, max_size=6), st.integers(0, 40))
def test_no_partition_is_cheaper(lengths: list[int], overhead: int) -> None:
    found = [group.tolist() for group in cheapest_groups(lengths, overhead)]
    assert sorted(itertools.chain(*found)) == list(range(len(lengths)))
    best = min(cost(lengths, groups, overhead) for groups in partitions(list(range(len(lengths)))))
    assert cost(lengths, found, overhead) == best


def test_arrays_are_as_good_as_lists() -> None:
    assert [g.tolist() for g in cheapest_groups(np.array([4, 4]), 1)] == [[0, 1]]
