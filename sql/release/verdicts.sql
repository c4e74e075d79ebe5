-- Grain: one row per status of a candidate pair; a pair nobody answered is 'open'. The rows sum to the candidates.
-- Inputs: candidates, judgments, qrels.
SELECT
    coalesce(judgments.status, 'open') AS status,
    count(*) AS pairs,
    count(DISTINCT candidates.request_key) AS requests,
    count(qrels.query_id) AS accepted
FROM candidates
LEFT JOIN judgments ON judgments.query_id = candidates.query_id AND judgments.passage_id = candidates.passage_id
LEFT JOIN qrels ON qrels.query_id = candidates.query_id AND qrels.passage_id = candidates.passage_id
GROUP BY ALL
ORDER BY pairs DESC, status
