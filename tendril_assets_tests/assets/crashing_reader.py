"""A reader process that is killed by a document of one name, as a parser written in C may be."""

import os
import signal
from pathlib import Path

from tendril_assets.corpus import extract_worker

CRASHES = "crashes.txt"
_read = extract_worker.read_document


def read_document(path, limits):
    if Path(path).name == CRASHES:
        os.kill(os.getpid(), signal.SIGKILL)
    return _read(path, limits)


if __name__ == "__main__":
    extract_worker.read_document = read_document
    extract_worker.main()
