"""Sampling: sizes, quotas, coverage, and that a new project never reshuffles the others."""

import hashlib
from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.corpus.identifiers import keyed_order
from tendril_assets.corpus.removals import Removals
from tendril_assets.corpus.sampling import sample_areas, sample_criterion, sample_documents, sample_projects

QUOTAS = {"validated_relevant": 2, "unvalidated_relevant": 1, "unsure": 1, "irrelevant": 1}
PROJECTS = st.sets(st.text("abcdef0123", min_size=1, max_size=6), max_size=30)


def test_the_lowest_keyed_hashes_are_taken_in_order():
    projects = [f"p{i}" for i in range(20)]
    by_hash = sorted(projects, key=lambda p: keyed_order(42, "projects", p))
    assert sample_projects(reversed(projects), 5, 42) == by_hash[:5]
    assert sample_projects(projects, 100, 42) == by_hash
    assert sample_projects(projects, 5, 43) != by_hash[:5]


def test_documents_of_a_project_do_not_depend_on_other_projects():
    names = [f"d{i}.pdf" for i in range(9)]
    first = sample_documents("p1", names, 5, 42)
    assert len(first) == 5
    assert first == sample_documents("p1", names[::-1], 5, 42)
    assert first != sample_documents("p2", names, 5, 42)


def test_quotas_are_filled_per_tier_and_never_exceeded():
    # p1: three validated (quota 2), one unvalidated, no unsure, two irrelevant (quota 1): 2 + 1 + 0 + 1 = 4 areas
    tiers = {"a": "validated_relevant", "b": "validated_relevant", "c": "validated_relevant"}
    tiers |= {"d": "unvalidated_relevant", "e": "irrelevant", "f": "irrelevant", "unknown": "unsure"}
    sample = sample_areas(["p1"], list("abcdef"), {"p1": tiers}, QUOTAS, 0, 42)
    assert [row.tier for row in sample.selected] == [
        "validated_relevant", "validated_relevant", "unvalidated_relevant", "irrelevant",
    ]  # fmt: skip
    assert {row.reason for row in sample.selected} == {"quota"}
    assert sample.shortfall == {}


def test_the_top_up_takes_projects_with_evidence_first_and_reports_what_is_missing():
    # area x: p1 has it by quota; of the others p2 has evidence beyond its quota of 0 for "unsure", p3 has none
    evidence = {"p1": {"x": "validated_relevant"}, "p2": {"x": "unsure"}}
    quotas = {"validated_relevant": 1}
    sample = sample_areas(["p3", "p2", "p1"], ["x"], evidence, quotas, 2, 42)
    assert [(r.project, r.tier, r.reason) for r in sample.selected] == [
        ("p2", "unsure", "coverage"),
        ("p1", "validated_relevant", "quota"),
    ]
    # three projects cannot give four
    sample = sample_areas(["p3", "p2", "p1"], ["x"], evidence, quotas, 4, 42)
    assert [(r.project, r.tier) for r in sample.selected] == [
        ("p3", None),
        ("p2", "unsure"),
        ("p1", "validated_relevant"),
    ]
    assert sample.shortfall == {"x": 3}


def test_one_criterion_per_project_and_area():
    criteria = ["c1", "c2", "c3", "c4", "c5"]
    chosen = {sample_criterion(f"p{i}", "a", criteria, 42) for i in range(40)}
    assert chosen == set(criteria)  # 40 draws of 5: (4/5)**40 = 0.0001 to miss a given one
    assert sample_criterion("p1", "a", criteria, 42) == sample_criterion("p1", "a", criteria[::-1], 42)
    with pytest.raises(ValueError, match="no criteria"):
        sample_criterion("p1", "a", [], 42)


@settings(max_examples=50, deadline=None)
@given(PROJECTS, PROJECTS, st.integers(1, 10))
def test_adding_projects_never_reshuffles_the_rest(old, new, n):
    before, after = sample_projects(old, n, 42), sample_projects(old | new, n, 42)
    stayed = [p for p in after if p in old]
    assert stayed == before[: len(stayed)]


EVIDENCE = st.dictionaries(
    st.sampled_from([f"p{i}" for i in range(8)]),
    st.dictionaries(st.sampled_from("abcde"), st.sampled_from(list(QUOTAS)), max_size=5),
    max_size=8,
)


