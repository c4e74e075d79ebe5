"""A release is whole or absent, a version never changes, and the folder loads the way users load it."""

import functools
import json
import os
from pathlib import Path

import polars as pl
import pytest

from tendril_assets.errors import ExportInvariantError, HashKeyChanged, IncompleteJudgments
from tendril_assets.release import verify
from tendril_assets.release.figures import CARD_FIGURES, read_figures
from tendril_assets.release.huggingface import published_rows
from tendril_assets.release.invariants import Breach, breach_queries, sql_breaches
from tendril_assets.release.manifest import damaged_files, file_hashes, read_manifest
from tendril_assets.release.publish import ReleaseInputs, write_release
from tendril_assets_tests.release import toy


def inputs(tables: dict[str, pl.DataFrame] | None = None, **changes) -> ReleaseInputs:
    return (_sound() if tables is None else _inputs(tables))._replace(**changes)


@functools.cache
def _sound() -> ReleaseInputs:
    return _inputs(toy.tables())


def _inputs(tables: dict[str, pl.DataFrame]) -> ReleaseInputs:
    read = toy.reader(toy.database(tables))
    return ReleaseInputs(
        spec=toy.spec(),
        rows=published_rows(read("corpus"), read("queries"), read("qrels"), "project"),
        figures=read_figures(read, CARD_FIGURES),
        agreement=tables["judge_agreement"],
        choice=tables["judge_choice"],
        breaches=sql_breaches(*(read(name) for name in breach_queries(toy.spec()))),
        open_requests=0,
        key_fingerprint="0123456789abcdef",
        sandbox=False,
    )


def version(number: str, **changes):
    return toy.spec(release=toy.spec().release.model_dump() | {"version": number}, **changes)


def unchecked(folder: Path, rows) -> None:
    """Stands for the load check where the test is about something else: it takes seconds."""


def with_another_grade() -> dict[str, pl.DataFrame]:
    """The same tables with one grade 0 of ``q-area-0`` turned into 1, in judgments and qrels alike."""
    tables = toy.tables()
    pair = (pl.col("query_id") == toy.query(0)) & (pl.col("passage_id") == toy.passage(6, 1, 2))
    for name, column in (("qrels", "score"), ("judgments", "grade")):
        changed = pl.when(pair).then(1).otherwise(column).cast(pl.Int8).alias(column)
        tables[name] = tables[name].with_columns(changed)
    return tables


def test_a_release_loads_with_datasets_offline(tmp_path, monkeypatch) -> None:
    release = write_release(tmp_path / "toy", inputs())
    assert (release.path, release.outcome) == (tmp_path / "toy" / "1.0.0", "written")
    names = {p.relative_to(release.path).as_posix() for p in release.path.rglob("*") if p.is_file()}
    shards = {f"{c}/train-00000-of-00001.parquet" for c in ("corpus", "queries", "qrels")}
    beir = {"beir/corpus.jsonl", "beir/queries.jsonl", "beir/qrels/train.tsv"}
    assert names == {"README.md", "LICENSE.md", "CHANGELOG.md", "manifest.json"} | shards | beir
    assert [p.name for p in release.path.parent.iterdir()] == ["1.0.0"]  # nothing of the loader's either
    found = {"corpus": 80, "queries": 8, "qrels": 240, "default": 240}
    monkeypatch.setattr(verify, "loaded_rows", lambda folder: found)
    verify.require_loadable(release.path, {"corpus": 80, "queries": 8, "qrels": 240})
    for wrong in ({"queries": 9}, {"qrels": 80}):
        with pytest.raises(ExportInvariantError, match="'queries': 8"):
            verify.require_loadable(release.path, {"corpus": 80, "queries": 8, "qrels": 240} | wrong)


def test_a_folder_that_datasets_cannot_load_is_not_set_in_place(tmp_path) -> None:
    def tampering(folder: Path, rows) -> None:
        card = folder / "README.md"
        card.write_text(card.read_text().replace("num_examples: 80", "num_examples: 81"))
        verify.require_loadable(folder, rows)

    with pytest.raises(ExportInvariantError, match="cannot load"):
        write_release(tmp_path / "toy", inputs(), tampering)
    assert list((tmp_path / "toy").iterdir()) == []


def test_the_manifest_says_what_is_there(tmp_path) -> None:
    release = write_release(tmp_path, inputs(sandbox=True), unchecked)
    manifest = json.loads((release.path / "manifest.json").read_text())
    assert manifest["files"] == file_hashes(release.path)
    assert manifest["rows"] == {"corpus": 80, "queries": 8, "qrels": 240}
    assert (manifest["sandbox"], manifest["key_fingerprint"]) == (True, "0123456789abcdef")
    assert manifest["spec_fingerprint"] == toy.spec().fingerprint()
    assert "Sandbox release" in (release.path / "README.md").read_text()


def test_an_equal_release_is_left_untouched(tmp_path) -> None:
    first = write_release(tmp_path, inputs(), unchecked)
    before = {p: (p.stat().st_mtime_ns, p.stat().st_ino) for p in first.path.rglob("*")}
    second = write_release(tmp_path, inputs(), unchecked)
    assert second.outcome == "unchanged"
    assert {p: (p.stat().st_mtime_ns, p.stat().st_ino) for p in first.path.rglob("*")} == before
    assert [p.name for p in tmp_path.iterdir()] == ["1.0.0"]


