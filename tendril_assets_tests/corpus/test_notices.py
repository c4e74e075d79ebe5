"""Publications as text: invented ones, expectations written by hand."""

import contextlib
import copy
import re
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.corpus import notice_records as api
from tendril_assets.corpus.chunking import passages_of
from tendril_assets.corpus.extraction import PageText
from tendril_assets.corpus.notice_shape import Texts, check, unknown_fields
from tendril_assets.corpus.notice_words import word
from tendril_assets.corpus.notices import LANGUAGES, render, title_of
from tendril_assets.errors import SimapShapeChanged
from tendril_assets.records import PubType
from tendril_assets_tests.simap_answers import (
    CONTACT,
    MAIL,
    NONE,
    OFFICE,
    PHONE,
    Json,
    award,
    award_criterion,
    criterion,
    tender,
    texts,
    uid,
)

ORDER = ("de", "fr", "it")
URL = "https://simap.example/api/details"


def publication(answer: Json) -> api.Publication:
    return check(api.Publication, answer, URL)


def text_of(answer: Json, order: tuple[str, ...] = ORDER) -> str:
    return render(publication(answer), order).text


ROAD = tender(
    "700",
    "700-02",
    "2026-07-06",
    texts("Sanierung der Bergstrasse"),
    texts(
        "<p>Die Strasse wird auf 2,4&nbsp;km saniert.</p><p><br></p><p>Der Belag enth&auml;lt Recyclingmaterial.</p>"
    ),
    criteria={
        "qualificationCriteriaInDocuments": "no",
        "qualificationCriteria": [
            criterion(
                "q1",
                texts("EK 1 Referenzen"),
                texts("<p>Zwei vergleichbare Aufträge.</p>"),
                texts("<p>Liste der Aufträge mit Auskunftsstelle.</p>"),
            )
        ],
        "awardCriteriaSelection": "criteria_defined",
        "awardCriteriaNote": NONE,
        "awardCriteria": [
            award_criterion("a1", texts("ZK 1 Preis"), texts("<p>Preis des Angebots.</p>"), 60),
            award_criterion("a2", texts("ZK 2 Nachhaltigkeit"), texts("<p><br></p>"), 40),
        ],
    },
    correction={
        "correctedPubId": uid("700-01"),
        "initialPublicationDate": "2026-06-30",
        "correctionDiffKeys": [],
        "remarks": texts("Neue Frist.\nNeues Preisblatt."),
    },
)
ROAD_TEXT = f"""\
Sanierung der Bergstrasse

- Art der Publikation: Ausschreibung
- Verfahren: offenes Verfahren
- Auftragsart: Bauauftrag
- Vergabestelle: {OFFICE}

Beschreibung des Auftrags

Die Strasse wird auf 2,4 km saniert.

Der Belag enthält Recyclingmaterial.

Gegenstand

- CPV 45233120 Straßenbauarbeiten
- BKP 411 Baumeisterarbeiten

- Laufzeit des Vertrags: von 01.02.2027 bis 31.12.2028
- Varianten: ja

Varianten

Varianten sind zusätzlich zum Grundangebot einzureichen.

Eignungskriterien

EK 1 Referenzen

Zwei vergleichbare Aufträge.

Nachweis

Liste der Aufträge mit Auskunftsstelle.

Zuschlagskriterien

ZK 1 Preis (Gewichtung 60 %)

Preis des Angebots.

- ZK 2 Nachhaltigkeit (Gewichtung 40 %)

Bedingungen

- Bietergemeinschaften: nein
- Subunternehmen: ja

Termine

- Frist für die Einreichung: 31.08.2026, 16:00
- Unterlagen verfügbar: von 06.07.2026 bis 31.08.2026
- Fragen bis: 07.08.2026, schriftlich
- Gültigkeit des Angebots: 180 Tage

Berichtigung

Neue Frist.

Neues Preisblatt.

Rechtsmittelbelehrung

Gegen diese Ausschreibung kann innert 20 Tagen Beschwerde erhoben werden.
"""


def test_a_call_for_tenders_as_text() -> None:
    made = render(publication(ROAD), ORDER)
    assert made.text == ROAD_TEXT
    assert (made.language, made.title, made.cpv) == ("de", "Sanierung der Bergstrasse", "45233120")


