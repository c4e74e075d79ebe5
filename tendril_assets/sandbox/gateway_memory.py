"""What the stand-in gateway remembers: the bodies it answered to the end, so that it can tell who asks twice.

An answer that was sent need not have arrived: a client killed while it is on the wire never saw it, and has to ask
again. So an answer counts as *received* once the client comes back on the same connection, which a client that reads
one reply after the other does only when it is done with the former. A body asked again after that was **asked twice**;
one asked again before it was **lost on the way**.

A state file holds one line per event, written at once: ``a <hash>`` for an answer, ``r`` for one received, ``t`` for a
body asked twice, ``l`` for one lost. A gateway started with the same file goes on counting, whatever was killed between.
"""

import hashlib
import os
from collections.abc import Hashable
from pathlib import Path

_HASH_BYTES = 16


class Memory:
    """Bodies answered to the end, and which were asked again; in the state file at once, where there is one."""

    def __init__(self, state: Path | None) -> None:
        self.answered: set[bytes] = set()
        self.received: set[bytes] = set()
        self.asked_twice = self.lost = 0
        self._last_sent: dict[Hashable, bytes] = {}
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

    def note_request(self, body: bytes, connection: Hashable) -> bytes:
        """Key of a body; counts it where it was answered before, by whether that answer is known to have arrived."""
        former = self._last_sent.pop(connection, None)
        if former is not None and former not in self.received:
            self.received.add(former)
            self._write(b"r", former)
        key = hashlib.blake2b(body, digest_size=_HASH_BYTES).digest()
        if key in self.received:
            self.asked_twice += 1
            self._write(b"t", key)
        elif key in self.answered:
            self.lost += 1
            self._write(b"l", key)
        return key

    def note_answer(self, key: bytes, connection: Hashable) -> None:
        """Just before the answer goes out."""
        self._last_sent[connection] = key
        if key not in self.answered:
            self.answered.add(key)
            self._write(b"a", key)

    def _recall(self, line: bytes) -> None:
        kind, _, key = line.strip().partition(b" ")
        if len(key) != 2 * _HASH_BYTES:
            return
        if kind == b"a":
            self.answered.add(bytes.fromhex(key.decode()))
        elif kind == b"r":
            self.received.add(bytes.fromhex(key.decode()))
        elif kind == b"t":
            self.asked_twice += 1
        elif kind == b"l":
            self.lost += 1

    def _write(self, kind: bytes, key: bytes) -> None:
        if self._descriptor is not None:
            os.write(self._descriptor, kind + b" " + key.hex().encode() + b"\n")
