"""The local detectors: composed with a model, never with a remote one."""

import gheim
import pytest

from tendril_assets.corpus.anonymize import Anonymizer, Span
from tendril_assets.errors import RemoteDetectorRefused
from tendril_assets.resources.detector import LocalDetector, build_detector, rule_detector
from tendril_assets.spec import AnonymizationSpec


class Names:
    """Stands in for a token classifier, which no rule can replace: finds one name without any context."""

    def detect(self, text: str) -> list[gheim.Span]:
        at = text.find("Tilla Theus")
        return [gheim.Span("private_person", at, at + 11, "Tilla Theus")] if at >= 0 else []


def test_a_models_spans_join_those_of_the_rules():
    detector = LocalDetector(Names(), "names@1")
    text = "Architektur: Tilla Theus, Tel. 031 322 11 11, www.bsp.ch"
    spans = {(s.label, text[s.start : s.end]) for s in detector.detect([text])[0]}
    assert ("private_person", "Tilla Theus") in spans
    assert ("private_phone", "031 322 11 11") in spans
    assert ("private_url", "www.bsp.ch") in spans
    assert Anonymizer(detector).document([text]).texts == ("Architektur: <PERSON_1>, Tel. <PHONE_1>, <URL_1>",)
    assert "Tilla Theus" in Anonymizer(rule_detector({})).document([text]).texts[0]


def test_the_identity_names_everything_that_determines_the_spans():
    rules = rule_detector({}).identity
    assert gheim.__version__ in rules
    model = LocalDetector(Names(), "names@1").identity
    assert len({rules, model, LocalDetector(Names(), "names@2").identity}) == 3


def test_the_model_of_the_specification_is_local_and_loads_late():
    spec = AnonymizationSpec(detector="model", model="maker/model", revision=None)
    detector = build_detector(spec, {})
    assert "maker/model@unpinned" in detector.identity  # and no weights were asked for


def test_a_remote_detector_cannot_be_slipped_in():
    with pytest.raises(RemoteDetectorRefused):
        LocalDetector(gheim.RemoteDetector(api_key="x"))


def test_dates_of_the_checksum_rules_carry_no_known_label():
    [spans] = rule_detector({}).detect(["Eingabe bis 12.03.2025"])
    assert Anonymizer(rule_detector({})).document(["Eingabe bis 12.03.2025"]).texts == ("Eingabe bis 12.03.2025",)
    assert all(isinstance(span, Span) for span in spans)
