-- Grain: one row per fate of a raw passage: in the corpus, dropped by a filter, or left out afterwards with its
-- group. The rows sum to the raw passages.
-- Inputs: passages, passage_decisions, restricted_projects, corpus.
WITH restricted AS (SELECT DISTINCT project FROM restricted_projects),
fates AS (
    SELECT
        CASE
            WHEN corpus.passage_id IS NOT NULL THEN 'in_corpus'
            WHEN NOT passage_decisions.kept THEN passage_decisions.reason
            WHEN restricted.project IS NOT NULL THEN 'restricted_project'
            WHEN passage_decisions.kept IS NULL THEN 'undecided'
            ELSE 'left_out'
        END AS fate
    FROM passages
    LEFT JOIN passage_decisions ON passage_decisions.passage_id = passages.passage_id
    LEFT JOIN restricted ON restricted.project = passages.project
    LEFT JOIN corpus ON corpus.passage_id = passages.passage_id
)
SELECT fate, count(*) AS passages
FROM fates
GROUP BY fate
ORDER BY passages DESC, fate
