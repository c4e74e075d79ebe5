-- Pairs on which qrels and the accepted judgments differ: a grade without judgment, a judgment without grade, two grades.
-- Grain: one row per query_id, passage_id that differs.
-- Inputs: qrels, judgments.
SELECT
    query_id,
    passage_id,
    r.score,
    j.grade
FROM qrels AS r
FULL JOIN (SELECT query_id, passage_id, grade FROM judgments WHERE status = 'ok') AS j USING (query_id, passage_id)
WHERE r.score IS DISTINCT FROM j.grade
ORDER BY query_id, passage_id
