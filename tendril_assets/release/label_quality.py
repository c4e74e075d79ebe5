"""How cards and reports speak of the judge: which one judged, how it was chosen, how far it agrees with people."""

import polars as pl

from tendril_assets.errors import ExportInvariantError
from tendril_assets.judging.systems import System, declared_system, system_named
from tendril_assets.release.wording import certainty, figure, interval, listed, markdown_table, named, plural, share
from tendril_assets.spec import CollectionSpec
from tendril_assets.spec_calibration import CalibrationSpec

_ALL_LAST = [pl.col("level") == "all", pl.col("level")]


def label_quality(
    spec: CollectionSpec, agreement: pl.DataFrame, choice: pl.DataFrame, size: pl.DataFrame | None = None
) -> str:
    """The card's section on the labels: agreement with people, how the judge was chosen, people among themselves.

    ``size`` is ``sql/release/calibration_size.sql``, where the section is to say how large the set is.
    """
    agreement = agreement.filter("in_use")
    kappa = agreement.filter((pl.col("raters") == "judge_vs_curated") & (pl.col("statistic") == "kappa"))
    if not kappa.height:
        return "The judge was not measured against human annotators. The labels are weak supervision."
    rows = []
    for level in kappa.sort(_ALL_LAST)["level"].unique(maintain_order=True):
        cells = [
            _agreement_cell(kappa.filter((pl.col("level") == level) & (pl.col("scale") == s)))
            for s in ("graded", "binary")
        ]
        rows.append((named(level), *cells))
    pairs = kappa["n"].max()
    text = (
        f"The judge was measured on a human-annotated calibration set{_calibration_set(size)} (up to {pairs:,} pairs a "
        "figure). Agreement with the curated "
        f"human labels, with {certainty(spec.judge.calibration.confidence)} bootstrap intervals:"
    )
    table = markdown_table(("Level", "Cohen's κ (0/1/2)", "Cohen's κ (relevant or not)"), rows)
    humans = agreement.filter(
        (pl.col("raters") == "annotators") & (pl.col("scale") == "graded") & pl.col("value").is_not_null()
    ).sort(_ALL_LAST)
    alphas = listed([f"{figure(r['value'], 2)} ({named(r['level']).lower()})" for r in humans.iter_rows(named=True)])
    close = f"Krippendorff's α between the human annotators is {alphas}. " if alphas else ""
    parts = [text, table, how_it_was_chosen(spec, choice)]
    parts.append(f"{close}The labels are noisy and should be treated as weak supervision.")
    return "\n\n".join(part for part in parts if part)


def _calibration_set(size: pl.DataFrame | None) -> str:
    """`` of 1,425 query-passage pairs by 3 annotators from 10 catalogs``; what is not known is left out."""
    known = size.row(0, named=True) if size is not None else {}
    if not known.get("pairs"):
        return ""
    text = f" of {plural(known['pairs'], 'query-passage pair')}"
    text += f" by {plural(known['annotators'], 'annotator')}" if known["annotators"] else ""
    return text + (f" from {plural(known['catalogs'], 'catalog')}" if known["catalogs"] else "")


def _agreement_cell(rows: pl.DataFrame) -> str:
    if not rows.height:
        return "-"
    r = rows.row(0, named=True)
    if r["value"] is None:
        return f"undefined ({named(r['reason'] or 'no figure').lower()}, n = {r['n']:,})"
    return f"{figure(r['value'], 2)} {interval(r['low'], r['high'], 2)} (n = {r['n']:,})"


def published_judge(spec: CollectionSpec, choice: pl.DataFrame) -> System | None:
    """The system that judges by table ``judge_choice``: the declared one where nothing has been measured, none where the
    rule picked none, or where nothing has been measured and the collection goes on without a judge.

    Raises SettingsError where the table names a system that the specification no longer has.
    """
    if not choice.height:
        return declared_system(spec.judge) if spec.judge.calibration.none_accepted == "stop" else None
    used = choice.filter("in_use")["system"].to_list()
    return system_named(spec.judge, used[0], "judge_choice") if used else None


def require_planned_judge(spec: CollectionSpec, choice: pl.DataFrame, planned: str | None) -> System | None:
    """The published judge, where it is the one whose requests were planned, and so the one that graded; None where both are
    none, and the collection goes on without a judge's labels.

    Raises ExportInvariantError where it is another, or one is none, SettingsError as ``published_judge`` does.
    """
    judge = published_judge(spec, choice)
    if judge is None and planned is None and spec.judge.calibration.none_accepted == "without":
        return None
    if judge is None or judge.name != planned:
        said = (
            "judge_choice names no judge" if judge is None else f"judge_choice names {judge.name} as the judge in use"
        )
        raise ExportInvariantError(
            f"{said}, but the requests were planned for {planned or 'none'}, which graded the data. Materialise candidates "
            "and what follows from it again; nothing was written"
        )
    return judge


def how_it_was_chosen(spec: CollectionSpec, choice: pl.DataFrame) -> str:
    """Sentences for the data card; empty where no acceptance is declared or nothing was measured."""
    calibration = spec.judge.calibration
    if calibration.acceptance is None or not choice.height:
        return ""
    counts = [
        (int(choice["model"].n_unique()), "model"),
        (int(choice["effort"].n_unique()), "reasoning effort"),
        (int(choice["guideline"].n_unique()), "guideline"),
    ]
    grid = listed([plural(n, noun) for n, noun in counts])
    accepted = int(choice["accepted"].sum())
    picked = choice.filter("chosen")["system"].to_list()
    used = choice.filter("in_use")
    text = (
        f"{plural(choice.height, 'system')} ({grid}) graded the calibration pairs. Declared before the data: "
        f"{declared_acceptance(calibration)}. {accepted:,} of {choice.height:,} met all of it; "
    )
    text += f"the declared rule picks `{picked[0]}`. " if picked else "the declared rule picks none. "
    if calibration.apply == "declared" and used.height:
        met = "is" if used["accepted"][0] else "is **not**"
        text += f"The judge that was used, `{used['system'][0]}`, was named beforehand; it {met} among the accepted."
    return text.strip()


def declared_acceptance(calibration: CalibrationSpec) -> str:
    """The acceptance in words."""
    wanted = calibration.acceptance
    if wanted is None:
        return "nothing"
    parts = [f"{wanted.in_words} of at least {wanted.minimum:.2f}"]
    if wanted.min_repeat is not None:
        what = "equal grades in two runs for at least" if wanted.repeat == "share" else "kappa of two runs of at least"
        amount = share(wanted.min_repeat, 1) if wanted.repeat == "share" else f"{wanted.min_repeat:.2f}"
        parts.append(f"{what} {amount}")
    if wanted.max_failures is not None:
        parts.append(f"at most {share(wanted.max_failures, 1)} of the pairs without a grade")
    parts.append(f"at least {plural(wanted.min_pairs, 'pair')}")
    if wanted.stack != "any":
        parts.append("a recorded inference stack" if wanted.stack == "recorded" else "one recorded inference stack")
    return listed(parts)
