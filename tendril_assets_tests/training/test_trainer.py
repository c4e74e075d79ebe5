"""The recipe in the trainer: optimiser, gradients, clipping, what stops a run, compared with the stock trainer."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformerTrainer
from torch.utils.checkpoint import checkpoint as torch_checkpoint
from transformers import TrainerCallback

from tendril_assets.errors import NonFiniteLoss, TrainingError
from tendril_assets.evaluation.models import load_model
from tendril_assets.spec import TrainingSpec
from tendril_assets.spec_training import EarlyStop
from tendril_assets.training import devices
from tendril_assets.training import fit as fit_module
from tendril_assets.training import loss as loss_module
from tendril_assets.training.checkpoints import Progress, RunFolder
from tendril_assets.training.devices import Group, precision
from tendril_assets.training.evaluating import BalancedEvaluator
from tendril_assets.training.events import Event
from tendril_assets.training.examples import text_columns
from tendril_assets.training.fit import fit
from tendril_assets.training.job import TrainingJob, read_exchange
from tendril_assets.training.trainer import (
    OwnNegativesTrainer,
    Training,
    gains_no_more,
    own_trainer,
    training_arguments,
)
from tendril_assets.training.validation import Validation
from tendril_assets_tests.training.toy import said, toy_exchange, toy_job

BALANCED = "balanced_ndcg@10"
ALONE = Group()


def curve(result: dict, measure: str) -> dict[int, float]:
    return {step: value for step, name, value in result["curve"] if name == measure}


def quiet(_event: Event) -> None:
    """The result is looked at."""


def with_spec(job: TrainingJob, **changes: object) -> TrainingJob:
    return replace(job, spec=job.spec.model_copy(update=changes))


def built(job: TrainingJob) -> OwnNegativesTrainer:
    """The trainer of a job, ready to train."""
    exchange = read_exchange(job.exchange)
    model = load_model(job.spec).double()  # in 64 bits, sums of another order differ by nothing that matters
    run = RunFolder(job.folder, job.config_hash, "d" * 64)
    evaluator = BalancedEvaluator(Validation(exchange, job.subsets), job, bf16=False, group=ALONE)
    progress = Progress(run.config_hash, run.data_hash)
    return own_trainer(Training(model, job, exchange, evaluator, run, progress, False, ALONE))


class FirstStep(TrainerCallback):
    """Keeps the gradients of the first step, as the optimiser gets them, and ends training."""

    def __init__(self) -> None:
        self.gradients: dict[str, torch.Tensor] = {}

    def on_pre_optimizer_step(self, args, state, control, **kwargs) -> None:
        named = kwargs["model"].named_parameters()
        self.gradients = {name: p.grad.clone() for name, p in named if p.grad is not None}

    def on_step_end(self, args, state, control, **kwargs) -> None:
        control.should_training_stop = True
        control.should_evaluate = control.should_save = False


def first_gradients(job: TrainingJob) -> dict[str, torch.Tensor]:
    trainer, first = built(job), FirstStep()
    trainer.add_callback(first)
    trainer.train()
    assert first.gradients
    return first.gradients


def assert_same(gradients: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    """Parameter by parameter."""
    assert gradients.keys() == expected.keys()
    for name, gradient in expected.items():
        assert gradient.dtype == torch.float64
        torch.testing.assert_close(
            gradients[name], gradient, rtol=1e-7, atol=1e-10, msg=lambda text, name=name: f"{name}: {text}"
        )


@pytest.fixture(scope="module")
def whole_step(tmp_path_factory: pytest.TempPathFactory, encoder_without_dropout: Path) -> tuple:
    """A job of one step of 32 rows, taken at once, and its gradients."""
    folder = tmp_path_factory.mktemp("whole_step")
    job = toy_job(folder, encoder_without_dropout, toy_exchange(32), effective_batch=32, max_grad_norm=0, max_epochs=1)
    job = with_spec(job, batch=32)
    return job, first_gradients(job)


@pytest.mark.parametrize("batch", [16, 8, 1])
def test_gradients_do_not_depend_on_the_batch(whole_step: tuple, batch: int) -> None:
    """1 x 32 against 2 x 16, 4 x 8 and 32 x 1."""
    job, expected = whole_step
    assert_same(first_gradients(with_spec(job, batch=batch)), expected)


def test_gradients_do_not_depend_on_gradient_checkpointing(whole_step: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    job, expected = whole_step
    calls: list[object] = []

    def counted(*args: object, **kwargs: object) -> object:
        calls.append(kwargs["use_reentrant"])
        return torch_checkpoint(*args, **kwargs)

    monkeypatch.setattr("transformers.modeling_utils.checkpoint", counted)
    assert_same(first_gradients(with_spec(job, batch=16, gradient_checkpointing=True)), expected)
    assert calls, "no layer was checkpointed"
    assert not any(calls)


def test_gradients_are_those_of_the_mean_loss(whole_step: tuple) -> None:
    """Against the definition: the library's own columns, one pass each, the mean of the row losses, by autograd."""
    job, gradients = whole_step
    model = load_model(job.spec).double().train()
    train = read_exchange(job.exchange).train
    embedded = []
    for name in text_columns(read_exchange(job.exchange)):
        prompt = "query: " if name == "query" else "passage: "
        features = model.preprocess([prompt + text for text in train[name]])
        embedded.append(model(features)["sentence_embedding"])
    loss_module.info_nce(embedded[0], embedded[1], embedded[2:], 20.0).mean().backward()
    assert_same(gradients, {name: p.grad for name, p in model.named_parameters() if p.grad is not None})


