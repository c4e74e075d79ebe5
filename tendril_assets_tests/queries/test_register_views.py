"""The analysts' views of registers and attachments, counted by hand over the toy acts."""

import polars as pl

from tendril_assets.queries import references_russian as russian
from tendril_assets.queries.live import attachment_rows
from tendril_assets.spec_registers import LiveSpec
from tendril_assets.tables import TABLES
from tendril_assets_tests.queries import test_register_queries as toy_queries
from tendril_assets_tests.queries.toy_registers import ACTS, CLAUSES, PRESENT, RULES, RULES_SECTION, live
from tendril_assets_tests.release import toy


def view(name: str, **frames: pl.DataFrame) -> pl.DataFrame:
    every = {n: t.empty() for n, t in TABLES.items()} | frames
    return toy.reader(toy.database(every))(f"views/{name}")


def test_how_often_a_named_clause_is_found_per_source() -> None:
    questions = live(
        ("a", "Раз?", RULES_SECTION, "(3.9)"),
        ("b", "Два?", RULES_SECTION, "(4.11)"),
        ("c", "Три?", RULES_SECTION, "(3.9, 4.11)"),
        ("d", "Пять?", RULES_SECTION, ""),
        ("e", "п. 1.1 Указания № 4892-У", "", ""),
        ("f", "Закон № 106-ФЗ", "", ""),
        ("g", "Раз", RULES_SECTION, "(3.9)"),
    )
    attachments = attachment_rows(questions, ACTS, CLAUSES, PRESENT, LiveSpec(), russian)
    # Of a, b, c the named clauses are found in a and c, all of them in a alone; g repeats a and says nothing again.
    assert view("attachment_rates", live_attachments=attachments).rows() == [
        ("section", "date", 5, 1, 3, 2, 1, 0.6667, "b"),
        ("none", None, 1, 0, 0, 0, 0, None, None),
        ("question", "clauses", 1, 1, 1, 1, 1, 1.0, None),
    ]


def test_what_each_register_holds() -> None:
    built = toy_queries.built()
    qrels = [("exp1", f"{RULES}#0002", "g-rules", 2), ("q-1", f"{RULES}#0001", "g-rules", 2), ("man1", "p", "g", 0)]
    found = view(
        "registers",
        queries=built.queries,
        project_queries=built.project_queries,
        live_questions=toy_queries.LIVE,
        live_attachments=toy_queries.ATTACHMENTS,
        manual_queries=toy_queries.MANUAL,
        generated_questions=toy_queries.GENERATED,
        qrels=TABLES["qrels"].frame(qrels),
    )
    assert found.rows() == [
        # collected, in the set, attached, by clauses, by generation, by pool, dropped, annotated, groups, largest
        ("live", 4, 2, 2, 1, 0, 1, 1, 1, 1, "g-rules", 1.0, 17.5),
        ("manual", 4, 2, 1, 0, 0, 2, 0, 0, 1, "g-rules", 0.5, 16.5),
        ("synthetic", 5, 2, 2, 0, 2, 0, 0, 1, 2, "g-rules", 0.5, 9.0),
    ]
