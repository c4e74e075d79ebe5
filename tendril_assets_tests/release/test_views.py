"""Views whose figures are counted by hand: positives by catalog and level, the hardest queries."""

import polars as pl

from tendril_assets.tables import TABLES
from tendril_assets_tests.release import toy


def test_positives_count_documents_and_passages_once_per_row() -> None:
    # Catalog_0 has query 0 (an area; projects 6 7 8) and query 4 (a criterion; projects 2 3 4 10): of each project two
    # documents and eight passages, of which the query finds one of grade 2 and one of grade 1.
    rows = toy.reader(toy.database())("views/positives_by_catalog_and_level").filter(catalog="Catalog_0").sort("level")
    assert rows.rows() == [
        ("Catalog_0", "area_of_action", 1, 3, 6, 24, 24, 6, 3, 0.25),
        ("Catalog_0", "criterion", 1, 4, 8, 32, 32, 8, 4, 0.25),
    ]


def test_the_share_of_positives_is_shown_to_4_digits() -> None:
    tables = toy.tables()
    irrelevant = tables["qrels"].filter(pl.col("score") == 0)
    tables["qrels"] = pl.concat([tables["qrels"].filter(pl.col("score") == 2), irrelevant])
    rows = toy.reader(toy.database(tables))("views/positives_by_catalog_and_level").filter(catalog="Catalog_0")
    # Without grade 1: of an area's 24 judged pairs 3 and 18 are left, of a criterion's 32 there are 4 and 24.
    assert set(rows.select("judgments", "positives", "positive_share").rows()) == {(21, 3, 0.1429), (28, 4, 0.1429)}


def test_the_hardest_queries_say_where_the_first_relevant_passage_stands() -> None:
    queries = [("t-1", "Frage 1", "criterion", "Food", None), ("t-2", "Frage 2", "criterion", None, None)]
    frames = {n: t.empty() for n, t in TABLES.items()} | {
        "test_queries": TABLES["test_queries"].frame(queries),
        # A grade of 0 is no relevant passage; p-9 is relevant and was not ranked.
        "test_qrels": TABLES["test_qrels"].frame(
            [("t-1", "p-1", 0), ("t-1", "p-2", 1), ("t-1", "p-3", 2), ("t-2", "p-1", 0), ("t-2", "p-9", 1)]
        ),
        "retrieval_runs": TABLES["retrieval_runs"].frame(
            [
                ("bm25", q, p, "g", rank, 1.0 / rank)
                for q in ("t-1", "t-2")
                for rank, p in enumerate(("p-1", "p-2", "p-3"), 1)
            ]
        ),
        "query_scores": TABLES["query_scores"].frame(
            [
                ("bm25", "t-1", "g", "criterion", "ndcg@10", 0.6, 2),
                ("bm25", "t-1", "g", "criterion", "p@10", 0.2, 2),
                ("bm25", "t-2", "g", "criterion", "ndcg@10", 0.0, 1),
            ]
        ),
    }
    found = toy.reader(toy.database(frames))("views/worst_queries")
    assert found.select("query_id", "ndcg_at_10", "relevant", "first_relevant_rank", "catalog", "text").rows() == [
        ("t-2", 0.0, 1, None, None, "Frage 2"),
        ("t-1", 0.6, 2, 2, "Food", "Frage 1"),
    ]
    assert found.schema["first_relevant_rank"] == pl.Int32
