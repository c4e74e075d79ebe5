"""The whole corpus stage, from landing folder to corpus: time and memory, first run, second run, one document changed.

``python -m tendril_assets_tests.benchmarks.corpus [--size small|published] [--landing FOLDER]``

Writes a landing folder of invented documents (or takes the one given, which holds the collection's folder) and runs the
real job ``<collection>_corpus`` three times, each in a process of its own, with one fresh TENDRIL_HOME: everything new,
nothing changed, one text document changed. CPU seconds include the children of a run; ``peak_rss_mb`` is the largest
sum over the processes of the first run, looked at ten times a second, or its main process's own peak where that is
higher. The baseline reads the same PDF files with pypdfium2 and hashes all files, one after the other.
"""

import argparse
import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tendril_assets.assets.reading import EXTRACTIONS, MASKED, READINGS, RESIDUAL, SEARCHED
from tendril_assets.defs import DEFAULT_COLLECTION
from tendril_assets.files import file_hash
from tendril_assets_tests.published_landing import write_landing

SIZES = {"small": 40, "published": 800}
KEPT_BY_CONTENT = (EXTRACTIONS, READINGS, SEARCHED, MASKED, RESIDUAL)
HASH_KEY = "benchmark-identifiers-of-invented-projects"
LIMIT_S = 3 * 3600
LOOK_EVERY_S = 0.1
ADDED = "Nachtrag: Die Frist für Fragen zu den Unterlagen endet eine Woche später als zuerst angekündigt."
# What the first run gave, read from its tables.
COUNTS = """
SELECT (SELECT count(*) FROM sampled_projects) AS projects, (SELECT count(*) FROM sampled_documents) AS documents,
  (SELECT count(DISTINCT project) FROM restricted_projects) AS restricted, (SELECT count(*) FROM passages) AS passages,
  (SELECT count(*) FROM corpus) AS kept, (SELECT median(characters) FROM passages) AS median_characters,
  (SELECT coalesce(sum(entities), 0) FROM anonymized_entities) AS masked_entities
"""


