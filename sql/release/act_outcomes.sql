-- Grain: one row per outcome of the acts on the landed list; one that was kept and then taken out on request is removed. The rows
-- sum to the list.
-- Inputs: acts, project_status.
WITH fates AS (
    SELECT
        CASE
            WHEN outcome = 'kept' AND project IN (SELECT project FROM project_status WHERE state = 'removed') THEN 'removed'
            ELSE outcome
        END AS outcome
    FROM acts
)
SELECT outcome, count(*) AS acts
FROM fates
GROUP BY outcome
ORDER BY acts DESC, outcome
