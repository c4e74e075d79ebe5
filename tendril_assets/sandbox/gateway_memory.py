"""What the stand-in gateway remembers: the requests it answered to the end, so that it can tell who asks twice.

An answer that was sent need not have arrived: a client killed while it is on the wire never saw it, and has to ask
again. So an answer counts as *received* once the client comes back on the same connection, which a client that reads
one reply after the other does only when it is done with the former. A request asked again after that was **asked
twice**; one asked again before it was **lost on the way**. A request is its body and the label of a repeat: a body that
is asked again on purpose, under another label, is another request.

A state file holds one line per event, written at once: ``a <hash>`` for an answer, ``r`` for one received, ``t`` for a
request asked twice, ``l`` for one lost. A gateway started with the same file goes on counting, whatever was killed
between.
"""

import hashlib
import os
from collections.abc import Hashable
from pathlib import Path
from typing import NamedTuple

_HASH_BYTES = 16
# A request takes about 130 bytes: its hash, and one small number for all that is known of it. The lowest two bits say
# whether it was answered and whether that answer arrived, the rest counts how often it was asked.
_ANSWERED, _RECEIVED, _ONCE = 1, 2, 4


class Asked(NamedTuple):
    """``key``: hash of a request; ``times``: how often this process was asked it, this time included."""

    key: bytes
    times: int


class Memory:
    """Requests answered to the end, and which were asked again; in the state file at once, where there is one."""

    def __init__(self, state: Path | None) -> None:
        self.answered = self.asked_twice = self.lost = 0
        self._known: dict[bytes, int] = {}
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

    def note_request(self, body: bytes, repeat: bytes, connection: Hashable) -> Asked:
        """Take note of a request; counts it where it was answered before, by whether that answer is known to have
        arrived. ``repeat``: label of a repeat, empty where there is none."""
        former = self._last_sent.pop(connection, None)
        if former is not None:
            self._add(former, _RECEIVED, b"r")
        # The label is a header's value and holds no newline; a body may end in anything, so its length comes first.
        digest = hashlib.blake2b(body, digest_size=_HASH_BYTES)
        if repeat:
            digest.update(b"\n%d %b" % (len(body), repeat))
        key = digest.digest()
        known = self._known.get(key, 0)
        if known & _RECEIVED:
            self.asked_twice += 1
            self._write(b"t", key)
        elif known & _ANSWERED:
            self.lost += 1
            self._write(b"l", key)
        self._known[key] = known + _ONCE
        return Asked(key, known // _ONCE + 1)

    def note_answer(self, key: bytes, connection: Hashable) -> None:
        """Just before the answer goes out."""
        self._last_sent[connection] = key
        self._add(key, _ANSWERED, b"a")

    def _add(self, key: bytes, mark: int, kind: bytes) -> None:
        known = self._known.get(key, 0)
        if not known & mark:
            self._known[key] = known | mark
            self.answered += mark == _ANSWERED
            self._write(kind, key)

    def _recall(self, line: bytes) -> None:
        kind, _, digits = line.strip().partition(b" ")
        if len(digits) != 2 * _HASH_BYTES:
            return
        key = bytes.fromhex(digits.decode())
        known = self._known.get(key, 0)
        if kind == b"a":
            self.answered += not known & _ANSWERED
            self._known[key] = known | _ANSWERED
        elif kind == b"r":
            self._known[key] = known | _RECEIVED
        elif kind == b"t":
            self.asked_twice += 1
        elif kind == b"l":
            self.lost += 1

    def _write(self, kind: bytes, key: bytes) -> None:
        if self._descriptor is not None:
            os.write(self._descriptor, kind + b" " + key.hex().encode() + b"\n")
