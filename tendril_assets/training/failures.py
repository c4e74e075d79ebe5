"""What ended a training process, told as one of this product's errors with what to do about it.

Memory and disk run out in many places and under many names; they are recognised here by type, error number or the
library's words, each of which stands beside its source. Whatever else nobody foresaw keeps its stack.
"""

import errno
import re
import signal
import traceback
from collections.abc import Sequence
from pathlib import Path

from tendril_assets.errors import (
    DiskFull,
    OtherProcessFailed,
    TendrilError,
    TrainingCrashed,
    TrainingError,
    TrainingOutOfMemory,
)
from tendril_assets.quoting import quotes
from tendril_assets.training.examples import text_columns
from tendril_assets.training.job import TrainingJob, read_exchange
from tendril_assets.training.standing import Stop

# Lower-cased parts of messages, and who writes them.
_NO_DEVICE_MEMORY = (
    "out of memory",  # c10/cuda, c10/hip, MPS: "CUDA out of memory", "CUDA error: out of memory", "MPS backend out of memory"
    "cublas_status_alloc_failed",  # cuBLAS finds no room for its workspace
    "cudnn_status_alloc_failed",
)
_NO_MEMORY = (
    "can't allocate memory",  # c10/core/impl/alloc_cpu.cpp
    "not enough memory",  # the same on Windows
    "cannot allocate memory",  # the C library's text of ENOMEM
    "std::bad_alloc",
    "can't start new thread",  # CPython: a thread's stack found no room
    "thread creation failed",  # libgomp, which ends the process
    "failed to map segment",  # the C library's loader, for a shared library of torch
    "memory allocation",  # Rust's handler (tokenizers, polars) and OpenBLAS, which end the process
)
_NO_SPACE = ("no space left on device", "disk quota exceeded", "pytorchstreamwriter failed writing file")
_ENCODING = ("evaluation/dense.py", "evaluation/encoding.py", "training/evaluating.py", "training/validation.py")
_MESSAGE = 400
_MEMORY_SENTENCE = re.compile(r"(?<=[.!])\s+(?=[A-Z])")
KILLED = {
    "SIGKILL": "most likely by the kernel because memory ran out (dmesg and the container's memory limit tell), or by "
    "hand. What needs less memory: {less}",
    "SIGTERM": "somebody asked it to end",
    "SIGINT": "somebody asked it to end",
    "SIGHUP": "its terminal was closed",
    "SIGBUS": "memory or a mapped file is gone: look for a full disk or shared memory (/dev/shm), or a removed file",
}
_CRASH = (
    "a library crashed: look at its last lines, at the driver and at the versions of torch and CUDA (tendril doctor)"
)


def explain(error: BaseException, model: str) -> TendrilError:
    """``error`` itself where it is one of ours, else the error of ours that says what happened and what helps."""
    if isinstance(error, TendrilError):
        return error
    told = _sentence(error)
    if _means(error, _NO_DEVICE_MEMORY) or type(error).__name__ == "OutOfMemoryError":  # torch.OutOfMemoryError
        return TrainingOutOfMemory(f"{told}. What helps: {what_helps(model, encoding=_was_encoding(error))}")
    is_memory = isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM
    if is_memory or _means(error, _NO_MEMORY):
        return TrainingOutOfMemory(
            f"this machine's memory ran out ({told}). What helps: {what_helps(model, encoding=_was_encoding(error))}"
        )
    if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or _means(error, _NO_SPACE):
        return DiskFull(
            f"the disk is full ({told}): make room where TENDRIL_HOME and the temporary folder are, and run again"
        )
    return TrainingCrashed(told)


