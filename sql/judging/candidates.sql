-- Every passage of a group against every query selected for that group.
-- Grain: one row per query_id, passage_id.
-- Inputs: corpus, project_queries, queries.
SELECT
    q.query_id,
    c.passage_id,
    c.group_id
FROM corpus AS c
JOIN project_queries AS q ON q.group_id = c.group_id
SEMI JOIN queries AS known ON known.query_id = q.query_id
ORDER BY q.query_id, c.passage_id
