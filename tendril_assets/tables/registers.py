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
        number VARCHAR number, in Cyrillic letters
        date DATE? day of adoption; empty where the list has none
        kind VARCHAR? kind of document: Положение, Указание, Инструкция, Методические рекомендации, ...
        title VARCHAR title
        issue VARCHAR? issue of the bulletin it stands in; empty for an act landed as a text of its own
        outcome VARCHAR kept, amendment, low_cyrillic, not_found, no_date, repeated or empty
        cyrillic_share DOUBLE? share of Cyrillic letters among the letters of its text
        characters BIGINT? length of its text
        message VARCHAR? what was wrong, and what was read otherwise than printed or should be looked at"""),
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
        how VARCHAR section (by the heading it stands under), topic (by its own), question (by an act it names) or none
        basis VARCHAR? what decided between acts of one number: date, number (there is one only), clauses or latest
        clauses VARCHAR[] clauses it names, those inside a range among them
        named_in VARCHAR? where: topic or question, the topic before the question; empty where it names none
        found VARCHAR[] those of them that stand in the act's text
        passages VARCHAR[] gold passages, where its route is clauses
        verified BOOLEAN? whether a clause it names was found in the act; empty where it names none
        route VARCHAR clauses, pool, dropped (a named clause is not in our revision) or none (not attached, or a repeat)
        reason VARCHAR? why its route is not clauses"""),
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
        status VARCHAR accepted, the filter that rejected it (queries.screening), what the reply is instead, or open
        figure DOUBLE? what that filter measured: words, mean idf, share of foreign letters, questions of one wording, rank
        evidence VARCHAR? words of the question, question or passage that it rejected it for
        rejections VARCHAR[] every filter that rejects it, by itself; a question once published stays accepted all the same
        teacher_rank INTEGER? rank of the passage among its candidates by the teacher; empty where it was not asked
        query_id VARCHAR? id of the question; empty where there is none
        text VARCHAR? the question"""),
    declare("published_queries", "queries", "Text of every query as each version published it: an id keeps its text for ever.",
            "version query_id", """
        version VARCHAR version
        query_id VARCHAR query
        text VARCHAR wording as published"""),
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

REGISTER_RESULTS = (
    declare("register_scores", "evaluation", "Means per register with intervals, and what each rests on.",
            "system level part unit measure", """
        system VARCHAR ranked system
        level VARCHAR register, or all
        part VARCHAR whole, or without_dominant: without the group that most of its queries belong to
        unit VARCHAR query: mean over queries; group: mean over groups of the means within. What is resampled, too
        measure VARCHAR measure
        value DOUBLE mean
        low DOUBLE? lower end of the percentile interval, by default of 95 %; empty with one unit
        high DOUBLE? upper end
        n INTEGER units in the mean
        queries INTEGER queries with a relevant passage
        groups INTEGER groups they belong to
        excluded INTEGER other queries of the register: not judged, or without a relevant passage
        generated DOUBLE share of the queries that a language model wrote
        dominant VARCHAR group that most of the queries belong to; of equal ones the lowest
        dominant_share DOUBLE its share of the queries"""),
    declare("register_comparisons", "evaluation", "Every system against BM25, per register.",
            "system baseline level part unit measure", """
        system VARCHAR ranked system
        baseline VARCHAR system it is compared with
        level VARCHAR register, or all
        part VARCHAR whole or without_dominant, as in register_scores
        unit VARCHAR query or group: what the differences are of, and what is resampled
        measure VARCHAR measure
        difference DOUBLE mean paired difference
        low DOUBLE? lower end of the percentile interval, by default of 95 %; empty with one unit
        high DOUBLE? upper end
        p DOUBLE? two-sided paired bootstrap
        p_holm DOUBLE? after Holm over the systems compared, per register, part, unit and measure
        n INTEGER units
        p_permutation DOUBLE? two-sided sign-flip test of the same differences, uncorrected; trust it where units are few"""),
)

PUBLISHED = (
    declare("published_pairs", "qrels", "Every pair that a release or the landing folder ever published.",
            "query_id passage_id", """
        query_id VARCHAR query
        passage_id VARCHAR passage
        score TINYINT grade as last published
        content_check VARCHAR? check of the passage's text as last published
        version VARCHAR version that published it first; landed for one of the landing folder"""),
)

MINING = (
    declare("mined_negatives", "training", "What BM25 ranks for each training question among the passages of the training "
            "groups, and what keeps it from being a negative.", "query_id passage_id", """
        query_id VARCHAR training question
        passage_id VARCHAR passage of a training group that shares a term with the question
        group_id VARCHAR group of the passage
        rank INTEGER rank, from 1; ties by passage id descending
        score DOUBLE score of BM25
        reason VARCHAR? relevant, leak, neighbour or repeats; empty where it may be a negative
        figure DOUBLE? share of the relevant passage's n-grams that it holds, where it repeats one
        cause VARCHAR? relevant passage that it repeats or stands next to"""),
)

STAGES = (
    declare("stage_acceptance", "evaluation", "Whether each stage of the recipe ranks the validation queries better than the "
            "stage before it.", "system", """
        system VARCHAR system of the stage
        stage VARCHAR base, tuned, hybrid or reranked
        before VARCHAR system of the stage before: of those it is made of, the best
        measure VARCHAR measure
        value DOUBLE? macro mean over the validation groups; empty where none can be measured
        before_value DOUBLE? the same of the stage before
        difference DOUBLE? mean paired difference over groups
        low DOUBLE? lower end of its interval; empty with fewer than two groups
        high DOUBLE? upper end
        p DOUBLE? two-sided paired bootstrap
        p_permutation DOUBLE? two-sided sign-flip test of the same differences
        groups INTEGER validation groups with a query that has a relevant passage
        queries INTEGER those queries
        accepted BOOLEAN whether the whole interval lies above zero
        reason VARCHAR what the figures say, in words"""),
)
