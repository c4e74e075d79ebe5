"""A SIMAP publication as readable text: what an office asks for, under headings in the publication's language.

Each field is taken in the first language of the given order that says something there (markup around nothing does not);
headings are in the language most of the text is in. In the text: title, kind, procedure, office, subject codes with
their labels, descriptions, lots, criteria with their proofs and weights, terms, dates and notes, reasons of decisions,
remedies. Not in it: contact persons, addresses, phone numbers, e-mail and web addresses of the forms, names of bidders,
jury members and firms involved before, prices (they say nothing about what is asked for, and data about persons that is
not there needs no masking; what offices write into their texts is masked with the rest of the corpus), and SIMAP's own
numbers and ids, which would undo the keyed hashes of the published corpus.
"""

import datetime as dt
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tendril_assets.corpus import notice_records as api
from tendril_assets.corpus.markup import text_blocks
from tendril_assets.corpus.notice_shape import Texts
from tendril_assets.corpus.notice_words import word

# Above what an answer can hold; see the bound on its bytes in the client.
MAX_CHARACTERS = 50_000_000

LANGUAGES = ("de", "fr", "it", "en")

# What depends on the language of the whole: a heading, or a line of a list; None leaves it out.
Phrase = Callable[[str], str | None]


class Rendered(NamedTuple):
    """``text`` is "" where no field says anything in the languages asked for; ``language`` is then the first of them."""

    text: str
    language: str
    title: str
    cpv: str | None


@dataclass
class _Section:
    """Blocks of text, lines and sections below a heading; one without any has no heading either."""

    heading: Phrase | None = None
    parts: "list[_Part]" = field(default_factory=list)

    def blocks(self, language: str) -> list[str]:
        found: list[str] = []
        lines: list[str] = []
        for part in [*self.parts, ""]:
            if callable(part):
                if line := part(language):
                    lines.append(f"- {line}")
                continue
            if lines:
                found.append("\n".join(lines))
                lines = []
            found += part.blocks(language) if isinstance(part, _Section) else [part] if part else []
        heading = self.heading(language) if self.heading and found else None
        return [heading, *found] if heading else found


_Part = _Section | Phrase | str


class _Page:
    """Chooses the language of each text, and remembers how much of which was taken."""

    def __init__(self, order: Sequence[str]) -> None:
        self.order = tuple(order)
        self.taken: Counter[str] = Counter()

    @property
    def language(self) -> str:
        return max(self.order, key=lambda language: self.taken[language])

    def prose(self, texts: Texts | None) -> list[str]:
        for language in self.order if texts else ():
            text = getattr(texts, language)
            if text and (blocks := text_blocks(text, MAX_CHARACTERS)):
                self.taken[language] += sum(map(len, blocks))
                return blocks
        return []

    def line(self, texts: Texts | None) -> str:
        return " ".join(" ".join(self.prose(texts)).split())

    def under(self, key: str, *texts: Texts | None) -> _Section:
        return _Section(_word(key), [block for text in texts for block in self.prose(text)])

    def label(self, texts: Texts | None, language: str) -> str:
        """A label of a catalogue: there in all languages, so it says nothing about the text's."""
        for candidate in (language, *self.order) if texts else ():
            if text := getattr(texts, candidate):
                return " ".join(text.split())
        return ""


def title_of(texts: Texts, order: Sequence[str]) -> tuple[str, str]:
    """(title, its language): the first of ``order`` that has one, else any other, else ("", the first of ``order``)."""
    page = _Page([*order, *(language for language in LANGUAGES if language not in order)])
    return page.line(texts), page.language


def _word(key: str) -> Phrase:
    return lambda language: word(key, language)


def _fact(key: str, value: Phrase | str | None) -> Phrase:
    """``word: value``; left out where either is missing."""

    def phrase(language: str) -> str | None:
        name, text = word(key, language), value(language) if callable(value) else value
        return f"{name}: {text}" if name and text else None

    return phrase


