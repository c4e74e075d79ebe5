-- Grain: one row per fine-tuned model, group, level and measure: the model beside its base.
-- Inputs: trained_models, group_scores.
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
