"""Texts in the blocks of a DuckDB file that no table shows any more, where they stand compressed.

Rows that were deleted stay in free blocks until those are used again. Up to storage version 1.1 texts are written as they
are or compressed by FSST (DuckDB 1.5 writes new files in version 1.0); later versions have more forms, which are not read
here. FSST is a table of up to 255 symbols of one to eight bytes, then one byte a symbol, 255 before a byte that stands for
itself. Every such table begins with FSST's version, so it is found without DuckDB's own directory; what follows it up to
the next table or the end of the block is decoded with it.
(Boncz, Neumann, Leis: FSST: Fast Random Access String Compression, VLDB 2020; the layout is that of ``fsst_import``.)
"""

import re
from collections.abc import Iterator

import numpy as np

BLOCK = 256 * 1024
# Headers before the first block: three of 4 KiB.
FIRST_BLOCK = 3 * 4096
# Little endian: byte order 1, number of symbols, terminator, limit, then the version 20190218.
_TABLE = re.compile(rb"\x01[\s\S]{3}\x0a\x14\x34\x01([\x00\x01])([\s\S]{8})")
_ESCAPE = 255
_HEADER = 17


def decoded(block: bytes) -> Iterator[bytes]:
    """What FSST tables in ``block`` decode, each up to the next one."""
    tables = list(_TABLE.finditer(block))
    for n, found in enumerate(tables):
        end = tables[n + 1].start() if n + 1 < len(tables) else len(block)
        symbols = _symbols(block[found.start() : end])
        if symbols is not None:
            lengths, letters, used = symbols
            yield _decode(block[found.start() + used : end], lengths, letters)


def _symbols(table: bytes) -> tuple[np.ndarray, np.ndarray, int] | None:
    """Length of each symbol, their bytes (256 x 8), and the size of the table; None where it is none."""
    is_terminated, histogram = table[8] & 1, list(table[9:_HEADER])
    if is_terminated:
        histogram[0] -= 1
    lengths, letters = np.zeros(256, np.uint8), np.zeros((256, 8), np.uint8)
    lengths[0] = 1
    at, code = _HEADER, is_terminated
    # Symbols of two to eight bytes, then those of one.
    for length in (2, 3, 4, 5, 6, 7, 8, 1):
        for _ in range(histogram[length - 1]):
            if code >= _ESCAPE or at + length > len(table):
                return None
            lengths[code] = length
            letters[code, :length] = np.frombuffer(table, np.uint8, length, at)
            at, code = at + length, code + 1
    return lengths, letters, at


def _decode(codes: bytes, lengths: np.ndarray, letters: np.ndarray) -> bytes:
    """Where ``codes`` begins in the middle of an escape, the first letters may be wrong; it is right soon after."""
    numbers = np.frombuffer(codes, np.uint8)
    escapes = numbers == _ESCAPE
    # Of a run of escapes every second one is a byte that stands for itself.
    run = np.flatnonzero(escapes)
    is_marker = np.zeros(len(numbers), bool)
    previous, marks = -2, False
    for place in run.tolist():
        marks = not (marks and place == previous + 1)
        is_marker[place], previous = marks, place
    itself = np.zeros(len(numbers), bool)
    itself[1:] = is_marker[:-1]
    table = np.vstack([letters, np.column_stack([np.arange(256, dtype=np.uint8), np.zeros((256, 7), np.uint8)])])
    sizes = np.concatenate([lengths, np.ones(256, np.uint8)])
    which = numbers.astype(np.int64) + 256 * itself
    which = which[~is_marker]
    return table[which][np.arange(8) < sizes[which][:, None]].tobytes()
