-- Grain: one row per provider that answered the judge's requests for the present candidates, the busiest first; a request
-- counts where its latest answer is. The provider is empty where the gateway did not name one.
-- Inputs: candidates, judge_calls.
WITH latest AS (
    SELECT judge_calls.request_key, arg_max(coalesce(judge_calls.provider, ''), judge_calls.sequence) AS provider
    FROM judge_calls
    SEMI JOIN candidates ON candidates.request_key = judge_calls.request_key
    GROUP BY judge_calls.request_key
)
SELECT provider, count(*) AS requests
FROM latest
GROUP BY provider
ORDER BY requests DESC, provider
