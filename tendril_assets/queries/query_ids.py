"""Ids of queries that people give: which are allowed."""

import re

from tendril_assets.queries.questions import PREFIX

_QUERY_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def id_problem(query_id: str) -> str | None:
    """What is wrong with the id of a query that people asked or wrote, or None."""
    if not _QUERY_ID.fullmatch(query_id):
        return f"query_id {query_id[:40]!r} should have 1 to 100 ASCII letters, digits, '.', '_' and '-'"
    if query_id.startswith(PREFIX):
        return f"query_id {query_id}: ids that begin with {PREFIX} are those of generated questions"
    return None
