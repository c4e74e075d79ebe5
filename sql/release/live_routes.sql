-- Grain: one row per source of attachment and route of the live questions. The rows sum to the questions collected. Named are
-- those that name a clause, verified those of them whose act holds one of these clauses.
-- Inputs: live_attachments.
SELECT
    how,
    route,
    count(*) AS questions,
    count(*) FILTER (len(clauses) > 0) AS named,
    count(*) FILTER (verified) AS verified,
    count(DISTINCT project) AS acts
FROM live_attachments
GROUP BY how, route
ORDER BY how, route
