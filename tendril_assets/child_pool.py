"""Work on texts spread over child processes that end with the process that started them.

``answers`` gives jobs of bytes to children and yields their answers. A child is a fresh interpreter which makes its
answering function once, from a factory named as ``module:function`` and one argument, and then answers job after job.
Jobs and answers travel through pipes, each behind its length of eight bytes (big endian).

Each child has a thread of its own in the parent, which starts it, feeds it and waits for it: the kernel ends a child
with the *thread* that started it (see ``children``). Jobs are taken from their iterable as children become free.
"""

import contextlib
import importlib
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from tendril_assets.children import die_with_parent
from tendril_assets.errors import ChildProcessFailed
from tendril_assets.quoting import quotes

_LENGTH_BYTES = 8
_MODULE = "tendril_assets.child_pool"
_TOLD = 500


class Job(NamedTuple):
    """``name`` tells the job in errors and in its answer."""

    name: str
    data: bytes


def answers(factory: str, argument: str, jobs: Iterable[Job], workers: int) -> Generator[tuple[str, bytes], None, None]:
    """(name, answer) of each job, as they are finished, in any order. The children end with the iterator.

    ``factory`` names a function of one string that returns ``Callable[[bytes], bytes]``.

    Raises:
        ChildProcessFailed: a child ended while it worked on a job, which the error names, or did not start. An
            exception of the answering function ends its child; one that belongs to the job is part of the answer.
    """
    waiting = _Shared(jobs)
    finished: queue.SimpleQueue[tuple[str, bytes] | BaseException | None] = queue.SimpleQueue()
    threads = [_Child(factory, argument, waiting, finished) for _ in range(max(1, workers))]
    running = len(threads)
    try:
        for thread in threads:
            thread.start()
        while running:
            done = finished.get()
            if done is None:
                running -= 1
            elif isinstance(done, BaseException):
                raise done
            else:
                yield done
    finally:
        waiting.close()
        for thread in threads:
            thread.stop()
        for thread in threads:
            if thread.ident is not None:
                thread.join()


class _Shared:
    """One iterator for several threads; empty for all of them once it is closed."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._jobs: Iterator[Job] = iter(jobs)
        self._guard = threading.Lock()
        self._closed = False

    def next(self) -> Job | None:
        with self._guard:
            return None if self._closed else next(self._jobs, None)

    def close(self) -> None:
        with self._guard:
            self._closed = True


class _Child(threading.Thread):
    """Starts one child process at the first job it gets, and hands it one job after the other."""

    def __init__(
        self,
        factory: str,
        argument: str,
        jobs: _Shared,
        finished: "queue.SimpleQueue[tuple[str, bytes] | BaseException | None]",
    ) -> None:
        super().__init__(name=f"child of {factory}", daemon=True)
        self._command = [sys.executable, "-m", _MODULE, str(os.getpid()), factory, argument]
        self._jobs, self._finished = jobs, finished
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()

    def run(self) -> None:
        try:
            self._work()
        except BaseException as error:  # handed to the thread that waits for the answers, which raises it
            if not self._stopping.is_set():
                self._finished.put(error)
        finally:
            self._finished.put(None)

    def stop(self) -> None:
        """End the process, also in the middle of a job."""
        self._stopping.set()
        if self._process:
            self._process.kill()

    def _work(self) -> None:
        job = self._jobs.next()
        if job is None:
            return
        with tempfile.TemporaryFile() as errors:
            process = self._child(errors)
            try:
                assert process.stdin is not None
                assert process.stdout is not None
                while job is not None and not self._stopping.is_set():
                    before = os.fstat(errors.fileno()).st_size
                    answer = _exchange(process.stdin, process.stdout, job.data)
                    if answer is None:
                        raise _ended(job, process.wait(), errors, before)
                    self._finished.put((job.name, answer))
                    job = self._jobs.next()
            finally:
                process.kill()
                process.wait()
                for pipe in (process.stdin, process.stdout):
                    with contextlib.suppress(BrokenPipeError):  # a job the ended child never took
                        pipe.close()

    def _child(self, errors: IO[bytes]) -> subprocess.Popen[bytes]:
        package_parent = str(Path(__file__).parents[1])
        path = os.pathsep.join(filter(None, (package_parent, os.environ.get("PYTHONPATH"))))
        process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # an interrupt from the keyboard reaches the parent only, which ends the children
        )
        self._process = process
        if self._stopping.is_set():
            process.kill()
        return process


def _exchange(requests: IO[bytes], replies: IO[bytes], data: bytes) -> bytes | None:
    """The child's answer; None where it has ended."""
    try:
        requests.write(len(data).to_bytes(_LENGTH_BYTES, "big") + data)
        requests.flush()
    except BrokenPipeError:
        return None
    return _framed(replies)


def _framed(stream: IO[bytes]) -> bytes | None:
    header = stream.read(_LENGTH_BYTES)
    if len(header) < _LENGTH_BYTES:
        return None
    size = int.from_bytes(header, "big")
    data = stream.read(size)
    return data if len(data) == size else None


def _ended(job: Job, status: int, errors: IO[bytes], before: int) -> ChildProcessFailed:
    """What is told of the end of a child. Of its standard error only what it wrote since this job began, behind ``before``
    bytes, can be compared with the texts at work."""
    errors.seek(before)
    told = errors.read().decode("utf-8", "replace")[-_TOLD:].strip()
    if quotes(told, job.data.decode("utf-8", "replace")):
        told = "what it said quotes the text it was at work on, and is not told"
    killed = "killed, most often for want of memory. " if status == -9 else ""
    cause = f"{killed}{told}" or "it left no message"
    return ChildProcessFailed(
        f"the child process at work on {job.name} ended with status {status}: {cause}. What was finished is kept; run again, "
        "with fewer TENDRIL_WORKERS where memory is short."
    )


# The child ------------------------------------------------------------------------------------------------------------
def serve(requests: IO[bytes], replies: IO[bytes], answer: Callable[[bytes], bytes]) -> None:
    while (data := _framed(requests)) is not None:
        reply = answer(data)
        replies.write(len(reply).to_bytes(_LENGTH_BYTES, "big") + reply)
        replies.flush()


def main() -> None:
    die_with_parent(int(sys.argv[1]))
    factory, argument = sys.argv[2:]
    # A library that prints would break the frames: its output goes to standard error.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    module, _, function = factory.partition(":")
    serve(sys.stdin.buffer, replies, getattr(importlib.import_module(module), function)(argument))


if __name__ == "__main__":
    main()
