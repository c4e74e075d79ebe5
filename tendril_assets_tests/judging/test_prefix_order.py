"""Leads go out early enough, everything else stays together: what the order promises, by hand and for any groups."""

from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.judging.prefix_order import LEADS, ROUNDS, by_prefix, lead_order


def sent(prefixes: list[str], in_flight: int, leads: int = LEADS) -> list[str]:
    column = pl.Series(prefixes, dtype=pl.String)
    return column[lead_order(column, in_flight, leads)].to_list()


def test_one_lead_and_two_in_flight_by_hand():
    # Distance 2 x 2 = 4. The rests are 30 a, 3 b, 3 c: b's rest starts after 30 rests and c's after 33. Within 4 x 4 = 16
    # rests only a starts, so a's lead opens the run, b's goes out after 26 rests and c's after 29.
    order = sent(["a"] * 31 + ["b"] * 4 + ["c"] * 4, 2, leads=1)
    expected = ["a"] + ["a"] * 26 + ["b"] + ["a"] * 3 + ["c"] + ["a"] + ["b"] * 3 + ["c"] * 3
    assert order == expected


def test_short_groups_open_with_all_their_leads():
    # First all first leads, then all second ones: a second one shows the provider that the prefix is shared.
    assert sent(list("aaabbbccc"), 4) == list("abcabcabc")


def test_one_request_in_flight_needs_no_leads():
    assert sent(list("abaabbc"), 1) == list("aaabbbc")


def test_no_leads_is_the_order_by_groups():
    assert sent(list("aabbab"), 8, leads=0) == list("aaabbb")


@pytest.mark.parametrize(("in_flight", "leads"), [(0, 1), (4, -1)])
def test_impossible_numbers_are_refused(in_flight: int, leads: int):
    with pytest.raises(ValueError, match="in flight"):
        lead_order(pl.Series(["a"]), in_flight, leads)


@given(
    sizes=st.lists(st.integers(1, 40), max_size=12),
    in_flight=st.integers(1, 9),
    leads=st.integers(0, 3),
)
@settings(max_examples=50, deadline=None)
def test_nothing_is_lost_groups_stay_together_and_leads_have_their_distance(sizes, in_flight, leads):
    prefixes = [group for group, size in enumerate(sizes) for _ in range(size)]
    order = lead_order(pl.Series(prefixes, dtype=pl.Int64), in_flight, leads).to_list()
    assert sorted(order) == list(range(len(prefixes)))
    starts = [prefixes.index(group) for group in range(len(sizes))]
    rests = [row for row in order if row - starts[prefixes[row]] >= leads]
    assert rests == sorted(rests)
    place = {row: i for i, row in enumerate(order)}
    distance = ROUNDS * in_flight if in_flight > 1 else 0
    rests_before = 0
    for group, size in enumerate(sizes):
        first = starts[group]
        chain = [place[row] for row in range(first, first + min(size, leads + 1))]
        assert chain == sorted(chain)
        # In the middle of the run, where the groups before it have as many requests as the leads need.
        if size > leads > 0 and rests_before >= 4 * distance + leads * distance:
            assert min(after - before for before, after in pairwise(chain)) > distance
        rests_before += max(0, size - leads)


def test_the_prefix_is_what_the_columns_share_and_unknown_columns_are_passed_over():
    requests = pl.DataFrame({"query_text": ["q", "r", "q", "r"], "model": ["m", "m", "n", "m"], "key": [1, 2, 3, 4]})
    assert by_prefix(requests, ["model", "query_text"], 1)["key"].to_list() == [1, 2, 4, 3]
    assert by_prefix(requests, ["nothing"], 1)["key"].to_list() == [1, 2, 3, 4]
    assert by_prefix(requests.clear(), ["query_text"], 64).is_empty()
