-- Grain: one row per passage of a training example that has no business there, of a collection that mines its negatives from
-- all training groups; a release needs this to be empty. Rules: a passage of a held-out group, a positive of another group
-- than its example's, a negative that was not mined or is kept out, and one that some grade calls relevant.
-- Inputs: corpus, splits, qrels, training_examples, mined_negatives.
WITH positives AS (
    SELECT query_id, group_id, positive_id AS passage_id FROM training_examples WHERE used
), negatives AS (
    SELECT query_id, unnest(negative_ids) AS passage_id FROM training_examples WHERE used
), members AS (
    SELECT passage_id FROM positives UNION SELECT passage_id FROM negatives
)
SELECT 'held_out_passage_in_training' AS rule, members.passage_id AS id
FROM members
LEFT JOIN corpus ON corpus.passage_id = members.passage_id
WHERE corpus.group_id IS NULL OR corpus.group_id NOT IN (SELECT group_id FROM splits WHERE split = 'train')
UNION
SELECT 'passage_of_another_group_in_training', positives.passage_id
FROM positives JOIN corpus ON corpus.passage_id = positives.passage_id
WHERE corpus.group_id <> positives.group_id
UNION
SELECT 'negative_not_mined', negatives.query_id || '/' || negatives.passage_id
FROM negatives
LEFT JOIN mined_negatives
    ON mined_negatives.query_id = negatives.query_id
    AND mined_negatives.passage_id = negatives.passage_id
    AND mined_negatives.reason IS NULL
WHERE mined_negatives.passage_id IS NULL
UNION
SELECT 'relevant_negative_in_training', negatives.query_id || '/' || negatives.passage_id
FROM negatives
JOIN qrels ON qrels.query_id = negatives.query_id AND qrels.passage_id = negatives.passage_id AND qrels.score > 0
ORDER BY rule, id
