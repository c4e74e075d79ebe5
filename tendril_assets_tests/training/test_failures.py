"""Errors of training by what they are called in torch, the C library and the kernel; and which of several is the cause."""

import errno
import signal
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tendril_assets.errors import (
    DiskFull,
    NonFiniteLoss,
    OtherProcessFailed,
    TendrilError,
    TrainingCrashed,
    TrainingOutOfMemory,
)
from tendril_assets.training.failures import explain, killed, silent, stop_of, weight
from tendril_assets.training.job import TrainingJob
from tendril_assets.training.standing import Stop
from tendril_assets_tests.training.toy import toy_exchange, toy_job


class OutOfMemoryError(RuntimeError):
    """Named as torch's."""


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OutOfMemoryError("XPU out of memory."), TrainingOutOfMemory),
        (OutOfMemoryError(""), TrainingOutOfMemory),
        (RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be asynchronously"), TrainingOutOfMemory),
        (RuntimeError("MPS backend out of memory (MPS allocated: 1 GB)"), TrainingOutOfMemory),
        (
            RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
            TrainingOutOfMemory,
        ),
        (
            RuntimeError(
                "[enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: can't allocate memory: you tried"
            ),
            TrainingOutOfMemory,
        ),
        (RuntimeError("std::bad_alloc"), TrainingOutOfMemory),
        (RuntimeError("can't start new thread"), TrainingOutOfMemory),
        (MemoryError(), TrainingOutOfMemory),
        (ImportError("libtorch_cpu.so: failed to map segment from shared object"), TrainingOutOfMemory),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), TrainingOutOfMemory),
        (OSError(errno.ENOSPC, "No space left on device"), DiskFull),
        (RuntimeError("PytorchStreamWriter failed writing file data/12: file write failed"), DiskFull),
        (RuntimeError("Error while serializing: I/O error: No space left on device (os error 28)"), DiskFull),
        (RuntimeError("The size of tensor a (3) must match the size of tensor b (4)"), TrainingCrashed),
        (OSError(errno.ENOENT, "No such file"), TrainingCrashed),
    ],
)
def test_what_ran_out_is_recognised_under_all_its_names(error: Exception, kind: type) -> None:
    assert type(explain(error, "tiny")) is kind


def test_torch_itself_says_it_in_these_words() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**60, dtype=torch.int8)
    told = str(explain(caught.value, "tiny"))
    assert told.startswith("this machine's memory ran out (RuntimeError: ")
    assert isinstance(explain(torch.OutOfMemoryError("CUDA out of memory."), "tiny"), TrainingOutOfMemory)


def test_what_helps_names_the_fields_of_the_model() -> None:
    told = str(explain(MemoryError(), "big"))
    for field in ("models.big.gradient_checkpointing: true", "models.big.batch", "models.big.max_length"):
        assert field in told or field.removeprefix("models.big.") in told
    assert "encode_tokens" not in told


def test_while_texts_are_only_encoded_another_field_helps() -> None:
    code = compile("def score():\n    raise MemoryError", "/x/tendril_assets/evaluation/encoding.py", "exec")
    names: dict[str, Callable[[], None]] = {}
    exec(code, names)
    with pytest.raises(MemoryError) as caught:
        names["score"]()
    told = str(explain(caught.value, "big"))
    assert "models.big.encode_tokens" in told
    assert "gradient_checkpointing" not in told


@pytest.fixture
def job(tmp_path: Path) -> TrainingJob:
    exchange = toy_exchange()
    passages = exchange.train.with_columns(positive=pl.lit("Die Brückenwaage am Güterbahnhof wird von Hand geölt."))
    return toy_job(tmp_path, tmp_path, exchange._replace(train=passages))


def test_words_that_quote_the_hand_over_are_left_out(job: TrainingJob) -> None:
    marked = pl.read_parquet(job.exchange["train"])["positive"][0]
    with pytest.raises(KeyError) as caught:
        raise KeyError("a row of it") from ValueError(marked[:36])
    stop = stop_of(caught.value, job, rank=1)
    assert stop.message == "KeyError, whose words quote a text of the hand-over"
    assert (stop.kind, stop.rank) == ("TrainingCrashed", 1)
    assert stop.stack is not None
    assert "test_failures.py" in stop.stack
    assert "Güterbahnhof" not in stop.stack
    job.exchange["train"].write_bytes(b"damaged")
    assert stop_of(caught.value, job).message == stop.message  # nobody can tell


def test_an_error_of_ours_is_its_own_sentence_without_a_stack(job: TrainingJob) -> None:
    error = NonFiniteLoss("the loss is nan at step 3", step=3)
    assert explain(error, "tiny") is error
    assert stop_of(error, job) == Stop("NonFiniteLoss", "the loss is nan at step 3")
    assert stop_of(TendrilError("x"), job, rank=2) == Stop("TendrilError", "x", rank=2)


def test_a_long_message_is_cut_and_only_the_unforeseen_has_a_stack(job: TrainingJob) -> None:
    try:
        raise ValueError("x" * 5000)
    except ValueError as error:
        stop = stop_of(error, job)
    assert len(stop.message) < 500
    assert stop.stack is not None
    assert stop.stack.startswith("Traceback")
    assert stop_of(MemoryError(), job).stack is None


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (9, "SIGKILL: most likely by the kernel"),
        (11, "SIGSEGV: a library crashed"),
        (7, "SIGBUS: memory or a mapped"),
        (99, "99"),
    ],
)
def test_a_signal_is_told_by_name(number: int, words: str) -> None:
    assert words in str(killed(number, "tiny"))


@pytest.mark.parametrize(
    ("code", "lines", "kind", "words"),
    [
        (7, [], TrainingCrashed, "ended with status 7 before it could say why; its last words: none"),
        (1, ["Traceback", "ImportError: broken", " "], TrainingCrashed, "its last words: ImportError: broken"),
        (-6, ["memory allocation of 11520000 bytes failed", "stack backtrace:"], TrainingOutOfMemory, "11520000 bytes"),
        (
            1,
            ["OpenBLAS error: Memory allocation still failed after 10 retries, giving up."],
            TrainingOutOfMemory,
            "What helps",
        ),
        (1, ["libgomp: Thread creation failed: Resource temporarily unavailable"], TrainingOutOfMemory, "What helps"),
        (-6, ["terminate called after throwing an instance of 'std::bad_alloc'"], TrainingOutOfMemory, "bad_alloc"),
        (-11, ["Fatal Python error: Segmentation fault"], TrainingCrashed, "SIGSEGV"),
    ],
)
def test_libraries_that_end_the_process_are_told_by_what_they_wrote(
    code: int, lines: list[str], kind: type, words: str
) -> None:
    error = silent(code, lines, "tiny")
    assert type(error) is kind
    assert words in str(error)


def test_the_cause_comes_before_what_follows_from_it() -> None:
    """A process that ran out of memory; one the kernel killed; an error; one that lost its peer; one torch aborted; one
    that the launcher ended."""
    crash = Stop(TrainingCrashed.__name__, "")
    in_order = [
        weight(Stop(TrainingOutOfMemory.__name__, "")),
        weight(crash, signal.SIGKILL),
        weight(crash),
        weight(Stop(OtherProcessFailed.__name__, "")),
        weight(crash, signal.SIGABRT),
        weight(crash, signal.SIGTERM),
    ]
    assert in_order == sorted(set(in_order))
