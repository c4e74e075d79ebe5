-- Grain: one row per judge that was measured, best first: its figures against the curated grades per level and over all,
-- what it costs, how often it fails, how steady it is, and what the declared rule says of it. The figure of the worst level
-- is empty where that of any level is undefined: nothing says that the undefined one is not the worst.
-- Inputs: judge_choice, calibration_systems, judge_agreement.
WITH kappa AS (
    SELECT
        system,
        max(value) FILTER (WHERE level = 'all' AND scale = 'graded') AS kappa_all,
        max(value) FILTER (WHERE level = 'all' AND scale = 'binary') AS kappa_all_binary,
        CASE
            WHEN bool_and(value IS NOT NULL) FILTER (WHERE level <> 'all' AND scale = 'graded')
                THEN min(value) FILTER (WHERE level <> 'all' AND scale = 'graded')
        END AS kappa_worst_level
    FROM judge_agreement
    WHERE raters = 'judge_vs_curated' AND statistic = 'kappa'
    GROUP BY system
)
SELECT
    judge_choice.rank,
    judge_choice.system,
    judge_choice.model,
    judge_choice.effort,
    judge_choice.guideline,
    judge_choice.quality,
    judge_choice.quality_low,
    judge_choice.quality_high,
    kappa.kappa_all,
    kappa.kappa_all_binary,
    kappa.kappa_worst_level,
    judge_choice.price_per_1000,
    calibration_systems.pairs,
    calibration_systems.failure_share,
    calibration_systems.repeat_share,
    calibration_systems.seconds_median,
    judge_choice.accepted,
    judge_choice.chosen,
    judge_choice.in_use,
    judge_choice.reason
FROM judge_choice
LEFT JOIN calibration_systems ON calibration_systems.system = judge_choice.system
LEFT JOIN kappa ON kappa.system = judge_choice.system
ORDER BY judge_choice.rank
