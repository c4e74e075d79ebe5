"""The figures of cards and reports: which queries they come from, and the sums that must agree.

A figure set is ``dict[name, frame]`` with one entry per file of ``sql/release/`` listed here. Every number that a card
or a report prints is read from one of these frames, the declared tables, or the specification.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import polars as pl

from tendril_assets.errors import ExportInvariantError
from tendril_assets.spec import CollectionSpec

CARD_FIGURES = (
    "counts",
    "grades",
    "levels",
    "catalogs",
    "missing_catalogs",
    "drops",
    "document_outcomes",
    "group_states",
    "entities",
    "verdicts",
    "calls",
    "routes",
    "calibration_size",
    "split_sizes",
)
# What a collection whose queries are of several registers has to say besides.
REGISTER_FIGURES = (
    "act_outcomes",
    "act_kinds",
    "registers",
    "grade_routes",
    "annotated_by",
    "query_origins",
    "question_fates",
    "live_routes",
)
# Figures that such a collection reads from a query of its own.
REGISTER_QUERIES = {"verdicts": "routed_verdicts"}
REPORT_FIGURES = (*CARD_FIGURES, "training_use")
REPORT_TABLES = (
    "judge_agreement",
    "judge_choice",
    "calibration_systems",
    "learning_curves",
    "trained_models",
    "system_scores",
    "comparisons",
    "catalog_scores",
    "catalog_comparisons",
    "removal_effects",
)
# What the report of a collection of several registers shows besides, and of one that tests on what it holds out of itself.
REGISTER_REPORT_FIGURES = (*REGISTER_FIGURES, "pool_sizes")
HELD_OUT_REPORT_TABLES = ("register_scores", "register_comparisons", "stage_acceptance")
# Views of ``sql/views`` that the report shows.
REPORT_VIEWS = ("group_differences", "positives_by_catalog_and_level", "cost_by_day", "worst_queries")

Figures = Mapping[str, pl.DataFrame]


def card_figures(spec: CollectionSpec) -> tuple[str, ...]:
    """The figures that the collection's card is written from."""
    return (*CARD_FIGURES, *(REGISTER_FIGURES if spec.registers else ()))


def report_figures(spec: CollectionSpec) -> tuple[str, ...]:
    """The figures that the collection's report is written from."""
    return (*REPORT_FIGURES, *(REGISTER_REPORT_FIGURES if spec.registers else ()))


def report_tables(spec: CollectionSpec) -> tuple[str, ...]:
    """The tables that the collection's report is written from."""
    return (*REPORT_TABLES, *(HELD_OUT_REPORT_TABLES if spec.evaluation.test == "held_out" else ()))


def figure_query(name: str, spec: CollectionSpec) -> str:
    """The query of ``sql/release`` behind a figure."""
    return REGISTER_QUERIES.get(name, name) if spec.registers else name


def read_figures(read: Callable[[str], pl.DataFrame], names: tuple[str, ...]) -> dict[str, pl.DataFrame]:
    """The named queries of ``sql/release/``, run through ``read``."""
    return {name: read(name) for name in names}


@dataclass(frozen=True)
class SumCheck:
    """Two ways to one number; they must agree."""

    what: str
    left: int
    right: int


def sum_checks(figures: Figures) -> list[SumCheck]:
    """Every identity between the figures a card prints.

    Levels and grades sum to the judgments, catalogs to queries and judgments, fates to the raw passages, states to the
    sampled groups, statuses to the candidates and to the requests, and accepted verdicts to the judgments. Where queries
    are of registers: kinds of documents to groups and passages, registers, origins and routes to queries and judgments; of
    the judgments only those of the judge are accepted verdicts.
    """
    counts = figures["counts"].row(0, named=True)
    of_registers = _register_checks(figures, counts) if "registers" in figures else None
    verdicts = figures["verdicts"]
    ok = verdicts.filter(pl.col("status") == "ok")
    drops = figures["drops"]
    states = figures["group_states"]
    return [
        SumCheck("judgments over levels and grades", _sum(figures["grades"], "judgments"), counts["judgments"]),
        SumCheck("judgments over catalogs", _sum(figures["catalogs"], "judgments"), counts["judgments"]),
        SumCheck("queries over catalogs", _sum(figures["catalogs"], "queries"), counts["queries"]),
        SumCheck("queries over levels", _sum(figures["levels"], "queries"), counts["queries"]),
        SumCheck(
            "relevant judgments over catalogs",
            _sum(figures["catalogs"], "positives"),
            _sum(figures["grades"].filter(pl.col("score") >= 1), "judgments"),
        ),
        SumCheck("raw passages over their fates", _sum(drops, "passages"), counts["raw_passages"]),
        SumCheck(
            "passages in the corpus", _sum(drops.filter(pl.col("fate") == "in_corpus"), "passages"), counts["passages"]
        ),
        SumCheck("sampled groups over their states", _sum(states, "groups"), counts["sampled_groups"]),
        SumCheck(
            "groups in the corpus", _sum(states.filter(pl.col("state") == "in_corpus"), "groups"), counts["groups"]
        ),
        SumCheck("candidates over statuses", _sum(verdicts, "pairs"), counts["candidates"]),
        SumCheck("requests over statuses", _sum(verdicts, "requests"), counts["requests"]),
        *(of_registers if of_registers is not None else _verdict_checks(ok, counts)),
    ]


