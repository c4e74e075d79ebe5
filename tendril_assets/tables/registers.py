"""Acts, the clauses of their passages, queries of several registers and where their grades come from. See ``tables``.

A collection has these tables where its specification has ``registers``; of the corpus' part, where it cuts ``clauses``.
"""

from tendril_assets.records import declare

# One line per column reads as a table; the formatter would spread each declaration over twice the lines.
# fmt: off

ACTS = (
    declare("acts", "landing", "Every act of the landed list and what became of it; those that are kept are the projects.",
            "place", """
        place INTEGER row of the landed list, from 1
        project VARCHAR? key of the act: number and date of adoption; empty where the list names no such act
        number VARCHAR number as printed
        date DATE? day of adoption; empty where the list has none
        kind VARCHAR? kind of document: Положение, Указание, Инструкция, Методические рекомендации, ...
        title VARCHAR title
        issue VARCHAR? issue of the bulletin it was cut from; empty for an act landed as a text of its own
        outcome VARCHAR kept, amendment, low_cyrillic, not_found, no_date, repeated or empty
        cyrillic_share DOUBLE? share of Cyrillic letters among the letters of its text
        characters BIGINT? length of its text
        message VARCHAR? what was wrong, for outcomes other than kept"""),
    declare("live_questions", "landing", "Questions that people asked, as they were published.", "query_id", """
        query_id VARCHAR id of the question, for ever
        text VARCHAR wording
        section VARCHAR? heading of the page or chapter it stands under
        topic VARCHAR? heading of its own, which often names clauses
        url VARCHAR? page it was taken from"""),
    declare("manual_queries", "landing", "Queries written by hand to the task sheet.", "query_id", """
        query_id VARCHAR id of the query, for ever
        text VARCHAR wording
        project VARCHAR? act it was written for; empty for one written before there was a sheet"""),
    declare("landed_splits", "landing", "Split of each act as the landing folder fixes it.", "project", """
        project VARCHAR act
        split VARCHAR train, dev or a test split"""),
    declare("landed_qrels", "landing", "Pairs published before, which may not vanish.", "query_id passage_id", """
        query_id VARCHAR query
        passage_id VARCHAR passage
        score TINYINT grade as published
        content_check VARCHAR? check of the passage's text as published; empty where it was published without one"""),
)

CLAUSES = (
    declare("passage_clauses", "corpus", "Where each passage stands in its act, and a check of what stands in it.",
            "passage_id", """
        passage_id VARCHAR passage, of the raw ones
        project VARCHAR act
        section VARCHAR heading it stands under; empty before the first one
        clauses VARCHAR[] numbers of the clauses that begin in it, in their order
        continues VARCHAR? number of the clause that its text begins in the middle of; empty where it begins with one
        starts_at BIGINT first character of its text in the act, from 0, overlap included, heading not
        ends_at BIGINT character after its last one
        tokens INTEGER tokens, heading included
        content_check VARCHAR first 16 hex digits of the SHA-256 of its text in normal form"""),
)

REGISTERS = (
    declare("live_attachments", "queries", "What each live question was attached to, and the route its grades take.",
            "query_id", """
        query_id VARCHAR question
        project VARCHAR? act it was attached to; empty where it names none of ours
        group_id VARCHAR? group of that act
        how VARCHAR section (by the heading it stands under), question (by an act it names) or none
        clauses VARCHAR[] clauses it names
        found VARCHAR[] those of them that stand in the act's text
        passages VARCHAR[] gold passages, where its route is clauses
        verified BOOLEAN? whether a clause it names was found in the act; empty where it names none
        route VARCHAR clauses, pool, dropped (a named clause is not in our revision) or none (not attached, or a repeat)
        reason VARCHAR? why its route is dropped or none"""),
    declare("generated_questions", "queries", "Each question a model was asked for, and what the filters made of it.",
            "question_set passage_id", """
        question_set VARCHAR set of the specification
        passage_id VARCHAR passage it was written from
        group_id VARCHAR group of the passage
        split VARCHAR split of the group
        level VARCHAR register
        model VARCHAR model that was asked
        family VARCHAR family of that model
        request_key VARCHAR request
        status VARCHAR accepted, the filter that rejected it, or the failure of the call
        figure DOUBLE? what that filter measured: words, mean idf, rank, share of Latin letters
        evidence VARCHAR? words of the question that it rejected it for
        query_id VARCHAR? id of the question; empty where there is none
        text VARCHAR? the question"""),
)

POOL = (
    declare("pool", "judging", "Passages that the pooled queries are judged on, in the order in which they are shown.",
            "query_id passage_id", """
        query_id VARCHAR query
        passage_id VARCHAR passage
        group_id VARCHAR group of the passage
        place INTEGER place in the shuffled order, from 1; says nothing of its rank
        systems VARCHAR[] systems that ranked it within the depth; never shown to whoever grades
        best_rank INTEGER best rank among them"""),
)

EVIDENCE = (
    declare("qrel_evidence", "qrels", "Where each grade comes from.", "query_id passage_id", """
        query_id VARCHAR query
        passage_id VARCHAR passage
        route VARCHAR judge, clauses, generated, neighbour or published
        evidence VARCHAR what it rests on: the clause, the passage it neighbours with the share, the request key
        content_check VARCHAR check of the passage's text when it was graded"""),
)

PUBLISHED = (
    declare("published_pairs", "release", "Every pair that a release or the landing folder ever published.",
            "query_id passage_id", """
        query_id VARCHAR query
        passage_id VARCHAR passage
        score TINYINT grade as last published
        content_check VARCHAR? check of the passage's text as last published
        version VARCHAR version that published it first; landed for one of the landing folder"""),
)
