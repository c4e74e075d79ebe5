-- Grain: one row per passage, document and project that the corpus, a release or a model's training has: what a removal of
-- it would touch, asked before anything is removed. Column entry is what the removal list takes, in raw names; the id does
-- as well. Releases are those it was published in, which copies and tags of them hold for good.
-- Inputs: corpus, passages, judgments, qrels, training_examples, trained_passages, released_passages.
-- kind: passage, document or project
-- id: its id, as published
-- entry: what the removal list takes, in raw names; empty where the passages are no longer in the warehouse
-- group_id: keyed hash of its project
-- document_id: keyed hash of its document; empty for a project
-- passages: passages of the corpus it has
-- judged_pairs: judged pairs of query and passage over them
-- qrels: qrels over them
-- positives: of the qrels, those of grade 1 or 2
-- training_examples: examples in use that hold one of its passages, as positive or negative
-- models: models trained on its passages or chosen by them, sorted
-- releases: release versions that its passages were published in, sorted
WITH places AS (
    SELECT passage_id, document_id, group_id FROM corpus
    UNION
    SELECT passage_id, document_id, group_id FROM released_passages
    UNION
    SELECT passage_id, document_id, group_id FROM trained_passages
), members AS (
    SELECT 'passage' AS kind, passage_id AS id, passage_id, document_id, group_id FROM places
    UNION ALL
    SELECT 'document', document_id, passage_id, document_id, group_id FROM places
    UNION ALL
    SELECT 'project', group_id, passage_id, NULL, group_id FROM places
), judged AS (
    SELECT passage_id, count(*) AS pairs FROM judgments GROUP BY passage_id
), graded AS (
    SELECT passage_id, count(*) AS qrels, count(*) FILTER (WHERE score >= 1) AS positives FROM qrels GROUP BY passage_id
), held AS (
    SELECT query_id, positive_id, unnest(list_append(negative_ids, positive_id)) AS passage_id
    FROM training_examples
    WHERE used
), sizes AS (
    SELECT
        members.kind,
        members.id,
        any_value(members.group_id) AS group_id,
        any_value(members.document_id) AS document_id,
        any_value(CASE members.kind
            WHEN 'project' THEN passages.project
            WHEN 'document' THEN passages.project || '/' || passages.document
            ELSE passages.project || '/' || passages.document || '/' || passages.page || '/' || passages.position
        END) AS entry,
        count(corpus.passage_id) AS passages,
        CAST(coalesce(sum(judged.pairs), 0) AS BIGINT) AS judged_pairs,
        CAST(coalesce(sum(graded.qrels), 0) AS BIGINT) AS qrels,
        CAST(coalesce(sum(graded.positives), 0) AS BIGINT) AS positives
    FROM members
    LEFT JOIN corpus ON corpus.passage_id = members.passage_id
    LEFT JOIN passages ON passages.passage_id = members.passage_id
    LEFT JOIN judged ON judged.passage_id = members.passage_id
    LEFT JOIN graded ON graded.passage_id = members.passage_id
    GROUP BY members.kind, members.id
), examples AS (
    SELECT members.id, count(DISTINCT (held.query_id, held.positive_id)) AS n
    FROM members JOIN held ON held.passage_id = members.passage_id
    GROUP BY members.id
), models AS (
    SELECT members.id, list_sort(list(DISTINCT trained_passages.model)) AS names
    FROM members JOIN trained_passages ON trained_passages.passage_id = members.passage_id
    GROUP BY members.id
), versions AS (
    SELECT members.id, list_sort(list(DISTINCT released_passages.version)) AS names
    FROM members JOIN released_passages ON released_passages.passage_id = members.passage_id
    GROUP BY members.id
)
SELECT
    sizes.kind,
    sizes.id,
    sizes.entry,
    sizes.group_id,
    sizes.document_id,
    sizes.passages,
    sizes.judged_pairs,
    sizes.qrels,
    sizes.positives,
    coalesce(examples.n, 0) AS training_examples,
    coalesce(models.names, []) AS models,
    coalesce(versions.names, []) AS releases
FROM sizes
LEFT JOIN examples ON examples.id = sizes.id
LEFT JOIN models ON models.id = sizes.id
LEFT JOIN versions ON versions.id = sizes.id
ORDER BY sizes.kind = 'passage', sizes.kind, sizes.judged_pairs DESC, sizes.id
