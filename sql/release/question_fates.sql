-- Grain: one row per set of generated questions and what became of them: accepted, rejected by a filter, or a failed call.
-- The rows of a set sum to the passages that were asked about.
-- Inputs: generated_questions.
SELECT question_set, split, level, model, family, status, count(*) AS questions
FROM generated_questions
GROUP BY question_set, split, level, model, family, status
ORDER BY question_set, questions DESC, status
