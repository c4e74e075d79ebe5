"""The texts of a micro-batch in as few and as little padded passes as pays. Importing it loads torch.

A loss over columns (query, positive, negatives) takes one pass per column, each padded to its longest text. The columns
mean nothing to the model: here all texts of a micro-batch are sorted by length and cut into the groups whose cost is
smallest, and the loss puts the embeddings back into columns. Embeddings and gradients are those of one pass per
column, rounding and the draw of dropout masks aside.
"""

from dataclasses import dataclass
from itertools import groupby
from typing import Any

import torch
from sentence_transformers.sentence_transformer.data_collator import SentenceTransformerDataCollator
from sentence_transformers.sentence_transformer.modules import Pooling
from torch import Tensor, nn

from tendril_assets.evaluation.batches import cheapest_groups
from tendril_assets.evaluation.encoding import AS_LISTS

# What one more pass costs beside its tokens, in tokens. On a CPU: MiniLM, 2 rows of the published lengths, one thread; CPU
# time beside that of 16 was 1.06 with 0, 0.99 with 64, 1.07 with 256 and 1.67 with one pass for all. On a GPU, by arithmetic
# and not measured: 24 layers start about 1,000 kernels forward and backward, some 5 ms, in which it computes the 1,000
# tokens of a 300 M model.
PASS_COST = {"cpu": 16, "cuda": 1024}
_GROUP = "group_"
_ORDER = "order"  # in the features of the first group: where in the passes' results each text of each column is


@dataclass
class GroupingCollator(SentenceTransformerDataCollator):
    """The library's collator, its columns regrouped by length: ``group_<n>_input_ids`` instead of ``<column>_...``.

    Texts are padded once, to the longest of their group. Where the pooling leaves the prompt out, texts with prompts of
    different lengths stay in groups of their own, for the model takes one length per pass.

    Args:
        model: the SentenceTransformer the texts are for.
        pass_cost: see ``PASS_COST``.
    """

    model: Any = None
    pass_cost: int = 0

    def __call__(self, features: list[dict[str, Any]]) -> dict[str, Any]:
        batch = super().__call__(features)
        if not features:
            return batch
        columns = [name.removesuffix("_input_ids") for name in batch if name.endswith("_input_ids")]
        texts = [text for column in columns for text in self._texts(batch, column, len(features))]
        grouped = {name: value for name, value in batch.items() if not name.startswith(tuple(f"{c}_" for c in columns))}
        places: list[int] = []
        for number, rows in enumerate(self._groups(texts)):
            padded = self.model.tokenizer.pad(
                {name: [texts[row][0][name] for row in rows] for name in texts[rows[0]][0]}, return_tensors="pt"
            )
            for name, value in {**padded, **texts[rows[0]][1]}.items():
                grouped[f"{_GROUP}{number}_{name}"] = value
            places += rows
        grouped[f"{_GROUP}0_{_ORDER}"] = torch.tensor(places).argsort()
        return grouped

    def _texts(self, batch: dict[str, Any], column: str, rows: int) -> list[tuple[dict, dict]]:
        """(what the tokenizer gave, what holds for the column) of each text."""
        own = {name.removeprefix(f"{column}_"): value for name, value in batch.items() if name.startswith(f"{column}_")}
        lists = {name: value for name, value in own.items() if isinstance(value, list)}
        shared = {name: value for name, value in own.items() if name not in lists}
        if not self._leaves_prompt_out():
            shared.pop("prompt_length", None)
        return [({name: value[row] for name, value in lists.items()}, shared) for row in range(rows)]

    def _groups(self, texts: list[tuple[dict, dict]]) -> list[list[int]]:
        kinds = [repr(sorted(shared.items())) for _, shared in texts]
        groups: list[list[int]] = []
        for _, rows in groupby(sorted(range(len(texts)), key=kinds.__getitem__), key=kinds.__getitem__):
            of_kind = list(rows)
            lengths = [len(texts[row][0]["input_ids"]) for row in of_kind]
            groups += [[of_kind[at] for at in group] for group in cheapest_groups(lengths, self.pass_cost)]
        return groups

    def _leaves_prompt_out(self) -> bool:
        return any(isinstance(module, Pooling) and not module.include_prompt for module in self.model.modules())


def grouping_collator(model: Any, prompts: Any, device: torch.device) -> GroupingCollator:
    """For a trainer on ``device``; ``prompts`` by column, as its arguments have them."""

    def without_padding(texts: list[str], **options: Any) -> dict[str, Any]:
        return model.preprocess(texts, processing_kwargs=AS_LISTS, **options)

    return GroupingCollator(
        preprocess_fn=without_padding, prompts=prompts, model=model, pass_cost=PASS_COST.get(device.type, 0)
    )


def embed_columns(model: nn.Module, features: list[dict[str, Any]], rows: int) -> list[Tensor]:
    """Embeddings by column, each (rows, dimensions), of features by column or by group."""
    order = features[0].get(_ORDER)
    passes = [{name: value for name, value in one.items() if name != _ORDER} for one in features]
    embeddings = [model(one)["sentence_embedding"] for one in passes]
    if order is None:
        return embeddings
    return list(torch.cat(embeddings)[order].unflatten(0, (-1, rows)).unbind(0))
