"""What a folder of fine-tuned weights says of itself, read off its files: no model is loaded."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from tendril_assets.errors import ExportInvariantError, TendrilError
from tendril_assets.evaluation.model_files import MODULES, weights_hash

_CONFIG = "config_sentence_transformers.json"
_TOKENIZER = "tokenizer_config.json"


class WeightsFolder(NamedTuple):
    """A Sentence Transformers folder.

    ``pooling`` is None without a pooling module, ``width`` (dimensions of the embeddings) where no module tells it.
    ``normalised``: its last module brings embeddings to length 1.
    """

    path: Path
    sha256: str
    prompts: dict[str, str]
    pooling: str | None
    width: int | None
    normalised: bool
    max_length: int | None


def read_weights_folder(path: Path) -> WeightsFolder:
    """Raises ExportInvariantError for a folder without weights, or whose description of itself cannot be read."""
    try:
        found = weights_hash(path)
        modules = [(m["type"].rpartition(".")[2], path / m["path"]) for m in _read(path / MODULES)]
        configs = {
            kind: _read(folder / "config.json") for kind, folder in modules if (folder / "config.json").is_file()
        }
        prompts = _read(path / _CONFIG)["prompts"]
        limit = _read(path / _TOKENIZER).get("model_max_length")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, TendrilError) as error:
        raise ExportInvariantError(
            f"{path} is no Sentence Transformers folder ({error!r}): materialise the model's asset again"
        ) from error
    if found is None:
        raise ExportInvariantError(f"{path} holds no whole weights: materialise the model's asset again")
    pooling, dense = configs.get("Pooling", {}), configs.get("Dense", {})
    return WeightsFolder(
        path=path,
        sha256=found,
        prompts=prompts,
        pooling=pooling.get("pooling_mode"),
        width=dense.get("out_features") or pooling.get("embedding_dimension"),
        normalised=modules[-1][0] == "Normalize",
        max_length=limit,
    )


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
