"""Base and fine-tuned models on this machine: where they are, what names them, how they are loaded.

Nothing is fetched: a base of the hub is looked for in the hub's cache, and where it is missing the error says which
command fetches it. So a job on a machine without a network behaves as anywhere else, and no run begins with a download
nobody asked for. sentence-transformers and torch are imported when a model is loaded, never before.
"""

import importlib.util
import json
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from tendril_assets.errors import BaseMissing, TendrilError
from tendril_assets.evaluation.model_files import (
    MODULES,
    WEIGHTS,
    check_folder,
    folder_hash,
    model_folders,
    weights_hash,
)
from tendril_assets.hub_cache import NEVER_READ, cache_folder, cached_snapshot, fetch_command
from tendril_assets.spec import ModelSpec
from tendril_assets.spec_base import is_commit
from tendril_assets.spec_training import PACKAGE, is_local_path

ENCODER_VERSION = "1"


class NamedBase(Protocol):
    """A part of a specification that names a model on this machine: an embedding model, a reranker."""

    @property
    def base(self) -> str: ...

    @property
    def revision(self) -> str | None: ...

    @property
    def is_hub_id(self) -> bool: ...


class Base(NamedTuple):
    """A base model on this machine. ``commit`` is that of a snapshot in the hub's cache."""

    kind: Literal["package", "folder", "hub"]
    folder: Path
    commit: str | None = None


def model_source(spec: ModelSpec) -> Path:
    """The folder of the base model, fit to be loaded and checked against ``sha256`` where given.

    ``package:<import name>`` is the model folder that an installed package carries; it is found without importing the
    package. A hub id is the snapshot of its revision in the hub's cache.
    Raises TendrilError for a base that is not on this machine, is not complete, would have to be unpickled, would run code
    that is not trusted or not pinned, or has weights of another hash.
    """
    kind, folder, _ = find_base(spec)
    if kind == "folder" and not folder.is_dir():
        at = "" if folder.is_absolute() else f", seen from the working directory {Path.cwd()}"
        raise TendrilError(f"base: there is no folder {folder}{at}: put the model there, or correct base")
    check_folder(folder, spec.base, runs_code=spec.trust_remote_code, native_code=spec.native_code)
    if spec.sha256 and (actual := weights_hash(folder)) != spec.sha256.lower():
        raise TendrilError(
            f"sha256: the specification says {spec.sha256}, the weights in {folder} have SHA-256 {actual or 'none'}: these "
            "are other weights; install the right ones, or correct sha256"
        )
    return folder


def find_base(spec: NamedBase) -> Base:
    """Where the base is, without looking into it.

    Raises BaseMissing where it is not on this machine, TendrilError for what is neither a hub id nor written as a path.
    """
    if spec.base.startswith(PACKAGE):
        return Base("package", _package_folder(spec.base.removeprefix(PACKAGE)))
    if is_local_path(spec.base):
        return Base("folder", _local_folder(spec.base))
    snapshot = cached_snapshot(spec.base, spec.revision)
    if snapshot is None:
        if Path(spec.base).is_dir() or spec.base.count("/") > 1:
            raise TendrilError(
                f"base {spec.base!r} is taken for a hub id, and the hub's cache has none of that name: for a folder, write "
                f"./{spec.base}, or an absolute path"
            )
        raise BaseMissing(
            f"the base model {spec.base!r} (revision {spec.revision or 'not given'}) is not in the hub's cache "
            f"{cache_folder()}, and nothing is fetched during a run. Fetch it once: {fetch(spec)} (or set HF_HOME to the cache "
            f"that holds it). The base is taken for a hub id; for a folder, write ./{spec.base}, or an absolute path"
        )
    return Base("hub", snapshot, snapshot.name)


def fetch(spec: NamedBase) -> str:
    """The command that fetches a base of the hub, without files that are never read."""
    return fetch_command(spec.base, spec.revision, leave_out=NEVER_READ)


def model_identity(spec: ModelSpec, weights: Path | None = None) -> str:
    """Names everything an embedding depends on but prompt and text: weights, whose code, pooling, length, width, version.

    ``weights`` is the folder of a fine-tuned model; without it the base is meant. Folders are named by their content,
    hub ids by their commit: the one that pins them, else the one in the hub's cache. Hashing reads a folder once.
    Raises TendrilError for a base that is not pinned and not on this machine: nobody could say which one it is.
    """
    named = {
        "version": ENCODER_VERSION,
        "content": folder_hash(weights) if weights else _hub_name(spec) or folder_hash(model_source(spec)),
        "pooling": spec.pooling,
        "max_length": spec.max_length,
        "dimensions": spec.dimensions,
    }
    if spec.trust_remote_code:
        named["code"] = "own"  # the same weights may load as the library's class, with native_code
    return json.dumps(named, sort_keys=True)


