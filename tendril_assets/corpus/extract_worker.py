"""A worker process of ``extract_pool``: reads one document after the other, within a memory limit.

Started as ``python -m tendril_assets.corpus.extract_worker`` with the parent's process id and the limits; takes paths
from standard input and gives records to standard output, both as frames (see ``extract_pool``). It ends when its input
ends, and with its parent.
"""

import json
import os
import resource
import sys
from typing import BinaryIO

from tendril_assets.children import die_with_parent
from tendril_assets.corpus.extract import read_document
from tendril_assets.corpus.extract_pool import MEMORY_EXHAUSTED, READY, frame
from tendril_assets.corpus.extraction import ReadingLimits


def limit_memory(megabytes: int) -> None:
    """Bound the address space; an allocation beyond it fails in this process alone. No core file is written."""
    resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def serve(requests: BinaryIO, replies: BinaryIO, limits: ReadingLimits) -> None:
    replies.write(frame(READY))
    replies.flush()
    while header := requests.read(4):
        path = requests.read(int.from_bytes(header, "big")).decode("utf-8", "surrogateescape")
        try:
            reply = read_document(path, limits).to_bytes()
        except MemoryError:
            reply = MEMORY_EXHAUSTED
        replies.write(frame(reply))
        replies.flush()


def main() -> None:
    parent, limits = int(sys.argv[1]), ReadingLimits(*json.loads(sys.argv[2]))
    die_with_parent(parent)
    limit_memory(limits.memory_mb)
    # A library that prints would break the frames: its output goes to standard error.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, replies, limits)


if __name__ == "__main__":
    main()
