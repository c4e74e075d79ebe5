"""A made-up collection of several registers, consistent in every table that its card reads, small enough to count by hand.

The list names 11 acts: 7 reach the corpus with 4 passages each, one was removed, two are amendments, one repeats a row. Of 8
live questions 5 are published, of 3 hand-written ones 2, of 8 passages that were asked about 4 gave a question.
"""

from pathlib import Path

import polars as pl

from tendril_assets.qrels.splits import split_sizes
from tendril_assets.release.figures import Figures, card_figures, read_figures
from tendril_assets.release.huggingface import Rows, published_rows
from tendril_assets.release.invariants import breach_queries, sql_breaches
from tendril_assets.release.publish import ReleaseInputs
from tendril_assets.spec import CollectionSpec, read_spec
from tendril_assets.tables import TABLES
from tendril_assets_tests.release import toy

ACTS = {
    "1-У_01022020": "train",
    "2-П_01022020": "train",
    "3-П_01022020": "validation",
    "4-П_01022020": "test_live",
    "5-П_01022020": "test_live",
    "6-И_01022020": "test_genre",
    "7-У_01022020": "test_unseen",
}
T1, T2, D1, L1, L2, G1, U1 = ACTS
KINDS = {"У": "Указание", "П": "Положение", "И": "Инструкция"}
SYSTEM = "sandbox/judge default ru_two_questions"
# query -> act, text; the last two belong to no act.
LIVE = {"live1": L1, "live2": L1, "live3": L1, "live4": L2, "live8": L1}
MANUAL = {"man1": U1, "man2": None}
GENERATED = {"q-1": ("synthetic", T1), "q-2": ("synthetic", T2), "q-3": ("synthetic", D1), "q-4": ("unseen", U1)}
# query, act and number of the passage, grade, route.
GRADES = [
    ("live1", L1, 0, 2, "clauses"),
    ("live1", L1, 1, 1, "neighbour"),
    ("live2", L1, 1, 2, "clauses"),
    ("live3", L1, 2, 2, "clauses"),
    ("live4", L2, 0, 2, "judge"),
    ("live4", L2, 1, 0, "judge"),
    ("live8", L1, 3, 1, "judge"),
    ("man1", U1, 0, 1, "judge"),
    ("man1", U1, 1, 0, "judge"),
    ("man2", T1, 3, 0, "judge"),
    *((query, act, 0, 2, "generated") for query, (_, act) in GENERATED.items()),
]


def passage(act: str, number: int) -> str:
    return f"{act}#{number:04d}"


def spec(version: str = "0.1.0", **changes) -> CollectionSpec:
    """The collection that is shipped, by its sandbox profile, for tables of this size."""
    shipped = Path(__file__).parents[2] / "tendril_assets" / "defs" / "regulations" / "defs.yaml"
    made = read_spec(shipped, "sandbox")
    return made.model_copy(update={"release": made.release.model_copy(update={"version": version}), **changes})


def tables(*, judged: bool = True) -> dict[str, pl.DataFrame]:
    """Every declared table; with ``judged`` off no judge is accepted, and none of its labels is applied."""
    rows: dict[str, list] = {name: [] for name in TABLES}
    outcomes = ["kept"] * 8 + ["amendment"] * 2 + ["repeated"]
    keys = [*ACTS, "8-П_01022020", "9-У_01022020", "10-У_01022020", T1]
    for place, (key, outcome) in enumerate(zip(keys, outcomes, strict=True), 1):
        kind = KINDS[key.partition("_")[0][-1]]
        rows["acts"].append((place, key, key.partition("_")[0], None, kind, "", None, outcome, 1.0, 99, None))
    rows["project_status"].append((keys[7], keys[7], "removed", None, "h", 1, 1, 0, 0, 0, 0, None))
    for rank, (act, split) in enumerate(ACTS.items(), 1):
        rows["sampled_projects"].append((act, act, rank))
        rows["project_status"].append((act, act, "in_corpus", None, "h", 1, 1, 0, 4, 4, 0, None))
        rows["splits"].append((act, split))
        for n in range(4):
            text = f"Акт {act}\n{n + 1}. Банк хранит запись {n} по акту {act}."
            rows["passages"].append((passage(act, n), act, "act.txt", 1, n, text, len(text)))
            rows["passage_decisions"].append((passage(act, n), act, True, None, None, None, "1"))
            rows["corpus"].append((passage(act, n), text, act, f"{act}/act.txt", 1))
    _queries(rows)
    for query, act, n, score, route in GRADES:
        pair = (query, passage(act, n))
        if route == "judge":
            rows["pool"].append((*pair, act, 1, ["bm25"], 1))
        if route != "judge" or judged:
            rows["qrels"].append((*pair, act, score))
            rows["qrel_evidence"].append((*pair, route, "e", "c"))
        if route == "judge" and judged:
            rows["candidates"].append((*pair, act, f"k-{query}-{n}"))
            rows["judgments"].append((*pair, act, f"k-{query}-{n}", "ok", score, None, "1"))
    toy.measured(rows)
    frames = {name: TABLES[name].frame(rows[name]) for name in TABLES}
    frames |= _calibration(frames, judged=judged)
    levels = spec().subsets
    return frames | {"split_sizes": split_sizes(frames["splits"], frames["qrels"], frames["queries"], levels)}


