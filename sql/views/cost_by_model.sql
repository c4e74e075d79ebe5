-- Grain: one row per purpose, model and route. Every answer in the ledger counts, since every answer was paid; an
-- unknown cost is counted apart from a cost of zero and never added, and an estimate by token prices stands beside it.
-- The cached share is that of the prompt tokens the provider named, and empty where it named none.
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
    CAST(coalesce(sum(cost_estimate), 0) AS DECIMAL(18, 9)) AS estimated_cost,
    CAST(coalesce(sum(prompt_tokens), 0) AS BIGINT) AS prompt_tokens,
    CAST(coalesce(sum(cached_tokens), 0) AS BIGINT) AS cached_tokens,
    CAST(coalesce(sum(completion_tokens), 0) AS BIGINT) AS completion_tokens,
    sum(cached_tokens) / nullif(sum(prompt_tokens) FILTER (WHERE cached_tokens IS NOT NULL), 0) AS cached_share,
    1000 * sum(cost) / nullif(count(cost), 0) AS usd_per_1000_known,
    median(seconds) AS median_seconds
FROM judge_calls
GROUP BY purpose, model, provider
ORDER BY known_cost DESC, purpose, model, provider
