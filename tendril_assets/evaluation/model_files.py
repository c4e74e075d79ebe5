"""What lies in a model's folder: its weights, one file or shards, and what must not be loaded from it.

Weights are read from safetensors only: unpickling a weights file runs whatever code its author put there. Nothing here
imports torch.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, TypeVar

from tendril_assets.errors import TendrilError
from tendril_assets.files import file_hash

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
MODULES = "modules.json"
LICENCE_NAMES, NOTICE_NAMES = ("LICENSE", "LICENCE", "COPYING"), ("NOTICE",)
TEXT_ENDINGS = ("", ".txt", ".md")
_CODE_MAPS = ("config.json", "tokenizer_config.json", "processor_config.json")
# What loading asks a repository's own code for. Heads for other tasks may be mapped too and are never loaded.
_LOADED = ("AutoConfig", "AutoModel", "AutoTokenizer", "AutoProcessor")
# Any of them, or a vocab.json with its merges.txt. Without one the library makes a tokenizer that knows no word.
_TOKENIZERS = ("tokenizer.json", "vocab.txt", "*.model", "*.tiktoken", "whitespacetokenizer_config.json")
_PICKLES = ("pytorch_model*.bin", "pytorch_model.bin.index.json")
_LIBRARY = "sentence_transformers."
_JSON: dict[type, str] = {dict: "object", list: "array"}
T = TypeVar("T", dict, list)


def weight_files(folder: Path) -> list[Path]:
    """The files of the model's main weights: ``model.safetensors``, or the index and then its shards; [] without any.

    They lie in the folder itself, or where its ``modules.json`` puts the first module. Raises TendrilError for an index
    that is not readable or leads out of the folder; a shard in the list may be missing.
    """
    for place in dict.fromkeys((folder, folder / _module_paths(folder)[0])):
        if (place / WEIGHTS).is_file():
            return [place / WEIGHTS]
        if (place / INDEX).is_file():
            return [place / INDEX, *(place / name for name in _shards(place / INDEX))]
    return []


def weights_hash(folder: Path) -> str | None:
    """SHA-256, hex, of the main weights; None where there are none, or not all of them.

    One file: the hash of its bytes. Shards: the hash over one line ``<hash>  <name>`` for the index and each shard, by
    name, as ``sha256sum model* | sha256sum`` gives it (in the C locale).
    """
    files = weight_files(folder)
    if not files or not all(path.is_file() for path in files):
        return None
    if len(files) == 1:
        return file_hash(files[0])
    lines = (f"{file_hash(path)}  {path.name}\n" for path in sorted(files))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def folder_hash(folder: Path) -> str:
    """SHA-256 over the names and contents of a model folder's files, those for people left out.

    These are cards (README.md), and licence and notice in the folder itself: no embedding depends on them, and who adds the
    licence's text that copies need must not have to train again. Further down a file of such a name may be code or data.
    """
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and not _is_for_people(p.relative_to(folder))):
        digest.update(f"{path.relative_to(folder).as_posix()}\0{file_hash(path)}\n".encode())
    return digest.hexdigest()


def legal_text(folder: Path, names: tuple[str, ...]) -> Path | None:
    """The file in ``folder`` with the first of these names, in any case of letters, alone or as .txt or .md; else None.

    A file that holds nothing but white space is no text, and is passed over.
    """
    if not folder.is_dir():
        return None
    wanted = [f"{name}{ending}".lower() for name in names for ending in TEXT_ENDINGS]
    named = (p for p in sorted(folder.iterdir()) if p.name.lower() in wanted and p.is_file())
    there = [p for p in named if p.read_bytes().strip()]
    return min(there, key=lambda p: wanted.index(p.name.lower()), default=None)


def _is_for_people(place: Path) -> bool:
    """``place``: relative to the model's folder."""
    stem, dot, ending = place.name.partition(".")
    return place.name == "README.md" or (
        len(place.parts) == 1
        and stem.upper() in (*LICENCE_NAMES, *NOTICE_NAMES)
        and (dot + ending).lower() in TEXT_ENDINGS
    )


def model_folders(root: Path) -> list[Path]:
    """The folders below ``root`` that hold a whole model: a ``modules.json``, else weights."""
    found = {path.parent for path in root.rglob(MODULES)}
    found = found or {path.parent for name in (WEIGHTS, INDEX) for path in root.rglob(name)}
    return sorted(folder for folder in found if weight_files(folder))


def check_folder(folder: Path, name: str, *, runs_code: bool, native_code: bool = False) -> None:
    """That the folder can be loaded without unpickling anything, and with code that somebody vouches for.

    ``name`` says in errors which model it is; ``runs_code``: the specification trusts the code that came with it;
    ``native_code``: the specification says that the library's own class does as well.
    Raises TendrilError for a folder that is missing, not complete or not a model's, pickled weights, own code that is
    neither trusted nor declared needless, and code from another repository, which no revision of this one pins.
    """
    if not folder.is_dir():
        raise TendrilError(f"base model {name!r}: there is no folder {folder}: correct base, or put the model there")
    files = weight_files(folder)
    if missing := [path.name for path in files if not path.is_file()]:
        raise TendrilError(f"{name}: {folder} lacks {', '.join(missing)}: fetch or copy the model again, whole")
    _refuse_pickles(folder, name, has_weights=bool(files))
    _check_code(folder, name, runs_code=runs_code, native_code=native_code)
    if not runs_code:  # code of its own may read files of its own
        _check_tokenizer(folder, name)


