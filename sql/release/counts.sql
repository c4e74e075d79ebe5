-- Grain: one row. Sizes of the collection as it is published.
-- Inputs: corpus, queries, qrels, candidates, sampled_projects, passages.
WITH per_query AS (SELECT query_id, count(*) AS judgments FROM qrels GROUP BY query_id)
SELECT
    (SELECT count(*) FROM corpus) AS passages,
    (SELECT count(DISTINCT group_id) FROM corpus) AS groups,
    (SELECT count(DISTINCT document_id) FROM corpus) AS documents,
    (SELECT count(*) FROM queries) AS queries,
    (SELECT count(*) FROM qrels) AS judgments,
    (SELECT count(*) FROM candidates) AS candidates,
    (SELECT count(DISTINCT request_key) FROM candidates) AS requests,
    (SELECT count(*) FROM sampled_projects) AS sampled_groups,
    (SELECT count(*) FROM passages) AS raw_passages,
    (SELECT count(*) FROM per_query) AS judged_queries,
    (SELECT CAST(median(judgments) AS DOUBLE) FROM per_query) AS median_judgments_per_query,
    (SELECT max(judgments) FROM per_query) AS max_judgments_per_query
