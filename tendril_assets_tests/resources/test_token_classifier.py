"""The model detector, with a model trained here and loaded by the code that loads a real one."""

import logging
import shutil
import socket

import gheim
import pytest

from tendril_assets.corpus.anonymize import Anonymizer
from tendril_assets.errors import DetectorModelError
from tendril_assets.resources import token_classifier
from tendril_assets.resources.detector import build_detector, detector_state
from tendril_assets.resources.token_classifier import CATEGORIES, LABELS, TokenClassifier, is_pinned, model_source
from tendril_assets.spec_corpus import AnonymizationSpec
from tendril_assets_tests.resources.tiny_model import GIVEN, LAST, WORDS, build_tiny_model

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return build_tiny_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def classifier(folder):
    return TokenClassifier(model_source(str(folder), None), batch=4)


@pytest.fixture
def no_socket(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def names_in(text, spans):
    return [text[s.start : s.end] for s in spans if s.label == "private_person"]


def test_the_labels_are_the_33_of_gheims_schema():
    assert len(LABELS) == 33
    assert set(CATEGORIES) == set(gheim.core.sentinels.LABEL_TO_TAG)


def test_a_model_masks_what_no_rule_knows(folder, no_socket):
    text = "das amt prüft mit Qorvex Tirram und Zulm Sandrik , die offerte , Tel. 031 322 11 11"
    anonymizer = Anonymizer(build_detector(AnonymizationSpec(detector="model", model=str(folder)), {}))
    assert anonymizer.document([text]).texts == (
        "das amt prüft mit <PERSON_1> und <PERSON_2> , die offerte , Tel. <PHONE_1>",
    )
    assert anonymizer.document(["der plan von Sandrik", text]).texts[0] == "der plan von <PERSON_1>"
    rules = Anonymizer(build_detector(AnonymizationSpec(), {}))
    assert "Qorvex Tirram" in rules.document([text]).texts[0]


def test_masking_a_masked_document_changes_nothing(folder):
    anonymizer = Anonymizer(build_detector(AnonymizationSpec(detector="model", model=str(folder)), {}))
    texts = ["Qorvex Tirram leitet das los . Pexo Vonk , Drumm Quell und Halgo Wexon", "offerte von Fesk Ashdel"]
    once = anonymizer.document(texts)
    assert once.counts == {"PERSON": 5}
    assert anonymizer.document(once.texts).texts == once.texts


def test_two_persons_side_by_side_stay_two_and_a_word_in_pieces_stays_one(classifier):
    text = "die offerte Zulm Wexon Pexo Sandrik wird"
    [spans] = classifier.detect([text])
    assert names_in(text, spans) == ["Zulm Wexon", "Pexo Sandrik"]


def test_batches_and_single_texts_and_gheims_own_detector_agree(folder, classifier):
    texts = [
        "die offerte von Qorvex Tirram",
        "",
        "   ",
        "holz und beton für das los " * 4,
        *(
            f"{'bau ' * i}{g.title()} {n.title()} {'plan ' * (9 - i)}"
            for i, (g, n) in enumerate(zip(GIVEN, LAST, strict=True))
        ),
        "das amt Nordhof 7 mit Ylth Ubler",
    ]
    together = classifier.detect(texts)
    assert together == [classifier.detect([text])[0] for text in texts]
    peer = gheim.CalibratedDetector(model_id=str(folder), device="cpu")
    theirs = [[(s.label, s.start, s.end) for s in peer.detect(text)] for text in texts]
    assert [[(s.label, s.start, s.end) for s in spans] for spans in together] == theirs
    assert sum(map(len, theirs)) == 11


@pytest.mark.parametrize("shift", range(0, 64, 3))
def test_entities_at_the_border_of_a_window_are_whole(classifier, shift):
    """Windows are 66 tokens (64 without the special ones) with 16 in common: every place of a name is tried."""
    words = [WORDS[i % len(WORDS)] for i in range(shift)]
    text = " ".join(
        [*words, "Qorvex Sandrik", *(WORDS[i % len(WORDS)] for i in range(150)), "Zulm Wexon", "und", "holz"]
    )
    [spans] = classifier.detect([text])
    assert names_in(text, spans) == ["Qorvex Sandrik", "Zulm Wexon"]


def test_long_and_short_texts_in_one_call_keep_their_own_spans(classifier):
    long = " ".join(["Pexo Vonk prüft das holz und den beton"] * 40)
    short = "von Fesk Quell"
    spans = classifier.detect([short, long, "bau", short])
    assert [names_in(t, s) for t, s in zip([short, "bau", short], [spans[0], spans[2], spans[3]], strict=True)] == [
        ["Fesk Quell"],
        [],
        ["Fesk Quell"],
    ]
    assert names_in(long, spans[1]) == ["Pexo Vonk"] * 40


def test_homes_are_masked_and_offices_are_not(folder):
    anonymizer = Anonymizer(build_detector(AnonymizationSpec(detector="model", model=str(folder)), {}))
    assert anonymizer.document(["wird mit Nordhof 7 und"]).texts == ("wird mit <ADDRESS_1> und",)
    office = "Tiefbauamt , Nordhof 7"
    assert anonymizer.document([office]).texts == (office,)


def test_a_model_with_other_labels_is_refused_by_name(tmp_path):
    folder = build_tiny_model(tmp_path / "ner", ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"])
    with pytest.raises(DetectorModelError, match=r"B-LOC.*B-PER.*lacks.*gheim's 33"):
        TokenClassifier(model_source(str(folder), None)).detect(["ein text"])


def test_a_folder_without_weights_is_named(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "model.safetensors").unlink()
    with pytest.raises(DetectorModelError, match="holds no weights"):
        TokenClassifier(model_source(str(copy), None)).detect(["ein text"])


def test_a_model_that_is_not_here_is_not_fetched(tmp_path, monkeypatch, no_socket):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    pinned = build_detector(AnonymizationSpec(detector="model", model="maker/model", revision=COMMIT), {})
    assert f"maker/model@{COMMIT}|" in pinned.identity  # known without a look at the weights
    with pytest.raises(DetectorModelError, match=f"hf download maker/model --revision {COMMIT}"):
        pinned.detect(["ein text"])
    with pytest.raises(DetectorModelError, match="hf download maker/model`"):
        build_detector(AnonymizationSpec(detector="model", model="maker/model"), {})


def test_a_model_is_found_in_the_cache_and_without_a_commit_it_is_unpinned(
    folder, tmp_path, monkeypatch, caplog, no_socket
):
    snapshot = tmp_path / "models--maker--model" / "snapshots" / COMMIT
    shutil.copytree(folder, snapshot)
    (tmp_path / "models--maker--model" / "refs").mkdir()
    (tmp_path / "models--maker--model" / "refs" / "main").write_text(COMMIT)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with caplog.at_level(logging.WARNING, logger=token_classifier.__name__):
        unpinned = build_detector(AnonymizationSpec(detector="model", model="maker/model"), {})
    assert f"maker/model@unpinned-{COMMIT}|" in unpinned.identity
    assert "not pinned" in caplog.text
    pinned = build_detector(AnonymizationSpec(detector="model", model="maker/model", revision=COMMIT), {})
    assert "not pinned" in detector_state(AnonymizationSpec(detector="model", model="maker/model"), {})
    assert "not pinned" not in detector_state(
        AnonymizationSpec(detector="model", model="maker/model", revision=COMMIT), {}
    )
    text = "von Fesk Quell"
    assert names_in(text, pinned.detect([text])[0]) == ["Fesk Quell"]


def test_what_is_pinned():
    assert is_pinned("maker/model", COMMIT)
    assert not is_pinned("maker/model", "main")
    assert not is_pinned("maker/model", None)


def test_other_weights_in_the_same_folder_are_another_model(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "tiny")
    assert model_source(str(copy), None).identity == model_source(str(folder), None).identity
    weights = (copy / "model.safetensors").read_bytes()
    (copy / "model.safetensors").write_bytes(weights[:-1] + bytes([weights[-1] ^ 1]))
    assert model_source(str(copy), None).identity != model_source(str(folder), None).identity