@pytest.mark.parametrize("longest", [1e-3, 1e6])
def test_long_gradients_are_scaled_down(whole_step: tuple, longest: float) -> None:
    """To the specification's norm, all parameters together; shorter ones stay as they are."""
    job, expected = whole_step
    job = replace(job, recipe=job.recipe.model_copy(update={"max_grad_norm": longest}))
    norm = torch.linalg.vector_norm(torch.stack([g.norm() for g in expected.values()])).item()
    factor = min(1.0, longest / norm)
    assert_same(first_gradients(job), {name: gradient * factor for name, gradient in expected.items()})


def test_gradients_are_clipped_as_by_the_library_where_nothing_is_said(tmp_path: Path, encoder: Path) -> None:
    job = toy_job(tmp_path, encoder)
    run = RunFolder(job.folder, job.config_hash, "d" * 64)
    ours = training_arguments(job, run, ["query", "positive"], bf16=False, group=ALONE)
    stock = SentenceTransformerTrainer.training_args_class(output_dir=str(tmp_path))
    assert (ours.max_grad_norm, ours.optim, ours.adam_beta1, ours.adam_beta2, ours.adam_epsilon) == (
        stock.max_grad_norm,
        stock.optim,
        stock.adam_beta1,
        stock.adam_beta2,
        stock.adam_epsilon,
    )


def test_adamw_decays_no_parameter(tmp_path: Path, encoder: Path) -> None:
    trainer = built(toy_job(tmp_path, encoder))
    optimizer = trainer.create_optimizer()
    assert isinstance(optimizer, torch.optim.AdamW)
    assert [group["weight_decay"] for group in optimizer.param_groups] == [0.0] * len(optimizer.param_groups)
    trained = {id(p) for group in optimizer.param_groups for p in group["params"]}
    assert trained == {id(p) for p in trainer.model.parameters()}


def test_same_curve_as_the_stock_trainer(tmp_path: Path, encoder_without_dropout: Path) -> None:
    """40 rows in steps of 2 x 4: nothing is uneven, so sentence-transformers' own trainer with the mean loss must agree,
    row order, learning rate, clipping and optimiser included."""
    job = toy_job(tmp_path / "ours", encoder_without_dropout, toy_exchange(40), learning_rate=1e-3, evaluate_every=10)
    ours = fit(job, quiet)
    exchange = read_exchange(job.exchange)
    columns = text_columns(exchange)
    model = load_model(job.spec)
    stock_loss = loss_module.OwnNegativesLoss(model, 20.0)
    summed = stock_loss.forward
    stock_loss.forward = lambda features, labels=None: summed(features) / 4
    arguments = SentenceTransformerTrainer.training_args_class(
        output_dir=str(tmp_path / "stock"),
        per_device_train_batch_size=4,
        gradient_accumulation_steps=2,
        num_train_epochs=2,
        learning_rate=1e-3,
        warmup_steps=0.1,
        seed=42,
        prompts={name: "query: " if name == "query" else "passage: " for name in columns},
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )
    stock = SentenceTransformerTrainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_dict(exchange.train.select(columns).to_dict(as_series=False)),
        loss=stock_loss,
    )
    stock.train()
    logged = [entry for entry in stock.state.log_history if "loss" in entry]
    assert len(logged) == 10
    assert list(curve(ours, "loss").values()) == pytest.approx([entry["loss"] for entry in logged], rel=1e-4)
    rates = [entry["learning_rate"] for entry in logged]
    assert list(curve(ours, "learning_rate").values()) == pytest.approx(rates)


def test_tokens_are_counted_without_padding(tmp_path: Path, encoder: Path) -> None:
    """``[CLS] query : w w [SEP]`` has 6 tokens, ``[CLS] passage : w w w [SEP]`` has 7: 6 + 4 x 7 = 34 an example."""
    trainer = built(toy_job(tmp_path, encoder, max_epochs=1, evaluate_every=100))
    trainer.args.save_strategy = "no"
    trainer.train()
    assert trainer.tokens == 44 * 34


def test_loss_outside_of_a_training_step_is_refused(tmp_path: Path, encoder: Path) -> None:
    trainer = built(toy_job(tmp_path, encoder))
    batch = next(iter(trainer.get_train_dataloader()))
    with pytest.raises(TrainingError, match="training steps only"):
        trainer.compute_loss(trainer.model, batch)


def broken(where: str, number: int) -> Callable[..., torch.Tensor]:
    """``info_nce`` whose call ``number`` has a bad value, or a sound value with a bad gradient."""
    honest, calls = loss_module.info_nce, []

    def patched(*args: object) -> torch.Tensor:
        calls.append(1)
        losses = honest(*args)
        if len(calls) != number:
            return losses
        if where == "gradient":
            losses.register_hook(lambda gradient: gradient * float("inf"))
            return losses
        return losses + float(where)

    return patched


