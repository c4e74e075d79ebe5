"""What the landing folder holds, as tables. See ``tables``."""

from tendril_assets.records import declare

# One line per column reads as a table; the formatter would spread each declaration over twice the lines.
# fmt: off

LANDING = (
    declare("projects", "landing", "Landed tender projects, one row each.", "project", """
        project VARCHAR SIMAP project number, NFC
        title VARCHAR title of the project
        published DATE? day of publication
        language VARCHAR main language: de, fr or it
        cpv VARCHAR? main CPV code of the procurement"""),
    declare("documents", "landing", "Landed documents, one row each; the bytes stay in the landing folder.",
            "project document", """
        project VARCHAR project the document belongs to
        document VARCHAR file name, NFC
        path VARCHAR absolute path of the file, or of the delivered passages file
        sha256 VARCHAR content hash of the file, or of the delivered passages of this document
        size_bytes BIGINT size of the file; of the delivered text otherwise
        delivered BOOLEAN true where passages came from an upstream pipeline, so that extraction is skipped"""),
    declare("delivered_passages", "landing", "Passages delivered by an upstream pipeline instead of files; their texts stay in "
            "the landing folder.", "project document page position", """
        project VARCHAR project
        document VARCHAR document
        page INTEGER page of the source document, from 1
        position INTEGER order within the document, from 0
        characters INTEGER length of the delivered raw text"""),
    declare("areas", "landing", "Areas of action of the catalogs.", "area", """
        catalog VARCHAR catalog id
        area VARCHAR area id, unique over all catalogs
        title VARCHAR title
        text VARCHAR description the summary is written from"""),
    declare("criteria", "landing", "Criteria of the areas, with their ambition levels.", "criterion", """
        catalog VARCHAR catalog id
        area VARCHAR parent area
        criterion VARCHAR criterion id, unique over all catalogs
        text VARCHAR wording
        basis VARCHAR? ambition level Basis
        good_practice VARCHAR? ambition level Gute Praxis
        exemplary VARCHAR? ambition level Vorbild"""),
    declare("evidence", "landing", "Prior relevance evidence per project and area.", "project area", """
        project VARCHAR project
        area VARCHAR area
        tier VARCHAR validated_relevant, unvalidated_relevant, unsure or irrelevant"""),
    declare("removals", "landing", "The one removal list.", "kind id", """
        kind VARCHAR project, document, passage, act or pair
        id VARCHAR raw or published identifier; a document is project/document, a pair query_id/passage_id
        reason VARCHAR why it was removed
        date DATE day of the request"""),
    declare("restriction_reviews", "landing", "A person's verdicts on restricted projects; they override the rules.",
            "project", """
        project VARCHAR project
        verdict VARCHAR restricted or free
        reason VARCHAR why
        date DATE day of the verdict"""),
    declare("test_projects", "landing", "Projects of the external test collection: never sampled.", "project", """
        project VARCHAR project"""),
    declare("test_corpus", "landing", "Passages of the external test collection.", "passage_id", """
        passage_id VARCHAR id as published
        text VARCHAR text
        group_id VARCHAR project as published
        document_id VARCHAR? document as published
        page INTEGER? page"""),
    declare("test_queries", "landing", "Queries of the external test collection.", "query_id", """
        query_id VARCHAR id as published
        text VARCHAR text
        level VARCHAR subset: area_of_action or criterion
        catalog VARCHAR? catalog
        area VARCHAR? area"""),
    declare("test_qrels", "landing", "Human grades of the external test collection.", "query_id passage_id", """
        query_id VARCHAR query
        passage_id VARCHAR passage
        score TINYINT 0, 1 or 2"""),
    declare("calibration_pairs", "landing", "Human-annotated pairs the judge is measured on.", "query_id passage_id", """
        query_id VARCHAR query
        passage_id VARCHAR passage
        level VARCHAR subset
        query_text VARCHAR wording shown to the annotators
        passage_text VARCHAR anonymised passage shown to the annotators
        curated_grade TINYINT? the grade agreed on after discussion"""),
    declare("calibration_annotations", "landing", "Single annotators' grades of the calibration pairs.",
            "query_id passage_id annotator", """
        query_id VARCHAR query
        passage_id VARCHAR passage
        annotator VARCHAR annotator
        grade TINYINT? 0, 1 or 2; empty where not annotated"""),
)
