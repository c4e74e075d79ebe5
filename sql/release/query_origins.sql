-- Grain: one row. How many queries were landed, how many of them are published, and how many are judged from a pool, each counted
-- where it lies: a card compares them with its other figures.
-- Inputs: queries, live_questions, manual_queries, generated_questions, pool.
SELECT
    (SELECT count(*) FROM live_questions) AS live_landed,
    (SELECT count(*) FROM queries WHERE query_id IN (SELECT query_id FROM live_questions)) AS live,
    (SELECT count(*) FROM manual_queries) AS manual_landed,
    (SELECT count(*) FROM queries WHERE query_id IN (SELECT query_id FROM manual_queries)) AS manual,
    (
        SELECT count(*) FROM queries
        WHERE query_id IN (SELECT query_id FROM generated_questions WHERE status = 'accepted')
    ) AS generated,
    (SELECT count(DISTINCT query_id) FROM pool) AS pooled
