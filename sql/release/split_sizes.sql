-- Grain: one row per split and level, zeros included. Groups with a judged query of the level, those of them with a
-- relevant passage (only they are validated on), and the same for query and group pairs; judgments and relevant ones.
-- Inputs: split_sizes.
SELECT split, level, groups, groups_with_relevant, queries, queries_with_relevant, judgments, relevant
FROM split_sizes
ORDER BY split, level
