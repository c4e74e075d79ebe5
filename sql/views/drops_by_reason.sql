-- Grain: one row per reason and rule version. Passages dropped, their share of all raw passages, the projects they came
-- from and one of them.
-- Inputs: passage_decisions.
SELECT
    reason,
    rule_version,
    count(*) AS passages,
    count(*) / (SELECT count(*) FROM passage_decisions) AS share,
    count(DISTINCT project) AS projects,
    min(figure) AS lowest_figure,
    max(figure) AS highest_figure,
    min(passage_id) AS example
FROM passage_decisions
WHERE NOT kept
GROUP BY reason, rule_version
ORDER BY passages DESC, reason
