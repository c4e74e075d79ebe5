"""Load a release the way a user does: ``datasets.load_dataset(folder)`` and each config by name, without a network.

Runs in a process of its own (``python -m tendril_assets.release.verify FOLDER PARENT``, where PARENT is the id of the
process that starts it), since ``datasets`` reads its offline switch once at import and should not live in a Dagster
process.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tendril_assets.children import die_with_parent
from tendril_assets.errors import ExportInvariantError
from tendril_assets.release.folders import work_folder
from tendril_assets.release.huggingface import CONFIGS, DEFAULT_CONFIG, QREL_COLUMNS, split_files

TIMEOUT_S = 900


def loaded_rows(folder: Path) -> dict[str, int]:
    """Rows per config as ``load_dataset`` gives them; the key ``default`` is the load without a config name.

    Raises ExportInvariantError where the folder does not load, with the end of what the loader said.
    """
    # Beside the release, since the loader's copies hold texts: what a killed check leaves there the next run sweeps.
    cache = work_folder(folder.parent / "load")
    cache.mkdir()
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(cache),
        "HF_DATASETS_CACHE": str(cache),
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }
    command = [sys.executable, "-m", "tendril_assets.release.verify", str(folder), str(os.getpid())]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise ExportInvariantError(
            f"datasets did not load {folder} within {TIMEOUT_S} s: is the machine busy?"
        ) from error
    finally:
        shutil.rmtree(cache, ignore_errors=True)
    if done.returncode:
        raise ExportInvariantError(f"datasets cannot load the release: {done.stderr.strip()[-1500:]}")
    return json.loads(done.stdout.splitlines()[-1])


def require_loadable(folder: Path, expected: Mapping[str, int]) -> None:
    """Raises ExportInvariantError where a config loads with other rows, or the default config is another one."""
    loaded = loaded_rows(folder)
    wanted = {**expected, "default": expected[DEFAULT_CONFIG]}
    if loaded != wanted:
        raise ExportInvariantError(f"datasets loads {loaded}, the release should have {wanted}")


def _load(folder: str) -> dict[str, int]:
    import datasets
    import pyarrow.parquet as pq

    datasets.disable_progress_bars()
    rows = {}
    for name in CONFIGS:
        rows[name] = 0
        for split, files in split_files(Path(folder), name).items():
            whole = datasets.load_dataset(folder, name, split=split)
            if whole.num_rows != (written := sum(pq.read_metadata(file).num_rows for file in files)):
                raise ExportInvariantError(f"split {split} of {name} loads {whole.num_rows} rows of {written} written")
            streamed = datasets.load_dataset(folder, name, split=split, streaming=True)
            if next(iter(streamed), None) != next(iter(whole), None) or streamed.features != whole.features:
                raise ExportInvariantError(f"config {name} gives other rows when it is streamed")
            rows[name] += whole.num_rows
    plain = datasets.load_dataset(folder)
    if (wanted := list(split_files(Path(folder), DEFAULT_CONFIG))) != list(plain):
        raise ExportInvariantError(f"without a name the release loads the splits {list(plain)}, it has {wanted}")
    for split, loaded in plain.items():
        if tuple(loaded.column_names) != QREL_COLUMNS:
            raise ExportInvariantError(
                f"without a name split {split} of the release loads as {loaded.column_names}, not as qrels"
            )
    return {**rows, "default": sum(loaded.num_rows for loaded in plain.values())}


if __name__ == "__main__":
    die_with_parent(int(sys.argv[2]))
    sys.stdout.write(json.dumps(_load(sys.argv[1])) + "\n")
