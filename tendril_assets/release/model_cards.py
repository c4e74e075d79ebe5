"""Model cards: one per fine-tuned model, every figure from the tables, the specification or the weights' own folder.

The parts with rules of their own lie apart: ``model_inputs`` (what must agree), ``model_results``, ``model_licence``,
``model_training``, ``model_front`` and ``citations``. ``model_folder`` puts the card beside the weights.
"""

import json

import polars as pl

from tendril_assets.evaluation.aggregate import ALL
from tendril_assets.release.citations import bibtex
from tendril_assets.release.model_front import model_front_matter
from tendril_assets.release.model_inputs import CardModel, ModelInputs, card_model
from tendril_assets.release.model_licence import Documents, banner, documents, licence_section
from tendril_assets.release.model_results import collection_name, own_scores, results
from tendril_assets.release.model_training import training, unrated, validation_sizes
from tendril_assets.release.weights import WeightsFolder
from tendril_assets.release.wording import (
    figure,
    interval,
    listed,
    named,
    plural,
    share,
    spread,
)
from tendril_assets.training.validation import BALANCED

_SANDBOX = (
    "> **Sandbox model.** Trained on sample data: it shows the pipeline, not a result, and must not be published."
)
# Below it a bootstrap over groups gives wide intervals that are themselves uncertain, and a card says so.
FEW_GROUPS = 50


def model_card(model: str, inputs: ModelInputs, folder: WeightsFolder) -> str:
    """README.md of one fine-tuned model whose weights lie in ``folder``.

    Raises:
        KeyError: a model that the specification does not name.
        ExportInvariantError: tables, specification and weights do not speak of the same model (``card_model``).
    """
    known = card_model(model, inputs, folder)
    return write_card(known, inputs, documents(known, inputs))


def write_card(known: CardModel, inputs: ModelInputs, found: Documents) -> str:
    """The card of a model that ``card_model`` has found consistent, with the licence files ``found``."""
    sections = [
        f"# {inputs.spec.release.published_model(known.name).title}",
        _SANDBOX if inputs.sandbox else "",
        _opening(known, inputs),
        banner(known.entry.licence),
        "## Usage",
        _usage(known, inputs),
        "## Results",
        results(known, inputs),
        "### Validation",
        _validation(known, inputs),
        "## Training",
        training(known, inputs),
        "## Limitations",
        _limitations(known, inputs),
        "## Licence",
        licence_section(known, found),
        "## Citation",
        f"```bibtex\n{bibtex(inputs.spec)}\n```",
    ]
    return model_front_matter(known, inputs) + "\n" + "\n\n".join(s for s in sections if s) + "\n"


def _opening(known: CardModel, inputs: ModelInputs) -> str:
    base = known.entry.published_base
    link = f"[{base}](https://huggingface.co/{base})" if base else f"`{known.entry.base_title}`"
    revision = f" (revision `{known.row['revision']}`)" if known.row["revision"] else ""
    purpose = f" for {inputs.spec.release.purpose}" if inputs.spec.release.purpose else ""
    kept = (
        " No step of the fine-tuning ranked the validation groups better than the base: the weights are the base's own."
        if known.row["best_step"] == 0
        else ""
    )
    return f"A fine-tuned version of {link}{revision}{purpose}. {inputs.spec.release.queries}".rstrip() + kept


def _usage(known: CardModel, inputs: ModelInputs) -> str:
    release, entry = inputs.spec.release, known.entry
    example = release.example
    query, passage = (example.query, example.passage) if example else ("...", "...")
    published = release.published_model(known.name).name
    # Without an owner the hub has no such id: the folder is named, as seen from TENDRIL_HOME.
    place = (
        release.hub_id(published) if release.organisation else f"release/{inputs.spec.collection}/models/{published}"
    )
    name = json.dumps(place)
    options = ", trust_remote_code=True" if entry.trust_remote_code else ""
    code = (
        "```python\nfrom sentence_transformers import SentenceTransformer\n\n"
        f"model = SentenceTransformer({name}{options})\n"
        f"queries = model.encode_query([{json.dumps(query, ensure_ascii=False)}])\n"
        f"passages = model.encode_document([{json.dumps(passage, ensure_ascii=False)}])\n"
        "scores = model.similarity(queries, passages)\n```"
    )
    pooling = {"cls": "CLS", "lasttoken": "last-token"}.get(entry.pooling, entry.pooling)
    query_prompt, document_prompt = entry.query_prompt, entry.document_prompt
    asked = f"adds the prompt {_quoted(query_prompt)}" if query_prompt else "adds no prompt"
    read = f"`encode_document` adds {_quoted(document_prompt)}" if document_prompt else "documents get no prompt"
    said = [
        f"`encode_query` {asked}; {read}.",
        f"Embeddings use {pooling} pooling, are L2-normalised and have {entry.dimensions:,} dimensions, and inputs are cut at "
        f"{entry.max_length:,} tokens. The model has {known.row['parameters']:,} parameters.",
        _matryoshka([width for width in entry.matryoshka if width < entry.dimensions]),
    ]
    return f"{code}\n\n{' '.join(s for s in said if s)}"


