-- Grain: one row per purpose, model and final status of a request. Money and tokens count every answer in the ledger,
-- superseded ones too, since they were paid; the status is that of the latest. An unknown cost is counted, never added;
-- what token prices make of it stands beside it.
-- Inputs: judge_calls.
WITH per_request AS (
    SELECT
        purpose,
        model,
        request_key,
        arg_max(status, sequence) AS status,
        count(*) AS answers,
        sum(attempts) AS attempts,
        sum(cost) AS known_cost,
        count(*) - count(cost) AS unknown_costs,
        sum(cost_estimate) AS estimated_cost,
        sum(prompt_tokens) AS prompt_tokens,
        sum(cached_tokens) AS cached_tokens,
        sum(completion_tokens) AS completion_tokens,
        min(called_at) AS first_at,
        max(called_at) AS last_at
    FROM judge_calls
    GROUP BY purpose, model, request_key
)
SELECT
    purpose,
    model,
    status,
    count(*) AS requests,
    CAST(sum(answers) AS BIGINT) AS answers,
    CAST(sum(attempts) AS BIGINT) AS attempts,
    CAST(coalesce(sum(known_cost), 0) AS DECIMAL(18, 9)) AS known_cost,
    CAST(sum(unknown_costs) AS BIGINT) AS unknown_costs,
    CAST(coalesce(sum(estimated_cost), 0) AS DECIMAL(18, 9)) AS estimated_cost,
    CAST(coalesce(sum(prompt_tokens), 0) AS BIGINT) AS prompt_tokens,
    CAST(coalesce(sum(cached_tokens), 0) AS BIGINT) AS cached_tokens,
    CAST(coalesce(sum(completion_tokens), 0) AS BIGINT) AS completion_tokens,
    min(first_at) AS first_at,
    max(last_at) AS last_at
FROM per_request
GROUP BY purpose, model, status
ORDER BY purpose, model, requests DESC, status
