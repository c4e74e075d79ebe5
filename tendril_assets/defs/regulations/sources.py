"""What the regulations collection lands: documented tables from files, nothing else."""

from collections.abc import Callable
from pathlib import Path

import polars as pl

from tendril_assets.errors import LandingError
from tendril_assets.files import file_hash
from tendril_assets.spec import CollectionSpec


def landing_tables(
    folder: Path, spec: CollectionSpec, hash_of: Callable[[Path], str] = file_hash
) -> dict[str, pl.DataFrame]:
    """All landing tables of ``folder``; ``hash_of`` gives the SHA-256 of a file's bytes."""
    raise LandingError(f"landing folder {folder} does not exist")