def _quoted(prompt: str) -> str:
    """A prompt as code on one line; line ends are shown as such."""
    return "`" + prompt.replace("\n", "\\n") + "`"


def _matryoshka(widths: list[int]) -> str:
    if not widths:
        return ""
    to = listed([f"{width:,}" for width in sorted(widths, reverse=True)], "or")
    return (
        f"Cutting embeddings to {to} dimensions (Matryoshka) was supported by the base model; it was not evaluated after "
        "fine-tuning."
    )


def _validation(known: CardModel, inputs: ModelInputs) -> str:
    row, group = known.row, inputs.spec.group
    held_out = inputs.for_levels(validation_sizes(known, "groups"))
    change = f"went from {figure(row['base_value'])} (base) to {figure(row['best_value'])}"
    if row["best_step"] == 0:
        change = f"is {figure(row['best_value'])}, as of the base"
    measure, levels = named(BALANCED.removeprefix("balanced_")), [named(s).lower() for s in inputs.spec.trained_subsets]
    figure_of = (
        f"balanced {measure} (the mean over {listed(levels)}, each a macro mean over {group}s)"
        if len(levels) > 1
        else f"{measure} (a macro mean over {group}s)"
    )
    return f"On the held-out validation {group}s ({held_out}), {figure_of} {change}."


def _limitations(known: CardModel, inputs: ModelInputs) -> str:
    spec, row = inputs.spec, known.row
    scope = (
        f"of its own {spec.group} only"
        if spec.evaluation.scope == "group"
        else f"of the whole {'corpus' if inputs.holds_tests else 'test collection'}, and no more"
    )
    groups = own_scores(known, inputs).filter((pl.col("system") == known.tuned_system) & (pl.col("level") == ALL))
    tested = (
        f"{collection_name(inputs)[:1].upper()}{collection_name(inputs)[1:]} {'are' if inputs.holds_tests else 'has'} "
        f"{plural(groups['groups'][0], spec.group)}, "
        if groups.height
        else ""
    )
    sizes = validation_sizes(known, "groups")
    few = min([*groups["groups"], *sizes.values()]) < FEW_GROUPS
    points = [
        f"**One language.** The specification declares one language (`{spec.release.language}`). Texts were not checked for "
        "it, and how the model does in other languages was not evaluated.",
        f"**Noisy labels.** {_noise(inputs)}",
        f"**Evaluated narrowly.** Each query ranked the passages {scope}; searching anything larger was not evaluated.",
        f"**{f'Few {spec.group}s, one' if few else 'One'} run.** {tested}{'the' if tested else 'The'} validation set "
        f"{inputs.for_levels(sizes)}{f'; fewer than {FEW_GROUPS:,} are few' if few else ''}. The intervals hold for another "
        f"draw of {spec.group}s, not for another training: there was one, with seed {known.seed}.",
        f"**Cut inputs.** {share(row['truncated_inputs'], row['inputs'])} of the inputs of training and validation were cut."
        if row["truncated_inputs"]
        else "",
        "**Not a decision tool.** Rankings say where a document may address a topic. They are no assessment of a document or "
        "of a person, and must not be used for automated decisions.",
    ]
    return "\n".join(f"- {p}" for p in points if p)


def _noise(inputs: ModelInputs) -> str:
    """The judge's agreement with people by level, as the data card has it; where no judge rated what is trained on, that."""
    if inputs.spec.examples.negatives == "mined":
        return unrated(inputs)
    rows = inputs.agreement.filter(
        pl.col("in_use")
        & (pl.col("raters") == "judge_vs_curated")
        & (pl.col("statistic") == "kappa")
        & (pl.col("scale") == "graded")
        & pl.col("level").is_in(inputs.spec.subsets)
        & pl.col("value").is_not_null()
    )
    if rows.is_empty():
        return "Training labels come from an LLM judge that was not measured against human annotators."
    each = listed(
        [
            f"{named(r['level']).lower()} {figure(r['value'], 2)} {interval(r['low'], r['high'], 2)}".strip()
            for r in rows.sort("level").iter_rows(named=True)
        ]
    )
    return (
        f"Training labels come from an LLM judge whose agreement with human labels is {named('kappa')} "
        f"{spread(rows['value'].to_list(), 2)} on the {named('graded')} scale ({each})."
    )
