"""A publication's details on SIMAP, as far as they are read here: one record per object of the OpenAPI description.

Passed over are identifiers, codes of the forms, and what is about persons and firms: addresses, phone numbers, contact
persons, bidders, members of juries. See ``notice_shape`` for how records are checked.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from tendril_assets.corpus.notice_shape import Day, Moment, Number, Record, Texts, Uuid, names
from tendril_assets.records import PubType


class Code(Record):
    code: str
    label: Texts | None = None


class DateRange(Record):
    dateRange: list[Day]


class DateOptionalTime(Record):
    dateTime: Moment
    ignoreTime: bool


class Base(Record):
    title: Texts
    publicationNumber: Number
    publicationDate: Day
    cpvCode: Code | None = None
    passed_over = names(
        "id projectType processType lotsType stateContractArea type projectId projectNumber creationLanguage "
        "translationLanguages procOfficeId publishers referencingPubId referencingLotId publicationTed corrected "
        "participantLotsLimitation participantLotsLimitationNote correctedPubId initialPublicationDate orderType lots "
        "cpcCode competitionType studyType followupAward"
    )


class Office(Record):
    """Of an office only the name: contact persons, addresses, phone numbers and mail are no part of a tender's text."""

    name: Texts | None = None
    passed_over = names("postalCode countryId cantonId id contactPerson phone email url reference street city")


class ProjectInfo(Record):
    title: Texts | None = None
    procOfficeAddress: Office | None = None
    dialogNote: Texts | None = None
    documentsCostsNote: Texts | None = None
    documentsLanguagesNote: Texts | None = None
    documentsSourceNote: Texts | None = None
    offerSpecificNote: Texts | None = None
    participantLotsLimitationNote: Texts | None = None
    publicationLanguagesComment: Texts | None = None
    passed_over = names(
        "stateContractArea publicationTed procurementRecipientAddress documentsLanguages documentsSourceType "
        "documentsSourceEmail documentsSourceUrl documentsSourceAddress offerLanguages offerTypes offerAddress "
        "offerDigitalExternalPlatformUrl publicationLanguages processType orderType participantLotsLimitation dialog "
        "documentsWithCosts documentsCosts participantLimitation"
    )


class _Order(Record):
    """What is bought, where and when; the selections are ``yes``, ``no`` or ``not_specified``."""

    processType: str | None = None
    orderType: str | None = None
    orderDescription: Texts | None = None
    additionalCpvCodes: list[Code] | None = None
    bkpCodes: list[Code] | None = None
    ebkphCodes: list[Code] | None = None
    ebkptCodes: list[Code] | None = None
    npkCodes: list[Code] | None = None
    oagCodes: list[Code] | None = None
    orderAddressDescription: Texts | None = None
    executionPeriod: DateRange | None = None
    executionDays: int | None = None
    executionNote: Texts | None = None
    contractPeriod: DateRange | None = None
    contractDays: int | None = None
    canContractBeExtended: str | None = None
    canContractBeExtendedNote: Texts | None = None
    options: str | None = None
    optionsNote: Texts | None = None
    variants: str | None = None
    variantsNote: Texts | None = None
    partialOffers: str | None = None
    partialOffersNote: Texts | None = None
    passed_over = names(
        "constructionType constructionCategory supplyType procurementTopic orderAddress orderAddressOnlyDescription "
        "executionDeadlineType contractDeadlineType"
    )


class Procurement(_Order):
    projectOrderDescription: Texts | None = None
    cpvCode: Code | None = None
    cpcCode: Code | None = None
    passed_over = _Order.passed_over | names("projectType pubType externalReference")


class TermCriterion(Record):
    description: Texts
    verification: Texts | None = None
    passed_over = names("id")


class Criterion(TermCriterion):
    title: Texts


class WeightedCriterion(Criterion):
    """``weighting`` in percent."""

    weighting: int | None = None
    passed_over = names("id maxPoints isPriceCriterion")


class _Criteria(Record):
    qualificationCriteriaInDocuments: str | None = None
    qualificationCriteriaNote: Texts | None = None
    qualificationCriteria: list[Criterion] | None = None
    weightedQualificationCriteriaInDocuments: str | None = None
    weightedQualificationCriteriaNote: Texts | None = None
    weightedQualificationCriteria: list[WeightedCriterion] | None = None
    awardCriteriaNote: Texts | None = None


class Criteria(_Criteria):
    awardCriteriaSelection: str
    awardCriteria: list[WeightedCriterion]
    passed_over = names("qualificationCriteriaAsPDF processType orderType")


class Lot(_Order, _Criteria):
    """A lot of a call with all that is bought, or only its number and title where a decision names it."""

    lotNumber: int
    title: Texts
    awardCriteriaSelection: str | None = None
    awardCriteria: list[WeightedCriterion] | None = None
    passed_over = _Order.passed_over | names("id projectSubType qualificationCriteriaAsPDF")


