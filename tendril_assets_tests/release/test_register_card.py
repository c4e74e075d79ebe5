"""The card of a collection of several registers says what its tables hold, and cannot contradict itself."""

import functools

import polars as pl
import pytest
import yaml

from tendril_assets.errors import ExportInvariantError
from tendril_assets.evaluation.registers import QUERY, WHOLE, WITHOUT
from tendril_assets.release.cards import CardInputs, dataset_card
from tendril_assets.release.figures import assert_sums
from tendril_assets.release.huggingface import Config, published_rows
from tendril_assets.release.register_results import MeasuredRows
from tendril_assets.tables import TABLES
from tendril_assets_tests.release import toy, toy_registers

NBSP = "\u00a0"


@functools.cache
def card_inputs(*, judged: bool = True) -> CardInputs:
    frames = toy_registers.tables(judged=judged)
    counts = toy_registers.figures(frames)["counts"].row(0, named=True)
    configs = [
        Config("corpus", {"id": "string"}, {"corpus": counts["passages"]}),
        Config("queries", {"id": "string"}, {"queries": counts["queries"]}),
        Config("qrels", {"score": "int64"}, {"test": counts["judgments"]}),
    ]
    sizes = {"corpus": {"corpus": 1}, "queries": {"queries": 1}, "qrels": {"test": 1}}
    measured = (frames["judge_agreement"], frames["judge_choice"])
    return CardInputs(
        toy_registers.spec(),
        toy_registers.figures(frames),
        *measured,
        configs,
        sizes,
        False,
        systems=frames["calibration_systems"],
    )


@functools.cache
def card(*, judged: bool = True) -> str:
    return dataset_card(card_inputs(judged=judged))


def front(text: str) -> dict:
    return yaml.safe_load(text.split("---\n", 2)[1])


# Counted by hand from ``toy_registers``.
SAID = [
    "14 relevance judgments for 11 queries of several registers over 28 passages of 7 acts.",
    "| test | Live | 5 | 5 | 5 | 2 | 7 | 6 |",
    "| test | Manual | 2 | 2 | 1 | 1 | 3 | 1 |",
    "| train | Synthetic | 2 | 2 | 2 | 2 | 2 | 2 | 100 % |",
    "**The tests hold 8 annotated queries: 5 live questions, 2 hand-written queries and 1 queries over unseen acts.**",
    "A language model wrote 12 % of them.",  # 1 of 8
    "The list that was landed names 11; 7 of them were kept. Left out: 2 that amend other acts and have no text of their own, "
    "1 that was removed on request and 1 that repeats another row.",
    "| `test_live` | 2 | 8 | 29 % | 2 | 0 | 0 |",
    "8 questions that people asked were collected. 7 belong to one of our acts",
    "3 are graded by the clauses they name, 2 go into the pool, 1 name a clause that our text does not have and are dropped, "
    "1 belong to no act of ours, 1 repeats another.",
    # live1 to live3 and live5: a repeat bears nothing out, nor does an act chosen by its clauses.
    "stands in the act's text: by the heading 75 % (3 of 4).",
    "5 are annotated: 3 by the clauses they name and 2 through the pool.",
    "80 % of the annotated ones in the tests are about `4-П_01022020`, so every measure is taken with it and without.",
    "2 of 3 queries that people wrote",
    "| `train` | Synthetic | `sandbox/asker-a` (sandbox_a) | 4 | 2 | 50 % | declined 1 (25 %), verbatim 1 (25 %) |",
    "| `unseen` | Unseen | `sandbox/asker-b` (sandbox_b) | 2 | 1 | 50 % | no answer yet 1 |",
    "| the judge, on passages from a pool | 0 | 3 |",
    # Of [[41,6,1],[5,14,4],[1,5,19]] 41 + 14 + 19 are equal, 1 + 1 two grades apart.
    "| 0.610 [0.480, 0.730] | 0.750 [0.620, 0.840] | 74 of 96 | 2 of 96 | 0.950 [0.850, 1.000] (20 pairs) | met |",
    "Declared before the data: Cohen's kappa against the curated grades (0/1/2, all levels together) of at least 0.40, equal "
    "grades in two runs for at least 70 %, at least 150 pairs and a recorded inference stack. 1 of 1 met all of it",
    f"The pool was graded by `{toy_registers.SYSTEM}`.",
    "1 live question names a clause that our text does not have, and was left out.",
    "released under the MIT licence",
]


