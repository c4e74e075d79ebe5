-- Grain: one row per positive of a training group that is not trained on, the answer to why: the reason, the negatives
-- found for it, and what held-out passage it repeats or which other positive has its text.
-- Inputs: training_examples, leakage, passage_texts.
-- query_id: query
-- level: subset of the query
-- group_id: training group
-- positive_id: passage of grade 2
-- reason: leak, repeat, too_few_negatives, balance or cap
-- negatives_found: negatives found for it
-- cause: of a leak the held-out passage it repeats most closely, of a repeat the positive that stands for it; else empty
-- cause_set: of a leak the set of that passage, validation or test
-- similarity: of a leak the Jaccard similarity to that passage; 1 where the normalised texts are equal
WITH texts AS (
    SELECT passage_id, text_id FROM passage_texts WHERE source = 'corpus'
), repeated AS (
    SELECT left_out.query_id, left_out.positive_id, min(kept.positive_id) AS instead
    FROM training_examples AS left_out
    JOIN texts ON texts.passage_id = left_out.positive_id
    JOIN texts AS same ON same.text_id = texts.text_id
    JOIN training_examples AS kept
        ON kept.positive_id = same.passage_id
        AND kept.query_id = left_out.query_id
        AND kept.group_id = left_out.group_id
        AND kept.reason IS DISTINCT FROM 'repeat'
        AND kept.reason IS DISTINCT FROM 'leak'
    WHERE left_out.reason = 'repeat'
    GROUP BY left_out.query_id, left_out.positive_id
), leaks AS (
    SELECT passage_id, first(cause ORDER BY similarity DESC, cause_set, cause) AS cause,
        first(cause_set ORDER BY similarity DESC, cause_set, cause) AS cause_set, max(similarity) AS similarity
    FROM leakage
    GROUP BY passage_id
)
SELECT
    training_examples.query_id,
    training_examples.level,
    training_examples.group_id,
    training_examples.positive_id,
    training_examples.reason,
    len(training_examples.negative_ids) AS negatives_found,
    coalesce(leaks.cause, repeated.instead) AS cause,
    leaks.cause_set,
    leaks.similarity
FROM training_examples
LEFT JOIN leaks ON leaks.passage_id = training_examples.positive_id AND training_examples.reason = 'leak'
LEFT JOIN repeated
    ON repeated.query_id = training_examples.query_id AND repeated.positive_id = training_examples.positive_id
WHERE NOT training_examples.used
ORDER BY training_examples.level, training_examples.reason, training_examples.query_id, training_examples.positive_id