def _queries(rows: dict[str, list]) -> None:
    rows["live_questions"] = [(f"live{n}", f"Вопрос {n}?", None, None, None) for n in range(1, 9)]
    rows["manual_queries"] = [(f"man{n}", f"запрос {n}", None) for n in range(1, 4)]
    attached = [
        *(
            (f"live{n}", L1, L1, "section", "date", ["1"], "topic", ["1"], ["p"], True, "clauses", None)
            for n in (1, 2, 3)
        ),
        ("live4", L2, L2, "question", "number", [], None, [], [], None, "pool", None),
        ("live5", L2, L2, "section", "date", ["9"], "topic", [], [], False, "dropped", "not in our revision: 9"),
        ("live6", None, None, "none", None, [], None, [], [], None, "none", "names no act"),
        # A repeat bears nothing out, though the wording names a clause.
        ("live7", L1, L1, "section", "date", ["1"], "topic", [], [], None, "none", "repeats live1"),
        # An act that was chosen by its clauses holds them by construction.
        ("live8", L1, L1, "question", "clauses", ["1"], "question", ["1"], [], True, "pool", None),
    ]
    rows["live_attachments"] = attached
    homes = {**LIVE, **MANUAL, **{query: act for query, (_, act) in GENERATED.items()}}
    levels = {**dict.fromkeys(LIVE, "live"), **dict.fromkeys(MANUAL, "manual")}
    levels |= {query: level for query, (level, _) in GENERATED.items()}
    for query, act in homes.items():
        kind = KINDS[act.partition("_")[0][-1]] if act else "-"
        rows["queries"].append((query, f"Текст {query}", levels[query], kind, act or "-"))
        if act:
            rows["project_queries"].append((act, act, query, levels[query]))
    asked = [
        *(
            ("train" if act in (T1, T2) else "dev" if act == D1 else "unseen", act, 0, "accepted", query)
            for query, (_, act) in GENERATED.items()
        ),
        ("train", T1, 1, "verbatim", None),
        ("train", T1, 2, "declined", None),
        ("unseen", U1, 1, "open", None),
        ("genre", G1, 0, "declined", None),
    ]
    sets = spec().registers.generation.sets
    for name, act, n, status, query in asked:
        one = sets[name]
        head = (name, passage(act, n), act, one.split, one.level, one.llm.model, one.family, f"g-{act}-{n}", status)
        rows["generated_questions"].append((*head, None, None, [], None, query, None))


def _calibration(frames: dict[str, pl.DataFrame], *, judged: bool) -> dict[str, pl.DataFrame]:
    """One judge, measured on 96 pairs: [[41,6,1],[5,14,4],[1,5,19]] against people, 74 equal and 2 two grades apart."""
    named = {"system": pl.lit(SYSTEM), "model": pl.lit("sandbox/judge"), "effort": pl.lit("default")}
    named |= {"guideline": pl.lit("ru_two_questions"), "in_use": pl.lit(value=judged)}
    choice = (
        frames["judge_choice"].head(1).with_columns(**named, accepted=pl.lit(value=judged), chosen=pl.lit(value=judged))
    )
    systems = frames["calibration_systems"].head(1).with_columns(**named)
    row = {
        **dict(
            zip(
                ("system", "model", "effort", "guideline"),
                (SYSTEM, "sandbox/judge", "default", "ru_two_questions"),
                strict=True,
            )
        ),
        "in_use": judged,
        "level": "all",
        "scale": "graded",
        "statistic": "kappa",
        "raters": "judge_vs_curated",
        "who": "judge, curated",
        "value": 0.61,
        "low": 0.48,
        "high": 0.73,
        "n": 96,
        "missing": 0,
        "confusion": "[[41,6,1],[5,14,4],[1,5,19]]",
        "resampled": "pairs",
    }
    weighted = row | {"statistic": "kappa_quadratic", "value": 0.75, "low": 0.62, "high": 0.84}
    agreement = TABLES["judge_agreement"].frame([row, weighted])
    return {"judge_choice": choice, "calibration_systems": systems, "judge_agreement": agreement}


def figures(frames: dict[str, pl.DataFrame]) -> Figures:
    return read_figures(_reader(frames), card_figures(spec()))


def _reader(frames: dict[str, pl.DataFrame]):
    read = toy.reader(toy.database(frames))
    return lambda name: read({"verdicts": "routed_verdicts"}.get(name, name))


def rows(frames: dict[str, pl.DataFrame]) -> Rows:
    read = _reader(frames)
    return published_rows(read("corpus"), read("queries"), read("qrels"), "act", read("query_parts"))


def inputs(frames: dict[str, pl.DataFrame], version: str = "0.1.0", **changes) -> ReleaseInputs:
    read, described = _reader(frames), spec(version)
    made = ReleaseInputs(
        spec=described,
        rows=rows(frames),
        figures=figures(frames),
        agreement=frames["judge_agreement"],
        choice=frames["judge_choice"],
        breaches=sql_breaches(*(read(name) for name in breach_queries(described))),
        open_requests=0,
        key_fingerprint="0123456789abcdef",
        sandbox=False,
        systems=frames["calibration_systems"],
    )
    return made._replace(**changes)
