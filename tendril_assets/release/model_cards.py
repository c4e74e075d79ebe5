"""Model cards: one per fine-tuned model, every figure from the tables."""

import json
from typing import NamedTuple

import polars as pl

from tendril_assets.errors import ExportInvariantError
from tendril_assets.release.wording import (
    figure,
    interval,
    listed,
    markdown_table,
    named,
    p_value,
    plural,
    signed,
    system_name,
)
from tendril_assets.spec import CollectionSpec, ModelSpec

HEADLINE = ("ndcg@10", "recall@10", "recall@100", "mrr@10")


class ModelInputs(NamedTuple):
    """Tables a model card is written from: trained_models, system_scores, comparisons, and the query training_use."""

    spec: CollectionSpec
    trained: pl.DataFrame
    scores: pl.DataFrame
    comparisons: pl.DataFrame
    training_use: pl.DataFrame
    sandbox: bool


def model_card(model: str, inputs: ModelInputs) -> str:
    """README.md of one fine-tuned model.

    Raises:
        KeyError: a model that the specification does not name.
        ExportInvariantError: it was trained on another number of examples than the table of examples holds now.
    """
    entry = inputs.spec.models[model]
    row = inputs.trained.filter(pl.col("model") == model).row(0, named=True)
    used = int(inputs.training_use.filter(pl.col("fate") == "used")["examples"].sum())
    if row["examples"] != used:
        raise ExportInvariantError(
            f"model {model} was trained on {row['examples']:,} examples, training_examples now marks {used:,} as used: "
            "train it again, or its card would describe other data"
        )
    sections = [
        f"# {inputs.spec.release.title}: {model}",
        "> **Sandbox model.** Trained on sample data: it shows the pipeline, not a result." if inputs.sandbox else "",
        f"A fine-tuned version of `{entry.base}`" + (f" (revision `{entry.revision}`)" if entry.revision else "") + ".",
        "## Usage",
        _usage(model, entry),
        "## Results",
        _results(model, inputs),
        "## Training",
        _training(row, entry, inputs),
        "## Limitations",
        _limitations(inputs.spec),
        "## Licence",
        f"`{entry.licence}`, the licence of the base model.",
    ]
    return _front(model, entry, inputs.spec) + "\n" + "\n\n".join(s for s in sections if s) + "\n"


def _front(model: str, entry: ModelSpec, spec: CollectionSpec) -> str:
    base = "" if entry.base.startswith("package:") else f"base_model: {entry.base}\n"
    return (
        "---\nlibrary_name: sentence-transformers\npipeline_tag: sentence-similarity\nlanguage: "
        f"{spec.release.language}\n"
        f"license: {entry.licence.lower()}\n{base}datasets:\n- {spec.release.name}\n---\n"
    )


def _usage(model: str, entry: ModelSpec) -> str:
    def prompt(text: str) -> str:
        return f"adds the prompt `{text}`" if text else "adds no prompt"

    code = (
        "```python\nfrom sentence_transformers import SentenceTransformer\n\n"
        f'model = SentenceTransformer("{model}")\nqueries = model.encode_query(["..."])\n'
        'passages = model.encode_document(["..."])\nscores = model.similarity(queries, passages)\n```'
    )
    text = (
        f"`encode_query` {prompt(entry.query_prompt)}, `encode_document` {prompt(entry.document_prompt)}. "
        "Embeddings use "
        f"{entry.pooling} pooling and have {entry.dimensions:,} dimensions; compare them by cosine. Inputs are cut at "
        f"{entry.max_length:,} tokens."
    )
    return f"{code}\n\n{text}"


