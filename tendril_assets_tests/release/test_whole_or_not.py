"""A version is there whole, old or new, whenever its writer is killed or the disk fills up."""

import itertools
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tendril_assets.errors import ReleaseUnwritten
from tendril_assets.release import folders
from tendril_assets.release.huggingface import read_rows
from tendril_assets.release.manifest import damaged_files, file_hashes, read_manifest
from tendril_assets.release.publish import ReleaseInputs, write_release
from tendril_assets_tests.release.test_publish import inputs, unchecked, version, with_another_grade

# Children are forked from a server that has imported what they need and run nothing of it yet.
_CHANGES = ("os.rename", "os.mkdir", "shutil.rmtree", "ctypes.dlsym")
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload([__name__])


def ended(work: Callable[..., None], *arguments: object) -> int | None:
    child = _context.Process(target=work, args=arguments, daemon=True)
    child.start()
    child.join(60)
    return child.exitcode


def killed_writing(step: int, root: Path, made: ReleaseInputs) -> None:
    """Write a release, and be killed just before the ``step``-th change to its folders, counted from 0."""
    changes = itertools.count()

    def counted(event: str, given: tuple[object, ...]) -> None:
        opened = event == "open" and ".tmp" in str(given[0])
        if (opened or event in _CHANGES) and next(changes) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(counted)
    write_release(root, made, unchecked)


def test_a_writer_killed_at_any_step_leaves_the_old_or_the_new_version(tmp_path) -> None:
    """Every step of replacing a sandbox release, one after the other, until the writer gets to its end."""
    root = tmp_path / "toy"
    first, second = inputs(sandbox=True), inputs(with_another_grade(), sandbox=True)
    old = write_release(root, first, unchecked)
    hashes, seen = file_hashes(old.path), set()
    for step in itertools.count():
        code = ended(killed_writing, step, root, second)
        assert code in (0, -signal.SIGKILL)
        manifest = read_manifest(old.path)  # there is a whole version at every moment
        assert damaged_files(old.path, manifest) == []
        is_old = manifest["content_hash"] == old.manifest["content_hash"]
        assert not is_old or file_hashes(old.path) == hashes
        seen.add(is_old)
        again = write_release(root, first, unchecked)
        assert again.outcome == ("unchanged" if is_old else "replaced")
        assert [p.name for p in root.iterdir()] == ["1.0.0"]  # nothing of the dead run is left
        if code == 0:
            break
    assert step > 15
    assert seen == {True, False}


def test_where_folders_cannot_change_places_a_killed_swap_is_undone(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(folders, "_exchange", lambda one, other: False)
    root = tmp_path / "toy"
    old = write_release(root, inputs(sandbox=True), unchecked)
    assert write_release(root, inputs(with_another_grade(), sandbox=True), unchecked).outcome == "replaced"
    assert [p.name for p in root.iterdir()] == ["1.0.0"]
    dead = 2**22 + 1  # above the highest process id Linux gives out by default
    old.path.rename(root / f".1.0.0.{dead}.old")
    assert write_release(root, inputs(with_another_grade(), sandbox=True), unchecked).outcome == "unchanged"
    assert [p.name for p in root.iterdir()] == ["1.0.0"]


def test_two_folders_change_places_in_one_step(tmp_path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    if not folders._exchange(tmp_path / "one", tmp_path / "other"):
        pytest.skip("this file system cannot exchange two names")
    assert [(tmp_path / name / "file").read_text() for name in ("one", "other")] == ["other", "one"]
    with pytest.raises(FileNotFoundError):
        folders._exchange(tmp_path / "one", tmp_path / "nowhere")


def limited(root: Path, size: int, made: ReleaseInputs) -> None:
    """Stands for a full disk: no file may grow beyond ``size`` bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    try:
        write_release(root, made, unchecked)
    except ReleaseUnwritten as error:
        sys.exit(3 if "1.1.0 could not be written" in str(error) and "no room" in str(error) else 4)


@pytest.mark.parametrize("size", [0, 1_000, 4_000, 9_000])
def test_a_full_disk_is_an_error_that_says_so_and_loses_nothing(tmp_path, size: int) -> None:
    first = write_release(tmp_path, inputs(), unchecked)
    before = file_hashes(first.path)
    assert ended(limited, tmp_path, size, inputs(spec=version("1.1.0"))) == 3
    assert [p.name for p in tmp_path.iterdir()] == ["1.0.0"]
    assert file_hashes(first.path) == before


def test_a_folder_nobody_may_write_to_is_an_error_that_says_so(tmp_path, monkeypatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    first = write_release(tmp_path, inputs(), unchecked)
    monkeypatch.setattr("tendril_assets.release.publish.write_parquet", refused)
    with pytest.raises(
        ReleaseUnwritten, match=r"1\.1\.0 could not be written \(Permission denied\): it cannot be written"
    ):
        write_release(tmp_path, inputs(spec=version("1.1.0")), unchecked)
    assert [p.name for p in tmp_path.iterdir()] == ["1.0.0"]
    assert read_rows(first.path).corpus.height == 80


def test_the_loaders_copies_do_not_outlive_a_killed_check(tmp_path) -> None:
    """They hold texts, so they lie where the next run sweeps."""
    write_release(tmp_path, inputs(), unchecked)
    left = tmp_path / f".load.{2**22 + 1}.tmp"
    left.mkdir()
    (left / "cache.arrow").write_text("Holz")
    assert write_release(tmp_path, inputs(), unchecked).outcome == "unchanged"
    assert not left.exists()


def test_every_row_loads_as_users_load_it_streamed_or_whole(tmp_path) -> None:
    made = write_release(tmp_path / "toy", inputs(), unchecked).path
    code = (
        "import sys, datasets\n"
        "for name in (None, 'corpus', 'queries', 'qrels'):\n"
        "    whole = datasets.load_dataset(sys.argv[1], *([name] if name else []), split='train')\n"
        "    streamed = datasets.load_dataset(sys.argv[1], *([name] if name else []), split='train', streaming=True)\n"
        "    assert list(streamed) == list(whole), name\n"
        "    print(name, whole.num_rows, *(f'{c}:{f.dtype}' for c, f in whole.features.items()))\n"
    )
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", code, str(made)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    qrels = "240 query-id:string corpus-id:string score:int64"
    assert done.stdout.splitlines() == [
        f"None {qrels}",
        "corpus 80 id:string text:string project:string document:string page:int64",
        "queries 8 id:string text:string level:string catalog:string area:string",
        f"qrels {qrels}",
    ]