def test_neither_persons_nor_bidders_nor_numbers_of_the_platform_are_in_it() -> None:
    for answer in (ROAD, award("700", "700-03", "2026-09-01", texts("Sanierung"), before="700-02")):
        text = text_of(answer)
        for secret in (CONTACT, PHONE, MAIL, "Gewinnerin", "Vorbefasst", "700-0", "Hauptstrasse", "http", uid("700")):
            assert secret not in text
    assert "Das Angebot erreichte die meisten Punkte." in text


def test_each_field_is_in_the_first_language_that_has_it_and_headings_in_that_of_most() -> None:
    answer = tender(
        "701",
        "701-01",
        "2026-07-06",
        texts("Kurzer Titel", "Réfection de la route"),
        texts(
            "<p><br></p>", f"<p>{'La chaussée est refaite avec des matériaux recyclés. ' * 3}</p>", "<p>La strada.</p>"
        ),
        terms={"remediesNotice": texts(None, None, "Contro il presente bando si può ricorrere."), "termsNote": NONE},
    )
    made = render(publication(answer), ORDER)
    assert made.language == "fr"
    lines = made.text.split("\n")
    assert lines[0] == "Kurzer Titel"
    assert "- Type de publication: Appel d'offres" in lines
    assert "- CPV 45233120 Travaux de construction de routes" in lines
    assert "Description du marché" in lines
    assert "Indication des voies de recours" in lines
    assert "Contro il presente bando si può ricorrere." in lines
    assert "La strada." not in lines
    # Another order, another choice.
    assert "La strada." in text_of(answer, ("it", "fr")).split("\n")


def test_a_text_in_none_of_the_languages_is_none() -> None:
    answer = tender("702", "702-01", "2026-07-06", texts(en="Road works"), texts(en="<p>The road.</p>"))
    for section in ("procurement", "terms", "dates", "project-info"):
        answer[section] = {k: v for k, v in answer[section].items() if not isinstance(v, dict) or "de" not in v}
    answer["project-info"]["procOfficeAddress"] = None
    answer["dates"]["qnas"] = []
    assert render(publication(answer), ORDER)[:2] == ("", "de")
    assert text_of(answer, ("de", "en")).startswith("Road works\n\n- Type of publication: Call for tenders\n")


def test_lots_come_with_all_they_say() -> None:
    lot = {
        "id": uid("lot"),
        "lotNumber": 2,
        "title": texts("Belagsarbeiten"),
        "projectSubType": "construction",
        "orderDescription": texts("<p>Belag einbauen:</p><ul><li>Tragschicht</li><li>Deckschicht</li></ul>"),
        "partialOffers": "no",
        "awardCriteria": [award_criterion("l", texts("Umwelt"), texts("<p>Kurze Transportwege.</p>"), None)],
    }
    empty = {"id": uid("lot 3"), "lotNumber": 3, "title": NONE, "projectSubType": "construction"}
    text = text_of({**ROAD, "lots": [lot, empty]})
    expected = (
        "Los 2: Belagsarbeiten\n\nBelag einbauen:\n\n- Tragschicht\n- Deckschicht\n\n- Teilangebote: nein\n\n"
        "Zuschlagskriterien\n\nUmwelt\n\nKurze Transportwege.\n\n- Los 3\n"
    )
    assert expected in text


def test_decisions_say_why() -> None:
    common = {"id": uid("x"), "base": None, "project-info": {"procOfficeAddress": None}}
    revocation = {"reason": texts("Formfehler in der Ausschreibung."), "remarks": NONE, "publicationDate": "2026-01-01"}
    revoked = {**common, "type": "revocation", "procurement": {}, "lots": [], "revocation": revocation}
    assert "Grund des Widerrufs\n\nFormfehler in der Ausschreibung." in text_of(revoked)
    assert "- Art der Publikation: Widerruf\n" in text_of(revoked)
    abandonment = {
        "reasons": ["b_no_offer_fulfills_requirements", "z_new_reason"],
        "otherReason": texts("Das Projekt wird neu aufgelegt."),
        "publicationDate": "2026-01-01",
    }
    stopped = {**common, "type": "abandonment", "abandonment": abandonment}
    expected = "Grund des Abbruchs\n\n- Kein Angebot erfüllt die Anforderungen.\n\nDas Projekt wird neu aufgelegt.\n"
    assert text_of(stopped).endswith(expected)


