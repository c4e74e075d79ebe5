"""What a finished folder would send to the hub, and what speaks against sending it. Nothing here asks a network.

A folder is read once: each file's size, its SHA-256 (what the hub stores of large files, and what a release's manifest
has) and its git blob id (what the hub stores of small ones), so that "the same" is decided on content alone.
"""

import fnmatch
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml

from tendril_assets.errors import ExportInvariantError
from tendril_assets.hub_cache import NEVER_READ
from tendril_assets.release.front_matter import licence_text
from tendril_assets.release.manifest import MANIFEST, read_manifest
from tendril_assets.release.model_licence import LICENCE, NOTICE
from tendril_assets.release.withdrawn import withdrawal
from tendril_assets.spec import CollectionSpec

Kind = Literal["dataset", "model"]
Gate = Literal["auto", "manual"]
CARD, DATA_LICENCE = "README.md", "LICENSE.md"
SANDBOX_TAG = "sandbox"
_CHUNK = 1 << 20


class LocalFile(NamedTuple):
    """A file as it would be sent. ``name`` is its path in the repository, ``git_sha1`` the id git gives its bytes."""

    name: str
    path: Path
    size: int
    sha256: str
    git_sha1: str


class Outgoing(NamedTuple):
    """A folder for one repository. ``gate``: how access is granted where the repository has no gate yet; None: it
    needs none.

    ``reasons``: why it must not be sent, each with what to do; none where it may. ``is_withdrawn``: the version was
    withdrawn, so that its folder is other than what was published.
    """

    kind: Kind
    repo: str
    folder: Path
    version: str
    gate: Gate | None
    files: tuple[LocalFile, ...]
    reasons: tuple[str, ...]
    is_withdrawn: bool = False

    @property
    def tag(self) -> str:
        return version_tag(self.version)

    @property
    def title(self) -> str:
        return f"{self.kind} {self.repo} {self.tag}"

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


def version_tag(version: str) -> str:
    return f"v{version}"


def read_file(name: str, path: Path) -> LocalFile:
    """One file with its hashes, read once and in parts."""
    size = path.stat().st_size
    sha256, git = hashlib.sha256(), hashlib.sha1(f"blob {size}\0".encode(), usedforsecurity=False)
    read = 0
    with path.open("rb") as stream:
        while part := stream.read(_CHUNK):
            sha256.update(part)
            git.update(part)
            read += len(part)
    if read != size:
        raise ExportInvariantError(f"{path} changed while it was read: nothing was sent, run the same command again")
    return LocalFile(name, path, size, sha256.hexdigest(), git.hexdigest())


def dataset(root: Path, spec: CollectionSpec) -> Outgoing:
    """The release of the specification's version in ``root``, the collection's release folder."""
    release = spec.release
    folder = root / release.version
    files, reasons = _read_folder(folder, f"materialise {spec.collection}/releases")
    is_withdrawn = bool(files) and _is_withdrawn(folder)
    if files:
        reasons += _manifest(folder, spec, files)
        # A withdrawn version's card is a notice without front matter, on purpose.
        reasons += [] if is_withdrawn else _data_licence(folder, spec)
    reasons += _owner(spec)
    repo = release.hub_id(release.name)
    gate: Gate | None = "auto" if release.is_gated else None
    return Outgoing("dataset", repo, folder, release.version, gate, files, tuple(reasons), is_withdrawn)


def model(root: Path, spec: CollectionSpec, name: str) -> Outgoing:
    """The folder of a fine-tuned model in ``root``, the collection's folder of models.

    Whether its card still tells the truth is not seen from the folder: see ``model_folder``.
    """
    release = spec.release
    published = release.published_model(name).name
    folder = root / published
    files, reasons = _read_folder(folder, f"train {name} and materialise {spec.collection}/model_cards")
    if files:
        reasons += [*_model_texts(folder, files), *_unsafe(files)]
    reasons += _owner(spec)
    return Outgoing("model", release.hub_id(published), folder, release.version, None, files, tuple(reasons))


def never_sent(home: Path, outgoing: Outgoing) -> list[str]:
    """What lies in the data folder and stays there, as paths below it; folders end with a slash."""
    within = [folder for folder in (outgoing.folder, *outgoing.folder.parents) if folder.is_relative_to(home)]
    aside = [path for folder in within[1:] for path in folder.glob("*") if path not in within]
    return sorted(path.relative_to(home).as_posix() + ("/" if path.is_dir() else "") for path in aside)


