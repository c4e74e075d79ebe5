"""Withdrawing a released version: removed passages leave its folder, and what is left can no longer pass for a release.

``withdraw`` works on every version below a collection's release folder. What a published copy or tag holds cannot be
called back from here; the manifest of a withdrawn version says by id what that is, and since when (``release.withdrawn``).

A withdrawn folder has no front matter, and its BEIR judgments lie in ``qrels/withdrawn.tsv``: neither ``datasets``, nor
``mteb``, nor a BEIR reader takes it for the version. Its hashes are those of what is left, so that changes still show.
"""

import json
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tendril_assets.corpus.erasure import Removed
from tendril_assets.corpus.identifiers import require_fingerprint
from tendril_assets.errors import ErasureIncomplete, ExportInvariantError, HashKeyChanged
from tendril_assets.files import is_left_by_system
from tendril_assets.records import GRADES
from tendril_assets.release.beir import write_beir
from tendril_assets.release.changelog import CHANGELOG, bare, history, noted
from tendril_assets.release.folders import erase_folder, left_over, set_in_place, sweep, sync_tree, work_folder
from tendril_assets.release.huggingface import CONFIGS, PART_COLUMN, SPLIT, Rows, read_rows, write_parquet
from tendril_assets.release.manifest import MANIFEST, content_hash, damaged_files, file_hashes, read_manifest
from tendril_assets.release.withdrawn import (
    WITHDRAWN,
    Withdrawal,
    is_withdrawn,
    release_folders,
    withdrawal,
    withdrawals,
)

__all__ = ["Withdrawal", "withdraw", "withdrawals"]

_QRELS = "beir/qrels"
# What else of a version stays as it was; none of it has texts of passages.
_KEPT = ("LICENSE", "LICENCE", "NOTICE")


def withdraw(
    root: Path,
    removed: Removed,
    now: datetime,
    *,
    touched_documents: frozenset[str] = frozenset(),
    present_passages: frozenset[str] = frozenset(),
    key_fingerprint: str | None = None,
) -> list[Withdrawal]:
    """Take removed passages, and their judgments, out of every version below ``root``; returns the versions changed.

    Each folder is written anew beside its place and set in place with one rename; the bytes of the former one are
    overwritten. A run that dies anywhere is finished by the next. Versions without removed passages are not touched.

    Args:
        root: the collection's release folder; it need not exist.
        removed: what must not be there.
        now: time of the withdrawal, UTC without zone.
        touched_documents: documents that a passage was removed from, and
        present_passages: the passages that the corpus still has. An earlier version may know the removed passage under
            another id, so that of these documents whatever is not in the corpus any more goes too.
        key_fingerprint: fingerprint of the secret that ``removed`` was made with.

    Raises ErasureIncomplete, with the versions changed, once everything else is done: a version that nobody can tell the
    content of, or whose ids were made with another secret, so that nothing would be found in it; files that are no part of
    a version; another process that writes a release; a full disk, or no right to write.
    """
    if not root.is_dir():
        return []
    takes = _Takes(removed, touched_documents, present_passages)
    found: list[Withdrawal] = []
    problems: list[str] = []
    for place in sorted({root.resolve(), *(folder.parent for folder in _folders(root))}):
        problems += _swept(place)
    for folder in _folders(root):  # asked again: one that a run died on between two renames is back now
        try:
            manifest = read_manifest(folder)
            if key_fingerprint is not None:
                require_fingerprint(manifest["key_fingerprint"], key_fingerprint, f"release {folder}")
            done = _withdraw_one(folder, manifest, takes, now)
        except (ExportInvariantError, HashKeyChanged) as error:
            problems.append(str(error))
            continue
        except OSError as error:  # the version stands as it was
            problems.append(f"{folder} could not be written anew ({error}): make room, or change its owner or rights")
            continue
        if done:
            found.append(done)
            problems += _swept(folder.parent)
    if problems:
        raise ErasureIncomplete(
            f"removed passages may be left below {root}: "
            + "; ".join(dict.fromkeys(problems))
            + ". Then run the erasure again",
            found,
        )
    return found


def _folders(root: Path) -> list[Path]:
    """Where the versions really are: one put on another disk, with a link to it here, is written anew there."""
    return sorted({folder.resolve() for folder in release_folders(root)})


def _swept(place: Path) -> list[str]:
    """Erase what dead runs, and this one, set aside in ``place``; what is left there, and what to do about it."""
    try:
        sweep(place, erase_folder)
    except OSError as error:
        return [f"what was set aside in {place} could not be erased ({error}): change its owner or rights"]
    return [
        f"{path} is being written by another process: wait until it has ended, or delete the folder if that process is "
        "none of this product"
        for path in left_over(place)
    ]


class _Takes(NamedTuple):
    removed: Removed
    touched_documents: frozenset[str]
    present_passages: frozenset[str]

    def of(self, corpus: pl.DataFrame) -> pl.Series:
        """One truth value per row of a published corpus (id, text, group, document, page)."""
        group = corpus.columns[2]
        gone = (
            _among("id", self.removed.passages)
            | _among("document", self.removed.documents)
            | _among(group, self.removed.groups)
            | (_among("document", self.touched_documents) & ~_among("id", self.present_passages))
        )
        return corpus.select(gone.alias("gone"))["gone"]


def _among(column: str, ids: frozenset[str]) -> pl.Expr:
    return pl.col(column).is_in(pl.Series(sorted(ids), dtype=pl.String).implode())


