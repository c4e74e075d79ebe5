"""The data card of a collection whose queries are of several registers: what it holds, its documents, what it lacks.

Every figure is from a query, a table, a written file or the specification. Registers are never summed without their
composition. Where queries and grades come from is ``register_grades``; what systems measure on them ``register_results``.
"""

import polars as pl

from tendril_assets.release.figures import Figures
from tendril_assets.release.wording import listed, markdown_table, named, plural, share
from tendril_assets.spec import CollectionSpec

# What became of a landed act, as it is said after a number: of one, and of several.
_OUTCOMES = {
    "amendment": (
        "that amends another act and has no text of its own",
        "that amend other acts and have no text of their own",
    ),
    "low_cyrillic": ("whose text is not in readable Cyrillic",) * 2,
    "not_found": ("whose text was not found",) * 2,
    "no_date": ("without a date of adoption",) * 2,
    "repeated": ("that repeats another row", "that repeat another row"),
    "empty": ("without text",) * 2,
    "removed": ("that was removed on request", "that were removed on request"),
}
ROUTES = {
    "clauses": "a clause that the question's publisher names: the passages in which it begins",
    "generated": "the passage the question was written from",
    "judge": "the judge, on passages from a pool",
    "published": "as published before",
    "neighbour": "a passage beside one of the first two that holds enough of its text",
}
_PARTS = ("train", "dev", "test")
_LANGUAGES = {"ru": "rus-Cyrl", "de": "deu-Latn", "fr": "fra-Latn", "it": "ita-Latn", "en": "eng-Latn"}


def in_plural(spec: CollectionSpec, level: str) -> str:
    """A register's queries as they are said after a number."""
    return spec.release.plurals.get(level, f"{named(level).lower()} queries")


def structure(spec: CollectionSpec, figures: Figures) -> str:
    """What the files hold: parts of the judgments, registers and their composition."""
    registers = figures["registers"]
    rows = [
        (
            r["part"],
            named(r["level"]),
            *(f"{r[c]:,}" for c in ("queries", "annotated", "answered", "groups", "judgments", "relevant")),
            share(r["generated"], r["queries"]),
            "-" if r["median_characters"] is None else f"{r['median_characters']:,.0f}",
        )
        for r in registers.iter_rows(named=True)
    ]
    head = (
        *("Part", "Register", "Queries", "Annotated", "Answered", f"{named(spec.group)}s", "Judgments", "Relevant"),
        *("By a model", "Median length"),
    )
    chunked = spec.chunking.policy == "clauses"
    columns = [
        "- `score`: 2 = the passage answers the query directly, 1 = it belongs to the matter, 0 = it does not.",
        f"- `level`: the register. `catalog`: the kind of document of the {spec.group} the query belongs to. `area`: that "
        f"{spec.group}. Both are `-` where it belongs to none.",
        _identifiers(spec),
        "- `page`: always 1, for passages follow the text and not its pages." if chunked else "",
    ]
    return "\n\n".join(
        [
            "`corpus` and `queries` each have one split of their own name; `qrels`, the default config, has the splits "
            f"{listed([f'`{part}`' for part in parts_of(registers)])}. `beir/` holds the same rows in the BEIR layout, with "
            "one file of judgments for each.",
            markdown_table(head, rows),
            f"Annotated queries have a judgment, answered ones a relevant passage; {spec.group}s are those that annotated "
            "queries belong to; lengths are characters.",
            _headline(spec, registers),
            "\n".join(column for column in columns if column),
        ]
    )


def usage(spec: CollectionSpec, figures: Figures) -> str:
    """How the release is loaded and measured."""
    name, tag, release = spec.release.hub_id(spec.release.name), f"v{spec.release.version}", spec.release
    split = parts_of(figures["registers"])[-1]
    loads = [f'{config} = load_dataset("{name}", "{config}", split="{config}")' for config in ("corpus", "queries")]
    loads.append(f'qrels = load_dataset("{name}", "qrels", split="{split}")')
    language = _LANGUAGES.get(release.language)
    told = f'language="{language}"' if language else 'language="..."  # ISO 639-3 and script'
    task = (
        "import mteb\nfrom tendril_assets.release.mteb import retrieval_task\n\n"
        f'task = retrieval_task(\n    "{name}", revision="{tag}", scope="collection", split="{split}", {told}\n)\n'
        'mteb.evaluate(mteb.get_model("..."), task)'
    )
    return "\n\n".join(
        [
            "```python\nfrom datasets import load_dataset\n\n" + "\n".join(loads) + "\n```",
            "As an `mteb` retrieval task over the whole corpus, with a mean over queries (`ndcg_at_10_<register>`) and one over "
            f"{spec.group}s (`macro_ndcg_at_10_<register>`) of each register:\n\n```python\n{task}\n```",
        ]
    )


def parts_of(registers: pl.DataFrame) -> list[str]:
    """The splits of the judgments, in their order."""
    there = set(registers.filter(pl.col("judgments") > 0)["part"])
    return [part for part in _PARTS if part in there]


def _headline(spec: CollectionSpec, registers: pl.DataFrame) -> str:
    """The number of test queries is never given without what it is made of."""
    tests = registers.filter(pl.col("part") == "test", pl.col("annotated") > 0)
    if not tests.height:
        return "No query of the tests is annotated."
    annotated = int(tests["annotated"].sum())
    written = int(tests.filter(pl.col("generated") > 0)["annotated"].sum())
    composed = listed([f"{r['annotated']:,} {in_plural(spec, r['level'])}" for r in tests.iter_rows(named=True)])
    by_model = f"A language model wrote {share(written, annotated)} of them" if written else "People wrote all of them"
    text = (
        f"**The tests hold {plural(annotated, 'annotated query')}: {composed}.** {by_model}. Registers differ in length and in "
        "wording, so no figure over all of them is given without this composition"
    )
    least = spec.evaluation.min_queries
    return text + (f", and none over fewer than {plural(least, 'query')}." if least > 1 else ".")


