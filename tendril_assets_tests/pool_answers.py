"""Answering functions for the tests of child processes, found there by name."""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path


def loud(argument: str) -> Callable[[bytes], bytes]:
    """Answers argument, job and process id; prints on the way, as a careless library does. Some jobs misbehave."""

    def answer(data: bytes) -> bytes:
        sys.stdout.write("noise on standard output\n")
        match data:
            case b"raise":
                raise ValueError("this job is wrong")
            case b"die":
                os.kill(os.getpid(), signal.SIGKILL)
            case _ if data.startswith(b"quote"):
                raise ValueError(f"no span in {data!r}")
            case b"exit":
                os._exit(3)
            case b"sleep":
                time.sleep(120)
            case b"pause":
                time.sleep(0.05)
        return f"{argument} {data.decode()} {os.getpid()}".encode()

    return answer


def counted(argument: str) -> Callable[[bytes], bytes]:
    """Notes the start of this child below the folder ``argument``."""
    (Path(argument) / str(os.getpid())).touch()
    return lambda data: data[::-1]


def dying(argument: str) -> Callable[[bytes], bytes]:
    """Answers as if nothing was to be masked, and is killed by a job that holds ``argument``."""

    def answer(data: bytes) -> bytes:
        if argument.encode() in data:
            os.kill(os.getpid(), signal.SIGKILL)
        return b"[[], {}]"

    return answer
