"""A model card's training section: data, recipe and machine, as they were when the model was made."""

from collections.abc import Sequence

import polars as pl

from tendril_assets.evaluation.aggregate import ALL
from tendril_assets.evaluation.tables import BASELINE
from tendril_assets.qrels.splits import TRAIN
from tendril_assets.records import GRADES
from tendril_assets.release.model_inputs import AVAILABLE, CardModel, ModelInputs
from tendril_assets.release.wording import listed, markdown_table, named, plural, scientific, share
from tendril_assets.training.examples import BALANCE, CAP, TOO_FEW_NEGATIVES, USED
from tendril_assets.training.pools import LEAK, REPEAT
from tendril_assets.training.record import EARLY_STOP
from tendril_assets.training.validation import BALANCED

_IRRELEVANT = 0
_RANKER = named(BASELINE)  # that mines negatives too
# What became of a possible example, in the reader's words; other keys are said as they are.
FATES = {
    USED: "Used",
    BALANCE: "Left out to balance the levels",
    CAP: "Left out by the cap per level",
    TOO_FEW_NEGATIVES: "Too few irrelevant passages",
    LEAK: "Repeats held-out text",
    REPEAT: "Repeats another relevant passage of its query",
}


def validation_sizes(known: CardModel, what: str) -> dict[str, int]:
    """``groups`` or ``queries`` of the validation set by level."""
    return {level: sizes[what] for level, sizes in known.validation.items()}


def training(known: CardModel, inputs: ModelInputs) -> str:
    """How the model came to be: data, loss, recipe, cut inputs, hardware, software, and every possible example's fate."""
    points = [
        f"**Data.** {_data(known, inputs)}",
        f"**Loss.** {_loss(known)}",
        f"**Hyperparameters.** {_hyperparameters(known)}",
        f"**Inputs cut.** {_cut(known)}",
        f"**Hardware.** {_hardware(known)}",
        f"**Software.** {listed([f'{n} {v}' for n, v in sorted(known.versions.items(), key=lambda i: i[0].lower())])}.",
    ]
    body = "\n".join(f"- {point}" for point in points)
    table = markdown_table(*fates(inputs.training_use, inputs.spec.trained_subsets))
    counted = (
        "What became of every possible training example, one per pair of a query and a passage rated relevant for it:"
    )
    return f"{body}\n\n{counted}\n\n{table}"


def unrated(inputs: ModelInputs) -> str:
    """What the labels of a collection rest on that mines its negatives."""
    generation = inputs.spec.registers.generation if inputs.spec.registers else None
    sets = generation.sets.values() if generation else ()
    writers = sorted({one.llm.model for one in sets if one.split == TRAIN})
    asked = (
        f"Training questions were written by {listed([f'`{name}`' for name in writers])}, and the passage that a question was "
        "written from counts as its answer. "
        if writers
        else ""
    )
    return f"{asked}Negatives were mined, not rated: one of them may answer the query after all."


def _mined_data(known: CardModel, inputs: ModelInputs) -> str:
    recipe, group, spec = known.recipe, inputs.spec.group, inputs.spec
    source = f"the data of {inputs.data_name}" if inputs.data_name else "the collection's data"
    grades = listed([f"{grade}" for grade in GRADES if grade >= recipe.positive_grade], "or")
    same, other = recipe.same_document_negatives, recipe.n_negatives - recipe.same_document_negatives
    origins = [f"{same:,} from the positive's document"] if same else []
    origins += [f"{other:,} from others"] if other else []
    ranked = (
        f", ranked among what {_RANKER} ranks first for them ({spec.examples.mined_depth:,} passages each), without "
        f"those of test {group}s"
        if spec.evaluation.scope == "collection"
        else ""
    )
    return (
        f"Training examples were built from {source} (SHA-256 of the examples and validation texts: "
        f"`{known.row['data_hash']}`): a query, one passage of grade {grades} and "
        f"{plural(recipe.n_negatives, 'hard negative')} among the first {spec.examples.mined_depth:,} that {_RANKER} ranks for "
        f"it in the training {group}s, none of which is relevant to it by any grade, repeats a relevant passage or stands next "
        f"to one; {listed(origins)}; the other pool fills in where one has too few. {_balance(known, inputs)} Validation used "
        f"held-out {group}s{ranked}, with pairs of query and {group}: "
        f"{inputs.for_levels(validation_sizes(known, 'queries'))}."
    )


def _data(known: CardModel, inputs: ModelInputs) -> str:
    if inputs.spec.examples.negatives == "mined":
        return _mined_data(known, inputs)
    recipe, group = known.recipe, inputs.spec.group
    source = f"the LLM-judged data of {inputs.data_name}" if inputs.data_name else "LLM-judged data"
    grades = listed([f"{grade}" for grade in GRADES if grade >= recipe.positive_grade], "or")
    same, other = recipe.same_document_negatives, recipe.n_negatives - recipe.same_document_negatives
    origins = [f"{same:,} from the positive's document"] if same else []
    origins += [f"{other:,} from others of the {group}"] if other else []
    return (
        f"Training examples were built from {source} (SHA-256 of the examples and validation texts: "
        f"`{known.row['data_hash']}`): a query, one passage the judge rated relevant ({grades}) and "
        f"{plural(recipe.n_negatives, 'hard negative')} it rated irrelevant ({_IRRELEVANT}) for the same query and {group}, "
        f"{listed(origins)}; the other pool fills in where one has too few. {_balance(known, inputs)} Validation used held-out "
        f"{group}s, with pairs of query and {group}: {inputs.for_levels(validation_sizes(known, 'queries'))}."
    )


