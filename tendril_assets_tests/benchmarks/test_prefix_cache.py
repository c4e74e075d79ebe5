"""The order of requests against the stand-in gateway's prompt cache, over real HTTP: leads save what they promise."""

from tendril_assets_tests.benchmarks.prefix_cache import Size, made_up, measure, ratio


def test_leads_miss_a_few_requests_of_each_query_where_groups_alone_miss_all_that_are_in_flight() -> None:
    size = Size(queries=4, passages=40, in_flight=20, latency_s=0.4)
    figures = measure(size)
    # Grouped, about 20 of the 40 requests of each query go out before its first reply: as many as are sent in 0.4 s, which
    # are fewer on a busy machine. With leads it is the first 20 of all, which meet a cold cache in any order, and few more.
    assert figures["missed_grouped"] >= 4 * 12
    assert 4 <= figures["missed_leads"] <= 20 + 4 * 4
    assert figures["cached_share_leads"] > figures["cached_share_grouped"] * 1.2
    assert figures["usd_leads"] < figures["usd_grouped"] < figures["usd_uncached"]


def test_requests_come_grouped_and_are_all_different() -> None:
    requests = made_up(Size(3, 4, 1, 0.0))
    assert requests["request_key"].n_unique() == 12
    assert requests["query_text"].rle_id().max() == 2


def test_where_no_request_can_be_served_from_the_cache_there_is_no_ratio() -> None:
    assert (ratio(1.0, 2.0), ratio(0.0, 0.0), ratio(1.0, 0.0)) == (0.5, None, None)
    alone = measure(Size(queries=2, passages=1, in_flight=2, latency_s=0.0))
    assert (alone["share_of_ideal"], alone["cached_ratio_grouped"]) == (None, None)
