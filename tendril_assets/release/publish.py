"""Put a release folder together and set it in place with one rename.

Everything is written below a hidden folder beside the target, fsynced, loaded once with ``datasets``, and only then
renamed. A run that dies leaves the former release as it was and a hidden folder that the next run sweeps.
"""

import errno
import shutil
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tendril_assets.corpus.identifiers import require_fingerprint
from tendril_assets.errors import ExportInvariantError, ReleaseUnwritten
from tendril_assets.release.beir import beir_hashes, write_beir
from tendril_assets.release.cards import CardInputs, dataset_card
from tendril_assets.release.changelog import changelog, earlier_version
from tendril_assets.release.figures import Figures
from tendril_assets.release.folders import (
    REPLACED,
    UNCHANGED,
    WRITTEN,
    erase_folder,
    set_in_place,
    sweep,
    sync_tree,
    version_folders,
    work_folder,
)
from tendril_assets.release.front_matter import licence_text
from tendril_assets.release.huggingface import Rows, plain_bytes, read_configs, splits_of, write_parquet
from tendril_assets.release.invariants import Breach, published_breaches, require_complete, require_none
from tendril_assets.release.manifest import (
    content_hash,
    damaged_files,
    read_manifest,
    same_content,
    write_manifest,
)
from tendril_assets.release.register_results import MeasuredRows
from tendril_assets.release.verify import require_loadable
from tendril_assets.release.withdrawn import (
    Withdrawal,
    is_withdrawn,
    refuse_withdrawn,
    require_not_withdrawn,
    withdrawals,
)
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES

NO_SYSTEMS = TABLES["calibration_systems"].empty()


class ReleaseInputs(NamedTuple):
    """Everything a release is made of; ``breaches`` and ``open_requests`` are those found upstream, ``withdrawn`` the
    withdrawn versions that are known whether or not their folders are still there; ``systems`` and ``measured`` as cards want
    them (``cards.CardInputs``)."""

    spec: CollectionSpec
    rows: Rows
    figures: Figures
    agreement: pl.DataFrame
    choice: pl.DataFrame
    breaches: list[Breach]
    open_requests: int
    key_fingerprint: str
    sandbox: bool
    withdrawn: Sequence[Withdrawal] = ()
    systems: pl.DataFrame = NO_SYSTEMS
    measured: MeasuredRows = MeasuredRows()


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
        ReleaseUnwritten: no room, or no right to write; what stood there stands.
    """
    require_publishable(inputs)
    version = inputs.spec.release.version
    target = root / version
    with _room_for(target):
        root.mkdir(parents=True, exist_ok=True)
        sweep(root, erase_folder)  # a withdrawal may have died before it erased the former folder
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


def require_publishable(inputs: ReleaseInputs) -> None:
    """Every condition of the tables that a release is written and published under; raises as ``write_release``."""
    allowed = inputs.spec.judge.allow_incomplete
    require_complete(inputs.figures["verdicts"], inputs.open_requests, allow_incomplete=allowed)
    require_none([*inputs.breaches, *published_breaches(*inputs.rows)])


def content_of(rows: Rows) -> str:
    """The ``content_hash`` that a release of these rows has."""
    return content_hash(beir_hashes(rows))


@contextmanager
def _room_for(target: Path) -> Generator[None]:
    """Errors of the file system that a person can mend, in words that say how."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            why = "no room is left there: a release takes about its size twice while it is checked. Make room"
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            why = "it cannot be written to: change its owner or its rights"
        else:
            raise
        raise ReleaseUnwritten(
            f"{target} could not be written ({error.strerror}): {why} and materialise the release again. What stood there "
            "before stands unchanged"
        ) from error


def _fill(work: Path, root: Path, inputs: ReleaseInputs) -> dict[str, Any]:
    spec, withdrawn = inputs.spec, _withdrawn_before(root, inputs)
    work.mkdir()
    write_parquet(work, inputs.rows)
    write_beir(work, inputs.rows)
    configs = read_configs(work)
    sizes = {
        name: {split: plain_bytes(frame) for split, frame in splits.items()}
        for name, splits in splits_of(inputs.rows).items()
    }
    card = dataset_card(
        CardInputs(
            spec,
            inputs.figures,
            inputs.agreement,
            inputs.choice,
            configs,
            sizes,
            inputs.sandbox,
            withdrawn,
            inputs.systems,
            inputs.measured,
        )
    )
    earlier = earlier_version(root, spec.release.version)
    texts = {
        "README.md": card,
        "LICENSE.md": licence_text(spec),
        "CHANGELOG.md": changelog(spec.release.version, inputs.rows, earlier, withdrawn),
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


def _withdrawn_before(root: Path, inputs: ReleaseInputs) -> list[Withdrawal]:
    """The other withdrawn versions; raises where this one is, wherever its folder is now."""
    told = {one.version: one for one in (*inputs.withdrawn, *withdrawals(root))}
    own = told.pop(inputs.spec.release.version, None)
    if own and not inputs.sandbox:
        refuse_withdrawn(own)
    return list(told.values())


def _compare(target: Path, manifest: Mapping[str, Any]) -> str:
    """What putting the new content at ``target`` would be; raises where it must not be."""
    if not target.exists():
        return WRITTEN
    former = read_manifest(target)
    if is_withdrawn(former) and former["sandbox"] and manifest["sandbox"]:
        return REPLACED
    require_not_withdrawn(target, former)
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
    for folder in version_folders(root):
        require_fingerprint(read_manifest(folder)["key_fingerprint"], inputs.key_fingerprint, f"release {folder}")
