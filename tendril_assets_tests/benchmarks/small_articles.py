"""Six short German articles of four passages in two documents, with questions; written for the tests, nothing is quoted."""

from tendril_assets_tests.benchmarks.question_sets import Article, Passage

_DOCUMENTS = "aaab"
_TEXTS = {
    "Imkerei": (
        (
            "Der Schwarm hängt im Mai als Traube am Ast und wird mit einer Kiste eingefangen.",
            ("Womit fängt man den Schwarm ein?", "In welchem Monat hängt die Traube der Bienen meist am Ast?"),
        ),
        (
            "Gegen die Milbe wird im Dezember Oxalsäure in die Gassen zwischen den Waben geträufelt.",
            ("Was hilft gegen die Milbe?", "Wohin wird die Säure im Winter genau geträufelt?"),
        ),
        (
            "Geschleudert wird, wenn der Honig weniger als achtzehn Prozent Wasser enthält.",
            ("Wann wird geschleudert?", "Wie viel Prozent Wasser darf reifer Honig höchstens enthalten?"),
        ),
        (
            "Die Königin trägt einen farbigen Punkt, an dem man ihr Geburtsjahr erkennt.",
            ("Woran erkennt man das Alter der Königin?", "Wozu dient der farbige Punkt auf dem Rücken des Tieres?"),
        ),
    ),
    "Seilbahn": (
        (
            "Das Tragseil wird alle zwölf Jahre verschoben, damit keine Stelle dauernd auf der Stütze liegt.",
            ("Wie oft wird das Tragseil verschoben?", "Warum darf keine Stelle dauernd auf einer Stütze liegen?"),
        ),
        (
            "Bei Wind über siebzig Kilometern in der Stunde bleiben die Kabinen in der Talstation.",
            ("Wo bleiben die Kabinen bei Wind?", "Ab welcher Stärke des Windes wird der Betrieb eingestellt?"),
        ),
        (
            "Ein Notantrieb mit Diesel bringt die Fahrgäste bei Stromausfall zurück.",
            ("Was geschieht bei Stromausfall?", "Mit welchem Treibstoff läuft der Antrieb für den Notfall?"),
        ),
        (
            "Die Prüfer durchleuchten das Zugseil mit Magneten und zählen gebrochene Drähte.",
            ("Wer zählt gebrochene Drähte?", "Mit welchem Verfahren wird das Zugseil auf Schäden untersucht?"),
        ),
    ),
    "Käserei": (
        (
            "Das Lab lässt die Milch bei zweiunddreissig Grad in vierzig Minuten gerinnen.",
            ("Was lässt die Milch gerinnen?", "Wie lange dauert es, bis die Milch im Kessel fest ist?"),
        ),
        (
            "Mit der Harfe schneidet der Käser den Bruch, bis die Körner erbsengross sind.",
            ("Womit wird der Bruch geschnitten?", "Welche Grösse haben die Körner am Ende des Schneidens?"),
        ),
        (
            "Im Salzbad bildet sich die Rinde; der Laib schwimmt darin einen ganzen Tag.",
            ("Wo bildet sich die Rinde?", "Wie lange schwimmt ein Laib in der Lake des Kellers?"),
        ),
        (
            "Auf Brettern aus Fichte reift der Käse und wird zweimal in der Woche gebürstet.",
            ("Worauf reift der Käse?", "Wie oft in der Woche bürstet man die Laibe im Keller?"),
        ),
    ),
    "Uhrturm": (
        (
            "Das Pendel der Turmuhr ist drei Meter lang und schwingt in zwei Sekunden einmal.",
            ("Wie lang ist das Pendel?", "Wie viele Sekunden dauert eine Schwingung der alten Turmuhr?"),
        ),
        (
            "Die Glocke aus Bronze wiegt zwei Tonnen und wurde im Garten der Kirche gegossen.",
            ("Was wiegt die Glocke?", "An welchem Ort hat man die schwere Glocke einst gegossen?"),
        ),
        (
            "Früher zog der Küster die Gewichte jeden Morgen mit einer Kurbel auf.",
            ("Wer zog die Gewichte auf?", "Mit welchem Werkzeug wurden die Gewichte jeden Morgen hochgezogen?"),
        ),
        (
            "Die Zeiger sind aus Kupfer und vergoldet, damit man sie von weitem sieht.",
            ("Woraus sind die Zeiger?", "Warum hat man die Zeiger am Turm mit Gold überzogen?"),
        ),
    ),
    "Weinberg": (
        (
            "Im Februar schneidet die Winzerin die Reben auf zwei Augen zurück.",
            ("Wann werden die Reben geschnitten?", "Auf wie viele Augen schneidet man den Trieb im Winter?"),
        ),
        (
            "Trockenmauern aus Kalk speichern die Wärme des Tages und geben sie nachts ab.",
            ("Was speichert die Wärme?", "Aus welchem Gestein bestehen die Mauern zwischen den Terrassen?"),
        ),
        (
            "Gegen Stare spannt man im September blaue Netze über die Zeilen.",
            ("Was hilft gegen Stare?", "Welche Farbe haben die Netze, die man im Herbst spannt?"),
        ),
        (
            "Der Zuckergehalt wird mit dem Refraktometer in Grad Oechsle gemessen.",
            ("Womit misst man den Zucker?", "In welcher Einheit gibt man den Gehalt der Traube an?"),
        ),
    ),
    "Bibliothek": (
        (
            "Alte Handschriften liegen bei achtzehn Grad in einem Keller ohne Tageslicht.",
            ("Wo liegen die Handschriften?", "Welche Temperatur herrscht im Keller mit den alten Bänden?"),
        ),
        (
            "Wer ein Buch zu spät zurückbringt, zahlt einen Franken für jede Woche.",
            ("Was zahlt man bei Verspätung?", "Für welchen Zeitraum wird die Gebühr von neuem verlangt?"),
        ),
        (
            "Ein Roboter fährt nachts durch das Magazin und sucht verstellte Bände.",
            ("Wer sucht verstellte Bände?", "Zu welcher Zeit fährt die Maschine durch das grosse Magazin?"),
        ),
        (
            "Kinder bekommen ihren ersten Ausweis umsonst und dürfen zehn Bücher mitnehmen.",
            ("Was kostet der Ausweis für Kinder?", "Wie viele Bücher darf ein Kind auf einmal mitnehmen?"),
        ),
    ),
}
ARTICLES = [
    Article(name, [Passage(document, *part) for document, part in zip(_DOCUMENTS, parts, strict=True)])
    for name, parts in _TEXTS.items()
]
