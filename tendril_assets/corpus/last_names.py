"""Common last names of Switzerland that are no ordinary words, and endings that make a word one. They only help where the
first name in front could be a word ("Ernst", "Rosa"); a last name alone proves nothing."""

from tendril_assets.corpus.word_lists import word_list

LAST_NAMES = word_list(
    """aerni allenbach arnet arquint bachofen bangerter baumeler bellwald berisha betschen bigler bischoff bleuler bodmer
    bösch brechbühl brönnimann brunschwiler bührer burkhalter burkhard bärlocher dürrenberger egloff engeler
    etzensperger frehner freiburghaus fröhlich gerster giezendanner glanzmann gugelmann gygax habegger hänni hochuli
    hollenstein hostettler huwiler jaggi jeanneret jud junker kägi kohli kradolfer krasniqi kreienbühl künzle künzli
    lauener lenel liechti linder lüdi lüthold mahler marending marthaler mettler mürner muheim nievergelt nydegger
    oberlin odermatt pestalozzi pfyffer ramseier rickli rindlisbacher ritz röthlisberger rüedi rütimann schibli schild
    schnider schnyder schwitter seiler spengler stähli stampfli stöckli streiff sulzer thalmann trümpy tschannen
    tschopp uehlinger ursprung vontobel wälti wanner weidmann wiesli winkler wymann zahner zimmerli zobrist zuppiger
    zwicky abderhalden abegg aebersold aebi aeby aeschbacher aeschlimann affolter albisser albrecht allemann amacher
    amstutz anderegg angehrn arnold auer bachmann baechler bänziger bärtschi baertschi balmer barmettler bättig
    baumgartner baur beck beeler berchtold berger bernasconi berset betschart bianchi bieri birrer bischofberger
    blaser blum böhlen bolliger bonvin bosshard brändli breitenmoser brühwiler brülhart brügger brun brunner bucher
    büchi büchler bühler bühlmann bürgi bürki burri caduff camenzind caviezel christen clavadetscher crameri dähler
    dätwyler degen derungs dietrich dubach dubois eberle egger eggenberger eggimann eicher emmenegger enz erni etter
    fankhauser fässler favre felder felber flury flückiger frey friedli frischknecht frick fries fuhrer furrer gamper
    gasser geiser geissbühler gfeller giger gisler gloor gmür good graber grossenbacher gruber grünenfelder gubler
    gugger gwerder gyger häfliger häberli hasler hauser heiniger heller herren herrmann herzig hess hirschi hodel
    hoffmann hofer hofmann hofstetter horat hösli huber hug hunziker hurni hürlimann husi imboden imhof inauen
    ineichen inderbitzin iseli isler jakob jäggi jenni jost kälin kaufmann kaeser käser keiser kessler kistler knecht
    knüsel kofler kohler krebs kuhn küng kündig kunz kurmann kuster lanz lauper lehmann leu leuenberger leutwyler
    lienhard locher löffel loosli lötscher lüscher lustenberger lüthi lutz lüthy mächler maier marti märki mathis
    mäder meier meister meyer meili michel minder moser mosimann mühlemann müller nägeli neuenschwander niederberger
    niederer nussbaum nussbaumer nyffeler oberholzer ochsner odermatt oeschger oswald ott peter pfenninger portmann
    probst räber rechsteiner reber reinhard renggli riedo riesen riederer ritschard rochat roggo rohner röösli rossi
    rothenbühler ruckstuhl rüegg rüegger ruf rutishauser rütti ryser sägesser salzmann santschi sauter schaffner schär
    schaub scheidegger schenkel scherrer schläpfer schlegel schlatter schlumpf schmid schmidt schmidlin schmutz
    schneeberger schnyder schöni schönenberger schüpbach schürch schwab schwaller schwander schwegler schweingruber
    schweizer schwyter senn siegenthaler sieber sigrist soland sommerhalder spiess spörri sprecher stadelmann stalder
    stämpfli staubli steffen steinegger steiner steinmann stettler stocker stöckli streit strebel stucki studer stutz
    suter sutter tanner theiler thommen thöny tobler trachsel trösch tschanz tschudi ulmann ulrich vetterli villiger
    vögeli vögtli von vonlanthen waser wäfler walder walther weber wegmann wehrli weibel weidmann wenger widmer
    wiederkehr wirth wittwer wüest wüthrich wyss wyttenbach zahnd zaugg zehnder zellweger zbinden zemp zeller zgraggen
    ziegler zimmerli zingg zollinger zuber zumbrunn zumstein zurbriggen zürcher zwahlen zweifel"""
)
LAST_NAME_ENDINGS = (
    "egger|igger|inger|mann|bühler|bühl|hauser|huser|berger|hofer|wiler|wyler|maier|meier|meyer|müller|matter|brunner|bacher|ecker|iker"
    "|iger|ler(?<!teller)|cher|lin|li|ić|vić|ski|sky|oğlu|oni|etti|elli|ini|azzi|acci|ucci|eau|oz|az|quet|dez|ez|ev|ov|enko|sson|sen"
)
