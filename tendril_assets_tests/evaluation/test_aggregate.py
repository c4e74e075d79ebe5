import math
from collections import defaultdict
from statistics import fmean

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.evaluation.aggregate import (
    balanced,
    exclusions,
    group_scores,
    in_catalogs,
    macro_means,
    with_levels,
)

QUERIES = pl.DataFrame({"query_id": ["a1", "a2", "c1"], "level": ["area", "area", "criterion"]})
SCORES = pl.DataFrame(
    # group g1: area 1.0 and 0.0, criterion 0.4; group g2: area 0.8
    [("a1", "g1", 1.0), ("a2", "g1", 0.0), ("c1", "g1", 0.4), ("a1", "g2", 0.8)],
    schema=["query_id", "group_id", "value"],
    orient="row",
).with_columns(measure=pl.lit("ndcg@10"))


def scored() -> pl.DataFrame:
    return with_levels(SCORES, QUERIES)


def test_queries_are_averaged_inside_their_group_first() -> None:
    rows = {(g, level): (v, n) for g, level, _, v, n in group_scores(scored()).iter_rows()}
    assert rows["g1", "area"] == (0.5, 2)  # (1 + 0) / 2
    assert rows["g1", "criterion"] == (0.4, 1)
    assert rows["g1", "all"] == (pytest.approx(1.4 / 3), 3)  # over its three queries, not over its two levels
    assert rows["g2", "area"] == (0.8, 1)
    assert rows["g2", "all"] == (0.8, 1)
    assert len(rows) == 5


def test_macro_means_weigh_groups_equally() -> None:
    rows = {level: (v, g, q) for level, _, v, g, q in macro_means(group_scores(scored())).iter_rows()}
    assert rows["area"] == (pytest.approx(0.65), 2, 3)  # (0.5 + 0.8) / 2, not (1 + 0 + 0.8) / 3
    assert rows["criterion"] == (0.4, 1, 1)
    assert rows["all"] == (pytest.approx((1.4 / 3 + 0.8) / 2), 2, 4)


def test_balanced_is_the_mean_of_the_levels() -> None:
    assert balanced(scored(), "ndcg@10", ["area", "criterion"]) == pytest.approx((0.65 + 0.4) / 2)
    assert balanced(scored(), "ndcg@10") == pytest.approx((0.65 + 0.4) / 2)


def test_balanced_refuses_a_level_without_scores() -> None:
    only_area = scored().filter(pl.col("level") == "area")
    with pytest.raises(ValueError, match="criterion"):
        balanced(only_area, "ndcg@10", ["area", "criterion"])
    with pytest.raises(ValueError, match="any"):
        balanced(scored(), "p@10")


def test_systems_stay_apart() -> None:
    two = pl.concat(
        [scored().with_columns(system=pl.lit("s1")), scored().with_columns(value=0.5, system=pl.lit("s2"))],
        how="diagonal",
    )
    means = macro_means(group_scores(two)).filter(pl.col("level") == "area").select("system", "value")
    assert dict(means.iter_rows()) == {"s1": pytest.approx(0.65), "s2": 0.5}


def test_result_does_not_depend_on_row_order() -> None:
    values = [0.1 * i + 1e-9 * i * i for i in range(40)]
    frame = pl.DataFrame(
        {"query_id": [f"q{i:02d}" for i in range(40)], "group_id": "g", "measure": "p@1", "level": "l", "value": values}
    )
    first = group_scores(frame)
    for seed in range(3):
        assert group_scores(frame.sample(fraction=1.0, shuffle=True, seed=seed)).equals(first)


def test_exclusions_count_units_and_unjudged_queries() -> None:
    queries = pl.DataFrame({"query_id": ["a1", "a2", "a3", "c1"], "level": ["area", "area", "area", "criterion"]})
    qrels = pl.DataFrame(
        # a1: relevant in g1, not in g2; a2: nothing relevant in g1; a3: never judged; c1: relevant
        [("a1", "g1", "p", 1), ("a1", "g2", "r", 0), ("a2", "g1", "p", 0), ("c1", "g1", "p", 2)],
        schema=["query_id", "group_id", "passage_id", "score"],
        orient="row",
    )
    # Left out are (a1, g2), (a2, g1) and a3; g2 has nothing relevant at all.
    assert exclusions(qrels, queries).rows() == [("all", 3, 1), ("area", 3, 1), ("criterion", 0, 0)]


CATALOGS = pl.DataFrame(
    {
        "query_id": ["a1", "a2", "c1", "c2"],
        "level": ["area", "area", "criterion", "criterion"],
        "catalog": ["food", "food", "print", None],
    }
)


def test_catalogs_are_averaged_by_themselves_over_the_groups_that_have_queries_of_them() -> None:
    more = pl.concat([SCORES, SCORES.head(1).with_columns(query_id=pl.lit("c2"), value=pl.lit(0.2))])
    scores = with_levels(more, CATALOGS).join(in_catalogs(CATALOGS).drop("level"), on="query_id")
    means = macro_means(group_scores(scores, ["catalog"]), ["catalog"]).select(
        "catalog", "level", "value", "groups", "queries"
    )
    # food: g1 (1 + 0) / 2, g2 0.8; print and the query without a catalog: g1 alone.
    assert means.rows() == [
        ("(none)", "all", 0.2, 1, 1),
        ("(none)", "criterion", 0.2, 1, 1),
        ("food", "all", pytest.approx(0.65), 2, 3),
        ("food", "area", pytest.approx(0.65), 2, 3),
        ("print", "all", 0.4, 1, 1),
        ("print", "criterion", 0.4, 1, 1),
    ]


