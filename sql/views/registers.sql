-- Grain: one row per register that has a query: what was collected for it, what became a query and how it is graded, and how
-- long its queries are.
-- Inputs: queries, project_queries, live_questions, live_attachments, manual_queries, generated_questions, qrels.
-- level: register
-- collected: questions landed, written or asked for
-- in_the_set: queries of the collection
-- attached: of them those that belong to a group
-- by_clauses: those whose named clauses are their gold
-- by_generation: those whose gold is the passage they were written from
-- by_pool: those that are graded from a pool, where anybody grades them
-- dropped: collected questions whose clause our text does not have
-- annotated: queries with a passage of grade 1 or more
-- groups: groups that the queries belong to
-- largest_group: group that most of them belong to; of equal ones the lowest
-- largest_share: its share of the queries, 0 to 1, to 4 digits
-- median_characters: median length of a query, in characters
WITH known AS (
    SELECT
        queries.query_id,
        queries.level,
        length(queries.text) AS characters,
        live_attachments.route,
        live_attachments.query_id IS NOT NULL AS live,
        queries.query_id IN (SELECT query_id FROM manual_queries) AS manual,
        queries.query_id IN (SELECT query_id FROM generated_questions WHERE query_id IS NOT NULL) AS generated,
        queries.query_id IN (SELECT query_id FROM project_queries) AS attached,
        queries.query_id IN (SELECT query_id FROM qrels WHERE score >= 1) AS annotated
    FROM queries
    LEFT JOIN live_attachments USING (query_id)
),
asked AS (
    SELECT level, count(*) AS questions FROM generated_questions GROUP BY level
),
groups AS (
    SELECT level, group_id, count(*) AS queries FROM project_queries GROUP BY level, group_id
),
largest AS (
    SELECT DISTINCT ON (level) level, group_id, queries, count(*) OVER (PARTITION BY level) AS groups
    FROM groups
    ORDER BY level, queries DESC, group_id
)
SELECT
    known.level,
    (CASE WHEN bool_or(known.live) THEN (SELECT count(*) FROM live_questions) ELSE 0 END
        + CASE WHEN bool_or(known.manual) THEN (SELECT count(*) FROM manual_queries) ELSE 0 END
        + coalesce(any_value(asked.questions), 0)) AS collected,
    count(*) AS in_the_set,
    count(*) FILTER (WHERE known.attached) AS attached,
    count(*) FILTER (WHERE known.route = 'clauses') AS by_clauses,
    count(*) FILTER (WHERE known.generated) AS by_generation,
    count(*) FILTER (WHERE NOT known.generated AND known.route IS DISTINCT FROM 'clauses') AS by_pool,
    CASE WHEN bool_or(known.live) THEN (SELECT count(*) FROM live_attachments WHERE route = 'dropped') ELSE 0 END AS dropped,
    count(*) FILTER (WHERE known.annotated) AS annotated,
    coalesce(any_value(largest.groups), 0) AS groups,
    any_value(largest.group_id) AS largest_group,
    round(any_value(largest.queries) / count(*), 4) AS largest_share,
    median(known.characters) AS median_characters
FROM known
LEFT JOIN asked USING (level)
LEFT JOIN largest USING (level)
GROUP BY known.level
ORDER BY known.level
