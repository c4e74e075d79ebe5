"""Training a tiny random encoder: what is kept, what is fed, what stops a run."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from tendril_assets.errors import TrainingError
from tendril_assets.training import fit as fit_module
from tendril_assets.training.checkpoints import RunFolder
from tendril_assets.training.events import Event
from tendril_assets.training.examples import text_columns
from tendril_assets.training.fit import fit
from tendril_assets.training.job import TrainingJob, data_hash, read_exchange
from tendril_assets_tests.training.toy import said, toy_exchange, toy_job

BALANCED = "balanced_ndcg@10"


def curve(result: dict, measure: str) -> dict[int, float]:
    return {step: value for step, name, value in result["curve"] if name == measure}


def quiet(_event: Event) -> None:
    """Most tests look at the result, not at the lines."""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, encoder: Path) -> tuple[TrainingJob, dict, list[str]]:
    """44 examples in steps of 8, two epochs: 6 + 6 steps, evaluated at 0, 5, 10 and 12."""
    lines: list[str] = []
    job = toy_job(tmp_path_factory.mktemp("trained"), encoder, evaluate_every=5)
    return job, fit(job, said(lines)), lines


def test_evaluated_at_the_base_every_n_steps_and_at_the_end(trained) -> None:
    _, result, _ = trained
    assert list(curve(result, BALANCED)) == [0, 5, 10, 12]
    assert list(curve(result, "loss")) == list(range(1, 13))
    assert result["steps"] == 12
    assert result["examples"] == 44


def test_the_best_step_is_the_argmax_of_the_curve(trained) -> None:
    _, result, _ = trained
    values = curve(result, BALANCED)
    assert result["best_step"] == max(values, key=values.get)
    assert result["best_value"] == max(values.values())
    assert result["base_value"] == values[0]
    assert result["best_value"] > result["base_value"]
    # Loaded again, the kept weights give that value to the last bit.
    assert (result["reproduced_value"], result["reproduced_on"]) == (result["best_value"], result["best_measured_on"])
    for part in ("fp32 on CPU", "at most 2048 tokens a batch", "numpy "):
        assert part in result["best_measured_on"]


@pytest.mark.parametrize("name", ["result.json", ".training.lock"])
def test_a_folder_in_the_place_of_a_file_is_told_before_training(tmp_path: Path, encoder: Path, name: str) -> None:
    job = toy_job(tmp_path, encoder)
    (job.folder / name).mkdir(parents=True)
    with pytest.raises(
        TrainingError, match=rf"{name} is a folder.*[Mm]ove it away and start again; nothing was changed"
    ):
        fit(job, quiet)


@pytest.mark.parametrize("name", ["", "kept", ".kept.incoming", "runs", "{run}", "{run}/checkpoint-9", "{run}/best-9"])
def test_a_file_in_the_place_of_a_folder_is_told_before_training(tmp_path: Path, encoder: Path, name: str) -> None:
    job = toy_job(tmp_path, encoder)
    hashes = job.config_hash, data_hash(read_exchange(job.exchange))
    path = job.folder / name.format(run=RunFolder(job.folder, *hashes).path.relative_to(job.folder))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    with pytest.raises(
        TrainingError, match=rf"{path} is no folder.*[Mm]ove it away and start again; nothing was changed"
    ):
        fit(job, quiet)


def test_balanced_is_the_mean_of_the_levels(trained) -> None:
    _, result, _ = trained
    levels = [curve(result, f"ndcg@10:{level}") for level in ("area", "criterion")]
    for step, value in curve(result, BALANCED).items():
        assert value == pytest.approx((levels[0][step] + levels[1][step]) / 2)


def test_learning_rate_warms_up_and_decays_linearly(trained) -> None:
    """12 steps, 10 % warm-up rounded up = 2. The rate of a step is the one before the schedule moves:

    step 1: 0, step 2: 1/2 of 5e-3, step 3: 5e-3, then down by a tenth each: step 4: 9/10, ..., step 12: 1/10.
    """
    _, result, _ = trained
    peak = 5e-3
    expected = [0, peak / 2] + [peak * (12 - done) / 10 for done in range(2, 12)]
    assert list(curve(result, "learning_rate").values()) == pytest.approx(expected)


def test_kept_folder_carries_the_prompts_and_nothing_pickled(trained) -> None:
    job, result, _ = trained
    kept = job.folder / "kept"
    config = json.loads((kept / "config_sentence_transformers.json").read_text())
    assert config["prompts"] == {"query": "query: ", "document": "passage: "}
    assert not [path for path in job.folder.rglob("*") if path.suffix in {".bin", ".pt", ".pth", ".pkl"}]
    assert json.loads((job.folder / "result.json").read_text())["weights_sha256"] == result["weights_sha256"]
    assert sorted(path.name for path in job.folder.iterdir()) == [
        ".training.lock",
        "first_inputs.json",
        "kept",
        "result.json",
    ]


def test_progress_lines_say_where_it_stands(trained) -> None:
    _, _, lines = trained
    text = "\n".join(lines)
    assert "query: 'query: ' and " in text
    assert "44 examples, batch 4 x 2 on cpu" in text
    assert "bf16 is not supported" in text
    last = next(line for line in reversed(lines) if "loss" in line)
    for part in ("step 12/12", "loss ", "lr ", "examples/s", "tokens/s"):
        assert part in last


def test_second_run_returns_what_is_there(trained, monkeypatch: pytest.MonkeyPatch) -> None:
    job, result, _ = trained

    def never(*_args: object) -> None:
        raise AssertionError("nothing may be trained")

    monkeypatch.setattr(fit_module, "_train", never)
    assert fit(job, quiet) == json.loads(json.dumps(result))


def test_other_recipe_trains_again(trained, monkeypatch: pytest.MonkeyPatch) -> None:
    job, _, _ = trained
    monkeypatch.setattr(fit_module, "_train", lambda *_args: {"trained": "again"})
    assert fit(replace(job, seed=7), quiet) == {"trained": "again"}


def test_inputs_over_the_maximum_length_are_counted(tmp_path: Path, encoder: Path) -> None:
    exchange = toy_exchange()
    long = pl.DataFrame([("long", "g1", " ".join(["w20"] * 500))], schema=exchange.corpus.columns, orient="row")
    longer = exchange._replace(corpus=pl.concat([exchange.corpus, long]))
    result = fit(toy_job(tmp_path, encoder, longer, max_epochs=1, evaluate_every=6), quiet)
    assert (result["truncated_inputs"], result["max_length"]) == (1, 32)
    assert (result["truncated_queries"], result["truncated_documents"]) == (0, 1)


def test_prompt_and_special_tokens_count_as_length(tmp_path: Path, encoder: Path) -> None:
    """``[CLS] query : ... [SEP]`` leaves 28 of 32 tokens to the words of a query, and as many to those of a passage."""
    exchange = toy_exchange()
    words = {count: " ".join(["w1"] * count) for count in (28, 29, 31)}
    queries = exchange.queries.with_columns(
        text=pl.when(pl.col("query_id") == "q0").then(pl.lit(words[29])).otherwise("text")
    )
    more = [("a", "g1", words[28]), ("b", "g1", words[29]), ("c", "g1", words[31])]
    corpus = pl.concat([exchange.corpus, pl.DataFrame(more, schema=exchange.corpus.columns, orient="row")])
    job = toy_job(tmp_path, encoder, exchange._replace(queries=queries, corpus=corpus), max_epochs=1, evaluate_every=6)
    result = fit(job, quiet)
    assert (result["truncated_queries"], result["truncated_documents"]) == (1, 2)


def test_last_short_step_is_divided_by_its_true_size(tmp_path: Path, encoder_without_dropout: Path) -> None:
    """7 examples in steps of 4 and batches of 2: the last step has a batch of 2 and one of 1.

    The rate is so small that the weights stay, so 4 * (loss of step 1) + 3 * (loss of step 2) is the sum over all
    rows, whatever their order. A mean of the two batch means would weigh the single row twice.
    """
    import torch

    from tendril_assets.evaluation.models import load_model
    from tendril_assets.training.loss import info_nce

    job = toy_job(
        tmp_path, encoder_without_dropout, toy_exchange(7), learning_rate=1e-12, effective_batch=4, max_epochs=1
    )
    job = replace(job, spec=job.spec.model_copy(update={"batch": 2}))
    losses = curve(fit(job, quiet), "loss")
    model = load_model(job.spec)
    exchange = read_exchange(job.exchange)
    train = exchange.train
    embedded = [
        torch.from_numpy(model.encode(train[name].to_list(), prompt="query: " if name == "query" else "passage: "))
        for name in text_columns(exchange)
    ]
    expected = info_nce(embedded[0], embedded[1], embedded[2:], 20.0).sum().item()
    assert 4 * losses[1] + 3 * losses[2] == pytest.approx(expected, rel=1e-5)


def test_exchange_and_hash_are_untouched_by_training(trained) -> None:
    job, result, _ = trained
    assert result["data_hash"] == data_hash(read_exchange(job.exchange))
