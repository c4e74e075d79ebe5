"""Word lists of the rule-based person detector. Short on purpose: they weigh a miss against masking ordinary words."""

from tendril_assets.corpus.word_lists import word_list

# Last names that are words of tender documents too; alone, without title or first name, they are left as words.
COMMON_WORDS = word_list(
    """acker bach bauer baum berg binder bischof boden brand braun brunnen burg busch dach decker eisen engel ernst fach
    feld fenster fischer fleischer forst förster frank frei fuchs garten gerber gärtner glas glaser graf grau gross
    grün gut hafner hahn hammer hart haus heim herzog hof holz horn hut jäger jung junge kaiser kalt kamm kanton
    keller kern kirch klein koch kohl korn kraft kranz kreis krug kunst kurz könig lager land lang lehner leiter licht
    linde linden maler markt mauer maurer metzger moos muster münster nagel neu nord ofen ost park pfister platz preis
    rasen raum reich rein richter ring ritter rohr rose roth sand sattler schenk schild schloss schlosser schmied
    schneider schreiber schreiner schule schuster schwarz schäfer sommer sonne spengler stadler stahl stark staub
    steiger stein stern stock storch strasse straub strom süss tanner taube teich thal tor trost turm vogel vogt voll
    wagner wahl wald wand weg weiss werk west wind winkel winter wirt wolf zaun ziegler zimmer zimmermann zoll zug
    service maison bois pont place ville fontaine fleur jardin marchand berger bosco casa chiesa costa ferro fiore
    fontana legno monte ponte prato riva villa test beispiel"""
)

