-- Grain: one row per system, register, part and measure: the mean over queries beside the mean over groups, what the row
-- rests on, and the difference from BM25 over queries. Registers are never averaged away: all of them together is a row of
-- its own, which says what it is composed of.
-- Inputs: register_scores, register_comparisons.
-- level: register, or all
-- part: whole, or without_dominant: without the group that most of its queries belong to
-- system: ranked system
-- measure: measure, with its cutoff
-- mean: mean over queries
-- mean_low: lower end of its percentile interval, queries resampled
-- mean_high: upper end of it
-- macro: mean over groups of the means within
-- macro_low: lower end of its percentile interval, groups resampled; empty with one group
-- macro_high: upper end of it
-- queries: queries with a relevant passage
-- groups: groups they belong to
-- excluded: other queries of the register: not judged, or without a relevant passage
-- generated: share of the queries that a language model wrote, 0 to 1
-- dominant: group that most of the queries belong to
-- dominant_share: its share of the queries, 0 to 1
-- difference: mean paired difference from BM25 over queries; empty for BM25 itself and for measures that are no merit
-- difference_low: lower end of its percentile interval
-- difference_high: upper end of it
-- p_holm: two-sided paired bootstrap after Holm over the systems compared
-- p_permutation: two-sided sign-flip test, uncorrected
SELECT
    of_queries.level,
    of_queries.part,
    of_queries.system,
    of_queries.measure,
    of_queries.value AS mean,
    of_queries.low AS mean_low,
    of_queries.high AS mean_high,
    of_groups.value AS macro,
    of_groups.low AS macro_low,
    of_groups.high AS macro_high,
    of_queries.queries,
    of_queries.groups,
    of_queries.excluded,
    of_queries.generated,
    of_queries.dominant,
    of_queries.dominant_share,
    register_comparisons.difference,
    register_comparisons.low AS difference_low,
    register_comparisons.high AS difference_high,
    register_comparisons.p_holm,
    register_comparisons.p_permutation
FROM register_scores AS of_queries
JOIN register_scores AS of_groups
    ON of_groups.system = of_queries.system
    AND of_groups.level = of_queries.level
    AND of_groups.part = of_queries.part
    AND of_groups.measure = of_queries.measure
    AND of_groups.unit = 'group'
LEFT JOIN register_comparisons
    ON register_comparisons.system = of_queries.system
    AND register_comparisons.level = of_queries.level
    AND register_comparisons.part = of_queries.part
    AND register_comparisons.measure = of_queries.measure
    AND register_comparisons.unit = 'query'
WHERE of_queries.unit = 'query'
ORDER BY of_queries.measure, of_queries.level <> 'all', of_queries.level, of_queries.part DESC, of_queries.value DESC,
    of_queries.system