@pytest.mark.parametrize(("where", "rows"), [("nan", 4), ("inf", 4), ("gradient", 8)])
def test_non_finite_loss_or_gradient_changes_nothing(
    tmp_path: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch, where: str, rows: int
) -> None:
    """Two micro-batches of 4 a step, the fifth is broken: step 3. A loss names its micro-batch, a gradient its step."""
    monkeypatch.setattr(loss_module, "info_nce", broken(where, 5))
    steps = []
    monkeypatch.setattr(torch.optim.AdamW, "step", lambda self, closure=None: steps.append(1))
    job = toy_job(tmp_path, encoder, evaluate_every=1)
    with pytest.raises(NonFiniteLoss) as caught:
        fit(job, quiet)
    assert (caught.value.step, len(caught.value.pairs), len(set(caught.value.pairs))) == (3, rows, rows)
    assert len(steps) == 2
    text = str(caught.value)
    assert ("gradient" if where == "gradient" else "loss") in text
    assert "/".join(caught.value.pairs[0]) in text
    assert " w1" not in text  # ids, never texts
    (run,) = (job.folder / "runs").iterdir()
    assert (run / "checkpoint-2").is_dir()
    assert not list(run.glob("*-3"))


def test_early_stop_ends_at_an_evaluation_and_stays_ended(
    tmp_path: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a rate of 1e-12 nothing is gained: patience 2 ends at the second evaluation. Cut off before its result is in
    place, the next start trains no further step."""
    job = toy_job(tmp_path, encoder, learning_rate=1e-12, evaluate_every=2, early_stop=EarlyStop(patience=2))
    install = fit_module.install

    def cut_off(*_args: object) -> None:
        raise OSError("cut off")

    monkeypatch.setattr(fit_module, "install", cut_off)
    with pytest.raises(OSError, match="cut off"):
        fit(job, quiet)
    monkeypatch.setattr(fit_module, "install", install)
    lines: list[str] = []
    result = fit(job, said(lines))
    assert any("from the checkpoint of step 4" in line for line in lines)
    assert not [line for line in lines if "loss" in line]
    assert list(curve(result, BALANCED)) == [0, 2, 4]
    assert list(curve(result, "loss")) == [1, 2, 3, 4]
    assert (result["steps"], result["best_step"], result["stop_reason"]) == (4, 0, "early_stop")


def test_without_early_stop_the_reason_is_epochs(tmp_path: Path, encoder: Path) -> None:
    result = fit(toy_job(tmp_path, encoder, learning_rate=1e-12, max_epochs=1, evaluate_every=2), quiet)
    assert (result["steps"], result["stop_reason"]) == (6, "epochs")


@pytest.mark.parametrize(
    ("asked", "gpu", "native", "bf16", "said"),
    [
        (True, False, False, False, "no CUDA device"),
        (True, True, False, False, "Tesla"),  # bf16 in emulation only
        (True, True, True, True, None),
        (False, True, True, False, None),
        (False, False, False, False, None),
    ],
)
def test_precision(
    monkeypatch: pytest.MonkeyPatch, asked: bool, gpu: bool, native: bool, bf16: bool, said: str
) -> None:
    monkeypatch.setattr(devices.torch.cuda, "is_available", lambda: gpu)
    monkeypatch.setattr(devices.torch.cuda, "get_device_name", lambda: "Tesla")
    monkeypatch.setattr(
        devices.torch.cuda, "is_bf16_supported", lambda including_emulation=True: native or including_emulation
    )
    found, why_not = precision(TrainingSpec.model_validate({"bf16": asked}))
    assert found is bf16
    assert (said is None) is (why_not is None)
    assert said is None or said in why_not


@pytest.mark.parametrize(
    ("values", "patience", "min_gain", "stops"),
    [
        ([0.5], 1, 0.0, False),  # the base alone
        ([0.5, 0.6], 1, 0.0, False),
        ([0.5, 0.5], 1, 0.0, True),  # an equal value is no gain
        ([0.5, 0.4], 2, 0.0, False),
        ([0.5, 0.4, 0.45], 2, 0.0, True),
        ([0.5, 0.4, 0.6, 0.55], 2, 0.0, False),  # a gain in between starts the count again
        ([0.5, 0.4, 0.6, 0.55, 0.6], 2, 0.0, True),
        ([0.5, 0.505, 0.51], 2, 0.01, True),  # gains too small, twice
        ([0.5, 0.505, 0.52], 2, 0.01, False),  # 0.015 over the best so far
        ([], 1, 0.0, False),
    ],
)
def test_early_stop_rule(values: list[float], patience: int, min_gain: float, stops: bool) -> None:
    assert gains_no_more(values, EarlyStop(patience=patience, min_gain=min_gain)) is stops


def test_without_a_rule_every_epoch_is_trained() -> None:
    assert not gains_no_more([0.5, 0.1, 0.1, 0.1], None)