def _read_folder(folder: Path, make: str) -> tuple[tuple[LocalFile, ...], list[str]]:
    """Every file, by name, and what no repository should get. Links are not followed: they could lead anywhere."""
    if not folder.is_dir():
        return (), [f"{folder} is not there: {make}"]
    names = sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).as_posix())
    strange = [p.relative_to(folder).as_posix() for p in names if _is_strange(p.relative_to(folder), p)]
    reasons = [f"{folder} holds what is no plain visible file ({_shown(strange)}): take it out"] if strange else []
    plain = [p for p in names if p.is_file() and p.relative_to(folder).as_posix() not in strange]
    if not plain:
        return (), [*reasons, f"{folder} is empty: {make}"]
    return tuple(read_file(path.relative_to(folder).as_posix(), path) for path in plain), reasons


def _is_strange(place: Path, path: Path) -> bool:
    hidden = any(part.startswith(".") for part in place.parts)
    return hidden or path.is_symlink() or not (path.is_file() or path.is_dir())


def _manifest(folder: Path, spec: CollectionSpec, files: Iterable[LocalFile]) -> Iterator[str]:
    release = spec.release
    try:
        manifest = read_manifest(folder)
        told: dict[str, str] = dict(manifest["files"])
        told_withdrawn = withdrawal(folder, manifest)
    except (ExportInvariantError, KeyError, TypeError, ValueError) as error:
        yield f"{MANIFEST} does not say whether the folder is whole: {error}"
        return
    if told_withdrawn:
        yield (
            f"it was {told_withdrawn.said}. Raise release.version in the collection's defs.yaml and materialise "
            f"{spec.collection}/releases"
        )
    if manifest["sandbox"]:
        yield (
            "it is stamped sandbox: its identifiers were made with a key that everybody knows, or from the sample. Make a "
            "release of your own landing folder with TENDRIL_HASH_KEY"
        )
    wanted = {"name": release.name, "version": release.version, "collection": spec.collection}
    if (said := {key: manifest.get(key) for key in wanted}) != wanted:
        yield f"its manifest speaks of {said}, the specification of {wanted}: materialise {spec.collection}/releases"
    there = {file.name: file.sha256 for file in files if file.name != MANIFEST}
    damaged = sorted(name for name in there.keys() | told.keys() if there.get(name) != told.get(name))
    if damaged:
        yield (
            f"files were changed, added or taken away after it was written ({_shown(damaged)}): put them back, or take the "
            f"folder away and materialise {spec.collection}/releases"
        )


def _is_withdrawn(folder: Path) -> bool:
    try:
        return withdrawal(folder, read_manifest(folder)) is not None
    except (ExportInvariantError, KeyError, TypeError, ValueError):
        return False  # as the reason of an unreadable manifest says


def _data_licence(folder: Path, spec: CollectionSpec) -> Iterator[str]:
    again = f"materialise {spec.collection}/releases"
    path = folder / DATA_LICENCE
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    if not text.strip():
        yield f"the licence's text {DATA_LICENCE} is missing or empty: {again}"
    elif text != licence_text(spec):
        yield f"{DATA_LICENCE} is not the text that the specification's licence has now: raise release.version, {again}"
    front = front_matter_of(folder / CARD)
    if spec.release.is_gated and not str(front.get("extra_gated_prompt") or "").strip():
        yield f"{CARD} has no text to accept before access (extra_gated_prompt): {again}"
    link = str(front.get("license_link") or "")
    if not (front.get("license") and link and (folder / link).is_file()):
        yield f"{CARD} names no licence whose text is in the folder (license, license_link): {again}"


def _model_texts(folder: Path, files: Iterable[LocalFile]) -> Iterator[str]:
    empty = {file.name for file in files if file.size == 0}
    names = {file.name for file in files} - empty
    for name in (CARD, LICENCE, NOTICE):
        if name not in names:
            yield f"{name} is missing or empty: materialise the model cards again"
    if not any(name.endswith(".safetensors") for name in names):
        yield f"{folder} holds no weights: materialise the model cards again"
    front = front_matter_of(folder / CARD)
    if not front.get("license"):
        yield f"{CARD} names no licence: materialise the model cards again"
    if SANDBOX_TAG in (front.get("tags") or []):
        yield "it is stamped sandbox: it was trained on the sample, or on a release that cannot be published"


def _unsafe(files: Iterable[LocalFile]) -> Iterator[str]:
    found = [f.name for f in files if any(fnmatch.fnmatch(f.name, pattern) for pattern in NEVER_READ)]
    if found:
        yield f"files that can run code when they are loaded, or that nobody reads, are in it ({_shown(found)}): take them out"


def _owner(spec: CollectionSpec) -> list[str]:
    if spec.release.organisation:
        return []
    return ["release.organisation is not set in the collection's defs.yaml, so there is no repository to send it to"]


def front_matter_of(card: Path) -> Mapping[str, Any]:
    """The card's front matter; empty where there is none that can be read."""
    try:
        head, text, _ = card.read_text(encoding="utf-8").split("---\n", 2)
        found = yaml.safe_load(text) if not head.strip() else None
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return found if isinstance(found, Mapping) else {}


def _shown(names: list[str], most: int = 5) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