def render(publication: api.Publication, order: Sequence[str]) -> Rendered:
    """The text of one publication; ``order`` are the languages, the wanted one first."""
    page = _Page(order)
    base, info, bought = publication.base, publication.project_info, publication.procurement
    title = page.line(base.title if base else None) or page.line(info.title if info else None)
    office = page.line(info.procOfficeAddress.name if info and info.procOfficeAddress else None)
    facts: list[Phrase] = [_fact("kind", _word(publication.type))]
    if bought:
        facts += [_fact("process", _word(bought.processType or "")), _fact("order_type", _word(bought.orderType or ""))]
    body = _Section(None, [*facts, _fact("office", office)])
    # A decision names its lot and no more.
    body.parts += [_lot_name(page, lot) for lot in (publication.lot, publication.abandonedLot) if lot]
    body.parts += _procurement(page, bought) if bought else []
    body.parts += [_lot(page, lot) for lot in publication.lots or ()]
    body.parts += _criteria(page, publication.criteria) if publication.criteria else []
    body.parts += _outcome(page, publication)
    body.parts += [_terms(page, publication.terms)] if publication.terms else []
    body.parts += [_documents(page, info)] if info else []
    body.parts += [_dates(page, publication.dates)] if publication.dates else []
    body.parts.append(page.under("correction", publication.correction.remarks if publication.correction else None))
    body.parts += _remedies(page, publication)
    language = page.language
    blocks = [*([title] if title else []), *body.blocks(language)]
    code = (base.cpvCode if base else None) or (bought.cpvCode if bought else None)
    text = "\n\n".join(blocks) + "\n" if page.taken else ""
    return Rendered(text, language, title, code.code if code else None)


def _procurement(page: _Page, bought: api.Procurement) -> list[_Part]:
    subject = _Section(_word("subject"), [*_codes(page, "CPV", [bought.cpvCode, *(bought.additionalCpvCodes or ())])])
    subject.parts += [*_codes(page, "BKP", bought.bkpCodes), *_codes(page, "eBKP-H", bought.ebkphCodes)]
    subject.parts += [*_codes(page, "eBKP-T", bought.ebkptCodes), *_codes(page, "NPK", bought.npkCodes)]
    subject.parts += [*_codes(page, "OAG", bought.oagCodes)]
    described = page.under("project_order", bought.projectOrderDescription)
    return [described, page.under("order", bought.orderDescription), subject, *_order(page, bought)]


def _codes(page: _Page, system: str, codes: Sequence[api.Code | None] | None) -> list[Phrase]:
    return [
        lambda language, code=code: f"{system} {code.code} {page.label(code.label, language)}".strip()
        for code in codes or ()
        if code
    ]


def _order(page: _Page, order: "api.Procurement | api.Lot") -> list[_Part]:
    """Place, time and what may be offered: the selections as a list, then what is said about each."""
    return [
        _fact("place", page.line(order.orderAddressDescription)),
        _fact("contract", _span(order.contractPeriod, order.contractDays)),
        _fact("execution", _span(order.executionPeriod, order.executionDays)),
        _fact("extension", _word(order.canContractBeExtended or "")),
        _fact("options", _word(order.options or "")),
        _fact("variants", _word(order.variants or "")),
        _fact("partial_offers", _word(order.partialOffers or "")),
        page.under("execution", order.executionNote),
        page.under("extension", order.canContractBeExtendedNote),
        page.under("options", order.optionsNote),
        page.under("variants", order.variantsNote),
        page.under("partial_offers", order.partialOffersNote),
    ]


def _lot_name(page: _Page, lot: api.Lot) -> Phrase:
    title = page.line(lot.title)
    return lambda language: f"{word('lot', language)} {lot.lotNumber}: {title}".removesuffix(": ")


