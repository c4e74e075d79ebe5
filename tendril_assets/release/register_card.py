"""The data card of a collection whose queries are of several registers: what each part is made of, and what it measures.

Every figure is from a query, a table, a written file or the specification. Registers are never summed without their
composition.
"""

import polars as pl

from tendril_assets.release.figures import Figures
from tendril_assets.release.label_quality import declared_acceptance, published_judge
from tendril_assets.release.wording import certainty, figure, interval, listed, markdown_table, named, plural, share
from tendril_assets.spec import CollectionSpec
from tendril_assets.spec_registers import GenerationSpec

# What became of a landed act, in words that go on from a number.
_OUTCOMES = {
    "kept": "kept",
    "amendment": "that amend other acts, which have no text of their own",
    "low_cyrillic": "whose text is no Russian that can be read",
    "not_found": "whose text was not found",
    "no_date": "without a date of adoption",
    "repeated": "that repeat another row",
    "empty": "without text",
}
_ROUTES = {
    "clauses": "a clause that the question's publisher names: the passages in which it begins",
    "generated": "the passage the question was written from",
    "neighbour": "a passage beside a relevant one that holds enough of its text",
    "judge": "the judge, on passages from a pool",
    "published": "as published before",
}
_PARTS = {"train": "train", "dev": "dev", "test": "test"}


def structure(spec: CollectionSpec, figures: Figures) -> str:
    """What the files hold: parts of the judgments, registers and their composition."""
    registers = figures["registers"]
    rows = [
        (
            r["part"],
            named(r["level"]),
            f"{r['queries']:,}",
            f"{r['annotated']:,}",
            f"{r['answered']:,}",
            f"{r['judgments']:,}",
            f"{r['relevant']:,}",
            share(r["generated"], r["queries"]),
            "-" if r["median_characters"] is None else f"{r['median_characters']:,.0f}",
        )
        for r in registers.iter_rows(named=True)
    ]
    head = (
        "Part",
        "Register",
        "Queries",
        "Annotated",
        "Answered",
        "Judgments",
        "Relevant",
        "By a model",
        "Median length",
    )
    return "\n\n".join(
        [
            "`corpus` and `queries` each have one split of their own name; `qrels`, the default config, has the splits "
            f"{listed([f'`{part}`' for part in _parts(registers)])}. `beir/` holds the same rows in the BEIR layout, with "
            "one file of judgments for each part.",
            markdown_table(head, rows),
            "Annotated queries have a judgment, answered ones a relevant passage; lengths are characters.",
            _headline(spec, registers),
            "\n".join(
                [
                    "- `score`: 2 = the passage answers the query directly, 1 = it belongs to the matter, 0 = it does not.",
                    f"- `level`: the register. `catalog`: the kind of document of the {spec.group} the query belongs to. "
                    f"`area`: that {spec.group}.",
                    _identifiers(spec),
                ]
            ),
        ]
    )


def usage(spec: CollectionSpec) -> str:
    """How the release is loaded and measured."""
    name, tag, release = spec.release.hub_id(spec.release.name), f"v{spec.release.version}", spec.release
    loads = [f'{config} = load_dataset("{name}", "{config}", split="{config}")' for config in ("corpus", "queries")]
    loads.append(f'qrels = load_dataset("{name}", "qrels", split="test")')
    task = (
        "import mteb\nfrom tendril_assets.release.mteb import retrieval_task\n\n"
        f'task = retrieval_task(\n    "{name}", revision="{tag}", scope="collection", split="test", '
        f'language="{_language(release.language)}"\n)\n'
        'mteb.evaluate(mteb.get_model("..."), task)'
    )
    return "\n\n".join(
        [
            "```python\nfrom datasets import load_dataset\n\n" + "\n".join(loads) + "\n```",
            f"As an `mteb` retrieval task over the whole corpus, with one score for each register:\n\n```python\n{task}\n```",
        ]
    )


def _language(code: str) -> str:
    """ISO 639-3 and script, as mteb names languages."""
    return {"ru": "rus-Cyrl", "de": "deu-Latn", "fr": "fra-Latn", "it": "ita-Latn", "en": "eng-Latn"}[code]


def _parts(registers: pl.DataFrame) -> list[str]:
    there = set(registers.filter(pl.col("judgments") > 0)["part"])
    return [name for part, name in _PARTS.items() if part in there]


