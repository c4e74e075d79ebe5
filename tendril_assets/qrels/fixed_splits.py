"""Splits that a file of the landing folder fixes for every group, and what may be wrong with them.

Groups are put into splits by people, once, before anything is generated or judged: which groups the asked questions are
about, and which kinds of documents are held out as a whole, is known only from outside. What is fixed by hand can be wrong
by hand, so each promise of such a file is looked at by itself, and names what breaks it:

* each group is in one split (``named_twice``);
* the splits together are the corpus, no group more or less (``unplaced``, ``unknown``);
* no split is there that the specification does not know, and none is empty (``foreign_splits``, ``empty_splits``);
* what is held out is held out: kinds of documents (``kinds_in_training``), groups that live questions are about
  (``live_outside``), and the passages that answer a held-out query (``gold_in_training``).

A group that the removal list took out may go on standing in the file: the file is fixed, the list is not.
"""

from collections.abc import Collection, Sequence
from difflib import get_close_matches
from typing import NamedTuple

import polars as pl

from tendril_assets.qrels.splits import TRAIN, VALIDATION
from tendril_assets.spec_training import SplitSpec
from tendril_assets.tables import TABLES

DEV = "dev"
_IN_FILE = {TRAIN: TRAIN, DEV: VALIDATION}
# Grades by people and by rule name a passage as the answer. A judge looks through a pool of the whole corpus, and what it
# finds in training groups is relevant there besides: counted, and no reason to stop.
JUDGED = "judge"
_ALIKE = 0.9  # one letter of a dozen: what a slip of the keyboard leaves


def split_names(spec: SplitSpec) -> dict[str, str]:
    """Name of each split in the file -> its name in table ``splits``: ``dev`` is the validation split."""
    return _IN_FILE | {name: name for name in spec.test}


def fixed_splits(landed: pl.DataFrame, groups: pl.DataFrame, spec: SplitSpec) -> pl.DataFrame:
    """A ``splits`` frame of the groups that the file puts into splits that there are, ordered by group.

    A group that the file names twice has two rows: ``named_twice`` tells it, and no row is dropped in silence.

    Args:
        landed: ``project``, ``split`` as the file names them.
        groups: ``project``, ``group_id`` of the groups of the corpus.
        spec: the splits there are.
    """
    names = split_names(spec)
    known = landed.select("project", "split").unique().filter(pl.col("split").is_in(list(names)))
    placed = groups.select("project", "group_id").unique().join(known, on="project")
    placed = placed.select("group_id", split=pl.col("split").replace_strict(names, return_dtype=pl.String))
    return placed.cast(dict(TABLES["splits"].schema)).sort("group_id", "split")


def named_twice(landed: pl.DataFrame) -> list[str]:
    """Groups that stand in more than one place of the file, each with its splits, sorted."""
    found = landed.group_by("project").agg(pl.col("split").sort(), places=pl.len()).filter(pl.col("places") > 1)
    return [f"{project}: {', '.join(splits)}" for project, splits, _ in found.sort("project").iter_rows()]


def unplaced(landed: pl.DataFrame, groups: pl.DataFrame) -> list[str]:
    """Groups of the corpus that the file does not name, sorted."""
    return sorted(set(groups["project"]) - set(landed["project"]))


def unknown(landed: pl.DataFrame, groups: pl.DataFrame, removed: Collection[str]) -> list[str]:
    """Groups of the file that the corpus does not have and nobody removed, sorted; each with the nearest name there is.

    Args:
        removed: groups that the removal list names, and those it took out.
    """
    there = sorted(set(groups["project"]))
    found = sorted(set(landed["project"]) - set(there) - set(removed))
    # To look for the nearest of thousands takes a while: it is done for as many as anybody reads.
    nearest = {name: get_close_matches(name, there, n=1, cutoff=_ALIKE) for name in found[:20]}
    return [f"{name} (nearest: {near[0]})" if (near := nearest.get(name)) else name for name in found]


def foreign_splits(landed: pl.DataFrame, spec: SplitSpec) -> list[str]:
    """Splits of the file that the specification does not name, each with how many groups it holds there, sorted."""
    sizes = landed.group_by("split").len().sort("split").iter_rows()
    return [f"{name} ({n:,} groups)" for name, n in sizes if name not in split_names(spec)]


def empty_splits(splits: pl.DataFrame, spec: SplitSpec) -> list[str]:
    """Splits that no group of the corpus is in, by their name in the file, in the specification's order."""
    found = set(splits["split"])
    return [in_file for in_file, name in split_names(spec).items() if name not in found]


