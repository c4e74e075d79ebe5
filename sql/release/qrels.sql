-- Grain: one row per published judgment, by query.
-- Inputs: qrels.
SELECT query_id, passage_id, group_id, score
FROM qrels
ORDER BY query_id, passage_id
