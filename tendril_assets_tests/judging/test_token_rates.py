"""Rates of tokens: measured where there are enough replies, assumed elsewhere; values by hand."""

import polars as pl
import pytest

from tendril_assets.judging.token_rates import (
    CHARACTERS_PER_TOKEN,
    ENOUGH,
    FRAMING_TOKENS,
    OBSERVED,
    CacheRule,
    Rates,
    cache_rule,
    rates,
)

SCHEMA = dict.fromkeys(OBSERVED, pl.Int64())
NOTHING = pl.DataFrame(schema=SCHEMA)


def replies(*rows: tuple[int | None, ...], times: int = 1) -> pl.DataFrame:
    """In the order of ``OBSERVED``: characters of prompt and prefix, tokens in, out and cached, attempts."""
    return pl.DataFrame(rows * times, schema=SCHEMA, orient="row")


def measured(frame: pl.DataFrame, effort: str | None = "low", language: str = "de") -> Rates:
    return rates(language, effort, frame, frame, frame)


def test_without_replies_the_defaults_hold():
    found = measured(NOTHING)
    assert found.characters == CHARACTERS_PER_TOKEN["de"]
    assert (found.completion.low, found.completion.expected, found.completion.high) == (50_000, 400_000, 1_000_000)
    assert (found.framing, found.served, found.attempts) == (FRAMING_TOKENS, None, 1000)
    assert (found.prompt_replies, found.completion_replies, found.cache_replies) == (0, 0, 0)


@pytest.mark.parametrize("language", [*CHARACTERS_PER_TOKEN, "it"])
@pytest.mark.parametrize("effort", [None, "none", "minimal", "low", "medium", "high", "some new effort"])
def test_every_default_is_an_interval(language, effort):
    found = measured(NOTHING, effort, language)
    for span in (found.characters, found.completion):
        assert 0 < span.low < span.expected < span.high


def test_an_unknown_language_is_as_uncertain_as_all_known_ones():
    other = measured(NOTHING, language="it").characters
    assert other.low <= min(span.low for span in CHARACTERS_PER_TOKEN.values())
    assert other.high >= max(span.high for span in CHARACTERS_PER_TOKEN.values())


def test_equal_replies_are_measured_with_the_least_margin():
    # 800 / 200 = 4 characters per token and 50 tokens per reply, both within 3 %.
    found = measured(replies((800, 400, 200, 50, 60, 1), times=ENOUGH))
    assert found.characters == (3880, 4000, 4120)
    assert found.completion == (48_500, 50_000, 51_500)
    assert found.framing == 0
    # 60 of the 400 / 4 tokens of each prefix.
    assert found.served == 600
    assert (found.prompt_replies, found.completion_replies, found.cache_replies) == (ENOUGH, ENOUGH, ENOUGH)


def test_one_reply_fewer_is_not_enough():
    assert measured(replies((800, 400, 200, 50, 60, 1), times=ENOUGH - 1)) == measured(NOTHING)


def test_the_interval_of_a_mean_by_hand():
    # 25 replies of 10 tokens and 25 of 30: mean 20, deviation 10 x sqrt(50 / 49), error 10 / 7, times 1.96 = 2.8.
    found = measured(replies((800, 0, 200, 10, 0, 1), (800, 0, 200, 30, 0, 1), times=ENOUGH // 2))
    assert found.completion == (17_200, 20_000, 22_800)


def test_the_interval_of_a_ratio_by_hand():
    # 25 prompts of 900 characters and 25 of 700, each 200 tokens: 800 / 200 = 4; residuals +-100, so that the error is
    # sqrt(50 x 10,000 / (50 x 49)) / 200 = 0.0714, times 1.96 = 0.14.
    found = measured(replies((900, 0, 200, 1, 0, 1), (700, 0, 200, 1, 0, 1), times=ENOUGH // 2))
    assert found.characters == (3860, 4000, 4140)


def test_unknown_tokens_are_left_out_and_zero_cached_is_a_figure():
    some = replies((800, 400, 200, 50, 0, 1), times=ENOUGH)
    found = measured(pl.concat([some, replies((999, 400, None, None, None, 9), times=3)]))
    assert (found.prompt_replies, found.completion_replies, found.cache_replies) == (ENOUGH, ENOUGH, ENOUGH)
    assert found.characters.expected == 4000
    assert found.served == 0
    # 50 x 1 and 3 x 9 attempts: 77 / 53 = 1.453.
    assert found.attempts == 1453


def test_a_provider_that_does_not_name_cached_tokens_leaves_the_rule_in_force():
    assert measured(replies((800, 400, 200, 50, None, 1), times=ENOUGH)).served is None


def test_more_cached_than_the_prefix_holds_counts_as_all_of_it():
    assert measured(replies((800, 400, 200, 50, 190, 1), times=ENOUGH)).served == 1000
    assert measured(replies((800, 0, 200, 50, 190, 1), times=ENOUGH)).served == 0


@pytest.mark.parametrize(
    ("model", "tokens", "served"),
    [
        ("openai/any", [1023, 1024, 1151, 1152], [0, 1024, 1024, 1152]),
        ("deepseek/any", [63, 64, 127, 128], [0, 64, 64, 128]),
        ("google/any", [1023, 1024, 1025], [0, 1024, 1025]),
        # Nothing is published of it: as strict as the strictest.
        ("z-ai/any", [1023, 1300], [0, 1280]),
        ("sandbox/judge", [0, 1, 500], [0, 1, 500]),
    ],
)
def test_what_caches_serve_of_a_prefix(model, tokens, served):
    rule = cache_rule(model)
    assert rule is not None
    assert pl.DataFrame({"t": tokens}).select(rule.served(pl.col("t")))["t"].to_list() == served


def test_a_cache_that_needs_marks_in_the_request_serves_nothing():
    assert cache_rule("anthropic/any") is None


def test_rules_do_not_serve_more_than_there_is():
    frame = pl.DataFrame({"t": range(3000)})
    for rule in (CacheRule(16, 16), CacheRule(1024, 128), CacheRule(1, 1)):
        assert frame.select((rule.served(pl.col("t")) <= pl.col("t")).all()).item()