def _lot(page: _Page, lot: api.Lot) -> _Section:
    heading = _lot_name(page, lot)
    section = _Section(heading, [*page.prose(lot.orderDescription)])
    codes = [*_codes(page, "CPV", lot.additionalCpvCodes), *_codes(page, "BKP", lot.bkpCodes)]
    section.parts += [*codes, *_codes(page, "NPK", lot.npkCodes), *_order(page, lot), *_criteria(page, lot)]
    return section if section.blocks(page.language) else _Section(None, [heading])


def _criteria(page: _Page, criteria: "api.Criteria | api.Lot") -> list[_Part]:
    qualification = page.under("qualification", criteria.qualificationCriteriaNote)
    if criteria.qualificationCriteriaInDocuments == "yes":
        qualification.parts.insert(0, _word("in_documents"))
    qualification.parts += [_criterion(page, c, page.line(c.title)) for c in criteria.qualificationCriteria or ()]
    selection = page.under("selection", criteria.weightedQualificationCriteriaNote)
    if criteria.weightedQualificationCriteriaInDocuments == "yes":
        selection.parts.insert(0, _word("in_documents"))
    selection.parts += [_weighted(page, c) for c in criteria.weightedQualificationCriteria or ()]
    award = page.under("award_criteria", criteria.awardCriteriaNote)
    stated = {"criteria_in_documents": "in_documents", "total_price": "lowest_price"}
    if key := stated.get(criteria.awardCriteriaSelection or ""):
        award.parts.insert(0, _word(key))
    award.parts += [_weighted(page, c) for c in criteria.awardCriteria or ()]
    return [qualification, selection, award]


def _criterion(page: _Page, criterion: api.TermCriterion, title: str, weight: int | None = None) -> _Section:
    def heading(language: str) -> str | None:
        weighted = f"({word('weight', language)} {weight} %)" if weight is not None else ""
        return f"{title} {weighted}".strip() or None

    described: list[_Part] = [*page.prose(criterion.description), page.under("proof", criterion.verification)]
    section = _Section(heading, described)
    return section if section.blocks(page.language) else _Section(None, [heading])


def _weighted(page: _Page, criterion: api.WeightedCriterion) -> _Section:
    return _criterion(page, criterion, page.line(criterion.title), criterion.weighting)


def _terms(page: _Page, terms: api.Terms) -> _Section:
    participation = page.under("participation", terms.termsNote)
    if terms.termsType == "in_documents":
        participation.parts.insert(0, _word("in_documents"))
    participation.parts += [_criterion(page, criterion, "") for criterion in terms.termsCriteria or ()]
    return _Section(
        _word("terms"),
        [
            _fact("consortium", _word(terms.consortiumAllowed or "")),
            _fact("subcontractor", _word(terms.subContractorAllowed or "")),
            page.under("consortium", terms.consortiumNote),
            page.under("subcontractor", terms.subContractorNote),
            participation,
            page.under("other_terms", terms.otherRequirements),
            page.under("business", terms.termsOfBusiness),
            page.under("payment", terms.termsOfPayment),
            page.under("costs", terms.includedCosts),
            page.under("deposits", terms.securityDeposits),
            page.under("non_wto", terms.nonWTORequirements),
            page.under("walk_through", terms.walkThroughNotes),
            page.under("total_price", terms.totalPriceNote),
            page.under("purchase", terms.purchaseNote),
            page.under("compensation", terms.compensationNote),
            page.under("jury", terms.bindingJuryDecision),
            page.under("anonymity", terms.anonymity),
        ],
    )


def _documents(page: _Page, info: api.ProjectInfo) -> _Section:
    notes = (info.documentsSourceNote, info.documentsLanguagesNote, info.documentsCostsNote, info.offerSpecificNote)
    section = page.under("documents", *notes, info.publicationLanguagesComment)
    section.parts.append(page.under("lot_limit", info.participantLotsLimitationNote))
    section.parts.append(page.under("dialog", info.dialogNote))
    return section