def test_exclusions_add_up_over_catalogs() -> None:
    qrels = pl.DataFrame(
        [("a1", "g1", "p", 1), ("a1", "g2", "r", 0), ("a2", "g1", "p", 0), ("c1", "g3", "p", 0)],
        schema=["query_id", "group_id", "passage_id", "score"],
        orient="row",
    )
    queries = in_catalogs(CATALOGS)
    # Left out: (a1, g2), (a2, g1), (c1, g3) and c2, never judged. Of food's groups g2 has nothing relevant, of print's g3.
    assert exclusions(qrels, queries, ["catalog"]).rows() == [
        ("(none)", "all", 1, 0),
        ("(none)", "criterion", 1, 0),
        ("food", "all", 2, 1),
        ("food", "area", 2, 1),
        ("print", "all", 1, 1),
        ("print", "criterion", 1, 1),
    ]
    assert exclusions(qrels, queries).rows() == [("all", 4, 2), ("area", 2, 1), ("criterion", 2, 1)]


@pytest.mark.parametrize("bad", [math.nan, None])
def test_values_that_are_no_number_never_reach_a_mean(bad: float | None) -> None:
    with pytest.raises(ValueError, match="not finite"):
        group_scores(scored().with_columns(value=pl.lit(bad, dtype=pl.Float64)))


def test_unknown_queries_are_named() -> None:
    with pytest.raises(ValueError, match="c1"):
        with_levels(SCORES, QUERIES.head(2))


def test_without_any_catalog_there_is_nothing_per_catalog() -> None:
    assert in_catalogs(CATALOGS.with_columns(catalog=pl.lit(None, pl.String))).is_empty()


QUERY_KINDS = st.lists(
    st.tuples(st.sampled_from(["area", "criterion"]), st.sampled_from(["food", "print", None])), min_size=1, max_size=6
)
# Of each (query, group) that is judged: grades. A unit with a grade >= 1 has a value, the others are left out.
JUDGED = st.dictionaries(
    st.tuples(st.integers(0, 5), st.sampled_from(["g1", "g2", "g3"])),
    st.lists(st.integers(0, 2), min_size=1, max_size=3),
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(kinds=QUERY_KINDS, judged=JUDGED, per_catalog=st.booleans())
def test_everything_is_what_a_loop_over_the_queries_gives(kinds: list, judged: dict, per_catalog: bool) -> None:
    queries = pl.DataFrame(
        [(f"q{n}", level, catalog) for n, (level, catalog) in enumerate(kinds)],
        schema=dict.fromkeys(["query_id", "level", "catalog"], pl.String),
        orient="row",
    )
    judged = {(f"q{n}", group): grades for (n, group), grades in judged.items() if n < len(kinds)}
    rows = [(q, g, f"p{n}", grade) for (q, g), grades in judged.items() for n, grade in enumerate(grades)]
    names = ["query_id", "group_id", "passage_id"]
    qrels = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String) | {"score": pl.Int8}, orient="row")
    values = {unit: sum(grades) / 7 for unit, grades in judged.items() if max(grades) >= 1}
    scores = pl.DataFrame(
        [(*unit, "p@1", value) for unit, value in values.items()],
        schema=dict.fromkeys(["query_id", "group_id", "measure"], pl.String) | {"value": pl.Float64},
        orient="row",
    )
    named = any(catalog for _, catalog in kinds)
    per = ["catalog"] if per_catalog else []

    expected_groups, left_out, relevant_groups = defaultdict(list), defaultdict(int), defaultdict(set)
    groups_of = defaultdict(set)
    strata = set()
    for n, (level, catalog) in enumerate(kinds if named or not per_catalog else []):
        own = {(*([catalog or "(none)"] if per_catalog else []), name) for name in (level, "all")}
        strata |= own
        units = [unit for unit in judged if unit[0] == f"q{n}"]
        for stratum in own:
            left_out[stratum] += (not units) + sum(unit not in values for unit in units)
            for unit in units:
                groups_of[stratum].add(unit[1])
                if unit in values:
                    relevant_groups[stratum].add(unit[1])
                    expected_groups[(*stratum, unit[1])].append(values[unit])

    levelled = with_levels(scores, queries)
    if per_catalog:
        levelled = levelled.join(in_catalogs(queries).drop("level"), on="query_id")
    groups = group_scores(levelled, per)
    assert {(*r[:-5], r[-4], r[-5]): (r[-2], r[-1]) for r in groups.iter_rows()} == {
        key: (pytest.approx(fmean(own)), len(own)) for key, own in expected_groups.items()
    }
    means = macro_means(groups, per)
    expected_means = {}
    for stratum in {key[:-1] for key in expected_groups}:
        of_groups = [own for key, own in expected_groups.items() if key[:-1] == stratum]
        expected_means[stratum] = (
            pytest.approx(fmean(map(fmean, of_groups))),
            len(of_groups),
            sum(map(len, of_groups)),
        )
    assert {r[:-4]: r[-3:] for r in means.iter_rows()} == expected_means
    found = {
        r[:-2]: r[-2:] for r in exclusions(qrels, in_catalogs(queries) if per_catalog else queries, per).iter_rows()
    }
    assert found == {s: (left_out[s], len(groups_of[s] - relevant_groups[s])) for s in strata}