@pytest.mark.parametrize("text", SAID)
def test_the_card_says_what_the_tables_hold(text: str) -> None:
    assert text in card().replace(NBSP, " ")


def test_no_sentence_of_another_collection_is_in_it() -> None:
    for foreign in ("public secret", "personal data", "anonymis", "Under the licence", "catalogs", "test collection"):
        assert foreign not in card()


def test_the_front_matter_says_who_made_judgments_and_texts() -> None:
    body = front(card())
    assert (body["license"], "extra_gated_prompt" in body) == ("mit", False)
    assert body["annotations_creators"] == ["found", "machine-generated"]
    assert body["language_creators"] == ["found", "machine-generated"]
    assert "llm-as-a-judge" in body["tags"]
    assert "llm-as-a-judge" not in front(card(judged=False))["tags"]


def test_a_judge_that_is_not_accepted_is_said_and_none_of_its_labels_counted() -> None:
    text = card(judged=False)
    assert "**not met** |" in text
    assert "**Acceptance is not met: no label of a judge is applied.**" in text
    assert "The pool was graded" not in text
    assert "the judge, on passages from a pool" not in text
    assert "3 are annotated: 3 by the clauses they name." in text
    assert "None of them is annotated." in text  # the hand-written ones
    assert "**Queries without judgments.** 2 live questions and 2 hand-written queries" in text


def test_a_judge_that_nobody_measured_is_said() -> None:
    inputs = card_inputs(judged=False)
    text = dataset_card(inputs._replace(choice=inputs.choice.clear(), agreement=inputs.agreement.clear()))
    assert "No judge was measured against people, and no label of a judge is applied." in text


# Each is a contradiction of a published card: parts of a headline, one count in two places, one number for two things.
CONTRADICTIONS = [
    (
        "query_origins",
        "manual",
        -2,
        "queries over origins: 9 against 11",
    ),  # a headline without its hand-written queries
    ("query_origins", "live_landed", 3, "live questions over routes: 8 against 11"),
    ("query_origins", "live", -1, "live queries over routes: 5 against 4"),
    ("query_origins", "pooled", 3, "queries of the pool beyond those routed there: 3 against 0"),
    ("live_routes", "questions", 3, "live questions over routes"),
    ("annotated_by", "queries", 3, "annotated queries of live over routes: 8 against 5"),
    ("annotated_by", "queries", 3, "queries annotated by clauses beyond those routed there: 3 against 0"),
    ("registers", "queries", 1, "queries over registers: 12 against 11"),
    ("registers", "annotated", 1, "annotated queries over registers: 12 against 11"),
    ("registers", "judgments", 1, "judgments over registers: 15 against 14"),
    ("registers", "relevant", 1, "relevant judgments over registers: 12 against 11"),
    ("registers", "generated", 1, "queries of synthetic by a language model: 3 against 4"),
    ("grade_routes", "judgments", 1, "judgments over routes: 15 against 14"),
    ("question_fates", "questions", 1, "queries of synthetic by a language model: 4 against 3"),
    ("verdicts", "by_judge", 1, "judgments by the judge: 6 against 7"),
    ("act_kinds", "groups", 1, "groups over splits and kinds: 8 against 7"),
    ("act_kinds", "passages", 1, "passages over splits and kinds: 29 against 28"),
]


@pytest.mark.parametrize(("figure", "column", "by", "what"), CONTRADICTIONS)
def test_figures_that_contradict_each_other_are_refused(figure: str, column: str, by: int, what: str) -> None:
    figures = dict(card_inputs().figures)
    assert_sums(figures)
    # The first row: of the fates of questions that of the accepted ones.
    accepted = pl.col("status").eq("accepted") if figure == "question_fates" else pl.lit(value=True)
    first = accepted & (accepted.cum_sum() if figure == "question_fates" else pl.int_range(1, pl.len() + 1)).eq(1)
    figures[figure] = figures[figure].with_columns(pl.col(column) + pl.when(first).then(by).otherwise(0))
    with pytest.raises(ExportInvariantError, match="contradict each other") as refused:
        dataset_card(card_inputs()._replace(figures=figures))
    assert what in str(refused.value)


