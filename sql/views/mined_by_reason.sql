-- Grain: one row per level and reason. What BM25 ranked for the training questions, by what keeps it from being a negative
-- (training.mining names the reasons) or available, and how many of them an example in use holds.
-- Inputs: mined_negatives, queries, training_examples.
-- level: subset that is never averaged away
-- reason: why the passage is no negative: relevant, leak, neighbour or repeats; or available
-- pairs: ranked pairs of question and passage
-- in_use: of them, those that a training example in use holds as a negative
WITH held AS (
    SELECT DISTINCT query_id, unnest(negative_ids) AS passage_id FROM training_examples WHERE used
)
SELECT
    queries.level,
    coalesce(mined_negatives.reason, 'available') AS reason,
    count(*) AS pairs,
    count(held.passage_id) AS in_use
FROM mined_negatives
JOIN queries ON queries.query_id = mined_negatives.query_id
LEFT JOIN held ON held.query_id = mined_negatives.query_id AND held.passage_id = mined_negatives.passage_id
GROUP BY ALL
ORDER BY queries.level, pairs DESC, reason
