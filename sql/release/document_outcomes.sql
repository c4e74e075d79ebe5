-- Grain: one row per outcome of reading a document.
-- Inputs: document_status.
SELECT outcome, count(*) AS documents, CAST(sum(pages) AS BIGINT) AS pages
FROM document_status
GROUP BY outcome
ORDER BY documents DESC, outcome
