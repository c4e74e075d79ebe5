"""Which groups are held out for validation.

Groups are split, never passages: two passages of one project repeat each other's wording, so a split through a project
measures memory. The draw is a bottom-k of keyed hashes, so a new group moves at most the groups at the border.
"""

import math
from collections.abc import Iterable

import polars as pl

from tendril_assets.corpus.identifiers import keyed_order
from tendril_assets.spec import SplitSpec
from tendril_assets.tables import TABLES

TRAIN = "train"
VALIDATION = "validation"
_DRAW = "splits"


def validation_size(n_groups: int, share: float) -> int:
    """Number of groups held out: ``share`` of them, halves rounded up.

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
        spec: the share that is held out.
        seed: the collection's seed, which names the draw.
    """
    drawn = sorted(set(groups), key=lambda group: (keyed_order(seed, _DRAW, group), group))
    held_out = set(drawn[: validation_size(len(drawn), spec.validation_share)])
    return TABLES["splits"].frame([(group, VALIDATION if group in held_out else TRAIN) for group in sorted(drawn)])


def groups_of(splits: pl.DataFrame, split: str) -> list[str]:
    """Groups of one split, in the frame's order."""
    return splits.filter(pl.col("split") == split)["group_id"].to_list()
