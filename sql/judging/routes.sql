-- Routes that answered the requests of the candidates, the busiest first.
-- Grain: one row per model that answered and provider; empty where the gateway did not name them.
-- Inputs: candidates, judge_calls.
SELECT
    answered_model,
    provider,
    count(*) AS replies
FROM judge_calls
SEMI JOIN candidates USING (request_key)
WHERE status = 'answered'
GROUP BY ALL
ORDER BY replies DESC, answered_model, provider
