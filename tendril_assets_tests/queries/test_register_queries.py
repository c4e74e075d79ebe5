"""Queries of all registers: who belongs where, which are left out, and which ids are refused."""

import polars as pl
import pytest

from tendril_assets.errors import LandingError
from tendril_assets.queries import references_russian as russian
from tendril_assets.queries.live import attachment_rows
from tendril_assets.queries.register_queries import (
    Registers,
    build_registers,
    changed_texts,
    lengths,
    refuse_ids,
    repeated_texts,
)
from tendril_assets.spec_registers import LiveSpec, RegisterSpec
from tendril_assets.tables import TABLES
from tendril_assets_tests.queries.toy_registers import ACTS, CLAUSES, PRESENT, RULES, RULES_SECTION, SMALL, live

LLM = {"model": "toy/asker", "max_tokens": 10}
SPEC = RegisterSpec.model_validate(
    {
        "live": {"level": "live"},
        "manual": {"level": "manual"},
        "generation": {"sets": {"train": {"split": "train", "level": "synthetic", "family": "a", "llm": LLM}}},
    }
)
LIVE = live(
    ("exp1", "Верно ли по п. 3.9?", RULES_SECTION, "(3.9)"),
    ("exp2", "Верно ли по п. 4.11?", RULES_SECTION, "(4.11)"),
    ("exp3", "Верно ли вообще?", RULES_SECTION, ""),
    ("exp4", "Что с Законом № 106-ФЗ?", "", ""),
)
ATTACHMENTS = attachment_rows(LIVE, ACTS, CLAUSES, PRESENT, LiveSpec(), russian)
MANUAL = TABLES["manual_queries"].frame(
    [
        ("man1", "резервы по ссудам", RULES),
        ("man2", "что такое RUONIA", None),
        ("man3", "ставка", "1-П_01012001"),
        ("man4", "Резервы  по ссудам!", None),
    ]
)


def question(passage: str, group: str, query: str | None, status: str = "accepted", text: str = "Что это?") -> dict:
    row: dict = {name: [] if kind == pl.List else None for name, kind in TABLES["generated_questions"].schema.items()}
    row |= {"question_set": "train", "passage_id": passage, "group_id": group, "split": "train", "level": "synthetic"}
    return row | {
        "model": "m",
        "family": "a",
        "request_key": passage,
        "status": status,
        "query_id": query,
        "text": text,
    }


GENERATED = TABLES["generated_questions"].frame(
    [
        question(f"{RULES}#0001", "g-rules", "q-1"),
        question(f"{RULES}#0002", "g-rules", "q-2", status="verbatim"),
        question(f"{RULES}#0003", "g-rules", None, status="filtered"),
        question(f"{SMALL}#0000", "g-small", "q-3", text="Зачем это?"),
        question("gone#0000", "g-gone", "q-4", text="Где это?"),
    ]
)


def built(**changes: pl.DataFrame) -> Registers:
    frames = {"live": LIVE, "attachments": ATTACHMENTS, "manual": MANUAL, "generated": GENERATED, "acts": ACTS}
    return build_registers(SPEC, **(frames | changes))


def test_every_register_gives_its_queries() -> None:
    assert built().queries.rows() == [
        ("exp1", "Верно ли по п. 3.9?", "live", "Положение", RULES),
        ("exp3", "Верно ли вообще?", "live", "Положение", RULES),
        ("man1", "резервы по ссудам", "manual", "Положение", RULES),
        ("man2", "что такое RUONIA", "manual", "-", "-"),
        ("q-1", "Что это?", "synthetic", "Положение", RULES),
        ("q-3", "Зачем это?", "synthetic", "Методические рекомендации", SMALL),
    ]


def test_a_query_belongs_to_its_act_and_one_without_an_act_to_none() -> None:
    assert built().project_queries.rows() == [
        (RULES, "g-rules", "exp1", "live"),
        (RULES, "g-rules", "exp3", "live"),
        (RULES, "g-rules", "man1", "manual"),
        (RULES, "g-rules", "q-1", "synthetic"),
        (SMALL, "g-small", "q-3", "synthetic"),
    ]


def test_what_is_left_out_is_told_with_its_reason() -> None:
    assert built().left_out.rows() == [
        ("exp2", "live", "dropped: not in our revision: 4.11"),
        ("exp4", "live", "none: names 106-ФЗ: not in the corpus"),
        ("man3", "manual", "its act 1-П_01012001 is not in the corpus"),
        ("man4", "manual", "repeats man1"),
        ("q-4", "synthetic", "its act is not in the corpus"),
    ]
    lone = built(attachments=ATTACHMENTS.head(1)).left_out.filter(query_id="exp3")
    assert lone.rows() == [("exp3", "live", "none: not attached yet")]


def test_one_question_over_two_passages_of_an_act_is_one_query() -> None:
    twice = pl.concat([GENERATED, TABLES["generated_questions"].frame([question(f"{RULES}#0004", "g-rules", "q-1")])])
    assert built(generated=twice).queries.filter(query_id="q-1").height == 1
    assert built(generated=twice).project_queries.filter(query_id="q-1").height == 1


def test_registers_that_a_collection_has_not_give_nothing() -> None:
    only = RegisterSpec.model_validate({"manual": {"level": "manual"}})
    found = build_registers(only, LIVE, ATTACHMENTS, MANUAL, GENERATED, ACTS)
    assert found.queries["query_id"].to_list() == ["man1", "man2"]


@pytest.mark.parametrize("wrong", ["", "exp 1", "вопрос1", "-exp", "a" * 101, "590-П_28062017#0001", "a/b"])
def test_ids_that_would_need_quotes_are_refused(wrong: str) -> None:
    refuse_ids(["exp1", "man0000", "q-0123abc", "a" * 100])
    with pytest.raises(LandingError, match=r"cannot be published: .*\(1 in all\).*rename them in live_questions"):
        refuse_ids(["exp1", wrong])


def test_one_id_in_two_registers_is_refused() -> None:
    manual = MANUAL.with_columns(query_id=pl.col("query_id").replace("man2", "exp1"))
    with pytest.raises(LandingError, match=r"one id for two queries: exp1 \(live, manual\) \(1 in all\)"):
        built(manual=manual)


def test_a_published_text_is_for_ever() -> None:
    queries = built().queries
    published = pl.DataFrame(
        [
            ("0.1.0", "exp1", "Верно ли по п. 3.9?"),
            ("0.1.0", "man1", "резервы"),
            ("0.2.0", "man1", "Резервы"),
            ("0.1.0", "gone", "?"),
        ],
        schema=TABLES["published_queries"].schema,
        orient="row",
    )  # fmt: skip
    assert changed_texts(queries, published) == ["man1 (published in 0.1.0, 0.2.0)"]


def test_repeats_are_known_within_a_register_alone() -> None:
    queries = pl.DataFrame(
        [("b", "Что это?", "live"), ("a", "что  это", "live"), ("c", "Что это?", "manual"), ("d", "Кто это?", "live")],
        schema=["query_id", "text", "level"],
        orient="row",
    )
    assert repeated_texts(queries).rows() == [("live", "b", "a")]


def test_lengths_per_register_in_characters() -> None:
    # live: 19 and 16; manual: 17 and 16; synthetic: 8 and 10.
    assert lengths(built().queries).rows() == [
        ("live", 2, 17.5, 16, 19),
        ("manual", 2, 16.5, 16, 17),
        ("synthetic", 2, 9.0, 8, 10),
    ]