def cpu_s() -> float:
    """User and system seconds of this process and of its children that have ended."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


# One run, in its own process ------------------------------------------------------------------------------------------
def run_once(report: Path) -> None:
    """Execute the job that the environment sets up, and write its figures, with one entry per step, to ``report``."""
    import dagster as dg

    from tendril_assets.children import die_with_parent
    from tendril_assets.definitions import definitions
    from tendril_assets.running import ensure_dagster_home
    from tendril_assets.settings import Settings

    die_with_parent()
    ensure_dagster_home(Settings.from_env())
    steps: list[dict[str, Any]] = []
    begun: dict[str, tuple[float, float]] = {}

    def follow(entry: dg.EventLogEntry) -> None:
        kind, step = entry.dagster_event.event_type_value if entry.dagster_event else "", str(entry.step_key)
        now = (time.perf_counter(), cpu_s())
        if kind == "STEP_START":
            begun[step] = now
        elif kind in ("STEP_SUCCESS", "STEP_FAILURE"):
            wall, cpu = (b - a for a, b in zip(begun[step], now, strict=True))
            steps.append({"step": step, "wall_s": wall, "cpu_s": cpu})

    run_id = str(uuid.uuid4())
    with dg.DagsterInstance.get() as instance:
        instance.add_event_listener(run_id, follow)
        job = definitions().resolve_job_def(f"{DEFAULT_COLLECTION}_corpus")
        result = job.execute_in_process(instance=instance, run_id=run_id, raise_on_error=False)
        checks = [e for e in result.get_asset_check_evaluations() if e.severity == dg.AssetCheckSeverity.ERROR]
        failed = [e.check_name for e in checks if not e.passed]
    figures = {
        "success": result.success,
        "failed_checks": failed,
        "steps": steps,
        "cpu_s": cpu_s(),
        "main_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    report.write_text(json.dumps(figures), "utf-8")


# The runs, looked at from outside -------------------------------------------------------------------------------------
class Run:
    """Figures of one run: those of ``run_once``, ``wall_s`` from start to end, ``peak_rss_mb``, ``made`` per cache."""

    def __init__(self, home: Path, landing: Path, name: str) -> None:
        before = cached(home)
        report, log = home / f"{name}.json", home / f"{name}.log"
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("TENDRIL_", "DAGSTER_", "GHEIM_"))}
        environment |= {
            "TENDRIL_HOME": str(home),
            "TENDRIL_LANDING": str(landing),
            "TENDRIL_PROFILE": "sandbox",
            "TENDRIL_HASH_KEY": HASH_KEY,
        }
        if workers := os.environ.get("TENDRIL_WORKERS"):
            environment["TENDRIL_WORKERS"] = workers
        begin = time.perf_counter()
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", __spec__.name if __spec__ else __name__, "--run", str(report)],
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            try:
                with looked_at(process.pid) as seen:
                    code = process.wait(LIMIT_S)
            finally:
                process.kill()
        self.wall_s = time.perf_counter() - begin
        if code or not report.exists():
            raise RuntimeError(f"the {name} run ended with {code}; its last lines:\n{log.read_text('utf-8')[-3000:]}")
        figures = json.loads(report.read_text("utf-8"))
        if not figures["success"] or figures["failed_checks"]:
            raise RuntimeError(f"the {name} run failed ({figures['failed_checks']}); see {log}")
        self.steps, self.cpu_s = figures["steps"], figures["cpu_s"]
        self.main_rss_mb, self.child_rss_mb = figures["main_rss_mb"], seen["child"]
        self.peak_rss_mb = max(seen["sum"], self.main_rss_mb)
        self.made = {kind: n - before[kind] for kind, n in cached(home).items()}


def cached(home: Path) -> Counter[str]:
    """Entries per cache."""
    caches = home / "artifacts" / "cache"
    return Counter(
        {kind: sum(1 for path in (caches / kind).rglob("[!.]*") if path.is_file()) for kind in KEPT_BY_CONTENT}
    )


@contextlib.contextmanager
def looked_at(pid: int) -> Iterator[dict[str, float]]:
    """Most resident megabytes while the block runs: ``sum`` of the process and its descendants, ``child`` of one such.

    The kernel's own peak of an ended child is no use here: it counts the parent's memory that the child was forked with.
    """
    seen, over = {"sum": 0.0, "child": 0.0}, threading.Event()

    def look() -> None:
        while not over.wait(LOOK_EVERY_S):
            sizes = [resident_mb(process) for process in family(pid)]
            seen["sum"] = max(seen["sum"], sum(sizes))
            seen["child"] = max(seen["child"], *sizes[1:], 0.0)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


def family(pid: int) -> list[int]:
    """The process and its descendants, as far as they are still there."""
    found = [pid]
    for process in found:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{process}/task").iterdir():
                found += [int(child) for child in (task / "children").read_text("ascii").split()]
    return found


def resident_mb(pid: int) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    except (OSError, IndexError):
        return 0.0  # it has ended in the meantime
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024**2


def bare(files: list[Path]) -> float:
    """CPU seconds of pypdfium2's plain text of each PDF and a hash of each file."""
    import pypdfium2 as pdfium

    begin = cpu_s()
    for path in files:
        file_hash(path)
        if path.suffix != ".pdf":
            continue
        try:
            document = pdfium.PdfDocument(path)
        except pdfium.PdfiumError:
            continue  # the broken and the encrypted ones
        with document:
            for page in document:
                page.get_textpage().get_text_range()
                page.close()
    return cpu_s() - begin


@contextlib.contextmanager
def changed(path: Path) -> Iterator[None]:
    """``path``, a text or HTML file, with a paragraph more while the block runs."""
    data = path.read_bytes()
    more = f"<p>{ADDED}</p></main>" if path.suffix == ".html" else f"\n\n{ADDED}\n"
    try:
        head, _, tail = data.partition(b"</main>")
        path.write_bytes(head + more.encode() + tail)
        yield
    finally:
        path.write_bytes(data)


