"""InfoNCE over own negatives."""

import math

import pytest
import torch
from torch import nn

from tendril_assets.training.loss import OwnNegativesLoss, info_nce


def unit(cosine: float) -> list[float]:
    """A unit vector at the given cosine to (1, 0)."""
    return [cosine, math.sqrt(1 - cosine**2)]


def row(cosines: list[float], dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, ...]:
    query = torch.tensor([[1.0, 0.0]], dtype=dtype)
    return query, *(torch.tensor([unit(cosine)], dtype=dtype) for cosine in cosines)


def test_value_worked_out_by_hand() -> None:
    """20 * (0.9 - 0.5, 0.4, 0.3) = 8, 10, 12: the loss is ln(1 + e^-8 + e^-10 + e^-12) = 0.000387."""
    query, positive, *negatives = row([0.9, 0.5, 0.4, 0.3])
    loss = info_nce(query, positive, negatives, scale=20)
    assert loss.shape == (1,)
    assert loss.item() == pytest.approx(math.log1p(math.exp(-8) + math.exp(-10) + math.exp(-12)), rel=1e-9)
    assert loss.item() == pytest.approx(0.000387, abs=1e-6)


def test_lengths_do_not_matter() -> None:
    query, positive, *negatives = row([0.9, 0.5, 0.4, 0.3])
    long = info_nce(3 * query, 5 * positive, [7 * negative for negative in negatives], 20)
    assert long.item() == pytest.approx(info_nce(query, positive, negatives, 20).item())


def test_equals_cross_entropy_over_four_equal_candidates() -> None:
    query, positive, *negatives = row([0.4, 0.4, 0.4, 0.4])
    assert info_nce(query, positive, negatives, 20).item() == pytest.approx(math.log(4))


def test_rows_beside_it_change_nothing() -> None:
    torch.manual_seed(0)
    query, positive, *negatives = (torch.randn(6, 5, dtype=torch.float64) for _ in range(5))
    together = info_nce(query, positive, negatives, 20)
    alone = torch.cat([info_nce(query[[k]], positive[[k]], [n[[k]] for n in negatives], 20) for k in range(6)])
    torch.testing.assert_close(together, alone)


def test_half_precision_is_widened() -> None:
    query, positive, *negatives = row([0.9, 0.5, 0.4, 0.3], torch.bfloat16)
    assert info_nce(query, positive, negatives, 20).dtype == torch.float32


class Embedding(nn.Module):
    """A stand-in encoder without dropout: one linear layer over given features."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.layer = nn.Linear(6, 4, dtype=torch.float64)

    def forward(self, features: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        return {"sentence_embedding": self.layer(features["x"])}


@pytest.mark.parametrize("split", [[4], [2, 2], [1, 1, 1, 1], [3, 1]])
def test_gradient_is_the_same_however_a_batch_is_split(split: list[int]) -> None:
    """Case of the card: 1 x 32 and 2 x 16 must agree; here 4, 2 + 2, 4 x 1 and an uneven 3 + 1."""
    torch.manual_seed(2)
    columns = [torch.randn(4, 6, dtype=torch.float64) for _ in range(5)]

    def gradient(parts: list[int]) -> torch.Tensor:
        model = Embedding()
        loss = OwnNegativesLoss(model, scale=20)
        start = 0
        for size in parts:
            (loss([{"x": column[start : start + size]} for column in columns]) / 4).backward()
            start += size
        return model.layer.weight.grad

    torch.testing.assert_close(gradient(split), gradient([4]), rtol=1e-10, atol=1e-12)


def test_gradient_worked_out_by_hand() -> None:
    """With p_j the softmax of 20 cos_j over the candidates, d loss / d cos_j is 20 (p_j - [j = 0]).

    All vectors are unit vectors in the plane and the query is (1, 0). A candidate at angle a moves, by a small turn, its
    cosine by -sin a along the tangent (-sin a, cos a); along itself its cosine does not change. So the gradient with
    respect to the candidate is 20 (p_j - [j = 0]) (-sin a) (-sin a, cos a).
    """
    cosines = [0.9, 0.5, 0.4, 0.3]
    query, *candidates = row(cosines)
    for candidate in candidates:
        candidate.requires_grad_()
    info_nce(query, candidates[0], candidates[1:], 20).sum().backward()
    weights = [math.exp(20 * cosine) for cosine in cosines]
    for place, (candidate, cosine, weight) in enumerate(zip(candidates, cosines, weights, strict=True)):
        slope = 20 * (weight / sum(weights) - (place == 0))
        sine = math.sqrt(1 - cosine**2)
        expected = torch.tensor([[slope * sine**2, -slope * sine * cosine]], dtype=torch.float64)
        torch.testing.assert_close(candidate.grad, expected, rtol=1e-9, atol=1e-12)


def test_gradient_equals_finite_differences() -> None:
    torch.manual_seed(3)
    columns = [torch.randn(3, 5, dtype=torch.float64, requires_grad=True) for _ in range(5)]
    assert torch.autograd.gradcheck(lambda q, p, *negatives: info_nce(q, p, negatives, 20), columns)


def test_rows_that_fill_up_count_for_nothing() -> None:
    """A negative number marks them: neither value nor gradient knows of them."""
    torch.manual_seed(4)
    columns = [torch.randn(3, 6, dtype=torch.float64) for _ in range(5)]

    def loss_and_gradient(rows: int, labels: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
        model = Embedding()
        loss = OwnNegativesLoss(model, scale=20)([{"x": column[:rows]} for column in columns], torch.tensor(labels))
        loss.backward()
        return loss.detach(), model.layer.weight.grad

    torch.testing.assert_close(loss_and_gradient(3, [7, 0, -1]), loss_and_gradient(2, [7, 0]))
    alone, gradient = loss_and_gradient(1, [-1])
    assert alone == 0
    assert not gradient.any()
