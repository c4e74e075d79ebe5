"""Which groups are held out for validation, and what each split holds.

Groups are split, never passages: two passages of one project repeat each other's wording, so a split through a project
measures memory. Each group has one draw in [0, 1), the keyed hash of (seed, ``splits``, group id); the policy says what
is made of it:

``independent``  held out where the draw lies below the share. No other group matters: a group that arrives or leaves
                 moves none, so a group that a model was trained on never becomes its validation. The price is the
                 number held out, which is binomial: of 631 groups at a tenth 63 on average, give or take 7.5.
``exact``        the lowest draws are held out, as many as the share says: 63 of 631. The price is the border: a new
                 group may move one other group across it, in either direction, and then a model that was trained before
                 has seen a group that validates the next one.

With two groups or more neither side is empty. Where all draws fall on one side, ``independent`` moves the one group that
is nearest to the other side, the lowest or the highest draw, until a group arrives that falls there by itself: the only
case in which it looks at other groups. A lone group is trained on.
"""

import math
from collections.abc import Iterable, Sequence

import polars as pl

from tendril_assets.corpus.identifiers import keyed_order
from tendril_assets.spec import SplitSpec
from tendril_assets.tables import TABLES

TRAIN = "train"
VALIDATION = "validation"
_DRAW = "splits"
_DRAWS = 2**63


def validation_size(n_groups: int, share: float) -> int:
    """Number of groups that ``exact`` holds out: ``share`` of them, halves rounded up.

    With two groups or more at least one is held out and at least one stays in training; a lone group is trained on.
    """
    if n_groups < 2:
        return 0
    # Rounded in steps of 1e-9 first: 0.15 * 10 is 1.5 as written, whatever its binary neighbour is.
    rounded = math.floor(round(n_groups * share, 9) + 0.5)
    return min(max(rounded, 1), n_groups - 1)


def assign_splits(groups: Iterable[str], spec: SplitSpec, seed: int) -> pl.DataFrame:
    """Split of each group as a ``splits`` frame, ordered by group.

    Args:
        groups: groups that have qrels; repeats are ignored.
        spec: the policy and the share that is held out.
        seed: the collection's seed, which names the draw.
    """
    draws = {group: keyed_order(seed, _DRAW, group) for group in set(groups)}
    lowest_first = sorted(draws, key=lambda group: (draws[group], group))
    if spec.policy == "exact":
        size = validation_size(len(draws), spec.validation_share)
    else:
        # The share times a power of two is exact, and Python compares an integer with it exactly.
        below = sum(draw < spec.validation_share * _DRAWS for draw in draws.values())
        size = min(max(below, 1), len(draws) - 1) if len(draws) > 1 else 0
    held_out = set(lowest_first[:size])
    return TABLES["splits"].frame([(group, VALIDATION if group in held_out else TRAIN) for group in sorted(draws)])


def groups_of(splits: pl.DataFrame, split: str) -> list[str]:
    """Groups of one split, in the frame's order."""
    return splits.filter(pl.col("split") == split)["group_id"].to_list()


def in_own_groups(qrels: pl.DataFrame, query_groups: pl.DataFrame) -> pl.DataFrame:
    """``qrels`` with the group that each query belongs to instead of the passage's: null for a query that has none.

    Args:
        qrels: accepted grades, of passages of any group.
        query_groups: ``query_id``, ``group_id``; a query that belongs to several has its rows once for each.
    """
    own = query_groups.select("query_id", own="group_id").unique()
    joined = qrels.join(own, on="query_id", how="left", maintain_order="left")
    return joined.with_columns(group_id="own").drop("own")


def split_sizes(
    splits: pl.DataFrame,
    qrels: pl.DataFrame,
    queries: pl.DataFrame,
    levels: Sequence[str],
    names: Sequence[str] = (TRAIN, VALIDATION),
) -> pl.DataFrame:
    """A ``split_sizes`` frame: what each split holds of each level, a row of zeros where it holds nothing.

    Args:
        splits: split of each group.
        qrels: accepted grades; a passage of grade 1 or more is relevant, as in the measures.
        queries: ``query_id``, ``level``.
        levels: every level of the collection, in the order of the rows.
        names: every split, in the order of the rows.
    """
    judged = (
        qrels.join(splits, on="group_id")
        .join(queries.select("query_id", "level"), on="query_id")
        .group_by("split", "level", "group_id", "query_id")
        .agg(judgments=pl.len(), relevant=(pl.col("score") > 0).sum())
    )
    is_relevant = pl.col("relevant") > 0
    found = judged.group_by("split", "level").agg(
        groups=pl.col("group_id").n_unique(),
        groups_with_relevant=pl.col("group_id").filter(is_relevant).n_unique(),
        queries=pl.len(),
        queries_with_relevant=is_relevant.sum(),
        judgments=pl.col("judgments").sum(),
        relevant=pl.col("relevant").sum(),
    )
    every_level = [*levels, *sorted(set(found["level"]) - set(levels))]
    every = pl.DataFrame(
        [(split, level) for split in names for level in every_level],
        schema={"split": pl.String, "level": pl.String},
        orient="row",
    )
    filled = every.join(found, on=["split", "level"], how="left", maintain_order="left").fill_null(0)
    return filled.select(list(TABLES["split_sizes"].schema)).cast(dict(TABLES["split_sizes"].schema))


def too_few(sizes: pl.DataFrame, levels: Sequence[str], minimum: int) -> list[str]:
    """One sentence for each level with fewer than ``minimum`` validation groups that have a relevant passage.

    Only those can be measured: a query without a relevant passage has no nDCG.
    """
    found = dict(sizes.filter(pl.col("split") == VALIDATION).select("level", "groups_with_relevant").iter_rows())
    return [
        f"{level}: {found.get(level, 0):,} validation groups have a query with a relevant passage, at least {minimum:,} "
        "are wanted (splits.min_validation_groups). Hold out more (splits.validation_share) or judge more groups"
        for level in levels
        if found.get(level, 0) < minimum
    ]
