-- Grain: one row per raw project or document name among the published hashes, of a collection with keyed identifiers; a
-- release needs this to be empty.
-- Inputs: corpus, sampled_projects, sampled_documents.
SELECT 'raw_name' AS rule, group_id AS id FROM corpus WHERE group_id IN (SELECT project FROM sampled_projects)
UNION
SELECT 'raw_name', document_id FROM corpus WHERE document_id IN (SELECT document FROM sampled_documents)
ORDER BY rule, id