def _withdraw_one(folder: Path, manifest: dict[str, Any], takes: _Takes, now: datetime) -> Withdrawal | None:
    damaged = damaged_files(folder, manifest)
    if lost := [name for name in damaged if name.startswith(tuple(f"{config}/" for config in CONFIGS))]:
        raise ExportInvariantError(
            f"{folder} was changed after it was written ({', '.join(lost)}), so nobody can tell which passages it holds: "
            "put the files back, or delete the folder"
        )
    rows = read_rows(folder)
    gone = takes.of(rows.corpus)
    if not gone.any():
        return None
    foreign = [n for n in damaged if n not in manifest["files"] and not any(map(is_left_by_system, n.split("/")))]
    if foreign:
        raise ExportInvariantError(
            f"{folder} holds removed passages, and files that are no part of it ({', '.join(foreign[:5])}): move those away"
        )
    ids = rows.corpus.filter(gone)["id"]
    splits = rows.qrels[PART_COLUMN].unique().sort().to_list() if PART_COLUMN in rows.qrels.columns else []
    splits = splits or manifest.get(WITHDRAWN, {}).get("splits", [])
    left = _left(rows, gone, has_questions=bool(splits))
    former = withdrawal(folder, manifest)
    told = Withdrawal(
        version=manifest["version"],
        folder=folder,
        at=former.at if former else now,
        passages=tuple(sorted({*(former.passages if former else ()), *ids})),
        judgments=(former.judgments if former else 0) + rows.qrels.height - left.qrels.height,
        taken=ids.len(),
    )
    work = work_folder(folder)
    try:
        _fill(work, folder, manifest, left, told, splits)
        sync_tree(work)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    set_in_place(work, folder, _leave)
    return told


def _left(rows: Rows, gone: pl.Series, *, has_questions: bool) -> Rows:
    """What stays of a version without the passages that are ``gone``; judgments in one split, for a reader that knows no names
    takes files such as ``test-*`` for a data set.

    ``has_questions``: queries may have been written from a passage; one that loses its last passage of grade 2 goes with it.
    """
    ids = rows.corpus.filter(gone)["id"]
    judged = pl.col("corpus-id").is_in(ids.implode())
    corpus, qrels = rows.corpus.filter(~gone), rows.qrels.filter(~judged)
    if not has_questions:
        return Rows(corpus, rows.queries, qrels)
    direct = pl.col("score") == max(GRADES)
    lost = rows.qrels.filter(judged & direct).join(qrels.filter(direct), on="query-id", how="anti")["query-id"]
    of = pl.Series(lost.unique(), dtype=pl.String).implode()
    return Rows(
        corpus,
        rows.queries.filter(~pl.col("id").is_in(of)),
        qrels.filter(~pl.col("query-id").is_in(of)).drop(PART_COLUMN, strict=False),
    )


def _leave(former: Path) -> None:
    """The former folder waits beside its place for ``_swept``: what keeps it from being erased is no failed withdrawal."""


def _fill(work: Path, folder: Path, manifest: dict[str, Any], left: Rows, told: Withdrawal, splits: list[str]) -> None:
    work.mkdir()
    write_parquet(work, left)
    write_beir(work, left)
    judgments, aside = f"{_QRELS}/{SPLIT}.tsv", f"{_QRELS}/{WITHDRAWN}.tsv"
    (work / judgments).rename(work / aside)
    for name in sorted(manifest["files"]):
        if "/" not in name and name.startswith(_KEPT) and (folder / name).is_file():
            shutil.copyfile(folder / name, work / name)
    # One that lost its changelog is withdrawn all the same, and later versions find one to go on from.
    known = history(folder) if (folder / CHANGELOG).is_file() else bare(told.version)
    (work / CHANGELOG).write_text(noted(known, [told]), encoding="utf-8")
    (work / "README.md").write_text(_notice(manifest["name"], told), encoding="utf-8")
    files = file_hashes(work)
    first = {name: manifest[name] for name in ("content_hash", "rows")}
    published = manifest[WITHDRAWN]["published"] if is_withdrawn(manifest) else first
    entries = {
        # Its text_hash is of texts that are not there any more.
        **{name: value for name, value in manifest.items() if name != "text_hash"},
        "rows": {name: frame.height for name, frame in zip(CONFIGS, left, strict=True)},
        WITHDRAWN: {
            "at": told.at.isoformat(timespec="seconds"),
            "passages": list(told.passages),
            "judgments": told.judgments,
            "published": published,
            # Of a version whose queries may have been written from passages: a later removal has to know.
            **({"splits": splits} if splits else {}),
        },
        "content_hash": content_hash({**files, judgments: files[aside]}),
        "files": files,
    }
    (work / MANIFEST).write_text(json.dumps(entries, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _notice(name: str, told: Withdrawal) -> str:
    """README.md of a withdrawn version: short, and without front matter, so that nothing loads it by name."""
    return (
        f"# {name} {told.version}: withdrawn\n\n"
        f"This version was {told.said}. What is left in this folder is incomplete: it must not be published, trained on or "
        "measured with. Use a later version.\n\n"
        f"Copies of version {told.version} made before, and the git tag `v{told.version}`, still hold the removed passages. "
        "Whoever has one must stop using and passing on these passages; `manifest.json` lists their ids.\n"
    )
