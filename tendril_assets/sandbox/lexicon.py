"""Topic stems of the sandbox's areas of action and criteria: what the stand-in judge knows of the subject.

A stem is lower case and matches the beginning of a word (``holz`` matches ``Holzwerkstoffe``); a compound that
carries the topic in its second half has its own entry (``brettschichtholz``). The stems include synonyms that the
catalogs do not use, so that a judge which reads them sees more than shared words. They are deliberately incomplete:
a judge built on them is better than chance and worse than the sample's truth.
"""

# fmt: off
AREA_STEMS: dict[str, tuple[str, ...]] = {
    "hb_waermeschutz": (
        "wärmeschutz", "wärmeschütz", "wärmedämm", "dämm", "u-wert", "wärmebrück", "gebäudehüll", "fassad",
        "fenster", "verglasung", "dreifach", "luftdicht", "transmission", "heizwärme", "minergie",
        "isolation", "isolier", "thermograf", "blower", "aussenwand", "kellerdecke", "wärmeverlust",
        "wärmedurchgang",
    ),
    "hb_kreislauf": (
        "recyclingbeton", "rc-beton", "rc-", "sekundär", "gesteinskörnung", "granulat", "betonabbruch",
        "mischabbruch", "abbruch", "rückbau", "wiederverwend", "bauteilbörse", "demontier", "sortenrein",
        "kreislauf", "primärkies", "materialpass", "bauteil", "aushub", "urban", "trennbar",
    ),
    "hb_holz": (
        "holz", "fsc", "pefc", "brettschichtholz", "schweizer holz", "wald", "forst", "sägewerk",
        "tropenholz", "furnier", "schnittholz", "täfer", "parkett", "fichte", "tanne", "lärche", "eiche",
        "einschlag", "schreiner", "massivholz", "konstruktionsholz", "rundholz", "balken",
    ),
    "hb_raumluft": (
        "raumluft", "innenraum", "schadstoff", "lösemittel", "lösungsmittel", "formaldehyd", "voc",
        "emissionsarm", "biozid", "weichmacher", "radon", "asbest", "anstrich", "farbe", "lack", "klebstoff",
        "kleber", "ausdünst", "ausgas", "raumklima", "wohngift", "emicode", "umweltetikette", "versiegel",
    ),
    "hb_baustelle": (
        "baustell", "baulärm", "lärm", "partikelfilter", "russ", "staub", "baumaschin", "bagger",
        "erschütter", "dezibel", "bauabwasser", "absetzbecken", "baulogistik", "dieselmotor", "rammarbeit",
        "nachbar", "anwohn", "benetz", "neutralisation", "schallschutzwand", "ruhezeit", "baustrom",
    ),
    "it_energie": (
        "energieeffizien", "energieverbrauch", "stromverbrauch", "leistungsaufnahme", "watt", "stand-by",
        "standby", "bereitschaft", "ruhezustand", "schlafmodus", "sparmodus", "energy", "netzteil",
        "wirkungsgrad", "kwh", "kilowattstunde", "stromspar", "abschalt", "energielabel", "stromaufnahme",
        "energiesparend", "tec-wert",
    ),
    "it_lebensdauer": (
        "lebensdauer", "langlebig", "reparier", "reparatur", "reparabel", "ersatzteil", "garantie", "akku",
        "batterie", "aufrüst", "nachrüst", "modular", "werkzeug", "nutzungsdauer", "sicherheitsupdate",
        "aktualisierung", "update", "instandsetz", "austausch", "schraub", "verklebt", "haltbar", "ladezykl",
        "arbeitsspeicher",
    ),
    "it_ruecknahme": (
        "rücknahme", "rückführ", "zurücknehm", "zurückgenomm", "altgerät", "entsorg", "recycling",
        "elektroschrott", "elektronikschrott", "sens", "swico", "aufbereit", "refurbish", "occasion",
        "gebraucht", "zweitnutz", "zweites leben", "datenlösch", "datenträger", "verwert", "ausgemuster",
        "ausgedient", "weiterverkauf",
    ),
    "it_lieferkette": (
        "lieferkette", "arbeitsbedingung", "ilo", "kernübereinkommen", "kinderarbeit", "zwangsarbeit",
        "existenz", "mindestlohn", "lohn", "konfliktmineral", "kobalt", "tantal", "zinn", "audit",
        "sozialstandard", "gewerkschaft", "menschenrecht", "unterlieferant", "zulieferer", "fertigungsstätt",
        "fabrik", "überstunden", "vereinigungsfreiheit",
    ),
    "it_rechenzentrum": (
        "rechenzentr", "pue", "abwärme", "kühlung", "kühl", "server", "virtualisier", "auslastung", "cloud",
        "hosting", "kältemittel", "rack", "kaltgang", "klimatisier", "storage", "freikühl", "hoster",
        "gehostet", "host",
    ),
    "mo_antrieb": (
        "antrieb", "emissionsfrei", "elektrofahrzeug", "elektroauto", "elektrisch", "batterieelektr",
        "wasserstoff", "brennstoffzell", "verbrennungsmotor", "euro 6", "abgas", "co2-ausstoss", "co2",
        "hybrid", "elektrobus", "diesel", "flotte", "e-fahrzeug", "treibhausgas", "auspuff", "null-emission",
        "reichweite",
    ),
    "mo_ladung": (
        "ladeinfrastruktur", "ladestation", "ladepunkt", "ladesäule", "wallbox", "laden", "ladevorgang",
        "lademanagement", "lastmanagement", "strommix", "herkunftsnachweis", "photovoltaik", "solarstrom",
        "ökostrom", "naturemade", "wasserkraft", "erneuerbar", "ladeleistung", "stecker", "aufladen",
        "bidirektional", "netzanschluss",
    ),
    "mo_reifen": (
        "reifen", "pneu", "rollwiderstand", "rollgeräusch", "reifenlabel", "reifenetikett", "runderneuer",
        "karkasse", "nasshaftung", "profil", "reifendruck", "luftdruck", "abrieb", "gummi", "vorbeifahr",
        "geräuschklasse", "lauffläche",
    ),
    "mo_logistik": (
        "lieferlogistik", "lieferung", "anliefer", "sendung", "bündel", "tour", "lastenvelo", "lastenrad",
        "cargo", "transport", "leerfahrt", "bahntransport", "bahn", "schiene", "umschlag", "feinverteil",
        "zustell", "spedition", "fahrtenzahl", "sammelbestell", "hub", "kurier", "kommission",
    ),
    "mo_fahrweise": (
        "fahrweise", "ecodrive", "eco-drive", "eco drive", "treibstoff", "kraftstoff", "schulung",
        "fahrerschulung", "chauffeur", "fahrpersonal", "verbrauch", "telematik", "bordcomputer", "leerlauf",
        "motor abstellen", "wartung", "motoröl", "schmierstoff", "waschanlage", "fahrzeugwäsche",
        "vorausschauend", "hydrauliköl", "liter",
    ),
    "ve_saison": (
        "saison", "regional", "region", "herkunft", "einheimisch", "schweizer", "gemüse", "früchte", "obst",
        "produzent", "bauernhof", "landwirt", "flugware", "eingeflogen", "gewächshaus", "erntezeit",
        "saisonkalender", "hof", "umkreis", "luftfracht", "freiland", "bio", "knospe", "inland",
    ),
    "ve_pflanzlich": (
        "vegetarisch", "vegan", "pflanzlich", "pflanzenbasiert", "fleischlos", "fleischfrei", "fleisch",
        "hülsenfrücht", "linsen", "kichererbs", "tofu", "menü", "menu", "eiweiss", "protein", "vollkorn",
        "gemüsegericht", "ovo", "bohnen", "klimafreundlich", "speiseplan",
    ),
    "ve_foodwaste": (
        "food", "lebensmittelabfall", "lebensmittelabfäll", "lebensmittelverschwend", "verschwend",
        "überproduktion", "speiserest", "rest", "tellerrest", "portion", "schöpf", "überschuss", "überschüss",
        "weitergabe", "tafel", "vergär", "biogas", "grüngut", "nachschlag", "abfallmenge", "weggeworfen",
        "wegwerf", "resteverwert", "buffet",
    ),
    "ve_tierwohl": (
        "tierwohl", "tierhaltung", "tierschutz", "tierfreundlich", "freiland", "auslauf", "raus", "bts",
        "label", "käfig", "stall", "geflügel", "eier", "legehenn", "milch", "kühe", "masthuhn", "schwein",
        "rind", "schlacht", "antibiotik", "fisch", "msc", "asc", "weide", "haltung", "fang",
    ),
    "ve_mehrweg": (
        "mehrweg", "einweg", "geschirr", "becher", "depot", "pfand", "verpackung", "verpackt", "wiederbefüll",
        "gebinde", "mehrwegbehälter", "porzellan", "kompostierbar", "plastik", "kunststoff", "folie",
        "abwasch", "besteck", "nachfüll", "flasche", "leergut", "karton", "take-away", "kisten",
    ),
}
"""Area id of the sample catalogs -> stems."""
# fmt: on
