"""Jobs in child processes: each gets its answer, a child's end names its job, and no child is left behind."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tendril_assets.child_pool import Job, answers
from tendril_assets.errors import ChildProcessFailed
from tendril_assets_tests.test_children import assert_it_dies_with_its_parent, await_true, is_running, on_linux

LOUD = "tendril_assets_tests.pool_answers:loud"
COUNTED = "tendril_assets_tests.pool_answers:counted"


def jobs(*data: bytes) -> list[Job]:
    return [Job(f"document {i}", piece) for i, piece in enumerate(data)]


@pytest.mark.parametrize("workers", [1, 3])
def test_each_job_is_answered_once(workers: int) -> None:
    data = [b"", b"a", "ü".encode() * 200_000, *(str(i).encode() for i in range(20))]
    found = dict(answers(LOUD, "kept", jobs(*data), workers))
    assert {name: answer.rsplit(b" ", 1)[0] for name, answer in found.items()} == {
        f"document {i}": b"kept " + piece for i, piece in enumerate(data)
    }
    pids = {int(answer.rsplit(b" ", 1)[1]) for answer in found.values()}
    assert 1 <= len(pids) <= workers
    assert not any(map(is_running, pids))


def test_no_child_starts_without_a_job(tmp_path: Path) -> None:
    assert list(answers(COUNTED, str(tmp_path), [], 3)) == []
    assert list(tmp_path.iterdir()) == []
    assert list(answers(COUNTED, str(tmp_path), jobs(b"abc"), 3)) == [("document 0", b"cba")]
    assert len(list(tmp_path.iterdir())) == 1


def test_jobs_are_taken_as_children_become_free() -> None:
    taken: list[int] = []

    def endless() -> Iterator[Job]:
        while True:
            taken.append(len(taken))
            yield Job(str(taken[-1]), b"pause")

    found = answers(LOUD, "", endless(), 2)
    for _ in range(5):
        next(found)
    found.close()
    # As many as were answered while five answers were looked at, not all there are: two children need 5 s for 200.
    assert len(taken) < 200


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"raise", "ended with status 1: .*ValueError: this job is wrong"),
        (b"die", "ended with status -9: killed, most often for want of memory"),
        (b"exit", "ended with status 3: noise"),
    ],
)
def test_the_end_of_a_child_names_the_job(data: bytes, told: str) -> None:
    with pytest.raises(ChildProcessFailed, match=f"(?s)at work on document 2 {told}"):
        list(answers(LOUD, "", jobs(b"a", b"b", data, b"c"), 1))


def test_what_a_child_says_of_its_text_is_not_told() -> None:
    text = "quote: Die Brückenwaage am Güterbahnhof wird jeden Dienstag geölt."
    with pytest.raises(
        ChildProcessFailed, match="document 0 ended with status 1: what it said quotes the text"
    ) as error:
        list(answers(LOUD, "", jobs(text.encode()), 1))
    assert "Dienstag" not in str(error.value)


def test_a_factory_that_is_not_there_is_told() -> None:
    with pytest.raises(ChildProcessFailed, match=r"(?s)document 0 ended with status 1: .*has no attribute 'nobody'"):
        list(answers("tendril_assets_tests.pool_answers:nobody", "", jobs(b"a"), 2))


def test_an_error_of_the_jobs_themselves_is_raised() -> None:
    def broken() -> Iterator[Job]:
        yield Job("first", b"a")
        raise LookupError("no more texts")

    with pytest.raises(LookupError, match="no more texts"):
        list(answers(LOUD, "", broken(), 2))


def test_closing_ends_a_child_in_the_middle_of_a_job() -> None:
    before = threading.active_count()
    found = answers(LOUD, "", jobs(b"a", b"sleep", b"sleep"), 1)
    pid = int(next(found)[1].split()[-1])
    assert is_running(pid)
    found.close()
    assert await_true(lambda: not is_running(pid), 10)
    assert threading.active_count() == before


PARENT = """
import pathlib, sys
from tendril_assets.child_pool import Job, answers
for name, answer in answers(sys.argv[1], "", [Job("a", b"a"), Job("b", b"sleep")], 1):
    pathlib.Path(sys.argv[2]).write_bytes(answer.split()[-1])
"""


@on_linux
def test_children_end_with_a_killed_parent(tmp_path: Path) -> None:
    assert_it_dies_with_its_parent(PARENT, LOUD, tmp_path / "pid")
