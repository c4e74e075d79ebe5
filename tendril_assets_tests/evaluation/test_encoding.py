"""Batches by tokens: the vectors of the library's own ``encode``, whatever the budget, and what a small GPU does."""

import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from accelerate import Accelerator, PartialState
from accelerate.state import AcceleratorState
from hypothesis import given, settings
from hypothesis import strategies as st
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling

from tendril_assets.errors import TendrilError
from tendril_assets.evaluation.encoding import TOKENS_PER_BATCH, BatchedModel, token_lengths, tokenise
from tendril_assets.evaluation.models import load_model
from tendril_assets_tests.training import twins

TEXTS = [" ".join(f"w{(7 * n + word) % 40}" for word in range(n * n % 31 + 1)) for n in range(40)] + ["", "w1 " * 200]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, SentenceTransformer]:
    """CLS pooling with Normalize, and a decoder with mean pooling, padded on the left or right as its tokenizer says."""
    folder = tmp_path_factory.mktemp("twins")
    loaded = {
        "snowflake": load_model(twins.snowflake_spec(twins.snowflake(folder)), device="cpu"),
        "most": load_model(twins.most_spec(twins.most(folder)), device="cpu"),
    }
    with torch.no_grad():
        for weights in loaded["snowflake"].parameters():
            weights.mul_(8)  # fresh weights are so small that the first token hardly sees the others
    return loaded


def embedded(batched: BatchedModel, texts: list[str], prompt: str = "", task: str = "document") -> np.ndarray:
    vectors: dict[int, np.ndarray] = {}
    for rows, part in batched.embed(texts, prompt, task):
        for row, vector in zip(rows.tolist(), part, strict=True):
            assert row not in vectors
            vectors[row] = vector
    return np.stack([vectors[row] for row in range(len(texts))])


class Watched:
    """Notes the shape of each batch that goes through a model."""

    def __init__(self, model: SentenceTransformer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shapes: list[tuple[int, int]] = []
        forward = model.forward

        def noting(features: dict[str, Any], **options: Any) -> dict[str, Any]:
            self.shapes.append(tuple(features["input_ids"].shape))
            return forward(features, **options)

        monkeypatch.setattr(model, "forward", noting)


@pytest.mark.parametrize("name", ["snowflake", "most"])
@pytest.mark.parametrize("prompt", ["", "query: "])
@pytest.mark.parametrize("budget", [1, 100, 100_000])
def test_vectors_are_those_of_the_library(models: dict, name: str, prompt: str, budget: int) -> None:
    model = models[name]
    expected = model.encode(TEXTS, prompt=prompt, normalize_embeddings=True)
    found = embedded(BatchedModel(model, budget), TEXTS, prompt)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert np.ptp(expected, axis=0).max() > 0.1  # the texts do differ


def test_queries_and_documents_are_those_of_the_library_by_its_own_prompts(models: dict) -> None:
    model = models["most"]
    for task, encode in (("query", model.encode_query), ("document", model.encode_document)):
        found = embedded(BatchedModel(model, 100), TEXTS, model.prompts[task], task)
        np.testing.assert_allclose(found, encode(TEXTS, normalize_embeddings=True), atol=1e-6)


@pytest.mark.parametrize("name", ["snowflake", "most"])
def test_a_prompt_left_out_of_the_pooling_stays_left_out(models: dict, name: str) -> None:
    (pooling,) = (module for module in models[name] if isinstance(module, Pooling))
    try:
        with_prompt = embedded(BatchedModel(models[name], 100), TEXTS, "query: ")
        pooling.include_prompt = False
        expected = models[name].encode(TEXTS, prompt="query: ", normalize_embeddings=True)
        found = embedded(BatchedModel(models[name], 100), TEXTS, "query: ")
    finally:
        pooling.include_prompt = True
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert np.abs(found - with_prompt).max() > 1e-3


def test_fewer_dimensions_are_the_first_ones_at_length_one(models: dict) -> None:
    model = models["most"]
    before = model.truncate_dim
    try:
        model.truncate_dim = 5
        expected = model.encode(TEXTS, normalize_embeddings=True)
        found = embedded(BatchedModel(model, 100), TEXTS)
    finally:
        model.truncate_dim = before
    assert found.shape == (len(TEXTS), 5)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@settings(max_examples=8, deadline=None)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=12), st.integers(1, 400))
def test_the_budget_changes_rounding_only(models: dict, words: list[int], budget: int) -> None:
    texts = [" ".join(f"w{(n + word) % 40}" for word in range(count)) for n, count in enumerate(words)]
    one_by_one = embedded(BatchedModel(models["snowflake"], 1), texts)
    np.testing.assert_allclose(embedded(BatchedModel(models["snowflake"], budget), texts), one_by_one, atol=1e-6)


