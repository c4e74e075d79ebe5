"""A person's verdict overrides the rules in both directions, and stays visible."""

from datetime import date

import polars as pl

from tendril_assets.corpus.restriction_reviews import apply_reviews
from tendril_assets.tables import TABLES

DAY = date(2026, 5, 1)
FOUND = TABLES["restricted_projects"].frame(
    [
        ("p1", "a.pdf", 2, "de", "offer_only", "Nur für die Offerte."),
        ("p2", "b.pdf", 1, "fr", "no_publication", "Ne pas publier."),
        ("p2", "b.pdf", 7, "fr", "no_third_parties", "Ne pas transmettre."),
    ]
)
PROJECTS = pl.DataFrame({"project": ["p1", "p2", "p3"], "language": ["de", "fr", "it"]})
NOTHING = TABLES["cleared_restrictions"].empty()


def reviews(*rows: tuple[str, str]) -> pl.DataFrame:
    return TABLES["restriction_reviews"].frame([(p, verdict, f"seen: {verdict}", DAY) for p, verdict in rows])


def test_without_reviews_the_rules_decide():
    reviewed = apply_reviews(FOUND, reviews(), PROJECTS, NOTHING)
    assert reviewed.restricted.rows() == FOUND.rows()
    assert reviewed.cleared.is_empty()
    assert reviewed.unseen.is_empty()


def test_a_project_declared_free_is_no_longer_restricted_and_its_sentences_stay_on_record():
    reviewed = apply_reviews(FOUND, reviews(("p2", "free")), PROJECTS, NOTHING)
    assert reviewed.restricted["project"].to_list() == ["p1"]
    assert reviewed.cleared.rows() == [(*row, "seen: free", DAY) for row in FOUND.rows()[1:]]
    # at the first run with the verdict nothing counts as new
    assert reviewed.unseen.is_empty()


def test_a_project_declared_restricted_is_so_without_any_sentence():
    reviewed = apply_reviews(FOUND, reviews(("p3", "restricted"), ("p1", "restricted")), PROJECTS, NOTHING)
    by_hand = [row for row in reviewed.restricted.rows() if row[4] == "review"]
    assert by_hand == [
        ("p1", "restriction_reviews.csv", 0, "de", "review", "seen: restricted"),
        ("p3", "restriction_reviews.csv", 0, "it", "review", "seen: restricted"),
    ]
    assert reviewed.restricted.height == 5


def test_a_verdict_on_a_project_that_was_not_sampled_has_no_effect_yet():
    reviewed = apply_reviews(FOUND, reviews(("p9", "restricted"), ("p8", "free")), PROJECTS, NOTHING)
    assert reviewed.restricted.rows() == FOUND.rows()


def test_a_sentence_that_came_after_the_verdict_is_pointed_out():
    first = apply_reviews(FOUND[:2], reviews(("p2", "free")), PROJECTS, NOTHING)
    again = apply_reviews(FOUND, reviews(("p2", "free")), PROJECTS, first.cleared)
    assert again.unseen["sentence"].to_list() == ["Ne pas transmettre."]
    # once on record it is not pointed out again
    assert apply_reviews(FOUND, reviews(("p2", "free")), PROJECTS, again.cleared).unseen.is_empty()
