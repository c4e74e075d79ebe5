"""Splits that a file fixes: what it promises, and the names of what breaks each promise."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.qrels.fixed_splits import (
    composition,
    empty_splits,
    fixed_splits,
    foreign_splits,
    gold_in_training,
    kinds_in_training,
    live_outside,
    named_twice,
    split_names,
    unknown,
    unplaced,
)
from tendril_assets.qrels.splits import in_own_groups, split_sizes
from tendril_assets.spec import SplitSpec
from tendril_assets.tables import TABLES

RULES = SplitSpec(
    policy="file", test=("test_live", "test_genre"), live="test_live", held_out_kinds=("Инструкция", "Регламент")
)
ACTS = ("1-П_01012020", "2-У_02022020", "3-И_03032020", "4-П_04042020", "5-У_05052020")
FILE = dict(zip(ACTS, ("train", "dev", "test_genre", "test_live", "train"), strict=True))


def landed(**changes: str) -> pl.DataFrame:
    """The file, with ``changes`` by the number of the act: ``_3="train"``."""
    rows = FILE | {act: changes[f"_{number}"] for number, act in enumerate(ACTS, 1) if f"_{number}" in changes}
    return TABLES["landed_splits"].frame(list(rows.items()))


def groups(acts: tuple[str, ...] = ACTS) -> pl.DataFrame:
    return pl.DataFrame(
        {"project": acts, "group_id": [f"g-{act[:3]}" for act in acts]}, schema_overrides={"project": pl.String}
    )


def splits(**changes: str) -> pl.DataFrame:
    return fixed_splits(landed(**changes), groups(), RULES)


def test_dev_of_the_file_is_the_validation_split() -> None:
    made = splits()
    assert dict(made.iter_rows()) == {
        "g-1-П": "train",
        "g-2-У": "validation",
        "g-3-И": "test_genre",
        "g-4-П": "test_live",
        "g-5-У": "train",
    }
    assert made.schema == TABLES["splits"].schema
    assert split_names(RULES) == {
        "train": "train",
        "dev": "validation",
        "test_live": "test_live",
        "test_genre": "test_genre",
    }


def test_a_sound_file_breaks_no_promise() -> None:
    kinds = pl.DataFrame({"project": ACTS, "kind": ["Положение", "Указание", "Инструкция", "Регламент", None]})
    assert named_twice(landed()) == []
    assert unplaced(landed(), groups()) == []
    assert unknown(landed(), groups(), ()) == []
    assert foreign_splits(landed(), RULES) == []
    assert empty_splits(splits(), RULES) == []
    assert kinds_in_training(splits(), groups(), kinds, RULES) == []


def test_an_act_in_two_places_is_named_with_both() -> None:
    twice = pl.concat([landed(), landed(_1="test_live").head(1)])
    assert named_twice(twice) == ["1-П_01012020: test_live, train"]
    # No row is dropped in silence: the table would have the group twice.
    assert fixed_splits(twice, groups(), RULES)["group_id"].is_duplicated().sum() == 2
    # Twice in one split is a mistake of the file as well, and makes one row.
    assert named_twice(pl.concat([landed(), landed().head(1)])) == ["1-П_01012020: train, train"]


def test_acts_that_the_file_or_the_corpus_lacks_are_named() -> None:
    assert unplaced(landed().tail(3), groups()) == ["1-П_01012020", "2-У_02022020"]
    assert unknown(landed(), groups(ACTS[1:]), ()) == ["1-П_01012020"]


def test_a_removed_act_may_go_on_standing_in_the_file() -> None:
    assert unknown(landed(), groups(ACTS[1:]), {"1-П_01012020"}) == []
    assert fixed_splits(landed(), groups(ACTS[1:]), RULES).height == 4


def test_a_key_in_the_wrong_alphabet_is_told_with_the_nearest() -> None:
    """Latin Y for Cyrillic У: two names that look alike and are not."""
    latin = landed().with_columns(pl.col("project").str.replace("2-У", "2-Y"))
    assert unknown(latin, groups(), ()) == ["2-Y_02022020 (nearest: 2-У_02022020)"]
    assert unplaced(latin, groups()) == ["2-У_02022020"]


def test_unknown_and_empty_splits_are_named() -> None:
    assert foreign_splits(landed(_4="test_zhivye"), RULES) == ["test_zhivye (1 groups)"]
    assert empty_splits(splits(_4="test_zhivye"), RULES) == ["test_live"]
    assert empty_splits(splits(_2="train"), RULES) == ["dev"]
    # What the file calls validation is not its dev split.
    assert foreign_splits(landed(_2="validation"), RULES) == ["validation (1 groups)"]


@pytest.mark.parametrize(("split", "told"), [("train", "train"), ("dev", "validation")])
def test_a_held_out_kind_is_neither_trained_on_nor_validated_by(split: str, told: str) -> None:
    kinds = pl.DataFrame({"project": ACTS, "kind": ["Положение", "Указание", "Инструкция", "Регламент", "Указание"]})
    assert kinds_in_training(splits(_3=split), groups(), kinds, RULES) == [f"3-И_03032020: Инструкция in {told}"]
    # In any test split it is held out, the live one too.
    assert kinds_in_training(splits(_3="test_live"), groups(), kinds, RULES) == []


def test_a_held_out_kind_that_nothing_is_of_is_told() -> None:
    """Of another spelling than the acts' own, it would hold nothing out and say nothing. An act outside the corpus is none."""
    kinds = pl.DataFrame({"project": [*ACTS, "6-Р"], "kind": ["Положение"] * 4 + ["Инструкция", "Регламент"]})
    told = kinds_in_training(splits(_5="test_genre"), groups(), kinds, RULES)
    assert told == ["nothing is of kind Регламент (there are: Инструкция, Положение)"]