# Capitalised words that end a name, or show that there is none: offices, kinds of organisation, contact words, towns.
STOP_WORDS = word_list(
    """passwort kennwort benutzername login password zugangscode pin
    der die das den dem des ein eine einer im am zum alle jede jeder sie ihr ihre wir für mit und oder les la le des
    il gli abteilung ag amt anbieter anbieterin anbieterinnen anlage antrag auftraggeber auftraggeberin auskunft bahn
    bau baudirektion bauherr bauherrin bauherrschaft bereich besteller betrieb bibliothek brücke bund bundesamt bureau
    büro canton città cmbh commune comune consorzio dame damen dank departement departemente département dienst
    direction direktion divisione e-mail email entreprise etat fabrik fachstelle fax finanzen firma fribourg funktion
    gemeinde gemeinden geschäft gesellschaft gmbh handy haus herr herren herrn hochbau hochbauamt hotel impresa
    infrastruktur ingenieure institut intern kanton kantons kirche klasse kollege kollegin kollegen kommission kunde
    kundin kundinnen lieferant los madame mail messieurs mesdames mobile monsieur natel nummer objekt office ort pax
    personal planung platform platz portal post postfach projekt projekte quartier rathaus ref referat referenz region
    ressort sa schule schweiz schweizer sekretariat service services siedlung signora signore signori sitz spital
    staat stab stadt städte stiftung strasse stv submission suisse svizzera sàrl team technik tel telefax telefon
    telefono theater tiefbau tiefbauamt téléphone ufficio umwelt universität unternehmen unternehmung unternehmer
    verein verkehr verwaltung vergabestelle ville werke zentrum gasse weg frau mme mlle sig dr prof und seite datum
    uhr aarau baden basel bellinzona bern biel bülach burgdorf chur davos delémont dietikon dübendorf frauenfeld
    fribourg freiburg genève genf glarus herisau kloten köniz kreuzlingen lausanne liestal locarno losanna lugano
    luzern martigny mendrisio montreux neuchâtel neuenburg nyon olten payerne rapperswil riehen sarnen schaffhausen
    schwyz sion sitten solothurn stans thun uster vevey wädenswil wetzikon wil winterthur yverdon zug zürich zurich
    aargau appenzell graubünden jura nidwalden obwalden tessin ticino thurgau uri valais vaud waadt wallis montag
    dienstag mittwoch donnerstag freitag samstag sonntag januar februar märz april juni juli september oktober
    november dezember janvier février mars avril juin juillet août septembre octobre novembre décembre lundi mardi
    mercredi jeudi vendredi samedi dimanche gennaio febbraio marzo aprile maggio giugno foundation fondation
    fondazione bank versicherung museum rue avenue chemin route boulevard quai impasse allée via viale piazza scuola
    istituto palazzo villa casa centro école collège stade musée hôpital clinique salle espace marke fabrikat produkt
    hersteller baufeld trakt gebäude kloster restaurant pfarrei heim klinik saal kapelle system typ modell serie
    etappe liebe lieber liebes hallo cher chère caro cara salut ciao protokoll lebenslauf vorsitz kopie mmes mm herrn
    d'etat d'état queen sir san santa santo sankt saint sainte st ste vicolo contrada corso place ruelle luglio agosto
    settembre ottobre novembre dicembre schweizerische schweizerischer eidgenössische kantonale städtische"""
)
# Abbreviations in capitals that stand where a last name in capitals could.
ABBREVIATIONS = word_list(
    """EPF BSA FSU FSAP SVIT BSLA REG AG SA GMBH KG SIA ETH ETHZ EPFL EPUL HTL FH FHNW HF HSG ZHAW MAS CAS DAS MSC BSC
    EMBA MBA CHF EUR MWST TVA IVA EFZ EBA SBB CFF FFS PDF LV NPK CAN CPN BKP CFC CPV ISO DIN EN SN VSS UVP GIS CAD BIM
    EDV IT IKT HLK HLKS HLKSE MSR WC EG OG UG DG PLZ TEL FAX MAIL NR VOB VÖB BÖB IVÖB GATT WTO EU CH ZH BE LU UR SZ OW
    NW GL ZG FR SO BS BL SH AR AI SG GR AG TG TI VD VS NE GE JU ASTRA BAFU BBL KBOB ESTI SUVA VKF USIC USB LED PVC PE
    PP HDPE PUR EPS XPS FSC PEFC TED SIMAP SHAB UID AHV AVS IBAN QR PIN URL GU TU ARGE PQ QS FAQ TBD USA UNO ABB VBZ
    BLS PC ID KV STV DR PROF DIPL ING ARCH"""
)
# Words of tender documents that are no names, and endings of such words.
NOUNS = word_list(
    """angaben angebot angebote anforderungen anhang ankauf anteil antworten arbeit arbeiten art artikel aufgaben aufgabe
    auftrag auftrage ausbau auszug basis bauten bauwerk bauwerke bedarf begleitung beginn beilage beilagen beispiel
    belag bericht berichte beschrieb bestand beton boden breite budget daten dauer deckel dokument dokumente eignung
    einkauf einsatz einheit element elemente ende energie entwurf erfahrung ersatz etappe fach fassade farbe farben
    feld fenster firmen fläche flächen form formular fragen frist fristen ganze garantie gebäude gefahr gelände geräte
    gewerbe gewicht gremium grundlagen gruppe gutachten handel heizung hersteller hilfe honorar höhe inhalt innen
    interne jahr jahre kabel klima komitee konto kontrolle konzept kopie kosten kredit kriterien kriterium lage lager
    länge leistungen leistung lieferung liste lösung löhne mandat mangel massnahmen material materialien menge mengen
    methode miete mitte mittel modell module monat monate montage motor nachweis name namen norm normen nutzen nutzung
    objekte offerte offerten ordnung organisation pflicht phase phasen plan pläne planer preis preise privat produkt
    produkte programm prozess punkt punkte qualität rahmen raum recht rechte regeln rechnung richtlinien risiko rohr
    rohre sache schutz seiten sicherheit sicht signatur sitzung stahl stand standort stelle stellen stoff stoffe
    stunde stunden summe system systeme tag tage teil teile termin termine text thema themen titel transport türen typ
    umbau unterhalt unterlagen unterschrift ursprung varianten variante verfahren verfügung vergabe verkauf vertrag
    verträge vorgaben vorname wand wände ware waren wasser wechsel werk wert werte wettbewerb woche wochen zahl zahlen
    zeit zertifikat ziel ziele zimmer zone zonen zuschlag zugang zustand zwecke nachname hochbauten tiefbauten marché
    marchés offre offres travaux lot dossier projet chantier chantiers date délai critère critères prix bâtiment
    bâtiments maître ouvrage bureau concorso appalto offerta lavori progetto cantiere criteri data documenti
    capitolato direttiva annexe article sport energie natur landschaft architektur statik akustik bauphysik garten
    gärten elektro sanitär lüftung haustechnik geologie vermessung geomatik informatik kommunikation beschaffung
    beschaffungen personal bildung kultur soziales gesundheit liegenschaften immobilien"""
)
NOUN_ENDINGS = (
    "ungen|ung|heiten|heit|keiten|keit|schaften|schaft|tionen|tion|täten|tät|ismus|nisse|nis|tum|mente|ment|arbeiten|material|"
    "materialien|system|systeme|verfahren|plan|pläne|preis|preise|kosten|zeit|fläche|flächen|beton|stoff|stoffe|technik|"
    "element|elemente|gerät|geräte|daten|programm|konzept|bericht|norm|normen|recht|schutz|verkehr|wasser|bedarf|angebot|"
    "vertrag|werk|raum|räume|tür|türen|fenster|wand|wände|dach|decke|decken|belag|beläge|leitungen|anlagen|logie|grafie|graphie|"
    "istik|matik|kriterium|kriterien|beilage|formular|lohn|löhne|frist|fristen|grad|wert|werte|liste|tabelle|titel|"
    "issement|ssion|ique|ures|azione|zioni|mento|menti|ità"
)
# Roles, also as the end of a compound (Stadtpräsidentin, Oberbauleiter) ...
ROLES = (
    "leiter|leitung|vertretung|präsident|direktor|sekretär|ingenieur|architekt|planer|führer|beauftragte|beauftragter|verantwortliche"
    "|verantwortlicher|berater|vorsteher|bearbeiter|assistent|mitarbeiter|professor|doktor|inspektor|unternehmer|bauherr"
    "|vertreter|partner|chef|cheffe|experte|expert|anwalt|anwält|notar|kollege|kolleg|polier|verwalter|koordinator|manager|techniker"
    "|monteur|gutachter|prüfer|verfasser|person|personen|spezialist|fachmann|fachfrau|fachplaner|hauswart|kanzler|statthalter"
    "|bürgermeister|kantonsbaumeister|stadtbaumeister|baumeister|vorarbeiter|landschaftsarchitekt|geometer|geologe|bauphysiker"
    "|responsable|directeur|directrice|président|présidente|ingénieur|ingénieure|architecte|conseiller|conseillère|municipal"
    "|municipale|préfet|préfète|secrétaire|syndic|syndique|géomètre|expert|experte|suppléant|suppléante|avocat|avocate|mandataire|gérant|gérante"
    "|direttore|direttrice|responsabile|ingegnere|architetto|architetta|sindaco|sindaca|segretario|segretaria|municipale|capoprogetto"
    "|capo|geometra|direzione|perito|avvocato|avvocata"
)
# ... and those that are last names on their own (Ammann, Meister, Schreiber): a role only behind another word.
COMPOUND_ROLES = "ammann|meister|schreiber|rat|rät|richter|lehrer|zeichner|führer|arzt|ärzt|weibel|wart|verwalter"
# Ends of places, offices and organisations.
PLACES = (
    "amt|amtes|ämter|abteilung|verwaltung|direktion|kommission|strasse|strassen|platz|gasse|schule|schulen|schulhaus|brücke|spital"
    "|dienst|dienste|stelle|gesellschaft|genossenschaft|werk|werke|anlage|zentrum|haus|bau|planung|arbeiten|projekt|halle|departement"
    "|gemeinde|areal|quartier|siedlung|verband|verein|stiftung|bahn|bahnhof|kirche|kanton|büro|institut|fabrik|museum|saal|allee|bad"
    "|rats|gericht|kanzlei|behörde|zweckverband|hochschule|universität|park|garten|ingenieure|architekten|planer|technik|wohnen"
)
# Firms and brands known by the name of a person, without a legal form behind them.
BRANDS = frozenset(
    (
        "georg fischer",
        "walter meier",
        "ernst schweizer",
        "carlo gavazzi",
        "robert bosch",
        "hugo boss",
        "carl zeiss",
        "karl storz",
        "otto fischer",
        "franz carl weber",
        "bruno piatti",
        "willy bogner",
        "alfred müller",
        "rudolf steiner",
        "pro juventute",
        "blauer engel",
        "henri dunant",
        "albert schweitzer",
    )
)
