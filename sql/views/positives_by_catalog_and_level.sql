-- Grain: one row per catalog and level. Judgments, and how many of them are relevant (grade 1 or 2). Groups, documents and
-- passages repeat across rows; queries and judgments do not.
-- Inputs: queries, qrels, corpus.
-- catalog: catalog of the queries
-- level: subset that is never averaged away: area_of_action or criterion
-- queries: queries with a judgment
-- groups: groups judged, counted once per row
-- documents: documents judged, counted once per row
-- passages: passages judged, counted once per row
-- judgments: judged pairs of query and passage
-- positives: judgments of grade 1 or 2
-- fully_relevant: judgments of grade 2
-- positive_share: positives of judgments, 0 to 1, to 4 digits
SELECT
    queries.catalog,
    queries.level,
    count(DISTINCT qrels.query_id) AS queries,
    count(DISTINCT qrels.group_id) AS groups,
    count(DISTINCT corpus.document_id) AS documents,
    count(DISTINCT qrels.passage_id) AS passages,
    count(*) AS judgments,
    count(*) FILTER (WHERE qrels.score >= 1) AS positives,
    count(*) FILTER (WHERE qrels.score = 2) AS fully_relevant,
    round(count(*) FILTER (WHERE qrels.score >= 1) / count(*), 4) AS positive_share
FROM qrels
JOIN queries ON queries.query_id = qrels.query_id
LEFT JOIN corpus ON corpus.passage_id = qrels.passage_id
GROUP BY queries.catalog, queries.level
ORDER BY positives DESC, queries.catalog, queries.level
