"""Table ``live_attachments``: every live question with its act, its clauses and its route, and how often clauses are found."""

from collections.abc import Sequence

import polars as pl

from tendril_assets.queries.attachments import BY_CLAUSES, Acts, KnownAct, Question, attach
from tendril_assets.queries.clause_places import ClausePlaces
from tendril_assets.queries.references import Grammar, written
from tendril_assets.queries.routes import NONE, Route, repeats, route_of
from tendril_assets.spec_registers import LiveSpec
from tendril_assets.tables import TABLES


def known_acts(acts: pl.DataFrame, grammar: Grammar) -> list[KnownAct]:
    """Acts of the corpus from project, group_id, number, date, kind; a group without a number can be named by nobody."""
    numbered = acts.drop_nulls("number").sort("project")
    rows = numbered.select("project", "group_id", "number", "date", "kind").iter_rows()
    return [KnownAct(*row[:4], grammar.kind_of(row[4] or "")) for row in rows]


def attachment_rows(
    live: pl.DataFrame, acts: pl.DataFrame, clauses: pl.DataFrame, present: pl.Series, spec: LiveSpec, grammar: Grammar
) -> pl.DataFrame:
    """A ``live_attachments`` frame, one row per question, by id.

    Args:
        live: ``live_questions``.
        acts: project, group_id, number, date, kind of the acts of the corpus.
        clauses: ``passage_clauses``.
        present: ids of the passages of the corpus.
        spec: which clauses are gold.
        grammar: finds acts and clauses in texts.
    """
    known, places = Acts(known_acts(acts, grammar)), ClausePlaces(clauses, present, grammar.appendix_of)
    rows = live.select("query_id", "text", pl.col("section", "topic").fill_null("")).sort("query_id").iter_rows()
    attached = [(question, attach(question, known, places, grammar)) for question in (Question(*row) for row in rows)]
    repeating = repeats(attached)
    found = []
    for question, attachment in attached:
        if question.query_id in repeating:
            route = Route(NONE, [], [], None, f"repeats {repeating[question.query_id]}")
        else:
            route = route_of(attachment, places, spec.evidence)
        act = attachment.act
        found.append(
            {
                "query_id": question.query_id,
                "project": act.project if act else None,
                "group_id": act.group_id if act else None,
                "how": attachment.how,
                "basis": attachment.basis,
                "clauses": written(attachment.clauses),
                "named_in": attachment.named_in,
                "found": route.found,
                "passages": route.passages,
                "verified": route.verified,
                "route": route.route,
                "reason": route.reason,
            }
        )
    return TABLES["live_attachments"].frame(found)


def hit_rates(attachments: pl.DataFrame) -> pl.DataFrame:
    """how, questions, naming_clauses, verified, rate: per source, how many of its questions that name clauses have one in the
    act. Questions whose act was chosen by its clauses are left out of the last three: they would bear themselves out."""
    fair = pl.col("verified").filter(pl.col("basis") != BY_CLAUSES)
    found = attachments.group_by("how").agg(
        questions=pl.len(), naming_clauses=fair.count(), verified=fair.sum(), rate=fair.mean().round(4)
    )
    return found.sort("how")


def miscounted(attachments: pl.DataFrame, live: pl.DataFrame, routes: Sequence[str]) -> list[str]:
    """What keeps the routes from adding up to the questions, in plain lines; empty where each question has one route."""
    wrong = [f"{query} has no route" for query in sorted(set(live["query_id"]) - set(attachments["query_id"]))]
    wrong += [
        f"{query} is no landed question" for query in sorted(set(attachments["query_id"]) - set(live["query_id"]))
    ]
    twice = attachments.filter(pl.col("query_id").is_duplicated())["query_id"].unique().sort()
    wrong += [f"{query} has several routes" for query in twice]
    unknown = attachments.filter(~pl.col("route").is_in(list(routes)))
    wrong += [f"{query}: unknown route {route}" for query, route in unknown.select("query_id", "route").iter_rows()]
    is_gold = pl.col("passages").list.len() > 0
    gold = attachments.filter(is_gold != (pl.col("route") == "clauses"))
    wrong += [
        f"{query}: route {route} and its passages contradict"
        for query, route in gold.select("query_id", "route").iter_rows()
    ]
    loose = attachments.filter(pl.col("project").is_null() & (pl.col("route") != NONE))
    return wrong + [f"{query} has a route and no act" for query in loose["query_id"]]
