"""Numbers that are content of a tender, whatever they look like: of norms, positions, projects, products, plots, laws."""

from tendril_assets.corpus.lazy_pattern import lazy_pattern

# SN 640 480a, SIA 118/262, NPK 111.222.333, BKP 271.1, SR 172.056.1
_NORM = (
    r"\b(?:SN|SIA|NPK|CAN|CPN|BKP|CFC|CCC|eBKP(?:-[HT])?|EN|ISO|DIN|IEC|VDE|VSS|VDI|ASTRA|CPV|SR|RS|BBl|FF|RAL|CAS"
    r"|NUTS|NOGA"
    r"|Pos(?:\.|ition(?:en)?)?|Art\.|Ziff\.|Abs\.|Kap\.)"
    r"(?:[ /-](?:EN|ISO|SN|SIA|VSS|IEC))*[ \u00a0-]?\d+(?:[.\-/:]\d+)*(?:[ \u00a0]\d{3})*[a-z]?(?![\w])"
)
# "Projekt-Nr. 044 259 31 17", "Plan 079.412.33.08", "Modell 031 322 11 11"
_LABELLED = (
    r"\b(?:(?:Projekt|Objekt|Artikel|Art|Produkt|Serien?|Auftrags?|Bestell|Kredit|Inventar|Dossier|Geschäfts?"
    r"|Register|Kataster|Kat|Parzellen?"
    r"|Los|Dok(?:ument)?|Plan|Bau|Material|Geräte|Anlagen?|Kunden|Rechnungs|Vertrags?|Offert|Meldungs?|Ausschreibungs"
    r"|Publikations|Katalog"
    r"|Ersatzteil|Teile|Typen|Modell|Zeichnungs|Bauteil|Raum|Grundstücks|Liegenschafts|Versicherungs|EGID|EWID|EGRID)"
    r"(?:[- ]?(?:Nr\.?|Nummern?|No\.?|ID)|nummern?)|(?:Plan|Bauteil|Typ|Modell|Model|Type|Baureihe|Serie|Los|Parzelle"
    r"|Parz\.|GB|Kat\.|EGID|EWID"
    r"|Art\.?|Artikel|Modèle|Modello|Parcelle|Mappale|ISBN|ISSN|DOI|GTIN|EAN|IMEI|UVP|Lot|Lotto)"
    r"|(?:n[o°]|numéro|numero)\s+(?:de|d['’]|di)\s*(?:projet|dossier|article|parcelle|commande|progetto|articolo))"
    r"[ \u00a0]?:?[ \u00a0]?\d[\d.\-/:'’ \u00a0]*\d"
)
_REFERENCE = lazy_pattern(f"{_NORM}|{_LABELLED}")


def reference_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of each such number with the word in front of it."""
    return [match.span() for match in _REFERENCE.finditer(text)]
