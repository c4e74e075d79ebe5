-- The number of candidates the exhaustive rule gives, worked out per group without pairing anything.
-- Grain: one row.
-- Inputs: corpus, project_queries, queries, candidates.
SELECT
    (SELECT count(*) FROM candidates) AS candidates,
    (
        SELECT coalesce(sum(p.passages * q.queries), 0)
        FROM (SELECT group_id, count(*) AS passages FROM corpus GROUP BY group_id) AS p
        JOIN (
            SELECT group_id, count(*) AS queries FROM project_queries SEMI JOIN queries USING (query_id) GROUP BY group_id
        ) AS q USING (group_id)
    ) AS expected