def _headline(spec: CollectionSpec, registers: pl.DataFrame) -> str:
    """The number of test queries is never given without what it is made of."""
    tests = registers.filter(pl.col("part") == "test", pl.col("annotated") > 0)
    if not tests.height:
        return "No query of the tests is annotated."
    annotated = int(tests["annotated"].sum())
    written = int(tests.filter(pl.col("generated") > 0)["annotated"].sum())
    composed = listed([f"{r['annotated']:,} {named(r['level']).lower()}" for r in tests.iter_rows(named=True)])
    text = (
        f"**The tests hold {plural(annotated, 'annotated query')}: {composed}.** A language model wrote "
        f"{share(written, annotated)} of them. Registers differ in length and in wording, so no figure over all of them is "
        "given without this composition"
    )
    least = spec.evaluation.min_queries
    return text + (f", and none over fewer than {plural(least, 'annotated query')}." if least > 1 else ".")


def _identifiers(spec: CollectionSpec) -> str:
    if spec.identifiers.policy == "named":
        return (
            f"- Ids of passages name the {spec.group} and a running number (`<{spec.group}>#0007`); what stands under a number "
            "is compared with what stood there at every build."
        )
    return f"- `{spec.release.group_column}`, `document`: keyed hashes that cannot be reversed."


def sources(spec: CollectionSpec, figures: Figures, counts: dict) -> str:
    """The documents: what was taken, what was left out, and the splits by kind."""
    outcomes = dict(figures["act_outcomes"].select("outcome", "acts").iter_rows())
    listed_acts = sum(outcomes.values())
    left = [f"{n:,} {_OUTCOMES.get(name, named(name).lower())}" for name, n in outcomes.items() if name != "kept" and n]
    text = (
        f"{plural(counts['groups'], spec.group)} in {plural(counts['passages'], 'passage')}. The list that was landed names "
        f"{listed_acts:,}; {outcomes.get('kept', 0):,} were kept"
        f"{'. Left out: ' + listed(left) if left else ''}."
    )
    chunking = spec.chunking
    cut = (
        f"Passages are cut along clauses and paragraphs, at most {chunking.max_tokens:,} tokens with an overlap of up to "
        f"{chunking.overlap_tokens:,}{', each below a line that names act and section' if chunking.heading else ''}."
    )
    kinds = figures["act_kinds"]
    names = (
        kinds.group_by("kind")
        .agg(pl.col("groups").sum())
        .sort("groups", "kind", descending=[True, False])["kind"]
        .to_list()
    )
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
    table = markdown_table(("Split", f"{named(spec.group)}s", "Passages", "Share", *names), rows)
    held = (
        f"The split is by {spec.group}, for passages of one {spec.group} share text, and was fixed before a question was "
        "generated or judged."
    )
    if spec.splits.live:
        held += f" Every {spec.group} that people asked about is in `{spec.splits.live}`."
    if spec.splits.held_out_kinds:
        held += (
            f" Of {listed([f'«{kind}»' for kind in spec.splits.held_out_kinds])} none is trained on: a held-out genre."
        )
    return "\n\n".join([text + " " + cut, held, table])


def _splits(spec: CollectionSpec, kinds: pl.DataFrame) -> list[str]:
    order = ["train", "validation", *spec.splits.test]
    there = set(kinds["split"])
    return [*(s for s in order if s in there), *sorted(there - set(order))]


def registers(spec: CollectionSpec, figures: Figures) -> str:
    """Where queries and grades come from, register by register."""
    parts = []
    declared = spec.registers
    if declared and declared.live:
        parts.append(_live(spec, declared.live.level, figures))
    if declared and declared.manual:
        parts.append(
            f"**{named(declared.manual.level)}.** Written by people to a sheet of {spec.group}s from held-out groups, spread "
            "over their kinds; graded from the pool."
        )
    if declared and declared.generation:
        parts.append(_generated(declared.generation, figures))
    routes = figures["grade_routes"]
    table = markdown_table(
        ("Grade from", "Score", "Judgments"),
        [
            (_ROUTES.get(r["route"], r["route"]), r["score"], f"{r['judgments']:,}")
            for r in routes.iter_rows(named=True)
        ],
    )
    if spec.qrels.neighbour_overlap:
        table += (
            f"\n\nA neighbour has grade 1 only where it holds at least {share(spec.qrels.neighbour_overlap, 1)} of the relevant "
            "passage's text."
        )
    if spec.qrels.append_only:
        table += " Judgments are append-only: a pair once published stays, unless it is removed on request."
    return "\n\n".join([*parts, table])


