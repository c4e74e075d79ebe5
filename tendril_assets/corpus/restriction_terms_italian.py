"""Italian words of the third look; the fields are explained in ``restriction_terms``."""

from tendril_assets.corpus.restriction_terms import term_words

_OTHER_NOUN = r"(?:us[oi]|utilizz[oi]|utilizzazion[ei]|impieg[oi]|scop[oi]|fin[ei]|progett[oi]|mandat[oi]|lavor[oi])"
_BIDDING = (
    r"(?:offert[ae](?!\s+(?:inoltrat|presentat))|prezz[oi]|calcol\w*|concorso|appalto|gara|bando|candidatura|commessa"
    r"|(?:presente|questa)\s+procedura)\b"
)

ITALIAN_TERMS = term_words(
    only=(
        r"\b(?:sol[oaei]|soltanto|unicamente|esclusivamente|solamente|esclusiv[oaie]|unic[oa])\b"
        r"|\bnon\b[^;]{1,80}?\b(?:se\s+non|che\s+per)\b"
    ),
    purpose=(
        rf"\b(?:per|fin[ei]|scop[oi]|ambito|a|ad|al|alla|all'|nell'|nel|durante|vista)(?:\b"
        rf"|(?<='))[^.;:]{{0,50}}?\b{_BIDDING}"
    ),
    use=(
        r"\b(?:utilizz|riutilizz|usat|usare|uso\b|impieg|serv(?!iz)|sfrutt|adoper|avval|prestat[aeio]|affidat"
        r"|consegnat|rilasciat)\w*"
    ),
    handed=r"\b(?:fornit|destinat|riservat|mess[aeio]\s+a\s+disposizione|ricev|consult|comunicat|trasmess)\w*",
    pronoun=r"\b(?:ess[oiae]|quest[oiae]|li|le|lo|la|ne)\b",
    finite=r"\b(?:è|sono|ha|hanno|può|possono|deve|devono|sarà|saranno|va|vanno|vale|valgono)\b",
    exclusive=r"\bper\s+nient'\s?altro\b|\bnull'\s?altro\s+che\b|\bper\s+null'\s?altro\b|\bnient'\s?altro\s+che\b",
    other=(
        rf"\bprogetti\s+propri\b|\bpropri\s+progetti\b|\baltr[oiae]\s+{_OTHER_NOUN}\b|\baltrove\b|\b(?:scop"
        rf"|fin)i\s+(?:divers|estrane|commercial|propri)\w*|\boltre\s+(?:il|la|l')\s?(?:gara|concorso|offerta)"
    ),
    beyond=(
        r"\b(?:utilizz|us[oi]\b|impieg|sfrutt)\w*[^.;]{0,50}\b(?:al\s+di\s+)?fuori\s+(?:del|dal|della|dalla|dell'"
        r"|dell)\s?(?:\w+\s+)?(?:gara|concorso|appalto|procedura|offerta)"
    ),
    no_other=rf"\bnessun\w*'?\s?altr[oa]\s+{_OTHER_NOUN}\b|\bnon\s+per\s+altr[ie]\s+{_OTHER_NOUN}\b",
    data=(
        r"\b(?:geodati|dati\s+(?:topografic|geografic|numeric|digital|cad|di\s+base|tecnic|catastal)\w*"
        r"|modell[oi]\s+(?:digital|del\s+terreno|bim|ifc|numeric|3d)\w*"
        r"|rilievi|rilievo|planimetri[ae]|fotografie|foto|ortofoto|immagini\s+aeree|vedute\s+aeree|schem[ai]|schizzi"
        r"|carte|inventari|mappe|visualizzazioni|immagini)\b"
    ),
    aside=(
        r"\b(?:local[ei]|sal[ae]|parchegg\w+|badge|chiav[ei]|licenz[ae]|cantiere|visit[ae]|sopralluog\w+|veicol[oi]"
        r"|macchin\w+|apparecchi\w*|software|campion[ei]"
        r"|confronto|apertura|valutazione|indennità|onorari\w*|budget|titolo\s+indicativo)\b"
    ),
    subject=(
        r"(?:(?:le|la|l'|i|gli|il|tutte|tutti|sol[eio])\s?)*(?:\w+\s+)?\b(?:offert[ae]|prezzi|quantità|domande"
        r"|varianti|referenze|modul[oi]|candidature|persone"
        r"|subappaltatori|prodotti|materiali|importi)\b"
    ),
    matter=(
        r"\b(?:mandat[oi]|contratt[oi]|prestazioni|lavori|incaric\w+|subappalt\w+|commess[ae]|dati\s+personali"
        r"|licenz[ae]|diritti\s+(?!riservati|d'autore)\w+|credit[oi]"
        r"|chiav[ei]|personale|mandatari\w+|aggiudicatari\w+)\b"
    ),
    persons=r"\b(?:ospit|resident|pazient|alliev|client|assicurat|utent|bambin)\w*",
    notice=(
        r"(?:^|[-*|;:!.©]\s+|[a-z0-9]{1,3}[.)]\s)(?:(?:è\s+)?(?:(?:la|ogni|qualsiasi|l'|nessuna|vietat[ae]\s+(?:la"
        r"|ogni))\s?)?(?:\w+\s+(?:e|o)\s+)?\b(?:riproduzione|diffusione|pubblicazione|divulgazione"
        r"|trasmissione|cessione)\b(?!\s+(?:de[il]|della|delle|degli|dell'|di|su\s+simap|sul\s+foglio)\b)"
        r"|(?:da\s+)?non\s+(?:diffondere|trasmettere|divulgare|pubblicare"
        r"|riprodurre)\b|(?:è\s+)?vietato\s+(?:diffondere|trasmettere|divulgare|pubblicare|riprodurre)\b(?!\s+(?:il|la"
        r"|i|gli|le|lo)\b))"
    ),
    publishing=r"\b(?:riprodu|diffus|diffond|pubblic)\w*",
    secret=(
        r"(?:^|[-*|:]\s+)(?:strettamente\s+)?(?:confidenziale|riservato)\s*(?:$|!|\.\s*$|[-/|,:]\s*(?:riservato|non"
        r"|solo|per|unicamente|esclusivamente)\b)"
        r"|(?:esclusivamente|unicamente|strettamente)?\s*riservat\w*\s+a[il]\s+(?:sol[oi]\s+)?destinatari[oi]?\b"
    ),
    shut_out=(
        r"\bnessun\w*'?\s?altr[oa]\s+(?:person|ditt|impres)\w*|\bnon\b[^.;]{0,30}\b(?:finire|cadere"
        r"|capitare)\s+in\s+man[oi]\b|\bnessun\s+estraneo\b"
        r"|\bnon\s+(?:deve|devono|può|possono)\s+uscire\b"
    ),
    given=(
        r"\b(?:geodati|riliev|planimetri|ortofoto|consegnat|ricevut|fornit|prestat|allegat"
        r"|mess[aeio]\s+a\s+disposizione|rilasciat|trasmess|offerent|concorrent|candidat)\w*"
    ),
)
