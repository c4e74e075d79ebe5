"""First names common in Switzerland, of its languages and of the countries its people come from. Lower case, written
from general knowledge; a name that is missing is still found by its title, its label or its place in a table."""

from tendril_assets.corpus.word_lists import word_list

# No ordinary words of German, French or Italian: with another capitalised word behind them they are taken for a person.
FIRST_NAMES = word_list(
    """norman abdi abdul abdullah abebe abraham abílio achim achmed adam adele adelheid adelina adelino adina adnan
    adnane adolf adriaan adrian adriana adriano adrien aferdita afonso afrim agata agim agnes agnieszka agnès agron
    ahmed ahmet aicha aida aischa aisha aita ajla alain alan albert alberto albin albina aldo alejandro aleksa
    aleksandar aleksandra alena alessandra alessandro alessia alessio alex alexander alexandra alexandre alexandros
    alexia alexis alfons alfred alfredo ali alice alicia alina aline alisha alison alizée allan alma alois aloisia
    aloys amadou amal amanda amina aminata amine amir amra amélie ana anand ananth anastasia anaëlle anaïs anders
    andrea andreas andreea andrei andrej andri andrii andrin andrina andrzej andrás andré andrés andy anette angela
    angelika angelina angelo ania anica aniko anil anina anita anja anke ann anna annabelle annalisa anne annegret
    annelie annelies anneliese annelise annemarie annetta annette annick annika annina ansgar anthony antoine
    antoinette anton antonella antonia antonietta antonin antonino antonio antónio anwar apollonia arben arbnor arbër
    arda ardian ariane arianna arianne arjun arlind armando armend armin arnaldo arnaud arno arnold aron arta artan
    arthur artur arturo arul asim asma astrid athanasios attila aude audrey augustin augusto aurel aurelia aurelio
    aurélie aurélien avni axel axelle aycan ayhan ayla ayoub ayşe aziz bachir bahar bakary balakrishnan baltazar balz
    baptiste barack barbara bardhyl barla barnabas bart bashkim bastian bastien beat beata beatrice beatrix beatriz
    behar bekim belinda ben benedetta benedict benedikt benedikta beni benita benito benjamin benno benoit benoît
    berat berk bernadette bernard bernardo bernd bernhard bert berta bertha bertrand besim besnik bettina bianca bigna
    bilal biljana birgit birgitta björn blaise bledar blerim blerta bogdan bohumil bojan bojana boris boško božena
    branka branko brian brigit brigitta brigitte britta bruno bujar burak burim burkhard bárbara béatrice camilla
    camille camillo canan carina carl carla carlo carlos carmela carmelo carmen carola carole carolin carolina
    caroline carsten caspar caterina catherine cathrin cathérine catia cecilia celina cem cemal cengiz chantal charles
    charline charlotte charlène chatrina chiara chloé chris christa christelle christer christian christiane christina
    christine christof christoph christophe christopher cihan cindy cinzia clarissa clarisse claude claudia claudine
    claudio claus clemens clotilde clémence clément conradin constantin constanze cora coralie coraline corina corinna
    corinne cornel cornelia cornelius corrado cosima cristian cristiana cristiano cristina curdin cyril cyrill cyrille
    cäcilia cécile cédric célia céline célio dagmar dalila damian damiano damien dan dana dani danica daniel daniela
    daniele danielle danijel danijela danilo danièle dardan dario dariusz darko david davide davina davor dean debora
    deborah deepa dejan denis denise deniz desanka desirée detlef diana diane didier diego dieter dietmar dietrich
    dijana dilara dilek dimitri dimitrios dina dino diogo dion dirk djamila dmitri dolores domenica domenico domingo
    dominic dominik dominique donat donatella donatello donato donika dora dore doreen dorian dorina doris dorota
    dorothea dorothy dorothée dragan dragana dragica dražen driss drita duarte dubravka duri dusan dušan dušanka dylan
    débora désirée džemal eberhard ebru edda eddy edgar edi edina edit edith edmond edmund edo edoardo edona eduard
    eduardo edvin edwin efraim egidio egon eileen ekaterina elda elena eleni eleonora eleonore elfriede elia eliana
    eliane elias elif elin elina elio elisa elisabeth elisabetta elise elizabeth eliška elke ella ellen elmar elmedina
    elsa elsbeth else elsy elvedin elvira elvis elías elżbieta emanuel emanuela emanuele emel emil emilia emilie
    emilio emin emina emine emir emma emmanuel emmanuelle emre endre engelbert engin enis ennio enrico enrique enver
    enzo erdal eric erich erik erika erkan ermanno erna ernesto erol erwin esma esmeralda esra estelle esther eszter
    etienne eugen eugenia eugenio eugène eva evelin eveline evelyn evelyne ewa ewald ewelina ezio fabia fabian fabiana
    fabiano fabien fabienne fabio fabiola fabrice fabrizio fadi fadil fadri faisal fanny farah farida faruk fathi
    fatima fatma fatmir faton fatos fatou fausto fawzi federica federico felice felicia felicitas feliks felipe felix
    femke ferdinand ferhat fernanda fernando fernão fidel figen filip filipa filippo filiz filomena fiona fiorenza
    fisnik fjolla flamur flavia flavien flavio florentina florian floriane florije florin florina flurin flurina
    franca francesca francesco francine francis francisca francisco franciska franck franco franklin franz franziska
    françois françoise fred freddy frederic frederik frederike fridolin frieda friedrich fritz frédéric fulvio furio
    fátima félix gabi gabriel gabriela gabriele gabriella gabrielle gaby gaetano gallus ganesh gaspard gaudenz
    gaudenzio gaétan gaëlle gaëtan geert gennaro geoffrey georg george georges georgette gerald geraldine gerard
    gerardo gerd gerda gergely gerhard germain germaine germano gero gerold gertrud gertrude ghislain ghislaine
    giacomo giampaolo giampiero gian giancarlo gianfranco gianluca gianmarco gianna gianni gianpiero gieri gijs
    gilbert gilberte gildo gilles gina gino gioele gion giordano giorgia giorgio giosuè giovanna giovanni gisela
    giselle gisèle gitta giulia giuliana giuliano giulio giusep giuseppe giuseppina gloria gonçalo goran gordan
    gordana gottfried gotthard grazia graziella grazyna graça gregoire gregor gregory gret greta grete gretli grzegorz
    grégoire grégory guglielmo guido guillaume gunilla gunnar gustav gusti guy gwenaël gwenaëlle gwendoline györgy
    gzim gábor gérald géraldine gérard gëzim gökhan götz gülay güler günter günther habib habiba hakan halil halina
    halit hamid hampi hana hanan hanna hannah hanne hannelore hannes hans hansjakob hansjörg hansjürg hanspeter
    hansrudolf hansruedi hansueli harald haris harry hartmut hasan hasime hassan hatice hava heide heidi heike heiko
    heiner heini heinrich heinz helen helena helene helga helmut hendrik hendrikje henning henri henriette henrik
    henry henryk herbert heribert hermann hermine herta hervé hilda hilde hildegard hiltrud hippolyte hiroshi holger
    horst hortense houda housi hubert hugo hugues humbert hussein hélder hélène hülya hüseyin ibrahim ibrahima ida
    idris iginio ignaz igor ihsan ilan ilaria ilario ildikó ilir ilja ilka ilker ilona ilse imelda imer imran imre ina
    ines inge ingeborg ingela ingo ingrid inácio inès ioana ioannis irena irene irina irma irmgard iryna irène isaac
    isabel isabella isabelle ismail ismet issa istván ivan ivana ivano ivica ivo ivonne jacek jachen jacky jacob
    jacqueline jacques jadran jadranka jadwiga jakob jakub jamal james jamila jana jane janette janez janina janine
    janis jannik jannis janosch janusz jaroslav jaroslava jarosław jasmin jasmina jasmine jasna javier jayden jean
    jeanette jeanine jeanne jeannette jeannine jelena jelica jens jeremias jeremy jeroen jerome jessica jeton jill jim
    jing jitka jiří joachim joan joana joanna joanne joaquim jocelyne jochen joe joel joelle johan johann johanna
    johanne johannes john jolanda jolanta jon jona jonas jonathan jonny joost jordi jorge joris josef josefa josefina
    josefine joseph josephine josette josiane josip jost josua josé joséphine jovan jovana jovanka jovica jozef joão
    joël joëlle juan judit judith jules julia julian juliana juliane julianne julie julien juliette julius jurgen
    jurij justin justine jutta jános jérémie jérémy jérôme józsef jörg jürg jürgen kadir kai kaltrina kamal kamala
    karim karima karin karina karine karl karla karolina karoline karsten karthik kaspar katalin katarina katarzyna
    kateryna kateřina katharina katherine kathleen kathrin kathy katia katica katiuscia katja katrin katrina kavitha
    kazimierz kemal kenan kenji kerem kerstin kevin khaled kilian kim kjell klara klaudia klaus klemens koen koni
    konrad konstantin kosovare kreshnik krisztina krystian krystyna krzysztof kurt kushtrim károly käthi köbi labinot
    lachlan ladina ladislav laetitia laila lakshmi lara larissa lars lasse laszlo latifa laura laure laurence laurent
    laurenz laurie lauro lavinia layla lea leana leandra leandro leart leila lena lenka lennart leo leon leonard
    leonardo leonhard leonid leonie leonora leopold leroy leszek letizia levent levi levin leyla li-wen lia liam liana
    libor lidia lidija lieke lilian liliana liliane lilly lina linda lino linus lionel liridon liridona lirije lisa
    lisbeth lise liselotte lisette livia livio ljiljana ljubica ljubo ljubomir lodovico lola loredana lorena lorenz
    lorenza lorenzo loretta loris lothar lotte lotti lotty louis louisa louise loïc luan luana luboš luc luca lucas
    lucia luciana luciano lucie lucien lucienne lucile lucille lucio lucrezia ludivine ludmila ludovic ludovico ludwig
    luigi luigia luis luisa luise luka lukas lukáš luljeta lumnije lurdes luzi luzia luzius luís lydia lydie lynn
    lászló léa léo léon léonard léonie maarten maciej maddalena madeleine mads magali magda magdalena magdolna maggie
    magnus mahdi mahesh mahmoud mahmud maik maike maja malika malin mamadou manfred manlio manon manuel manuela
    manuele mara marc marcel marcela marcella marcellina marcello marcelo marcia marco marek maren margareta margarete
    margaretha margarita margaux margherita margit margot margret margrit marguerite maria mariana mariangela marianna
    marianne mariano marie mariella marielle marietta marija marijana marijke marilena marilyne marilù marino mario
    marion marisa marissa marjan marko markus marlen marlene marlies marlis marlise marlène marta martha marthe
    martial martijn martin martina martine marusca marvin mary maryam marzia massimiliano massimo mateo mathias
    mathieu mathilda mathilde mathis mathys mathéo matilda matilde matteo matthew matthias matthieu matthäus mattia
    mattis maud maude maura maureen maurice mauricio maurizio mauro maxim maxime maximilian maximiliano maya maëlle
    maëva małgorzata mehdi mehmet meinrad melanie melina melisa melissa men meret merita mert meryem metin mia micha
    michael michaela michaël michał michel michela michele micheline michelle michèle migg miguel mihai mihály mikael
    mike mikhail mikkel miklós mila milada milan milena milica milko milo milorad miloslav miloš mimoza mina minh
    miodrag mira mirco mireille mirela mirella mireya mirjam mirjana mirko miro miroslav mirosław mirta mladen mohamed
    mohammad mohammed moira momoyo mona moni monica monika monique morena moreno morgane moritz mounir muamer muhamed
    muhammad murat muriel mustafa myriam márta mégane mélanie mélissa mélodie nabil nadia nadin nadine nadira nadja
    nadège naima najat naomi nasser nastasia natacha natalia natalie nataliia natascha natasha nathalie nathan
    nathanaël nazan nazif nazmi nebojša necati nedeljko nello nelly nemanja nenad nerina nermin nermina nevena nevio
    nexhmije ngoc nicholas nick nico nicola nicolas nicole nicoletta nicolo nicolà nicolò niels nikita niklaus niko
    nikola nikolai nikolaus nikolina nils nina nino nithya noa noah noemi nora norbert norberto noreen norma noé noémi
    noémie noëlle nuno nunzio nuray nurten oana océane oda oddvar odette odile ognjen oguz oksana olaf oleg oleksandr
    olena olga olindo oliver olivia olivier omar omer ondřej onur orazio oreste orhan oriana orlando ornella oscar
    oskar osman osvaldo oswald othmar otmar ottavia ottavio otto ottó otília ousmane oğuz pablo palmira paola paolina
    paolo paride pascal pascale pasquale pasqualina patricia patrick patrik patrizia patrizio paul paula paulette
    paulina pauline paulo pavel pavla pawel paweł pedro pelagia penelope perica perrine petar peter petra petrit
    philip philipp philippa philippe phuong pia pierangelo pierfranco pierino pierluigi piero pierre pieter pietro
    piotr pirmin pius plinio pompeo prakash predrag prisca priscilla priscille priska priya przemysław pál péter pınar
    qendrim quentin quirin rachel rachele rachid radek radmila radmilo radovan rafael raffaela raffaele raffaella
    rahel raimondo raimund rainer rajan rajesh ralf ralph ramadan ramazan ramesh ramiro ramiz ramon ramona ramón rania
    ranko raoul raphael raphaela raphaël raphaëlle raquel rashid rasmus ratko ravi rayan raymond raymonde rebecca
    rebekka recep regina reginald regine regula reiner reinhard reinhold remigio remo remy rena renata renate renato
    renaud renzo rené renée reto reto-luzi rexhep rezarta riad ricarda ricardo riccarda riccardo richard rico riita
    rinaldo rinor rita robert roberta roberto robin rocco roch rodolfo rodrigo roger roland rolando rolf romain roman
    romana romano romina romy ronald ronja ronny rosalba rosalia rosalie rosanna rosaria rosario rosemarie rosita
    rosmarie rossana rossella roswitha roxane ruben rudi rudolf ruedi rufino ruggero rui rune rupert ruslan ruth ruud
    ryan ryszard régis rémy röbi růžena saad sabah sabina sabine sabrina sacha sadik salih salim salome salomé
    salvador salvatore sam samanta samantha sami samia samir samira samuel samuele sana sander sandor sandra sandrine
    sandro sanja sanjay sara sarah sarina sascha saskia saverio savina saïd saša sebastian sebastiano sedat selam
    selim selina seline selma selvam selçuk semere semra senad senait senka sepp seppli serafin seraina serap serena
    serge sergej sergio serhii serkan sevda severin severine severino shanthi shkelqim shpresa sibel sibylle sidonia
    sidonie siegfried sigrid sigurd silas silja silke silvan silvana silvano silvia silvie silvio simeon simon simona
    simone simonetta simonne sinan sisto sivakumar sjoerd skender slavica slavko slađana slobodan snežana snježana
    sofia sofiane sofie sofija solange solveig solène songül sonia sonja sophia sophie soraya soumaya soňa srđan
    stanislav stanisław stanko stefan stefania stefanie stefano steffen stephan stephanie stephen stevan steve steven
    stipe stjepan stéphane stéphanie stöff sue sunita suresh susan susana susanna susanne susi suzana suzanne svea
    sven svenja svetlana svitlana swen sybille sylvain sylvaine sylvana sylvester sylvia sylviane sylvie sylwia
    szilvia sándor sébastien sérgio séverine süleyman sławomir tabea tadeusz tahar tamara tamás tanguy tania tanja
    tarcisio tarek tariq tatiana tatjana tazio telmo teodor teodora teresa teresio tesfay tess tessa teuta thaddée
    thanh thea theo theodor theodore theres theresa therese thi thiago thibaud thibault thibaut thierry thijs thomas
    théo thérèse tiago tibor tiffany tihomir tilla tilo tim timo timon timothy timothée timéo tina tino titouan
    tiziana tiziano tobias tolga tom tomas tomasz tomislav tommaso tomáš toni tony torbjörn torsten tristan trudi
    trudy tullio tumasch tuncay turgut tuğba tülay ubaldo ueli ugo ulf ulisse ulla ulrich ulrika ulrike ulysse umberto
    urs ursin ursina ursula uschi ute uwe valbona valdete valentin valentina valentine valentino valeria valeriano
    valerie valerio valon valère valérie vanessa vanni vasco vasuki velimir veljko venanzio vera verena verica
    veronica veronika verónica vesna vicente victor vijay viktor viktória vincent vincenza vincenzo violaine violetta
    virgil virgile virginie vito vittoria vittorio vitus viviana viviane vivien vivienne vjosa vladimir vlado vlasta
    vlora vojislav volkan volker volodymyr vreneli vreni véronique wadim waldemar walter walther walti wanda wanja wei
    wendelin wenzel werner werni wibke wiebke wieland wiesław wilfried wilhelm wilhelmine willem willi william willy
    wim wladimir wojciech wolfgang wolfram wouter xaver xavier xaviera xavière xenia xhevat yael yahya yan yann
    yannick yannis yasemin yasin yasmin yasmina yasmine yavuz yaël yeliz ylber ylenia yolaine yolanda yolande yonas
    yousef youssef yuki yuri yussuf yusuf yvan yves yvette yvo yvonne yıldız zahra zainab zakaria zana zbigniew zdenka
    zdenko zdeněk zdravko zehra zeynep zita zlatko zoe zofia zoltan zoltán zora zoran zoé zoë zsolt zsuzsa zsuzsanna
    zsófi zsófia zulmira zvonimir ágnes åsa édouard éliane élisabeth élise élodie éloïse émile émilie éric étienne
    évelyne ömer özgür özlem ümit đorđe łukasz şahin şeyma šárka željko"""
)

# Words, months or places as well: they count only with a reason besides (a title, a label, a place in a table or list).
AMBIGUOUS_FIRST_NAMES = word_list(
    """aimé alba amadeus angel april arian asia august augusta aurora bea beda benigna blanche branca carol chance charme
    christ clair claire clara clementina colomba constance dag dale dawn diamant don donna désiré eden elle engel
    erasmus ernst esprit estrella faith fee finn fleur flora florence fortuna frank gill gioia grace grant iris isa
    ivy jack jade jan jo jordan josi juli jun juni junior kastor kay lenz line lou luke luna lux mai marin marina
    marine mark marlon mars mats max may mei mentor mercedes merlin ming monti nada nadal nadir nelson neo nero noel
    nova noël ole olympia orion pace page paris patience perla pierrot pilar pina placido primo prosper quinto rhea
    ria riva rom roma romaine romeo rosa rose ross ruby said sandy santa santina santo sergius silva silver sky sole
    sonne stein stella sterne stig sunny teddy terry till tosca urban ursa victoria viktoria viola virginia vital vuk
    wolf zeno"""
)
