-- Grain: one row per published query. Its part of the judgments is that of its group: train, dev (the validation groups)
-- or test; a query that belongs to no group was asked of the whole collection, and is a test. One of a group without a split is
-- of no part, and a release of its judgments is refused.
-- Inputs: queries, project_queries, splits.
WITH home AS (
    SELECT project_queries.query_id, arg_min(coalesce(splits.split, '-'), project_queries.group_id) AS split
    FROM project_queries
    LEFT JOIN splits ON splits.group_id = project_queries.group_id
    GROUP BY project_queries.query_id
)
SELECT
    queries.query_id,
    CASE coalesce(home.split, 'test')
        WHEN 'train' THEN 'train'
        WHEN 'validation' THEN 'dev'
        WHEN '-' THEN '-'
        ELSE 'test'
    END AS part
FROM queries
LEFT JOIN home ON home.query_id = queries.query_id
ORDER BY queries.query_id
