"""Restricting clauses, written for this test in the style of public buyers; each with the rules it breaks."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.corpus.restrictions import Restriction, find_restrictions, sentences

RESTRICTING = [
    (
        "de",
        "Die Ausschreibungsunterlagen dürfen nur für die Ausarbeitung des Angebots verwendet werden.",
        {"offer_only"},
    ),
    ("de", "Die abgegebenen Unterlagen sind ausschliesslich zur Angebotserstellung zu verwenden.", {"offer_only"}),
    ("de", "Einzig für die Offertstellung dürfen die Submissionsunterlagen genutzt werden.", {"offer_only"}),
    ("de", "Eine anderweitige Verwendung der Unterlagen ist untersagt.", {"offer_only"}),
    ("de", "Die Weitergabe der Unterlagen an Dritte ist nicht gestattet.", {"no_third_parties"}),
    ("de", "Die Pläne dürfen Dritten nicht zugänglich gemacht werden.", {"no_third_parties"}),
    ("de", "Es ist verboten, das Leistungsverzeichnis an Dritte weiterzugeben.", {"no_third_parties"}),
    (
        "de",
        "Die Dokumente dürfen nur mit schriftlicher Zustimmung der Vergabestelle an Dritte weitergegeben werden.",
        {"no_third_parties"},
    ),
    ("de", "Ausschreibungsunterlagen dürfen nicht veröffentlicht werden.", {"no_publication"}),
    ("de", "Eine Veröffentlichung des Pflichtenhefts ist unzulässig.", {"no_publication"}),
    (
        "de",
        "Die Unterlagen dürfen weder publiziert noch an Dritte weitergeleitet werden.",
        {"no_publication", "no_third_parties"},
    ),
    ("de", "Der Anbieter darf die Ausschreibungsunterlagen nicht an Dritte weitergeben.", {"no_third_parties"}),
    (
        "de",
        "Die Ausschreibungsunterlagen sind vertraulich und dürfen nicht an Dritte abgegeben werden.",
        {"no_third_parties"},
    ),
    (
        "de",
        "Jede Veröffentlichung der Ausschreibungsunterlagen bedarf der schriftlichen Zustimmung des Bauherrn.",
        {"no_publication"},
    ),
    (
        "de",
        "Die in den Submissionsunterlagen enthaltenen Angaben dürfen nicht für andere Zwecke verwendet werden.",
        {"offer_only"},
    ),
    (
        "fr",
        "Les documents ne peuvent être utilisés à d'autres fins que l'établissement de l'offre.",
        {"offer_only"},
    ),
    ("it", "I documenti non possono essere utilizzati per altri scopi.", {"offer_only"}),
    (
        "fr",
        "Les documents d'appel d'offres ne peuvent être utilisés que pour l'élaboration de l'offre.",
        {"offer_only"},
    ),
    ("fr", "Le présent dossier est destiné exclusivement à la préparation de l'offre.", {"offer_only"}),
    ("fr", "Ces documents ne doivent pas être transmis à des tiers.", {"no_third_parties"}),
    ("fr", "La communication du cahier des charges à des tiers est interdite.", {"no_third_parties"}),
    ("fr", "La publication des documents d’appel d’offres n'est pas autorisée.", {"no_publication"}),
    (
        "fr",
        "Les pièces ne peuvent être ni publiées ni communiquées à des tiers.",
        {"no_publication", "no_third_parties"},
    ),
    ("it", "I documenti di gara possono essere utilizzati unicamente per l'elaborazione dell'offerta.", {"offer_only"}),
    ("it", "La documentazione non può essere trasmessa a terzi.", {"no_third_parties"}),
    ("it", "È vietata la cessione a terzi dei documenti d'appalto.", {"no_third_parties"}),
    ("it", "Il capitolato non deve essere pubblicato.", {"no_publication"}),
    ("it", "È vietata la pubblicazione degli atti di concorso.", {"no_publication"}),
]

HARMLESS = [
    # the limit is denied, or concerns another verb
    "Die Ausschreibungsunterlagen dürfen nicht nur für die Angebotserstellung verwendet werden.",
    "Die Weitergabe der Unterlagen an Dritte ist nicht untersagt.",
    "Die Unterlagen dürfen an Dritte weitergegeben, aber nicht verändert werden.",
    "Die Unterlagen dürfen frei verwendet und an Dritte weitergegeben werden.",
    "La publication des documents n'est pas interdite.",
    "Les documents peuvent être transmis à des tiers.",
    "La pubblicazione dei documenti di gara non è vietata.",
    # facts, not limits
    "Die Ausschreibungsunterlagen werden auf simap.ch veröffentlicht.",
    "Die Ausschreibungsunterlagen werden nicht in der Presse veröffentlicht.",
    "Les documents d'appel d'offres sont publiés sur simap.ch.",
    # another object
    "Für die Ausarbeitung des Angebots sind ausschliesslich die abgegebenen Unterlagen zu verwenden.",
    "Die eingereichten Unterlagen werden Dritten nicht zugänglich gemacht.",
    "Die Unterlagen der Anbieter dürfen nicht an Dritte weitergegeben werden.",
    "Die Weitergabe von Aufträgen an Dritte ist nicht gestattet.",
    "Die Angebote dürfen nicht veröffentlicht werden.",
    "Les documents du soumissionnaire ne sont pas transmis à des tiers.",
    # the bidder's or contractor's own duty of confidentiality
    "Der Anbieter verpflichtet sich, alle Informationen vertraulich zu behandeln und nicht an Dritte weiterzugeben.",
    "Die Auftragnehmerin behandelt alle Unterlagen vertraulich und darf sie nicht an Dritte weitergeben.",
    "Le mandataire s'engage à ne pas communiquer à des tiers les documents reçus.",
    "L'offerente si impegna a non trasmettere a terzi le informazioni ricevute.",
    "Der Auftragnehmer darf Unterlagen, die er bei der Ausführung erhält, nicht an Dritte weitergeben.",
    # a limit, documents and third parties, but not of one another
    "Das Angebot ist nur gültig, wenn für die Erstellung des Angebots die Unterlagen verwendet wurden.",
    "Nicht zugelassen sind Angebote Dritter; die Unterlagen sind zu unterzeichnen.",
    "Nachträgliche Änderungen der Unterlagen sind nicht gestattet, sie werden auf simap publiziert.",
    "Les variantes ne sont pas admises; les documents sont publiés sur simap.",
    # plain requirements
    "Das Holz muss aus nachhaltiger Bewirtschaftung stammen und darf nicht mit Lösungsmitteln behandelt sein.",
    "Angebote sind nur elektronisch einzureichen.",
]


@pytest.mark.parametrize(("language", "sentence", "rules"), RESTRICTING)
def test_restricting_sentences_are_found_with_rule_and_language(language, sentence, rules):
    found = find_restrictions(sentence)
    assert {r.rule for r in found} == rules
    assert {r.language for r in found} == {language}
    assert {r.sentence for r in found} == {sentence}


@pytest.mark.parametrize("sentence", HARMLESS)
def test_harmless_sentences_are_not_counted(sentence):
    assert find_restrictions(sentence) == []


def test_the_evidence_is_the_one_sentence_out_of_a_wrapped_paragraph():
    text = (
        "2.4 Allgemeines\n\nDie Begehung findet am 3. Mai statt. Die Ausschreibungsunterlagen gem. Ziff. 2.1 dürfen\n"
        "nicht an Dritte weitergegeben werden. Fragen sind bis am 10. Mai zu stellen."
    )
    assert find_restrictions(text) == [
        Restriction(
            "no_third_parties",
            "de",
            "Die Ausschreibungsunterlagen gem. Ziff. 2.1 dürfen nicht an Dritte weitergegeben werden.",
        )
    ]


def test_a_list_belongs_to_the_sentence_that_introduces_it():
    text = "Die Unterlagen dürfen nicht:\n- veröffentlicht\n- an Dritte weitergegeben werden."
    assert {r.rule for r in find_restrictions(text)} == {"no_publication", "no_third_parties"}
    # without an introduction, items stand for themselves
    assert sentences("Anforderungen\n- Holz aus\nder Region\n- Beton") == [
        "Anforderungen",
        "- Holz aus der Region",
        "- Beton",
    ]


def test_a_numbered_heading_is_no_part_of_the_evidence():
    text = "4 Preise und Mengen\nDie Weitergabe der Unterlagen an Dritte ist untersagt."
    assert [r.sentence for r in find_restrictions(text)] == ["Die Weitergabe der Unterlagen an Dritte ist untersagt."]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(HARMLESS), min_size=1, max_size=8))
def test_harmless_sentences_stay_harmless_in_company(chosen):
    assert find_restrictions(" ".join(chosen)) == []


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=400))
def test_any_text_is_read(text):
    assert all(r.sentence for r in find_restrictions(text))
