"""The data card: prose in which every figure is read from a query, a table, a written file or the specification."""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from tendril_assets.release import register_card, register_grades
from tendril_assets.release.card_creation import creation
from tendril_assets.release.citations import bibtex
from tendril_assets.release.figures import Figures, assert_sums
from tendril_assets.release.front_matter import BY_A_JUDGE, front_matter
from tendril_assets.release.huggingface import Config, require_rows
from tendril_assets.release.label_quality import label_quality
from tendril_assets.release.register_results import MeasuredRows, results
from tendril_assets.release.removal_notice import removal_notice
from tendril_assets.release.withdrawn import Withdrawal
from tendril_assets.release.wording import (
    listed,
    markdown_table,
    named,
    plural,
    share,
)
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES

SANDBOX_NOTE = (
    "> **Sandbox release.** Its identifiers were made with a public secret and protect nothing. "
    "It must not be published."
)
# Of a collection whose identifiers no secret is in.
NAMED_SANDBOX_NOTE = (
    "> **Sandbox release.** It was made of sample data or with a public key, and must not be published."
)


class CardInputs(NamedTuple):
    """Everything a data card is written from."""

    spec: CollectionSpec
    figures: Figures
    agreement: pl.DataFrame
    choice: pl.DataFrame
    configs: list[Config]
    sizes: dict[str, dict[str, int]]
    sandbox: bool
    withdrawn: Sequence[Withdrawal] = ()
    # Of a collection whose queries are of registers: table calibration_systems, and what systems measure on these rows.
    systems: pl.DataFrame = TABLES["calibration_systems"].empty()
    measured: MeasuredRows = MeasuredRows()


def dataset_card(inputs: CardInputs) -> str:
    """README.md of the release: front matter and prose.

    Raises ExportInvariantError where sums of the figures, or the figures and the written files, disagree.
    """
    assert_sums(inputs.figures)
    counts = inputs.figures["counts"].row(0, named=True)
    expected = {"corpus": counts["passages"], "queries": counts["queries"], "qrels": counts["judgments"]}
    require_rows(inputs.configs, expected)
    spec = inputs.spec
    sections = _of_registers(inputs, counts) if spec.registers else _of_catalogs(inputs, counts)
    body = "\n\n".join(s for s in sections if s)
    made = register_grades.provenance(inputs.figures) if spec.registers else BY_A_JUDGE
    head = front_matter(spec, inputs.configs, inputs.sizes, sandbox=inputs.sandbox, provenance=made)
    return head + "\n" + body + "\n"


def _of_registers(inputs: CardInputs, counts: dict) -> list[str]:
    spec, figures = inputs.spec, inputs.figures
    return [
        f"# {spec.release.title}",
        _sandbox_note(inputs),
        _register_opening(spec, counts),
        "## Dataset structure",
        register_card.structure(spec, figures),
        register_card.usage(spec, figures),
        "## Documents and splits",
        register_card.sources(spec, figures, counts),
        "## Queries and grades",
        register_grades.registers(spec, figures),
        "## Judge acceptance",
        register_grades.acceptance(spec, inputs.agreement, inputs.choice, inputs.systems),
        *(["## Results", results(spec, inputs.measured)] if spec.evaluation.test == "held_out" else []),
        "## Limitations",
        register_card.limitations(spec, figures),
        "## Access and versions",
        _access(spec),
        "## Removals",
        removal_notice(spec, inputs.withdrawn),
        "## Licence",
        _licence(spec),
        *(["## Citation", f"```bibtex\n{bibtex(spec)}\n```"] if spec.release.citation else []),
    ]


def _sandbox_note(inputs: CardInputs) -> str:
    if not inputs.sandbox:
        return ""
    return NAMED_SANDBOX_NOTE if inputs.spec.identifiers.policy == "named" else SANDBOX_NOTE