def what_helps(model: str, *, encoding: bool) -> str:
    """The fields of the specification that need less memory, what costs least first."""
    entry = f"models.{model}"
    if encoding:
        return (
            f"a smaller {entry}.encode_tokens (it happened while weights were only measured; nothing that is trained "
            "changes and the checkpoints stay valid), and nothing else that computes on the device"
        )
    return (
        f"{entry}.gradient_checkpointing: true (slower) or a smaller {entry}.batch (more micro-batches, the same effective "
        f"batch): with either, training goes on from its last checkpoint. Or a smaller {entry}.max_length, which cuts more "
        "inputs: that is another model, whose training begins anew"
    )


def killed(number: int, model: str) -> TrainingCrashed:
    """The error of a process that signal ``number`` ended."""
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    reason = KILLED.get(name, _CRASH).format(less=what_helps(model, encoding=False))
    return TrainingCrashed(f"the training process was ended by {name}: {reason}")


def silent(code: int, lines: Sequence[str], model: str) -> TrainingError:
    """The error of a process that ended with ``code`` (a signal where negative) without a word of ours.

    ``lines``: the last it wrote on standard error. A library that aborts for lack of memory says so there alone.
    """
    said = [line.strip() for line in lines if line.strip()]
    short = next((line for line in said if any(word in line.lower() for word in _NO_DEVICE_MEMORY + _NO_MEMORY)), None)
    if short is not None:
        return TrainingOutOfMemory(
            f"memory ran out ({short[:_MESSAGE]}). What helps: {what_helps(model, encoding=False)}"
        )
    if code < 0:
        return killed(-code, model)
    return TrainingCrashed(
        f"the training process ended with status {code} before it could say why; its last words: "
        f"{said[-1][:_MESSAGE] if said else 'none'}"
    )


def stop_of(error: BaseException, job: TrainingJob, rank: int | None = None) -> Stop:
    """``error`` as a record; only an error that nobody foresaw has its stack with it.

    The words of such an error are left out where they quote a text of the hand-over: a record is logged for good.
    """
    told = explain(error, job.model)
    unforeseen = isinstance(told, TrainingCrashed) and told is not error
    stack = "".join(traceback.format_exception(error)) if unforeseen else None
    if stack is not None and _quotes_texts(stack, job):
        frames = "".join(traceback.format_tb(error.__traceback__))
        return Stop(
            type(told).__name__, f"{type(error).__name__}, whose words quote a text of the hand-over", frames, rank
        )
    return Stop(type(told).__name__, str(told), stack, rank)


def _quotes_texts(words: str, job: TrainingJob) -> bool:
    try:
        exchange = read_exchange(job.exchange)
    except TrainingError:
        return True  # nobody can tell
    frames = (
        exchange.train.select(text_columns(exchange)),
        exchange.corpus.select("text"),
        exchange.queries.select("text"),
    )
    return any(quotes(words, "\n".join(column)) for frame in frames for column in frame.iter_columns())


def weight(stop: Stop, number: int = 0) -> int:
    """How near to the cause an ended process of several is, 0 the nearest; ``number`` is the signal that ended it, or 0.

    When one process ends, the others lose their connection and fail in turn, or are ended by the launcher.
    """
    if number:
        return {signal.SIGTERM: 5, signal.SIGABRT: 4}.get(number, 1)
    if stop.kind == OtherProcessFailed.__name__:
        return 3
    return 2 if stop.kind == TrainingCrashed.__name__ else 0


def _sentence(error: BaseException) -> str:
    """Type and the first two sentences: what torch adds on its allocator's settings helps nobody here."""
    text = " ".join(_MEMORY_SENTENCE.split(" ".join(str(error).split()))[:2])
    name = type(error).__name__
    return f"{name}: {text[:_MESSAGE].rstrip('.')}" if text else name


def _means(error: BaseException, words: tuple[str, ...]) -> bool:
    text = str(error).lower()
    return any(word in text for word in words)


def _was_encoding(error: BaseException) -> bool:
    frames = traceback.extract_tb(error.__traceback__)
    return any(Path(frame.filename).as_posix().endswith(_ENCODING) for frame in frames)
