"""Pictures per register: every register under what it rests on."""

import re

import polars as pl

from tendril_assets.release.register_pictures import composed_of, register_differences, register_name, register_scores
from tendril_assets.tables import TABLES

SCORES = TABLES["register_scores"].frame(
    [
        (system, level, part, unit, "ndcg@10", value, value - 0.1, value + 0.1, n, n, groups, 2, made, "590-П", share)
        for level, part, n, groups, made, share in (
            ("all", "whole", 541, 40, 0.732, 0.3),
            ("live", "whole", 142, 12, 0.0, 0.803),
            ("live", "without_dominant", 28, 11, 0.0, 0.2),
            ("manual", "whole", 20, 1, 0.0, 1.0),
        )
        for system, value in (("bm25", 0.459), ("hybrid", 0.683))
        for unit in ("query", "group")
    ]
)


def words(svg: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", svg).split())


def test_each_register_says_what_it_rests_on() -> None:
    picture = register_scores(SCORES, "ndcg@10", 0.95, "act")
    assert picture is not None
    told = words(picture.wide)
    for heading in (
        "All registers: 541 queries of 40 acts, 73\u00a0% generated, 30\u00a0% of one act",
        "Live: 142 queries of 12 acts, 80\u00a0% of one act",
        "Live without 590-П: 28 queries of 11 acts, 20\u00a0% of one act",
        "Manual: 20 queries of 1 act",
    ):
        assert heading.replace("\u00a0", " ") in told.replace("\u00a0", " "), heading
    # Once in the picture and once in its description, per register: over queries alone, not once more over groups.
    assert told.count("0.683 [0.583, 0.783]") == 2 * 4


def test_differences_name_both_sides() -> None:
    row = ("hybrid", "bm25", "live", "whole", "query", "ndcg@10", 0.224, 0.1, 0.3, 0.0002, 0.0004, 142, 0.0002)
    picture = register_differences(TABLES["register_comparisons"].frame([row]), "ndcg@10", 0.95)
    assert picture is not None
    assert "Hybrid − BM25" in words(picture.wide)
    assert "+0.224 [+0.100, +0.300], p < 0.001" in words(picture.wide).replace("&lt;", "<")


def test_nothing_is_drawn_of_nothing() -> None:
    assert register_scores(SCORES.clear(), "ndcg@10", 0.95, "act") is None
    assert register_scores(SCORES, "mrr@10", 0.95, "act") is None
    assert register_differences(TABLES["register_comparisons"].empty(), "ndcg@10", 0.95) is None


def test_names() -> None:
    assert register_name("all", "whole") == "All registers"
    assert register_name("live", "without_dominant") == "Live without its dominant group"
    row = pl.DataFrame({"queries": [1], "groups": [1], "generated": [1.0], "dominant_share": [1.0]}).row(0, named=True)
    assert composed_of(row, "act").replace("\u00a0", " ") == "1 query of 1 act, 100 % generated"
