-- Grain: one row per fine-tuned model, group, level and measure: the model beside its base.
-- Inputs: trained_models, group_scores.
-- model: fine-tuned model, as the collection's specification names it
-- group_id: group of the test collection
-- level: subset, or all
-- measure: measure, with its cutoff
-- queries: queries of the group with a relevant passage
-- base: mean of the measure over those queries, of the base model
-- tuned: the same, of the fine-tuned model
-- difference: tuned less base; above 0 the fine-tuned model is better
SELECT
    trained_models.model,
    tuned.group_id,
    tuned.level,
    tuned.measure,
    tuned.queries,
    base.value AS base,
    tuned.value AS tuned,
    tuned.value - base.value AS difference
FROM trained_models
JOIN group_scores AS tuned ON tuned.system = trained_models.model || '_tuned'
JOIN group_scores AS base
    ON base.system = trained_models.model || '_base'
    AND base.group_id = tuned.group_id
    AND base.level = tuned.level
    AND base.measure = tuned.measure
ORDER BY trained_models.model, tuned.measure, tuned.level, difference DESC, tuned.group_id
