-- Rows of judgments against the sum of the fan-out of the requests that have a call.
-- Grain: one row.
-- Inputs: candidates, judge_calls, judgments.
SELECT
    (SELECT count(*) FROM judgments) AS judged,
    (SELECT count(*) FROM candidates SEMI JOIN judge_calls USING (request_key)) AS expected,
    (SELECT count(*) FROM judgments ANTI JOIN candidates USING (query_id, passage_id, request_key)) AS strays