def _dates(page: _Page, dates: api.Dates) -> _Section:
    section = _Section(_word("dates"), [_fact("offer_deadline", _moment(dates.offerDeadline))])
    section.parts += [_fact("available", _span(dates.documentsAvailable, None))]
    section.parts += [_fact("interest", _day(dates.expressionOfInterestUntil))]
    section.parts += [_fact("decline", _day(dates.declineInvitationUntil))]
    for qna in dates.qnas:
        said = [_day(qna.date), page.line(qna.note)]
        section.parts.append(_fact("questions", ", ".join(filter(None, said))))
    for appointment in dates.otherAppointments:
        name, note = page.line(appointment.name), page.line(appointment.note)
        text = f"{name}: {', '.join(filter(None, (_day(appointment.date), note)))}"
        section.parts.append(lambda _, text=text: text.removeprefix(": "))
    timed = (
        ("opening", dates.offerOpening, dates.offerOpeningNotes),
        ("submission", dates.offerSubmission, dates.offerSubmissionNotes),
        ("request_opening", dates.participationRequestOpening, dates.participationRequestOpeningNotes),
        ("selection_date", dates.selectParticipants, dates.selectParticipantsNotes),
    )
    section.parts += [_fact(key, _moment(when.dateTime, when.ignoreTime)) for key, when, _ in timed if when]
    section.parts += [_fact("validity", _day(dates.offerValidityDeadlineDate))]
    section.parts += [_fact("validity", _span(None, dates.offerValidityDeadlineDays))]
    section.parts += [page.under("validity", dates.offerValidityNotes)]
    section.parts += [page.under(key, note) for key, _, note in timed]
    section.parts += [page.under("formal", dates.specificDeadlinesAndFormalRequirements)]
    return section


def _outcome(page: _Page, publication: api.Publication) -> list[_Part]:
    """What a decision says; each kind of publication has one of these at most."""
    parts: list[_Part] = []
    if publication.notice:
        parts += page.prose(publication.notice.notice)
    if decision := publication.decision:
        parts.append(page.under("decision", decision.awardDecisionJustification, decision.totalPriceSelectionNote))
        parts.append(page.under("decision_note", decision.awardDecisionNote))
    if selection := publication.participant_selection:
        parts.append(page.under("participants", selection.participantSelectionNote))
    if revocation := publication.revocation:
        parts += [page.under("why_revoked", revocation.reason), page.under("remarks", revocation.remarks)]
    if abandonment := publication.abandonment:
        reasons: list[_Part] = [_word(reason) for reason in abandonment.reasons]
        parts.append(_Section(_word("why_abandoned"), [*reasons, *page.prose(abandonment.otherReason)]))
        parts.append(page.under("remarks", abandonment.remarks))
    return parts


def _remedies(page: _Page, publication: api.Publication) -> list[_Section]:
    of = (
        publication.terms,
        publication.decision,
        publication.participant_selection,
        publication.revocation,
        publication.abandonment,
    )
    return [page.under("remedies", part.remediesNotice) for part in of if part]


def _day(day: dt.date | None) -> str:
    return f"{day:%d.%m.%Y}" if day else ""


def _moment(moment: dt.datetime | None, ignore_time: bool = False) -> str:
    """Local time as the office gave it; midnight stands for the day."""
    if moment is None:
        return ""
    return (
        f"{moment:%d.%m.%Y}" if ignore_time or (moment.hour, moment.minute) == (0, 0) else f"{moment:%d.%m.%Y, %H:%M}"
    )


def _span(span: api.DateRange | None, days: int | None) -> Phrase:
    """From a day until another, or a number of days."""

    def phrase(language: str) -> str | None:
        if span and len(span.dateRange) == 2:
            first, last = map(_day, span.dateRange)
            return f"{word('from', language)} {first} {word('until', language)} {last}"
        return f"{days} {word('days', language)}" if days is not None else None

    return phrase