def _results(model: str, inputs: ModelInputs) -> str:
    scores = inputs.scores.filter(pl.col("level") == "all")
    measures = [m for m in HEADLINE if m in set(scores["measure"])]
    systems = [s for s in ("bm25", f"{model}_base", f"{model}_tuned") if s in set(scores["system"])]
    if not measures or f"{model}_tuned" not in systems:
        return "The model has not been evaluated on the test collection yet."
    rows = []
    for system in systems:
        cells = []
        for measure in measures:
            found = scores.filter((pl.col("system") == system) & (pl.col("measure") == measure))
            r = found.row(0, named=True) if found.height else {"value": None, "low": None, "high": None}
            cells.append(f"{figure(r['value'])} {interval(r['low'], r['high'])}".strip())
        rows.append((system_name(system), *cells))
    head = scores.filter((pl.col("system") == f"{model}_tuned") & (pl.col("measure") == measures[0])).row(0, named=True)
    text = (
        f"External test collection, {plural(head['groups'], inputs.spec.group)}, "
        f"{head['queries']:,} pairs of query and {inputs.spec.group} "
        f"with a relevant passage ({head['excluded']:,} without one are left out). Scores are macro means over "
        f"{inputs.spec.group}s; {inputs.spec.evaluation.confidence:.0%} intervals come from "
        f"{inputs.spec.evaluation.resamples:,} resamples of "
        f"{inputs.spec.group}s."
    )
    table = markdown_table(("System", *(named(m) for m in measures)), rows)
    return "\n\n".join([text, table, *_differences(model, inputs, measures[0])])


def _differences(model: str, inputs: ModelInputs, measure: str) -> list[str]:
    rows = inputs.comparisons.filter(
        (pl.col("system") == f"{model}_tuned") & (pl.col("level") == "all") & (pl.col("measure") == measure)
    )
    return [
        f"Against {system_name(r['baseline'])}: {signed(r['difference'])} {named(measure)} "
        f"{interval(r['low'], r['high'], sign=True)} in a two-sided "
        f"paired bootstrap over {inputs.spec.group}s (p {_relation(r['p_holm'])} after Holm's correction over the "
        "fine-tuned models)."
        for r in rows.iter_rows(named=True)
    ]


def _relation(p: float | None) -> str:
    text = p_value(p)
    return text if text.startswith("<") else f"= {text}" if p is not None else "undefined"


def _training(row: dict, entry: ModelSpec, inputs: ModelInputs) -> str:
    recipe = inputs.spec.training
    use = inputs.training_use
    used = use.filter(pl.col("fate") == "used")
    levels = listed([f"{r['examples']:,} {named(r['level']).lower()}" for r in used.iter_rows(named=True)])
    available = int(use.filter(pl.col("fate").is_in(["used", "balance"]))["examples"].sum())
    versions = listed([f"{name} {version}" for name, version in sorted(json.loads(row["versions"]).items())])
    steps = [
        f"**Data.** {plural(row['examples'], 'example')} of {available:,} available ({levels}): a query, a "
        "passage of grade "
        f"{recipe.positive_grade} and {recipe.n_negatives} hard negatives of grade 0 from the same "
        f"{inputs.spec.group}, "
        f"{recipe.same_document_negatives} of them from the positive's document where there are enough.",
        f"**Loss.** InfoNCE over the positive and its own {recipe.n_negatives} negatives; cosine similarity times "
        f"{recipe.scale:g}.",
        f"**Hyperparameters.** Learning rate {recipe.learning_rate:g} with linear decay and "
        f"{recipe.warmup_share:.0%} warm-up, AdamW "
        f"with weight decay {recipe.weight_decay:g}, effective batch {recipe.effective_batch} ({entry.batch} x "
        f"{recipe.effective_batch // entry.batch}), at most {plural(recipe.max_epochs, 'epoch')}, seed "
        f"{inputs.spec.seed}. Evaluated every "
        f"{plural(recipe.evaluate_every, 'step')}; step {row['best_step']} of {row['steps']} was kept.",
        f"**Validation.** Balanced nDCG@10 (mean over levels) went from {figure(row['base_value'])} to "
        f"{figure(row['best_value'])} on the "
        f"held-out {inputs.spec.group}s.",
        f"**Inputs cut** at {entry.max_length:,} tokens: {row['truncated_inputs']:,}.",
        f"**Software.** {versions}.",
    ]
    return "\n".join(f"- {s}" for s in steps)


def _limitations(spec: CollectionSpec) -> str:
    return "\n".join(
        [
            f"- **One language.** Trained on queries in `{spec.release.language}`; other languages were not evaluated.",
            "- **Noisy labels.** The training labels come from an LLM judge; the data card gives its agreement "
            "with humans.",
            "- **Not a decision tool.** A ranking says where a document may address a topic. It is no assessment "
            "of a document or "
            "of a person, and must not decide anything by itself.",
        ]
    )
