"""The folder of a fine-tuned model that a user loads, copies or publishes: weights, card, licence and notice.

``release/<collection>/models/<name>/`` is what ``SentenceTransformer(folder)`` loads. It is put together beside its
place and set in place with one rename; where nothing would change it is left alone. Its files are copies that everybody
may read: whoever edits one of them must not edit what training kept.
"""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tendril_assets.files import file_hash
from tendril_assets.release.folders import REPLACED, UNCHANGED, WRITTEN, set_in_place, sweep, sync_tree, work_folder
from tendril_assets.release.model_cards import write_card
from tendril_assets.release.model_inputs import ModelInputs, card_model
from tendril_assets.release.model_licence import documents
from tendril_assets.release.weights import WeightsFolder

CARD = "README.md"
_MODE = 0o644


class ModelFolder(NamedTuple):
    """Where a model's folder is and what was done. ``lacking``: the licence's text, and where to put it; None: it is there."""

    path: Path
    outcome: str
    lacking: str | None = None


def write_model(root: Path, model: str, inputs: ModelInputs, weights: WeightsFolder) -> ModelFolder:
    """Write ``root/<published name>``, or leave an equal one alone.

    The licence's text that a person put there as ``LICENSE`` stays where nobody else has one; nothing else of theirs does.

    Raises:
        KeyError, ExportInvariantError: see ``model_cards.model_card``; nothing is written then.
    """
    name = inputs.spec.release.published_model(model).name
    # A refused card is told before anything is swept.
    card_model(model, inputs, weights)
    if root.is_dir():
        sweep(root)  # a folder that was set aside has the licence's text that a person put there
    texts, lacking = _texts(root / name, model, inputs, weights)
    return write_folder(root, name, weights.path, texts)._replace(lacking=lacking)


def differing(root: Path, model: str, inputs: ModelInputs, weights: WeightsFolder) -> tuple[list[str], str | None]:
    """Names of files that ``write_model`` would write otherwise, add or take away, and what the licence lacks.

    Changes nothing; raises as ``write_model``.
    """
    target = root / inputs.spec.release.published_model(model).name
    texts, lacking = _texts(target, model, inputs, weights)
    sources = _sources(weights.path, texts)
    there = {p.relative_to(target).as_posix(): p for p in _files(target)} if target.is_dir() else {}
    other = {name for name in there.keys() & texts.keys() if there[name].read_bytes() != texts[name]}
    other |= {name for name in there.keys() & sources.keys() if not _is_same_file(sources[name], there[name])}
    return sorted(other | (there.keys() ^ (sources.keys() | texts.keys()))), lacking


def _texts(
    target: Path, model: str, inputs: ModelInputs, weights: WeightsFolder
) -> tuple[dict[str, bytes], str | None]:
    """Card, licence and notice as ``target`` should have them, and what the licence lacks."""
    known = card_model(model, inputs, weights)
    found = documents(known, inputs, target)
    texts = {CARD: write_card(known, inputs, found).encode(), **found.files}
    lacking = f"the text of {known.entry.licence.short} is missing: {found.lacking}" if found.lacking else None
    return texts, lacking


def _sources(weights: Path, texts: Mapping[str, bytes]) -> dict[str, Path]:
    """The files of the weights by name, but those that a text takes the place of."""
    sources = {p.relative_to(weights).as_posix(): p for p in _files(weights)}
    return {place: source for place, source in sources.items() if place not in texts}


def write_folder(root: Path, name: str, weights: Path, texts: Mapping[str, bytes]) -> ModelFolder:
    """``root/name`` with the files of ``weights`` and ``texts`` over them, whole or not at all."""
    root.mkdir(parents=True, exist_ok=True)
    sweep(root)
    target = root / name
    sources = _sources(weights, texts)
    if target.is_dir() and _is_same(target, sources, texts):
        return ModelFolder(target, UNCHANGED)
    work = work_folder(target)
    try:
        for place, source in sources.items():
            (work / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, work / place)
        for place, text in texts.items():
            (work / place).write_bytes(text)
        for path in _files(work):
            path.chmod(_MODE)
        sync_tree(work)
        outcome = REPLACED if target.exists() else WRITTEN
        set_in_place(work, target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return ModelFolder(target, outcome)


def _files(folder: Path) -> Iterator[Path]:
    return (p for p in sorted(folder.rglob("*")) if p.is_file())


def _is_same(target: Path, sources: Mapping[str, Path], texts: Mapping[str, bytes]) -> bool:
    there = {p.relative_to(target).as_posix(): p for p in _files(target)}
    return (
        there.keys() == sources.keys() | texts.keys()
        and all(path.stat().st_mode & 0o777 == _MODE for path in there.values())
        and all(there[place].read_bytes() == text for place, text in texts.items())
        and all(_is_same_file(source, there[place]) for place, source in sources.items())
    )


def _is_same_file(one: Path, other: Path) -> bool:
    """Equal files that are two: a hard link to what training kept is none."""
    return not one.samefile(other) and one.stat().st_size == other.stat().st_size and file_hash(one) == file_hash(other)
