"""The corpus benchmark at its smallest: every figure is there, and the runs do what their names say."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tendril_assets.corpus.extract import read_document
from tendril_assets.spec_corpus import ExtractionSpec
from tendril_assets_tests.benchmarks.corpus import ADDED, changed, family, looked_at, resident_mb
from tendril_assets_tests.test_children import await_true, on_linux


def test_the_figures_of_a_small_run(tmp_path: Path) -> None:
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("TENDRIL_", "DAGSTER_"))}
    done = subprocess.run(
        [sys.executable, "-m", "tendril_assets_tests.benchmarks.corpus", "--projects", "16"],
        env={**keep, "TMPDIR": str(tmp_path), "TENDRIL_WORKERS": "1"},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    figures = json.loads(done.stdout.splitlines()[-1])
    assert {"passages", "wall_s", "cpu_s", "peak_rss_mb", "second_run_s", "cpu_s_bare", "cpu_s_ratio"} <= set(figures)
    assert figures["projects"] == 16
    assert figures["documents"] == 58  # 2,892 of 800 projects
    assert figures["passages"] > figures["kept"] > 1_000
    assert figures["restricted"] == 3
    assert figures["masked_entities"] > 0
    assert figures["second_run_made"] == 0
    assert (figures["changed_run_extractions"], figures["changed_run_readings"]) == (1, 1)
    assert figures["changed_run_masked"] <= 1
    assert figures["peak_rss_mb"] >= figures["main_rss_mb"] > 100
    assert list(tmp_path.iterdir()) == []  # nothing is left behind


@on_linux
def test_memory_is_summed_over_descendants() -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'x = bytearray([1]) * 60_000_000; input()'])"
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    try:
        with looked_at(process.pid) as seen:
            assert await_true(lambda: sum(map(resident_mb, family(process.pid))) > 70, 20)
            assert await_true(lambda: seen["sum"] > 70, 20)
        assert 55 < seen["child"] < seen["sum"]
        assert len(family(process.pid)) == 2
    finally:
        for pid in reversed(family(process.pid)):
            os.kill(pid, 9)
        process.wait()
    assert resident_mb(process.pid) == 0.0


@pytest.mark.parametrize(("name", "data"), [("a.txt", b"Text"), ("a.html", b"<main><p>Text</p></main></body>")])
def test_a_changed_document_is_put_back(tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    before = read_document(path, ExtractionSpec())
    with contextlib.suppress(KeyError), changed(path):
        after = read_document(path, ExtractionSpec())
        raise KeyError("stopped")
    assert path.read_bytes() == data
    assert [page.text for page in before.pages] == ["Text"]
    assert [page.text for page in after.pages] == [f"Text\n\n{ADDED}"]
