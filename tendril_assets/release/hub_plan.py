"""What publishing a folder would change on the hub, decided on content: pure, from what lies here and what was read there.

One version is one tree: what the folder does not have goes, in the same commit. A tag names a version for good, so it is
never moved; a version is never published below a higher one, for ``main`` would go back.
"""

import fnmatch
import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from tendril_assets.release.folders import version_key
from tendril_assets.release.outgoing import Gate, LocalFile, Outgoing, version_tag
from tendril_assets.release.withdrawn import Withdrawal
from tendril_assets.release.wording import plural

Visibility = Literal["public", "private"]
What = Literal["new", "changed", "same", "gone"]
# The hub's own: it makes it with the repository and decides by it what is stored as a large file.
HUB_FILES = frozenset({".gitattributes"})
_VERSION_TAG = re.compile(r"v(\d+\.\d+\.\d+)")
# What releases and model folders consist of, in this version of the product or another; anything else is somebody's own.
_OURS = {
    "dataset": (
        "corpus/*",
        "queries/*",
        "qrels/*",
        "beir/*",
        "README.md",
        "LICENSE.md",
        "CHANGELOG.md",
        "manifest.json",
    ),
    "model": ("*.safetensors", "*.json", "*.txt", "*.model", "*.md", "LICENSE", "NOTICE"),
}


class RemoteFile(NamedTuple):
    """A file on the hub: ``sha256`` where it is stored as a large one, else its git blob id counts."""

    size: int
    git_sha1: str
    sha256: str | None

    def holds(self, file: LocalFile) -> bool:
        same = self.sha256 == file.sha256 if self.sha256 is not None else self.git_sha1 == file.git_sha1
        return same and self.size == file.size


class RemoteState(NamedTuple):
    """A repository as it was read. ``sha``: the head of main, whose files these are; ``tags``: name to commit.

    ``tagged``: the files under the tag that would be made; None where there is no such tag. ``may_write``: whether the
    token may write there; None where that was not told.
    """

    exists: bool
    sha: str | None = None
    private: bool = True
    gate: Gate | None = None
    files: Mapping[str, RemoteFile] = {}
    tags: Mapping[str, str] = {}
    tagged: Mapping[str, RemoteFile] | None = None
    may_write: bool | None = None


class Change(NamedTuple):
    """One file's fate. ``size`` and ``sha256`` are those that it has afterwards, or had where it goes."""

    what: What
    name: str
    size: int
    sha256: str | None


class Plan(NamedTuple):
    """What publishing would do; ``remote`` is None where the hub was not asked.

    ``gate``: how access is granted; None where everybody has it who sees the repository.
    ``is_published``: the tag is there with this very content, so that no file is sent. ``stale_tags``: tags of the hub whose
    versions still hold removed passages. ``reasons``: why it must not be done, of the folder and of the hub.
    """

    outgoing: Outgoing
    remote: RemoteState | None
    changes: tuple[Change, ...]
    visibility: Visibility
    gate: Gate | None
    is_published: bool
    stale_tags: tuple[Withdrawal, ...]
    reasons: tuple[str, ...]

    def named(self, *whats: What) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.what in whats)

    @property
    def size(self) -> int:
        """Bytes of the files to be sent."""
        return sum(change.size for change in self.named("new", "changed"))


def make_plan(
    outgoing: Outgoing,
    remote: RemoteState | None,
    *,
    visibility: Visibility | None = None,
    gate: Gate | None = None,
    withdrawn: tuple[Withdrawal, ...] = (),
    take_over: bool = False,
) -> Plan:
    """The plan for a folder.

    Args:
        visibility: None keeps what a repository has; one that is made is public in the end, and so is a private one that a
            first publishing made and did not end in.
        gate: None keeps the one that a repository has, and is that of the folder where it has none: what somebody guarded
            more closely is not opened by the way.
        withdrawn: versions that removed passages were taken out of here.
        take_over: whether files may go that are none of a release's.
    """
    known = remote or RemoteState(exists=False)
    is_published = known.tagged is not None and holds_all(known.tagged, outgoing)
    changes = _changes(outgoing, known.tagged if is_published and known.tagged is not None else known.files)
    reasons = [*outgoing.reasons, *(_contradictions(outgoing, known, changes, is_published, take_over=take_over))]
    return Plan(
        outgoing=outgoing,
        remote=remote,
        changes=changes,
        visibility=visibility or _visibility(known, outgoing),
        gate=gate or known.gate or outgoing.gate,
        is_published=is_published,
        stale_tags=tuple(w for w in withdrawn if version_tag(w.version) in known.tags),
        reasons=tuple(reasons),
    )


