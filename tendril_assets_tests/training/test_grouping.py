"""Regrouped micro-batches: the same embeddings and gradients as one pass per column, with less padding."""

from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.data_collator import SentenceTransformerDataCollator
from sentence_transformers.sentence_transformer.modules import Pooling

from tendril_assets.training.grouping import PASS_COST, GroupingCollator, embed_columns, grouping_collator
from tendril_assets.training.loss import OwnNegativesLoss

COLUMNS = ("query", "positive", "negative_1", "negative_2", "negative_3")
PROMPTS = {"query": "query: "} | dict.fromkeys(COLUMNS[1:], "passage : passage: ")


def rows(lengths: list[list[int]]) -> list[dict[str, Any]]:
    """One example per list: a text of so many words in each column."""
    return [
        {
            name: " ".join(f"w{(3 * at + word) % 40}" for word in range(words))
            for name, words in zip(COLUMNS, row, strict=True)
        }
        | {"label": number}
        for number, row in enumerate(lengths)
        for at in [number]
    ]


MIXED = rows([[2, 9, 30, 1, 9], [3, 3, 9, 18, 2], [1, 25, 4, 4, 40]])


@pytest.fixture
def model(encoder_without_dropout: Path) -> SentenceTransformer:
    loaded = SentenceTransformer(str(encoder_without_dropout), device="cpu")
    loaded.max_seq_length = 32
    return loaded.train()


def collator_with(model: SentenceTransformer, pass_cost: int) -> GroupingCollator:
    collator = grouping_collator(model, PROMPTS, torch.device("cpu"))
    collator.pass_cost = pass_cost
    return collator


def features_of(batch: dict[str, Any]) -> list[dict[str, Any]]:
    """As the trainer's ``collect_features`` hands them to a loss."""
    names = [name.removesuffix("input_ids") for name in batch if name.endswith("input_ids")]
    return [{key.removeprefix(name): value for key, value in batch.items() if key.startswith(name)} for name in names]


def by_column(model: SentenceTransformer, examples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return features_of(SentenceTransformerDataCollator(preprocess_fn=model.preprocess, prompts=PROMPTS)(examples))


def gradient(model: SentenceTransformer, features: list[dict[str, Any]], rows: int) -> tuple[float, torch.Tensor]:
    model.zero_grad()
    loss = OwnNegativesLoss(model, scale=20)(features, torch.arange(rows))
    loss.backward()
    return loss.item(), torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


@pytest.mark.parametrize("pass_cost", [0, 8, 10_000])
def test_loss_and_gradient_are_those_of_one_pass_per_column(model: SentenceTransformer, pass_cost: int) -> None:
    batch = collator_with(model, pass_cost)(MIXED)
    expected_loss, expected = gradient(model, by_column(model, MIXED), 3)
    loss, found = gradient(model, features_of(batch), 3)
    assert loss == pytest.approx(expected_loss, rel=1e-5)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)
    assert expected.abs().max() > 1e-3
    assert batch["label"].tolist() == [0, 1, 2]


def test_prompts_left_out_of_the_pooling_stay_left_out(model: SentenceTransformer) -> None:
    """The prompts have 2 and 4 tokens beside [CLS]: texts of both may not share a pass."""
    (pooling,) = (module for module in model if isinstance(module, Pooling))
    pooling.include_prompt = False
    features = features_of(collator_with(model, 10_000)(MIXED))
    assert sorted(one["prompt_length"] for one in features) == [3, 5]
    for found, expected in zip(
        embed_columns(model, features, 3), embed_columns(model, by_column(model, MIXED), 3), strict=True
    ):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)


def padded(batch: dict[str, Any]) -> int:
    return sum(value.numel() for name, value in batch.items() if name.endswith("input_ids"))


def real(batch: dict[str, Any]) -> int:
    return sum(int(value.sum()) for name, value in batch.items() if name.endswith("attention_mask"))


def test_no_token_is_lost_and_padding_is_what_the_pass_cost_leaves(model: SentenceTransformer) -> None:
    """Cost 0: lengths of their own, no padding at all. A very large one: one pass, all padded to the longest, 32."""
    plain = SentenceTransformerDataCollator(preprocess_fn=model.preprocess, prompts=PROMPTS)(MIXED)
    none, usual, one = (collator_with(model, cost)(MIXED) for cost in (0, PASS_COST["cpu"], 10_000))
    assert real(none) == real(usual) == real(one) == real(plain)
    assert padded(none) == real(none)
    assert padded(one) == 15 * 32
    assert padded(usual) < padded(plain)
    assert len(features_of(one)) == 1
    assert len(features_of(usual)) < len(features_of(none))


def test_no_rows_give_no_features(model: SentenceTransformer) -> None:
    assert collator_with(model, 8)([]) == {}
