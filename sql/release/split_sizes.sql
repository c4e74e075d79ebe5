-- Grain: one row per split. Groups, and those of them with a judgment at each level.
-- Inputs: splits, qrels, queries.
SELECT
    splits.split,
    queries.level,
    count(DISTINCT splits.group_id) AS groups,
    count(*) AS judgments
FROM splits
JOIN qrels ON qrels.group_id = splits.group_id
JOIN queries ON queries.query_id = qrels.query_id
GROUP BY splits.split, queries.level
ORDER BY splits.split, queries.level
