-- Grain: one row per entity label masked in the corpus.
-- Inputs: anonymized_entities.
SELECT label, CAST(sum(entities) AS BIGINT) AS entities, count(DISTINCT (project, document)) AS documents
FROM anonymized_entities
GROUP BY label
HAVING sum(entities) > 0
ORDER BY entities DESC, label
