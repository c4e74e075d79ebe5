"""Models in the Hugging Face hub's cache on this machine. Nothing here asks the network."""

import shlex
from pathlib import Path

# What a repository may hold besides and is never read: pickled weights, and exports for other frameworks and runtimes.
NEVER_READ = (
    *("*.bin", "*.pt", "*.pth", "*.ckpt"),
    *("*.h5", "*.msgpack", "*.onnx*", "*.gguf", "openvino/*"),
)


def cache_folder() -> Path:
    """Where the cache is: ``HF_HUB_CACHE``, or below ``HF_HOME``."""
    from huggingface_hub.constants import HF_HUB_CACHE

    return Path(HF_HUB_CACHE)


def cached_snapshot(model: str, revision: str | None = None) -> Path | None:
    """The snapshot folder of a hub id, named by its commit; None where the cache has none of that revision.

    Without a revision it is the one that the cache holds as ``main``. The folder may lack files that were never fetched.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(model, revision=revision, local_files_only=True, cache_dir=cache_folder()))
    except (LocalEntryNotFoundError, HFValidationError):
        return None


def fetch_command(model: str, revision: str | None = None, *, leave_out: tuple[str, ...] = ()) -> str:
    """The command that fetches a model into the cache, without the files that match ``leave_out``."""
    at = f" --revision {shlex.quote(revision)}" if revision else ""
    without = "".join(f" --exclude {shlex.quote(pattern)}" for pattern in leave_out)
    return f"hf download {shlex.quote(model)}{at}{without}"
