"""Rerankers: the lexical one against sums by hand, scores that are kept, and a cross-encoder built here."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendril_assets.errors import BaseMissing, TendrilError
from tendril_assets.evaluation.rerank import KeptScores, Lexical, Reranker, load_reranker
from tendril_assets.spec_evaluation import RerankerSpec

WORDS = ("акт", "банк", "вклад", "счет", "резерв", "ссуда", "what", "term")
SENTENCES = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


def test_the_lexical_score_is_the_sum_by_hand() -> None:
    # " банк " has the runs of 4 " бан", "банк", "анк " and of 6 " банк "; the passage has 4 + 4 ("ссуд" makes " ссу",
    # "ссуд", "суд ", " ссуд "), so a run that occurs once scores 1 / (1 + 0.0015 x 8); all weights are equal.
    assert Lexical().scores("банк", ["Банк. Ссуд!"])[0] == pytest.approx(1 / (1 + 0.0015 * 8), abs=1e-12)
    # " банка " shares " бан" and "банк" of its 5 + 2 runs: "анка", "нка ", " банка", "банка " are not there.
    both = 2 / 6 / (1 + 0.0015 * 4)
    assert Lexical().scores("банка", ["банк"])[0] == pytest.approx(both, abs=1e-12)
    # Twice in the query weighs 2/3 instead of 1/2: of the two words of 4 runs each only the first is found.
    found = (2 / 3) / (2 / 3 + 1 / 2) / (1 + 0.0015 * 4)
    assert Lexical().scores("банк банк чек1", ["банк"])[0] == pytest.approx(found, abs=1e-12)


def test_spelling_and_unseen_characters_make_no_difference() -> None:
    plain = Lexical().scores("расчёт резерва", ["РАСЧЕТ РЕЗЕРВА по ссуде"])
    assert np.array_equal(plain, Lexical().scores("расчет ре\u00adзерва", ["расчёт резерва по ссуде"]))
    assert plain[0] > 0.9


@given(SENTENCES, st.lists(SENTENCES, max_size=5))
def test_a_score_is_of_its_pair_alone_and_between_nothing_and_one(query: str, passages: list[str]) -> None:
    reranker = Lexical()
    together = reranker.scores(query, passages)
    assert together.shape == (len(passages),)
    assert ((together >= 0) & (together < 1)).all()
    assert together.tolist() == [float(reranker.scores(query, [one])[0]) for one in passages]


@pytest.mark.parametrize(("query", "passage"), [("", "банк"), ("банк", ""), ("?", "!"), ("а", "а")])
def test_without_a_run_of_letters_nothing_is_shared(query: str, passage: str) -> None:
    assert Lexical().scores(query, [passage]).tolist() == [0.0]


class Counting:
    """Scores by length, and how many pairs it was asked for."""

    truncated = 0

    def __init__(self, identity: str | None = "counting 1") -> None:
        self.identity, self.pairs = identity, 0

    def scores(self, query: str, passages: Sequence[str]) -> np.ndarray:
        self.pairs += len(passages)
        return np.array([len(query) * 1000.1 + len(one) for one in passages])


def test_no_pair_is_scored_twice_in_this_run_or_the_next(tmp_path: Path) -> None:
    asked: Reranker = Counting()
    kept = KeptScores(asked, tmp_path)
    first = kept.scores("abc", ["x", "yy", "x"])
    assert kept.scores("abc", ["yy"]).tolist() == [first[1]]
    kept.flush()
    later = Counting()
    again = KeptScores(later, tmp_path)
    assert again.scores("abc", ["x", "yy", "x"]).tolist() == first.tolist()
    assert (later.pairs, again.scored, again.reused) == (0, 0, 3)
    # Query and passage are framed: what moves from one to the other is another pair.
    again.scores("abcx", [""])
    assert later.pairs == 1


def test_another_reranker_scores_for_itself_and_former_scores_go(tmp_path: Path) -> None:
    first = KeptScores(Counting(), tmp_path)
    first.scores("a", ["b", "c"])
    assert first.keep_only_asked() == 0
    other = Counting("counting 2")
    kept = KeptScores(other, tmp_path)
    kept.scores("a", ["b"])
    assert other.pairs == 1
    assert kept.keep_only_asked() == 2  # both of the former one
    last = Counting("counting 2")
    assert KeptScores(last, tmp_path).scores("a", ["b"]).tolist() == [np.float32(1001.1)]
    assert last.pairs == 0


def test_what_nobody_can_name_is_scored_each_time(tmp_path: Path) -> None:
    unknown = Counting(None)
    for _ in range(2):
        kept = KeptScores(unknown, tmp_path)
        kept.scores("a", ["b"])
        kept.keep_only_asked()
    assert unknown.pairs == 2
    assert not list(tmp_path.rglob("*.npy"))


VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS]


def build_cross_encoder(folder: Path, outputs: int = 1) -> Path:
    """A cross-encoder of one layer with random weights, and a tokenizer of the words above."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    torch.manual_seed(3)
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )
    fast.save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(VOCABULARY),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=40,
        num_labels=outputs,
        initializer_range=2.0,
    )
    BertForSequenceClassification(config).eval().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_cross_encoder(tmp_path_factory.mktemp("cross_encoder") / "model")


