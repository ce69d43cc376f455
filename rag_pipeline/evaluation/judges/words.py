"""Words that the rules treat apart, in English, German, French and Spanish. No rule is here."""

from collections.abc import Mapping


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTION_WORDS = (
    _words(
        """
        a an the this that these those it its they them their he she his her him we us our you your i me my who whom
        whose which what when where how why as at by for from in into of off on onto out over to up with about after
        before between during through until while and or but so if then than too also be is are was were been being am
        do does did done doing have has had having will would shall should can could may might must there here such
        same own just very more most much many some any each both few other another s t re ve ll d m one ones get gets
        got let
        """
    )
    | _words(
        """
        der die das den dem des ein eine einen einem einer eines und oder aber als wie so dass ob wenn dann weil da zu
        zum zur im in am an auf aus bei mit nach von vom vor für durch über unter um bis ist sind war waren wird werden
        wurde hat haben hatte kann können muss müssen soll sich es er sie wir ihr man auch noch schon dies diese dieser
        dieses
        """
    )
    | _words(
        """
        le la les un une des du de d l et ou mais que qui quoi dont où ce cet cette ces il elle ils elles on nous vous
        je se s en y à au aux dans par pour sur avec est sont était été être a ont avait plus aussi
        """
    )
    | _words(
        """
        el los las unos unas y o pero que quien cual cuyo este esta estos estas ese esa lo le les se su sus al del con
        por para sin sobre entre desde hasta es son era fue ser está están ha han hay como más también
        """
    )
)
NEGATIONS = _words(
    """
    not no never none nobody nothing neither nor without cannot nowhere
    nicht kein keine keinen keinem keiner nie niemals niemand nichts ohne weder
    ne pas jamais aucun aucune rien sans
    ni nunca ningún ninguno ninguna nadie nada tampoco
    """
)
UNIVERSALS = _words(
    """
    all always every everyone everybody everything everywhere whenever whatever anyone anytime entirely
    alle allen aller alles immer jede jeder jedes jedem jeden jederzeit
    tous toutes toujours chaque
    todos todas siempre cada cualquier cualquiera
    """
)
CONDITIONS = _words(
    """
    if unless only except provided providing otherwise
    wenn falls nur sofern außer
    si seulement sauf
    solo salvo excepto
    """
)
NUMBERS: Mapping[str, int] = {
    word: number
    for number, words in {
        2: _words("two twice both zwei zweimal deux dos"),
        3: _words("three drei trois tres"),
        4: _words("four vier quatre cuatro"),
        5: _words("five fünf cinq cinco"),
        6: _words("six sechs seis"),
        7: _words("seven sieben sept siete"),
        8: _words("eight acht huit ocho"),
        9: _words("nine neun neuf nueve"),
        10: _words("ten zehn dix diez"),
        11: _words("eleven elf onze"),
        12: _words("twelve dozen zwölf douze doce"),
        13: _words("thirteen"),
        14: _words("fourteen fortnight"),
        15: _words("fifteen"),
        16: _words("sixteen"),
        17: _words("seventeen"),
        18: _words("eighteen"),
        19: _words("nineteen"),
        20: _words("twenty zwanzig vingt veinte"),
        30: _words("thirty"),
        40: _words("forty"),
        50: _words("fifty"),
        60: _words("sixty"),
        70: _words("seventy"),
        80: _words("eighty"),
        90: _words("ninety"),
    }.items()
    for word in words
}
VAGUE_NUMBERS = _words("both dos dozen fortnight twice")
"""Number words of another sense that only ever support a number and never claim one."""
MONTHS: Mapping[str, int] = {
    name: number
    for number, names in enumerate(
        (
            _words("january januar janvier enero"),
            _words("february februar février febrero"),
            _words("march märz mars marzo"),
            _words("april avril abril"),
            _words("may mai mayo"),
            _words("june juni juin junio"),
            _words("july juli juillet julio"),
            _words("august août agosto"),
            _words("september septembre septiembre"),
            _words("october oktober octobre octubre"),
            _words("november novembre noviembre"),
            _words("december dezember décembre diciembre"),
        ),
        start=1,
    )
    for name in names
}