def _live(spec: CollectionSpec, level: str, figures: Figures) -> str:
    routes = figures["live_routes"]
    total = int(routes["questions"].sum())
    by_route = dict(routes.group_by("route").agg(pl.col("questions").sum()).iter_rows())
    attached = int(routes.filter(pl.col("how") != "none")["questions"].sum())
    verified = [
        f"{r['how']} {share(r['verified'], r['named'])} of {r['named']:,}"
        for r in routes.group_by("how")
        .agg(pl.col("named").sum(), pl.col("verified").sum())
        .sort("how")
        .iter_rows(named=True)
        if r["named"]
    ]
    text = (
        f"**{named(level)}.** {plural(total, 'question')} that people asked were collected; {attached:,} name one of our "
        f"{spec.group}s, by the heading they stand under or by themselves. By route: "
        f"{by_route.get('clauses', 0):,} graded by the clauses they name, {by_route.get('pool', 0):,} into the pool, "
        f"{by_route.get('dropped', 0):,} dropped because the clause is not in our revision, {by_route.get('none', 0):,} left out."
    )
    if verified:
        text += (
            f" An attachment is borne out where a named clause stands in the {spec.group}'s text: {listed(verified)}."
        )
    dominant = figures["registers"].filter(pl.col("level") == level, pl.col("part") == "test")
    if dominant.height and dominant["dominant_group"][0] is not None:
        text += (
            f" {share(dominant['dominant_queries'][0], dominant['annotated'][0])} of the annotated ones are about "
            f"`{dominant['dominant_group'][0]}`"
            + (", so every measure is taken with it and without." if level in spec.evaluation.without_dominant else ".")
        )
    return text


def _generated(generation: GenerationSpec, figures: Figures) -> str:
    fates = figures["question_fates"]
    rows = []
    for name, declared in generation.sets.items():
        own = fates.filter(question_set=name)
        asked, kept = int(own["questions"].sum()), int(own.filter(status="accepted")["questions"].sum())
        rejected = [
            f"{named(r['status']).lower()} {r['questions']:,}"
            for r in own.filter(pl.col("status") != "accepted").sort("questions", descending=True).iter_rows(named=True)
        ]
        rows.append(
            (
                f"`{name}`",
                named(declared.level),
                f"`{declared.llm.model}` ({declared.family})",
                f"{asked:,}",
                f"{kept:,}",
                share(asked - kept, asked),
                ", ".join(rejected) or "none",
            )
        )
    head = ("Set", "Register", "Model (family)", "Asked", "Kept", "Rejected", "For")
    text = (
        f"**Generated.** One question for each passage, at most {generation.per_group} of a group. Those who write the training "
        "questions and those who write the test questions are models of different families. Questions are rejected that copy "
        f"more than {generation.filters.max_verbatim_words} words in a row, fit too many passages, are in another language, "
        "or point at the passage itself"
    )
    if generation.filters.teacher:
        teacher = generation.filters.teacher
        text += (
            f", and those whose passage the reranker `{teacher.reranker}` does not put among the first {teacher.keep_rank} of "
            f"{teacher.depth}"
        )
    return f"{text}.\n\n{markdown_table(head, rows, figures=False)}"


def acceptance(spec: CollectionSpec, choice: pl.DataFrame) -> str:
    """Whether a judge may grade the pool: what was declared, what was measured, and what follows."""
    calibration = spec.judge.calibration
    if calibration.acceptance is None or not choice.height:
        return "No judge was measured against people, so no acceptance was declared."
    rows = [
        (
            f"`{r['system']}`",
            f"{figure(r['quality'])} {interval(r['quality_low'], r['quality_high'])}".strip(),
            figure(r["repeat"]),
            "-" if r["pairs"] is None else f"{r['pairs']:,.0f}",
            {True: "met", False: "**not met**", None: "-"}[r["accepted"]],
        )
        for r in choice.sort("rank").iter_rows(named=True)
    ]
    head = (
        "Judge",
        f"Cohen's κ, {certainty(calibration.confidence)} interval",
        "Two runs agree",
        "Pairs",
        "Acceptance",
    )
    judge = published_judge(spec, choice)
    applied = (
        f"The pool was graded by `{judge.name}`."
        if judge is not None
        else "**Acceptance is not met: no label of a judge is applied.** The judgments rest on the other routes alone."
    )
    return "\n\n".join(
        [f"Declared before the data: {declared_acceptance(calibration)}.", markdown_table(head, rows), applied]
    )


def limitations(spec: CollectionSpec, figures: Figures, counts: dict) -> str:
    dropped = (
        int(figures["live_routes"].filter(route="dropped")["questions"].sum()) if figures["live_routes"].height else 0
    )
    generated = figures["registers"].filter((pl.col("part") == "test") & (pl.col("generated") > 0))
    points = [
        f"**One revision.** Each {spec.group} stands as it was printed; later amendments are not in it"
        + (
            f", and {plural(dropped, 'live question')} about clauses that only those brought was left out."
            if dropped
            else "."
        ),
        "**Sparse judgments.** A query is judged on its gold, its neighbours and, where a judge was accepted, a pool: what else "
        "is relevant counts as unjudged, so compare systems by judged@k too.",
        "**Generated tests.** Questions by a language model name what their passage says and are easier than questions that "
        "people ask."
        if generated.height
        else "",
        f"**One language.** Queries and passages are in one language (`{spec.release.language}`).",
    ]
    return "\n".join(f"- {point}" for point in points if point)
