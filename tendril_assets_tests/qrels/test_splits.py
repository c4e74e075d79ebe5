"""Splits are drawn by group and by name; what they hold of each level is counted."""

import math

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from tendril_assets.corpus.identifiers import keyed_order
from tendril_assets.qrels.splits import (
    TRAIN,
    VALIDATION,
    assign_splits,
    groups_of,
    split_sizes,
    too_few,
    validation_size,
)
from tendril_assets.spec import SplitSpec
from tendril_assets.tables import TABLES

TENTH = SplitSpec(validation_share=0.1)
EXACT = SplitSpec(policy="exact", validation_share=0.1)
NAMES = st.text(min_size=1, max_size=6)


def held_out(groups: set[str] | list[str], spec: SplitSpec = TENTH, seed: int = 42) -> set[str]:
    return set(groups_of(assign_splits(groups, spec, seed), VALIDATION))


def draw(group: str, seed: int = 42) -> float:
    """In [0, 1), from the 63 bits of the keyed order."""
    return keyed_order(seed, "splits", group) / 2**63


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
def test_number_of_validation_groups_of_the_exact_policy(groups: int, share: float, expected: int) -> None:
    assert validation_size(groups, share) == expected
    names = [f"g{number}" for number in range(groups)]
    assert len(held_out(names, SplitSpec(policy="exact", validation_share=share))) == expected


def test_independent_draws_of_the_published_number_are_a_tenth_within_chance() -> None:
    """Of 631 groups with probability a tenth: 63.1 on average, and in 99 of 100 cases within the binomial bounds."""
    low, high = binom.interval(0.99, 631, 0.1)
    assert (low, high) == (44, 83)
    assert low <= len(held_out([f"g{number:03d}" for number in range(631)])) <= high


def test_each_group_is_held_out_by_its_own_draw() -> None:
    groups = [f"g{number}" for number in range(200)]
    splits = assign_splits(groups, TENTH, seed=42)
    assert held_out(groups) == {group for group in groups if draw(group) < 0.1}
    assert splits.schema == TABLES["splits"].schema
    assert splits["group_id"].to_list() == sorted(groups)


def test_the_exact_policy_holds_out_the_lowest_draws() -> None:
    groups = [f"g{number}" for number in range(20)]
    assert held_out(groups, EXACT) == set(sorted(groups, key=draw)[:2])


@pytest.mark.parametrize("spec", [TENTH, EXACT])
def test_order_and_repeats_do_not_matter(spec: SplitSpec) -> None:
    groups = [f"g{number}" for number in range(20)]
    assert assign_splits([*reversed(groups), "g3", "g3"], spec, 42).equals(assign_splits(groups, spec, 42))


@pytest.mark.parametrize("spec", [TENTH, EXACT])
def test_the_seed_names_the_draw(spec: SplitSpec) -> None:
    groups = [f"g{number}" for number in range(100)]
    assert held_out(groups, spec, 42) != held_out(groups, spec, 43)


@settings(max_examples=50, deadline=None)
@given(st.sets(NAMES, max_size=30), st.sets(NAMES, max_size=30), st.floats(0.05, 0.95), st.integers(0, 5))
def test_other_groups_never_change_a_split(first: set[str], second: set[str], share: float, seed: int) -> None:
    """Any two collections agree on the groups they share, but for the one a side would be empty without."""
    spec = SplitSpec(validation_share=share)
    moved = held_out(first, spec, seed) ^ held_out(second, spec, seed)
    for groups, others in ((first, second), (second, first)):
        by_itself = {group for group in groups if draw(group, seed) < share}
        exceptional = held_out(groups, spec, seed) ^ by_itself
        if 0 < len(by_itself) < len(groups):
            assert not exceptional
        else:
            # One group at most: the nearest to the empty side. A lone group is trained on.
            assert len(exceptional) <= 1
        moved -= exceptional | (groups - others)
    assert not moved & first & second


