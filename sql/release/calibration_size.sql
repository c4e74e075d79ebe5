-- Grain: one row. Size of the human-annotated calibration set: pairs, pairs with a curated grade, annotators, and the
-- catalogs of its queries as far as they are known here or in the test collection.
-- Inputs: calibration_pairs, calibration_annotations, queries, test_queries.
SELECT
    (SELECT count(*) FROM calibration_pairs) AS pairs,
    (SELECT count(*) FROM calibration_pairs WHERE curated_grade IS NOT NULL) AS curated,
    (SELECT count(DISTINCT annotator) FROM calibration_annotations WHERE grade IS NOT NULL) AS annotators,
    (
        SELECT count(DISTINCT coalesce(queries.catalog, test_queries.catalog))
        FROM calibration_pairs
        LEFT JOIN queries ON queries.query_id = calibration_pairs.query_id
        LEFT JOIN test_queries ON test_queries.query_id = calibration_pairs.query_id
    ) AS catalogs