def _register_opening(spec: CollectionSpec, counts: dict) -> str:
    release = spec.release
    purpose = f" for {release.purpose}" if release.purpose else ""
    text = (
        f"A retrieval collection{purpose}: {plural(counts['judgments'], 'relevance judgment')} for "
        f"{plural(counts['queries'], 'query')} of several registers over {plural(counts['passages'], 'passage')} of "
        f"{plural(counts['groups'], spec.group)}."
    )
    return f"{text} {release.queries.strip()}" if release.queries else text


def _of_catalogs(inputs: CardInputs, counts: dict) -> list[str]:
    spec = inputs.spec
    return [
        f"# {spec.release.title}",
        _sandbox_note(inputs),
        _opening(spec, counts),
        "## Dataset structure",
        _structure(inputs, counts),
        _grade_table(inputs.figures),
        _catalog_table(spec, inputs.figures, counts),
        _usage(spec),
        "## Dataset creation",
        creation(spec, inputs.figures, counts, inputs.choice),
        "## Label quality",
        label_quality(spec, inputs.agreement, inputs.choice, inputs.figures["calibration_size"]),
        "## Limitations",
        _limitations(spec, inputs.figures, counts),
        "## Access and versions",
        _access(spec),
        "## Removals",
        removal_notice(spec, inputs.withdrawn),
        "## Licence",
        _licence(spec),
        "## Citation",
        f"```bibtex\n{bibtex(spec)}\n```",
    ]


def _opening(spec: CollectionSpec, counts: dict) -> str:
    release = spec.release
    purpose = f" for {release.purpose}" if release.purpose else ""
    text = (
        f"Training data{purpose}: {plural(counts['judgments'], 'relevance judgment')} by a large language model over "
        f"{plural(counts['passages'], 'anonymised passage')} from {plural(counts['documents'], 'document')} of "
        f"{plural(counts['groups'], spec.group)}, for {plural(counts['queries'], 'query')}."
    )
    if release.queries:
        text += f" {release.queries.strip()}"
    if release.test_collection:
        text += f" It accompanies the human-annotated test collection `{release.test_collection.name}`."
    return text


def _structure(inputs: CardInputs, counts: dict) -> str:
    group = inputs.spec.release.group_column
    rows = [
        (f"`{c.name}`" + (" (default)" if c.name == "qrels" else ""), f"`{', '.join(c.features)}`", f"{c.rows:,}")
        for c in inputs.configs
    ]
    levels = " or ".join(
        f"`{r['level']}` ({plural(r['queries'], 'query')})" for r in inputs.figures["levels"].iter_rows(named=True)
    )
    return "\n\n".join(
        [
            "Three configs in the retrieval format of MTEB, all with the split `train`; `beir/` holds the same rows in "
            "the BEIR layout.",
            markdown_table(("Config", "Columns", "Rows"), rows),
            "\n".join(
                [
                    "- `score`: 0 = not relevant, 1 = partially relevant, 2 = relevant.",
                    f"- `level`: {levels}. `area` is the area of action, for a narrower query that of its parent.",
                    f"- `{group}`, `document`: keyed hashes that group passages "
                    f"({plural(counts['groups'], inputs.spec.group)}, "
                    f"{plural(counts['documents'], 'document')}) and cannot be reversed. A passage was only "
                    "judged against "
                    f"queries selected for its own {inputs.spec.group}.",
                    "- `page`: page of the source document on which the passage starts.",
                ]
            ),
        ]
    )


def _grade_table(figures: Figures) -> str:
    grades = figures["grades"]
    table = grades.pivot("score", index="level", values="judgments").sort("level")
    totals = grades.group_by("score").agg(pl.col("judgments").sum()).sort("score")["judgments"].to_list()
    rows = [(named(level), *(f"{n:,}" for n in values)) for level, *values in table.iter_rows()]
    rows.append(("Total", *(f"{n:,}" for n in totals)))
    return markdown_table(("Level", "Score 0", "Score 1", "Score 2"), rows)


