"""Put a release folder together and set it in place with one rename.

Everything is written below a hidden folder beside the target, fsynced, loaded once with ``datasets``, and only then
renamed. A run that dies leaves the former release as it was and a hidden folder that the next run sweeps.
"""

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tendril_assets.corpus.identifiers import require_fingerprint
from tendril_assets.errors import ExportInvariantError
from tendril_assets.release.beir import write_beir
from tendril_assets.release.cards import CardInputs, dataset_card
from tendril_assets.release.changelog import changelog, earlier_version
from tendril_assets.release.figures import Figures
from tendril_assets.release.folders import REPLACED, UNCHANGED, WRITTEN, set_in_place, sweep, sync_tree, work_folder
from tendril_assets.release.front_matter import licence_text
from tendril_assets.release.huggingface import Rows, read_configs, write_parquet
from tendril_assets.release.invariants import Breach, published_breaches, require_complete, require_none
from tendril_assets.release.manifest import (
    content_hash,
    damaged_files,
    file_hashes,
    read_manifest,
    same_content,
    write_manifest,
)
from tendril_assets.release.verify import require_loadable
from tendril_assets.spec import CollectionSpec


class ReleaseInputs(NamedTuple):
    """Everything a release is made of; ``breaches`` and ``open_requests`` are those found upstream."""

    spec: CollectionSpec
    rows: Rows
    figures: Figures
    agreement: pl.DataFrame
    choice: pl.DataFrame
    breaches: list[Breach]
    open_requests: int
    key_fingerprint: str
    sandbox: bool


class Release(NamedTuple):
    """A release in place: its folder, what was done to it, and its manifest."""

    path: Path
    outcome: str
    manifest: Mapping[str, Any]


LoadCheck = Callable[[Path, Mapping[str, int]], None]


def write_release(root: Path, inputs: ReleaseInputs, load_check: LoadCheck = require_loadable) -> Release:
    """Write ``root/<version>``, or leave an equal one alone.

    Args:
        root: the collection's release folder; made where missing.
        load_check: called with the finished folder and the rows per config before anything is set in place.

    Raises:
        ExportInvariantError: a broken invariant, figures that disagree, a folder that does not load, or other content
            under an existing version that is no sandbox release.
        IncompleteJudgments: pairs without an accepted grade that nobody allowed.
        HashKeyChanged: an earlier version was made with another keyed-hash secret.
    """
    allowed = inputs.spec.judge.allow_incomplete
    require_complete(inputs.figures["verdicts"], inputs.open_requests, allow_incomplete=allowed)
    require_none([*inputs.breaches, *published_breaches(*inputs.rows)])
    version = inputs.spec.release.version
    target = root / version
    root.mkdir(parents=True, exist_ok=True)
    sweep(root)
    _require_same_secret(root, inputs)
    work = work_folder(target)
    try:
        manifest = _fill(work, root, inputs)
        outcome = _compare(target, manifest)
        if outcome == UNCHANGED:
            return Release(target, outcome, read_manifest(target))
        load_check(work, manifest["rows"])
        sync_tree(work)
        set_in_place(work, target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return Release(target, outcome, manifest)


def content_of(rows: Rows) -> str:
    """The ``content_hash`` that a release of these rows has."""
    with tempfile.TemporaryDirectory(prefix="tendril-release-") as place:
        write_beir(Path(place), rows)
        return content_hash(file_hashes(Path(place)))


def _fill(work: Path, root: Path, inputs: ReleaseInputs) -> dict[str, Any]:
    work.mkdir()
    spec = inputs.spec
    write_parquet(work, inputs.rows)
    write_beir(work, inputs.rows)
    configs = read_configs(work)
    sizes = {
        "corpus": (work / "beir" / "corpus.jsonl").stat().st_size,
        "queries": (work / "beir" / "queries.jsonl").stat().st_size,
        "qrels": (work / "beir" / "qrels" / "train.tsv").stat().st_size,
    }
    card = dataset_card(
        CardInputs(spec, inputs.figures, inputs.agreement, inputs.choice, configs, sizes, inputs.sandbox)
    )
    earlier = earlier_version(root, spec.release.version)
    texts = {
        "README.md": card,
        "LICENSE.md": licence_text(spec),
        "CHANGELOG.md": changelog(spec.release.version, inputs.rows, earlier),
    }
    for name, text in texts.items():
        (work / name).write_text(text, encoding="utf-8")
    return write_manifest(
        work,
        {
            "name": spec.release.name,
            "version": spec.release.version,
            "collection": spec.collection,
            "sandbox": inputs.sandbox,
            "key_fingerprint": inputs.key_fingerprint,
            "spec_fingerprint": spec.fingerprint(),
            "rows": {c.name: c.rows for c in configs},
        },
    )


def _compare(target: Path, manifest: Mapping[str, Any]) -> str:
    """What putting the new content at ``target`` would be; raises where it must not be."""
    if not target.exists():
        return WRITTEN
    former = read_manifest(target)
    damaged = damaged_files(target, former)
    if not damaged and same_content(former, dict(manifest)):
        return UNCHANGED
    if former["sandbox"] and manifest["sandbox"]:
        return REPLACED
    if damaged:
        raise ExportInvariantError(
            f"{target} was changed after it was written: {', '.join(damaged[:5])}. Put the files back, or move "
            "the folder away"
        )
    raise ExportInvariantError(
        f"{target} exists with other content, and a published version never changes: raise release.version in the "
        f"collection's defs.yaml (it is {manifest['version']})"
    )


def _require_same_secret(root: Path, inputs: ReleaseInputs) -> None:
    for folder in sorted(p for p in root.glob("[0-9]*.[0-9]*.[0-9]*") if p.is_dir()):
        require_fingerprint(read_manifest(folder)["key_fingerprint"], inputs.key_fingerprint, f"release {folder}")