def kinds_in_training(splits: pl.DataFrame, groups: pl.DataFrame, kinds: pl.DataFrame, spec: SplitSpec) -> list[str]:
    """Groups of a held-out kind that are trained on or validated by, each with kind and split, sorted; after them the kinds
    that no group is of: a kind that is written otherwise than the groups' own holds nothing out.

    Args:
        splits: a ``splits`` frame.
        groups: ``project``, ``group_id``.
        kinds: ``project``, ``kind`` of every group.
    """
    of_corpus = kinds.select("project", "kind").unique().join(groups, on="project")
    held_out = of_corpus.filter(pl.col("kind").is_in(list(spec.held_out_kinds)))
    placed = splits.join(held_out.select("project", "group_id", "kind"), on="group_id")
    wrong = placed.filter(pl.col("split").is_in([TRAIN, VALIDATION])).sort("project", "split")
    there = sorted(set(of_corpus["kind"].drop_nulls()))
    absent = [kind for kind in spec.held_out_kinds if kind not in there]
    return [
        *(f"{p}: {kind} in {split}" for p, kind, split in wrong.select("project", "kind", "split").iter_rows()),
        *(f"nothing is of kind {kind} (there are: {', '.join(there) or 'none'})" for kind in absent),
    ]


def live_outside(attached: pl.DataFrame, splits: pl.DataFrame, spec: SplitSpec) -> list[str]:
    """Groups that a live question was attached to and that are in another split than ``spec.live``, sorted.

    Args:
        attached: ``query_id``, ``project``, ``group_id``; no group where a question was attached to none.
        splits: a ``splits`` frame.
    """
    asked = attached.filter(pl.col("group_id").is_not_null()).group_by("group_id").agg(pl.first("project"), pl.len())
    placed = asked.join(splits, on="group_id", how="left")
    wrong = placed.filter(pl.col("split").ne_missing(pl.lit(spec.live))).sort("project")
    return [f"{project}: {split or 'no split'}, {n:,} questions" for _, project, n, split in wrong.iter_rows()]


class GoldInTraining(NamedTuple):
    """Relevant passages of held-out queries that stand in training groups: query_id, passage_id, score, route, split.

    ``gold``: named as the answer by a person, a clause or the question's origin; must be empty. ``judged``: found by a
    judge in the pool besides.
    """

    gold: pl.DataFrame
    judged: pl.DataFrame


def gold_in_training(
    qrels: pl.DataFrame, evidence: pl.DataFrame, query_groups: pl.DataFrame, corpus: pl.DataFrame, splits: pl.DataFrame
) -> GoldInTraining:
    """What of the relevant passages of held-out queries stands in training groups, sorted.

    A query without a group of its own is held out too: nothing trains on it.

    Args:
        qrels: ``query_id``, ``passage_id``, ``score``.
        evidence: ``query_id``, ``passage_id``, ``route``; a pair without a row counts as named.
        query_groups: ``query_id``, ``group_id`` of the group each query belongs to.
        corpus: ``passage_id``, ``group_id``.
        splits: a ``splits`` frame.
    """
    asked = query_groups.join(splits, on="group_id").select("query_id", "split")
    trained = corpus.join(splits.filter(pl.col("split") == TRAIN), on="group_id").select("passage_id")
    found = (
        qrels.filter(pl.col("score") > 0)
        .select("query_id", "passage_id", "score")
        .join(asked.filter(pl.col("split") == TRAIN), on="query_id", how="anti")
        .join(trained, on="passage_id", how="semi")
        .join(asked.unique("query_id"), on="query_id", how="left")
        .join(evidence.select("query_id", "passage_id", "route"), on=["query_id", "passage_id"], how="left")
        .select("query_id", "passage_id", "score", "route", "split")
        .sort("query_id", "passage_id")
    )
    is_judged = pl.col("route").eq_missing(pl.lit(JUDGED))
    return GoldInTraining(found.filter(~is_judged), found.filter(is_judged))


def composition(
    splits: pl.DataFrame, groups: pl.DataFrame, corpus: pl.DataFrame, kinds: pl.DataFrame, order: Sequence[str]
) -> pl.DataFrame:
    """What each split is made of: split, groups, passages, ``share`` of all passages, and ``kinds`` in words.

    Args:
        splits: a ``splits`` frame.
        groups: ``project``, ``group_id``.
        corpus: ``group_id`` of every passage.
        kinds: ``project``, ``kind``.
        order: names of the splits, in the order of the rows.
    """
    passages = corpus.group_by("group_id").len("passages")
    placed = (
        splits.join(groups.select("project", "group_id"), on="group_id", how="left")
        .join(kinds.select("project", "kind").unique("project"), on="project", how="left")
        .join(passages, on="group_id", how="left")
        .with_columns(pl.col("kind").fill_null("-"), pl.col("passages").fill_null(0))
    )
    total = max(1, int(placed["passages"].sum()))
    rows = []
    for name in order:
        mine = placed.filter(pl.col("split") == name)
        counted = mine.group_by("kind").len().sort("len", "kind", descending=[True, False]).iter_rows()
        n_passages = int(mine["passages"].sum())
        told = ", ".join(f"{kind} {n:,}" for kind, n in counted)
        rows.append((name, mine.height, n_passages, n_passages / total, told))
    schema = {"split": pl.String, "groups": pl.Int64, "passages": pl.Int64, "share": pl.Float64, "kinds": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")
