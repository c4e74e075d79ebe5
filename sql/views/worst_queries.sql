-- Grain: one row per system, query and group, the hardest first: nDCG@10 from the lowest, with the query's wording.
-- Inputs: query_scores, test_queries.
SELECT
    query_scores.system,
    query_scores.query_id,
    query_scores.group_id,
    query_scores.level,
    query_scores.value AS ndcg_at_10,
    query_scores.relevant,
    test_queries.catalog,
    test_queries.text
FROM query_scores
LEFT JOIN test_queries ON test_queries.query_id = query_scores.query_id
WHERE query_scores.measure = 'ndcg@10'
ORDER BY query_scores.value, query_scores.relevant DESC, query_scores.system, query_scores.query_id
