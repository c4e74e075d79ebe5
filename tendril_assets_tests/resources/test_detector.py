"""The local detectors: composed with a model, never with a remote one."""

import gheim
import pytest

from tendril_assets.corpus.anonymize import Anonymizer, Span
from tendril_assets.errors import RemoteDetectorRefused
from tendril_assets.resources.detector import LocalDetector, build_detector, rule_detector
from tendril_assets.spec_corpus import AnonymizationSpec


class Names:
    """Stands in for a token classifier, which no rule can replace: finds one name without any context."""

    def __init__(self, identity: str = "names@1") -> None:
        self.identity = identity
        self.read: list[list[str]] = []

    def detect(self, texts):
        self.read.append(list(texts))
        found = [(text, text.find("tilla theus")) for text in texts]
        return [[Span(at, at + 11, "private_person")] if at >= 0 else [] for _, at in found]


def test_a_models_spans_join_those_of_the_rules():
    detector = LocalDetector(Names())
    text = "Architektur: tilla theus, Tel. 031 322 11 11, www.bsp.ch"
    spans = {(s.label, text[s.start : s.end]) for s in detector.detect([text])[0]}
    assert ("private_person", "tilla theus") in spans
    assert ("private_phone", "031 322 11 11") in spans
    assert ("private_url", "www.bsp.ch") in spans
    assert Anonymizer(detector).document([text]).texts == ("Architektur: <PERSON_1>, Tel. <PHONE_1>, <URL_1>",)
    assert "tilla theus" in Anonymizer(rule_detector({})).document([text]).texts[0]


def test_a_model_reads_all_texts_at_once_and_nothing_that_has_a_form_of_its_own():
    model = Names()
    LocalDetector(model).detect(["Tel. 031 322 11 11", "Frau Muster", "Passwort: Sommer2024!"])
    assert model.read == [["Tel.              ", "Frau Muster", "Passwort:            "]]


class Everywhere(Names):
    def __init__(self, label: str) -> None:
        super().__init__()
        self.label = label

    def detect(self, texts):
        return [[Span(0, len(text), self.label)] for text in texts]


def test_a_models_span_on_a_number_is_dropped():
    [spans] = LocalDetector(Everywhere("private_person")).detect(["IBAN CH93 0076 2011 6238 5295 7"])
    assert {s.label for s in spans} == {"account_number"}


def test_dates_of_a_model_stay():
    anonymizer = Anonymizer(LocalDetector(Everywhere("private_date")))
    assert anonymizer.document(["Eingabe am Montag"]).texts == ("Eingabe am Montag",)


def test_the_identity_names_everything_that_determines_the_spans():
    rules = rule_detector({}).identity
    assert gheim.__version__ in rules
    model = LocalDetector(Names("names@1")).identity
    assert len({rules, model, LocalDetector(Names("names@2")).identity}) == 3
    assert LocalDetector(Names("names@1")).identity == model


def test_a_detector_is_built_anew_from_its_specification_in_another_process():
    """What goes to a worker is the specification as JSON; the detector it makes has the same identity."""
    spec = AnonymizationSpec()
    again = AnonymizationSpec.model_validate_json(spec.model_dump_json())
    assert build_detector(again, {}).identity == build_detector(spec, {}).identity


def test_a_remote_detector_cannot_be_slipped_in():
    with pytest.raises(RemoteDetectorRefused):
        LocalDetector(gheim.RemoteDetector(api_key="x"))


def test_dates_of_the_checksum_rules_carry_no_known_label():
    [spans] = rule_detector({}).detect(["Eingabe bis 12.03.2025"])
    assert Anonymizer(rule_detector({})).document(["Eingabe bis 12.03.2025"]).texts == ("Eingabe bis 12.03.2025",)
    assert all(isinstance(span, Span) for span in spans)


GHEIM_ONLY = (
    "anna@bsp.ch",
    "https://bsp.ch/x",
    "031 322 11 11",
    "+41 (0) 44 123 45 67",
    "CH93 0076 2011 6238 5295 7",
    "756.9217.0769.85",
    "7569217076985",
    "CHE-116.281.710 MWST",
    "4111 1111 1111 1111",
    "Kreditkarte 4-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1",
    "sk-proj-AbCdEf0123456789AbCdEf",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "AKIAIOSFODNN7EXAMPLE",
)


@pytest.mark.parametrize("text", GHEIM_ONLY)
def test_a_text_is_kept_from_gheim_only_where_its_rules_find_nothing(text):
    bare = gheim.CompositeDetector(model=Nothing(), propagate_names=False)
    theirs = {(s.label, s.start, s.end) for s in bare.detect(f"Vgl. {text} dazu")}
    assert theirs
    [ours] = rule_detector({}).detect([f"Vgl. {text} dazu"])
    assert theirs <= {(s.label, s.start, s.end) for s in ours}


class Nothing:
    def detect(self, text):
        return []
