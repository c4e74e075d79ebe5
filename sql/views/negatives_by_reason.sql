-- Grain: one row per level and reason. Judged pairs of the training groups that are no positives, by why they cannot be
-- negatives (training.pools names the reasons) or available, and how many of them an example in use holds.
-- Inputs: qrels, splits, queries, leakage, passage_texts, training_examples.
-- level: subset that is never averaged away: area_of_action or criterion
-- reason: why the pair is no negative: partial, no_positive, leak or contradiction; or available
-- pairs: judged pairs of the training groups, without the positives
-- in_use: of them, those that a training example in use holds as a negative
WITH judged AS (
    SELECT qrels.query_id, qrels.group_id, qrels.passage_id, qrels.score, queries.level, passage_texts.text_id
    FROM qrels
    JOIN splits ON splits.group_id = qrels.group_id AND splits.split = 'train'
    JOIN queries ON queries.query_id = qrels.query_id
    JOIN passage_texts ON passage_texts.passage_id = qrels.passage_id AND passage_texts.source = 'corpus'
), held AS (
    SELECT DISTINCT query_id, unnest(negative_ids) AS passage_id FROM training_examples WHERE used
), reasoned AS (
    SELECT
        judged.level,
        CASE
            WHEN judged.score > 0 THEN 'partial'
            WHEN (judged.query_id, judged.group_id) NOT IN (
                SELECT (query_id, group_id) FROM training_examples WHERE reason IS DISTINCT FROM 'leak'
            )
                THEN 'no_positive'
            WHEN judged.passage_id IN (SELECT passage_id FROM leakage WHERE split = 'train') THEN 'leak'
            WHEN (judged.query_id, judged.text_id) IN (SELECT (query_id, text_id) FROM judged WHERE score > 0)
                THEN 'contradiction'
            ELSE 'available'
        END AS reason,
        held.passage_id IS NOT NULL AS in_use
    FROM judged
    LEFT JOIN held ON held.query_id = judged.query_id AND held.passage_id = judged.passage_id
    WHERE (judged.query_id, judged.passage_id) NOT IN (SELECT (query_id, positive_id) FROM training_examples)
)
SELECT level, reason, count(*) AS pairs, count(*) FILTER (WHERE in_use) AS in_use
FROM reasoned
GROUP BY level, reason
ORDER BY level, pairs DESC, reason
