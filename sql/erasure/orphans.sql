-- Grain: one row per request of candidates that asked about no passage of the present corpus. Stands in for the rows of
-- request_passages in a warehouse that has none yet.
-- Inputs: candidates, corpus.
SELECT request_key
FROM candidates c LEFT JOIN (SELECT passage_id AS present FROM corpus) p ON p.present = c.passage_id
GROUP BY request_key
HAVING bool_and(present IS NULL)
ORDER BY request_key