def test_batches_keep_to_the_budget_and_each_text_is_tokenised_once(models: dict, monkeypatch) -> None:
    model = models["snowflake"]
    watched, tokenised = Watched(model, monkeypatch), []
    preprocess = model.preprocess
    monkeypatch.setattr(model, "preprocess", lambda texts, **o: tokenised.extend(texts) or preprocess(texts, **o))
    embedded(BatchedModel(model, 120), TEXTS)
    assert tokenised == TEXTS
    assert sum(texts for texts, _ in watched.shapes) == len(TEXTS)
    assert all(texts * longest <= 120 for texts, longest in watched.shapes)
    longest = [longest for _, longest in watched.shapes]
    assert longest == sorted(longest, reverse=True)
    lengths = tokenise(model, TEXTS, "", "document").lengths
    assert longest[0] == lengths.max() == twins.LENGTH  # cut, special tokens included
    ours = sum(texts * most for texts, most in watched.shapes) - lengths.sum()
    watched.shapes.clear()
    model.encode(TEXTS)
    library = sum(texts * most for texts, most in watched.shapes) - lengths.sum()
    assert 0 < ours < library / 2


def test_without_a_budget_the_device_decides(models: dict) -> None:
    assert BatchedModel(models["snowflake"]).budget == TOKENS_PER_BATCH["cpu"]


def test_a_model_in_training_goes_on_training(models: dict) -> None:
    model = models["snowflake"].train()
    try:
        first, second = (embedded(BatchedModel(model, 100), TEXTS[:5]) for _ in range(2))
        assert model.training
    finally:
        model.eval()
    assert first.tolist() == second.tolist()  # without dropout


class OutOfMemory:
    """A forward pass that has room for so many padded tokens."""

    def __init__(self, model: SentenceTransformer, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
        self.refused: list[int] = []
        forward = model.forward

        def limited(features: dict[str, Any], **options: Any) -> dict[str, Any]:
            tokens = features["input_ids"].numel()
            if tokens > room:
                self.refused.append(tokens)
                raise torch.OutOfMemoryError("CUDA out of memory")
            return forward(features, **options)

        monkeypatch.setattr(model, "forward", limited)


def test_out_of_memory_halves_the_budget_and_goes_on(models: dict, monkeypatch, caplog) -> None:
    """All 42 texts at once are 42 x 48 = 2,016 padded tokens; then at most 1,008 and 504."""
    model = models["snowflake"]
    expected = embedded(BatchedModel(model, 100), TEXTS)
    memory = OutOfMemory(model, monkeypatch, room=600)
    batched = BatchedModel(model, 100_000)
    np.testing.assert_allclose(embedded(batched, TEXTS), expected, atol=1e-6)
    assert memory.refused == [42 * 48, 21 * 48]
    assert batched.budget == 504
    assert "going on with at most 1008 tokens a batch (encode_tokens)" in caplog.text
    assert len(caplog.records) == 2


def test_what_the_failed_batch_held_is_free_before_the_cache_is_emptied(models: dict, monkeypatch) -> None:
    model = models["snowflake"]
    forward, held, alive = model.forward, [], []

    def failing(features: dict[str, Any], **options: Any) -> dict[str, Any]:
        if features["input_ids"].numel() > 600:
            large = torch.zeros(10)
            held.append(weakref.ref(large))
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(features, **options)

    monkeypatch.setattr(model, "forward", failing)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: alive.extend(ref() is not None for ref in held))
    embedded(BatchedModel(model, 100_000), TEXTS)
    assert alive == [False, False, False]  # the first again beside the second


def test_one_text_that_does_not_fit_is_one_error(models: dict, monkeypatch) -> None:
    OutOfMemory(models["snowflake"], monkeypatch, room=40)
    with pytest.raises(TendrilError, match="a text of 48 tokens does not fit into the memory of cpu: set max_length"):
        embedded(BatchedModel(models["snowflake"], 100_000), TEXTS)


def test_bf16_is_the_computation_of_a_model_in_training(models: dict, tmp_path: Path, monkeypatch) -> None:
    """Accelerate wraps the model of a bf16 training in autocast; loaded again it is bare. Both give the same vectors."""
    # Accelerate keeps one precision per process, and other tests of this process train in another one.
    for state in (AcceleratorState, PartialState):
        monkeypatch.setattr(state, "_shared_state", {})
    bare = models["snowflake"]
    saved = tmp_path / "kept"
    bare.save_pretrained(str(saved), create_model_card=False)
    training = Accelerator(mixed_precision="bf16", cpu=True).prepare_model(
        load_model(twins.snowflake_spec(saved), device="cpu"), evaluation_mode=True
    )
    found = embedded(BatchedModel(training, 100, bf16=True), TEXTS)
    again = embedded(BatchedModel(load_model(twins.snowflake_spec(saved), device="cpu"), 100, bf16=True), TEXTS)
    assert found.tolist() == again.tolist()
    full = embedded(BatchedModel(bare, 100), TEXTS)
    assert 1e-5 < np.abs(found - full).mean() < 0.05


def test_joined_inputs_are_refused(models: dict, monkeypatch) -> None:
    """What preprocess gives where flash attention needs no padding: one row with all tokens."""
    monkeypatch.setattr(models["snowflake"], "preprocess", lambda *_, **__: {"input_ids": torch.ones(1, 9)})
    with pytest.raises(TendrilError, match="unpad_inputs"):
        tokenise(models["snowflake"], ["a", "b"], "", "document")


def test_lengths_are_counted_before_the_cut(models: dict) -> None:
    """200 words, [s] and [/s]; and the two alone."""
    assert list(token_lengths(models["snowflake"].tokenizer, [" ".join(["w1"] * 200), ""])) == [202, 2]
