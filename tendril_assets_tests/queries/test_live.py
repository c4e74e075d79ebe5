"""From questions to acts, clauses and routes. Each right value is read off the toy acts by eye."""

import polars as pl
import pytest

from tendril_assets.queries import references_russian as russian
from tendril_assets.queries.clause_places import ClausePlaces
from tendril_assets.queries.live import attachment_rows, hit_rates, miscounted
from tendril_assets.queries.routes import ROUTES
from tendril_assets.spec_registers import LiveSpec
from tendril_assets_tests.queries.toy_registers import (
    ACTS,
    CLAUSES,
    NEW,
    OLD,
    PRESENT,
    RULES,
    RULES_SECTION,
    SMALL,
    live,
)


def rows(*questions: tuple[str, str, str, str], present: pl.Series = PRESENT, **spec) -> list[dict]:
    return attachment_rows(live(*questions), ACTS, CLAUSES, present, LiveSpec(**spec), russian).to_dicts()


def one(text: str, section: str = "", topic: str = "", **spec) -> dict:
    return rows(("exp1", text, section, topic), **spec)[0]


@pytest.mark.parametrize(
    ("text", "section", "topic", "project", "how", "basis"),
    [
        ("Верно ли это?", RULES_SECTION, "", RULES, "section", "date"),
        ("А по Указанию № 4892-У?", RULES_SECTION, "", RULES, "section", "date"),
        ("Верно ли это?", "Разное", "Положение № 590-П", RULES, "topic", "number"),
        ("Верно ли по Положению № 590-П?", "Федеральный закон № 106-ФЗ", "", RULES, "question", "number"),
        # Named twice beats named first; of equal ones the first is taken.
        ("Положение № 590-П, 11-МР и снова 11-МР", "", "", SMALL, "question", "number"),
        ("11-МР и Положение № 590-П", "", "", SMALL, "question", "number"),
        # Of the acts in a heading the one that the question names too.
        ("По 11-МР?", "Положение № 590-П, Методические рекомендации № 11-МР", "", SMALL, "section", "number"),
        # One number, two acts: by the day, by the clauses, else the latest.
        ("Указание Банка России от 31.08.2018 № 4892-У (далее - Указание № 4892-У)", "", "", OLD, "question", "date"),
        ("Указание № 4892-У (далее - Указание от 31.08.2018 № 4892-У)", "", "", OLD, "question", "date"),
        ("п. 1.1 Указания № 4892-У", "", "", OLD, "question", "clauses"),
        ("п. 1 Указания № 4892-У", "", "", NEW, "question", "latest"),
        ("п. 7 Указания № 4892-У", "", "", NEW, "question", "latest"),
        ("Указание № 4892-У", "", "", NEW, "question", "latest"),
        # Latin letter, other dash, no sign.
        ("по Указанию 4892\u2013Y", "", "", NEW, "question", "latest"),
    ],
)
def test_the_act_a_question_is_about(text, section, topic, project, how, basis) -> None:
    found = one(text, section, topic)
    assert (found["project"], found["how"], found["basis"]) == (project, how, basis)
    assert found["group_id"] == dict(ACTS.select("project", "group_id").iter_rows())[project]


@pytest.mark.parametrize(
    ("text", "section", "reason"),
    [
        ("Верно ли это?", "", "names no act"),
        ("Закон № 106-ФЗ и 7119-У", "", "names 106-ФЗ, 7119-У: not in the corpus"),
        ("п. 1 Положения от 26.03.2004 № 590-П", "", "names 590-П of 2004-03-26: not in the corpus"),
        # The letters say Положение and the act of that number is one; an instruction of that number is another act.
        ("Инструкция № 590-П", "", "names 590-П: not in the corpus"),
        ("1-П 2-П 3-П 4-П 5-П", "", "names 1-П, 2-П, 3-П and 2 more: not in the corpus"),
    ],
)
def test_a_question_about_no_act_of_ours(text: str, section: str, reason: str) -> None:
    found = one(text, section)
    assert (found["project"], found["how"], found["route"], found["reason"]) == (None, "none", "none", reason)
    assert (found["clauses"], found["passages"], found["verified"]) == ([], [], None)


