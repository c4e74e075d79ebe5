-- The call that counts for each request: the latest final one, or the latest failure where there is none.
-- Grain: one row per request_key.
-- Inputs: judge_calls; $final lists the statuses that are final.
SELECT
    request_key,
    status,
    finish_reason,
    content
FROM judge_calls
QUALIFY row_number() OVER (
    PARTITION BY request_key
    ORDER BY list_contains($final, status) DESC, sequence DESC
) = 1
ORDER BY request_key
