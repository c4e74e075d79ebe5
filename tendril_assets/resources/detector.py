"""Detectors of personal data, all of them local: no text leaves this machine before it is masked.

gheim picks a remote detector by itself where ``GHEIM_API_KEY`` is set. Here the local ones are built explicitly, and a
set key is refused all the same: whoever set it expects texts to be sent, and this pipeline never does that.

* ``rules``: gheim's checksum rules, our patterns and our person rules. No model, no download.
* ``model``: the same, and a token classifier that gheim runs in this process on what the rules left.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tendril_assets.corpus.anonymize import Detector, Span
from tendril_assets.corpus.personal_patterns import PATTERN_VERSION, find_patterns
from tendril_assets.corpus.persons import PERSON_RULES_VERSION, find_persons
from tendril_assets.errors import RemoteDetectorRefused
from tendril_assets.spec import AnonymizationSpec

REMOTE_VARIABLE = "GHEIM_API_KEY"


class _NoModel:
    """Stands where gheim's composite detector expects a model."""

    def detect(self, text: str) -> list[Any]:
        return []


class LocalDetector:
    """gheim's composite detector without or with a local model, our patterns and our person rules.

    ``model`` is anything with gheim's ``detect(text) -> list[gheim.Span]``. A remote one is refused.
    """

    def __init__(self, model: Any = None, model_identity: str = "no-model") -> None:
        import gheim  # brings an HTTP client; the code location loads without it

        if isinstance(model, gheim.RemoteDetector):
            raise RemoteDetectorRefused("a remote detector would send raw texts to a server; pass a local model")
        self._gheim = gheim.CompositeDetector(model=_NoModel() if model is None else model, propagate_names=False)
        self._identity = f"gheim-{gheim.__version__}|{model_identity}"

    @property
    def identity(self) -> str:
        return f"{self._identity}|patterns-{PATTERN_VERSION}|persons-{PERSON_RULES_VERSION}"

    def detect(self, texts: Sequence[str]) -> list[list[Span]]:
        return [self._one(text) for text in texts]

    def _one(self, text: str) -> list[Span]:
        spans = [Span(s.start, s.end, s.label) for s in self._gheim.detect(text)]
        spans += [Span(start, end, label) for start, end, label in find_patterns(text)]
        spans += [Span(start, end, "private_person") for start, end in find_persons(text)]
        return spans


def rule_detector(env: Mapping[str, str] | None = None) -> Detector:
    """The detector of the rules alone; also what the check on residual personal data uses.

    Raises:
        RemoteDetectorRefused: gheim's remote service is configured in the environment.
    """
    refuse_remote(env)
    return LocalDetector()


def build_detector(spec: AnonymizationSpec, env: Mapping[str, str] | None = None) -> Detector:
    """The detector a collection names. The model's weights load at its first use.

    A model without a local folder is fetched once by its hub id; texts are never sent anywhere.

    Raises:
        RemoteDetectorRefused: gheim's remote service is configured in the environment.
    """
    refuse_remote(env)
    if spec.detector == "rules" or spec.model is None:
        return LocalDetector()
    import gheim

    identity = f"{spec.model}@{spec.revision or 'unpinned'}"
    return LocalDetector(gheim.CalibratedDetector(model_id=_model_folder(spec)), identity)


def _model_folder(spec: AnonymizationSpec) -> str:
    """The model's local folder; a pinned revision is resolved first, for gheim itself takes no revision."""
    assert spec.model is not None
    if spec.revision is None or Path(spec.model).is_dir():
        return spec.model
    from huggingface_hub import snapshot_download

    return snapshot_download(spec.model, revision=spec.revision)


def refuse_remote(env: Mapping[str, str] | None = None) -> None:
    """Raise ``RemoteDetectorRefused`` where the environment would make gheim send texts away."""
    env = os.environ if env is None else env
    if env.get(REMOTE_VARIABLE):
        raise RemoteDetectorRefused(
            f"{REMOTE_VARIABLE} is set: gheim would send raw tender texts to its server. Unset it; anonymisation runs "
            "on this machine only"
        )
