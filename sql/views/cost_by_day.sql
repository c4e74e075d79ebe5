-- Grain: one row per day (UTC), purpose, model and route. HTTP calls, money and tokens of every answer in the ledger; an
-- unknown cost is counted apart from a cost of zero and never added, and an estimate by token prices stands beside it. The
-- cached share is that of the prompt tokens the provider named, and empty where it named none.
-- Inputs: judge_calls.
-- day: day the answer came, UTC
-- purpose: what was asked for: judge, calibration, drift or area_summary
-- model: model asked
-- provider: route that answered; empty where no answer named one
-- calls: HTTP attempts behind the answers
-- answers: answers in the ledger, failed ones included
-- known_cost: USD of the answers whose cost is known
-- unknown_costs: answers whose cost is unknown, none of them in known_cost
-- estimated_cost: USD by token prices, of answers whose gateway named no cost; never in known_cost
-- prompt_tokens: tokens in
-- completion_tokens: tokens out
-- cached_tokens: tokens read from the provider's prompt cache
-- cached_share: cached of the prompt tokens where the provider named both, 0 to 1, to 4 digits; empty where it named none
SELECT
    CAST(called_at AS DATE) AS day,
    purpose,
    model,
    provider,
    CAST(sum(attempts) AS BIGINT) AS calls,
    count(*) AS answers,
    CAST(coalesce(sum(cost), 0) AS DECIMAL(18, 9)) AS known_cost,
    count(*) - count(cost) AS unknown_costs,
    CAST(coalesce(sum(cost_estimate), 0) AS DECIMAL(18, 9)) AS estimated_cost,
    CAST(coalesce(sum(prompt_tokens), 0) AS BIGINT) AS prompt_tokens,
    CAST(coalesce(sum(completion_tokens), 0) AS BIGINT) AS completion_tokens,
    CAST(coalesce(sum(cached_tokens), 0) AS BIGINT) AS cached_tokens,
    round(sum(cached_tokens) / nullif(sum(prompt_tokens) FILTER (WHERE cached_tokens IS NOT NULL), 0), 4) AS cached_share
FROM judge_calls
GROUP BY ALL
ORDER BY day, purpose, model, provider