@settings(max_examples=50, deadline=None)
@given(EVIDENCE, st.integers(0, 4), st.integers(1, 7))
def test_a_new_project_changes_no_quota_and_only_spares_top_ups(evidence, least, n_old):
    projects = [f"p{i}" for i in range(8)]
    before = sample_areas(projects[:n_old], list("abcde"), evidence, QUOTAS, least, 42)
    after = sample_areas(projects, list("abcde"), evidence, QUOTAS, least, 42)
    of_old = {row for row in after.selected if row.project in projects[:n_old]}
    assert {r for r in of_old if r.reason == "quota"} == {r for r in before.selected if r.reason == "quota"}
    assert of_old <= set(before.selected)


@settings(max_examples=50, deadline=None)
@given(EVIDENCE, st.integers(0, 10))
def test_every_area_reaches_the_minimum_or_all_projects(evidence, least):
    projects = [f"p{i}" for i in range(8)]
    sample = sample_areas(projects, list("abcde"), evidence, QUOTAS, least, 42)
    pairs = [(row.project, row.area) for row in sample.selected]
    assert len(pairs) == len(set(pairs))
    for area in "abcde":
        reached = sum(a == area for _, a in pairs)
        assert reached >= min(least, len(projects))
        assert (area in sample.shortfall) == (reached < least)


def keyed(seed, stage, *names):
    """Names by the published rule, worked without the module under test."""

    def place(name):
        digest = hashlib.blake2b(digest_size=8, person=b"keyed_order")
        for part in (str(seed), stage, name):
            digest.update(len(part.encode()).to_bytes(8, "big") + part.encode())
        return int.from_bytes(digest.digest(), "big") >> 1

    return sorted(names, key=place)


def test_a_worked_example():
    # seed 42. Four projects are eligible, three wanted: the three lowest hashes
    order = keyed(42, "projects", "100", "200", "300", "400")
    assert sample_projects({"100", "200", "300", "400"}, 3, 42) == order[:3]
    # the first has three areas with validated evidence and a quota of two: its two lowest (project, area) hashes
    first, second, third = order[:3]
    drawn = keyed(42, "areas", *(f"{first}\x1f{area}" for area in ("wood", "steel", "glass")))[:2]
    evidence = {first: dict.fromkeys(("wood", "steel", "glass"), "validated_relevant")}
    sample = sample_areas(order[:3], ["glass", "steel", "wood"], evidence, QUOTAS, 2, 42)
    quota = [f"{r.project}\x1f{r.area}" for r in sample.selected if r.reason == "quota"]
    assert quota == drawn
    # every area in two projects: the left-over area of the first comes back by its evidence, before any without
    [spare] = {"wood", "steel", "glass"} - {row.split("\x1f")[1] for row in drawn}
    assert (first, spare, "validated_relevant", "coverage") in [tuple(vars(r).values()) for r in sample.selected]
    # the second project of each area is the one with the lower hash of (area, project)
    for area in ("wood", "steel", "glass"):
        other = keyed(42, "coverage", f"{area}\x1f{second}", f"{area}\x1f{third}")[0].split("\x1f")[1]
        assert [(r.project, r.tier) for r in sample.selected if r.area == area and r.project != first] == [
            (other, None)
        ]
    assert sample.shortfall == {}


@settings(max_examples=50, deadline=None)
@given(EVIDENCE, st.integers(0, 4), st.sampled_from([f"p{i}" for i in range(8)]))
def test_a_removed_project_takes_nothing_from_the_others(evidence, least, gone):
    """At most one further top-up for each area it held: nothing else moves."""
    projects = [f"p{i}" for i in range(8)]
    before = sample_areas(projects, list("abcde"), evidence, QUOTAS, least, 42)
    after = sample_areas([p for p in projects if p != gone], list("abcde"), evidence, QUOTAS, least, 42)
    others = {row for row in before.selected if row.project != gone}
    assert others <= set(after.selected)
    added = [row for row in after.selected if row not in others]
    assert {row.reason for row in added} <= {"coverage"}
    held = {row.area for row in before.selected if row.project == gone}
    assert len({row.area for row in added}) == len(added)
    assert {row.area for row in added} <= held


