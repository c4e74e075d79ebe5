-- Grain: one row per published id that the removal list names; a release needs this to be empty. Raw names are
-- resolved through the sample, published ones are matched as they are; copies of removed passages count too.
-- Inputs: removals, removed_passages, sampled_projects, sampled_documents, corpus, qrels.
WITH removed_groups AS (
    SELECT id AS group_id FROM removals WHERE kind IN ('project', 'act')
    UNION
    SELECT sampled_projects.group_id
    FROM removals JOIN sampled_projects ON sampled_projects.project = removals.id
    WHERE removals.kind IN ('project', 'act')
),
removed_documents AS (
    SELECT id AS document_id FROM removals WHERE kind = 'document'
    UNION
    SELECT sampled_documents.document_id
    FROM removals
    JOIN sampled_documents ON sampled_documents.project || '/' || sampled_documents.document = removals.id
    WHERE removals.kind = 'document'
),
gone_passages AS (
    SELECT id AS passage_id FROM removals WHERE kind = 'passage'
    UNION
    SELECT passage_id FROM removed_passages WHERE how <> 'remembered'
)
SELECT 'passage' AS kind, passage_id AS id FROM corpus
WHERE group_id IN (SELECT group_id FROM removed_groups)
    OR document_id IN (SELECT document_id FROM removed_documents)
    OR passage_id IN (SELECT passage_id FROM gone_passages)
UNION ALL
SELECT 'judgment' AS kind, query_id || '/' || passage_id AS id FROM qrels
WHERE group_id IN (SELECT group_id FROM removed_groups)
    OR passage_id IN (SELECT passage_id FROM gone_passages)
    OR query_id || '/' || passage_id IN (SELECT id FROM removals WHERE kind = 'pair')
ORDER BY kind, id
