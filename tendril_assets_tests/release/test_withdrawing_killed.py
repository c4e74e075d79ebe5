"""A withdrawal that is killed anywhere leaves the old version or the new one, and the next run ends it."""

import signal
import subprocess
import sys

import pytest

from tendril_assets.release.manifest import damaged_files, file_hashes, read_manifest
from tendril_assets.release.withdrawing import withdraw
from tendril_assets.release.withdrawn import withdrawals
from tendril_assets_tests.release import toy
from tendril_assets_tests.release.test_withdrawing import NOW, has_marker, removed, write

KILLED_AT = [("write_beir", 1), ("sync_tree", 1), ("set_in_place", 1), ("erase", 1), ("erase", 5), ("rmtree", 1)]


@pytest.mark.parametrize(("step", "call"), KILLED_AT, ids=[f"{step}_{call}" for step, call in KILLED_AT])
@pytest.mark.parametrize("exchange", [True, False], ids=["exchange", "two_renames"])
def test_a_kill_anywhere_is_finished_by_the_next_run(tmp_path, step, call, exchange) -> None:
    folder = write(tmp_path, "1.0.0").path
    gone = removed(documents=[toy.document(1, 1)])
    before = file_hashes(folder)
    arguments = [str(tmp_path), toy.document(1, 1), step, str(call), str(exchange)]
    done = subprocess.run([sys.executable, "-c", _KILLED, *arguments], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    # Old or new, never half of either; a folder set aside by two renames comes back with the next run.
    if folder.exists():
        assert file_hashes(folder) == before or damaged_files(folder, read_manifest(folder)) == []
    withdraw(tmp_path, gone, NOW)
    assert has_marker(tmp_path) == []
    assert [p.name for p in tmp_path.iterdir()] == ["1.0.0"]
    assert withdrawals(tmp_path)[0].judgments == 12
    assert damaged_files(folder, read_manifest(folder)) == []


# A process of its own: polars' threads do not survive a fork.
_KILLED = """
import os, signal, sys
from datetime import datetime
from pathlib import Path
from tendril_assets.corpus.erasure import Removed
from tendril_assets.release import folders, withdrawing

root, document, step, call, exchange = sys.argv[1:]
holder = folders.shutil if step == "rmtree" else folders if step == "erase" else withdrawing
real, calls = getattr(holder, step), iter(range(1, 10_000))

def counted(*args, **kwargs):
    if next(calls) == int(call):
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args, **kwargs)

setattr(holder, step, counted)
if exchange == "False":
    folders._exchange = lambda one, other: False
withdrawing.withdraw(
    Path(root), Removed(frozenset(), frozenset([document]), frozenset()), datetime(2026, 11, 30, 18, 22, 59)
)
"""
