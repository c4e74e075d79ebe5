-- Grain: one row per query and group with a judgment that the query was not selected for, of a collection that judges the
-- passages of a group against the group's queries; a release needs this to be empty.
-- Inputs: qrels, project_queries.
SELECT DISTINCT 'query_not_selected_for_group' AS rule, qrels.query_id || '/' || qrels.group_id AS id
FROM qrels
LEFT JOIN project_queries ON project_queries.query_id = qrels.query_id AND project_queries.group_id = qrels.group_id
WHERE project_queries.query_id IS NULL
ORDER BY rule, id
