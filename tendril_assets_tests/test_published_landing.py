"""The landing folder of published size: its numbers, that each run writes the same bytes, and that it lands."""

import hashlib
from collections import Counter
from pathlib import Path

import pytest

from tendril_assets.corpus.extract import read_document
from tendril_assets.corpus.restrictions import find_restrictions
from tendril_assets.defs import DEFAULT_COLLECTION, collection_spec
from tendril_assets.defs.tenders.sources import landing_tables
from tendril_assets.spec_corpus import ExtractionSpec, SamplingSpec
from tendril_assets_tests import published_landing
from tendril_assets_tests.published_catalogs import areas
from tendril_assets_tests.published_files import broken
from tendril_assets_tests.published_landing import Summary, plan, project_numbers, write_landing
from tendril_assets_tests.published_passages import LOOKALIKES, RESTRICTIONS, length
from tendril_assets_tests.published_words import generator, sentence

SMALL = 12


def bytes_of(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Summary]:
    folder = tmp_path_factory.mktemp("small")
    return folder / DEFAULT_COLLECTION, write_landing(folder, SMALL)


def test_the_plan_has_the_published_numbers() -> None:
    sampled, others, tested, removed = project_numbers(800)
    assert (len(sampled), len(others), len(tested), len(removed)) == (800, 20, 33, 4)
    assert len({*sampled, *others, *tested, *removed}) == 857
    planned = plan(sampled, [*others, *tested, *removed], {}, 1.0)
    drawn = planned[:800]
    names = [[d.name for d in p.documents] for p in drawn]
    staying = [sum(published_landing.WITHDRAWN_NAME not in name for name in of_project) for of_project in names]
    assert sum(map(len, names)) - sum(staying) == 2
    assert sum(min(SamplingSpec().documents_per_project, n) for n in staying) == 2_892
    assert sum(p.restricted for p in drawn) == 169
    found = areas(1.0)
    assert (len({a.catalog for a in found}), len(found), sum(len(a.criteria) for a in found)) == (14, 413, 628)
    kinds = Counter(d.kind for p in drawn for d in p.documents)
    assert 0.5 < kinds["pdf"] / kinds.total() < 0.7
    assert {"docx", "html", "txt", "delivered"} < set(kinds)
    styles = Counter(d.style for p in drawn for d in p.documents if d.kind == "pdf")
    assert min(styles[style] for style in ("scan", "encrypted", "broken")) >= 5


def test_every_run_writes_the_same_bytes(
    small: tuple[Path, Summary], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, summary = small
    monkeypatch.setattr(published_landing, "SPREAD_FROM_PROJECTS", 1)
    again = write_landing(tmp_path, SMALL, workers=2)
    assert bytes_of(tmp_path / DEFAULT_COLLECTION) == bytes_of(folder)
    assert again._replace(seconds=0.0) == summary._replace(seconds=0.0)
    # an earlier folder of its own is replaced, another one is left alone
    write_landing(tmp_path, 3)
    assert len(bytes_of(tmp_path / DEFAULT_COLLECTION)) < len(bytes_of(folder))
    (tmp_path / DEFAULT_COLLECTION / published_landing.MARKER).unlink()
    with pytest.raises(FileExistsError, match="was not written by this module"):
        write_landing(tmp_path, 3)


def test_it_lands_as_it_is_described(small: tuple[Path, Summary]) -> None:
    folder, summary = small
    tables = landing_tables(folder, collection_spec(DEFAULT_COLLECTION, None))
    assert tables["projects"].height == summary.projects == SMALL + 2
    assert (tables["areas"].height, tables["criteria"].height) == (summary.areas, summary.criteria)
    assert tables["delivered_passages"].height == summary.delivered_passages > 0
    assert tables["test_projects"].height == 1
    assert tables["documents"].filter(~tables["documents"]["delivered"]).height == summary.files
    assert sorted(tables["removals"]["kind"]) == ["document", "document", "project"]
    assert set(tables["test_qrels"]["score"]) == {0, 1, 2}


def test_its_documents_are_read(small: tuple[Path, Summary]) -> None:
    files = sorted(p for p in (small[0] / "documents").rglob("*") if p.is_file())
    found = {path: read_document(path, ExtractionSpec()) for path in files}
    assert {path.suffix for path in files} >= {".pdf", ".docx"}
    outcomes = Counter(read.outcome for read in found.values())
    assert outcomes["ok"] >= 0.9 * len(files)
    pdf = max((path for path in files if path.suffix == ".pdf"), key=lambda path: found[path].page_count)
    assert found[pdf].page_count > 3
    # headers and footers are on every page, and taken out as such
    assert sum(line.startswith("Seite ") for line in found[pdf].dropped_lines) >= found[pdf].page_count - 1
    assert " | " in "\n".join(page.text for page in found[pdf].pages)


def test_words_are_parted_as_a_typesetter_does() -> None:
    words = ["Der", "Brandschutzbeauftragte", "prüft", "Sicherheitsbeleuchtungen", "und", "Entrauchungsanlagen."]
    lines = broken(" ".join(words), 120, "Helvetica", True)
    assert len(lines) > 2
    assert any(line.endswith("-") for line in lines)
    joined = "".join(line.removesuffix("-") if line.endswith("-") else f"{line} " for line in lines)
    assert joined.split() == words


@pytest.mark.parametrize("language", sorted(RESTRICTIONS))
def test_restricting_clauses_restrict_and_lookalikes_do_not(language: str) -> None:
    assert all(find_restrictions(clause) for clause in RESTRICTIONS[language])
    assert not any(find_restrictions(clause) for clause in LOOKALIKES[language])


def test_sentences_differ_and_lengths_are_spread() -> None:
    rng = generator("test", "sentences")
    assert len({sentence(rng) for _ in range(2_000)}) > 1_980
    lengths = sorted(length(rng) for _ in range(4_000))
    assert 330 < lengths[2_000] < 430
    assert lengths[0] < 60
    assert lengths[-1] > 3_000
