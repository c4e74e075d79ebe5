-- Levels of the queries that each request answers for; a request of equal texts may have several.
-- Grain: one row per request and level.
-- Inputs: candidates, queries.
SELECT DISTINCT request_key, level
FROM candidates
JOIN queries USING (query_id)
ORDER BY request_key, level
