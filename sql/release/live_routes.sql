-- Grain: one row per source of attachment and route of the live questions. The rows sum to the questions collected. Named are
-- those whose clauses bear an attachment out or not, verified those of them whose act holds one of these clauses: a repeat bears
-- out nothing, nor does an act that was chosen by its clauses.
-- Inputs: live_attachments.
SELECT
    how,
    route,
    count(*) AS questions,
    count(verified) FILTER (basis IS DISTINCT FROM 'clauses') AS named,
    count(*) FILTER (verified AND basis IS DISTINCT FROM 'clauses') AS verified
FROM live_attachments
GROUP BY how, route
ORDER BY how, route
