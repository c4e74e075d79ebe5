-- Grain: one row per catalog and fate of a raw passage: kept, or the reason it was dropped for. A project counts for
-- each catalog it was given areas of, so passages repeat across catalogs; within one the rows sum to its raw passages.
-- Inputs: passage_decisions, project_areas, areas.
-- catalog: catalog id; (no area) for projects without one
-- fate: kept, or the reason of the drop
-- passages: raw passages of that fate
-- projects: projects they came from
-- share: of the raw passages of the catalog, 0 to 1, to 4 digits
WITH given AS (
    SELECT DISTINCT project_areas.project, areas.catalog
    FROM project_areas
    JOIN areas ON areas.area = project_areas.area
)
SELECT
    coalesce(given.catalog, '(no area)') AS catalog,
    coalesce(passage_decisions.reason, 'kept') AS fate,
    count(*) AS passages,
    count(DISTINCT passage_decisions.project) AS projects,
    round(count(*) / sum(count(*)) OVER (PARTITION BY given.catalog), 4) AS share
FROM passage_decisions
LEFT JOIN given ON given.project = passage_decisions.project
GROUP BY given.catalog, passage_decisions.reason
ORDER BY catalog, fate <> 'kept', passages DESC, fate