def weights_name(spec: ModelSpec, weights: Path | None = None) -> str:
    """What ranks, in one word: SHA-256 of the weights in a folder, or hub id and commit of a base of the hub.

    Raises TendrilError as ``model_identity`` does.
    """
    if weights is None and (name := _hub_name(spec)) is not None:
        return name
    folder = weights or model_source(spec)
    found = weights_hash(folder)
    if found is None:
        raise TendrilError(f"{folder} holds no whole weights: copy the model again, whole, or train it again")
    return found


def _hub_name(spec: ModelSpec) -> str | None:
    """Hub id and commit; None for a base that is a folder of its own. A pinned base need not be on this machine."""
    if not spec.is_hub_id:
        return None
    if is_commit(spec.revision):
        return f"{spec.base}@{spec.revision}"
    return f"{spec.base}@unpinned-{find_base(spec).commit}"


def is_pinned(spec: NamedBase) -> bool:
    """Whether the base is known by content or by a commit in full, so that what it gave may be used again later."""
    return is_commit(spec.revision) or not spec.is_hub_id


def load_model(spec: ModelSpec, weights: Path | None = None, device: str | None = None) -> Any:
    """A ``SentenceTransformer`` in float32 that embeds as the specification says, however the base was saved.

    Its prompts, maximum length, width and pooling are the specification's; its embeddings have length 1; saved, it is all
    that for whoever loads it. ``weights`` is the folder of a fine-tuned model; without it the base is loaded. Only
    safetensors are read, and nothing is asked of the network. Raises TendrilError as ``model_source`` does, for a model
    that cannot be loaded or whose files lack weights, and where the model pools, measures or limits otherwise than
    the specification says.
    """
    if weights is not None:
        check_folder(weights, str(weights), runs_code=spec.trust_remote_code, native_code=spec.native_code)
    folder = weights or model_source(spec)

    import torch
    from huggingface_hub.errors import StrictDataclassError
    from safetensors import SafetensorError
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging as transformers_logging

    from tendril_assets.evaluation.model_shape import all_weights_read, default_modules, fit_to

    # Loading is over in a moment; its bar would be drawn over the run's own progress.
    transformers_logging.disable_progress_bar()
    arguments = {"dtype": torch.float32, "use_safetensors": True}
    try:
        with all_weights_read(spec.base, folder):
            if (folder / MODULES).is_file():
                model = SentenceTransformer(
                    str(folder),
                    device=device,
                    local_files_only=True,
                    trust_remote_code=spec.trust_remote_code,
                    model_kwargs=arguments,
                )
            else:
                model = SentenceTransformer(
                    modules=default_modules(folder, spec, arguments),
                    device=device,
                    trust_remote_code=spec.trust_remote_code,
                )
    except (OSError, ValueError, ImportError, SafetensorError) as error:
        raise TendrilError(f"{spec.base} cannot be loaded from {folder}: {error}") from error
    except (AttributeError, TypeError, LookupError, StrictDataclassError, RuntimeError) as error:
        # What a missing or malformed file of the folder comes to. Of RuntimeError torch's words for weights that do not fit.
        if isinstance(error, RuntimeError) and "state_dict" not in str(error):
            raise
        told = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise TendrilError(f"{spec.base} cannot be loaded from {folder}: {told}") from error
    fit_to(model, spec)
    return model


def _local_folder(base: str) -> Path:
    try:
        return Path(base).expanduser()
    except RuntimeError as error:
        raise TendrilError(f"base {base!r}: {error}; write the whole path") from error


def _package_folder(name: str) -> Path:
    if not all(part.isidentifier() for part in name.split(".")):
        raise TendrilError(
            f"base: {PACKAGE}{name}: {name!r} is no import name of a package, such as my_models: correct base"
        )
    missing = (
        f"base: {PACKAGE}{name}: the package {name!r} that carries the base model is not installed: install it (the extra "
        "'sandbox' has the sample's), or correct base"
    )
    try:
        found = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:  # of a dotted name the parents are imported
        raise BaseMissing(f"{missing} ({error})") from error
    except (ImportError, ValueError) as error:
        raise TendrilError(f"base: {PACKAGE}{name}: {error}: install the package again, or correct base") from error
    if found is None or not found.submodule_search_locations:
        raise BaseMissing(missing)
    folders = sorted({folder for root in found.submodule_search_locations for folder in model_folders(Path(root))})
    if len(folders) != 1:
        raise TendrilError(f"the package {name!r} carries {len(folders)} model folders with {WEIGHTS}, one is needed")
    return folders[0]
