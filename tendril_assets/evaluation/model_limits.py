"""What a model's files say of its shape, and what a specification may ask of it: tokens read, width, pooling.

No weights are read here and torch is not imported, so a mistake in a recipe is found before anything is asked or paid.
``model_shape`` puts the same questions to the loaded model, whose own words count.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, get_args

from tendril_assets.errors import TendrilError
from tendril_assets.evaluation.model_files import listed_modules, read_json
from tendril_assets.spec import ModelSpec

# Architectures of Transformers that count positions from the padding id + 1 on, by ``model_type``.
_PADDED = frozenset({
    *("camembert", "data2vec-text", "layoutlmv3", "lilt", "longformer", "luke", "markuplm", "mpnet", "roberta"),
    *("roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl", "xmod"),
})  # fmt: skip
# Configurations name the width in several ways; the library knows them all as ``hidden_size``.
_WIDTHS = ("hidden_size", "dim", "d_model", "n_embd")
_POOLING_WIDTHS = ("embedding_dimension", "word_embedding_dimension")
# How a pooling was saved before it was one word, in the order in which several are put together.
_FORMER_MODES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
_SAME_WIDTH = ("Normalize", "Dropout", "LayerNorm")
_LIBRARY = "sentence_transformers."


class Shape(NamedTuple):
    """``positions``: tokens that are read at most, special ones included; ``width``: dimensions of the embeddings. None
    where nothing says it. ``pooling``: the modes of its pooling modules, several of one module joined by ``+``."""

    positions: int | None
    width: int | None
    pooling: frozenset[str]


def tokens_read(rows: int, padding: int | None, configured: Any = None) -> int | None:
    """Tokens that a table of ``rows`` positions serves; None where nothing limits them.

    The RoBERTa family (XLM-R, CamemBERT, MPNet) counts positions from its padding id + 1 on, so 8,194 rows serve 8,192
    tokens. Others have spare rows, and serve what is ``configured``.
    """
    found = rows if padding is None else rows - padding - 1
    found = min(found, configured) if isinstance(configured, int) else found
    return found if found > 0 else None


def shape_problems(spec: ModelSpec, shape: Shape) -> list[str]:
    """Where the specification asks for more than the model has, one sentence each, with the field to change."""
    found = []
    if shape.pooling and shape.pooling != {spec.pooling}:
        modes = sorted(shape.pooling)
        known = get_args(ModelSpec.model_fields["pooling"].annotation)
        found.append(
            f"{spec.base} pools by {', '.join(modes)}, the specification says {spec.pooling!r}: "
            + (f"set pooling to {modes[0]}" if modes[0] in known else f"take a base that pools by {_either(known)}")
        )
    if shape.positions is not None and spec.max_length > shape.positions:
        found.append(
            f"{spec.base} reads at most {shape.positions} tokens, the specification says {spec.max_length}: set max_length to "
            f"{shape.positions} or less"
        )
    if shape.width is not None and spec.dimensions > shape.width:
        found.append(
            f"{spec.base} gives {shape.width} dimensions, the specification says {spec.dimensions}: set dimensions to "
            f"{shape.width} or less"
        )
    return found


def described_shape(folder: Path, *, runs_code: bool) -> Shape:
    """The shape that the files in a model's folder tell; what they leave open, loading shows.

    ``runs_code``: the base's own code is run, which need not count positions as the library does.
    Raises TendrilError for files that are not readable, and a transformer without ``config.json``.
    """
    modules = [(str(m.get("type", "")), folder / str(m.get("path", ""))) for m in listed_modules(folder)]
    modules = modules or [(f"{_LIBRARY}Transformer", folder)]
    configs = {place: read_json(place / "config.json", dict) for _, place in modules if _has_config(place)}
    first, place = modules[0]
    if _kind(first) == "Transformer" and place not in configs:
        raise TendrilError(f"{place} lacks config.json: fetch or copy the model again, whole")
    transformer = _text_part(configs[place]) if _kind(first) == "Transformer" else {}
    poolings = (_modes(configs.get(place, {})) for kind, place in modules if _kind(kind) == "Pooling")
    return Shape(
        _positions(transformer, runs_code=runs_code),
        _width([(_kind(kind), configs.get(place, {})) for kind, place in modules]),
        frozenset("+".join(modes) for modes in poolings),
    )


def told_cut(spec: ModelSpec, width: int | None) -> str | None:
    """That the base gives more dimensions than are used; None where it does not. ``width``: of the base."""
    if width is None or width <= spec.dimensions:
        return None
    return f"{width:,} dimensions of the base cut to {spec.dimensions:,}"


def cut_warning(spec: ModelSpec, width: int | None) -> str | None:
    """What is said of a cut that the model does not declare; None without a cut, and for one of its ``matryoshka``."""
    if told_cut(spec, width) is None or spec.dimensions in spec.matryoshka:
        return None
    declared = ", ".join(f"{w:,}" for w in sorted(spec.matryoshka)) or f"which has none up to {spec.dimensions:,}"
    return (
        f"{spec.dimensions:,} is none of the widths in matryoshka ({declared}): nobody says that the base was trained to be cut "
        f"there. Set dimensions to {width}, or add {spec.dimensions} to matryoshka if the base's card has it"
    )


def _either(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _has_config(place: Path) -> bool:
    return (place / "config.json").is_file()


def _kind(module: str) -> str:
    """The class of a module of the library; of own code nothing is known."""
    return module.rpartition(".")[2] if module.startswith(_LIBRARY) else ""


def _text_part(config: dict[str, Any]) -> dict[str, Any]:
    """A model of several inputs describes each apart."""
    return text if isinstance(text := config.get("text_config"), dict) else config


def _number(config: dict[str, Any], names: Iterable[str]) -> int | None:
    return next((value for name in names if type(value := config.get(name)) is int), None)


def _positions(config: dict[str, Any], *, runs_code: bool) -> int | None:
    rows, padding = _number(config, ["max_position_embeddings"]), None
    if config.get("model_type") in _PADDED and not runs_code:
        padding = _number(config, ["pad_token_id"])
    return None if rows is None else tokens_read(rows, padding)


def _width(modules: list[tuple[str, dict[str, Any]]]) -> int | None:
    """Of the last module that sets one, as the library asks for it."""
    for kind, config in reversed(modules):
        if kind == "Dense":
            return _number(config, ["out_features"])
        if kind == "Pooling":
            each = _number(config, _POOLING_WIDTHS)
            return None if each is None else each * len(_modes(config))
        if kind == "Transformer":
            return _number(_text_part(config), _WIDTHS)
        if kind not in _SAME_WIDTH:
            return None
    return None


def _modes(config: dict[str, Any]) -> tuple[str, ...]:
    said = config.get("pooling_mode")
    if said is None:
        return tuple(mode for key, mode in _FORMER_MODES.items() if config.get(key)) or ("mean",)
    return (said,) if isinstance(said, str) else tuple(map(str, said))
