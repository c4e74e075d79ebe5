-- Grain: one row per reason and rule version. Passages dropped, their share of all raw passages, the projects they came
-- from and one of them.
-- Inputs: passage_decisions.
-- reason: of the filters (too_short, ..., near_duplicate), restricted_project or masking_failed
-- rule_version: version of the rule
-- passages: passages dropped
-- share: of all raw passages, 0 to 1, to 4 digits
-- projects: projects they came from
-- lowest_figure: lowest of the measured figures behind the reason: length in characters, share or similarity
-- highest_figure: highest of them
-- example: one of the passages, the lowest id
SELECT
    reason,
    rule_version,
    count(*) AS passages,
    round(count(*) / (SELECT count(*) FROM passage_decisions), 4) AS share,
    count(DISTINCT project) AS projects,
    min(figure) AS lowest_figure,
    max(figure) AS highest_figure,
    min(passage_id) AS example
FROM passage_decisions
WHERE NOT kept
GROUP BY reason, rule_version
ORDER BY passages DESC, reason
