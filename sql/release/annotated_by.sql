-- Grain: one row per register and route of a query's judgments, the strongest where it has several. The rows sum to the queries
-- with a judgment.
-- Inputs: queries, qrels, qrel_evidence.
WITH ranked AS (
    SELECT
        queries.level,
        qrels.query_id,
        min(list_position(['clauses', 'generated', 'judge', 'published', 'neighbour'], qrel_evidence.route)) AS place
    FROM qrels
    JOIN queries ON queries.query_id = qrels.query_id
    LEFT JOIN qrel_evidence ON qrel_evidence.query_id = qrels.query_id AND qrel_evidence.passage_id = qrels.passage_id
    GROUP BY queries.level, qrels.query_id
)
SELECT
    level,
    coalesce(['clauses', 'generated', 'judge', 'published', 'neighbour'][place], '-') AS route,
    count(*) AS queries
FROM ranked
GROUP BY level, place
ORDER BY level, place
