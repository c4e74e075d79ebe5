-- Grain: one row per status of a candidate pair, of a collection whose grades come by several routes; a pair nobody answered is
-- 'open'. The rows sum to the candidates. Accepted are pairs with a grade: of answered ones by whatever route, since a stronger
-- one may hold the pair, of the others only those filed as the judge's. Those filed so are counted by_judge.
-- Inputs: candidates, judgments, qrels, qrel_evidence.
SELECT
    coalesce(judgments.status, 'open') AS status,
    count(*) AS pairs,
    count(DISTINCT candidates.request_key) AS requests,
    count(qrels.query_id) FILTER (
        WHERE judgments.status = 'ok' OR qrel_evidence.route = 'judge'
    ) AS accepted,
    count(*) FILTER (qrel_evidence.route = 'judge') AS by_judge
FROM candidates
LEFT JOIN judgments ON judgments.query_id = candidates.query_id AND judgments.passage_id = candidates.passage_id
LEFT JOIN qrels ON qrels.query_id = candidates.query_id AND qrels.passage_id = candidates.passage_id
LEFT JOIN qrel_evidence
    ON qrel_evidence.query_id = candidates.query_id AND qrel_evidence.passage_id = candidates.passage_id
GROUP BY coalesce(judgments.status, 'open')
ORDER BY pairs DESC, status
