"""A document that breaks its reader or the masking: the others go on, and nothing of it gets out unmasked."""

from pathlib import Path

import pytest

from tendril_assets.corpus import extract_pool
from tendril_assets.resources.detector import LocalDetector
from tendril_assets_tests.assets import crashing_reader
from tendril_assets_tests.assets.toy_landing import CONTACT, Toy, paragraph, prepared

BREAKS = "Diese Stelle bringt die Regeln zum Absturz, samt dem Namen von Frau Petra Odermatt aus der Bauabteilung."


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toy:
    made = prepared(tmp_path, monkeypatch, "reads", "masks", "sound")
    made.document("reads", "a.txt", paragraph("reads", 5))
    (made.folder / "documents/reads/b.txt").rename(made.folder / "documents/reads" / crashing_reader.CRASHES)
    made.document("masks", "a.txt", paragraph("masks", 5), BREAKS)
    (made.folder / "documents/masks/b.txt").unlink()
    return made


def test_one_broken_document_neither_fails_nor_hides_the_others(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    detect = LocalDetector.detect

    def raising(self, texts):
        if BREAKS in texts:
            raise IndexError(f"in the middle of {texts}")
        return detect(self, texts)

    monkeypatch.setattr(extract_pool, "_WORKER_MODULE", crashing_reader.__name__)
    monkeypatch.setattr(LocalDetector, "detect", raising)
    first = toy.run(check=True)
    assert (first.figures["read_now"], first.figures["masked_now"]) == (5, 3)
    status = {row["project"]: row for row in toy.table("project_status").iter_rows(named=True)}
    assert {project: row["state"] for project, row in status.items()} == {
        "reads": "in_corpus", "masks": "failed", "sound": "in_corpus",
    }  # fmt: skip
    assert status["reads"]["last_error"].startswith("crashes.txt: parse_failed, the reader ended with status -9")
    assert status["masks"]["last_error"] == "a.txt: it could not be masked"
    assert [(row["documents"], row["documents_failed"]) for row in status.values()] == [(2, 1), (1, 1), (2, 0)]
    # Not a word of the document, not even of its harmless paragraph; and no error message that quotes it.
    assert not [text for text in toy.texts() if "masks" in text or "Absturz" in text]
    assert "Odermatt" not in str(first.figures)
    assert next(iter(first.figures["not_masked"].values())).startswith("IndexError at test_faults.py:")
    check = first.checks["every_document_was_masked"]
    assert not check.passed
    assert check.metadata["examples"].value == ["masks/a.txt"]
    # A quarter of the documents is beyond what a few bad ones explain: what is paid for waits.
    assert (check.severity.value, check.blocking) == ("ERROR", True)
    reasons = toy.table("passage_decisions").filter(project="masks")["reason"].to_list()
    assert reasons == ["masking_failed", "masking_failed"]

    # Nothing of the failure was cached: mended, only these two are read and masked again.
    monkeypatch.setattr(extract_pool, "_WORKER_MODULE", "tendril_assets.corpus.extract_worker")
    monkeypatch.setattr(LocalDetector, "detect", detect)
    second = toy.run(check=True)
    assert second.success
    assert second.work() == {"read_now": 1, "read_before": 4, "masked_now": 2, "masked_before": 3}
    assert set(toy.states().values()) == {"in_corpus"}
    assert second.checks["every_document_was_masked"].passed
    assert BREAKS.replace("Petra Odermatt", "<PERSON_1>") in toy.texts()
    assert CONTACT not in " ".join(toy.texts())
