-- Grain: one row per route by which a grade came about, and grade. The rows sum to the judgments.
-- Inputs: qrels, qrel_evidence.
SELECT coalesce(qrel_evidence.route, '-') AS route, qrels.score, count(*) AS judgments
FROM qrels
LEFT JOIN qrel_evidence ON qrel_evidence.query_id = qrels.query_id AND qrel_evidence.passage_id = qrels.passage_id
GROUP BY coalesce(qrel_evidence.route, '-'), qrels.score
ORDER BY route, score DESC
