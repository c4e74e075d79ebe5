"""What the manifests of a collection's versions say of their withdrawal, for whoever lists, publishes or writes versions.

``"withdrawn": {"at": first time, "passages": [ids], "judgments": number, "published": {"content_hash", "rows"}}`` stands
in the manifest of a version that removed passages were taken out of (``release.withdrawing``). What copies and tags of it
hold cannot be called back from here; by these ids everybody can tell what that is.
"""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import polars as pl

from tendril_assets.errors import ExportInvariantError
from tendril_assets.release.folders import MODELS, version_folders
from tendril_assets.release.manifest import MANIFEST, read_manifest
from tendril_assets.release.wording import plural

WITHDRAWN = "withdrawn"


class Withdrawal(NamedTuple):
    """A withdrawn version.

    ``passages`` are the ids of all that was taken out since it was published, ``judgments`` the pairs they stood in,
    ``taken`` the passages that this call took out; ``at`` is when the first of them were, UTC without zone.
    """

    version: str
    folder: Path
    at: datetime
    passages: tuple[str, ...]
    judgments: int
    taken: int = 0

    @property
    def said(self) -> str:
        """What was taken out and when, as a clause."""
        return (
            f"withdrawn on {self.at:%Y-%m-%d}: {plural(len(self.passages), 'passage')} with "
            f"{plural(self.judgments, 'judgment')} removed on request"
        )


def release_folders(root: Path) -> list[Path]:
    """Every folder below ``root`` that has a manifest, or the name of a version; moved and renamed ones too."""
    if not root.is_dir():
        return []
    with_manifest = {path.parent for path in root.rglob(MANIFEST)}
    inside = ((path, path.relative_to(root).parts) for path in with_manifest.union(version_folders(root)))
    return sorted(
        path for path, parts in inside if parts and parts[0] != MODELS and not any(p.startswith(".") for p in parts)
    )


def is_withdrawn(manifest: Mapping[str, Any]) -> bool:
    return WITHDRAWN in manifest


def withdrawal(folder: Path, manifest: Mapping[str, Any]) -> Withdrawal | None:
    """What a manifest says of the withdrawal of its version; None where it is not withdrawn."""
    if not is_withdrawn(manifest):
        return None
    told = manifest[WITHDRAWN]
    at = datetime.fromisoformat(told["at"])
    return Withdrawal(manifest["version"], folder, at, tuple(told["passages"]), told["judgments"])


def withdrawals(root: Path) -> list[Withdrawal]:
    """All withdrawn versions below ``root``, which copies and tags of them still hold as they were; each once, however
    many copies of its folder there are.

    Raises ExportInvariantError where a version has no readable manifest.
    """
    found: dict[str, Withdrawal] = {}
    for folder in release_folders(root):
        if one := withdrawal(folder, read_manifest(folder)):
            former = found.get(one.version, one)
            found[one.version] = former._replace(
                at=min(former.at, one.at),
                passages=tuple(sorted({*former.passages, *one.passages})),
                judgments=max(former.judgments, one.judgments),
            )
    return list(found.values())


def marked(releases: pl.DataFrame, root: Path) -> pl.DataFrame:
    """Table ``releases`` with what the folders below ``root`` say of their withdrawal. A row whose folder is gone, or
    cannot be read, keeps what it says: copies and the tag of that version hold the passages all the same."""
    rows = []
    for row in releases.iter_rows(named=True):
        folder = root / row["version"]
        try:
            told = withdrawal(folder, read_manifest(folder))
        except ExportInvariantError:
            rows.append(row)
            continue
        passages, judgments = (len(told.passages), told.judgments) if told else (None, None)
        at = told.at if told else None
        rows.append(row | {"withdrawn_at": at, "removed_rows": passages, "removed_judgments": judgments})
    return pl.DataFrame(rows, releases.schema, orient="row")


def require_not_withdrawn(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Raises ExportInvariantError for a withdrawn version: it may be neither published, nor loaded, nor written again."""
    if told := withdrawal(folder, manifest):
        refuse_withdrawn(told)


def refuse_withdrawn(told: Withdrawal) -> NoReturn:
    """Raises ExportInvariantError: a withdrawn version is not used a second time, wherever its folder is now."""
    raise ExportInvariantError(
        f"{told.folder} was {told.said}. Copies and a tag of version {told.version} hold them still, so the version cannot be "
        "used again: raise release.version in the collection's defs.yaml"
    )
