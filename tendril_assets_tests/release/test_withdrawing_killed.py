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

# Half written; whole but not in its place; between the two renames of a file system that cannot exchange two folders (the
# first rename is of a file); the former folder half erased, and not taken away yet.
KILLED_AT = [("write_beir", 1), ("set_in_place", 1), ("rename", 3), ("erase", 5), ("rmtree", 1)]


@pytest.mark.parametrize(("step", "call"), KILLED_AT, ids=[step for step, _ in KILLED_AT])
def test_a_kill_anywhere_is_finished_by_the_next_run(tmp_path, step, call) -> None:
    folder = write(tmp_path, "1.0.0").path
    gone = removed(documents=[toy.document(1, 1)])
    before = file_hashes(folder)
    arguments = [str(tmp_path), toy.document(1, 1), step, str(call)]
    done = subprocess.run([sys.executable, "-c", _KILLED, *arguments], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    # Old or new, never half of either; a folder set aside by two renames comes back with the next run.
    assert folder.exists() == (step != "rename")
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

root, document, step, call = sys.argv[1:]
holders = {"rmtree": folders.shutil, "erase": folders, "rename": Path}
holder = holders.get(step, withdrawing)
real, calls = getattr(holder, step), iter(range(1, 10_000))

def counted(*args, **kwargs):
    if next(calls) == int(call):
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args, **kwargs)

setattr(holder, step, counted)
if step == "rename":
    folders._exchange = lambda one, other: False
withdrawing.withdraw(
    Path(root), Removed(frozenset(), frozenset([document]), frozenset()), datetime(2026, 11, 30, 18, 22, 59)
)
"""
