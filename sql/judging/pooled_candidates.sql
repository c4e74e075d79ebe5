-- Every pair of the pool, by query and passage; the pool's own order is for whoever grades by hand.
-- Grain: one row per query_id, passage_id.
-- Inputs: pool, queries, corpus.
SELECT
    p.query_id,
    p.passage_id,
    c.group_id
FROM pool AS p
JOIN corpus AS c ON c.passage_id = p.passage_id
SEMI JOIN queries AS known ON known.query_id = p.query_id
ORDER BY p.query_id, p.passage_id
