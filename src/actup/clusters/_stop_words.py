"""English function words, which name no cluster: only words that hardly ever say what a text is about."""

from __future__ import annotations

_ARTICLES_AND_DETERMINERS = (
    "a an the this that these those each every either neither some any no all both such other another"
)
_PRONOUNS = (
    "i me my myself you your yours yourself yourselves he him his himself she her hers herself it its "
    "itself we us our ours ourselves they them their theirs themselves who whom whose which what whoever "
    "whatever somebody someone something anybody anyone anything nobody nothing everybody everyone everything"
)
_PREPOSITIONS = (
    "about above across after against along among amongst around as at before behind below beneath beside "
    "besides between beyond by despite down during except for from in into of off on onto out over per since "
    "through throughout till to toward towards under until up upon via with within without"
)
_CONJUNCTIONS = (
    "and or but nor if unless because although though while whereas whether than when whenever where "
    "wherever why how so yet"
)
_AUXILIARY_VERBS = (
    "am is are was were be been being do does did doing have has had having can cannot could may might must "
    "shall should will would"
)
_ADVERBS = "not also too very just only again then thus hence here there therefore however ever never"
# What is left of contractions that are split at the apostrophe.
_CONTRACTIONS = (
    "aren couldn didn doesn don hadn hasn haven isn ll mightn mustn re shouldn ve wasn weren won wouldn"
)

ENGLISH_FUNCTION_WORDS = frozenset(
    " ".join(
        (
            _ARTICLES_AND_DETERMINERS,
            _PRONOUNS,
            _PREPOSITIONS,
            _CONJUNCTIONS,
            _AUXILIARY_VERBS,
            _ADVERBS,
            _CONTRACTIONS,
        )
    ).split()
)
