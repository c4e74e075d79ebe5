"""From catalogs to queries: ids, which rows are in use, and each project's queries."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.errors import LandingError
from tendril_assets.queries.catalogs import build_project_queries, build_queries, query_id, selected_areas
from tendril_assets.tables import TABLES

AREAS = TABLES["areas"].frame(
    [("cat", "holz", "Holz", "…"), ("cat", "strom", "Strom", "…"), ("cat", "luft", "Luft", "…")]
)
CRITERIA = TABLES["criteria"].frame(
    [
        ("cat", "holz", "holz.1", "Nur FSC", "a", None, "c"),
        ("cat", "holz", "holz.2", "Nie gewählt", None, None, None),
        ("cat", "strom", "strom.1", "Ökostrom", None, None, None),
    ]
)
SUMMARIES = TABLES["area_summaries"].frame(
    [
        ("holz", "ok", "Holz zusammengefasst.", 2, "toy", "k1"),
        ("strom", "too_long", "Viel zu lang", 3, "toy", "k2"),
    ]
)
PROJECT_AREAS = TABLES["project_areas"].frame(
    [
        ("p1", "holz", "holz.1", "unsure", "quota"),
        ("p2", "holz", "holz.1", None, "coverage"),
        ("p2", "strom", "strom.1", None, "coverage"),
    ]
)
PROJECTS = TABLES["sampled_projects"].frame([("p1", "g-1", 1), ("p2", "g-2", 2)])


def queries():
    return build_queries(AREAS, CRITERIA, SUMMARIES, PROJECT_AREAS)


def test_only_selected_areas_are_worth_a_summary():
    assert selected_areas(AREAS, PROJECT_AREAS)["area"].to_list() == ["holz", "strom"]


def test_queries_are_the_selected_ones_with_an_accepted_wording():
    # strom's summary is too long: no area query, but its criterion stays.
    assert queries().rows() == [
        ("a-holz", "Holz zusammengefasst.", "area_of_action", "cat", "holz"),
        ("c-holz.1", "Nur FSC\nBasis: a\nVorbild: c", "criterion", "cat", "holz"),
        ("c-strom.1", "Ökostrom", "criterion", "cat", "strom"),
    ]


def test_each_project_gets_the_queries_of_its_selected_areas():
    assert build_project_queries(PROJECT_AREAS, PROJECTS, queries()).rows() == [
        ("p1", "g-1", "a-holz", "area_of_action"),
        ("p1", "g-1", "c-holz.1", "criterion"),
        ("p2", "g-2", "a-holz", "area_of_action"),
        ("p2", "g-2", "c-holz.1", "criterion"),
        ("p2", "g-2", "c-strom.1", "criterion"),
    ]


def test_a_selection_the_catalogs_lack_is_refused():
    stray = TABLES["project_areas"].frame([("p1", "wasser", "wasser.1", None, "quota")])
    with pytest.raises(LandingError, match="area wasser"):
        build_queries(AREAS, CRITERIA, SUMMARIES, stray)
    stray = TABLES["project_areas"].frame([("p1", "holz", "holz.9", None, "quota")])
    with pytest.raises(LandingError, match=r"criterion holz\.9"):
        build_queries(AREAS, CRITERIA, SUMMARIES, stray)


@pytest.mark.parametrize(
    "raw", ["", " ", "-a", ".a", "a b", "a/b", "Möbel", "a\n", "a'); DROP TABLE qrels; --", "x" * 101]
)
def test_ids_that_cannot_be_published_are_refused(raw):
    with pytest.raises(LandingError, match="rename it in the catalog"):
        query_id("criterion", raw)


@settings(max_examples=50, deadline=None)
@given(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", fullmatch=True))
def test_plain_ids_are_kept_and_levels_never_meet(raw):
    assert query_id("area_of_action", raw) == "a-" + raw
    assert query_id("criterion", raw) == "c-" + raw


def test_row_order_changes_nothing():
    assert build_queries(AREAS.reverse(), CRITERIA.reverse(), SUMMARIES, PROJECT_AREAS.reverse()).equals(queries())
