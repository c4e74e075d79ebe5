-- Grain: one row per filter reason and rule version. Passages the filters dropped, and the projects they came from.
-- Inputs: passage_decisions.
SELECT
    reason,
    rule_version,
    count(*) AS passages,
    count(DISTINCT project) AS projects,
    min(figure) AS lowest_figure,
    max(figure) AS highest_figure
FROM passage_decisions
WHERE NOT kept
GROUP BY reason, rule_version
ORDER BY passages DESC, reason
