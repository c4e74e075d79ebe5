"""The code location: everything under ``defs/`` plus the resources, bound once."""

from pathlib import Path

import dagster as dg

from tendril_assets.defs import require_profile
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.gateway import Gateway
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import Settings


def resources(settings: Settings) -> dict[str, object]:
    """Resources of one installation, for the code location and the command line alike."""
    return {
        "warehouse": Warehouse(database=str(settings.warehouse), snapshot=str(settings.snapshot)),
        "artifacts": Artifacts(root=str(settings.artifacts)),
        "gateway": Gateway.from_settings(settings),
    }


@dg.definitions
def definitions() -> dg.Definitions:
    settings = Settings.from_env()
    require_profile(settings.profile)
    return dg.Definitions.merge(
        dg.load_from_defs_folder(path_within_project=Path(__file__).parent),
        dg.Definitions(resources=resources(settings)),
    )
