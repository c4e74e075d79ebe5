-- Grain: one row per system, query and group, the hardest first: nDCG@10 from the lowest, with the query's wording, its
-- relevant passages and the rank of the first of them; no rank where none of them was ranked.
-- Wording and grades are those of the landed test collection; where none was landed, of the collection itself.
-- Inputs: query_scores, test_queries, test_qrels, retrieval_runs, queries, qrels.
-- system: ranked system
-- query_id: query, as published
-- group_id: group the passages were ranked in
-- level: subset of the query, or its register
-- ndcg_at_10: nDCG@10 of the query in this group, 0 to 1
-- relevant: relevant passages of the query in this group
-- first_relevant_rank: rank of the first of them, 1 is best; empty where none was ranked
-- catalog: catalog of the query
-- text: wording of the query
WITH asked AS (
    SELECT query_id, catalog, text FROM test_queries
    UNION ALL
    SELECT query_id, catalog, text FROM queries WHERE NOT EXISTS (SELECT 1 FROM test_queries)
),
judged AS (
    SELECT query_id, passage_id, score FROM test_qrels
    UNION ALL
    SELECT query_id, passage_id, score FROM qrels WHERE NOT EXISTS (SELECT 1 FROM test_queries)
),
found AS (
    SELECT runs.system, runs.query_id, runs.group_id, min(runs.rank) AS first_relevant_rank
    FROM retrieval_runs AS runs
    JOIN judged
        ON judged.query_id = runs.query_id AND judged.passage_id = runs.passage_id AND judged.score > 0
    GROUP BY ALL
)
SELECT
    query_scores.system,
    query_scores.query_id,
    query_scores.group_id,
    query_scores.level,
    query_scores.value AS ndcg_at_10,
    query_scores.relevant,
    found.first_relevant_rank,
    asked.catalog,
    asked.text
FROM query_scores
LEFT JOIN asked ON asked.query_id = query_scores.query_id
LEFT JOIN found
    ON found.system = query_scores.system
    AND found.query_id = query_scores.query_id
    AND found.group_id = query_scores.group_id
WHERE query_scores.measure = 'ndcg@10'
ORDER BY
    query_scores.value,
    query_scores.relevant DESC,
    query_scores.system,
    query_scores.query_id,
    query_scores.group_id
