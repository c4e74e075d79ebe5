"""What the stand-in gateway remembers: the bodies it answered to the end, so that it can tell who asks twice.

A state file holds one line per event, written at once: ``a <hash>`` for an answer, ``t <hash>`` for a body that came
again after it. A gateway started with the same file goes on counting, whatever was killed in between.
"""

import hashlib
import os
from pathlib import Path

_HASH_BYTES = 16


class Memory:
    """Bodies answered to the end, and how often one was asked again; in the state file at once, where there is one."""

    def __init__(self, state: Path | None) -> None:
        self.answered: set[bytes] = set()
        self.asked_twice = 0
        self._descriptor: int | None = None
        if state is None:
            return
        state.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(state, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        with open(self._descriptor, "rb", closefd=False) as stream:
            for line in stream:
                self._recall(line)
        # A line cut short by a kill is ended here, so that the next one starts on its own.
        if (
            os.fstat(self._descriptor).st_size
            and os.pread(self._descriptor, 1, os.fstat(self._descriptor).st_size - 1) != b"\n"
        ):
            os.write(self._descriptor, b"\n")

    def note_request(self, body: bytes) -> bytes:
        """Key of a body; counts it where it was answered before."""
        key = hashlib.blake2b(body, digest_size=_HASH_BYTES).digest()
        if key in self.answered:
            self.asked_twice += 1
            self._write(b"t", key)
        return key

    def note_answer(self, key: bytes) -> None:
        if key not in self.answered:
            self.answered.add(key)
            self._write(b"a", key)

    def _recall(self, line: bytes) -> None:
        kind, _, key = line.strip().partition(b" ")
        if len(key) != 2 * _HASH_BYTES:
            return
        if kind == b"a":
            self.answered.add(bytes.fromhex(key.decode()))
        elif kind == b"t":
            self.asked_twice += 1

    def _write(self, kind: bytes, key: bytes) -> None:
        if self._descriptor is not None:
            os.write(self._descriptor, kind + b" " + key.hex().encode() + b"\n")
