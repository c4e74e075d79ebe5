-- Grain: one row per judge that was measured, best first: its figures against the curated grades per level and over all,
-- what it costs, how often it fails, how steady it is, and what the declared rule says of it. The figure of the worst level
-- is empty where that of any level is undefined: nothing says that the undefined one is not the worst.
-- Inputs: judge_choice, calibration_systems, judge_agreement.
-- rank: place by quality, 1 is best
-- system: system (model, effort, guideline)
-- model: model asked
-- effort: reasoning effort sent, or default
-- guideline: guideline
-- quality: the figure the rule ranks by
-- quality_low: lower end of its interval
-- quality_high: upper end of its interval
-- kappa_all: kappa against the curated grades 0, 1 and 2, over all levels; empty where undefined
-- kappa_all_binary: the same, of relevant or not
-- kappa_worst_level: lowest graded kappa of any level; empty where that of any level is undefined
-- price_per_1000: USD per 1,000 requests; empty is unknown
-- pairs: calibration pairs asked in the first run
-- failure_share: failed of those pairs, 0 to 1
-- repeat_share: share of equal grades over every two runs of the same pair, 0 to 1
-- seconds_median: median latency, in seconds
-- accepted: every declared criterion is met; empty where none is declared
-- chosen: picked by the rule
-- in_use: whether it judges the collection
-- reason: why, in words
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
