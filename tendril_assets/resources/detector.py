"""Detectors of personal data, all of them local: no text leaves this machine before it is masked.

gheim picks a remote detector by itself where ``GHEIM_API_KEY`` is set. Here the local ones are built explicitly, and a
set key is refused all the same: whoever set it expects texts to be sent, and this pipeline never does that.

* ``rules``: gheim's checksum rules, our patterns and our person rules. No model, no download.
* ``model``: the same, and a token classifier with gheim's labels that runs in this process.

A detector holds nothing between two texts. It is cheap to construct, and built anew in each process from the specification.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tendril_assets.corpus.anonymize import Detector, Span
from tendril_assets.corpus.credentials import CREDENTIAL_VERSION, find_credentials
from tendril_assets.corpus.personal_patterns import PATTERN_VERSION, find_patterns
from tendril_assets.corpus.persons import PERSON_RULES_VERSION, find_persons
from tendril_assets.corpus.private_life import PRIVATE_LIFE_VERSION, find_addresses, find_birth_years, is_office_address
from tendril_assets.corpus.signs import signs_of
from tendril_assets.errors import RemoteDetectorRefused
from tendril_assets.resources.token_classifier import TokenClassifier, is_pinned, model_source
from tendril_assets.spec_corpus import AnonymizationSpec

REMOTE_VARIABLE = "GHEIM_API_KEY"
# A text in which one of gheim's rules but that for dates could match holds a long number or one of these.
_MARKS_OF_GHEIM = ("@", "://", "sk-", "ghp_", "AKIA")
_CONTACTS = ("private_email", "private_phone")


class TokenModel(Protocol):
    """A model that reads texts in batches; its labels are gheim's."""

    @property
    def identity(self) -> str: ...

    def detect(self, texts: Sequence[str]) -> list[list[Span]]: ...


class _NoModel:
    """Stands where gheim's composite detector expects a model."""

    def detect(self, text: str) -> list[Any]:
        return []


class LocalDetector:
    """gheim's checksum rules, our patterns and person rules, and a local model where one is given.

    The model reads the texts with what has a form of its own (numbers, addresses on the net, credentials) blanked, all of
    them at once. Its spans on these places are dropped, its persons join those of the rules, and of its addresses those of
    offices are dropped.
    """

    def __init__(self, model: TokenModel | None = None) -> None:
        import gheim  # brings an HTTP client; the code location loads without it

        if isinstance(model, gheim.RemoteDetector):
            raise RemoteDetectorRefused("a remote detector would send raw texts to a server; pass a local model")
        self._gheim = gheim.CompositeDetector(model=_NoModel(), propagate_names=False)
        self._model = model
        self._version = gheim.__version__

    @property
    def identity(self) -> str:
        model = self._model.identity if self._model else "no-model"
        return (
            f"gheim-{self._version}|{model}|patterns-{PATTERN_VERSION}|credentials-{CREDENTIAL_VERSION}"
            f"|persons-{PERSON_RULES_VERSION}|private-{PRIVATE_LIFE_VERSION}"
        )

    def detect(self, texts: Sequence[str]) -> list[list[Span]]:
        found = [self._rules(text) for text in texts]
        if self._model is None:
            return found
        formal = [[s for s in spans if s.label not in ("private_person", "private_address")] for spans in found]
        blanked = [_blanked(text, spans) for text, spans in zip(texts, formal, strict=True)]
        for text, spans, taken, extra in zip(texts, found, formal, self._model.detect(blanked), strict=True):
            free = [s for s in extra if not any(s.start < t.end and t.start < s.end for t in taken)]
            spans += [s for s in free if s.label != "private_address" or not is_office_address(text, s.start)]
        return found

    def _rules(self, text: str) -> list[Span]:
        signs = signs_of(text)
        spans = [Span(start, end, label) for start, end, label in find_patterns(text, signs)]
        spans += [Span(start, end, "secret") for start, end in find_credentials(text, signs)]
        if signs.long_number or any(mark in text for mark in _MARKS_OF_GHEIM):
            spans += [Span(s.start, s.end, s.label) for s in self._gheim.detect(text) if s.label != "private_date"]
        contacts = [(span.start, span.end) for span in spans if span.label in _CONTACTS]
        persons = find_persons(text, contacts, signs)
        spans += [Span(start, end, "private_person") for start, end in persons]
        spans += [Span(start, end, "private_address") for start, end in find_addresses(text, persons, signs)]
        spans += [Span(start, end, "private_birth") for start, end in find_birth_years(text, persons, signs)]
        return spans


def _blanked(text: str, spans: Sequence[Span]) -> str:
    """``text`` with the spans overwritten by blanks; lengths stay."""
    for span in spans:
        text = f"{text[: span.start]}{' ' * (span.end - span.start)}{text[span.end :]}"
    return text


def rule_detector(env: Mapping[str, str] | None = None) -> Detector:
    """The detector of the rules alone; also what the check on residual personal data uses.

    Raises:
        RemoteDetectorRefused: gheim's remote service is configured in the environment.
    """
    refuse_remote(env)
    return LocalDetector()


def build_detector(spec: AnonymizationSpec, env: Mapping[str, str] | None = None) -> Detector:
    """The detector a collection names. A model's weights are looked for on this machine only and load at its first use.

    Raises:
        RemoteDetectorRefused: gheim's remote service is configured in the environment.
        DetectorModelError: a model without a pinned revision is not on this machine, so that nobody can tell which it is.
        ValueError: the collection masks nothing.
    """
    if spec.detector == "none":
        raise ValueError("a collection with detector none has no detector: its documents stand as they are")
    refuse_remote(env)
    if spec.detector == "rules" or spec.model is None:
        return LocalDetector()
    return LocalDetector(TokenClassifier(model_source(spec.model, spec.revision), batch=spec.batch))


def detector_state(spec: AnonymizationSpec, env: Mapping[str, str] | None = None) -> str:
    """One line for a person: what will mask, and whether it is here and pinned. Loads no weights.

    Raises as ``build_detector`` does, and DetectorModelError where the weights of a pinned model are not here.
    """
    if spec.detector == "none":
        return "none, its documents are public"
    refuse_remote(env)
    if spec.detector == "rules" or spec.model is None:
        return "rules"
    source = model_source(spec.model, spec.revision)
    note = "" if is_pinned(spec.model, spec.revision) else "; not pinned: set anonymization.revision to this commit"
    return f"rules and {source.identity} in {source.folder()}{note}"


def refuse_remote(env: Mapping[str, str] | None = None) -> None:
    """Raise ``RemoteDetectorRefused`` where the environment would make gheim send texts away."""
    env = os.environ if env is None else env
    if env.get(REMOTE_VARIABLE):
        raise RemoteDetectorRefused(
            f"{REMOTE_VARIABLE} is set: gheim would send raw tender texts to its server. Unset it; anonymisation runs "
            "on this machine only"
        )
