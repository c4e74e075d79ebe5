"""From catalogs to queries: stable ids, the queries in use, and the queries of each project."""

import re

import polars as pl

from tendril_assets.errors import LandingError
from tendril_assets.judging.answer_form import OK
from tendril_assets.queries.wording import AMBITION_LEVELS, criterion_wording
from tendril_assets.tables import TABLES

AREA_LEVEL = "area_of_action"
CRITERION_LEVEL = "criterion"
_PREFIXES = {AREA_LEVEL: "a-", CRITERION_LEVEL: "c-"}
# What survives in a URL, a TREC run file, a file name and a spreadsheet without quoting.
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def query_id(level: str, catalog_id: str) -> str:
    """``a-<area id>`` or ``c-<criterion id>``: stable over re-runs, and never equal to a passage id.

    Raises:
        LandingError: the catalog's id has characters other than ASCII letters, digits, dot, underscore and hyphen,
            does not begin with a letter or digit, or is longer than 100 characters.
    """
    if not _PLAIN.fullmatch(catalog_id):
        raise LandingError(
            f"{level} id {catalog_id!r}: query ids are published, so catalog ids may hold ASCII letters, digits, '.', "
            "'_' and '-' only, begin with a letter or digit, and have at most 100 characters; rename it in the catalog"
        )
    return _PREFIXES[level] + catalog_id


def selected_areas(areas: pl.DataFrame, project_areas: pl.DataFrame) -> pl.DataFrame:
    """The rows of ``areas`` that some project was given: only these are worth a paid summary."""
    return areas.join(project_areas.select("area").unique(), on="area", how="semi").sort("area")


def build_queries(
    areas: pl.DataFrame, criteria: pl.DataFrame, summaries: pl.DataFrame, project_areas: pl.DataFrame
) -> pl.DataFrame:
    """Rows of ``queries``: each selected area with an accepted summary, each selected criterion; ordered by id.

    Raises LandingError for an id that cannot be published, or a selected area or criterion its catalog lacks.
    """
    for column, known in (("area", areas), ("criterion", criteria)):
        lost = project_areas.join(known, on=column, how="anti")[column].unique().sort().to_list()
        if lost:
            raise LandingError(f"selected but not in the catalogs: {column} {', '.join(lost[:5])} ({len(lost)} in all)")
    accepted = summaries.filter(pl.col("status") == OK).select("area", summary="text")
    rows = [
        (query_id(AREA_LEVEL, area), summary, AREA_LEVEL, catalog, area)
        for catalog, area, summary in selected_areas(areas, project_areas)
        .join(accepted, on="area")
        .select("catalog", "area", "summary")
        .iter_rows()
    ]
    chosen = criteria.join(project_areas.select("criterion").unique(), on="criterion", how="semi")
    for row in chosen.iter_rows(named=True):
        wording = criterion_wording(row["text"], {level: row[level] for level in AMBITION_LEVELS})
        rows.append(
            (query_id(CRITERION_LEVEL, row["criterion"]), wording, CRITERION_LEVEL, row["catalog"], row["area"])
        )
    return TABLES["queries"].frame(rows).sort("query_id")


def build_project_queries(
    project_areas: pl.DataFrame, sampled_projects: pl.DataFrame, queries: pl.DataFrame
) -> pl.DataFrame:
    """Rows of ``project_queries``: per selected (project, area) the area's query and its criterion's, if they exist."""
    rows = set()
    known = dict(queries.select("query_id", "level").iter_rows())
    selected = project_areas.join(sampled_projects.select("project", "group_id"), on="project")
    for project, group, area, criterion in selected.select("project", "group_id", "area", "criterion").iter_rows():
        for level, catalog_id in ((AREA_LEVEL, area), (CRITERION_LEVEL, criterion)):
            query = query_id(level, catalog_id)
            if query in known:
                rows.add((project, group, query, level))
    return TABLES["project_queries"].frame(sorted(rows))
