"""Queries, judge replies and the grades accepted from them. See ``tables``."""

from tendril_assets.records import declare

# One line per column reads as a table; the formatter would spread each declaration over twice the lines.
# fmt: off

QUERIES = (
    declare("area_summaries", "queries", "Summaries of the areas of action, written by a named model.", "area", """
        area VARCHAR area
        status VARCHAR ok, too_long or a failure of the gateway
        text VARCHAR? summary of at most the set number of words
        words INTEGER? its length
        model VARCHAR model that was asked
        request_key VARCHAR ledger key of the answer used"""),
    declare("queries", "queries", "Queries in the wording that is judged and published.", "query_id", """
        query_id VARCHAR id, stable over re-runs
        text VARCHAR wording
        level VARCHAR subset that is never averaged away: area_of_action or criterion
        catalog VARCHAR catalog
        area VARCHAR area of action; the parent's for a criterion"""),
    declare("project_queries", "queries", "Which queries were selected for which project.", "group_id query_id", """
        project VARCHAR project
        group_id VARCHAR published keyed hash
        query_id VARCHAR query
        level VARCHAR subset"""),
)

JUDGING = (
    declare("candidates", "judging", "The fan-out: every pair to judge and the request that answers it.",
            "query_id passage_id", """
        query_id VARCHAR query
        passage_id VARCHAR passage
        group_id VARCHAR group
        request_key VARCHAR hash of all that determines the answer; equal texts share it"""),
    declare("request_passages", "judging", "Which passages each request ever asked about, of earlier judges and wordings too; "
            "only an erasure takes rows out.", "request_key passage_id", """
        request_key VARCHAR ledger key
        passage_id VARCHAR passage
        document_id VARCHAR document of the passage
        group_id VARCHAR group of the passage"""),
    declare("judge_calls", "judging", "Every final answer in the ledger, successes and failures.", "request_key sequence", """
        request_key VARCHAR ledger key
        sequence BIGINT order of writing; the highest is the latest
        purpose VARCHAR judge, calibration, drift or area_summary
        model VARCHAR model asked
        answered_model VARCHAR? model that answered
        provider VARCHAR? route that answered
        status VARCHAR answered, truncated, filtered, empty, error or bad_body
        http_status INTEGER? HTTP status
        finish_reason VARCHAR? finish reason
        content VARCHAR? the answer's text
        prompt_tokens BIGINT? tokens in
        completion_tokens BIGINT? tokens out
        cached_tokens BIGINT? tokens read from the provider's prompt cache
        cost DECIMAL(18,9)? USD as charged; empty is unknown, zero is free
        attempts INTEGER HTTP attempts behind this answer
        seconds DOUBLE latency of the last attempt
        called_at TIMESTAMP time of the answer, UTC
        reasoning_tokens BIGINT? tokens of hidden reasoning among the tokens out
        cost_estimate DECIMAL(18,9)? USD by token prices where the gateway named no cost; never added to cost
        reply_id VARCHAR? the gateway's own name of the reply
        repeat VARCHAR? label of an answer asked for again on purpose: a repeat of a calibration, a drift check
        run VARCHAR? run that asked"""),
    declare("judgments", "judging", "One row per judged pair; a failure is a status, never a grade.",
            "query_id passage_id", """
        query_id VARCHAR query
        passage_id VARCHAR passage
        group_id VARCHAR group
        request_key VARCHAR request that answered it
        status VARCHAR ok, parse_error, contradiction (answers that exclude each other) or the failure of the call
        grade TINYINT? 0, 1 or 2 where status is ok
        answers VARCHAR? JSON object of the answers to the two questions, where the guideline asks two
        parser_version VARCHAR version of the grammar"""),
    declare("judge_agreement", "judging", "Every judge against people, and people among themselves.",
            "system level scale statistic raters who", """
        system VARCHAR system (model, effort, guideline), or humans
        model VARCHAR? model asked
        effort VARCHAR? reasoning effort sent, or default
        guideline VARCHAR? guideline
        in_use BOOLEAN whether this system judges the collection; true for humans
        level VARCHAR subset, or all
        scale VARCHAR graded (0/1/2) or binary (relevant or not)
        statistic VARCHAR kappa, kappa_quadratic or alpha
        raters VARCHAR judge_vs_curated, annotators, annotators_and_judge, annotator_vs_curated or annotator_vs_annotator
        who VARCHAR the raters by name
        value DOUBLE? the figure; empty where undefined
        low DOUBLE? lower end of the interval
        high DOUBLE? upper end
        n INTEGER pairs (units) it rests on
        missing INTEGER pairs left out for a missing mark
        reason VARCHAR? why the figure is undefined: single_class or no_overlap
        confusion VARCHAR? JSON table, rows the first rater or the curated grades, columns the other
        resampled VARCHAR what the interval redraws within each level: queries or pairs"""),
    declare("calibration_systems", "judging", "Every judge that was measured: failures, money, time, stability, stack.",
            "system", """
        system VARCHAR system (model, effort, guideline)
        model VARCHAR model asked
        effort VARCHAR reasoning effort sent, or default
        guideline VARCHAR guideline
        guideline_hash VARCHAR hash of the guideline's text and answer form
        in_use BOOLEAN whether it judges the collection
        declared BOOLEAN whether the specification names it as the judge
        pairs INTEGER calibration pairs asked in the first run
        graded INTEGER pairs with a grade
        failed INTEGER pairs without one
        failure_share DOUBLE? failed of pairs
        failures VARCHAR JSON object, pairs by status other than ok; open is not asked yet
        requests INTEGER distinct requests with a call, repeats among them
        calls BIGINT HTTP calls behind them, retries among them
        cost_known INTEGER answers and failures of known cost
        cost_unknown INTEGER those of unknown cost that may have been charged; an error status without tokens was not
        known_cost DECIMAL(18,9) USD as charged
        known_cost_per_1000 DOUBLE? USD per 1,000 requests of known cost in the first run
        price_per_1000 DOUBLE? the same, estimates included; empty where over 5 % that may be charged have neither
        seconds_median DOUBLE? median latency
        seconds_p95 DOUBLE? 95th percentile of it
        prompt_tokens BIGINT tokens in
        cached_tokens BIGINT of them read from a prompt cache
        completion_tokens BIGINT tokens out
        reasoning_tokens BIGINT of them hidden reasoning
        answered_models VARCHAR[] models that answered
        providers VARCHAR[] routes that answered
        stacks VARCHAR[] model and route of the answers that name both, each pair once
        unrecorded INTEGER answers that do not name both
        repeat_n INTEGER pairs of which two runs or more have a grade
        repeat_share DOUBLE? share of equal grades, over every two runs of each such pair
        repeat_share_low DOUBLE? lower end of the interval
        repeat_share_high DOUBLE? upper end
        repeat_kappa DOUBLE? kappa between the runs
        repeat_kappa_low DOUBLE? lower end of the interval
        repeat_kappa_high DOUBLE? upper end
        repeat_reason VARCHAR? why that kappa is undefined: single_class or no_overlap"""),
    declare("judge_choice", "judging", "Which judge is accepted and which one the rule picks, with reasons.", "system", """
        system VARCHAR system (model, effort, guideline)
        model VARCHAR model asked
        effort VARCHAR reasoning effort sent, or default
        guideline VARCHAR guideline
        declared BOOLEAN whether the specification names it as the judge
        in_use BOOLEAN whether it judges the collection
        rank INTEGER place by quality, 1 is best
        quality DOUBLE? the figure the rule ranks by
        quality_low DOUBLE? lower end of the interval
        quality_high DOUBLE? upper end
        difference DOUBLE? quality minus that of the best accepted system
        difference_low DOUBLE? lower end of the interval of the paired difference
        difference_high DOUBLE? upper end
        price_per_1000 DOUBLE? USD per 1,000 requests; empty is unknown
        agreement DOUBLE? figure of the acceptance against the curated grades
        agreement_threshold DOUBLE? declared minimum
        agreement_met BOOLEAN? met
        pairs DOUBLE? pairs with both grades, of the smallest level that counts
        pairs_threshold DOUBLE? declared minimum
        pairs_met BOOLEAN? met
        repeat DOUBLE? agreement of two runs
        repeat_threshold DOUBLE? declared minimum
        repeat_met BOOLEAN? met
        failures DOUBLE? share of pairs without a grade
        failures_threshold DOUBLE? declared maximum
        failures_met BOOLEAN? met
        stack DOUBLE? inference stacks (model and route) that answered
        stack_threshold DOUBLE? stacks wanted; empty where any number of them will do
        stack_met BOOLEAN? every answer names its stack, and as many as declared
        accepted BOOLEAN? every declared criterion is met; empty where none is declared
        as_good BOOLEAN accepted, and as good as the best by the declared rule
        chosen BOOLEAN picked by the rule
        reason VARCHAR why, in words"""),
)