def test_acts_that_live_questions_are_about_are_held_out() -> None:
    attached = pl.DataFrame(
        {
            "query_id": ["l1", "l2", "l3", "l4"],
            "project": [ACTS[3], ACTS[0], ACTS[0], None],
            "group_id": ["g-4-П", "g-1-П", "g-1-П", None],
        }
    )
    assert live_outside(attached, splits(), RULES) == ["1-П_01012020: train, 2 questions"]
    assert live_outside(attached, splits(_1="test_live"), RULES) == []
    without = splits().filter(pl.col("group_id") != "g-4-П")
    assert live_outside(attached.head(1), without, RULES) == ["4-П_04042020: no split, 1 questions"]


def test_answers_of_held_out_queries_in_training_acts() -> None:
    """u1 belongs to a test act and its answer stands in a training act; what a judge found besides is only told."""
    corpus = pl.DataFrame({"passage_id": ["a#0", "b#0", "d#0"], "group_id": ["g-1-П", "g-5-У", "g-4-П"]})
    qrels = pl.DataFrame(
        {
            "query_id": ["u1", "u1", "u1", "t1", "m1", "u2"],
            "passage_id": ["a#0", "b#0", "d#0", "a#0", "b#0", "b#0"],
            "score": [2, 1, 2, 2, 2, 0],
        }
    )
    evidence = pl.DataFrame(
        {
            "query_id": ["u1", "u1", "u1", "t1", "m1"],
            "passage_id": ["a#0", "b#0", "d#0", "a#0", "b#0"],
            "route": ["clauses", "judge", "clauses", "generated", "neighbour"],
        }
    )
    own = pl.DataFrame({"query_id": ["u1", "t1", "u2"], "group_id": ["g-4-П", "g-1-П", "g-4-П"]})
    found = gold_in_training(qrels, evidence, own, corpus, splits())
    # m1 belongs to no act: nothing trains on it, so it is held out too.
    assert found.gold.rows() == [("m1", "b#0", 2, "neighbour", None), ("u1", "a#0", 2, "clauses", "test_live")]
    assert found.judged.rows() == [("u1", "b#0", 1, "judge", "test_live")]
    # Without its evidence a pair counts as named: nothing passes for lack of a row.
    bare = gold_in_training(qrels, evidence.clear(), own, corpus, splits())
    assert bare.gold["passage_id"].to_list() == ["b#0", "a#0", "b#0"]
    assert bare.judged.is_empty()


def test_a_query_counts_in_the_split_of_its_own_act() -> None:
    """q1 belongs to a test act; of the two passages that were judged for it one stands in a training act."""
    qrels = TABLES["qrels"].frame([("q1", "a#0", "g-1-П", 1), ("q1", "d#0", "g-4-П", 2), ("q2", "a#0", "g-1-П", 1)])
    own = in_own_groups(qrels, pl.DataFrame({"query_id": ["q1"], "group_id": ["g-4-П"]}))
    assert own.rows() == [("q1", "a#0", "g-4-П", 1), ("q1", "d#0", "g-4-П", 2), ("q2", "a#0", None, 1)]
    levels = pl.DataFrame({"query_id": ["q1", "q2"], "level": ["live", "manual"]})
    sizes = split_sizes(splits(), own, levels, ["live", "manual"], ("train", "validation", *RULES.test))
    assert sizes.height == 8
    assert sizes.filter(pl.col("judgments") > 0).rows() == [("test_live", "live", 1, 1, 1, 1, 2, 2)]


