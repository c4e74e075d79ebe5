-- Grain: one row per state a sampled group ended in. The rows sum to the sampled groups.
-- Inputs: sampled_projects, project_status.
SELECT coalesce(project_status.state, 'not_processed') AS state, count(*) AS groups
FROM sampled_projects
LEFT JOIN project_status ON project_status.project = sampled_projects.project
GROUP BY ALL
ORDER BY groups DESC, state