class Terms(Record):
    termsType: str | None = None
    termsNote: Texts | None = None
    termsCriteria: list[TermCriterion] | None = None
    otherRequirements: Texts | None = None
    consortiumAllowed: str | None = None
    consortiumNote: Texts | None = None
    subContractorAllowed: str | None = None
    subContractorNote: Texts | None = None
    termsOfBusiness: Texts | None = None
    termsOfPayment: Texts | None = None
    includedCosts: Texts | None = None
    securityDeposits: Texts | None = None
    nonWTORequirements: Texts | None = None
    walkThroughNotes: Texts | None = None
    totalPriceNote: Texts | None = None
    purchaseNote: Texts | None = None
    compensationNote: Texts | None = None
    bindingJuryDecision: Texts | None = None
    anonymity: Texts | None = None
    remediesNotice: Texts | None = None
    # Firms that took part before, and experts of a jury, are named in texts of their own.
    passed_over = names(
        "termsCriteriaAsPDF consortiumMultiApplicationAllowed subContractorMultiApplicationAllowed processType orderType "
        "preInvolvedVendor independentExperts totalPrice purchasesAllowed purchaseMaxShareOfTotalPrice compensation"
    )


class Qna(Record):
    date: Day | None = None
    note: Texts | None = None
    passed_over = names("id externalLink")


class Appointment(Record):
    name: Texts
    date: Day
    note: Texts
    passed_over = names("id")


class Dates(Record):
    offerDeadline: Moment | None = None
    specificDeadlinesAndFormalRequirements: Texts | None = None
    qnas: list[Qna]
    otherAppointments: list[Appointment]
    documentsAvailable: DateRange | None = None
    expressionOfInterestUntil: Day | None = None
    declineInvitationUntil: Day | None = None
    offerValidityDeadlineDate: Day | None = None
    offerValidityDeadlineDays: int | None = None
    offerValidityNotes: Texts | None = None
    offerOpening: DateOptionalTime | None = None
    offerOpeningNotes: Texts | None = None
    offerSubmission: DateOptionalTime | None = None
    offerSubmissionNotes: Texts | None = None
    participationRequestOpening: DateOptionalTime | None = None
    participationRequestOpeningNotes: Texts | None = None
    selectParticipants: DateOptionalTime | None = None
    selectParticipantsNotes: Texts | None = None
    passed_over = names(
        "processType orderType publicationDate initialPublicationDate publicationDateForecast qnaRoundSourceType "
        "offerValidityDeadlineType reductionMinimumOfferDeadline publicOfferOpening offerOpeningPostalCode "
        "offerOpeningCity offerParticipantSelectionNotes"
    )


class Decision(Record):
    """Why, not who: bidders and prices are left out."""

    awardDecisionJustification: Texts | None = None
    awardDecisionNote: Texts | None = None
    totalPriceSelectionNote: Texts | None = None
    remediesNotice: Texts | None = None
    passed_over = names(
        "numberOfSubmissions totalPriceSelection totalPriceRange awardDecisionDate awardDecisionWithJustification "
        "awardDecisionJuryDescription vendors"
    )


class ParticipantSelection(Record):
    participantSelectionNote: Texts | None = None
    remediesNotice: Texts | None = None
    passed_over = names("participantSelectionLimitation participantSelectionCommunication vendors")


class Revocation(Record):
    reason: Texts
    remarks: Texts | None = None
    remediesNotice: Texts | None = None
    passed_over = names("publicationDate")


class Abandonment(Record):
    reasons: list[str]
    otherReason: Texts | None = None
    remarks: Texts | None = None
    remediesNotice: Texts | None = None
    passed_over = names("publicationDate")


class Notice(Record):
    notice: Texts | None = None


class Correction(Record):
    remarks: Texts | None = None
    passed_over = names("correctedPubId initialPublicationDate correctionDiffKeys")


class Reference(Record):
    """An earlier publication of the same project."""

    publicationId: Uuid | None = None
    publicationNumber: Number | None = None
    publicationDate: Day | None = None
    pubType: PubType | None = None
    passed_over = names("projectType processType corrected publishers")


_CALL = ("project-info", "procurement", "terms", "dates")
SECTIONS: dict[str, tuple[str, ...]] = {
    # The description makes an advance notice one of the next three, by the type of its project.
    "advance_notice": _CALL,
    "tender": _CALL,
    "competition": _CALL,
    "study_contract": _CALL,
    "request_for_information": ("project-info", "procurement", "terms", "dates"),
    "selective_offering_phase": ("notice", "dates", "criteria"),
    "participant_selection": ("project-info", "procurement", "participant-selection"),
    "award": ("project-info", "procurement", "decision"),
    "direct_award": ("project-info", "procurement", "decision"),
    "revocation": ("project-info", "procurement", "revocation"),
    "abandonment": ("project-info", "abandonment"),
}


class Publication(Record):
    """``publication-details`` of any type; ``SECTIONS`` says what each type must have."""

    id: Uuid
    type: PubType
    base: Base | None = None
    project_info: ProjectInfo | None = Field(None, alias="project-info")
    procurement: Procurement | None = None
    lots: list[Lot] | None = None
    lot: Lot | None = None
    abandonedLot: Lot | None = None
    criteria: Criteria | None = None
    terms: Terms | None = None
    dates: Dates | None = None
    decision: Decision | None = None
    participant_selection: ParticipantSelection | None = Field(None, alias="participant-selection")
    revocation: Revocation | None = None
    abandonment: Abandonment | None = None
    notice: Notice | None = None
    correction: Correction | None = None
    referencingPub: Reference | None = None
    passed_over = names("projectType publishers hasProjectDocuments ted detail invitedVendors revokedPub")

    @classmethod
    def missing(cls, answer: Mapping[str, Any]) -> list[str]:
        kind = answer["type"]
        return [f"{name}: required for type {kind}" for name in SECTIONS[kind] if answer.get(name) is None]
