"""Documents read in child processes, each with a time limit, a memory limit and a parent it does not outlive.

A frame is a length of four bytes (big endian) and as many bytes: paths go down, records come up. A worker that takes
too long or dies is replaced. A document whose worker died, or ran out of memory, is tried once more by a worker that
has read nothing before; so the outcome does not depend on what else that worker had to read, nor on their number.
"""

import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import NamedTuple

from tendril_assets.corpus.extraction import Extraction, Limits, ReadingLimits
from tendril_assets.errors import ExtractionError

READY = b"ready"
MEMORY_EXHAUSTED = b"memory"
_START_TIMEOUT_S = 120.0
_WORKER_MODULE = "tendril_assets.corpus.extract_worker"


def frame(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


class ReadResult(NamedTuple):
    """``seconds``: wall time of the last attempt."""

    job_id: str
    extraction: Extraction
    seconds: float


class _Job(NamedTuple):
    job_id: str
    path: str
    needs_fresh: bool = False


def read_documents(
    jobs: Iterable[tuple[str, str | Path]],
    limits: Limits,
    workers: int = 2,
    on_done: Callable[[int, int], None] | None = None,
) -> Generator[ReadResult, None, None]:
    """Read (job_id, path) jobs in ``workers`` child processes; results come as they are finished, in any order.

    ``on_done(done, total)`` is called after each document. Every job gives one result, whatever happens to it: over
    the time limit ``parse_failed``, over the memory limit ``too_large``, a crashed reader ``parse_failed``. The
    workers end with the iterator. Raises ExtractionError where a worker process does not start at all.
    """
    queue = deque(_Job(job_id, os.fspath(path)) for job_id, path in jobs)
    total, done = len(queue), 0
    with _Pool(ReadingLimits.of(limits), max(1, min(workers, total))) as pool:
        while queue or pool.busy:
            for result in pool.step(queue):
                done += 1
                if on_done:
                    on_done(done, total)
                yield result


class _Worker:
    def __init__(self, limits: ReadingLimits) -> None:
        self.job: _Job | None = None
        self.fresh = True
        self.ready = False
        self.started = time.monotonic()
        self.buffer = bytearray()
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by end()
        package_parent = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, (package_parent, os.environ.get("PYTHONPATH"))))
        self.process = subprocess.Popen(
            [sys.executable, "-m", _WORKER_MODULE, str(os.getpid()), json.dumps(limits)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # an interrupt from the keyboard reaches the parent only, which ends the workers
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.requests, self.replies = self.process.stdin, self.process.stdout
        os.set_blocking(self.replies.fileno(), False)

    def give(self, job: _Job) -> bool:
        """Send the job; False where the idle worker has died in the meantime."""
        try:
            self.requests.write(frame(job.path.encode("utf-8", "surrogateescape")))
            self.requests.flush()
        except BrokenPipeError:
            return False
        self.job, self.started = job, time.monotonic()
        return True

    def receive(self) -> tuple[list[bytes], bool]:
        """Whole frames that have arrived, and whether the worker's output has ended."""
        ended = False
        while True:
            try:
                piece = os.read(self.replies.fileno(), 1 << 20)
            except BlockingIOError:
                break
            if not piece:
                ended = True
                break
            self.buffer += piece
        frames = []
        while len(self.buffer) >= 4:
            end = 4 + int.from_bytes(self.buffer[:4], "big")
            if len(self.buffer) < end:
                break
            frames.append(bytes(self.buffer[4:end]))
            del self.buffer[:end]
        return frames, ended

    def last_errors(self) -> str:
        self.errors.seek(0)
        return self.errors.read().decode("utf-8", "replace")[-500:].strip()

    def end(self) -> int:
        """Kill the process where it still runs; its exit status."""
        self.process.kill()
        status = self.process.wait()
        for pipe in (self.requests, self.replies, self.errors):
            try:
                pipe.close()
            except BrokenPipeError:
                continue  # a request the dead worker never took
        return status


class _Pool:
    """Event loop over the workers' pipes; runs in the caller's thread."""

    def __init__(self, limits: ReadingLimits, size: int) -> None:
        self._limits = limits
        self._size = size
        self._workers: list[_Worker] = []
        self._selector = selectors.DefaultSelector()

    def __enter__(self) -> "_Pool":
        return self

    def __exit__(self, *_: object) -> None:
        for worker in list(self._workers):
            self._drop(worker)
        self._selector.close()

    @property
    def busy(self) -> bool:
        return any(worker.job for worker in self._workers)

    def step(self, queue: deque[_Job]) -> list[ReadResult]:
        """Hand out jobs, wait for the next event, give back what was finished."""
        self._hand_out(queue)
        results: list[ReadResult] = []
        for key, _ in self._selector.select(self._next_deadline()):
            worker: _Worker = key.data
            frames, ended = worker.receive()
            for data in frames:
                if not worker.ready:
                    worker.ready = True
                else:
                    results += self._reply(worker, data, queue)
            if ended and worker in self._workers:
                results += self._died(worker, queue)
        now = time.monotonic()
        for worker in [w for w in self._workers if now >= self._deadline(w)]:
            results += self._overdue(worker, now)
        return results

    def _hand_out(self, queue: deque[_Job]) -> None:
        for worker in [w for w in self._workers if w.ready and w.job is None]:
            at = next((i for i, job in enumerate(queue) if worker.fresh or not job.needs_fresh), None)
            if at is not None:
                job = queue[at]
                del queue[at]
                if not worker.give(job):
                    queue.appendleft(job)
                    self._drop(worker)
            elif queue:
                self._drop(worker)  # only jobs for a fresh worker are left
        while len(self._workers) < self._size and len(queue) > sum(w.job is None for w in self._workers):
            worker = _Worker(self._limits)
            self._workers.append(worker)
            self._selector.register(worker.replies, selectors.EVENT_READ, worker)

    def _deadline(self, worker: _Worker) -> float:
        if not worker.ready:
            return worker.started + _START_TIMEOUT_S
        return worker.started + self._limits.timeout_s if worker.job else float("inf")

    def _next_deadline(self) -> float | None:
        nearest = min((self._deadline(worker) for worker in self._workers), default=float("inf"))
        return None if nearest == float("inf") else max(0.0, nearest - time.monotonic())

    def _reply(self, worker: _Worker, data: bytes, queue: deque[_Job]) -> list[ReadResult]:
        job, seconds = worker.job, time.monotonic() - worker.started
        assert job is not None
        worker.job = None
        if data != MEMORY_EXHAUSTED:
            worker.fresh = False
            return [ReadResult(job.job_id, Extraction.from_bytes(data), seconds)]
        was_fresh = worker.fresh
        self._drop(worker)
        if not was_fresh:
            queue.appendleft(job._replace(needs_fresh=True))
            return []
        message = f"needs more than {self._limits.memory_mb} MB of memory"
        return [ReadResult(job.job_id, Extraction("too_large", message), seconds)]

    def _died(self, worker: _Worker, queue: deque[_Job]) -> list[ReadResult]:
        job, seconds, errors = worker.job, time.monotonic() - worker.started, worker.last_errors()
        status = self._drop(worker)
        if not worker.ready:
            raise ExtractionError(
                f"the reader process ended at its start with status {status}: {errors or 'no message'}. "
                f"Check that `{sys.executable} -m {_WORKER_MODULE}` can run and that memory_mb "
                f"({self._limits.memory_mb}) is enough for the interpreter."
            )
        if job is None:
            return []
        if not worker.fresh:
            queue.appendleft(job._replace(needs_fresh=True))
            return []
        message = (
            f"the reader ended with status {status}: a damaged file, or over {self._limits.memory_mb} MB of memory"
        )
        return [ReadResult(job.job_id, Extraction("parse_failed", message, transient=True), seconds)]

    def _overdue(self, worker: _Worker, now: float) -> list[ReadResult]:
        job, seconds, errors = worker.job, now - worker.started, worker.last_errors()
        self._drop(worker)
        if job is None:
            raise ExtractionError(f"the reader process did not start within {_START_TIMEOUT_S:.0f} s: {errors}")
        message = f"took longer than {self._limits.timeout_s:g} s"
        return [ReadResult(job.job_id, Extraction("parse_failed", message, transient=True), seconds)]

    def _drop(self, worker: _Worker) -> int:
        self._selector.unregister(worker.replies)
        self._workers.remove(worker)
        return worker.end()