def holds_all(files: Mapping[str, RemoteFile], outgoing: Outgoing) -> bool:
    """Whether a tree of the hub is the folder: every file with its content, and no other but the hub's own."""
    return not differing(files, outgoing)


def differing(files: Mapping[str, RemoteFile], outgoing: Outgoing) -> list[str]:
    """Names of files that a tree of the hub lacks, has otherwise, or has besides."""
    return [change.name for change in _changes(outgoing, files) if change.what != "same"]


def _changes(outgoing: Outgoing, files: Mapping[str, RemoteFile]) -> tuple[Change, ...]:
    here = {file.name for file in outgoing.files}
    kept = [Change(_what(file, files.get(file.name)), file.name, file.size, file.sha256) for file in outgoing.files]
    gone = [
        Change("gone", name, file.size, file.sha256)
        for name, file in files.items()
        if name not in here and name not in HUB_FILES
    ]
    return tuple(sorted([*kept, *gone], key=lambda change: change.name))


def _what(file: LocalFile, there: RemoteFile | None) -> What:
    if there is None:
        return "new"
    return "same" if there.holds(file) else "changed"


def _visibility(known: RemoteState, outgoing: Outgoing) -> Visibility:
    """Private without a version, and empty or with this very folder, is what a first publishing that was cut off leaves.
    Any other private one stays so: it may have had a version whose tag was taken off."""
    is_begun = not any(_VERSION_TAG.fullmatch(tag) for tag in known.tags) and (
        known.files.keys() <= HUB_FILES or holds_all(known.files, outgoing)
    )
    return "private" if known.exists and known.private and not is_begun else "public"


def _contradictions(
    outgoing: Outgoing, known: RemoteState, changes: tuple[Change, ...], is_published: bool, *, take_over: bool
) -> list[str]:
    if is_published:
        return []
    found = []
    # Of a withdrawn version the tag holds what was published, so it differs; the folder's own reason says what to do.
    if known.tagged is not None and not outgoing.is_withdrawn:
        others = differing(known.tagged, outgoing)
        found.append(
            f"{outgoing.repo} has a tag {outgoing.tag} with other content ({plural(len(others), 'file')} other, {others[0]} for "
            "one), and a published version never changes: raise release.version in the collection's defs.yaml"
        )
    versions = [m[1] for tag in known.tags if (m := _VERSION_TAG.fullmatch(tag))]
    higher = [v for v in versions if version_key(v) > version_key(outgoing.version)]
    if higher and known.tagged is None and not outgoing.is_withdrawn:
        highest = version_tag(max(higher, key=version_key))
        found.append(
            f"{outgoing.repo} already has {highest}: {outgoing.tag} would set it back. Raise release.version above it"
        )
    foreign = [c.name for c in changes if c.what == "gone" and not _is_ours(c.name, outgoing.kind)]
    if foreign and not take_over:
        more = f" and {len(foreign) - 5:,} more" if len(foreign) > 5 else ""
        found.append(
            f"{outgoing.repo} holds files that no release has ({', '.join(foreign[:5])}{more}), and they would be deleted: see "
            "that it is the right repository, then say so with --delete-foreign, or move them elsewhere"
        )
    if known.may_write is False:
        found.append(f"the token may not write to {outgoing.repo}: use one with write access to it")
    return found


def _is_ours(name: str, kind: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in _OURS[kind])
