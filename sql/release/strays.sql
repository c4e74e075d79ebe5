-- Grain: one row per published thing that has no business there; a release needs this to be empty. Rules: a passage of
-- a restricted group, a passage that was not kept or was never sampled, a judgment filed under another group than its
-- passage.
-- Inputs: corpus, qrels, sampled_projects, restricted_projects, passage_decisions.
SELECT 'restricted_group' AS rule, corpus.passage_id AS id
FROM corpus
JOIN sampled_projects ON sampled_projects.group_id = corpus.group_id
WHERE sampled_projects.project IN (SELECT project FROM restricted_projects)
UNION
SELECT 'passage_not_kept', corpus.passage_id
FROM corpus LEFT JOIN passage_decisions ON passage_decisions.passage_id = corpus.passage_id
WHERE NOT coalesce(passage_decisions.kept, false)
UNION
SELECT 'group_not_sampled', group_id FROM corpus WHERE group_id NOT IN (SELECT group_id FROM sampled_projects)
UNION
SELECT 'judgment_in_wrong_group', qrels.query_id || '/' || qrels.passage_id
FROM qrels JOIN corpus ON corpus.passage_id = qrels.passage_id
WHERE corpus.group_id <> qrels.group_id
ORDER BY rule, id