def _identifiers(spec: CollectionSpec) -> str:
    if spec.identifiers.policy == "named":
        return (
            f"- `id` of a passage names its {spec.group} and a running number (`<{spec.group}>#0007`). At every build the text "
            f"of each judged passage is compared with what stood under its number. `{spec.release.group_column}` and `document` "
            f"name the {spec.group}, too."
        )
    return f"- `{spec.release.group_column}`, `document`: keyed hashes that cannot be reversed."


def sources(spec: CollectionSpec, figures: Figures, counts: dict) -> str:
    """The documents: what was taken, what was left out, and the splits by kind."""
    parts = [
        f"{plural(counts['groups'], spec.group)} in {plural(counts['passages'], 'passage')}.",
        _taken(spec, figures),
    ]
    chunking = spec.chunking
    if chunking.policy == "clauses":
        parts.append(
            f"Passages are cut along clauses and paragraphs, at most {chunking.max_tokens:,} tokens with an overlap of up to "
            f"{chunking.overlap_tokens:,}{', each below a line that names act and section' if chunking.heading else ''}."
        )
    return "\n\n".join([" ".join(part for part in parts if part), _held_out(spec), _split_table(spec, figures, counts)])


def _taken(spec: CollectionSpec, figures: Figures) -> str:
    """What became of the landed list, and of what was kept of it."""
    outcomes = dict(figures["act_outcomes"].select("outcome", "acts").iter_rows())
    if not outcomes:
        return ""
    left = [
        f"{n:,} {_OUTCOMES[name][n > 1] if name in _OUTCOMES else named(name).lower()}"
        for name, n in outcomes.items()
        if name != "kept"
    ]
    text = f"The list that was landed names {sum(outcomes.values()):,}; {outcomes.get('kept', 0):,} of them were kept"
    text += f". Left out: {listed(left)}." if left else "."
    states = figures["group_states"].filter(pl.col("state") != "in_corpus")
    gone = [f"{n:,} {named(state).lower()}" for state, n in states.select("state", "groups").iter_rows()]
    return f"{text} Of those kept, not in the corpus: {listed(gone)}." if gone else text


def _held_out(spec: CollectionSpec) -> str:
    text = f"The split is by {spec.group}, for passages of one {spec.group} share text"
    text += (
        ", and was fixed by a list before a question was generated or a passage judged."
        if spec.splits.policy == "file"
        else "."
    )
    if spec.splits.live:
        text += f" Every {spec.group} that a live question belongs to is in `{spec.splits.live}`."
    if spec.splits.held_out_kinds:
        kinds = listed([f"«{kind}»" for kind in spec.splits.held_out_kinds])
        text += f" No {spec.group} of the kind {kinds} is trained on: a held-out genre."
    return text


def _split_table(spec: CollectionSpec, figures: Figures, counts: dict) -> str:
    kinds = figures["act_kinds"]
    sizes = kinds.group_by("kind").agg(pl.col("groups").sum())
    names = sizes.sort("groups", "kind", descending=[True, False])["kind"].to_list()
    rows = []
    for split in _splits(spec, kinds):
        own = kinds.filter(split=split)
        by_kind = dict(own.select("kind", "groups").iter_rows())
        passages = int(own["passages"].sum())
        rows.append(
            (
                f"`{'dev' if split == 'validation' else split}`",
                f"{int(own['groups'].sum()):,}",
                f"{passages:,}",
                share(passages, counts["passages"]),
                *(f"{by_kind.get(kind, 0):,}" for kind in names),
            )
        )
    head = (
        "Split",
        f"{named(spec.group)}s",
        "Passages",
        "Share",
        *(name if name != "-" else "Other" for name in names),
    )
    return markdown_table(head, rows)


def _splits(spec: CollectionSpec, kinds: pl.DataFrame) -> list[str]:
    order = ["train", "validation", *spec.splits.test]
    there = set(kinds["split"])
    return [*(s for s in order if s in there), *sorted(there - set(order))]


def limitations(spec: CollectionSpec, figures: Figures) -> str:
    """What the reader has to know before the figures mislead."""
    routes, registers = figures["live_routes"], figures["registers"]
    dropped = int(routes.filter(route="dropped")["questions"].sum())
    generated = registers.filter((pl.col("part") == "test") & (pl.col("generated") > 0))
    lost = registers.group_by("level", maintain_order=True).agg((pl.col("queries") - pl.col("annotated")).sum())
    bare = [f"{n:,} {in_plural(spec, level)}" for level, n in lost.iter_rows() if n]
    points = [
        f"**One revision.** Each {spec.group} stands as it was printed; later amendments are not in it."
        + (
            f" {plural(dropped, 'live question')} {'names a clause' if dropped == 1 else 'name clauses'} that our text does not "
            f"have, and {'was' if dropped == 1 else 'were'} left out."
            if dropped
            else ""
        )
        if spec.chunking.policy == "clauses"
        else "",
        "**Sparse judgments.** A query is judged on the passages that its clauses, its source or a pool name and on neighbours "
        "of those: what else is relevant counts as unjudged, so compare systems by judged@k too.",
        f"**Queries without judgments.** {listed(bare)}: nobody whose grades are applied has graded them."
        if bare
        else "",
        "**Generated tests.** A question by a language model rests on one passage and on its words: figures over such questions "
        "say little about questions that people ask."
        if generated.height
        else "",
        f"**One language.** The specification declares one language (`{spec.release.language}`) for queries and passages.",
    ]
    return "\n".join(f"- {point}" for point in points if point)
