-- Grain: one row of request_passages that an erasure takes out: of a removed passage (is_removed), or of a request that
-- asked about removed passages and, by its rows, about none that is in the corpus (not is_shared).
-- Of a document that a passage was removed from ($hit) every passage counts that is not in the corpus any more: another
-- cut of its pages may have held the same text under another id.
-- Inputs: request_passages, corpus.
WITH known AS (
    SELECT
        r.request_key,
        r.passage_id,
        c.passage_id IS NOT NULL AS is_present,
        r.group_id IN (SELECT unnest($groups))
            OR r.document_id IN (SELECT unnest($documents))
            OR r.passage_id IN (SELECT unnest($passages))
            OR (c.passage_id IS NULL AND r.document_id IN (SELECT unnest($hit))) AS is_removed
    FROM request_passages r LEFT JOIN (SELECT passage_id FROM corpus) c ON c.passage_id = r.passage_id
), asked AS (
    SELECT request_key, bool_or(is_present AND NOT is_removed) AS is_shared
    FROM known
    GROUP BY request_key
    HAVING bool_or(is_removed)
)
SELECT request_key, passage_id, is_removed, is_shared
FROM known JOIN asked USING (request_key)
WHERE is_removed OR NOT is_shared
ORDER BY ALL
