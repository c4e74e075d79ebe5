"""InfoNCE over a query's positive and its own negatives.

Negatives of other rows in the batch take no part, so the loss of a row does not depend on the rows beside it, and
splitting a batch by gradient accumulation leaves the gradient unchanged (dropout aside). Imported by the training
process only: importing it loads torch.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from tendril_assets.training.grouping import embed_columns


def info_nce(query: Tensor, positive: Tensor, negatives: Sequence[Tensor], scale: float) -> Tensor:
    """Loss per row: ``-log(exp(s·cos(q, p)) / (exp(s·cos(q, p)) + sum over n of exp(s·cos(q, n))))``.

    Source: van den Oord et al. 2018 (arXiv:1807.03748), equation 4, with cosine similarity times ``scale``.

    Args:
        query, positive: embeddings, (rows, dimensions).
        negatives: one (rows, dimensions) tensor per negative.
        scale: factor on the cosine, the inverse of the temperature.

    Returns:
        (rows,), in at least 32-bit precision.
    """
    candidates = torch.stack([positive, *negatives], dim=1)
    # In bf16 a cosine near 1 has two significant digits: too few once it is multiplied by the scale.
    wide = torch.promote_types(candidates.dtype, torch.float32)
    query = nn.functional.normalize(query.to(wide), dim=-1)
    candidates = nn.functional.normalize(candidates.to(wide), dim=-1)
    scores = scale * torch.einsum("rd,rcd->rc", query, candidates)
    positive_first = torch.zeros(len(scores), dtype=torch.long, device=scores.device)
    return nn.functional.cross_entropy(scores, positive_first, reduction="none")


class OwnNegativesLoss(nn.Module):
    """``info_nce`` on the columns query, positive, negative_1 ... negative_n; returns the sum over the rows.

    A sum, because only the caller knows how many rows the whole optimiser step has. ``labels`` are the numbers of the
    rows; a negative one marks a row that fills up a batch and counts for nothing.
    """

    def __init__(self, model: nn.Module, scale: float) -> None:
        super().__init__()
        self.model = model
        self.scale = scale

    def forward(self, sentence_features: list[dict[str, Tensor]], labels: Tensor | None = None) -> Tensor:
        query, positive, *negatives = embed_columns(self.model, sentence_features, 0 if labels is None else len(labels))
        losses = info_nce(query, positive, negatives, self.scale)
        return (losses if labels is None else losses.where(labels >= 0, 0)).sum()
