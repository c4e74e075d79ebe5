"""Encoding passages with MiniLM: ours beside the library's ``encode``, and the bound that matrix products set.

``python -m tendril_assets_tests.benchmarks.encode [--size small|published]``

German passages of published lengths, one thread, CPU seconds, all arms in turns. ``plain`` is ``encode`` as it comes: its
own sorting by characters, 32 texts a batch; ``in_order`` the same without sorting, batch by batch as the texts come.
``bound`` is the time of the model's matrix products alone, for exactly the tokens that are there: its linear layers, and
both products of attention, by ``torch.mm`` and ``torch.bmm`` on as many tokens as our batches hold. Tokenising, softmax,
activations and norms are not in it.

``ratio_plain`` is our passages per CPU second over those of ``encode``; ``share_of_bound`` is at least 0.8 where padding
and overhead are small.
"""

import argparse
import json
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from tendril_assets.evaluation.batches import batch_end, longest_first
from tendril_assets.evaluation.dense import Encoder
from tendril_assets.evaluation.encoding import TOKENS_PER_BATCH
from tendril_assets.evaluation.models import load_model
from tendril_assets.spec import ModelSpec
from tendril_assets_tests.benchmarks.neardup import made_up
from tendril_assets_tests.benchmarks.train import MINILM

SIZES = {"small": (120, 2), "published": (1_000, 2)}
PLAIN_BATCH = 32


def published_passages(n: int) -> list[str]:
    """Different passages in an order that has nothing to do with their lengths."""
    texts = list(dict.fromkeys(made_up(n + n // 4)["text"]))[:n]
    random.Random(42).shuffle(texts)
    return texts


def token_counts(model: Any, texts: list[str]) -> np.ndarray:
    return np.array([len(ids) for ids in model.tokenizer(texts, truncation=True)["input_ids"]])


def products(model: Any, lengths: np.ndarray) -> Callable[[], None]:
    """The matrix products of the model's layers for these texts, batch by batch, nothing padded."""
    layers = model.transformers_model.encoder.layer
    config = model.transformers_model.config
    heads, width = config.num_attention_heads, config.hidden_size // config.num_attention_heads
    linear = [module for module in layers[0].modules() if isinstance(module, torch.nn.Linear)]
    weights = [module.weight.detach().T for module in linear]
    order, batches, start = longest_first(lengths), [], 0
    while start < len(order):
        end = batch_end(int(lengths[order[start]]), start, len(order), TOKENS_PER_BATCH["cpu"])
        batches.append(lengths[order[start:end]])
        start = end
    sizes = {int(batch.sum()) for batch in batches}
    inputs = {(rows, w.shape[0]): torch.randn(rows, w.shape[0]) for rows in sizes for w in weights}
    # Attention is of a text with itself: one product per batch, at the length that costs as much as its texts do.
    shapes = [(heads * len(batch), max(1, round(float(np.sqrt((batch**2).mean())))), width) for batch in batches]
    queries = {shape: torch.randn(shape) for shape in shapes}
    scores = {shape: torch.randn(shape[0], shape[1], shape[1]) for shape in shapes}

    def multiply() -> None:
        for batch, shape in zip(batches, shapes, strict=True):
            rows = int(batch.sum())
            for _ in layers:
                for weight in weights:
                    torch.mm(inputs[rows, weight.shape[0]], weight)
                torch.bmm(queries[shape], queries[shape].transpose(1, 2))
                torch.bmm(scores[shape], queries[shape])

    return multiply


def product_flops(model: Any, lengths: np.ndarray) -> float:
    """Of ``products``: two per multiplication and addition."""
    layers = model.transformers_model.encoder.layer
    linear = sum(m.weight.numel() for m in layers.modules() if isinstance(m, torch.nn.Linear))
    width = model.transformers_model.config.hidden_size
    return float(2 * linear * lengths.sum() + 4 * len(layers) * width * (lengths.astype(np.float64) ** 2).sum())


def measure(spec: ModelSpec, n: int, rounds: int) -> dict[str, Any]:
    torch.set_num_threads(1)
    model = load_model(spec, device="cpu")
    texts = published_passages(n)
    lengths = token_counts(model, texts)
    results: dict[str, Any] = {}
    arms: dict[str, Callable[[], Any]] = {
        "bound": products(model, lengths),
        "ours": lambda: Encoder(model, spec, "measured").encode(texts, "document"),
        "plain": lambda: model.encode(texts, prompt="", batch_size=PLAIN_BATCH, normalize_embeddings=True),
        "in_order": lambda: np.concatenate(
            [
                model.encode(texts[start : start + PLAIN_BATCH], prompt="", normalize_embeddings=True)
                for start in range(0, n, PLAIN_BATCH)
            ]
        ),
    }
    with torch.inference_mode():
        arms["bound"]()  # what is set up at the first product is nobody's time
    cpu = dict.fromkeys(arms, 0.0)
    for _ in range(rounds):
        for name, arm in arms.items():
            begin = time.process_time()
            with torch.inference_mode():
                results[name] = arm()
            cpu[name] += (time.process_time() - begin) / rounds
    apart = float(np.abs(results["ours"] - results["plain"]).max())
    assert apart < 1e-5, f"the vectors are not those of the library: {apart}"
    return {
        "passages": n,
        "mean_tokens": float(lengths.mean()),
        "largest_tokens": int(lengths.max()),
        "bound_gflops": product_flops(model, lengths) / cpu["bound"] / 1e9,
        **{f"{name}_per_cpu_s": n / seconds for name, seconds in cpu.items()},
        "ratio_plain": cpu["plain"] / cpu["ours"],
        "ratio_in_order": cpu["in_order"] / cpu["ours"],
        "share_of_bound": cpu["bound"] / cpu["ours"],
        "largest_difference": apart,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="small")
    size = parser.parse_args().size
    figures = measure(ModelSpec.model_validate(MINILM), *SIZES[size])
    for name, value in figures.items():
        print(f"{name:28}{value:>14,.3f}" if isinstance(value, float) else f"{name:28}{value:>14,}")
    print(json.dumps({"size": size, **figures}))


if __name__ == "__main__":
    main()