def test_a_small_collection_has_both_sides() -> None:
    """The rule for small collections, both ways, and its end when a group arrives that falls on the empty side."""
    high = sorted((f"h{n}" for n in range(200) if draw(f"h{n}") > 0.1), key=draw)[:4]
    low = sorted((f"h{n}" for n in range(200) if draw(f"h{n}") < 0.1), key=draw)[:4]
    assert held_out(high) == {high[0]}
    assert held_out(low) == set(low[:3])
    assert held_out([*high, low[0]]) == {low[0]}
    assert held_out([low[0]]) == set()
    assert held_out([]) == set()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.05, 0.1, 0.2, 0.5]))
def test_the_share_is_within_binomial_bounds(seed: int, share: float) -> None:
    """Six standard deviations; of 631 groups at a tenth one is 7.5."""
    size = len(held_out([f"g{number}" for number in range(631)], SplitSpec(validation_share=share), seed))
    assert abs(size - 631 * share) < 6 * math.sqrt(631 * share * (1 - share))
    assert math.sqrt(631 * 0.1 * 0.9) == pytest.approx(7.5, abs=0.05)


@settings(max_examples=50, deadline=None)
@given(st.sets(NAMES, min_size=3, max_size=30), st.text(min_size=7, max_size=9))
def test_in_the_exact_policy_a_new_group_moves_at_most_one_other(groups: set[str], new: str) -> None:
    """Bottom-k: the newcomer pushes out the highest of the held-out ones, or the border moves by one group."""
    assert len((held_out(groups, EXACT) ^ held_out(groups | {new}, EXACT)) - {new}) <= 1


LEVELS = ("area", "criterion")
QUERIES = pl.DataFrame({"query_id": ["a1", "a2", "c1"], "level": ["area", "area", "criterion"]})
SPLITS = TABLES["splits"].frame([("t1", TRAIN), ("v1", VALIDATION), ("v2", VALIDATION)])
QRELS = TABLES["qrels"].frame(
    [
        ("a1", "p1", "t1", 2), ("a1", "p2", "t1", 0), ("c1", "p1", "t1", 1),
        ("a1", "p3", "v1", 1), ("a1", "p4", "v1", 2), ("a2", "p3", "v1", 0), ("c1", "p3", "v1", 0),
        ("a1", "p5", "v2", 1),
    ]
)  # fmt: skip


def test_split_sizes_count_groups_queries_and_judgments() -> None:
    """By hand: groups, with relevant, queries, with relevant, judgments, relevant."""
    sizes = split_sizes(SPLITS, QRELS, QUERIES, LEVELS)
    assert sizes.schema == TABLES["split_sizes"].schema
    assert sizes.rows() == [
        ("train", "area", 1, 1, 1, 1, 2, 1),
        ("train", "criterion", 1, 1, 1, 1, 1, 1),
        ("validation", "area", 2, 2, 3, 2, 4, 3),
        ("validation", "criterion", 1, 0, 1, 0, 1, 0),
    ]


def test_split_sizes_show_zeros_and_levels_nobody_declared() -> None:
    sizes = split_sizes(SPLITS, QRELS.filter(pl.col("query_id") != "c1"), QUERIES, ("criterion",))
    assert sizes.select("split", "level", "groups", "queries").rows() == [
        ("train", "criterion", 0, 0),
        ("train", "area", 1, 1),
        ("validation", "criterion", 0, 0),
        ("validation", "area", 2, 3),
    ]


def test_too_few_validation_groups_are_told_by_level() -> None:
    sizes = split_sizes(SPLITS, QRELS, QUERIES, LEVELS)
    (sentence,) = too_few(sizes, LEVELS, 1)
    assert sentence.startswith("criterion: 0 validation groups have a query with a relevant passage, at least 1")
    assert "splits.validation_share" in sentence
    assert [told.partition(":")[0] for told in too_few(sizes, LEVELS, 3)] == ["area", "criterion"]
    assert too_few(sizes, ("area",), 2) == []
    assert len(too_few(sizes.clear(), LEVELS, 1)) == 2
