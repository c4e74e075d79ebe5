-- Grain: one row per split and kind of document, of the acts in the corpus. Acts and passages sum to those of the splits.
-- Inputs: corpus, sampled_projects, acts, splits.
WITH kept AS (
    SELECT group_id, count(*) AS passages FROM corpus GROUP BY group_id
),
kinds AS (
    SELECT sampled_projects.group_id, any_value(acts.kind) AS kind
    FROM sampled_projects
    JOIN acts ON acts.project = sampled_projects.project AND acts.outcome = 'kept'
    GROUP BY sampled_projects.group_id
)
SELECT
    splits.split,
    coalesce(kinds.kind, '-') AS kind,
    count(*) AS groups,
    CAST(sum(kept.passages) AS BIGINT) AS passages
FROM kept
JOIN splits ON splits.group_id = kept.group_id
LEFT JOIN kinds ON kinds.group_id = kept.group_id
GROUP BY splits.split, coalesce(kinds.kind, '-')
ORDER BY splits.split, groups DESC, kind