def test_composition_by_hand() -> None:
    kinds = pl.DataFrame({"project": ACTS, "kind": ["Положение", "Указание", "Инструкция", "Положение", None]})
    corpus = pl.DataFrame({"group_id": ["g-1-П"] * 5 + ["g-5-У"] + ["g-2-У"] * 2 + ["g-4-П"] * 2})
    made = composition(splits(), groups(), corpus, kinds, ["train", "validation", "test_live", "test_genre"])
    assert made.rows() == [
        ("train", 2, 6, 0.6, "- 1, Положение 1"),
        ("validation", 1, 2, 0.2, "Указание 1"),
        ("test_live", 1, 2, 0.2, "Положение 1"),
        ("test_genre", 1, 0, 0.0, "Инструкция 1"),
    ]


def test_the_published_figures_add_up() -> None:
    """The five groups of the published split are its corpus: 1,554 acts, 62,594 chunks, and the shares as printed."""
    published = {
        "train": (1292, 44_358, 70.9),
        "dev": (47, 2_044, 3.3),
        "test_live": (29, 8_671, 13.9),
        "test_genre": (42, 3_320, 5.3),
        "test_unseen": (144, 4_201, 6.7),
    }
    assert sum(acts for acts, _, _ in published.values()) == 1554
    assert sum(chunks for _, chunks, _ in published.values()) == 62_594
    rules = RULES.model_copy(update={"test": ("test_live", "test_genre", "test_unseen")})
    acts = [
        (f"{n}-У_01012020", name)
        for name, (size, _, _) in published.items()
        for n in [f"{name[-3:]}{k}" for k in range(size)]
    ]
    file = TABLES["landed_splits"].frame(acts)
    there = pl.DataFrame({"project": [a for a, _ in acts], "group_id": [a for a, _ in acts]})
    per_act = {name: divmod(chunks, size) for name, (size, chunks, _) in published.items()}
    rows, seen = [], dict.fromkeys(published, 0)
    for act, name in acts:
        each, more = per_act[name]
        rows += [act] * (each + (seen[name] < more))
        seen[name] += 1
    made = composition(
        fixed_splits(file, there, rules),
        there,
        pl.DataFrame({"group_id": rows}),
        pl.DataFrame(schema={"project": pl.String, "kind": pl.String}),
        list(split_names(rules).values()),
    )
    told = {name: (n, chunks, round(100 * share, 1)) for name, n, chunks, share, _ in made.iter_rows()}
    assert told == {split_names(rules)[name]: figures for name, figures in published.items()}


NAMES = st.sampled_from([*ACTS, "9-П_09092020", "8-У_08082020"])
PLACES = st.lists(st.tuples(NAMES, st.sampled_from(["train", "dev", "test_live", "test_genre", "test_x"])), max_size=9)


@settings(max_examples=60, deadline=None)
@given(PLACES, st.sets(st.sampled_from(ACTS)), st.sets(NAMES))
def test_a_file_without_a_fault_is_a_partition_of_the_corpus(
    places: list[tuple[str, str]], there: set[str], removed: set[str]
) -> None:
    """No promise broken means: each group of the corpus in exactly one split that there is. And the other way round."""
    file, corpus = TABLES["landed_splits"].frame(places), groups(tuple(sorted(there)))
    faults = [
        *named_twice(file),
        *unplaced(file, corpus),
        *unknown(file, corpus, removed),
        *foreign_splits(file, RULES),
    ]
    named = [act for act, _ in places]
    is_partition = (
        len(set(named)) == len(named)
        and there <= set(named) <= there | removed
        and all(split != "test_x" for _, split in places)
    )
    assert (not faults) == is_partition
    if is_partition:
        made = fixed_splits(file, corpus, RULES)
        assert made["group_id"].to_list() == sorted(corpus["group_id"])


def test_a_file_of_splits_is_for_collections_with_registers() -> None:
    from tendril_assets.spec import CollectionSpec

    with pytest.raises(ValueError, match=r"splits\.policy: file is for collections with registers"):
        CollectionSpec.model_validate(
            {
                "collection": "toy",
                "group": "act",
                "subsets": ["a"],
                "queries": {"summary": {"model": "m"}},
                "judge": {"llm": {"model": "m"}},
                "splits": {"policy": "file", "test": ["test_live"]},
                "models": {},
                "release": {"name": "toy", "version": "0.1.0", "title": "Toy", "licence_name": "none"},
            }
        )
