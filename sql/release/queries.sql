-- Grain: one row per published query.
-- Inputs: queries.
SELECT query_id, text, level, catalog, area
FROM queries
ORDER BY level, catalog, area, query_id
