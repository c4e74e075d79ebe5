-- What has no business in the pool. Rules: a query with a gold of its own or none at all, places with a gap, a passage that is
-- not in the corpus or of another group, a system that was not declared, a rank below the depth, a removed pair.
-- Grain: one row per rule and pair that breaks it.
-- Inputs: pool, queries, live_attachments, manual_queries, corpus, removals.
WITH pooled AS (
    SELECT query_id FROM live_attachments WHERE route = 'pool'
    UNION
    SELECT query_id FROM manual_queries
)
SELECT 'query_not_pooled' AS rule, query_id, passage_id
FROM pool
WHERE query_id NOT IN (SELECT query_id FROM pooled) OR query_id NOT IN (SELECT query_id FROM queries)
UNION ALL
SELECT 'place_with_a_gap', query_id, passage_id
FROM (SELECT query_id, passage_id, place, row_number() OVER (PARTITION BY query_id ORDER BY place) AS n FROM pool)
WHERE place <> n
UNION ALL
SELECT 'not_in_corpus', pool.query_id, pool.passage_id
FROM pool
LEFT JOIN corpus ON corpus.passage_id = pool.passage_id
WHERE corpus.group_id IS DISTINCT FROM pool.group_id
UNION ALL
SELECT 'undeclared_system', query_id, passage_id
FROM pool
WHERE len(systems) = 0 OR NOT list_has_all($systems, systems)
UNION ALL
SELECT 'below_the_depth', query_id, passage_id FROM pool WHERE best_rank NOT BETWEEN 1 AND $depth
UNION ALL
SELECT 'removed_pair', query_id, passage_id
FROM pool
WHERE query_id || '/' || passage_id IN (SELECT trim(id) FROM removals WHERE kind = 'pair')
ORDER BY rule, query_id, passage_id
