-- Grain: one row per outcome of the acts on the landed list. The rows sum to the list.
-- Inputs: acts.
SELECT outcome, count(*) AS acts, CAST(coalesce(sum(characters), 0) AS BIGINT) AS characters
FROM acts
GROUP BY outcome
ORDER BY acts DESC, outcome
