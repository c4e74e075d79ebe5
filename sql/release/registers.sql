-- Grain: one row per part of the judgments and register. Annotated queries have a judgment, answered ones a relevant passage.
-- The dominant group is the one that most annotated queries belong to, of equal ones the lowest. A query of a group without a
-- split is of no part. Queries sum to those published.
-- Inputs: queries, project_queries, splits, qrels, generated_questions.
WITH home AS (
    SELECT
        project_queries.query_id,
        min(project_queries.group_id) AS group_id,
        arg_min(coalesce(splits.split, '-'), project_queries.group_id) AS split
    FROM project_queries
    LEFT JOIN splits ON splits.group_id = project_queries.group_id
    GROUP BY project_queries.query_id
),
graded AS (
    SELECT query_id, count(*) AS judgments, count(*) FILTER (score >= 1) AS relevant FROM qrels GROUP BY query_id
),
each AS (
    SELECT
        queries.query_id,
        queries.level,
        CASE coalesce(home.split, 'test')
            WHEN 'train' THEN 'train'
            WHEN 'validation' THEN 'dev'
            WHEN '-' THEN '-'
            ELSE 'test'
        END AS part,
        home.group_id,
        length(queries.text) AS characters,
        graded.judgments,
        graded.relevant,
        queries.query_id IN (SELECT query_id FROM generated_questions WHERE query_id IS NOT NULL) AS generated
    FROM queries
    LEFT JOIN home ON home.query_id = queries.query_id
    LEFT JOIN graded ON graded.query_id = queries.query_id
),
per_group AS (
    SELECT part, level, group_id, count(*) AS queries
    FROM each
    WHERE judgments IS NOT NULL AND group_id IS NOT NULL
    GROUP BY part, level, group_id
),
dominant AS (
    SELECT DISTINCT ON (part, level) part, level, group_id, queries
    FROM per_group
    ORDER BY part, level, queries DESC, group_id
)
SELECT
    each.part,
    each.level,
    count(*) AS queries,
    count(each.judgments) AS annotated,
    count(*) FILTER (each.relevant > 0) AS answered,
    CAST(coalesce(sum(each.judgments), 0) AS BIGINT) AS judgments,
    CAST(coalesce(sum(each.relevant), 0) AS BIGINT) AS relevant,
    count(*) FILTER (each.generated) AS generated,
    count(DISTINCT each.group_id) FILTER (each.judgments IS NOT NULL) AS groups,
    CAST(median(each.characters) AS DOUBLE) AS median_characters,
    any_value(dominant.group_id) AS dominant_group,
    any_value(dominant.queries) AS dominant_queries
FROM each
LEFT JOIN dominant ON dominant.part = each.part AND dominant.level = each.level
GROUP BY each.part, each.level
ORDER BY each.part, each.level
