"""Work done in child processes that are killed with SIGKILL: from outside at any moment, or by themselves just before a
chosen change to a file.

Children are forked from a server that has imported what they need, so that hundreds of them cost little.
"""

import itertools
import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from tendril_assets.resources.gateway_client import Endpoint, GatewayRequest, RetryPolicy, answer
from tendril_assets.resources.ledger import Ledger
from tendril_assets.resources.warehouse import Warehouse

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload([__name__])
# Calls that change a file, or open one to do so.
_CHANGES = ("open", "write", "pwrite", "fsync", "link", "replace", "unlink", "ftruncate")
_WRITING = os.O_WRONLY | os.O_RDWR


def begin(work: Callable[..., object], *arguments: object) -> BaseProcess:
    process = _context.Process(target=work, args=arguments, daemon=True)
    process.start()
    return process


def kill(process: BaseProcess) -> bool:
    """SIGKILL; False where the process had ended by itself."""
    process.kill()
    process.join(60)
    assert process.exitcode in (0, -signal.SIGKILL), process.exitcode
    return process.exitcode != 0


def killed_before(
    change: int, work: Callable[..., object], *arguments: object, among: tuple[str, ...] = _CHANGES
) -> bool:
    """Whether the child got as far as the given change, counted from 0 over those ``among``, and was killed in its place."""
    process = begin(_armed, change, work, arguments, among)
    process.join(60)
    assert process.exitcode in (0, -signal.SIGKILL), process.exitcode
    return process.exitcode != 0


def _armed(change: int, work: Callable[..., object], arguments: tuple[object, ...], among: tuple[str, ...]) -> None:
    counter = itertools.count()

    def counted(name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def call(*given: Any, **named: Any) -> Any:
            if (name != "open" or given[1] & _WRITING) and next(counter) == change:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*given, **named)

        return call

    for name in among:
        setattr(os, name, counted(name))
    work(*arguments)


def compact(folder: Path) -> None:
    Ledger(folder).compact(everything=True)


def remove(folder: Path, keys: list[str]) -> None:
    Ledger(folder).remove(keys)


def repair(folder: Path) -> None:
    Ledger(folder)


def rewrite(database: str, snapshot: str) -> None:
    """Of the warehouse, and of the analysts' copy too."""
    warehouse = Warehouse(database=database, snapshot=snapshot)
    warehouse.rewrite()
    warehouse.publish_snapshot(erase_former=True)


def ask(base_url: str, folder: Path, n: int) -> None:
    """Ask what is open of the requests k0 to k<n - 1>, as a run does, and compact first."""
    ledger = Ledger(folder)
    ledger.compact(everything=True)
    answered = ledger.answered_keys()
    body = {"model": "toy/model", "max_tokens": 10, "temperature": 0}
    requests = (
        GatewayRequest(f"k{i}", "judge", {**body, "messages": [{"role": "user", "content": f"k{i}"}]})
        for i in range(n)
        if f"k{i}" not in answered
    )
    retry = RetryPolicy(first_wait=0.01, max_wait=0.05)
    answer(requests, ledger, endpoint=Endpoint(base_url, "key"), concurrency=8, retry=retry, total=n - len(answered))
