"""One table of prompts, in training, validation and test: what the tokenizer is given, to the letter."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from transformers import PreTrainedTokenizerBase

from tendril_assets.evaluation.dense import load_encoder
from tendril_assets.training.evaluating import BalancedEvaluator
from tendril_assets.training.examples import text_columns
from tendril_assets.training.first_inputs import tell_first_inputs
from tendril_assets.training.fit import fit
from tendril_assets.training.trainer import OwnNegativesTrainer
from tendril_assets_tests.training.toy import said, toy_exchange, toy_job

TRAINING, VALIDATION, ELSEWHERE = "training", "validation", "elsewhere"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[str]]:
    """Every text that reaches the tokenizer, by what it is tokenised for."""
    texts: dict[str, set[str]] = {phase: set() for phase in (TRAINING, VALIDATION, ELSEWHERE)}
    phases = [ELSEWHERE]
    honest = PreTrainedTokenizerBase.__call__

    def recording(self, text=None, *args: object, **kwargs: object):
        texts[phases[-1]].update([text] if isinstance(text, str) else text or [])
        return honest(self, text, *args, **kwargs)

    def within(owner: type, name: str, phase: str) -> None:
        method = getattr(owner, name)

        def marked(*args: object, **kwargs: object) -> object:
            phases.append(phase)
            try:
                return method(*args, **kwargs)
            finally:
                phases.pop()

        monkeypatch.setattr(owner, name, marked)

    monkeypatch.setattr(PreTrainedTokenizerBase, "__call__", recording)
    within(OwnNegativesTrainer, "get_batch_samples", TRAINING)
    within(BalancedEvaluator, "__call__", VALIDATION)
    return texts


@pytest.mark.parametrize("document_prompt", ["passage: ", ""], ids=["both", "queries only"])
def test_every_input_has_its_prompt(
    tmp_path: Path, encoder: Path, read: dict[str, set[str]], document_prompt: str
) -> None:
    """Two prompts as most-embed-de has them, and none for documents as Arctic-Embed has it."""
    exchange = toy_exchange()
    job = toy_job(tmp_path, encoder, exchange, evaluate_every=3, max_epochs=1)
    job = replace(job, spec=job.spec.model_copy(update={"document_prompt": document_prompt}))
    lines: list[str] = []
    fit(job, said(lines))
    query, *documents = text_columns(exchange)
    prompts = {"query: ", document_prompt}  # the library measures a prompt's own length
    assert read[TRAINING] - prompts == {"query: " + text for text in exchange.train[query]} | {
        document_prompt + text for name in documents for text in exchange.train[name]
    }
    assert read[VALIDATION] - prompts == {"query: " + text for text in exchange.queries["text"]} | {
        document_prompt + text for text in exchange.corpus["text"]
    }
    first = exchange.train.row(0, named=True)
    shown = json.loads((job.folder / "first_inputs.json").read_text(encoding="utf-8"))
    wanted = {"query": "query: ", "positive": document_prompt, "negative_1": document_prompt}
    assert {row["column"]: row["shown"] for row in shown} == {name: p + first[name] for name, p in wanted.items()}
    # A passage is known by its whole text, a query needs not be.
    assert [row["sha256"] for row in shown] == [
        None,
        *(hashlib.sha256(first[name].encode()).hexdigest() for name in ("positive", "negative_1")),
    ]
    # What is logged cannot be erased: prompts and lengths alone.
    (told,) = [line for line in lines if line.startswith("the first inputs are in")]
    assert f"query: 'query: ' and {len(first['query'])} characters" in told
    assert f"negative 1: '{document_prompt}' and {len(first['negative_1'])} characters" in told
    assert not any(first[name] in line for name in wanted for line in lines)

    read[ELSEWHERE].clear()
    kept = load_encoder(job.spec, job.folder / "kept")  # as the test collection is ranked
    kept.encode(["w1 w2"], "query")
    kept.encode(["w30"], "document")
    assert read[ELSEWHERE] - prompts == {"query: w1 w2", f"{document_prompt}w30"}


def test_long_inputs_are_shown_cut(tmp_path: Path, encoder: Path) -> None:
    exchange = toy_exchange()
    long = exchange._replace(train=exchange.train.with_columns(positive=exchange.train["positive"] + " w1" * 200))
    job = toy_job(tmp_path, encoder, long, max_epochs=1, evaluate_every=6)
    tell_first_inputs(job, long, lambda _: None)
    _, positive, _ = json.loads((job.folder / "first_inputs.json").read_text(encoding="utf-8"))
    text = positive["shown"]
    head, more = text.split(" … ")
    whole = f"passage: {long.train['positive'][0]}"
    # Cut between two words, as late as 200 characters allow.
    assert whole.startswith(f"{head} ")
    assert 197 <= len(head) <= 200
    assert more == f"({len(whole) - len(head)} more characters)"
    assert {text.rpartition(" ")[2] for text in (head, whole)} == {"w1"}
