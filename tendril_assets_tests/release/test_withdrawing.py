"""Removed passages leave every version's folder, whatever happens on the way, and what is left passes for no release."""

import errno
import functools
import json
import os
import shutil
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.corpus.erasure import Removed
from tendril_assets.errors import ErasureIncomplete, ExportInvariantError
from tendril_assets.release import folders, withdrawing
from tendril_assets.release.beir import read_beir
from tendril_assets.release.figures import CARD_FIGURES, read_figures
from tendril_assets.release.huggingface import published_rows, read_rows
from tendril_assets.release.invariants import breach_queries, sql_breaches
from tendril_assets.release.manifest import damaged_files, file_hashes, read_manifest
from tendril_assets.release.publish import Release, ReleaseInputs, write_release
from tendril_assets.release.verify import loaded_rows
from tendril_assets.release.withdrawing import withdraw
from tendril_assets.release.withdrawn import release_folders, require_not_withdrawn, withdrawals
from tendril_assets_tests.release import toy

NOW = datetime(2026, 11, 30, 18, 22, 59)
LATER = datetime(2026, 12, 24, 6, 0, 0)
MARKER = "Zwetschgenmus-4711"
DEAD = 2**22 + 1  # above the highest process id Linux gives out by default


def removed(*, groups=(), documents=(), passages=()) -> Removed:
    return Removed(frozenset(groups), frozenset(documents), frozenset(passages))


@functools.cache
def release_inputs(*, has_project_10: bool) -> ReleaseInputs:
    """The toy tables with the marker in passage 1.1.1, which is judged against three queries; once without project 10, as
    they are when it is removed and everything was run again."""
    tables = toy.tables()
    marked_text = pl.when(pl.col("passage_id") == toy.passage(1, 1, 1)).then(pl.lit(f"{MARKER} <PERSON_1>"))
    tables["corpus"] = tables["corpus"].with_columns(marked_text.otherwise("text").alias("text"))
    if not has_project_10:
        for name in ("corpus", "qrels", "candidates", "judgments"):
            tables[name] = tables[name].filter(pl.col("group_id") != toy.group(10))
        for name in ("passages", "passage_decisions", "sampled_projects", "project_status"):
            tables[name] = tables[name].filter(pl.col("project") != "P-10")
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


def write(root: Path, version: str, *, has_project_10: bool = True, **changes) -> Release:
    body = toy.spec().release.model_dump() | {"version": version} | changes.pop("release", {})
    inputs = release_inputs(has_project_10=has_project_10)._replace(spec=toy.spec(release=body), **changes)
    return write_release(root, inputs, lambda folder, rows: None)


def has_marker(root: Path) -> list[str]:
    """Files below ``root`` with the marker in their bytes, or in their rows: Parquet is compressed."""
    found = []
    for path in (p for p in root.rglob("*") if p.is_file()):
        data = path.read_bytes()
        if path.suffix == ".parquet":
            data += pl.read_parquet(path).write_ndjson().encode()
        if MARKER.encode() in data:
            found.append(path.relative_to(root).as_posix())
    return sorted(found)


def state(folder: Path) -> dict[Path, tuple[int, int]]:
    return {p: (p.stat().st_mtime_ns, p.stat().st_ino) for p in [folder, *folder.rglob("*")]}


# Project 1: 2 documents of 4 passages, each judged against 3 queries.
@pytest.mark.parametrize(
    ("gone", "passages", "judgments"),
    [
        (removed(passages=[toy.passage(1, 1, 1)]), 1, 3),
        (removed(documents=[toy.document(1, 1)]), 4, 12),
        (removed(groups=[toy.group(1)]), 8, 24),
        (removed(groups=[toy.group(1)], passages=[toy.passage(1, 1, 1), toy.passage(2, 1, 1)]), 9, 27),
    ],
)
def test_removed_rows_leave_both_layouts(tmp_path, gone, passages, judgments) -> None:
    folder = write(tmp_path, "1.0.0").path
    assert has_marker(folder) == ["beir/corpus.jsonl", "corpus/train-00000-of-00001.parquet"]
    before = read_rows(folder)
    (told,) = withdraw(tmp_path, gone, NOW)
    assert (told.version, told.folder, told.at, told.taken) == ("1.0.0", folder, NOW, passages)
    assert (len(told.passages), told.judgments) == (passages, judgments)
    assert has_marker(tmp_path) == []
    after = read_rows(folder)
    assert (after.corpus.height, after.queries.height, after.qrels.height) == (80 - passages, 8, 240 - judgments)
    # What stays is as it was, row by row and in its order.
    assert after.corpus.equals(before.corpus.filter(~pl.col("id").is_in(list(told.passages))))
    assert after.qrels.equals(before.qrels.filter(~pl.col("corpus-id").is_in(list(told.passages))))
    beir = read_beir(folder / "beir", split="withdrawn")
    assert beir.corpus["id"].to_list() == after.corpus["id"].to_list()
    assert beir.qrels.equals(after.qrels)
    assert [p.name for p in tmp_path.iterdir()] == ["1.0.0"]


