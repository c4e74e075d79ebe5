-- Grain: one row per system, level and measure: the table of results. A figure is stale, and the column of that name says
-- why, where the weights that were ranked were trained on passages removed since, or chosen by them, or where they are not
-- the ones kept now. View stale_systems says the same per system, for every other table of measures.
-- Inputs: system_scores, trained_models, trained_passages, erased_ids.
-- system: ranked system
-- level: subset, or all
-- measure: measure, with its cutoff
-- value: macro mean over groups
-- low: lower end of the percentile interval, by default of 95 %; empty with one group
-- high: upper end of it
-- groups: groups in the mean
-- queries: query and group pairs counted in
-- excluded: query and group pairs left out, without a relevant passage
-- excluded_groups: groups left out, for none of their judged queries has a relevant passage
-- weights: what was ranked, as in ranked_systems
-- test_hash: test collection, as in ranked_systems
-- stale: why the figure no longer holds, in words; empty where it does
WITH named AS (
    SELECT weights_sha256, passage_id, part, unnest([passage_id, document_id, group_id]) AS id FROM trained_passages
), ranked AS (
    SELECT DISTINCT system, weights FROM system_scores
), gone AS (
    SELECT
        named.weights_sha256,
        count(DISTINCT named.passage_id) FILTER (WHERE named.part = 'train') AS trained_on,
        count(DISTINCT named.passage_id) FILTER (WHERE named.part <> 'train') AS chosen_by,
        min(erased_ids.since) AS since
    FROM named JOIN erased_ids ON erased_ids.id = named.id
    GROUP BY named.weights_sha256
), single AS (
    -- A fine-tuned system, or any other whose very weights were trained on what is gone.
    SELECT DISTINCT
        ranked.weights,
        CASE
            WHEN gone.weights_sha256 IS NOT NULL THEN
                concat_ws(
                    ' and ',
                    CASE
                        WHEN gone.trained_on = 1 THEN 'trained on 1 passage'
                        WHEN gone.trained_on > 1 THEN format('trained on {:,} passages', gone.trained_on)
                    END,
                    CASE
                        WHEN gone.chosen_by = 1 THEN 'chosen by 1 passage'
                        WHEN gone.chosen_by > 1 THEN format('chosen by {:,} passages', gone.chosen_by)
                    END
                ) || ' removed since ' || strftime(gone.since, '%Y-%m-%d') || '; train it again'
            ELSE 'ranked with other weights than those kept now; rank it again'
        END AS stale
    FROM ranked
    LEFT JOIN trained_models ON trained_models.model || '_tuned' = ranked.system
    LEFT JOIN gone ON gone.weights_sha256 = ranked.weights
    WHERE gone.weights_sha256 IS NOT NULL OR trained_models.weights_sha256 <> ranked.weights
), stale AS (
    -- What is made of others names the weights of all of them.
    SELECT ranked.system, ranked.weights, string_agg(single.stale, '; ' ORDER BY single.weights) AS stale
    FROM ranked JOIN single ON list_contains(string_split(ranked.weights, ' + '), single.weights)
    GROUP BY ranked.system, ranked.weights
)
SELECT system_scores.*, stale.stale
FROM system_scores
LEFT JOIN stale ON stale.system = system_scores.system AND stale.weights = system_scores.weights
ORDER BY system_scores.measure, system_scores.level <> 'all', system_scores.level, system_scores.value DESC, system_scores.system
