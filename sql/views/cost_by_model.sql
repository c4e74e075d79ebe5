-- Grain: one row per purpose, model and route. Every answer in the ledger counts, since every answer was paid; an
-- unknown cost is counted apart from a cost of zero.
-- Inputs: judge_calls.
SELECT
    purpose,
    model,
    provider,
    count(DISTINCT request_key) AS requests,
    count(*) AS answers,
    count(*) FILTER (WHERE status = 'answered') AS answered,
    CAST(sum(attempts) AS BIGINT) AS attempts,
    CAST(coalesce(sum(cost), 0) AS DECIMAL(18, 9)) AS known_cost,
    count(*) - count(cost) AS unknown_costs,
    CAST(coalesce(sum(prompt_tokens), 0) AS BIGINT) AS prompt_tokens,
    CAST(coalesce(sum(cached_tokens), 0) AS BIGINT) AS cached_tokens,
    CAST(coalesce(sum(completion_tokens), 0) AS BIGINT) AS completion_tokens,
    median(seconds) AS median_seconds
FROM judge_calls
GROUP BY purpose, model, provider
ORDER BY known_cost DESC, purpose, model, provider
