"""Splits are drawn by group and by name."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.corpus.identifiers import keyed_order
from tendril_assets.qrels.splits import TRAIN, VALIDATION, assign_splits, groups_of, validation_size
from tendril_assets.spec import SplitSpec
from tendril_assets.tables import TABLES

TENTH = SplitSpec(validation_share=0.1)


@pytest.mark.parametrize(
    ("groups", "share", "expected"),
    [
        (631, 0.1, 63),  # 63.1, the published figure
        (25, 0.1, 3),  # 2.5: a half goes up, not to the even neighbour
        (10, 0.15, 2),  # 1.5 as written
        (24, 0.1, 2),
        (2, 0.1, 1),  # 0.2, but one at least
        (2, 0.9, 1),  # 1.8, but one stays in training
        (1, 0.1, 0),
        (0, 0.1, 0),
    ],
)
def test_number_of_validation_groups(groups: int, share: float, expected: int) -> None:
    assert validation_size(groups, share) == expected


def test_lowest_keyed_hashes_are_held_out() -> None:
    groups = [f"g{number}" for number in range(20)]
    lowest = sorted(groups, key=lambda group: keyed_order(42, "splits", group))[:2]
    splits = assign_splits(groups, TENTH, seed=42)
    assert sorted(groups_of(splits, VALIDATION)) == sorted(lowest)
    assert len(groups_of(splits, TRAIN)) == 18
    assert splits.schema == TABLES["splits"].schema


def test_order_and_repeats_do_not_matter() -> None:
    groups = [f"g{number}" for number in range(20)]
    assert assign_splits([*reversed(groups), "g3", "g3"], TENTH, 42).equals(assign_splits(groups, TENTH, 42))


def test_the_seed_names_the_draw() -> None:
    groups = [f"g{number}" for number in range(40)]
    assert not assign_splits(groups, TENTH, 42).equals(assign_splits(groups, TENTH, 43))


@settings(max_examples=50, deadline=None)
@given(st.sets(st.text(min_size=1, max_size=6), min_size=3, max_size=30), st.text(min_size=7, max_size=9))
def test_a_new_group_moves_at_most_one_other(groups: set[str], new: str) -> None:
    """Bottom-k: the newcomer pushes out the highest of the held-out ones, or the border moves by one group."""
    before = set(groups_of(assign_splits(groups, TENTH, 42), VALIDATION))
    after = set(groups_of(assign_splits(groups | {new}, TENTH, 42), VALIDATION))
    assert len((before ^ after) - {new}) <= 1
