"""A reader process that breaks as libraries do: the name of the document says how.

``hang``: runs forever. ``hog``: takes memory without end. ``crash``: a fault in native code. ``stop``: ends without a
word. ``noise``: prints where only records may go. Everything else is read as ever.
"""

import ctypes
import os
from pathlib import Path

from tendril_assets.corpus import extract_worker


def read_document(path: str, limits: object) -> object:
    match Path(path).stem:
        case "hang":
            while True:
                pass
        case "hog":
            taken = []
            while True:
                taken.append(bytes(1 << 26))  # address space, not yet memory: quick, and the limit is on it
        case "crash":
            ctypes.string_at(1)
        case "stop":
            os._exit(0)
        case "noise":
            os.write(1, b"\x00\x00\x00\x05hello")
    return _real(path, limits)


_real = extract_worker.read_document

if __name__ == "__main__":
    extract_worker.read_document = read_document
    extract_worker.main()
