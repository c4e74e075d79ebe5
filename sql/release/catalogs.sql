-- Grain: one row per catalog. Groups, documents and passages repeat across rows; queries and judgments do not.
-- Inputs: queries, qrels, corpus.
SELECT
    queries.catalog,
    count(DISTINCT queries.query_id) AS queries,
    count(DISTINCT corpus.group_id) AS groups,
    count(DISTINCT corpus.document_id) AS documents,
    count(DISTINCT qrels.passage_id) AS passages,
    count(qrels.passage_id) AS judgments,
    count(*) FILTER (WHERE qrels.score >= 1) AS positives
FROM queries
LEFT JOIN qrels ON qrels.query_id = queries.query_id
LEFT JOIN corpus ON corpus.passage_id = qrels.passage_id
GROUP BY queries.catalog
ORDER BY queries DESC, queries.catalog
