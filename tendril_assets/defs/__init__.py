"""One folder per collection: ``defs.yaml`` (its specification) and ``sources.py`` (what it lands).

``sources.landing_tables(folder, spec, hash_of=file_hash)`` gives all landing tables; ``automation`` calls it too, with a
``hash_of`` that reads no file twice.
"""

from pathlib import Path

from tendril_assets.errors import SettingsError
from tendril_assets.spec import CollectionSpec, read_spec

DEFAULT_COLLECTION = "tenders"


def collection_files() -> dict[str, Path]:
    """Folder name -> ``defs.yaml`` of every collection."""
    return {path.parent.name: path for path in sorted(Path(__file__).parent.glob("*/defs.yaml"))}


def collection_of(job: str) -> str:
    """The collection of a job: the longest name that the job's begins with, for one may begin with another."""
    return max((name for name in collection_files() if job == name or job.startswith(f"{name}_")), key=len)


def collection_spec(collection: str, profile: str | None) -> CollectionSpec:
    """The specification as the code location loads it. Raises SettingsError for a collection there is not, and SpecError
    as ``read_spec`` does."""
    files = collection_files()
    if collection not in files:
        raise SettingsError(f"there is no collection {collection!r}; there are {', '.join(files)}")
    return read_spec(files[collection], profile)


def require_profile(profile: str | None) -> None:
    """Raises SettingsError for a profile that no collection has: a misspelt one would be passed over in silence.

    Raises SpecError where a specification does not validate, as it stands or with the profile.
    """
    known: set[str] = set()
    for path in collection_files().values():
        profiles = read_spec(path).profiles
        if profile in profiles:
            read_spec(path, profile)
        known |= profiles.keys()
    if profile is not None and profile not in known:
        raise SettingsError(
            f"TENDRIL_PROFILE={profile!r} is in no collection; there are {', '.join(sorted(known))}, or none"
        )
