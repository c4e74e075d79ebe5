-- Grain: one row per judge and level, all levels together among them: how often it gives the curated grade, and how often one
-- that is two steps from it. The sides are told apart, for a generous judge is no careless one.
-- Inputs: judge_agreement.
-- system: system (model, effort, guideline)
-- in_use: whether it judges the collection
-- level: subset, or all
-- pairs: calibration pairs with both grades
-- exact: equal grades
-- exact_share: exact of pairs, 0 to 1, to 4 digits
-- gross: grades two steps apart
-- two_for_zero: of these, 2 by the judge and 0 by the people
-- zero_for_two: of these, 0 by the judge and 2 by the people
-- kappa: Cohen's kappa on the scale 0, 1, 2; empty where undefined
-- kappa_quadratic: the same with quadratic weights
WITH tables AS (
    SELECT
        system,
        in_use,
        level,
        n AS pairs,
        value AS kappa,
        CAST(CAST(confusion AS JSON) AS BIGINT[][]) AS cells
    FROM judge_agreement
    WHERE raters = 'judge_vs_curated' AND scale = 'graded' AND statistic = 'kappa' AND confusion IS NOT NULL
)
SELECT
    tables.system,
    tables.in_use,
    tables.level,
    tables.pairs,
    cells[1][1] + cells[2][2] + cells[3][3] AS exact,
    round((cells[1][1] + cells[2][2] + cells[3][3]) / nullif(tables.pairs, 0), 4) AS exact_share,
    cells[1][3] + cells[3][1] AS gross,
    cells[1][3] AS two_for_zero,
    cells[3][1] AS zero_for_two,
    tables.kappa,
    quadratic.value AS kappa_quadratic
FROM tables
LEFT JOIN judge_agreement AS quadratic
    ON quadratic.system = tables.system
    AND quadratic.level = tables.level
    AND quadratic.raters = 'judge_vs_curated'
    AND quadratic.scale = 'graded'
    AND quadratic.statistic = 'kappa_quadratic'
ORDER BY tables.system, tables.level
