"""Word lists of the rule-based person detector. Short on purpose: they weigh a miss against masking ordinary words."""


def _list(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Last names that are words of tender documents too; alone, without title or first name, they are left as words.
COMMON_WORDS = _list(
    """acker bach bauer baum berg binder bischof boden brand braun brunnen burg busch dach decker eisen engel ernst fach
    feld fenster fischer fleischer forst förster frank frei fuchs garten gerber gärtner glas glaser graf grau gross grün
    gut hafner hahn hammer hart haus heim herzog hof holz horn hut jäger jung junge kaiser kalt kamm kanton keller kern
    kirch klein koch kohl korn kraft kranz kreis krug kunst kurz könig lager land lang lehner leiter licht linde linden
    maler markt mauer maurer metzger moos muster münster nagel neu nord ofen ost park pfister platz preis rasen raum
    reich rein richter ring ritter rohr rose roth sand sattler schenk schild schloss schlosser schmied schneider
    schreiber schreiner schule schuster schwarz schäfer sommer sonne spengler stadler stahl stark staub steiger stein
    stern stock storch strasse straub strom süss tanner taube teich thal tor trost turm vogel vogt voll wagner wahl wald
    wand weg weiss werk west wind winkel winter wirt wolf zaun ziegler zimmer zimmermann zoll zug service maison bois
    pont place ville fontaine fleur jardin marchand berger bosco casa chiesa costa ferro fiore fontana legno monte ponte
    prato riva villa test beispiel"""
)

# First names common in Switzerland that are no ordinary words of the three languages. Followed by another capitalised
# word, they are taken for a person.
FIRST_NAMES = _list(
    """adrian albert alessandro alessia alexander alexandra alfred alice alois andrea andreas andré angela angelo anita
    anja anna anne annette anton antoine antonio armin arnold barbara beat beatrice benjamin bernard bernhard bettina
    brigitte bruno camille carla carlo carmen caroline cédric chantal charles charlotte chiara christa christian
    christina christine christof christoph christophe claude claudia claudine claudio corinne cornelia daniel daniela
    davide denis denise diego dieter dominik dominique doris edith eduard elena elisabeth emil emilia emma enrico eric
    erich erika ernesto esther eva evelyne fabian fabienne fabio felix ferdinand florian francesca francesco franz
    françois françoise frédéric fritz gabriel gabriela georg georges gerhard gianni giorgio giovanna giovanni
    giuseppe guido hannes hans hanspeter heidi heinrich heinz helena helene henri herbert hermann hugo ingrid irene iris
    isabel isabella isabelle ivan jacqueline jacques jakob jan jasmin jean jeannette jennifer joachim johann johanna
    johannes jonas josef joseph judith julia julien jürg jürgen karin karl katharina katja kurt lara laura laurent
    lea leo leonie lorenz lorenzo louis luca lucas lucia luigi luise lukas lydia lynn manfred manuel manuela marc marcel
    marco margrit maria marianne marie mario marion markus marta martha martin martina massimo mathias matteo matthias
    maurice melanie micha michael michel michela michele milena mirjam monica monika nadia nadine natalie nathalie
    nicola nicolas nicole nina noah nora norbert olga oliver olivier otto paolo pascal patricia patrick paul paula peter
    petra philipp philippe pia pierre pius raphael regina regula reinhard renate reto ricardo richard rita robert
    roberto roger roland rolf roman rosmarie rudolf ruth sabine sabrina samuel sandra sandro sara sarah sebastian
    serge silvan silvia simon simone sofia sonja sophie stefan stefanie stefano stephan susanne sven sylvia
    tamara tanja theo theodor therese thierry thomas tobias ueli ulrich urs ursula valentina valérie vera verena
    veronika vincent viktor vincenzo vreni walter werner willi willy wolfgang yannick yves yvonne"""
)

# Capitalised words that end a name, or show that there is none: offices, roles, kinds of organisation, contact words.
STOP_WORDS = _list(
    """der die das den dem des ein eine einer im am zum alle jede sie ihr ihre wir für mit und oder les la le des il gli
    abteilung ag amt auftraggeber auftraggeberin bahn bau baudirektion bereich bern bibliothek brücke bundesamt büro
    canton commune comune consorzio dame damen dank departement département dienst direction direktion divisione e-mail
    email fabrik fachstelle fax firma gemeinde gesellschaft gmbh handy haus herr herren herrn hochbau hochbauamt hotel
    infrastruktur ingenieure institut kanton kirche klasse kollege kollegin kollegen kommission kunde kundin lausanne
    luzern madame mail messieurs mobile monsieur natel objekt office ort pax platz planung platform post postfach
    projekt quartier rathaus ref referenz sa schule sekretariat service siedlung signora signore sitz spital stadt
    stiftung strasse sàrl tel telefax telefon telefono theater tiefbau tiefbauamt téléphone team ufficio universität
    verein verwaltung ville zentrum zürich basel genève losanna lugano winterthur gasse weg frau mme mlle
    sig dr prof""",
)
# Roles, also as the end of a compound (Stadtpräsidentin, Oberbauleiter) ...
ROLES = (
    "leiter|präsident|direktor|sekretär|ingenieur|architekt|planer|führer|beauftragte|beauftragter|verantwortliche"
    "|verantwortlicher|berater|vorsteher|bearbeiter|assistent|mitarbeiter|professor|doktor|inspektor|unternehmer|bauherr"
    "|vertreter|partner|chef|experte|expert|anwalt|anwält|notar|kollege|kolleg|polier|verwalter"
    "|responsable|directeur|directrice|président|présidente|ingénieur|architecte|conseiller|conseillère|municipal"
    "|secrétaire|syndic|direttore|direttrice|responsabile|ingegnere|architetto|sindaco|segretario|municipale"
)
# ... and those that are last names on their own (Ammann, Meister, Schreiber): a role only behind another word.
COMPOUND_ROLES = "ammann|meister|schreiber|rat|rät|richter|lehrer|techniker|zeichner|führer"
# Ends of places, offices and organisations.
PLACES = (
    "amt|abteilung|verwaltung|direktion|kommission|leitung|strasse|platz|gasse|schule|schulhaus|brücke|spital|dienst"
    "|stelle|gesellschaft|genossenschaft|werk|werke|anlage|zentrum|haus|bau|planung|arbeiten|projekt|halle|departement"
)
