-- Grain: one row per published passage, ordered so that the passages of a group and document stand together.
-- Inputs: corpus.
SELECT passage_id, text, group_id, document_id, page
FROM corpus
ORDER BY group_id, document_id, page, passage_id
