"""Texts through a sentence-transformers model in batches of like length; torch is loaded when the first text comes.

The same vectors as ``SentenceTransformer.encode`` gives, rounding aside: the model's own ``preprocess`` applies prompt
and truncation, its own modules run. What differs is the batches. The library sorts by characters and takes 32 texts
whatever their length: that pads more than needed, and 32 texts of 8,192 tokens break any machine. Here each text is
turned into tokens once, texts are sorted by tokens, and a batch holds as many as a budget of padded tokens allows.
"""

import contextlib
import logging
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tendril_assets.errors import TendrilError
from tendril_assets.evaluation.batches import batch_end, longest_first

_LOG = logging.getLogger(__name__)
_TOKENISED_TOGETHER = 1024  # texts; the tokenizer's lists of Python integers take ten times the arrays they become
# Padded tokens per batch where the specification names none. A CPU is fastest while a batch fits into its caches (MiniLM:
# 1,000 to 4,000, a quarter slower at 16,000); a GPU needs work for all its cores at once.
TOKENS_PER_BATCH = {"cpu": 2_048, "cuda": 16_384}
# Unpadded, and lists instead of tensors: the batches are made from the lengths that come out.
AS_LISTS = {"text": {"padding": False}, "common": {"return_tensors": None}}


class Tokens(NamedTuple):
    """Texts as the model reads them.

    ``columns``: what the tokenizer gives per text (input_ids, attention_mask, ...), one array a text. ``shared``: what
    ``preprocess`` says of all of them (modality, length of the prompt). ``lengths``: tokens, special ones included.
    """

    columns: dict[str, list[np.ndarray]]
    shared: dict[str, Any]
    lengths: np.ndarray


def tokenise(model: Any, texts: Sequence[str], prompt: str, task: str) -> Tokens:
    """Raises TendrilError for a model that does not read texts as rows of tokens (flash attention without padding)."""
    columns: dict[str, list[np.ndarray]] = {}
    shared: dict[str, Any] = {}
    for start in range(0, len(texts), _TOKENISED_TOGETHER):
        part = list(texts[start : start + _TOKENISED_TOGETHER])
        features = model.preprocess(part, prompt=prompt, task=task, processing_kwargs=AS_LISTS)
        rows = features["input_ids"]
        if not isinstance(rows, list) or len(rows) != len(part):
            raise TendrilError(
                "this model joins its inputs without padding (flash attention): set unpad_inputs to false in its "
                "first module, or load it with attn_implementation sdpa"
            )
        for name, value in features.items():
            if isinstance(value, list):
                columns.setdefault(name, []).extend(np.asarray(row, dtype=np.int32) for row in value)
            else:
                shared[name] = value
    lengths = np.array([len(row) for row in columns.get("input_ids", [])], dtype=np.int64)
    return Tokens(columns, shared, lengths)


def token_lengths(tokenizer: Any, inputs: Sequence[str]) -> Iterator[int]:
    """Tokens of each input, special ones included, before anything is cut off."""
    for start in range(0, len(inputs), _TOKENISED_TOGETHER):
        part = list(inputs[start : start + _TOKENISED_TOGETHER])
        yield from (len(ids) for ids in tokenizer(part, truncation=False, verbose=False)["input_ids"])


def count_truncated(model: Any, inputs: Sequence[str]) -> int:
    """Inputs with more tokens, prompt and special ones included, than the SentenceTransformer ``model`` reads."""
    limit = model.max_seq_length
    return 0 if limit is None else sum(length > limit for length in token_lengths(model.tokenizer, inputs))


class BatchedModel:
    """A loaded SentenceTransformer and the budget its batches keep to.

    Args:
        model: used as it stands: its device, weights, ``truncate_dim``.
        budget: padded tokens per batch, or None for ``TOKENS_PER_BATCH`` of the device; a longer text is a batch of its
            own. Lowered for good where the GPU's memory does not suffice.
        bf16: compute under bf16 autocast, as a training in bf16 does. Weights in training and the same weights loaded
            again go through the same computation if both say the same here.
    """

    def __init__(self, model: Any, budget: int | None = None, *, bf16: bool = False) -> None:
        self.model = model
        self.budget = budget or TOKENS_PER_BATCH.get(model.device.type, TOKENS_PER_BATCH["cpu"])
        self.bf16 = bf16

    def embed(self, texts: Sequence[str], prompt: str, task: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Batches as they are done: (positions in ``texts``, their embeddings of length 1, float32), longest first.

        Raises:
            TendrilError: a single text that does not fit into the GPU's memory.
        """
        import torch

        tokens = tokenise(self.model, texts, prompt, task)
        order = longest_first(tokens.lengths)
        training = self.model.training
        self.model.eval()
        start = 0
        try:
            while start < len(order):
                longest = int(tokens.lengths[order[start]])
                end = batch_end(longest, start, len(order), self.budget)
                rows = order[start:end]
                vectors = None
                try:
                    vectors = self._forward(tokens, rows, task)
                except torch.OutOfMemoryError as error:
                    if len(rows) == 1:
                        raise TendrilError(
                            f"a text of {longest} tokens does not fit into the memory of {self.model.device}: set "
                            "max_length of the model lower, or use a device with more memory"
                        ) from error
                # Only here has the error let go of the tensors that its frames hold.
                if vectors is None:
                    self._lower_budget(len(rows), longest)
                else:
                    yield rows, vectors
                    start = end
        finally:
            self.model.train(training)

    def _lower_budget(self, texts: int, longest: int) -> None:
        import torch

        self.budget = max(longest, texts * longest // 2)  # of what was tried, which may be less than the budget
        _LOG.warning(
            "out of memory with %d texts of %d tokens: going on with at most %d tokens a batch (encode_tokens)",
            *(texts, longest, self.budget),
        )
        torch.cuda.empty_cache()

    def _forward(self, tokens: Tokens, rows: np.ndarray, task: str) -> np.ndarray:
        import torch
        from sentence_transformers.util import batch_to_device, truncate_embeddings

        model = self.model
        device = model.device
        padded = model.tokenizer.pad(
            {name: [column[row].tolist() for row in rows] for name, column in tokens.columns.items()},
            return_tensors="pt",
            verbose=False,
        )
        features = batch_to_device({**padded, **tokens.shared}, device)
        autocast = torch.autocast(device.type, dtype=torch.bfloat16) if self.bf16 else contextlib.nullcontext()
        with torch.inference_mode():
            with autocast:
                vectors = model(features, task=task)["sentence_embedding"]
            vectors = truncate_embeddings(vectors.float(), model.truncate_dim)
            return torch.nn.functional.normalize(vectors, p=2, dim=1).cpu().numpy()
