"""A loaded model made to embed as its specification says. Importing this loads torch and sentence-transformers."""

import itertools
from collections import OrderedDict
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import CrossEncoder, SentenceTransformer
from sentence_transformers.base.modules import Dense, Transformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling
from torch import nn
from transformers import PreTrainedModel

from tendril_assets.errors import TendrilError
from tendril_assets.evaluation.model_limits import Shape, shape_problems, tokens_read
from tendril_assets.spec import ModelSpec

_NAMED = 5


@contextmanager
def all_weights_read(base: str, folder: Path, unused: tuple[str, ...] = ("pooler",)) -> Generator[None]:
    """Raises TendrilError where a model loaded in the block has weights that its files lack, or hold in another shape.

    The library fills them with random values and only logs it. sentence-transformers does not pass its account of it on
    (``output_loading_info``), so it is asked for here, on its way. Heads for other tasks may be left over. Modules named in
    ``unused`` may lack: an embedding model never uses its pooler's weights, a cross-encoder may.
    """
    original = PreTrainedModel.__dict__["from_pretrained"]
    lacking: list[str] = []

    def from_pretrained(cls: type[PreTrainedModel], *arguments: Any, **named: Any) -> Any:
        named |= {"output_loading_info": True, "ignore_mismatched_sizes": True}
        model, info = original.__func__(cls, *arguments, **named)
        lacking.extend(sorted(info["missing_keys"]))
        lacking.extend(
            f"{key} ({list(found)} instead of {list(wanted)})" for key, found, wanted in sorted(info["mismatched_keys"])
        )
        return model

    PreTrainedModel.from_pretrained = classmethod(from_pretrained)  # ty: ignore[invalid-assignment]
    try:
        yield
    finally:
        PreTrainedModel.from_pretrained = original
    if lacking := [key for key in lacking if not set(unused) & set(key.split("."))]:
        more = f" and {len(lacking) - _NAMED:,} more" if len(lacking) > _NAMED else ""
        raise TendrilError(
            f"the files of {base} in {folder} do not hold all weights of the model: {', '.join(lacking[:_NAMED])}{more} would "
            "be random values. Fetch or copy the model again, whole"
        )


def default_modules(folder: Path, spec: ModelSpec, arguments: dict[str, Any]) -> list[nn.Module]:
    """Modules for a folder that is a plain transformer: its own pooling is nobody's, so the specification's is taken."""
    shared = {"local_files_only": True, "trust_remote_code": spec.trust_remote_code}
    transformer = Transformer(
        str(folder), model_kwargs=shared | arguments, processor_kwargs=dict(shared), config_kwargs=dict(shared)
    )
    return [transformer, Pooling(transformer.get_embedding_dimension(), spec.pooling)]


def fit_to(model: SentenceTransformer, spec: ModelSpec) -> None:
    """Give ``model`` the specification's prompts, length and width, and embeddings of length 1.

    Raises TendrilError where it pools otherwise, is narrower, reads less, or cannot pad.
    """
    tokenizer = model.tokenizer
    if tokenizer is not None and getattr(tokenizer, "pad_token", "") is None:
        raise TendrilError(
            f"the tokenizer of {spec.base} has no padding token, so texts cannot go through in batches: save it once with one "
            "(tokenizer.pad_token = tokenizer.eos_token; tokenizer.save_pretrained(FOLDER)) and name that folder as base"
        )
    model.truncate_dim = None  # of the base: it would be taken for its width
    width = model.get_embedding_dimension() or model.encode(["a"]).shape[1]  # code of its own need not say
    if problems := shape_problems(spec, Shape(position_limit(model), width, _pooling(model))):
        raise TendrilError("; ".join(problems))
    model.max_seq_length = spec.max_length
    # The base's own prompts and default would reach whoever calls encode without naming one.
    model.prompts = {"query": spec.query_prompt, "document": spec.document_prompt}
    model.default_prompt_name = None
    model.similarity_fn_name = "cosine"
    if not spec.trust_remote_code:
        _forget_code(model)
    _set_width(model, width, spec.dimensions)


def position_limit(model: SentenceTransformer | CrossEncoder) -> int | None:
    """Tokens, special ones included, that the model has positions for; None where nothing limits it.

    For a table of positions see ``model_limits.tokens_read``. For rotary ones it is the length the configuration names.
    """
    transformer = model.transformers_model
    if transformer is None:
        return None
    configured = getattr(transformer.config.get_text_config(), "max_position_embeddings", None)
    for name, module in transformer.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            return tokens_read(module.num_embeddings, module.padding_idx, configured)
    return None if configured is None else tokens_read(configured, None)


def _forget_code(model: SentenceTransformer) -> None:
    """Take the base's own code off what is saved: it had no part in this model, and another reader might run it."""
    transformer, tokenizer = model.transformers_model, model.tokenizer
    if transformer is not None and hasattr(transformer.config, "auto_map"):
        del transformer.config.auto_map
    if isinstance(settings := getattr(tokenizer, "init_kwargs", None), dict):
        settings.pop("auto_map", None)


def _pooling(model: SentenceTransformer) -> frozenset[str]:
    modes = (module.pooling_mode for module in model if isinstance(module, Pooling))
    return frozenset(mode if isinstance(mode, str) else "+".join(mode) for mode in modes)


def _set_width(model: SentenceTransformer, width: int, dimensions: int) -> None:
    """End the model, which gives ``width`` of them, with its first ``dimensions`` coordinates, brought to length 1.

    A narrower width (Matryoshka) is a step of the model itself, not the library's ``truncate_dim``: that cuts after the
    normalisation, so that embeddings come out shorter than 1, and the loss would train coordinates that are never used.
    The step is a projection by ones and zeros, a stock module, so that the saved model needs no code of ours.
    """
    modules = OrderedDict(model.named_children())
    if isinstance(next(reversed(modules.values())), Normalize):
        modules.popitem()
    if width > dimensions:
        first = Dense(width, dimensions, bias=False, activation_function=nn.Identity())
        first.linear.weight = nn.Parameter(torch.eye(dimensions, width), requires_grad=False)
        modules[_free_name(modules)] = first.to(model.device)
    modules[_free_name(modules)] = Normalize()
    for name in list(model._modules):
        del model._modules[name]
    for name, module in modules.items():
        model.add_module(name, module)


def _free_name(modules: Mapping[str, nn.Module]) -> str:
    """By their number, as the library names them; saved modules may have been named otherwise."""
    return next(name for name in map(str, itertools.count(len(modules))) if name not in modules)
