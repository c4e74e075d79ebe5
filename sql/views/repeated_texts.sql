-- Grain: one row per text of the corpus that stands, equal or similar, in at least two groups, the most frequent first:
-- groups that hold the text itself, groups that hold a similar one, and whether the test collection has either.
-- Inputs: passage_texts, similar_texts.
-- text_id: hash of the normalised text
-- example: one passage of this text, the lowest id
-- passages: passages of this text
-- groups: groups that hold the text itself
-- groups_with_similar: groups that hold it or a similar one
-- in_test_collection: whether the test collection has the text or a similar one
WITH pairs AS (
    SELECT text_id, other_id FROM similar_texts
    UNION ALL
    SELECT other_id, text_id FROM similar_texts
    UNION ALL
    SELECT DISTINCT text_id, text_id FROM passage_texts
)
SELECT
    pairs.text_id,
    min(passage_texts.passage_id) FILTER (WHERE passage_texts.text_id = pairs.text_id) AS example,
    count(*) FILTER (WHERE passage_texts.text_id = pairs.text_id) AS passages,
    count(DISTINCT (passage_texts.source, passage_texts.group_id)) FILTER (
        WHERE passage_texts.text_id = pairs.text_id
    ) AS groups,
    count(DISTINCT (passage_texts.source, passage_texts.group_id)) AS groups_with_similar,
    bool_or(passage_texts.source = 'test') AS in_test_collection
FROM pairs
JOIN passage_texts ON passage_texts.text_id = pairs.other_id
GROUP BY pairs.text_id
HAVING count(DISTINCT (passage_texts.source, passage_texts.group_id)) > 1
ORDER BY groups_with_similar DESC, groups DESC, pairs.text_id
