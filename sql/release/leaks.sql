-- Grain: one row per breach of a split; a release needs this to be empty. Rules: a group in two splits, a judged
-- group without a split, an example of a held-out group or with a passage of one, a passage that repeats held-out text in
-- training, and a group of the external test collection in the corpus.
-- Inputs: splits, qrels, corpus, leakage, training_examples, sampled_projects, test_projects, test_corpus.
WITH trained AS (
    SELECT query_id, group_id, positive_id, unnest(list_append(negative_ids, positive_id)) AS passage_id
    FROM training_examples
    WHERE used
)
SELECT 'group_in_two_splits' AS rule, group_id AS id FROM splits GROUP BY group_id HAVING count(DISTINCT split) > 1
UNION
SELECT 'group_without_split', group_id FROM qrels WHERE group_id NOT IN (SELECT group_id FROM splits)
UNION
SELECT 'held_out_group_in_training', group_id FROM trained
WHERE group_id NOT IN (SELECT group_id FROM splits WHERE split = 'train')
UNION
SELECT 'held_out_passage_in_training', trained.passage_id
FROM trained LEFT JOIN corpus ON corpus.passage_id = trained.passage_id
WHERE corpus.group_id IS NULL OR corpus.group_id NOT IN (SELECT group_id FROM splits WHERE split = 'train')
UNION
SELECT 'leaked_passage_in_training', passage_id FROM trained WHERE passage_id IN (SELECT passage_id FROM leakage)
UNION
SELECT 'test_group_in_corpus', corpus.group_id
FROM corpus JOIN sampled_projects ON sampled_projects.group_id = corpus.group_id
WHERE sampled_projects.project IN (SELECT project FROM test_projects)
UNION
SELECT 'test_group_in_corpus', group_id FROM corpus WHERE group_id IN (SELECT project FROM test_projects)
UNION
SELECT 'test_group_in_corpus', group_id FROM corpus WHERE group_id IN (SELECT group_id FROM test_corpus)
ORDER BY rule, id