def _check_tokenizer(folder: Path, name: str) -> None:
    places = dict.fromkeys((folder, folder / _module_paths(folder)[0]))
    has_merges = any((place / "vocab.json").is_file() and (place / "merges.txt").is_file() for place in places)
    if not has_merges and not any(next(place.glob(kind), None) for place in places for kind in _TOKENIZERS):
        raise TendrilError(
            f"{name}: {folder} has no tokenizer (tokenizer.json, or a vocabulary such as vocab.txt): the copy or download is "
            "not complete, and the model would read no word; fetch or copy the model again, whole"
        )


def _refuse_pickles(folder: Path, name: str, *, has_weights: bool) -> None:
    pickled = sorted({path for pattern in _PICKLES for path in folder.rglob(pattern)})
    if not has_weights:
        told = (
            f"only {pickled[0].name}, which is a pickle: loading it would run code"
            if pickled
            else f"no {INDEX} either (pickled weights are never fetched: its repository may have no others)"
        )
        raise TendrilError(
            f"base model {name!r}: there is no {WEIGHTS} in {folder}, {told}. Take a revision of it with safetensors, or "
            "convert it once where you trust it: "
            f"SentenceTransformer({name!r}).save_pretrained(FOLDER), then name that folder as base"
        )
    # Modules beside the transformer fall back to a pickle by themselves where their safetensors are missing.
    for path in pickled:
        if not any((path.parent / weights).is_file() for weights in (WEIGHTS, INDEX)) and path.parent != folder:
            raise TendrilError(
                f"{name}: {path.relative_to(folder)} is a pickle, and there is no {WEIGHTS} beside it: loading it would run "
                "code. Take a revision with safetensors, or convert the model once where you trust it, with "
                "SentenceTransformer.save_pretrained"
            )


def _check_code(folder: Path, name: str, *, runs_code: bool, native_code: bool) -> None:
    """An untrusted ``auto_map`` is passed over in silence where the library knows the ``model_type``: its own class is
    loaded then, which may compute something else (a decoder made to read in both directions reads in one)."""
    kinds = {str(module.get("type", _LIBRARY)) for module in listed_modules(folder)}
    foreign = sorted(kind for kind in kinds if not kind.startswith(_LIBRARY))
    places = dict.fromkeys((folder, folder / _module_paths(folder)[0]))
    mapped = sorted({reference for place in places for file in _CODE_MAPS for reference in _auto_map(place / file)})
    if runs_code:
        if elsewhere := [reference for reference in (*mapped, *foreign) if "--" in reference]:
            raise TendrilError(
                f"{name} would run {', '.join(elsewhere)}: code of another repository, which its revision does not pin. Copy "
                "that code into a local folder beside the weights, take the repository out of auto_map, and name the folder "
                "as base"
            )
        return
    trust = "read it, then set trust_remote_code: true and revision to the commit you have read"
    if foreign:
        raise TendrilError(f"{name} has modules of its own code ({', '.join(foreign)}): {trust}")
    if mapped and not native_code:
        raise TendrilError(
            f"{name} comes with code of its own ({', '.join(mapped)}), without which another model might be loaded: {trust}; "
            "or set native_code: true where the library's class of its model_type computes the same"
        )


def _auto_map(path: Path) -> list[str]:
    if not path.is_file():
        return []
    mapped = read_json(path, dict).get("auto_map") or {}
    # A tokenizer's own file may name its classes alone: [slow, fast].
    named = [mapped.get(kind) for kind in _LOADED] if isinstance(mapped, dict) else [mapped]
    classes = [c for entry in named for c in (entry if isinstance(entry, list) else [entry])]
    return [c for c in classes if isinstance(c, str)]


def _module_paths(folder: Path) -> list[str]:
    return [str(module.get("path", "")) for module in listed_modules(folder)] or [""]


def listed_modules(folder: Path) -> list[dict[str, Any]]:
    """The entries of ``modules.json``, [] without that file. Raises TendrilError for one that is no such list."""
    path = folder / MODULES
    modules = read_json(path, list) if path.is_file() else []
    if not all(isinstance(module, dict) for module in modules):
        raise TendrilError(f"{path} does not list modules: fetch or copy the model again, whole")
    return modules


def _shards(index: Path) -> list[str]:
    mapped = read_json(index, dict).get("weight_map")
    names = sorted({str(name) for name in mapped.values()}) if isinstance(mapped, dict) else []
    if not names or any(Path(name).name != name or not name.endswith(".safetensors") for name in names):
        raise TendrilError(f"{index} names {names[:3] or 'no shard'}: shards are safetensors files in the same folder")
    return names


def read_json(path: Path, kind: type[T]) -> T:
    """The dict or list in a JSON file. Raises TendrilError for a file that holds none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise TendrilError(f"{path} is not JSON ({error}): fetch or copy the model again, whole") from error
    if not isinstance(found, kind):
        raise TendrilError(f"{path} holds no JSON {_JSON[kind]}: fetch or copy the model again, whole")
    return found
