"""Invented publications in the shape of SIMAP's answers: German, French and Italian, with the oddities of the real ones.

Absent texts are null, descriptions are HTML in one field and plain in the next, ``<p><br></p>`` stands for nothing.
"""

import uuid
from typing import Any

Json = dict[str, Any]

OFFICE = "Tiefbauamt der Stadt Musterlingen"
CONTACT, PHONE, MAIL = "Ursina Beispiel", "+41310000000", "ursina.beispiel@musterlingen.example"


def uid(name: str) -> str:
    """The id of what is called ``name`` here."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"https://simap.example/{name}"))


def texts(de: str | None = None, fr: str | None = None, it: str | None = None, en: str | None = None) -> Json:
    return {"de": de, "en": en, "fr": fr, "it": it}


NONE = texts()


def code(number: str, de: str, fr: str, it: str) -> Json:
    return {"code": number, "label": texts(de, fr, it)}


def head(number: str, kind: str, day: str, corrected: bool = False) -> Json:
    """What search entries, lots and past publications say about a publication."""
    return {"publicationNumber": number, "publicationDate": day, "pubType": kind, "corrected": corrected}


def entry(project: str, number: str, kind: str, day: str, title: Json, lots: list[Json] | None = None) -> Json:
    """A project as the search shows it, with its newest publication."""
    return {
        "id": uid(project),
        "title": title,
        "projectNumber": project,
        "projectType": "tender",
        "projectSubType": "construction",
        "processType": "open",
        "lotsType": "with" if lots else "without",
        "publicationId": uid(number),
        **head(number, kind, day),
        "procOfficeName": texts(OFFICE),
        "lots": lots or [],
        "orderAddressOnlyDescription": "no",
        "orderAddress": {"countryId": "CH", "cantonId": "BE", "postalCode": "3000", "city": None},
    }


def lot_entry(project: str, number: str, kind: str, day: str, lot: int, title: Json) -> Json:
    return {
        "publicationId": uid(number),
        **head(number, kind, day),
        "lotId": uid(f"{project} lot {lot}"),
        "lotNumber": lot,
        "lotTitle": title,
        "orderAddressOnlyDescription": None,
        "orderAddress": None,
    }


def past(number: str, kind: str, day: str) -> Json:
    kinds = {"projectType": "tender", "projectSubType": "construction", "processType": "open"}
    return {**kinds, "id": uid(number), **head(number, kind, day), "lotNumber": None}


def base(project: str, number: str, kind: str, day: str, title: Json) -> Json:
    return {
        "id": uid(number),
        "title": title,
        "projectType": "tender",
        "processType": "open",
        "type": kind,
        "publicationNumber": number,
        "projectId": uid(project),
        "projectNumber": project,
        "publicationDate": day,
        "creationLanguage": "de",
        "cpvCode": code("45233120", "Straßenbauarbeiten", "Travaux de construction de routes", "Lavori stradali"),
        "lots": [],
    }


def address() -> Json:
    return {
        "id": uid("office"),
        "name": texts(OFFICE, "Service des ponts et chaussées de Musterlingen"),
        "contactPerson": texts(CONTACT),
        "phone": PHONE,
        "email": MAIL,
        "url": texts("https://musterlingen.example"),
        "street": texts("Hauptstrasse 1"),
        "city": texts("Musterlingen"),
        "postalCode": "3000",
        "countryId": "CH",
        "cantonId": "BE",
        "reference": None,
    }


def criterion(name: str, title: Json, description: Json, verification: Json | None = None) -> Json:
    return {"id": uid(name), "title": title, "description": description, "verification": verification}


def award_criterion(name: str, title: Json, description: Json, weight: int | None) -> Json:
    more = {"weighting": weight, "maxPoints": None, "isPriceCriterion": False}
    return {**criterion(name, title, description), **more}


def tender(project: str, number: str, day: str, title: Json, description: Json, **changes: Any) -> Json:
    """``publication-details`` of a call for tenders; ``changes`` replace whole sections."""
    return {
        "id": uid(number),
        "type": "tender",
        "projectType": "tender",
        "publishers": [{"id": uid("publisher"), "name": "simap.example"}],
        "base": base(project, number, "tender", day, title),
        "project-info": {
            "title": title,
            "procOfficeAddress": address(),
            "procurementRecipientAddress": address(),
            "publicationLanguagesComment": NONE,
            "offerSpecificNote": None,
        },
        "procurement": {
            "processType": "open",
            "orderType": "construction",
            "orderDescription": description,
            "cpvCode": code("45233120", "Straßenbauarbeiten", "Travaux de construction de routes", "Lavori stradali"),
            "additionalCpvCodes": [],
            "bkpCodes": [code("411", "Baumeisterarbeiten", "Travaux de maçonnerie", "Opere da impresario")],
            "contractPeriod": {"dateRange": ["2027-02-01", "2028-12-31"]},
            "contractDays": None,
            "variants": "yes",
            "variantsNote": texts("Varianten sind zusätzlich zum Grundangebot einzureichen."),
            "partialOffers": "not_specified",
            "partialOffersNote": NONE,
            "orderAddressDescription": NONE,
        },
        "terms": {
            "termsType": "none",
            "termsCriteria": [],
            "consortiumAllowed": "no",
            "subContractorAllowed": "yes",
            "remediesNotice": texts("Gegen diese Ausschreibung kann innert 20 Tagen Beschwerde erhoben werden."),
            "preInvolvedVendor": texts("Planwerk Vorbefasst AG"),
        },
        "dates": {
            "qnas": [{"id": uid("qna"), "date": "2026-08-07", "note": texts("schriftlich"), "externalLink": None}],
            "otherAppointments": [],
            "offerDeadline": "2026-08-31T16:00:00+02:00",
            "offerValidityDeadlineDays": 180,
            "documentsAvailable": {"dateRange": ["2026-07-06", "2026-08-31"]},
        },
        "criteria": {
            "qualificationCriteria": [],
            "awardCriteriaSelection": "criteria_defined",
            "awardCriteria": [],
            "qualificationCriteriaInDocuments": "no",
        },
        "lots": [],
        "hasProjectDocuments": True,
        "ted": None,
        **changes,
    }


def award(project: str, number: str, day: str, title: Json, before: str | None = None) -> Json:
    """``publication-details`` of an award; ``before`` is the publication it refers to."""
    vendor = {"vendorId": uid("vendor"), "vendorName": "Strassenbau Gewinnerin GmbH", "vendorAddress": None, "rank": 1}
    reference = None
    if before:
        reference = {
            "publicationId": uid(before),
            **head(before, "tender", "2026-01-15"),
            "projectType": "tender",
            "processType": "open",
            "publishers": [],
        }
    return {
        "id": uid(number),
        "type": "award",
        "projectType": "tender",
        "publishers": [],
        "base": base(project, number, "award", day, title),
        "project-info": {"title": title, "procOfficeAddress": address(), "procurementRecipientAddress": address()},
        "procurement": {"orderType": "construction", "processType": "open", "orderDescription": texts("<p>Belag</p>")},
        "decision": {
            "awardDecisionWithJustification": True,
            "awardDecisionJustification": texts("Das Angebot erreichte die meisten Punkte."),
            "vendors": [vendor],
            "remediesNotice": NONE,
        },
        "referencingPub": reference,
        "lot": None,
        "hasProjectDocuments": False,
        "ted": None,
    }