def test_gold_are_the_passages_in_which_a_named_clause_begins() -> None:
    found = one("Верно ли по п. 3.10 Положения?", RULES_SECTION, "Досье (3.1, 3.9)")
    assert (found["route"], found["named_in"], found["reason"]) == ("clauses", "topic", None)
    assert (found["clauses"], found["found"], found["verified"]) == (["3.1", "3.9"], ["3.1", "3.9"], True)
    # Clause 3.1 begins in the overlap of two passages; 3.9 in the second of them.
    assert found["passages"] == [f"{RULES}#0001", f"{RULES}#0002"]


def test_a_clause_that_our_text_lacks_drops_the_question() -> None:
    whole, part = one("?", RULES_SECTION, "(4.11)"), one("?", RULES_SECTION, "(3.9, 4.11)")
    assert (whole["route"], whole["verified"], whole["passages"]) == ("dropped", False, [])
    assert (part["route"], part["verified"], part["found"], part["passages"]) == ("dropped", True, ["3.9"], [])
    assert part["reason"] == "not in our revision: 4.11"
    # The question's own clauses too, whatever else it names.
    own = one("Можно ли по п. 4.11 Положения № 590-П?", RULES_SECTION)
    assert (own["route"], own["named_in"], own["reason"]) == ("dropped", "question", "not in our revision: 4.11")


def test_numbers_inside_a_range_may_be_missing_and_its_ends_may_not() -> None:
    inside, end = one("?", RULES_SECTION, "(4.1-4.3)"), one("?", RULES_SECTION, "(4.1-4.4)")
    assert (inside["route"], inside["clauses"], inside["found"]) == ("clauses", ["4.1", "4.2", "4.3"], ["4.1", "4.3"])
    assert (end["route"], end["reason"]) == ("dropped", "not in our revision: 4.4")


def test_clauses_of_the_question_alone_lead_into_the_pool_unless_they_are_evidence() -> None:
    text = "Что значит п. 3.9 Положения № 590-П?"
    pooled, gold = one(text), one(text, evidence=("topic", "question"))
    assert (pooled["route"], pooled["passages"], pooled["verified"]) == ("pool", [], True)
    assert pooled["reason"] == "clauses are named in the question alone"
    assert (gold["route"], gold["passages"]) == ("clauses", [f"{RULES}#0002"])
    assert one("Верно ли это?", RULES_SECTION)["reason"] == "names no clause"


def test_a_clause_without_an_act_counts_where_no_other_act_of_ours_is_named() -> None:
    assert one("Что значит п. 3.9?", RULES_SECTION)["clauses"] == ["3.9"]
    assert one("Что значит п. 3.9, с учетом Закона № 106-ФЗ?", RULES_SECTION)["clauses"] == ["3.9"]
    assert one("Что значит п. 3.9, с учетом Указания № 4892-У?", RULES_SECTION)["clauses"] == []
    assert one("Что значит п. 3.9 Указания № 4892-У?", RULES_SECTION)["clauses"] == []
    assert one("Что значит п. 3.9 договора?", RULES_SECTION)["clauses"] == []
    assert one("Что значит п. 3.9 Инструкции?", RULES_SECTION)["clauses"] == []


def test_body_before_appendix_and_the_appendix_that_is_named() -> None:
    def gold(topic: str) -> list[str]:
        return one("?", RULES_SECTION, topic)["passages"]

    assert gold("(п. 1)") == [f"{RULES}#0000"]
    assert gold("(п. 1 приложения 2 к Положению № 590-П)") == [f"{RULES}#0005"]
    # Only an appendix has it.
    assert gold("(п. 5)") == [f"{RULES}#0004"]
    assert one("?", RULES_SECTION, "(п. 2 приложения 2 к Положению № 590-П)")["route"] == "dropped"


