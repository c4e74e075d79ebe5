"""What the manifests of a collection's versions say of their withdrawal, for whoever lists, publishes or writes versions.

``"withdrawn": {"at": first time, "passages": [ids], "judgments": number, "published": {"content_hash", "rows"}}`` stands
in the manifest of a version that removed passages were taken out of (``release.withdrawing``). What copies and tags of it
hold cannot be called back from here; by these ids everybody can tell what that is.
"""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tendril_assets.errors import ExportInvariantError
from tendril_assets.release.folders import MODELS
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
    named = {path for path in root.glob("[0-9]*.[0-9]*.[0-9]*") if path.is_dir()}
    inside = ((path, path.relative_to(root).parts) for path in with_manifest | named)
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
    """All withdrawn versions below ``root``, which copies and tags of them still hold as they were.

    Raises ExportInvariantError where a version has no readable manifest.
    """
    told = (withdrawal(folder, read_manifest(folder)) for folder in release_folders(root))
    return [one for one in told if one]


def marked(releases: pl.DataFrame, root: Path) -> pl.DataFrame:
    """Table ``releases`` with ``withdrawn_at`` and ``removed_rows`` as the manifests of the folders have them."""
    told = {one.folder.name: one for one in withdrawals(root) if one.folder.parent == root}
    rows = [
        row
        | {
            "withdrawn_at": told[row["version"]].at if row["version"] in told else None,
            "removed_rows": len(told[row["version"]].passages) if row["version"] in told else None,
        }
        for row in releases.iter_rows(named=True)
    ]
    return pl.DataFrame(rows, releases.schema, orient="row")


def require_not_withdrawn(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Raises ExportInvariantError for a withdrawn version: it may be neither published, nor loaded, nor written again."""
    if told := withdrawal(folder, manifest):
        raise ExportInvariantError(
            f"{folder} was {told.said}. Copies and a tag of version {told.version} hold them still, so the version cannot be "
            "used again: raise release.version in the collection's defs.yaml"
        )