def test_a_judgment_without_a_route_is_refused() -> None:
    frames = toy_registers.tables()
    frames["qrel_evidence"] = frames["qrel_evidence"].filter(pl.col("query_id") != "live2")
    with pytest.raises(ExportInvariantError, match="judgments without a route: 1 against 0"):
        assert_sums(toy_registers.figures(frames))


def test_of_equal_groups_the_lowest_is_dominant() -> None:
    frames = toy_registers.tables()
    kept = ~pl.col("query_id").is_in(["live2", "live3", "live8"])  # one question of each act is left
    for name in ("queries", "project_queries", "qrels"):
        frames[name] = frames[name].filter(kept)
    rows = toy_registers.figures(frames)["registers"].filter(level="live")
    assert rows.select("dominant_group", "dominant_queries").row(0) == (toy_registers.L1, 1)


def test_a_query_of_an_act_without_a_split_is_no_test_query() -> None:
    frames = toy_registers.tables()
    frames["splits"] = frames["splits"].filter(pl.col("group_id") != toy_registers.T1)
    assert toy_registers.figures(frames)["registers"].filter(part="-")["queries"].to_list() == [1]
    with pytest.raises(ExportInvariantError, match=r"1 judged queries belong to none of train, dev, test: q-1\."):
        toy_registers.rows(frames)


def test_rows_keep_their_order_when_they_are_parted() -> None:
    read = toy.reader(toy.database(toy_registers.tables()))
    parts = read("query_parts").reverse()
    rows = published_rows(read("corpus"), read("queries"), read("qrels"), "act", parts)
    assert rows.qrels["query-id"].to_list() == read("qrels")["query_id"].to_list()


def score(system: str, level: str, part: str, value: float, queries: int) -> dict:
    row = {"system": system, "level": level, "part": part, "unit": QUERY, "measure": "ndcg@10", "value": value}
    rests_on = {"n": queries, "queries": queries, "groups": 2, "excluded": 0, "generated": 0.0}
    return (
        row | rests_on | {"low": value - 0.1, "high": value + 0.1, "dominant": toy_registers.L1, "dominant_share": 0.8}
    )


def test_results_stand_per_register_with_what_they_rest_on() -> None:
    rows = [
        score("bm25", "live", WHOLE, 0.5, 25),
        score("bm25", "live", WITHOUT, 0.4, 21),
        score("hybrid", "live", WHOLE, 0.6, 25),
        score("bm25", "all", WHOLE, 0.55, 60) | {"generated": 0.35},
    ]
    measured = MeasuredRows(TABLES["register_scores"].frame(rows))
    text = dataset_card(card_inputs()._replace(measured=measured)).replace(NBSP, " ")
    assert "| Register | Rests on | BM25 | Hybrid |" in text
    assert (
        "| All registers | 60 queries of 2 acts, 35 % generated, 80 % of one act | 0.550 [0.450, 0.650] | - |" in text
    )
    assert "| Live | 25 queries of 2 acts, 80 % of one act | 0.500 [0.400, 0.600] | 0.600 [0.500, 0.700] |" in text
    assert f"| Live without {toy_registers.L1} | 21 queries of 2 acts" in text
    assert "Registers with fewer than 20 queries have no row." in text


def test_a_card_without_results_says_why() -> None:
    assert "This version has no results: the systems were not measured yet." in card()
    other = MeasuredRows(None, "the systems were scored with other grades than those of this version")
    text = dataset_card(card_inputs()._replace(measured=other))
    assert "This version has no results: the systems were scored with other grades than those of this version." in text
    few = MeasuredRows(TABLES["register_scores"].empty())
    assert "no register has 20 queries" in dataset_card(card_inputs()._replace(measured=few))


def test_a_sandbox_card_speaks_of_no_secret_where_none_is_in_the_identifiers() -> None:
    text = dataset_card(card_inputs()._replace(sandbox=True))
    assert "> **Sandbox release.** It was made of sample data or with a public key, and must not be published." in text
