"""The tenders graph over a small landing folder as a code location of its own, for runs in other processes.

``python -m tendril_assets_tests.removal.location JOB`` is ``tendril run JOB`` on it. Everything is the product's own but
what needs torch (``trained``); the specification is the sandbox's with fewer projects, one model, and the release's
version from the environment.
"""

import os
import signal
import sys
from pathlib import Path

import dagster as dg

import tendril_assets.definitions
from tendril_assets.assets import training_process
from tendril_assets.assets.landing import landing_assets
from tendril_assets.components.retrieval_collection import collection_jobs, stages
from tendril_assets.defs import collection_spec
from tendril_assets.defs.tenders.sources import landing_tables
from tendril_assets.evaluation import dense
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import Settings
from tendril_assets.spec import CollectionSpec
from tendril_assets_tests.removal import trained

COLLECTION, MODEL = "tenders", "tiny"
# Set to the name of a function of the erasing step: the process is killed in the place of its first call.
KILLED_IN = "TENDRIL_TEST_KILLED_IN"
VERSION = "TENDRIL_TEST_VERSION"
# The folder of the base model.
BASE = "TENDRIL_TEST_BASE"


def spec() -> CollectionSpec:
    given = collection_spec(COLLECTION, "sandbox").model_dump(mode="json", exclude={"profiles"})
    given["sampling"] = {"n_projects": 12, "min_projects_per_area": 0}
    given["judge"] |= {"llm": {"model": "toy/judge", "max_tokens": 512, "providers": ["stub"]}, "drift": None}
    given["judge"]["calibration"] |= {
        "models": ["toy/judge"],
        "efforts": [None],
        "guidelines": ["de_short"],
        "acceptance": None,
    }
    given["queries"]["summary"] = {"model": "toy/writer", "max_tokens": 200}
    given["training"] |= {"n_negatives": 1, "same_document_negatives": 1}
    given["splits"] |= {"validation_share": 0.3, "min_validation_groups": 1}
    given["models"] = {MODEL: trained.entry(Path(os.environ[BASE]))}
    given["release"]["version"] = os.environ.get(VERSION, "0.1.0")
    return CollectionSpec.model_validate(given)


@dg.definitions
def location() -> dg.Definitions:
    chosen = spec()
    settings = Settings.from_env()
    # Else the search of the file's bytes would not find what lies compressed in blocks that count as free.
    plain = {"force_compression": "uncompressed"}
    warehouse = Warehouse(database=str(settings.warehouse), snapshot=str(settings.snapshot), connection_config=plain)
    built = [landing_assets(chosen, landing_tables), *stages(chosen)]
    return dg.Definitions(
        assets=[asset for stage in built for asset in stage.assets],
        asset_checks=[check for stage in built for check in stage.checks],
        resources=tendril_assets.definitions.resources(settings) | {"warehouse": warehouse},
        jobs=list(collection_jobs(chosen)),
    )


def _kill_in(name: str) -> None:
    """SIGKILL in the place of a call of ``name``, ``module:function`` or ``module:Class.method``."""
    module, _, path = name.partition(":")
    owner = sys.modules[module]
    *classes, function = path.split(".")
    for one in classes:
        owner = getattr(owner, one)
    setattr(owner, function, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))


def main() -> None:
    from tendril_assets.cli import main as command

    if name := os.environ.get(KILLED_IN):
        _kill_in(name)
    training_process.CHILD = trained.__name__
    dense.load_encoder = trained.Words
    tendril_assets.definitions.definitions = location
    command(["run", *sys.argv[1:]])


if __name__ == "__main__":
    sys.path.insert(0, str(Path.cwd()))
    main()