def _balance(known: CardModel, inputs: ModelInputs) -> str:
    """How many of the available examples were used, and what decided it."""
    use, cap = inputs.training_use, known.recipe.max_examples_per_level
    available = int(use.filter(pl.col("fate").is_in(AVAILABLE))["examples"].sum())
    used = dict(use.filter(pl.col("fate") == USED).select("level", "examples").iter_rows())
    several = sum(n > 0 for n in used.values()) > 1
    rules = ["balanced"] if several else []
    rules += [f"held to {cap:,} {'each' if several else 'per level'}"] if cap else []
    how = f"{'Levels' if several else 'Examples'} were {listed(rules)}: " if rules else ""
    levels = f" ({inputs.for_levels(used)})" if len(inputs.spec.trained_subsets) > 1 else ""
    return f"{how}{known.row['examples']:,} of {plural(available, 'available example')} were used{levels}."


def _loss(known: CardModel) -> str:
    return (
        f"InfoNCE over the positive and its own {plural(known.recipe.n_negatives, 'negative')}, without those of other "
        f"examples, on the cosine similarity of L2-normalised embeddings times {known.recipe.scale:g}."
    )


def _hyperparameters(known: CardModel) -> str:
    recipe, row, entry = known.recipe, known.row, known.entry
    rounds = recipe.effective_batch // (entry.batch * row["processes"])
    processes = f" × {plural(row['processes'], 'process')}" if row["processes"] > 1 else ""
    decay = f"weight decay {recipe.weight_decay:g}" if recipe.weight_decay else "no weight decay"
    clipped = f"gradients clipped at norm {recipe.max_grad_norm:g}" if recipe.max_grad_norm else "no gradient clipping"
    stop = recipe.early_stop
    early = (
        f", stopping early after {plural(stop.patience, 'evaluation')} in a row without a gain above {stop.min_gain:g}"
        if stop
        else ""
    )
    steps = plural(row["steps"], "step")
    stopped = row["stop_reason"] == EARLY_STOP
    end = f"ended before that, by early stopping, after {steps}" if stopped else f"went to its end, {steps}"
    return (
        f"Learning rate {scientific(recipe.learning_rate)} with linear decay and {share(recipe.warmup_share, 1)} warm-up, AdamW "
        f"with {decay}, {clipped}, effective batch size {recipe.effective_batch:,} ({entry.batch:,} × {rounds:,} gradient "
        f"accumulation{processes}), at most {plural(recipe.max_epochs, 'epoch')}, {row['precision']}, maximum sequence length "
        f"{entry.max_length:,}, seed {known.seed}{early}. The run {end}. The model was "
        f"evaluated {_evaluations(recipe.evaluate_every, row['steps'])}, and the weights with the best balanced validation "
        f"{named(BALANCED.removeprefix('balanced_'))} ({_kept(row)}) were kept."
    )


def _evaluations(every: int, steps: int) -> str:
    """When a run of ``steps`` was evaluated, beside the base before it: every ``every`` steps, and at its end."""
    if steps <= every:
        return "once, at its end"
    return f"every {plural(every, 'step')}{' and at its end' if steps % every else ''}"


def _kept(row: dict) -> str:
    return f"step {row['best_step']:,}" if row["best_step"] else "those before the first step"


def _cut(known: CardModel) -> str:
    row = known.row
    if not row["truncated_inputs"]:
        return (
            f"None of {plural(row['inputs'], 'different input')} of training and validation is longer than the maximum."
        )
    return (
        f"Of the different inputs of training and validation, {row['truncated_queries']:,} of "
        f"{plural(row['query_inputs'], 'query')} and {row['truncated_documents']:,} of "
        f"{plural(row['document_inputs'], 'passage')} are longer than {known.entry.max_length:,} tokens and were cut."
    )


def _hardware(known: CardModel) -> str:
    row = known.row
    times = f"{row['processes']:,} × " if row["processes"] > 1 else ""
    recomputed = ", with gradient checkpointing" if known.entry.gradient_checkpointing else ""
    asked = (
        " (bf16 was asked for and is not supported there)" if known.recipe.bf16 and row["precision"] != "bf16" else ""
    )
    minutes = row["seconds"] / 60
    return f"{times}{row['device']}, {row['precision']}{asked}{recomputed}; {minutes:,.1f} minutes."


def fates(use: pl.DataFrame, subsets: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of a table of what became of every possible example. ``use``: the query training_use."""
    counts = {(level, fate): n for level, fate, n in use.select("level", "fate", "examples").iter_rows()}
    totals = use.group_by("fate").agg(pl.col("examples").sum()).sort("examples", "fate", descending=[True, False])
    rows = []
    for fate in [USED, *(f for f in totals["fate"] if f != USED)]:
        each = [counts.get((level, fate), 0) for level in subsets]
        rows.append([FATES.get(fate, named(fate)), *(f"{n:,}" for n in each), f"{sum(each):,}"])
    return ["Fate", *(named(s) for s in subsets), named(ALL)], rows
