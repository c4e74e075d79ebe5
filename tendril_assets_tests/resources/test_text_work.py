"""Work on texts gives the same in this process and spread over children, and a document fails alone."""

import json
from collections.abc import Sequence

import pytest

from tendril_assets.child_pool import Job
from tendril_assets.corpus.anonymize import Anonymizer, Span
from tendril_assets.errors import RemoteDetectorRefused
from tendril_assets.resources.detector import LocalDetector, rule_detector
from tendril_assets.resources.text_work import (
    SPREAD_FROM_CHARACTERS,
    TextWork,
    done,
    masking_work,
    residual_search,
    restriction_search,
)
from tendril_assets.spec_corpus import AnonymizationSpec

RULES = AnonymizationSpec()
CONTACT = "Auskunft gibt Frau Petra Odermatt, Telefon 031 322 11 11, E-Mail petra.odermatt@bsp.ch."
AGAIN = "Frau Odermatt führt durch das Gebäude; Rückfragen an petra.odermatt@bsp.ch."
LIMITED = "Die Ausschreibungsunterlagen dürfen nur für die Ausarbeitung des Angebots verwendet werden."
PLAIN = "Der Beton enthält Recyclingmaterial."
DOCUMENTS = {"a": [CONTACT, PLAIN, AGAIN], "b": [AGAIN], "c": [], "d": [LIMITED, PLAIN], "ü": [CONTACT, CONTACT]}


def jobs(documents: dict[str, list]) -> list[Job]:
    return [Job(name, json.dumps(texts).encode()) for name, texts in documents.items()]


def work_of(kind: str) -> TextWork:
    if kind == "mask":
        return masking_work(Anonymizer(rule_detector({})), RULES)
    return residual_search() if kind == "residual" else restriction_search()


@pytest.mark.parametrize("kind", ["mask", "residual", "restrictions"])
def test_spread_work_gives_what_one_process_gives(kind: str) -> None:
    work = work_of(kind)
    documents: dict[str, list] = dict(DOCUMENTS)
    if kind == "restrictions":
        documents = {name: list(enumerate(texts, start=1)) for name, texts in DOCUMENTS.items()}
    here = list(done(work, jobs(documents), SPREAD_FROM_CHARACTERS - 1, 2))
    assert [name for name, _ in here] == list(DOCUMENTS)
    spread = dict(done(work, jobs(documents), SPREAD_FROM_CHARACTERS, 2))
    assert spread == dict(here)


def test_what_the_answers_are() -> None:
    masked = dict(done(work_of("mask"), jobs(DOCUMENTS), 0, 2))
    texts, counts = json.loads(masked["a"])
    assert texts[2] == "Frau <PERSON_1> führt durch das Gebäude; Rückfragen an <EMAIL_1>."
    assert counts == {"EMAIL": 2, "PERSON": 2, "PHONE": 1}
    assert json.loads(masked["c"]) == [[], {}]
    left = json.loads(dict(done(work_of("residual"), jobs(DOCUMENTS), 0, 2))["a"])
    assert left[0] == ["private_email", "private_person", "private_phone"]
    assert left[1] == []
    pages = [Job("d", json.dumps([[7, LIMITED], [7, PLAIN]]).encode())]
    found = json.loads(dict(done(work_of("restrictions"), pages, 0, 2))["d"])
    assert found == [[7, "de", "offer_only", LIMITED]]


class Stumbling:
    """Finds nothing, and raises at one word."""

    identity = "stumbling@1"

    def detect(self, texts: Sequence[str]) -> list[list[Span]]:
        if any("Beton" in text for text in texts):
            raise IndexError(texts[0])
        return [[] for _ in texts]


def test_a_document_that_raises_fails_alone_and_its_text_is_not_told() -> None:
    answers = dict(done(masking_work(Anonymizer(Stumbling())), jobs({"x": [PLAIN], "y": [AGAIN]}), 0, 1))
    failed = json.loads(answers["x"])
    assert failed["failed"].startswith("IndexError at test_text_work.py:")
    assert "Recycling" not in failed["failed"]
    assert json.loads(answers["y"]) == [[AGAIN], {}]


def test_a_model_stays_in_one_process() -> None:
    spec = AnonymizationSpec(detector="model", model="maker/model")
    assert masking_work(Anonymizer(LocalDetector()), spec).factory is None
    assert masking_work(Anonymizer(Stumbling())).factory is None
    assert residual_search(Stumbling()).factory is None
    assert masking_work(Anonymizer(rule_detector({})), RULES).factory is not None


def test_what_is_wrong_with_the_installation_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RemoteDetectorRefused("a key is set")

    work = masking_work(Anonymizer(rule_detector({})), RULES)
    monkeypatch.setattr(Anonymizer, "document", refuse)
    with pytest.raises(RemoteDetectorRefused):
        list(done(work, jobs({"x": [PLAIN]}), 0, 1))


def test_each_kind_of_work_has_an_identity_of_its_own() -> None:
    identities = {work_of(kind).identity for kind in ("mask", "residual", "restrictions")}
    assert len(identities) == 3
    assert residual_search(Stumbling()).identity == "stumbling@1"
