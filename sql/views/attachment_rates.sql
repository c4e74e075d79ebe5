-- Grain: one row per source of an attachment and what decided between acts of one number. A question that names clauses
-- bears its attachment out where one of them stands in the act; the rate is their share.
-- Inputs: live_attachments.
-- how: section (heading the question stands under), topic (its own heading), question (an act it names) or none
-- basis: date, number (there is one only), clauses (chosen by them: its rate says nothing) or latest; empty where there is no act
-- questions: questions attached so
-- acts: acts they were attached to
-- naming_clauses: questions that name clauses of the act, repeats left out
-- verified: those of them of which a named clause stands in the act
-- complete: those of them whose named clauses all stand in it
-- rate: verified of naming_clauses, 0 to 1, to 4 digits
-- example: a question whose clauses were not found, the lowest id
SELECT
    how,
    basis,
    count(*) AS questions,
    count(DISTINCT project) AS acts,
    count(verified) AS naming_clauses,
    count(*) FILTER (WHERE verified) AS verified,
    count(*) FILTER (WHERE verified AND route <> 'dropped') AS complete,
    round(count(*) FILTER (WHERE verified) / nullif(count(verified), 0), 4) AS rate,
    min(query_id) FILTER (WHERE NOT verified) AS example
FROM live_attachments
GROUP BY how, basis
ORDER BY questions DESC, how, basis
