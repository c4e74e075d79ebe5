-- How many requests there are, and how many still wait for a final answer.
-- Grain: one row.
-- Inputs: candidates, judge_calls; $final lists the statuses that are final.
SELECT
    count(*) AS requests,
    count(*) FILTER (WHERE answered.request_key IS NULL) AS n_open
FROM (SELECT DISTINCT request_key FROM candidates) AS asked
LEFT JOIN (
    SELECT DISTINCT request_key FROM judge_calls WHERE list_contains($final, status)
) AS answered USING (request_key)
