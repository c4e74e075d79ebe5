"""Why a release must not be written.

Asset checks upstream block a run; these repeat them where the files are made, so that materialising the release alone
cannot get round a red check. ``published_breaches`` looks at the rows about to be written, ``sql_breaches`` at where
they come from (``breach_queries``, below ``sql/release``), ``personal_breaches`` at what anonymisation missed,
``require_complete`` at what is open.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import polars as pl

from tendril_assets.errors import ExportInvariantError, IncompleteJudgments
from tendril_assets.records import GRADES
from tendril_assets.spec import CollectionSpec

SHOWN = 20
# Queries whose rows are breaches: those of every collection, and those of a policy.
BREACH_QUERIES = ("removed", "leaks", "strays")
POLICY_BREACHES = ("raw_names", "unselected", "foreign_examples", "foreign_negatives")
# A tab or a line end inside an id would break the rows of the TSV file, a quotation mark those of readers that know
# quoting, a NUL or another invisible character those of either; an id such as 007, 1e5 or NA comes back from a reader that
# guesses types as another value or as none, and then joins with nothing.
_UNFIT = {
    "empty_id": r"^$",
    "id_with_whitespace": r"\s",
    "id_with_unsafe_character": r"[[\p{C}\"]&&[^\s]]",
    "id_read_as_another_value": r"(?i)^([+-]?(\d[\d_]*\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?(inf|infinity)|[+-]?nan|<?na>?|n/a|"
    r"#n/?a|-?1\.#(ind|qnan)|null|none|true|false)$",
}


class Breach(NamedTuple):
    """One broken rule and the published id that breaks it."""

    rule: str
    id: str


def published_breaches(corpus: pl.DataFrame, queries: pl.DataFrame, qrels: pl.DataFrame) -> list[Breach]:
    """Contradictions inside the rows to be written (columns as published).

    Ids are strings, unique and not shared by queries and corpus, without characters that a TSV or JSON reader changes or
    stumbles over, and of no form that a reader takes for a number or an empty value; every judgment names a query and a
    passage that are there; no pair twice, whether with one score or two; scores are 0, 1 or 2; no empty value and no empty
    text.
    """
    return [
        *_shape(corpus, queries, qrels),
        *_ids(corpus, "corpus"),
        *_ids(queries, "queries"),
        *(Breach("id_of_query_and_passage", i) for i in _values(set(corpus["id"]) & set(queries["id"]))),
        *(Breach("judgment_of_unknown_query", i) for i in _values(set(qrels["query-id"]) - set(queries["id"]))),
        *(Breach("judgment_of_unknown_passage", i) for i in _values(set(qrels["corpus-id"]) - set(corpus["id"]))),
        *_pairs(qrels),
    ]


def breach_queries(spec: CollectionSpec) -> tuple[str, ...]:
    """The queries of ``sql/release`` that must give no row for this collection, ``removed`` first."""
    holds = {
        "raw_names": spec.identifiers.policy == "keyed",
        "unselected": spec.candidates.policy == "exhaustive",
        "foreign_examples": spec.examples.negatives == "judged",
        "foreign_negatives": spec.examples.negatives == "mined",
    }
    return (*BREACH_QUERIES, *(name for name in POLICY_BREACHES if holds[name]))


def sql_breaches(removed: pl.DataFrame, *others: pl.DataFrame) -> list[Breach]:
    """The rows of the breach queries as breaches, in the order of ``breach_queries``."""
    return [
        *(Breach(f"removed_{kind}", i) for kind, i in removed.select("kind", "id").iter_rows()),
        *(Breach(rule, i) for other in others for rule, i in other.select("rule", "id").iter_rows()),
    ]


def require_complete(verdicts: pl.DataFrame, n_open: int, *, allow_incomplete: bool) -> None:
    """No request waits for its answer, unless going on without is allowed by name; every pair counts once.

    A pair whose request was answered without a grade (unparsed, truncated, filtered) is not open: it is counted in the
    card and not published.

    Args:
        verdicts: ``sql/release/verdicts.sql``: status, pairs, requests, accepted.
        n_open: requests of the candidates without a final answer, as the check upstream counts them.

    Raises:
        IncompleteJudgments: open requests, and ``judge.allow_incomplete`` is off.
        ExportInvariantError: an accepted verdict that is no judgment, or a judgment without an accepted verdict.
    """
    ok = pl.col("status") == "ok"
    off = verdicts.filter((ok & (pl.col("accepted") != pl.col("pairs"))) | (~ok & (pl.col("accepted") > 0)))
    if off.height:
        rows = off.select("status", "pairs", "accepted").iter_rows()
        lines = "; ".join(f"{status}: {pairs:,} pairs, {accepted:,} judgments" for status, pairs, accepted in rows)
        raise ExportInvariantError(f"verdicts and published judgments disagree ({lines}): materialise qrels again")
    waiting = max(n_open, int(verdicts.filter(pl.col("status") == "open")["requests"].sum()))
    if waiting and not allow_incomplete:
        raise IncompleteJudgments(
            f"{waiting:,} judge requests are open: materialise judge_replies again (it asks only those), or set "
            "judge.allow_incomplete in the specification; the card then counts them. Nothing was written",
            n_open=waiting,
        )


def personal_breaches(found: Mapping[str, Iterable[str]]) -> list[Breach]:
    """Passages with personal data left (passage id -> labels) as breaches: ids and labels, never what was found."""
    return [Breach(f"personal_data_{label}", passage) for passage in sorted(found) for label in sorted(found[passage])]


def require_none(breaches: Iterable[Breach]) -> None:
    """Raises ExportInvariantError with the number of breaches per rule and the first 20 ids."""
    found = list(breaches)
    if not found:
        return
    per_rule = pl.Series("rule", [b.rule for b in found]).value_counts(sort=True).rows()
    shown = ", ".join(f"{b.rule}: {b.id}" for b in found[:SHOWN])
    more = f" and {len(found) - SHOWN:,} more" if len(found) > SHOWN else ""
    raise ExportInvariantError(
        f"the release contradicts itself ({', '.join(f'{rule} {n:,}' for rule, n in per_rule)}): {shown}{more}. "
        "Nothing was written. Materialise the assets upstream again and look at their checks"
    )


def _shape(corpus: pl.DataFrame, queries: pl.DataFrame, qrels: pl.DataFrame) -> Iterator[Breach]:
    for name, frame in (("corpus", corpus), ("queries", queries), ("qrels", qrels)):
        if not frame.height:
            yield Breach("no_rows", name)
        for column in frame.columns:
            if frame[column].null_count():
                yield Breach("empty_value", f"{name}.{column}")
            if (column == "id" or column.endswith("-id")) and frame.schema[column] != pl.String:
                yield Breach("id_is_no_string", f"{name}.{column}")


def _ids(frame: pl.DataFrame, name: str) -> Iterator[Breach]:
    yield from (
        Breach(f"duplicate_id_in_{name}", i) for i in _values(set(frame.filter(frame["id"].is_duplicated())["id"]))
    )
    ids = frame.select(pl.col("id").cast(pl.String))
    for rule, pattern in _UNFIT.items():
        yield from (
            Breach(f"{rule}_in_{name}", i) for i in _values(set(ids.filter(pl.col("id").str.contains(pattern))["id"]))
        )
    blank = frame.filter(pl.col("text").str.strip_chars() == "")
    yield from (Breach(f"empty_text_in_{name}", i) for i in _values(set(blank["id"])))


def _pairs(qrels: pl.DataFrame) -> Iterator[Breach]:
    pairs = (
        qrels.group_by("query-id", "corpus-id")
        .agg(n=pl.len(), scores=pl.col("score").n_unique())
        .filter(pl.col("n") > 1)
    )
    for q, d, _, scores in pairs.sort("query-id", "corpus-id").iter_rows():
        yield Breach("pair_with_two_scores" if scores > 1 else "pair_twice", f"{q}/{d}")
    for q, d, score in qrels.filter(~pl.col("score").is_in(list(GRADES))).iter_rows():
        yield Breach("score_out_of_range", f"{q}/{d}={score}")


def _values(ids: set) -> list[str]:
    return sorted(str(i) for i in ids)
