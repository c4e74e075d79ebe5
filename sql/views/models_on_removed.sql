-- Grain: one row per model whose kept weights were trained on passages that are removed since, or chosen by them. Empty
-- once every such model is trained again.
-- Inputs: trained_passages, erased_ids.
-- model: fine-tuned model
-- weights_sha256: SHA-256 of the kept weights
-- passages: removed passages that the weights were trained on or chosen by
-- trained_on: of them, those of its training part
-- chosen_by: of them, those that chose between its states (validation)
-- since: when the first of them was erased, UTC
-- entries: entries of the removal list behind them, sorted
WITH named AS (
    SELECT model, weights_sha256, part, passage_id, unnest([passage_id, document_id, group_id]) AS id
    FROM trained_passages
), gone AS (
    SELECT
        named.model,
        named.weights_sha256,
        named.part,
        named.passage_id,
        min(erased_ids.since) AS since,
        list(DISTINCT erased_ids.entry) AS entries
    FROM named JOIN erased_ids ON erased_ids.id = named.id
    GROUP BY ALL
)
SELECT
    model,
    weights_sha256,
    count(*) AS passages,
    count(*) FILTER (WHERE part = 'train') AS trained_on,
    count(*) FILTER (WHERE part <> 'train') AS chosen_by,
    min(since) AS since,
    list_sort(list_distinct(flatten(list(entries)))) AS entries
FROM gone
GROUP BY model, weights_sha256
ORDER BY model, weights_sha256
