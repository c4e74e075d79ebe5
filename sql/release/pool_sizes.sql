-- Grain: one row per register that has pooled queries. Pairs of the pool, and those of them that are judged: by the judge, or
-- by a stronger route.
-- Inputs: pool, queries, qrels, qrel_evidence.
SELECT
    queries.level,
    count(DISTINCT pool.query_id) AS queries,
    count(*) AS pairs,
    count(*) FILTER (WHERE qrel_evidence.route = 'judge') AS by_judge,
    count(qrels.query_id) FILTER (WHERE qrel_evidence.route <> 'judge') AS by_other_routes
FROM pool
JOIN queries ON queries.query_id = pool.query_id
LEFT JOIN qrels ON qrels.query_id = pool.query_id AND qrels.passage_id = pool.passage_id
LEFT JOIN qrel_evidence ON qrel_evidence.query_id = pool.query_id AND qrel_evidence.passage_id = pool.passage_id
GROUP BY queries.level
ORDER BY queries.level
