"""``tendril audit`` over the homes of a test, in this process."""

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from tendril_assets.cli import main


def audited(root: Path, key: str, *arguments: str) -> dict[str, Any]:
    """What ``tendril audit --json`` says of a folder with ``home``, ``dagster`` and ``landing``."""
    folders = {"TENDRIL_HOME": "home", "DAGSTER_HOME": "dagster", "TENDRIL_LANDING": "landing"}
    env = {name: str(root / folder) for name, folder in folders.items()}
    env |= {"TENDRIL_HASH_KEY": key, "TENDRIL_PROFILE": "sandbox", "TENDRIL_WORKERS": "1"}
    done = CliRunner().invoke(main, ["audit", "--json", *arguments], env=env)
    told = json.loads(done.stdout)
    assert done.exit_code == told["exit_code"]
    return told
