-- Grain: one row per level and grade; a grade that never occurs is a row with zero.
-- Inputs: queries, qrels.
WITH levels AS (SELECT DISTINCT level FROM queries),
grades AS (SELECT unnest([0, 1, 2]) AS score)
SELECT levels.level, CAST(grades.score AS TINYINT) AS score, count(qrels.query_id) AS judgments
FROM levels CROSS JOIN grades
LEFT JOIN queries ON queries.level = levels.level
LEFT JOIN qrels ON qrels.query_id = queries.query_id AND qrels.score = grades.score
GROUP BY levels.level, grades.score
ORDER BY levels.level, grades.score