def measure(landing: Path, scratch: Path) -> dict[str, Any]:
    home = scratch / "home"
    home.mkdir()
    folder = landing / DEFAULT_COLLECTION
    first = Run(home, landing, "first")
    table_of_steps("first run", first)
    found = tables(home)
    counts = found["counts"]
    second = Run(home, landing, "second")
    table_of_steps("second run, nothing changed", second)
    with changed(Path(found["text_document"])):
        third = Run(home, landing, "third")
    table_of_steps("third run, one document changed", third)
    files = sorted(path for path in (folder / "documents").rglob("*") if path.is_file())
    bare_s = bare(files)
    return {
        **counts,
        "files": len(files),
        "megabytes": sum(path.stat().st_size for path in files) / 1e6,
        "wall_s": first.wall_s,
        "cpu_s": first.cpu_s,
        "peak_rss_mb": first.peak_rss_mb,
        "main_rss_mb": first.main_rss_mb,
        "child_rss_mb": first.child_rss_mb,
        "second_run_s": second.wall_s,
        "second_run_cpu_s": second.cpu_s,
        "second_run_made": sum(second.made.values()),
        "changed_run_s": third.wall_s,
        "changed_run_cpu_s": third.cpu_s,
        **{f"changed_run_{kind}": n for kind, n in third.made.items()},
        "cpu_s_bare": bare_s,
        "cpu_s_ratio": first.cpu_s / bare_s,
    }


def tables(home: Path) -> dict[str, Any]:
    """Counts of the first run, and the path of a text or HTML document whose project is in the corpus.

    Raises LookupError where no such document was sampled: write more projects.
    """
    from tendril_assets.resources.warehouse import Warehouse

    warehouse = Warehouse(database=str(home / "warehouse.duckdb"), snapshot=str(home / "snapshot.duckdb"))
    counts: dict[str, Any] = warehouse.frame(DEFAULT_COLLECTION, COUNTS).to_dicts()[0]
    text = warehouse.frame(
        DEFAULT_COLLECTION,
        "SELECT path FROM sampled_documents JOIN documents USING (project, document) JOIN project_status USING (project) "
        "WHERE NOT delivered AND regexp_matches(document, '\\.(txt|html)$') AND state = 'in_corpus' "
        "ORDER BY document LIKE '%.html', project, document LIMIT 1",
    )
    if text.is_empty():
        raise LookupError("no text or HTML document was sampled that could be changed: write more projects")
    return {"counts": counts, "text_document": text["path"][0]}


def table_of_steps(title: str, run: Run) -> None:
    print(f"\n{title:<58}{'wall s':>10}{'CPU s':>10}")
    for step in run.steps:
        print(f"  {step['step']:<56}{step['wall_s']:>10.2f}{step['cpu_s']:>10.2f}")
    rest = [run.wall_s - sum(s["wall_s"] for s in run.steps), run.cpu_s - sum(s["cpu_s"] for s in run.steps)]
    print(f"  {'start and between the steps':<56}{rest[0]:>10.2f}{rest[1]:>10.2f}")
    print(
        f"  {'sum':<56}{run.wall_s:>10.2f}{run.cpu_s:>10.2f}   peak {run.peak_rss_mb:,.0f} MB, made {run.made}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--projects", type=int, help="sampled projects, in place of the size's number")
    parser.add_argument("--landing", type=Path, help="folder written by published_landing before; else one is written")
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        run_once(arguments.run)
        return
    with tempfile.TemporaryDirectory(prefix="tendril-corpus-") as scratch:
        landing = arguments.landing
        if landing is None:
            landing = Path(scratch) / "landing"
            print(write_landing(landing, arguments.projects or SIZES[arguments.size]))
        figures = measure(landing.absolute(), Path(scratch))
    figures = {"size": arguments.size} | {k: round(v, 3) if isinstance(v, float) else v for k, v in figures.items()}
    print()
    for name, value in figures.items():
        print(f"{name:<24}{value:>16,.2f}" if isinstance(value, float) else f"{name:<24}{value:>16}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
