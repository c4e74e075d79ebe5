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
        status VARCHAR ok, parse_error or the failure of the call
        grade TINYINT? 0, 1 or 2 where status is ok
        parser_version VARCHAR version of the grammar"""),
    declare("judge_agreement", "judging", "Judge against humans, and humans among themselves.",
            "level scale statistic raters", """
        level VARCHAR subset, or all
        scale VARCHAR graded (0/1/2) or binary (relevant or not)
        statistic VARCHAR kappa, kappa_quadratic or alpha
        raters VARCHAR judge_vs_curated or annotators
        value DOUBLE? the figure; empty where undefined
        low DOUBLE? lower end of the 95 % interval
        high DOUBLE? upper end
        n INTEGER pairs (units) it rests on
        missing INTEGER pairs left out for a missing mark
        reason VARCHAR? why the figure is undefined: single_class or no_overlap
        confusion VARCHAR? JSON table, rows human, columns judge"""),
)

QRELS = (
    declare("qrels", "qrels", "Accepted grades.", "query_id passage_id", """
        query_id VARCHAR query
        passage_id VARCHAR passage
        group_id VARCHAR group
        score TINYINT 0, 1 or 2"""),
    declare("splits", "qrels", "Split of each group.", "group_id", """
        group_id VARCHAR group
        split VARCHAR train or validation"""),
    declare("leakage", "qrels", "Training passages that repeat held-out text; they leave training.",
            "passage_id cause cause_set", """
        passage_id VARCHAR training passage
        cause VARCHAR held-out passage it repeats
        cause_set VARCHAR validation or test
        similarity DOUBLE Jaccard similarity"""),
)