def test_a_number_that_begins_several_clauses_gives_no_gold() -> None:
    found = one("?", "Методические рекомендации № 11-МР", "(п. 1)")
    assert (found["route"], found["found"], found["passages"]) == ("pool", ["1"], [])
    assert found["reason"] == "begins at several places: 1"
    assert one("?", "Методические рекомендации № 11-МР", "(п. 2)")["passages"] == [f"{SMALL}#0001"]


def test_a_clause_whose_passages_were_removed_is_not_there() -> None:
    left = PRESENT.filter(~PRESENT.is_in([f"{RULES}#0002"]))
    found = rows(("exp1", "?", RULES_SECTION, "(3.9)"), present=left)[0]
    assert (found["route"], found["reason"]) == ("dropped", "not in our revision: 3.9")


def test_the_attached_question_of_lowest_id_stays_of_equal_texts() -> None:
    found = rows(
        ("exp0", "Верно  ли это", "", ""),
        ("exp1", "Верно ли это?", RULES_SECTION, "(3.9)"),
        ("exp2", "верно ли это", RULES_SECTION, ""),
        ("exp3", "Верно ли то?", RULES_SECTION, ""),
    )
    routes = [(row["query_id"], row["route"], row["reason"]) for row in found]
    assert routes == [
        ("exp0", "none", "names no act"),
        ("exp1", "clauses", None),
        ("exp2", "none", "repeats exp1"),
        ("exp3", "pool", "names no clause"),
    ]


def test_hit_rates_leave_out_acts_that_were_chosen_by_their_clauses() -> None:
    frame = attachment_rows(
        live(
            ("a", "?", RULES_SECTION, "(3.9)"),
            ("b", "??", RULES_SECTION, "(4.11)"),
            ("c", "!?", RULES_SECTION, ""),
            ("d", "п. 1.1 Указания № 4892-У", "", ""),
            ("e", "п. 1 Указания № 4892-У", "", ""),
            ("f", "ничего", "", ""),
        ),
        ACTS, CLAUSES, PRESENT, LiveSpec(), russian,
    )  # fmt: skip
    # "?", "??" and "!?" have no word at all: they are three questions all the same.
    assert hit_rates(frame).rows() == [
        ("none", 1, 0, 0, None),
        ("question", 2, 1, 1, 1.0),
        ("section", 3, 2, 1, 0.5),
    ]


def test_routes_that_do_not_add_up_are_named() -> None:
    questions = live(("a", "?", RULES_SECTION, "(3.9)"), ("b", "Что?", "", ""))
    frame = attachment_rows(questions, ACTS, CLAUSES, PRESENT, LiveSpec(), russian)
    assert miscounted(frame, questions, ROUTES) == []
    assert miscounted(frame.head(1), questions, ROUTES) == ["b has no route"]
    assert miscounted(frame, questions.head(1), ROUTES) == ["b is no landed question"]
    assert miscounted(pl.concat([frame, frame.head(1)]), questions, ROUTES) == ["a has several routes"]
    other = frame.with_columns(route=pl.when(pl.col("query_id") == "a").then(pl.lit("pool")).otherwise(pl.lit("lost")))
    assert miscounted(other, questions, ROUTES) == [
        "b: unknown route lost",
        "a: route pool and its passages contradict",
        "b has a route and no act",
    ]


def test_places_know_nothing_of_other_acts() -> None:
    places = ClausePlaces(CLAUSES, PRESENT, russian.appendix_of)
    clause = russian.references("п. 1.1").clauses[0]
    assert places.passages(OLD, clause) == [f"{OLD}#0000"]
    assert places.passages(NEW, clause) == places.passages("unknown", clause) == []
    assert not places.stands(NEW, clause)


def test_a_group_without_a_number_is_no_act_that_a_question_can_name() -> None:
    unnumbered = pl.concat([ACTS, ACTS.head(1).with_columns(project=pl.lit("x"), number=pl.lit(None, pl.String))])
    frame = attachment_rows(live(("a", "?", RULES_SECTION, "(3.9)")), unnumbered, CLAUSES, PRESENT, LiveSpec(), russian)
    assert frame["project"].to_list() == [RULES]
