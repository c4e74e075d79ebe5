-- Where the passages of the corpus stand in their documents, with their texts. Positions count raw passages, so two that are one
-- apart stand side by side; of two that a filter parted nobody is a neighbour.
-- Grain: one row per passage_id.
-- Inputs: corpus, passages.
SELECT c.passage_id, c.document_id, p.position, c.text
FROM corpus AS c
JOIN passages AS p ON p.passage_id = c.passage_id
ORDER BY c.document_id, p.position
