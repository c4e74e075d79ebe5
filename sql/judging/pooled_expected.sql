-- Candidates against the pairs of the pool: how many there are, how many there should be, and on which pairs they differ.
-- Grain: one row.
-- Inputs: pool, candidates.
SELECT
    (SELECT count(*) FROM candidates) AS candidates,
    (SELECT count(*) FROM pool) AS expected,
    (SELECT count(*) FROM candidates ANTI JOIN pool USING (query_id, passage_id, group_id)) AS strays