@settings(max_examples=50, deadline=None)
@given(PROJECTS, st.text("abcdef0123", min_size=1, max_size=6), st.integers(1, 10))
def test_removing_a_project_lets_only_the_next_in_line_in(projects, gone, n):
    before, after = sample_projects(projects, n, 42), sample_projects(projects - {gone}, n, 42)
    kept = [p for p in before if p != gone]
    assert after[: len(kept)] == kept
    assert len(after) <= len(kept) + 1
    names = [f"{i}.pdf" for i in range(8)]
    assert all(sample_documents(p, names, 5, 42) == sample_documents(p, names[::-1], 5, 42) for p in after)


@settings(max_examples=50, deadline=None)
@given(EVIDENCE, st.integers(0, 4), st.randoms(use_true_random=False))
def test_the_order_of_inputs_does_not_matter(evidence, least, random):
    projects, areas = [f"p{i}" for i in range(8)], list("abcde")
    expected = sample_areas(projects, areas, evidence, QUOTAS, least, 42)
    shuffled = {p: dict(random.sample(list(of.items()), len(of))) for p, of in evidence.items()}
    shuffled = dict(random.sample(list(shuffled.items()), len(shuffled)))
    again = sample_areas(projects, random.sample(areas, 5), shuffled, QUOTAS, least, 42)
    assert set(again.selected) == set(expected.selected)
    assert again.shortfall == expected.shortfall
    # rows follow the order of the projects, the choice does not
    turned = sample_areas(projects[::-1], areas, evidence, QUOTAS, least, 42)
    assert set(turned.selected) == set(expected.selected)
    assert [r.project for r in turned.selected] == sorted((r.project for r in expected.selected), reverse=True)
    assert sample_projects(random.sample(projects, 8), 5, 42) == sample_projects(projects, 5, 42)


@settings(max_examples=50, deadline=None)
@given(EVIDENCE, st.integers(0, 4), st.dictionaries(st.sampled_from(list(QUOTAS)), st.integers(0, 3)))
def test_a_tier_never_gives_more_than_its_quota(evidence, least, quotas):
    sample = sample_areas([f"p{i}" for i in range(8)], list("abcd"), evidence, quotas, least, 42)
    given_by_quota = [row for row in sample.selected if row.reason == "quota"]
    for (project, tier), n in Counter((row.project, row.tier) for row in given_by_quota).items():
        having = sum(t == tier and area in "abcd" for area, t in evidence[project].items())
        assert n == min(quotas.get(tier, 0), having)
    assert all(evidence[row.project][row.area] == row.tier for row in given_by_quota)
    # a top-up tells its evidence too, and one without is told as such
    assert all(evidence.get(r.project, {}).get(r.area) == r.tier for r in sample.selected)


@settings(max_examples=50, deadline=None)
@given(EVIDENCE, st.integers(0, 6), st.integers(0, 5))
def test_the_shortfall_is_exactly_what_no_choice_could_mend(evidence, least, n_projects):
    projects = [f"p{i}" for i in range(n_projects)]
    sample = sample_areas(projects, list("abcde"), evidence, QUOTAS, least, 42)
    for area in "abcde":
        rows = [row for row in sample.selected if row.area == area]
        by_quota = {row.project for row in rows if row.reason == "quota"}
        # brute force: every set of projects that top-ups could lead to
        sets = [set(c) for n in range(n_projects + 1) for c in combinations(projects, n) if by_quota <= set(c)]
        mendable = any(len(chosen) >= least for chosen in sets)
        assert (area not in sample.shortfall) == mendable
        assert len(rows) == (max(least, len(by_quota)) if mendable else max(len(chosen) for chosen in sets))
        assert sample.shortfall.get(area, len(rows)) == len(rows)


def test_removals_know_raw_and_published_ids():
    removals = Removals.of(
        [("project", "p1"), ("project", "g-2"), ("document", "p3/a.pdf"), ("document", "d-4"), ("passage", "p-5"),
         ("passage", "p6/a.pdf/2/7"), ("pair", "q/p")]
    )  # fmt: skip
    assert removals.has_project("p1", "g-1")
    assert removals.has_project("p2", "g-2")
    assert not removals.has_project("p3", "g-3")
    assert removals.has_document("p3", "a.pdf", "d-3")
    assert removals.has_document("p4", "b.pdf", "d-4")
    assert not removals.has_document("p3", "b.pdf", "d-9")
    assert removals.has_passage("p", "d", 1, 0, "p-5")
    assert removals.has_passage("p6", "a.pdf", 2, 7, "p-6")
    assert not removals.has_passage("p6", "a.pdf", 2, 8, "p-7")
