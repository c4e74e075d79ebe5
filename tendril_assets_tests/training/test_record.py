"""What a run tells of itself: inputs by kind, size, device, why it ended."""

from types import SimpleNamespace

import polars as pl
import pytest

from tendril_assets.training.record import (
    EARLY_STOP,
    EPOCHS,
    device_name,
    input_counts,
    input_kinds,
    reproduction,
    run_facts,
)
from tendril_assets_tests.training.toy import toy_exchange, toy_job


def small():
    exchange = toy_exchange(2)
    train = exchange.train.with_columns(
        query=pl.Series(["q1", "q2"]),
        positive=pl.Series(["same", "p2"]),
        negative_1=pl.Series(["n1", "n1"]),
        negative_2=pl.Series(["n2", "n2"]),
        negative_3=pl.Series(["n3", "n3"]),
    )
    return exchange._replace(
        train=train,
        corpus=exchange.corpus.head(2).with_columns(text=pl.Series(["same", "c2"])),
        queries=exchange.queries.head(2).with_columns(text=pl.Series(["q1", "same"])),
    )


def test_each_different_input_counts_once_in_its_kind(tmp_path) -> None:
    """Prompts tell the query "same" from the passage "same"; q1 and n1 are read twice and counted once."""
    job = toy_job(tmp_path, tmp_path)
    kinds = input_kinds(job, small())
    assert list(kinds)[:3] == ["query: q1", "passage: same", "passage: n1"]
    assert [text for text, kind in kinds.items() if kind == "query"] == ["query: q1", "query: q2", "query: same"]
    assert sorted(text for text, kind in kinds.items() if kind == "document") == [
        f"passage: {text}" for text in ("c2", "n1", "n2", "n3", "p2", "same")
    ]
    assert input_counts(kinds, {"query": 1, "document": 2}) == {
        "inputs": 9,
        "query_inputs": 3,
        "document_inputs": 6,
        "truncated_inputs": 3,
        "truncated_queries": 1,
        "truncated_documents": 2,
    }


def test_without_prompts_a_text_that_is_both_counts_as_what_it_is_first(tmp_path) -> None:
    job = toy_job(tmp_path, tmp_path)
    bare = job.spec.model_copy(update={"query_prompt": "", "document_prompt": ""})
    kinds = input_kinds(SimpleNamespace(spec=bare), small())
    assert kinds["same"] == "document"  # the positive of the first row comes before the validation query
    assert sum(kind == "query" for kind in kinds.values()) == 2


def test_a_gpu_is_named_by_its_maker(monkeypatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"Maker's {device}")
    assert device_name(torch.device("cuda:1")) == "Maker's cuda:1"
    assert device_name(torch.device("cpu")).startswith("CPU (")


def test_facts_are_those_of_the_run(tmp_path) -> None:
    import torch

    job = toy_job(tmp_path, tmp_path)
    model = torch.nn.Linear(3, 2)
    model.device = torch.device("cpu")
    told = {"examples": 44, "bf16": False, "processes": 1}
    facts = run_facts(job, model, steps=12, **told)
    assert facts["parameters"] == 8  # 3 x 2 weights and 2 biases
    assert facts["device"].startswith("CPU (")
    assert (facts["precision"], facts["processes"]) == ("fp32", 1)
    assert facts["recipe"]["training"]["learning_rate"] == 5e-3
    assert facts["recipe"]["model"]["query_prompt"] == "query: "
    assert facts["recipe"]["seed"] == 42
    # 44 examples in batches of 8, two epochs: 12 steps.
    assert facts["stop_reason"] == EPOCHS
    assert run_facts(job, model, steps=8, **told)["stop_reason"] == EARLY_STOP


@pytest.mark.parametrize(
    ("device", "elsewhere", "queries", "apart", "allowed", "holds"),
    [
        ("CPU (x86_64)", False, 10, 0.0, 1e-6, True),
        ("CPU (x86_64)", False, 10, 2e-6, 1e-6, False),
        ("CPU (x86_64)", True, 200, 4e-3, 5e-3, True),
        ("NVIDIA H200", False, 200, 6e-3, 5e-3, False),
        # one query of ten changes its first two places: 1 - 1/1.58496 = 0.36907 of its nDCG
        ("NVIDIA H200", False, 10, 0.036, 0.036907, True),
    ],
)
def test_kept_weights_may_differ_by_what_rounding_explains(
    device: str, elsewhere: bool, queries: int, apart: float, allowed: float, holds: bool
) -> None:
    result = {
        "best_value": 0.8,
        "reproduced_value": 0.8 - apart,
        "best_measured_on": "here",
        "reproduced_on": "there" if elsewhere else "here",
        "device": device,
    }
    found = reproduction(result, {"area": {"queries": 500}, "criterion": {"queries": queries}})
    assert (found.allowed, found.holds) == (pytest.approx(allowed, rel=1e-4), holds)
    assert found.is_exact == (device.startswith("CPU") and not elsewhere)
