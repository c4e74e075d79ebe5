-- Grain: one row per level. Queries published, and those with at least one judgment.
-- Inputs: queries, qrels.
SELECT
    queries.level,
    count(*) AS queries,
    count(*) FILTER (WHERE EXISTS (SELECT 1 FROM qrels WHERE qrels.query_id = queries.query_id)) AS judged_queries
FROM queries
GROUP BY queries.level
ORDER BY queries.level
