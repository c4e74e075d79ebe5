"""The gateway client: how near it comes to the ideal rate, what a call costs in CPU, and how it bears a limited gateway.

``python -m tendril_assets_tests.benchmarks.gateway [--size small|published]``

With a latency of L seconds, n requests in flight and r rounds of n requests, r x L seconds are ideal. The share of that
is measured with 64 and 256 in flight, over the whole call: opening the ledger and n connections, and waiting for the last
answer. A round more than needed costs 1 / r of it, so r is 20 at the published size. CPU per call is this process's own,
without latency, 64 in flight, retries, parsing and the ledger included; it and its ratio hold on a busy machine too, wall
times do not. The baseline, in the same run and against the same stand-in gateway, is httpx with one client per worker
that parses each reply and does nothing else.

``gateway_cpu_ms_per_call`` is what the stand-in itself needs. It has one core: where calls_per_s_64 comes near
1000 / gateway_cpu_ms_per_call, the stand-in is the limit and not the client.

``limit_share`` is the share of its rate that is reached at a gateway which refuses what is above it, with five times as
many workers as needed, and ``refused_share`` that of refused calls.
"""

import argparse
import asyncio
import json
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

from tendril_assets.resources.gateway_client import Endpoint, GatewayRequest, answer
from tendril_assets.resources.ledger import Ledger
from tendril_assets.sandbox.gateway import StandInGateway


@dataclass(frozen=True)
class Size:
    """``rounds`` of answers per worker at ``latency_s``; ``calls`` without latency; ``limited_s``: seconds a limited
    gateway needs at least."""

    latency_s: float
    rounds: int
    calls: int
    limited_s: float


SIZES = {"small": Size(0.5, 6, 2000, 8.0), "published": Size(1.0, 20, 20_000, 30.0)}
RATE, RATE_LATENCY_S = 100, 0.25
PASSAGE = "Die Unternehmerin weist nach, dass das verwendete Holz aus zertifizierter Waldwirtschaft stammt. " * 4


@dataclass(frozen=True)
class Timing:
    calls: int
    wall_s: float
    cpu_s: float

    @property
    def rate(self) -> float:
        return self.calls / self.wall_s

    @property
    def cpu_ms(self) -> float:
        return 1000 * self.cpu_s / self.calls


def requests(n: int) -> Iterator[GatewayRequest]:
    for i in range(n):
        text = f"<query>Holz aus nachhaltiger Waldwirtschaft</query>\n\n<passage>{PASSAGE} {i}</passage>"
        messages = [{"role": "system", "content": "Beurteile die Passage. " * 20}, {"role": "user", "content": text}]
        yield GatewayRequest(f"{i:064x}", "judge", {"model": "stand-in/judge", "max_tokens": 64, "messages": messages})


def timed(work, calls: int) -> Timing:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Timing(calls, time.perf_counter() - wall, time.process_time() - cpu)


def ours(base_url: str, calls: int, concurrency: int) -> Timing:
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder))
        endpoint = Endpoint(base_url, "stand-in")

        def work() -> None:
            summary = answer(requests(calls), ledger, endpoint=endpoint, concurrency=concurrency, total=calls)
            summary.require_complete()

        return timed(work, calls)


def bare(base_url: str, calls: int, concurrency: int) -> Timing:
    async def go() -> None:
        waiting = requests(calls)
        url = httpx.URL(f"{base_url}/chat/completions")
        headers = {"Authorization": "Bearer stand-in", "Content-Type": "application/json"}

        async def worker() -> None:
            async with httpx.AsyncClient(verify=False, headers=headers, timeout=60, trust_env=False) as client:
                for request in waiting:
                    response = await client.post(url, content=json.dumps(request.body).encode())
                    assert response.json()["choices"][0]["message"]["content"]

        await asyncio.gather(*(worker() for _ in range(concurrency)))

    return timed(lambda: asyncio.run(go()), calls)


def cpu_seconds(pid: int) -> float:
    """CPU that a running process has used, by Linux's /proc."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def limited(size: Size) -> dict[str, float]:
    """A gateway with a rate limit, which saves up to one second of it."""
    calls = int(RATE * size.limited_s)
    with StandInGateway(rate_limit=RATE, latency_s=RATE_LATENCY_S) as gateway, tempfile.TemporaryDirectory() as folder:
        endpoint = Endpoint(gateway.base_url, "stand-in")
        summary = answer(requests(calls), Ledger(Path(folder)), endpoint=endpoint, concurrency=128, total=calls)
    summary.require_complete()
    # What was saved up goes out at once.
    ideal = (calls - RATE) / RATE + RATE_LATENCY_S
    return {"limit_share": ideal / summary.seconds, "refused_share": summary.rate_limited / summary.calls}


def measure(size: Size) -> dict[str, float]:
    figures: dict[str, float] = {}
    with StandInGateway() as gateway:
        # A short run of each first: imports and the server's caches are nobody's cost per call, nor part of a ramp-up.
        for run in (ours, bare):
            run(gateway.base_url, 200, 8)
        before = cpu_seconds(gateway.pid)
        own = ours(gateway.base_url, size.calls, 64)
        figures["gateway_cpu_ms_per_call"] = 1000 * (cpu_seconds(gateway.pid) - before) / size.calls
        base_timing = bare(gateway.base_url, size.calls, 64)
    with StandInGateway(latency_s=size.latency_s) as gateway:
        for concurrency in (64, 256):
            calls = concurrency * size.rounds
            ideal = concurrency / size.latency_s
            share, base = (run(gateway.base_url, calls, concurrency).rate / ideal for run in (ours, bare))
            figures |= {f"ideal_share_{concurrency}": share, f"ideal_share_{concurrency}_bare": base}
    figures |= {"cpu_ms_per_call": own.cpu_ms, "cpu_ms_per_call_bare": base_timing.cpu_ms}
    figures |= {"calls_per_s_64": own.rate, "calls_per_s_64_bare": base_timing.rate}
    for name in ("ideal_share_64", "ideal_share_256", "cpu_ms_per_call", "calls_per_s_64"):
        figures[f"{name}_ratio"] = figures[name] / figures[f"{name}_bare"]
    figures |= limited(size)
    return {name: round(value, 4) for name, value in figures.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="small")
    figures = measure(SIZES[parser.parse_args().size])
    print(f"{'figure':<20}{'client':>12}{'bare httpx':>12}{'ratio':>10}")
    for name in ("ideal_share_64", "ideal_share_256", "cpu_ms_per_call", "calls_per_s_64"):
        print(f"{name:<20}{figures[name]:>12.3f}{figures[f'{name}_bare']:>12.3f}{figures[f'{name}_ratio']:>10.3f}")
    for name in ("gateway_cpu_ms_per_call", "limit_share", "refused_share"):
        print(f"{name:<24}{figures[name]:>8.3f}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
