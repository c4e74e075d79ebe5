-- Grain: one row per catalog of the external test collection that no published query comes from.
-- Inputs: test_queries, queries.
SELECT DISTINCT test_queries.catalog
FROM test_queries
WHERE test_queries.catalog IS NOT NULL AND test_queries.catalog NOT IN (SELECT catalog FROM queries)
ORDER BY test_queries.catalog
