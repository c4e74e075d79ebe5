-- Grain: one row per purpose, model and route. Every answer in the ledger counts, since every answer was paid; an
-- unknown cost is counted apart from a cost of zero and never added, and an estimate by token prices stands beside it.
-- The cached share is that of the prompt tokens the provider named, and empty where it named none.
-- Inputs: judge_calls.
-- purpose: what was asked for: judge, calibration, drift or area_summary
-- model: model asked
-- provider: route that answered; empty where no answer named one
-- requests: different requests
-- answers: answers in the ledger, failed ones included
-- answered: answers of status answered
-- attempts: HTTP attempts behind the answers
-- known_cost: USD of the answers whose cost is known
-- unknown_costs: answers whose cost is unknown, none of them in known_cost
-- estimated_cost: USD by token prices, of answers whose gateway named no cost; never in known_cost
-- prompt_tokens: tokens in
-- cached_tokens: tokens read from the provider's prompt cache
-- completion_tokens: tokens out
-- cached_share: cached of the prompt tokens where the provider named both, 0 to 1, to 4 digits; empty where it named none
-- usd_per_1000_known: USD per 1,000 answers, of those whose cost is known, to 6 digits; empty where none is
-- median_seconds: median latency of the last attempt, in seconds
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
    round(sum(cached_tokens) / nullif(sum(prompt_tokens) FILTER (WHERE cached_tokens IS NOT NULL), 0), 4) AS cached_share,
    round(1000 * sum(cost) / nullif(count(cost), 0), 6) AS usd_per_1000_known,
    median(seconds) AS median_seconds
FROM judge_calls
GROUP BY purpose, model, provider
ORDER BY known_cost DESC, purpose, model, provider
