-- Grain: one row per level and fate of a possible training example.
-- Inputs: training_examples.
SELECT level, CASE WHEN used THEN 'used' ELSE reason END AS fate, count(*) AS examples
FROM training_examples
GROUP BY ALL
ORDER BY level, examples DESC, fate
