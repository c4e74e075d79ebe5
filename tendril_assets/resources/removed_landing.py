"""What is kept of removed projects and documents in the landing tables: little in the warehouse, nothing in the snapshot.

The warehouse goes on to list them: a removal's effect and a project's status are told from there.
"""

from collections.abc import Collection, Mapping

import polars as pl

from tendril_assets.resources import sql

# Name in the warehouse's meta: JSON list of [project, document] that the removal list names, by whatever id.
REMOVED_DOCUMENTS = "removed_documents"
# Tables with rows per project, and whether their rows are of one document.
_OF_DOCUMENTS: Mapping[str, bool] = {
    "projects": False,
    "evidence": False,
    "documents": True,
    "delivered_passages": True,
    "acts": False,
    "landed_splits": False,
}
# Of these some rows have no project: they are of nobody who could be removed.
_OF_NOBODY = ("acts",)


def without_removed_projects(frames: Mapping[str, pl.DataFrame], gone: Collection[str]) -> dict[str, pl.DataFrame]:
    """Landing tables in which the projects ``gone`` have no title, day of publication, CPV code or evidence.

    Of acts that are gone number, day and kind stay, for the key says them too.
    """
    kept = dict(frames)
    if gone:
        is_gone = pl.col("project").is_in(list(gone))
        kept["projects"] = kept["projects"].with_columns(
            pl.when(is_gone)
            .then(pl.lit(value, dtype=kept["projects"].schema[name]))
            .otherwise(pl.col(name))
            .alias(name)
            for name, value in (("title", ""), ("published", None), ("cpv", None))
        )
        kept["evidence"] = kept["evidence"].filter(~is_gone)
        if "acts" in kept:
            title = pl.when(is_gone).then(pl.lit("")).otherwise(pl.col("title"))
            kept["acts"] = kept["acts"].with_columns(title=title)
    return kept


def condition_of_kept(schema: str, name: str, present: Collection[str], *, has_meta: bool) -> str:
    """SQL condition on the rows of ``warehouse.<schema>.<name>`` that the snapshot takes over: TRUE for most tables.

    Args:
        present: tables of the schema that can be read.
        has_meta: whether the warehouse has ``main.meta``.
    """
    if name not in _OF_DOCUMENTS:
        return "TRUE"
    within = f"warehouse.{sql.identifier(schema)}"
    conditions = []
    if "project_status" in present:
        conditions.append(f"project NOT IN (SELECT project FROM {within}.project_status WHERE state = 'removed')")
    if "removals" in present:
        listed = f"SELECT trim(nfc_normalize(id)) FROM {within}.removals WHERE kind = "
        conditions.append(f"project NOT IN ({listed}'project')")
        if _OF_DOCUMENTS[name]:
            conditions.append(f"project || '/' || document NOT IN ({listed}'document')")
    if _OF_DOCUMENTS[name] and has_meta:
        conditions.append(
            "[project, document] NOT IN (SELECT unnest(CAST(CAST(value AS JSON) AS VARCHAR[][])) FROM warehouse.main.meta "
            f"WHERE collection = {sql.text(schema)} AND name = {sql.text(REMOVED_DOCUMENTS)})"
        )
    kept = " AND ".join(conditions) or "TRUE"
    return f"(project IS NULL OR ({kept}))" if name in _OF_NOBODY else kept