def test_other_content_under_a_published_version_is_refused(tmp_path) -> None:
    first = write_release(tmp_path, inputs(), unchecked)
    before = file_hashes(first.path)
    with pytest.raises(ExportInvariantError, match=r"raise release\.version"):
        write_release(tmp_path, inputs(with_another_grade()), unchecked)
    assert file_hashes(first.path) == before
    assert [p.name for p in tmp_path.iterdir()] == ["1.0.0"]


def test_a_sandbox_release_may_be_replaced_but_not_by_a_real_one(tmp_path) -> None:
    first = write_release(tmp_path, inputs(sandbox=True), unchecked)
    replaced = write_release(tmp_path, inputs(with_another_grade(), sandbox=True), unchecked)
    assert replaced.outcome == "replaced"
    assert replaced.manifest["content_hash"] != first.manifest["content_hash"]
    assert read_manifest(replaced.path)["files"] == file_hashes(replaced.path)
    with pytest.raises(ExportInvariantError, match=r"raise release\.version"):
        write_release(tmp_path, inputs(), unchecked)


def test_a_damaged_release_is_reported_and_not_overwritten(tmp_path) -> None:
    release = write_release(tmp_path, inputs(), unchecked)
    (release.path / "LICENSE.md").write_text("public domain")
    with pytest.raises(ExportInvariantError, match=r"LICENSE\.md"):
        write_release(tmp_path, inputs(), unchecked)
    assert (release.path / "LICENSE.md").read_text() == "public domain"


def test_a_file_of_a_manifests_name_in_a_config_is_not_overlooked(tmp_path) -> None:
    release = write_release(tmp_path, inputs(), unchecked)
    (release.path / "corpus" / "manifest.json").write_text("{}")
    assert damaged_files(release.path, dict(release.manifest)) == ["corpus/manifest.json"]
    with pytest.raises(ExportInvariantError, match="corpus is no release"):
        write_release(tmp_path, inputs(), unchecked)


def test_a_folder_without_a_manifest_is_never_overwritten(tmp_path) -> None:
    (tmp_path / "1.0.0").mkdir()
    (tmp_path / "1.0.0" / "notes.txt").write_text("mine")
    with pytest.raises(ExportInvariantError, match="no release this product wrote"):
        write_release(tmp_path, inputs(), unchecked)
    assert (tmp_path / "1.0.0" / "notes.txt").read_text() == "mine"


def test_another_secret_cannot_extend_an_existing_release(tmp_path) -> None:
    write_release(tmp_path, inputs(), unchecked)
    with pytest.raises(HashKeyChanged):
        write_release(tmp_path, inputs(spec=version("1.1.0"), key_fingerprint="f" * 16), unchecked)


def test_nothing_is_written_while_a_condition_is_red(tmp_path) -> None:
    first = write_release(tmp_path, inputs(), unchecked)
    before = file_hashes(first.path)
    with pytest.raises(ExportInvariantError, match="leaked_passage_in_training: p-1"):
        write_release(
            tmp_path, inputs(spec=version("1.1.0"), breaches=[Breach("leaked_passage_in_training", "p-1")]), unchecked
        )
    with pytest.raises(IncompleteJudgments):
        write_release(tmp_path, inputs(spec=version("1.1.0"), open_requests=4), unchecked)
    assert file_hashes(first.path) == before
    assert [p.name for p in tmp_path.iterdir()] == ["1.0.0"]


def test_the_changelog_counts_what_changed(tmp_path) -> None:
    write_release(tmp_path, inputs(), unchecked)
    # Without the passages of project 10: 8 of 80 passages and 24 of 240 judgments go; one other grade changes.
    tables = with_another_grade()
    gone = toy.group(10)
    for name in ("corpus", "qrels", "candidates", "judgments"):
        tables[name] = tables[name].filter(pl.col("group_id") != gone)
    for name in ("passages", "passage_decisions"):
        tables[name] = tables[name].filter(pl.col("project") != "P-10")
    status = pl.when(pl.col("project") == "P-10").then(pl.lit("empty")).otherwise("state").alias("state")
    tables["project_status"] = tables["project_status"].with_columns(status)
    second = write_release(tmp_path, inputs(tables, spec=version("1.10.0")), unchecked)
    text = (second.path / "CHANGELOG.md").read_text()
    assert "Since 1.0.0:" in text
    assert "- Passages: 72 (0 added, 8 taken out, 0 changed)." in text
    assert "- Queries: 8 (0 added, 0 taken out, 0 changed)." in text
    assert "- Judgments: 216 (0 added, 24 taken out, 1 changed)." in text
    assert text.endswith("## 1.0.0\n\n- First release: 80 passages, 8 queries, 240 judgments.\n")
    third = write_release(tmp_path, inputs(tables, spec=version("1.9.0")), unchecked)
    assert "Since 1.0.0:" in (third.path / "CHANGELOG.md").read_text()  # 1.9.0 comes before 1.10.0


def test_leftovers_of_dead_runs_are_swept_and_an_interrupted_swap_is_undone(tmp_path) -> None:
    release = write_release(tmp_path, inputs(), unchecked)
    dead = 2**22 + 1  # above the highest process id Linux gives out by default
    (tmp_path / f".1.0.0.{dead}.tmp").mkdir()
    release.path.rename(tmp_path / f".1.0.0.{dead}.old")
    living = tmp_path / f".2.0.0.{os.getppid()}.tmp"
    living.mkdir()
    assert write_release(tmp_path, inputs(), unchecked).outcome == "unchanged"
    assert sorted(p.name for p in tmp_path.iterdir()) == [living.name, "1.0.0"]
