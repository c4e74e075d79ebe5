-- Grain: one row per passage of another group in a training example, of a collection that takes negatives from the group of
-- the positive; a release needs this to be empty.
-- Inputs: corpus, training_examples.
WITH trained AS (
    SELECT group_id, unnest(list_append(negative_ids, positive_id)) AS passage_id
    FROM training_examples
    WHERE used
)
SELECT DISTINCT 'passage_of_another_group_in_training' AS rule, trained.passage_id AS id
FROM trained
LEFT JOIN corpus ON corpus.passage_id = trained.passage_id
WHERE corpus.group_id IS DISTINCT FROM trained.group_id
ORDER BY rule, id
