"""Base and fine-tuned models on this machine: where they are, what names them, how they are loaded.

sentence-transformers and torch are imported when a model is loaded, never before.
"""

import hashlib
import importlib.util
import json
from pathlib import Path
from typing import Any

from tendril_assets.errors import TendrilError
from tendril_assets.files import file_hash
from tendril_assets.spec import ModelSpec

ENCODER_VERSION = "1"
WEIGHTS = "model.safetensors"

_PACKAGE = "package:"


def model_source(spec: ModelSpec) -> Path | str:
    """Where the base model is: a folder (checked against ``sha256`` where given), or a hub id as it stands.

    ``package:<import name>`` is the model folder that an installed package carries; it is found without importing the
    package. A hub id is returned unchanged; ``revision`` and the check of its weights follow when it is loaded.
    Raises TendrilError for a package or folder without weights, and for weights of another hash.
    """
    folder = _base_folder(spec)
    if folder is None:
        return spec.base
    weights = folder / WEIGHTS
    if not weights.is_file():
        raise TendrilError(f"base model {spec.base!r}: there is no {WEIGHTS} in {folder}")
    _check_weights(spec, weights)
    return folder


def model_identity(spec: ModelSpec, weights: Path | None = None) -> str:
    """Names everything an embedding depends on but prompt and text: weights, pooling, length, width, code version.

    ``weights`` is the folder of a fine-tuned model; without it the base is meant. Folders are named by their content,
    hub ids by their revision. Hashing reads the folder once.
    """
    source = weights or model_source(spec)
    content = folder_hash(source) if isinstance(source, Path) else f"{source}@{spec.revision or 'unpinned'}"
    named = {
        "version": ENCODER_VERSION,
        "content": content,
        "pooling": spec.pooling,
        "max_length": spec.max_length,
        "dimensions": spec.dimensions,
    }
    return json.dumps(named, sort_keys=True)


def is_pinned(spec: ModelSpec) -> bool:
    """Whether the base is known by content or revision, so that what it gave may be used again later."""
    return bool(spec.revision) or _base_folder(spec) is not None


def folder_hash(folder: Path) -> str:
    """SHA-256 over the names and contents of a model folder's files, the card (README.md) left out."""
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "README.md"):
        digest.update(f"{path.relative_to(folder).as_posix()}\0{file_hash(path)}\n".encode())
    return digest.hexdigest()


def load_model(spec: ModelSpec, weights: Path | None = None, device: str | None = None) -> Any:
    """A ``SentenceTransformer`` in float32 with the maximum length, prompts and width of the specification.

    ``weights`` is the folder of a fine-tuned model; without it the base is loaded. Raises TendrilError where the
    model pools, measures or limits otherwise than the specification says, and where hub weights have another hash.
    """
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling
    from transformers.utils import logging as transformers_logging

    # Loading is over in a moment; its bar would be drawn over the run's own progress.
    transformers_logging.disable_progress_bar()
    source = weights or model_source(spec)
    if isinstance(source, str) and spec.sha256:
        from huggingface_hub import hf_hub_download

        _check_weights(spec, Path(hf_hub_download(source, WEIGHTS, revision=spec.revision)))
    model = SentenceTransformer(
        str(source),
        device=device,
        revision=spec.revision if isinstance(source, str) else None,
        local_files_only=isinstance(source, Path),
        trust_remote_code=spec.trust_remote_code,
        prompts={"query": spec.query_prompt, "document": spec.document_prompt},
        model_kwargs={"dtype": torch.float32},
    )
    modes = {module.pooling_mode for module in model if isinstance(module, Pooling)}
    if modes and modes != {spec.pooling}:
        raise TendrilError(
            f"{spec.base} pools by {sorted(modes)}, the specification says {spec.pooling!r}: set pooling"
        )
    width = model.get_embedding_dimension()
    if width is not None and width < spec.dimensions:
        raise TendrilError(f"{spec.base} gives {width} dimensions, the specification says {spec.dimensions}")
    model.truncate_dim = spec.dimensions if width is None or width > spec.dimensions else None
    limit = getattr(getattr(model.transformers_model, "config", None), "max_position_embeddings", None)
    if limit is not None and spec.max_length > limit:
        raise TendrilError(f"{spec.base} reads at most {limit} tokens, the specification says {spec.max_length}")
    model.max_seq_length = spec.max_length
    return model


def _base_folder(spec: ModelSpec) -> Path | None:
    """Folder of the base, or None for a hub id."""
    if spec.base.startswith(_PACKAGE):
        return _package_folder(spec.base.removeprefix(_PACKAGE))
    if Path(spec.base).is_absolute() or spec.base.startswith("."):
        return Path(spec.base)
    return None


def _package_folder(name: str) -> Path:
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise TendrilError(
            f"the package {name!r} that carries the base model is not installed: see the extra 'sandbox'"
        )
    roots = [Path(location) for location in found.submodule_search_locations]
    folders = sorted({weights.parent for root in roots for weights in root.rglob(WEIGHTS)})
    if len(folders) != 1:
        raise TendrilError(f"the package {name!r} carries {len(folders)} model folders with {WEIGHTS}, one is needed")
    return folders[0]


def _check_weights(spec: ModelSpec, weights: Path) -> None:
    if spec.sha256 and (actual := file_hash(weights)) != spec.sha256.lower():
        raise TendrilError(
            f"{WEIGHTS} of {spec.base} has SHA-256 {actual}, the specification says {spec.sha256}: these are other "
            "weights; install the right ones, or correct sha256"
        )