def test_single_lines_stay_lines_when_the_text_is_read_and_cut_again(tmp_path) -> None:
    from tendril_assets.corpus.extract_text import read_text
    from tendril_assets.spec_corpus import ExtractionSpec

    path = tmp_path / "notice.txt"
    path.write_text(ROAD_TEXT, "utf-8")
    [page] = read_text(path, ExtractionSpec()).texts
    assert page.strip() == ROAD_TEXT.strip()
    passages = [p.text for p in passages_of([PageText(1, page)])]
    assert "EK 1 Referenzen\nZwei vergleichbare Aufträge." in "\n".join(passages)
    assert all("Rechtsmittel" not in p or "Beschwerde" in p for p in passages)


def test_every_word_is_there_in_every_language() -> None:
    for kind in get_args(PubType):
        assert all(word(kind, language) for language in LANGUAGES), kind
    keys = ("order", "yes", "no", "lot", "proof", "open", "construction", "a_abandon_due_to_valid_reason", "remedies")
    for language in LANGUAGES:
        assert all(word(key, language) for key in keys)
    assert word("not_specified", "de") is None
    assert word("order", "rm") is None


def test_a_title_in_any_language_is_better_than_none() -> None:
    assert title_of(Texts(it="Strada"), ("de", "fr")) == ("Strada", "it")
    assert title_of(Texts(de=" ", fr="Route\n1"), ("de", "fr")) == ("Route 1", "fr")
    assert title_of(Texts(), ("fr",)) == ("", "fr")


# Shapes ---------------------------------------------------------------------------------------------------------------


def changed(path: str, value: object) -> Json:
    """ROAD with the field at ``path`` set, or taken out for ``...``."""
    answer = copy.deepcopy(ROAD)
    *way, last = path.split(".")
    at = answer
    for name in way:
        at = at[int(name)] if isinstance(at, list) else at[name]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return answer


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("type", "contract_change", r"type: Input should be 'advance_notice', .*came str 'contract_change'"),
        ("id", "../../etc", r"id: String should match pattern .*came str '../../etc'"),
        ("id", ..., r"id: Field required, came an object with type, projectType"),
        ("terms", None, r"terms: required for type tender"),
        ("dates", ..., r"dates: required for type tender"),
        ("procurement.orderDescription", "plain", r"procurement.orderDescription: .*came str 'plain'"),
        ("procurement.orderDescription", {"de": 7}, r"procurement.orderDescription.de: .*valid string, came int 7"),
        ("procurement.contractDays", "30", r"procurement.contractDays: .*valid integer, came str '30'"),
        ("procurement.contractPeriod.dateRange", ["soon"], r"contractPeriod.dateRange.0: .*came str 'soon'"),
        ("dates.offerDeadline", "31.08.2026", r"dates.offerDeadline: .*came str '31.08.2026'"),
        ("dates.qnas", None, r"dates.qnas: Input should be a valid list, came NoneType None"),
        ("criteria.awardCriteria.0.title", ..., r"criteria.awardCriteria.0.title: Field required"),
        ("base.publicationNumber", "../x", r"base.publicationNumber: String should match"),
    ],
)
def test_another_shape_names_address_field_and_what_came(path: str, value: object, expected: str) -> None:
    with pytest.raises(SimapShapeChanged, match=rf"^{re.escape(URL)}: .*{expected}"):
        publication(changed(path, value))


def test_many_wrong_fields_are_counted() -> None:
    answer = {**ROAD, "dates": dict.fromkeys(api.Dates.model_fields, 1)}
    with pytest.raises(SimapShapeChanged, match=r"; and \d+ more\. The API has changed"):
        publication(answer)


def test_new_fields_are_counted_and_no_error() -> None:
    answer = {**ROAD, "sustainability": {"score": 1}}
    answer = {**answer, "procurement": {**ROAD["procurement"], "ecoLabel": None}}
    answer["criteria"] = copy.deepcopy(ROAD["criteria"])
    for each in answer["criteria"]["awardCriteria"]:
        each["subCriteria"] = []
    found = unknown_fields(publication(answer))
    assert found == {"sustainability": 1, "procurement.ecoLabel": 1, "criteria.awardCriteria.subCriteria": 2}
    assert not unknown_fields(publication(ROAD))


@settings(max_examples=50, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from([*api.Publication.model_fields, "project-info", "x"]),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.text(max_size=5)
            | st.sampled_from(["tender", "award", uid("a")]),
            lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["de", "title", "x"]), inner),
            max_leaves=8,
        ),
    )
)
def test_any_answer_is_a_record_or_an_error_of_ours(changes: Json) -> None:
    with contextlib.suppress(SimapShapeChanged):
        assert render(publication({**ROAD, **changes}), ORDER).language in ORDER