def spec_of(base: Path | str, **changes: object) -> RerankerSpec:
    return RerankerSpec.model_validate({"base": str(base), "max_length": 16, "batch": 2, **changes})


def by_hand(folder: Path, query: str, passage: str, max_length: int = 16) -> float:
    """The logit of one pair by transformers alone."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    whole = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    encoded = tokenizer([query], [passage], truncation=True, max_length=max_length, return_tensors="pt")
    with torch.no_grad():
        return float(whole(**encoded).logits[0, 0])


def test_a_cross_encoder_gives_its_logits_whatever_the_batches(model: Path) -> None:
    passages = ["банк счет резерв", "акт", "ссуда вклад вклад банк", ""]
    reranker = load_reranker(spec_of(model))
    scores = reranker.scores("банк резерв", passages)
    assert scores == pytest.approx([by_hand(model, "банк резерв", one) for one in passages], abs=1e-5)
    assert scores.min() < 0 or scores.max() > 1  # no sigmoid: those would be between
    alone = [float(load_reranker(spec_of(model, batch=1)).scores("банк резерв", [one])[0]) for one in passages]
    assert scores == pytest.approx(alone, abs=1e-5)
    assert reranker.scores("банк", []).shape == (0,)
    assert reranker.truncated == 0


def test_cut_passages_are_counted_and_told(model: Path) -> None:
    reranker = load_reranker(spec_of(model))
    long = "банк " * 14  # with the query and three marks 18 tokens, of which 16 are read
    scores = reranker.scores("счет", [long, "банк"])
    assert reranker.truncated == 1
    assert scores[0] == pytest.approx(by_hand(model, "счет", long), abs=1e-5)


def test_the_identity_follows_content_and_length_and_nothing_is_loaded_for_it(model: Path, tmp_path: Path) -> None:
    reranker = load_reranker(spec_of(model))
    assert reranker.identity == load_reranker(spec_of(model, batch=7)).identity
    assert reranker.identity != load_reranker(spec_of(model, max_length=8)).identity
    other = build_cross_encoder(tmp_path / "other", outputs=2)
    assert reranker.identity != load_reranker(spec_of(other)).identity
    assert "content" in json.loads(str(reranker.identity))


def test_models_that_cannot_rank_are_refused_in_words(model: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    with pytest.raises(TendrilError, match="has 2 outputs"):
        load_reranker(spec_of(build_cross_encoder(tmp_path / "two", outputs=2))).scores("банк", ["акт"])
    with pytest.raises(TendrilError, match="reads 40 tokens, max_length is 64"):
        load_reranker(spec_of(model, max_length=64)).scores("банк", ["акт"])
    bare = tmp_path / "bare"  # an embedding model: its head would be random
    shutil.copytree(model, bare)
    weights = {k: v for k, v in load_file(bare / "model.safetensors").items() if not k.startswith("classifier")}
    save_file(weights, bare / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(TendrilError, match=r"do not hold all weights.*classifier"):
        load_reranker(spec_of(bare)).scores("банк", ["акт"])
    poolerless = tmp_path / "poolerless"  # its head reads the pooler, which an embedding model would do without
    shutil.copytree(model, poolerless)
    weights = {k: v for k, v in load_file(model / "model.safetensors").items() if ".pooler." not in k}
    save_file(weights, poolerless / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(TendrilError, match=r"do not hold all weights.*pooler"):
        load_reranker(spec_of(poolerless)).scores("банк", ["акт"])
    own = tmp_path / "own"
    shutil.copytree(model, own)
    config = json.loads((own / "config.json").read_text())
    (own / "config.json").write_text(json.dumps({**config, "auto_map": {"AutoModelForSequenceClassification": "m.M"}}))
    with pytest.raises(TendrilError, match="no code is run for a reranker"):
        load_reranker(spec_of(own))


def test_models_of_the_hub_are_found_in_its_cache_and_known_by_their_commit(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    commit = "a" * 40
    with pytest.raises(BaseMissing, match=r"BAAI/bge-reranker-v2-m3.*Fetch it once"):
        load_reranker(spec_of("BAAI/bge-reranker-v2-m3", revision=commit))
    home = tmp_path / "models--BAAI--bge-reranker-v2-m3"
    shutil.copytree(model, home / "snapshots" / commit)
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text(commit)
    pinned = load_reranker(spec_of("BAAI/bge-reranker-v2-m3", revision=commit))
    assert json.loads(str(pinned.identity))["content"] == f"BAAI/bge-reranker-v2-m3@{commit}"
    assert load_reranker(spec_of("BAAI/bge-reranker-v2-m3")).identity is None
    assert pinned.scores("банк", ["акт"]) == pytest.approx([by_hand(model, "банк", "акт")], abs=1e-5)
    with pytest.raises(TendrilError, match="there is no folder"):
        load_reranker(spec_of(tmp_path / "none"))


def test_damaged_weights_are_no_scores(model: Path, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    broken = tmp_path / "broken"
    shutil.copytree(model, broken)
    weights = load_file(broken / "model.safetensors")
    weights["classifier.bias"] = torch.tensor([float("nan")])
    save_file(weights, broken / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(TendrilError, match="1 of 1 scores are not finite"):
        load_reranker(spec_of(broken)).scores("банк", ["акт"])