def test_the_manifest_says_what_left_and_the_hashes_hold(tmp_path) -> None:
    release = write(tmp_path, "1.0.0")
    withdraw(tmp_path, removed(documents=[toy.document(1, 1)]), NOW)
    manifest = read_manifest(release.path)
    assert manifest["withdrawn"] == {
        "at": "2026-11-30T18:22:59",
        "passages": sorted(toy.passage(1, 1, k) for k in (1, 2, 3, 4)),
        "judgments": 12,
        "published": {
            "content_hash": release.manifest["content_hash"],
            "rows": {"corpus": 80, "queries": 8, "qrels": 240},
        },
    }
    assert manifest["rows"] == {"corpus": 76, "queries": 8, "qrels": 228}
    assert manifest["content_hash"] != release.manifest["content_hash"]
    assert manifest["files"] == file_hashes(release.path)
    assert damaged_files(release.path, manifest) == []
    assert withdrawals(tmp_path) == [withdrawals(tmp_path)[0]._replace(taken=0, at=NOW, version="1.0.0")]
    readme = (release.path / "README.md").read_text()
    assert readme.startswith("# toy-train 1.0.0: withdrawn\n")
    assert "withdrawn on 2026-11-30: 4 passages with 12 judgments removed on request" in readme
    assert "the git tag `v1.0.0`, still hold the removed passages" in readme


def test_no_loader_takes_what_is_left_for_the_version(tmp_path) -> None:
    folder = write(tmp_path, "1.0.0").path
    withdraw(tmp_path, removed(passages=[toy.passage(1, 1, 1)]), NOW)
    with pytest.raises(ExportInvariantError, match="cannot load the release"):
        loaded_rows(folder)
    with pytest.raises(FileNotFoundError, match=r"train\.tsv"):
        read_beir(folder / "beir")
    with pytest.raises(ExportInvariantError, match=r"1 passage with 3 judgments .* raise release\.version"):
        require_not_withdrawn(folder, read_manifest(folder))


def test_a_second_call_and_versions_without_removed_passages_change_nothing(tmp_path) -> None:
    first = write(tmp_path, "1.0.0").path
    second = write(tmp_path, "1.1.0", has_project_10=False).path
    clean = state(second)
    gone = removed(groups=[toy.group(10)])
    assert [one.version for one in withdraw(tmp_path, gone, NOW)] == ["1.0.0"]
    assert state(second) == clean
    before = state(first)
    assert withdraw(tmp_path, gone, LATER) == []
    assert withdraw(tmp_path / "never_released", gone, LATER) == []
    assert withdraw(tmp_path, removed(), LATER) == []
    assert state(first) == before
    assert not (tmp_path / "never_released").exists()


def test_later_removals_add_up_from_the_first_day(tmp_path) -> None:
    release = write(tmp_path, "1.0.0")
    withdraw(tmp_path, removed(passages=[toy.passage(1, 1, 1)]), NOW)
    (told,) = withdraw(tmp_path, removed(passages=[toy.passage(1, 1, 1), toy.passage(3, 2, 4)]), LATER)
    assert (told.at, told.taken, told.judgments) == (NOW, 1, 6)
    assert told.passages == (toy.passage(1, 1, 1), toy.passage(3, 2, 4))
    manifest = read_manifest(release.path)
    assert manifest["withdrawn"]["published"]["content_hash"] == release.manifest["content_hash"]
    assert manifest["withdrawn"]["published"]["rows"]["corpus"] == 80
    changes = (release.path / "CHANGELOG.md").read_text()
    assert changes.count("Withdrawn on") == 1
    assert (
        "Withdrawn on 2026-11-30: 2 passages with 6 judgments removed on request. Copies and the tag `v1.0.0`"
        in changes
    )


def test_an_earlier_id_of_a_removed_passage_goes_with_its_document(tmp_path) -> None:
    """Read by an older rule, the removed text was published as passage 1.1.2; the corpus has the three others still."""
    write(tmp_path, "1.0.0")
    present = frozenset(toy.passage(1, 1, k) for k in (1, 3, 4))
    (told,) = withdraw(
        tmp_path,
        removed(passages=["p-of-today"]),
        NOW,
        touched_documents=frozenset([toy.document(1, 1)]),
        present_passages=present,
    )
    assert told.passages == (toy.passage(1, 1, 2),)


