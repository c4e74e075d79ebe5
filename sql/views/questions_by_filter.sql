-- Grain: one row per set of generated questions and outcome: accepted first, then each filter that rejected some in the
-- order in which they are applied, then replies that are no question and what is open.
-- Inputs: generated_questions.
-- question_set: set of the specification
-- split: split its passages belong to
-- level: register its questions belong to
-- outcome: accepted, a filter, what the reply is instead of one question, or open
-- questions: passages asked about with this outcome; the first filter that rejects counts
-- share: their share of all passages the set asked about, 0 to 1
-- by_itself: questions that this filter would reject by itself; empty for outcomes that are no such filter
-- lowest_figure: lowest figure of the filter among those it rejected
-- highest_figure: highest of them
WITH asked AS (
    SELECT question_set, split, level, count(*) AS passages FROM generated_questions GROUP BY ALL
), first_filter AS (
    SELECT
        question_set,
        split,
        level,
        status AS outcome,
        count(*) AS questions,
        min(figure) AS lowest_figure,
        max(figure) AS highest_figure
    FROM generated_questions
    GROUP BY ALL
), any_filter AS (
    SELECT question_set, split, level, outcome, count(*) AS by_itself
    FROM (SELECT question_set, split, level, unnest(rejections) AS outcome FROM generated_questions)
    GROUP BY ALL
)
SELECT
    asked.question_set,
    asked.split,
    asked.level,
    outcome,
    coalesce(first_filter.questions, 0) AS questions,
    coalesce(first_filter.questions, 0) / asked.passages AS share,
    any_filter.by_itself,
    first_filter.lowest_figure,
    first_filter.highest_figure
FROM first_filter
FULL JOIN any_filter USING (question_set, split, level, outcome)
JOIN asked USING (question_set, split, level)
ORDER BY
    asked.question_set,
    coalesce(list_position(
        ['accepted', 'wrong_language', 'verbatim', 'unspecific', 'refers_to_passage', 'repeated', 'teacher'], outcome
    ), 99),
    outcome