DRIFT = (
    declare("judge_drift", "drift", "The judge against itself: answered requests asked again, one round per day.",
            "round level scale", """
        round VARCHAR day of the round, UTC
        level VARCHAR subset, or all
        scale VARCHAR graded (0/1/2) or binary (relevant or not)
        n INTEGER repeated requests with a grade before and after
        missing INTEGER repeated requests without one of the two
        agreement DOUBLE? share of equal grades; each former grade weighs as much as it does among all graded requests
        kappa DOUBLE? Cohen's kappa of before and after, weighted likewise; empty where undefined
        low DOUBLE? lower end of its 95 % interval, drawn within the former grades
        high DOUBLE? upper end
        reason VARCHAR? why kappa is undefined: single_class or no_overlap
        mean_shift DOUBLE? mean of the grade after minus the grade before, weighted likewise
        confusion VARCHAR JSON table of the sample, not weighted: rows before, columns after
        models_before VARCHAR[] models that answered at first
        models_after VARCHAR[] models that answered in this round
        providers_before VARCHAR[] routes that answered at first
        providers_after VARCHAR[] routes that answered in this round
        cost DECIMAL(18,9)? USD of the repeats as charged; empty where no cost is known
        cost_unknown INTEGER repeats of unknown cost"""),
)

QRELS = (
    declare("qrels", "qrels", "Accepted grades.", "query_id passage_id", """
        query_id VARCHAR query
        passage_id VARCHAR passage
        group_id VARCHAR group
        score TINYINT 0, 1 or 2"""),
    declare("splits", "qrels", "Split of each group.", "group_id", """
        group_id VARCHAR group
        split VARCHAR train, validation or, where a file fixes the splits, a test split"""),
    declare("split_sizes", "qrels", "What each split holds of each level.", "split level", """
        split VARCHAR train, validation or, where a file fixes the splits, a test split
        level VARCHAR subset
        groups INTEGER groups with a judged query of the level
        groups_with_relevant INTEGER those of them where a query has a relevant passage: only they can be measured
        queries INTEGER query and group pairs with a judgment
        queries_with_relevant INTEGER those of them with a relevant passage
        judgments INTEGER judgments
        relevant INTEGER judgments of grade 1 or more"""),
    declare("leakage", "qrels", "Passages that repeat text held out from them. Those of train leave training; of validation, "
            "what repeats the test collection is only counted.", "passage_id cause_set", """
        passage_id VARCHAR training or validation passage
        split VARCHAR its split
        cause VARCHAR the held-out passage it repeats most closely; of equal ones the lowest id
        cause_set VARCHAR validation, test (the external collection) or a test split of the corpus
        similarity DOUBLE Jaccard similarity to that passage; 1 where the normalised texts are equal
        causes INTEGER held-out passages of the set that it repeats"""),
)
