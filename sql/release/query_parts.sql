-- Grain: one row per published query. Its part of the judgments is that of its group: train, dev (the validation groups)
-- or test; a query that belongs to no group was asked of the whole collection, and is a test.
-- Inputs: queries, project_queries, splits.
WITH home AS (
    SELECT project_queries.query_id, any_value(splits.split) AS split
    FROM project_queries
    JOIN splits ON splits.group_id = project_queries.group_id
    GROUP BY project_queries.query_id
)
SELECT
    queries.query_id,
    CASE home.split WHEN 'train' THEN 'train' WHEN 'validation' THEN 'dev' ELSE 'test' END AS part
FROM queries
LEFT JOIN home ON home.query_id = queries.query_id
ORDER BY queries.query_id