def _verdict_checks(ok: pl.DataFrame, counts: Mapping[str, int]) -> list[SumCheck]:
    return [
        SumCheck("accepted verdicts", _sum(ok, "accepted"), counts["judgments"]),
        SumCheck("verdicts with status ok", _sum(ok, "pairs"), counts["judgments"]),
    ]


def _register_checks(figures: Figures, counts: Mapping[str, int]) -> list[SumCheck]:
    registers, kinds, routes = (figures[name] for name in ("registers", "act_kinds", "grade_routes"))
    origins = figures["query_origins"].row(0, named=True)
    live, annotated = figures["live_routes"], figures["annotated_by"]
    asked = dict(live.group_by("route").agg(pl.col("questions").sum()).iter_rows())
    by_judge = routes.filter(pl.col("route") == "judge")
    checks = [
        SumCheck("groups over splits and kinds", _sum(kinds, "groups"), counts["groups"]),
        SumCheck("passages over splits and kinds", _sum(kinds, "passages"), counts["passages"]),
        SumCheck("queries over registers", _sum(registers, "queries"), counts["queries"]),
        SumCheck("queries over origins", sum(origins[o] for o in ("live", "manual", "generated")), counts["queries"]),
        SumCheck("annotated queries over registers", _sum(registers, "annotated"), counts["judged_queries"]),
        SumCheck("judgments over registers", _sum(registers, "judgments"), counts["judgments"]),
        SumCheck(
            "relevant judgments over registers",
            _sum(registers, "relevant"),
            _sum(routes.filter(pl.col("score") >= 1), "judgments"),
        ),
        SumCheck("judgments over routes", _sum(routes, "judgments"), counts["judgments"]),
        SumCheck("judgments without a route", _sum(routes.filter(pl.col("route") == "-"), "judgments"), 0),
        SumCheck("judgments by the judge", _sum(by_judge, "judgments"), _sum(figures["verdicts"], "by_judge")),
        SumCheck("live questions over routes", _sum(live, "questions"), origins["live_landed"]),
        SumCheck(
            "live queries over routes", asked.get("clauses", 0) + asked.get("pool", 0) if asked else 0, origins["live"]
        ),
        SumCheck(
            "queries of the pool beyond those routed there",
            max(0, origins["pooled"] - asked.get("pool", 0) - origins["manual"]),
            0,
        ),
        SumCheck(
            "queries annotated by clauses beyond those routed there",
            max(0, _sum(annotated.filter(pl.col("route") == "clauses"), "queries") - asked.get("clauses", 0)),
            0,
        ),
    ]
    accepted = figures["question_fates"].filter(pl.col("status") == "accepted")
    for level in sorted({*registers["level"], *annotated["level"], *accepted["level"]}):
        own = registers.filter(level=level)
        ways, questions = (
            _sum(annotated.filter(level=level), "queries"),
            _sum(accepted.filter(level=level), "questions"),
        )
        checks += [
            SumCheck(f"annotated queries of {level} over routes", ways, _sum(own, "annotated")),
            SumCheck(f"queries of {level} by a language model", questions, _sum(own, "generated")),
        ]
    return checks


def assert_sums(figures: Figures) -> None:
    """Raises ExportInvariantError naming every pair of figures that should agree and does not."""
    wrong = [c for c in sum_checks(figures) if c.left != c.right]
    if wrong:
        lines = "; ".join(f"{c.what}: {c.left:,} against {c.right:,}" for c in wrong)
        raise ExportInvariantError(
            f"figures of the card contradict each other: {lines}. A table is older than its inputs: "
            "materialise the assets upstream of the release again"
        )


def _sum(frame: pl.DataFrame, column: str) -> int:
    return int(frame[column].sum())