def test_renamed_and_moved_versions_are_found(tmp_path) -> None:
    folder = write(tmp_path, "1.0.0").path
    (tmp_path / "backup").mkdir()
    folder.rename(tmp_path / "backup" / "before the fair")
    write(tmp_path, "1.0.0")
    (tmp_path / "models" / "toy").mkdir(parents=True)
    (tmp_path / "models" / "toy" / "manifest.json").write_text("{}")
    assert release_folders(tmp_path) == [tmp_path / "1.0.0", tmp_path / "backup" / "before the fair"]
    assert len(withdraw(tmp_path, removed(groups=[toy.group(1)]), NOW)) == 2
    assert has_marker(tmp_path) == []


def test_what_cannot_be_told_is_an_error_once_the_rest_is_done(tmp_path) -> None:
    for version in ("1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0"):
        write(tmp_path, version)
    (tmp_path / "1.0.0" / "corpus" / "train-00000-of-00001.parquet").write_bytes(b"PAR1")
    (tmp_path / "1.1.0" / "notes.txt").write_text("mine")
    (tmp_path / "1.2.0" / "manifest.json").write_text("{")
    (tmp_path / "1.3.0" / "manifest.json").write_text('{"version": "1.3.0"}')
    with pytest.raises(ErasureIncomplete) as raised:
        withdraw(tmp_path, removed(groups=[toy.group(1)]), NOW)
    text = str(raised.value)
    assert "1.0.0 was changed after it was written (corpus/train-00000-of-00001.parquet)" in text
    assert "put the files back, or delete the folder" in text
    assert "1.1.0 holds removed passages, and files that are no part of it (notes.txt): move those away" in text
    assert "1.2.0 is no release this product wrote" in text
    assert "1.3.0 is no release this product wrote (manifest.json lacks name, sandbox, key_fingerprint" in text
    # What was done is told with the error: the next call would not find it any more.
    assert [one.version for one in raised.value.done] == ["1.4.0"]
    assert has_marker(tmp_path / "1.4.0") == []
    assert (tmp_path / "1.1.0" / "notes.txt").read_text() == "mine"


def test_a_former_folder_that_cannot_be_erased_is_told_until_it_is(tmp_path, monkeypatch) -> None:
    folder = write(tmp_path, "1.0.0").path
    write(tmp_path, "1.1.0")
    gone = removed(passages=[toy.passage(1, 1, 1)])

    def refused(path: Path) -> bool:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(folders, "erase", refused)
        with pytest.raises(
            ErasureIncomplete, match=r"could not be erased .*Permission denied.*change its owner"
        ) as raised:
            withdraw(tmp_path, gone, NOW)
    assert [one.version for one in raised.value.done] == ["1.0.0", "1.1.0"]
    assert damaged_files(folder, read_manifest(folder)) == []
    assert has_marker(tmp_path) != []
    assert withdraw(tmp_path, gone, NOW) == []
    assert has_marker(tmp_path) == []


def test_a_version_behind_a_link_is_written_anew_where_it_is(tmp_path) -> None:
    root, disk = tmp_path / "release", tmp_path / "disk"
    disk.mkdir()
    write(root, "1.0.0").path.rename(disk / "1.0.0")
    (root / "1.0.0").symlink_to(disk / "1.0.0")
    assert len(withdraw(root, removed(passages=[toy.passage(1, 1, 1)]), NOW)) == 1
    assert has_marker(tmp_path) == []
    assert (root / "1.0.0").is_symlink()
    assert [p.name for p in (*root.iterdir(), *disk.iterdir())] == ["1.0.0", "1.0.0"]


def test_a_version_without_its_changelog_is_withdrawn_and_the_next_goes_on(tmp_path) -> None:
    folder = write(tmp_path, "1.0.0").path
    (folder / "CHANGELOG.md").unlink()
    with pytest.raises(ExportInvariantError, match=r"CHANGELOG\.md cannot be read .* put it back"):
        write(tmp_path, "1.1.0")
    withdraw(tmp_path, removed(groups=[toy.group(10)]), NOW)
    text = (write(tmp_path, "1.1.0", has_project_10=False).path / "CHANGELOG.md").read_text()
    assert text.endswith("\n## 1.0.0\n\nWithdrawn on 2026-11-30: 8 passages with 24 judgments removed on request. "
                         "Copies and the tag `v1.0.0` still hold them.\n")  # fmt: skip


def test_a_version_that_was_moved_away_is_not_used_again_and_counts_once(tmp_path) -> None:
    folder = write(tmp_path, "1.0.0").path
    shutil.copytree(folder, tmp_path / "1.0.0-old")
    withdraw(tmp_path, removed(groups=[toy.group(10)]), NOW)
    assert [(one.version, len(one.passages), one.judgments) for one in withdrawals(tmp_path)] == [("1.0.0", 8, 24)]
    card = (write(tmp_path, "1.1.0", has_project_10=False).path / "README.md").read_text()
    assert card.count("| 1.0.0 (tag `v1.0.0`) |") == 1
    shutil.rmtree(folder)
    with pytest.raises(ExportInvariantError, match=r"withdrawn on 2026-11-30.*raise release\.version"):
        write(tmp_path, "1.0.0", has_project_10=False)
    assert not folder.exists()


