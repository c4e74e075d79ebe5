import hashlib
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tendril_assets.files import file_hash, replacing, write_atomically


def test_the_new_file_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file.txt"
    write_atomically(path, b"one")
    with replacing(path) as partial:
        partial.write_bytes(b"two")
        assert path.read_bytes() == b"one"
        assert partial.parent == path.parent
    assert path.read_bytes() == b"two"
    assert [p.name for p in path.parent.iterdir()] == ["file.txt"]


def test_after_an_exception_the_old_file_stays_and_nothing_is_left(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    write_atomically(path, b"old")

    def half() -> None:
        with replacing(path) as partial:
            partial.write_bytes(b"ha")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_block_that_wrote_nothing_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    write_atomically(path, b"old")
    with pytest.raises(FileNotFoundError), replacing(path):
        pass
    assert path.read_bytes() == b"old"


def test_two_threads_do_not_share_a_temporary_file(tmp_path: Path) -> None:
    path, names = tmp_path / "file.txt", []
    both = threading.Barrier(2)

    def write(data: bytes) -> None:
        with replacing(path) as partial:
            names.append(partial.name)
            partial.write_bytes(data)
            both.wait(60)

    threads = [threading.Thread(target=write, args=(data,)) for data in (b"a" * 9, b"b" * 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(names)) == 2
    assert path.read_bytes() in (b"a" * 9, b"b" * 9)


def test_others_may_read_what_the_umask_allows(tmp_path: Path) -> None:
    former = os.umask(0o022)
    try:
        write_atomically(tmp_path / "page.html", b"")
    finally:
        os.umask(former)
    assert stat.S_IMODE((tmp_path / "page.html").stat().st_mode) == 0o644


def test_the_hash_is_sha256_of_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")
    # Published test vector of SHA-256 for "abc" (FIPS 180-2, appendix B.1).
    assert file_hash(tmp_path / "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    (tmp_path / "large").write_bytes(b"x" * 3_000_000)
    assert file_hash(tmp_path / "large") == hashlib.sha256(b"x" * 3_000_000).hexdigest()


def test_what_a_killed_writer_left_is_swept_and_a_living_one_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    code = (
        "import os, signal, sys; from pathlib import Path; from tendril_assets.files import replacing\n"
        "with replacing(Path(sys.argv[1])) as partial:\n"
        "    partial.write_bytes(b'ha'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert left.name.endswith(".partial")
    living = tmp_path / f".file.txt.{os.getppid()}.1.partial"
    living.write_bytes(b"being written")
    write_atomically(path, b"new")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([living.name, path.name])
