"""What a change opens: exactly the requests it touches, counted through the plan and the ledger's anti-join.

The figures follow from ``published_pairs.Shape``. Of ``TINY``: groups 0 and 1 are longer by a passage (10 each), groups 2
and 3 have 9; groups 0 and 2 are asked one query more (9 instead of 8). Groups 0 and 1 share 2 queries and 5 texts, and so
do groups 2 and 3. Judgments: 10 x 9 + 10 x 8 + 9 x 9 + 9 x 8 = 323; requests 323 - 2 x (2 x 5) = 303.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

from tendril_assets.judging.candidates import Judging, plan
from tendril_assets.judging.prompts import load_guideline
from tendril_assets.judging.request import RequestFactory
from tendril_assets.resources.ledger import Ledger
from tendril_assets.spec import LLMSpec
from tendril_assets_tests.published_pairs import PUBLISHED, SMALL, TINY, Shape, tables
from tendril_assets_tests.resources.entries import entry, write

LLM = LLMSpec(model="toy/judge", max_tokens=16, providers=("one",), quantizations=("fp8",))
JUDGMENTS, REQUESTS = 323, 303


class Asked(NamedTuple):
    """What a plan is made from; a change is another one of these."""

    queries: pl.DataFrame
    passages: pl.DataFrame
    llm: LLMSpec = LLM
    guideline: str = "de_short"

    def of(self, pairs: pl.DataFrame) -> Judging:
        return plan(pairs, self.queries, self.passages, RequestFactory(self.llm), load_guideline(self.guideline))


def pairs_of(frames: dict[str, pl.DataFrame]) -> pl.DataFrame:
    of_groups = frames["project_queries"].select("group_id", "query_id")
    return of_groups.join(frames["corpus"].select("group_id", "passage_id"), on="group_id").select(
        "query_id", "passage_id", "group_id"
    )


def reworded(texts: pl.DataFrame, id_column: str, chosen: str, text: str = "Ein anderer Wortlaut.") -> pl.DataFrame:
    return texts.with_columns(pl.when(pl.col(id_column) == chosen).then(pl.lit(text)).otherwise("text").alias("text"))


def still_open(planned: Judging, ledger: Ledger) -> pl.DataFrame:
    answered = pl.DataFrame({"request_key": list(ledger.answered_keys())}, schema={"request_key": pl.String})
    return planned.requests.join(answered, on="request_key", how="anti")


FRAMES = tables(TINY)
PAIRS = pairs_of(FRAMES)
BEFORE = Asked(FRAMES["queries"].select("query_id", "text"), FRAMES["corpus"].select("passage_id", "text"))


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    """A ledger in which every request of ``BEFORE`` has its answer."""
    folder = tmp_path_factory.mktemp("ledger")
    write(folder, *(entry(key, content="1", finish_reason="stop") for key in BEFORE.of(PAIRS).requests["request_key"]))
    return Ledger(folder)


@pytest.mark.parametrize(
    ("shape", "passages", "judgments", "requests"),
    [
        (TINY, 38, JUDGMENTS, REQUESTS),
        # 1,900 x 10 + 136 x 6 + 135 x 2; twins save 3 x 4 x 17
        (SMALL, 1_900, 20_086, 19_882),
    ],
)
def test_identical_pairs_share_one_request(shape: Shape, passages: int, judgments: int, requests: int) -> None:
    frames = tables(shape)
    asked = Asked(frames["queries"].select("query_id", "text"), frames["corpus"].select("passage_id", "text"))
    planned = asked.of(pairs_of(frames))
    assert (frames["corpus"].height, planned.candidates.height, planned.requests.height) == (
        passages,
        judgments,
        requests,
    )
    assert planned.requests["request_key"].n_unique() == planned.candidates["request_key"].n_unique() == requests
    assert (shape.passages, shape.judgments, shape.requests) == (passages, judgments, requests)
    # Every query is asked somewhere, and no pair comes twice.
    assert set(planned.candidates["query_id"]) == set(frames["queries"]["query_id"])
    assert planned.candidates.select("query_id", "passage_id").is_unique().all()


def test_the_published_numbers_are_what_their_shape_says() -> None:
    """The full plan is made by the benchmark; here the arithmetic: 911,540 judgments from 906,984 requests."""
    assert (PUBLISHED.queries, PUBLISHED.passages) == (1_041, 631 * 135 + 587) == (1_041, 85_772)
    assert PUBLISHED.judgments == 857_720 + 136 * 360 + 135 * 36 == 911_540
    assert PUBLISHED.requests == 911_540 - 67 * 4 * 17 == 906_984


def test_nothing_changed_opens_nothing(answered: Ledger) -> None:
    assert still_open(BEFORE.of(PAIRS), answered).is_empty()


@pytest.mark.parametrize(
    "change",
    [
        {"model": "toy/other"},
        {"providers": ("two",)},
        {"providers": ("one", "two")},
        {"quantizations": ("bf16",)},
        {"quantizations": ()},
        {"require_parameters": False},
        {"temperature": 0.5},
        {"max_tokens": 17},
        {"reasoning_effort": "low"},
    ],
)
def test_another_model_route_or_sampling_opens_all_and_the_former_one_none(change: dict, answered: Ledger) -> None:
    changed = BEFORE._replace(llm=LLM.model_copy(update=change))
    assert still_open(changed.of(PAIRS), answered).height == REQUESTS
    assert still_open(BEFORE.of(PAIRS), answered).is_empty()


def test_another_guideline_opens_all_and_the_former_one_finds_its_answers(answered: Ledger) -> None:
    changed = BEFORE._replace(guideline="de_long").of(PAIRS)
    assert still_open(changed, answered).height == REQUESTS
    again = BEFORE.of(PAIRS)
    assert still_open(again, answered).is_empty()
    # The old answers are there to be read, one for each request.
    read = answered.frame().join(again.requests, on="request_key", how="semi")
    assert (read.height, set(read["content"])) == (REQUESTS, {"1"})


# Passage 9 of group 0 has its text for itself; 9 queries ask for it. Passage 0 is a standard clause of groups 0 and 1:
# 2 of its 9 queries ask for the copy too, so their former requests live on, and the new text opens all 9 pairs as new
# requests. With the copy changed alike, the 9 + 8 pairs are 15 requests.
PASSAGES: dict[str, tuple[list[str], int, int]] = {
    "own text": (["p000-009"], 9, 9),
    "shared text": (["p000-000"], 9, 7),
    "both copies": (["p000-000", "p001-000"], 15, 15),
}


@pytest.mark.parametrize(("chosen", "opened", "orphaned"), PASSAGES.values(), ids=PASSAGES)
def test_a_changed_passage_opens_its_own_pairs(chosen: list[str], opened: int, orphaned: int, answered: Ledger) -> None:
    passages = BEFORE.passages
    for passage in chosen:
        passages = reworded(passages, "passage_id", passage)
    changed = BEFORE._replace(passages=passages).of(PAIRS)
    new = still_open(changed, answered)
    assert new.height == opened
    pairs = changed.candidates.join(new, on="request_key", how="semi")
    assert set(pairs["passage_id"]) == set(chosen)
    assert pairs.height == sum(PAIRS.filter(pl.col("passage_id") == passage).height for passage in chosen)
    gone = BEFORE.of(PAIRS).requests.join(changed.requests, on="request_key", how="anti")
    assert gone.height == orphaned
    assert still_open(BEFORE.of(PAIRS), answered).is_empty()


def test_a_passage_that_takes_over_an_answered_text_opens_nothing(answered: Ledger) -> None:
    """Passage 9 of group 1 becomes the text of its passage 8: the same queries asked for that one."""
    text = BEFORE.passages.filter(pl.col("passage_id") == "p001-008")["text"][0]
    changed = BEFORE._replace(passages=reworded(BEFORE.passages, "passage_id", "p001-009", text)).of(PAIRS)
    assert still_open(changed, answered).is_empty()
    # Its 8 pairs now share the requests of its neighbour.
    assert (changed.candidates.height, changed.requests.height) == (JUDGMENTS, REQUESTS - 8)


# The first query asks in group 0 alone, for its 10 passages. The eighth and ninth ask in groups 0 and 1, for 10 + 10
# passages of which 5 texts are the same: 15 requests.
@pytest.mark.parametrize(("number", "pairs", "opened"), [(0, 10, 10), (7, 20, 15), (8, 20, 15)])
def test_a_changed_query_opens_its_own_pairs(number: int, pairs: int, opened: int, answered: Ledger) -> None:
    chosen = FRAMES["queries"]["query_id"][number]
    changed = BEFORE._replace(queries=reworded(BEFORE.queries, "query_id", chosen)).of(PAIRS)
    new = still_open(changed, answered)
    assert new.height == opened
    touched = changed.candidates.join(new, on="request_key", how="semi")
    assert set(touched["query_id"]) == {chosen}
    assert touched.height == PAIRS.filter(pl.col("query_id") == chosen).height == pairs


SAME: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "a passage under another id": lambda pairs: pairs,
    "pairs in another order": lambda pairs: pairs.sample(fraction=1.0, shuffle=True, seed=1),
}


@pytest.mark.parametrize("order", SAME.values(), ids=SAME)
def test_ids_and_order_are_no_part_of_a_request(
    order: Callable[[pl.DataFrame], pl.DataFrame], answered: Ledger
) -> None:
    renamed = BEFORE.passages.with_columns(pl.format("new-{}", "passage_id").alias("passage_id"))
    pairs = order(PAIRS).with_columns(pl.format("new-{}", "passage_id").alias("passage_id"))
    changed = BEFORE._replace(passages=renamed).of(pairs)
    assert still_open(changed, answered).is_empty()
    assert changed.candidates.height == JUDGMENTS


def test_a_repeat_is_a_request_of_its_own() -> None:
    factory, guideline = RequestFactory(LLM), load_guideline("de_short")
    texts = (BEFORE.queries["text"].to_list(), BEFORE.passages["text"].to_list())
    numbers = [(q, p) for q in range(3) for p in range(3)]
    once, twice, thrice = (set(factory.pair_keys(guideline, *texts, numbers, label)) for label in (None, "2", "3"))
    assert len(once | twice | thrice) == 27


def test_a_failure_stays_open_and_an_old_answer_counts(tmp_path: Path) -> None:
    first, second, third, *rest = BEFORE.of(PAIRS).requests["request_key"]
    write(
        tmp_path,
        entry(first, status="error"),
        entry(second, status="error"),
        entry(second, status="truncated"),
        entry(third, status="answered"),
        entry(third, status="empty"),
    )
    assert set(still_open(BEFORE.of(PAIRS), Ledger(tmp_path))["request_key"]) == {first, *rest}
