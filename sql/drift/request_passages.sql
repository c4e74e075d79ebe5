-- Grain: one row per request of the candidates and passage that it asks about.
-- Inputs: candidates, corpus.
SELECT DISTINCT c.request_key AS repeats, c.passage_id, p.document_id, c.group_id
FROM candidates c JOIN corpus p USING (passage_id)