def test_what_a_system_or_a_loader_left_in_the_folder_goes_without_a_word(tmp_path) -> None:
    folder = write(tmp_path, "1.0.0").path
    (folder / ".cache" / "huggingface").mkdir(parents=True)
    (folder / ".cache" / "huggingface" / "corpus.lock").write_text(MARKER)
    (folder / "beir" / ".corpus.jsonl.swp").write_text(MARKER)
    (folder / "LICENSE.md").unlink()
    withdraw(tmp_path, removed(passages=[toy.passage(1, 1, 1)]), NOW)
    assert has_marker(tmp_path) == []
    assert damaged_files(folder, read_manifest(folder)) == []


def test_another_secret_is_told_for_nothing_would_be_found(tmp_path) -> None:
    write(tmp_path, "1.0.0")
    gone = removed(passages=[toy.passage(1, 1, 1)])
    with pytest.raises(ErasureIncomplete, match=r"release .*1\.0\.0"):
        withdraw(tmp_path, gone, NOW, key_fingerprint="f" * 16)
    assert len(withdraw(tmp_path, gone, NOW, key_fingerprint="0123456789abcdef")) == 1


def test_the_folder_of_a_living_writer_is_named(tmp_path) -> None:
    write(tmp_path, "1.0.0")
    living = tmp_path / f".2.0.0.{os.getppid()}.tmp"
    living.mkdir()
    with pytest.raises(ErasureIncomplete, match=rf"{living.name} is being written by another process"):
        withdraw(tmp_path, removed(passages=[toy.passage(1, 1, 1)]), NOW)
    assert has_marker(tmp_path) == []


def test_a_full_disk_leaves_the_version_as_it_was(tmp_path, monkeypatch) -> None:
    folder = write(tmp_path, "1.0.0").path
    before = file_hashes(folder)

    def full(work: Path, rows) -> None:
        (work / "corpus").mkdir()
        (work / "corpus" / "half").write_bytes(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(withdrawing, "write_parquet", full)
        with pytest.raises(ErasureIncomplete, match=r"No space left on device.*make room"):
            withdraw(tmp_path, removed(passages=[toy.passage(1, 1, 1)]), NOW)
    assert file_hashes(folder) == before
    assert [p.name for p in tmp_path.iterdir()] == ["1.0.0"]
    assert len(withdraw(tmp_path, removed(passages=[toy.passage(1, 1, 1)]), NOW)) == 1


def test_the_bytes_of_the_former_folder_are_overwritten(tmp_path) -> None:
    folder = write(tmp_path, "1.0.0").path
    with (folder / "beir" / "corpus.jsonl").open("rb") as still_open:
        assert MARKER.encode() in still_open.read()
        withdraw(tmp_path, removed(passages=[toy.passage(1, 1, 1)]), NOW)
        still_open.seek(0)
        assert set(still_open.read()) == {0}


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    return write(tmp_path_factory.mktemp("template"), "1.0.0").path


IDS = st.tuples(st.integers(1, 3), st.integers(1, 2), st.integers(1, 4))


@settings(max_examples=20, deadline=None)
@given(
    st.sets(IDS, max_size=4),
    st.sets(st.tuples(st.integers(1, 3), st.integers(1, 2)), max_size=2),
    st.sets(st.integers(1, 12), max_size=2),
)
def test_exactly_what_the_ids_take_leaves(written, tmp_path_factory, passages, documents, groups) -> None:
    root = tmp_path_factory.mktemp("releases")
    folder = root / "1.0.0"
    shutil.copytree(written, folder)
    gone = removed(
        passages=[toy.passage(*p) for p in passages],
        documents=[toy.document(*d) for d in documents],
        groups=[toy.group(g) for g in groups],
    )
    before = read_rows(folder).corpus
    wanted = {
        i for i, group, document in before.select("id", "project", "document").rows() if gone.takes(i, document, group)
    }
    told = withdraw(root, gone, NOW)
    assert {i for one in told for i in one.passages} == wanted
    left = read_rows(folder)
    assert set(left.corpus["id"]) == set(before["id"]) - wanted
    assert not set(left.qrels["corpus-id"]) & wanted
    assert sum(one.judgments for one in told) == 240 - left.qrels.height == 3 * len(wanted)
    assert ("withdrawn" in json.loads((folder / "manifest.json").read_text())) == bool(wanted)
