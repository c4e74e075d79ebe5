"""Pictures per register: every register under what it rests on."""

import re

import polars as pl

from tendril_assets.release.register_pictures import (
    composed_of,
    question_fates,
    register_differences,
    register_name,
    register_scores,
    stages,
)
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
    picture = register_differences(TABLES["register_comparisons"].frame([row]), SCORES, "ndcg@10", 0.95, "act")
    assert picture is not None
    assert "Live: 142 queries of 12 acts" in words(picture.wide)
    assert "Hybrid − BM25" in words(picture.wide)
    assert "+0.224 [+0.100, +0.300], p < 0.001" in words(picture.wide).replace("&lt;", "<")


def test_nothing_is_drawn_of_nothing() -> None:
    assert register_scores(SCORES.clear(), "ndcg@10", 0.95, "act") is None
    assert register_scores(SCORES, "mrr@10", 0.95, "act") is None
    assert register_differences(TABLES["register_comparisons"].empty(), SCORES, "ndcg@10", 0.95, "act") is None
    assert stages(TABLES["stage_acceptance"].empty(), 0.95) is None
    assert question_fates(pl.DataFrame(schema=dict.fromkeys(("question_set", "model", "status"), pl.String))) is None


def test_a_stage_stands_against_what_it_has_to_beat() -> None:
    rows = [
        ("mini_tuned", "tuned", "mini_base", "ndcg@10", 0.3, 0.2, 0.1, 0.02, 0.18, 0.01, 0.03, 6, 24, True, "raises"),
        ("hybrid", "hybrid", "bm25", "ndcg@10", None, None, None, None, None, None, None, 0, 0, False, "not measured"),
    ]
    picture = stages(TABLES["stage_acceptance"].frame(rows), 0.95)
    assert picture is not None
    told = words(picture.wide)
    assert "mini, fine-tuned − mini, base" in told
    assert "+0.100 [+0.020, +0.180], p 0.010" in told
    assert "Hybrid" not in told


def test_fates_are_shares_of_the_passages_of_a_set() -> None:
    fates = pl.DataFrame(
        [("train", "maker/a", "accepted", 47), ("train", "maker/a", "verbatim", 53), ("dev", "maker/b", "accepted", 1)],
        schema=["question_set", "model", "status", "questions"],
        orient="row",
    )
    picture = question_fates(fates)
    assert picture is not None
    told = words(picture.wide).replace("\u00a0", " ")
    assert "Train: 100 passages, asked of maker/a" in told
    assert "47 % (47)" in told
    assert told.index("Dev: 1 passage") < told.index("Train: 100 passages")


def test_names() -> None:
    assert register_name("all", "whole") == "All registers"
    assert register_name("live", "without_dominant") == "Live without its dominant group"
    row = pl.DataFrame({"queries": [1], "groups": [1], "generated": [1.0], "dominant_share": [1.0]}).row(0, named=True)
    assert composed_of(row, "act").replace("\u00a0", " ") == "1 query of 1 act, 100 % generated"