def _catalog_table(spec: CollectionSpec, figures: Figures, counts: dict) -> str:
    rows = [
        (r["catalog"], *(f"{r[c]:,}" for c in ("queries", "groups", "documents", "passages", "judgments", "positives")))
        for r in figures["catalogs"].iter_rows(named=True)
    ]
    group = named(spec.group)
    table = markdown_table(
        (
            "Catalog",
            f"Queries ({counts['queries']:,})",
            f"{group}s ({counts['groups']:,})",
            f"Documents ({counts['documents']:,})",
            f"Passages ({counts['passages']:,})",
            f"Judgments ({counts['judgments']:,})",
            "Positives",
        ),
        rows,
    )
    note = (
        f"Each row covers the judgments against one catalog's queries. {group}s, documents and passages repeat across "
        "rows; the head gives the unique totals. A positive is a judgment with score 1 or 2."
    )
    return f"{table}\n\n{note}"


def _usage(spec: CollectionSpec) -> str:
    name, tag, group = spec.release.hub_id(spec.release.name), f"v{spec.release.version}", spec.group
    lines = "\n".join(f'{c} = load_dataset("{name}", "{c}", split="train")' for c in ("corpus", "queries", "qrels"))
    task = (
        "import mteb\nfrom tendril_assets.release.mteb import retrieval_task\n\n"
        f'mteb.evaluate(mteb.get_model("..."), retrieval_task("{name}", revision="{tag}"))'
    )
    return "\n\n".join(
        [
            f"```python\nfrom datasets import load_dataset\n\n{lines}\n```",
            f"As an `mteb` retrieval task (`mteb`'s own `RetrievalDatasetLoader` reads the configs too):\n\n"
            f"```python\n{task}\n```",
            f"Which passages answer a query is known for its own {group}s alone. So the task ranks each {group}'s passages for "
            f"themselves, leaves out queries without a relevant passage, and averages over the queries of a {group} first, "
            f"then over {group}s.",
        ]
    )


def _limitations(spec: CollectionSpec, figures: Figures, counts: dict) -> str:
    zero = int(figures["grades"].filter(pl.col("score") == 0)["judgments"].sum())
    missing = figures["missing_catalogs"]["catalog"].to_list()
    unjudged = counts["queries"] - counts["judged_queries"]
    points = [
        f"**Missing catalogs.** No query comes from {listed(missing)}, which the test collection has."
        if missing
        else "",
        "**Skewed labels.** Queries have very different numbers of judgments (median "
        f"{counts['median_judgments_per_query']:,.0f}, "
        f"maximum {counts['max_judgments_per_query']:,}), and {share(zero, counts['judgments'])} of the judgments "
        "are 0.",
        f"**Queries without judgments.** {plural(unjudged, 'query')}." if unjudged else "",
        "**Imperfect anonymisation.** Automatic anonymisation can miss entities; please report personal data "
        "that you find.",
        f"**One language.** Queries and most passages are in one language (`{spec.release.language}`).",
    ]
    return "\n".join(f"- {p}" for p in points if p)


def _access(spec: CollectionSpec) -> str:
    gate = "Access is granted automatically after accepting the licence. " if spec.release.is_gated else ""
    return (
        f"{gate}This is version {spec.release.version}; each release "
        f'carries a git tag of its version: pin this one with `revision="v{spec.release.version}"`. `CHANGELOG.md` says '
        "what changed."
    )


def _licence(spec: CollectionSpec) -> str:
    if not spec.release.is_gated:
        return (
            f"The selection, queries, judgments and layout are released under the {spec.release.licence_name} licence "
            "(`LICENSE.md`). The passages are parts of documents that their authors published."
        )
    return (
        "The selection, queries, judgments, anonymisation and identifiers are released under the "
        f"{spec.release.licence_name} (`LICENSE.md`), which allows commercial use and adds restrictions of use. These go along "
        "with every copy, and so does the duty to delete what is removed on request. Models trained on the data are not "
        "derivatives of it under that licence. The source documents, and the passages as parts of them, remain the property "
        "of their authors."
    )
