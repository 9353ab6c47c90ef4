"""The tokenizer `words` as two patterns of Oniguruma, whose matches are its tokens.

The first pattern finds words with their contractions, addresses and symbols in a text. The second one is
applied to each of these, and splits contractions and clitics. They follow `WordSplitter` of
cpp/src/text/words.cpp, except that hosts may have more than 253 characters.
"""

from __future__ import annotations

__all__ = ["PATTERNS", "VARIANTS"]

# Texts of tokens for which `words` returns another one. Of a longer run, the pattern drops the rest.
VARIANTS = {"..": "...", "''": '"', "``": '"'}

# The lists of cpp/src/text/english.cpp, without those that have periods.
_SHORT_ABBREVIATIONS = "al cf co dr ed jr lt mr ms mt op pp sr st vs"
_ABBREVIATIONS = (
    "adm approx apr assn assoc aug ave blvd bros capt cmdr col corp dec dept eds esp esq est etc feb fig "
    "figs gen gov hon inc jan ltd maj messrs mme mrs nov oct pres prof pvt rep rev sen sept sgt univ viz vol"
)
_DOMAINS = "au ca ch cn co com de edu eu fr gov info io jp net nl nz org ru tv uk"
_CONTRACTIONS = "can+not gim+me gon+na got+ta lem+me wan+na d'+ye more+'n y'+all 't+is 't+was"
_CLITICS = "n't 's 'm 'd 'll 're 've"
_ELISIONS = "bout cause d em ll m n re round s t til till ve tis twas"


def _one_of(words: str) -> str:
    """A pattern of words in any case; (?i) would also match other letters, such as U+017F for s."""
    folded = "".join(f"[{c}{c.upper()}]" if c.isalpha() else c for c in words)
    return f"(?:{folded.replace(' ', '|')})"


# Characters as `kind_of` classifies them: parts of words, visible others, and letters. The rest is space.
_WORD = r"[[^\p{P}\p{S}\p{Z}\p{Cc}\p{Cf}\p{Cn}][_\x{FFFD}\x{200C}\x{200D}][\p{Cn}&&[\x{80}-\x{1EFFF}]]]"
_SYMBOL = r"[[\p{P}\p{S}&&[^_\x{FFFD}]][\p{Cn}&&[\x{1F000}-\x{10FFFF}]]]"
_LETTER = f"[{_WORD}&&[^0-9]]"
_TWO_BYTES = rf"[{_LETTER}&&[\x{{80}}-\x{{7FF}}]]"  # in UTF-8
_ANY = r"[\x{0}-\x{10FFFF}]"  # also line ends, unlike a period

_URL = r"(?:[A-Za-z_]{1,13}://|[wW]{3}\.)(?=[0-9A-Za-z_])[!#-;=?-~]*(?<![.,;:!?'()\[\]{}])"
_MAIL = r"[0-9A-Za-z_.+\-]{1,64}@[0-9A-Za-z_\-]+\.[0-9A-Za-z_.\-]*(?<![.\-])"

# Words: characters within a part, and periods that join parts: 1.5, u.s., ph.d., yahoo.com.
_IN_PART = rf"(?:{_WORD}|'(?={_LETTER})|-(?={_WORD})|(?<=[0-9])[,:/](?=[0-9]))"
# A host is matched at each of its periods: without limits and atomic groups, in quadratic time.
_LABEL = rf"(?>(?:{_WORD}|-(?={_WORD})){{1,253}})"
_LABELS = rf"(?>(?:{_LABEL}\.(?={_WORD})){{0,126}})"
_HOST = rf"(?={_WORD}){_LABELS}{_one_of(_DOMAINS)}(?!{_WORD}|[.\-](?={_WORD}))"
_ONE_LETTER = f"{_LETTER}(?!{_WORD})"
_SHORT_PART = rf"(?:[A-Za-z_][0-9A-Za-z_]?|{_TWO_BYTES})"
_PART = rf"(?:{_SHORT_PART}\.(?={_ONE_LETTER})|{_IN_PART}+(?:(?<=[0-9])\.(?=[0-9])|\.(?={_HOST})))"
_BEGIN = rf"(?:(?={_WORD})|(?<!\.)(?=\.[0-9]))"

# Periods that belong to the word before them: of initials and abbreviations that a word follows, and No. 5.
_FOLLOWED = rf"(?=(?:(?!{_WORD}){_ANY})*{_WORD})"
_SHORT = f"(?:[A-HJ-Za-hj-z_]|{_TWO_BYTES}|{_one_of(_SHORT_ABBREVIATIONS)})"
_LONG = rf"(?:[{_LETTER}&&[\x{{800}}-\x{{10FFFF}}]]|{_one_of(_ABBREVIATIONS)})"
_ABBREVIATION = "|".join(
    [
        rf"{_SHORT}\.(?!\.|{_ONE_LETTER}|{_HOST}){_FOLLOWED}",
        rf"{_LONG}\.(?!\.|{_HOST}){_FOLLOWED}",
        rf"[nN][oO]\.(?!\.|{_ONE_LETTER}|{_HOST})(?=(?:(?!{_WORD}|{_SYMBOL}){_ANY})*[0-9])",
        rf"(?>{_PART}+){_LETTER}\.(?!\.)",
    ]
)

_ELISION = rf"(?<![0-9A-Za-z_])'[0-9]{{2}}[sS]?(?!{_WORD}|')|'[nN]'|'{_one_of(_ELISIONS)}(?!{_LETTER}|')"
_HIGH = rf"[{_SYMBOL}&&[^\x{{0}}-\x{{7F}}]]"
_MODIFIER = r"[\p{M}\x{1F3FB}-\x{1F3FF}\x{E0020}-\x{E007F}]"
_PICTOGRAM = rf"[\x{{1F1E6}}-\x{{1F1FF}}]{{2}}|{_HIGH}(?:{_MODIFIER}|\x{{200D}}{_HIGH})*"

_CLITIC = _one_of(_CLITICS)
_FIRST_PARTS = (
    rf"{_one_of(first)}(?={_one_of(last)}\z)"
    for first, last in (word.split("+") for word in _CONTRACTIONS.split())
)

PATTERNS = (
    "|".join(
        [
            rf"(?={_WORD}){_URL}",
            f"{_BEGIN}{_MAIL}",
            _ABBREVIATION,
            rf"{_BEGIN}\.?(?>{_PART}*){_IN_PART}+",
            r"(?<!\.)\.{1,3}",
            "(?<!-)-{1,2}",
            "''|``",
            _ELISION,
            _PICTOGRAM,
            rf"[[{_SYMBOL}&&[\x{{21}}-\x{{7E}}]]&&[^.\-]]",
        ]
    ),
    "|".join(
        [
            rf"\A(?:{_URL}|{_MAIL})\z",
            rf"\A(?:{'|'.join(_FIRST_PARTS)})",
            rf"\A.+?(?={_CLITIC}{{1,4}}\z)",
            rf"(?!\A){_CLITIC}(?={_CLITIC}*\z)",
            r"\A.+|(?!\A).+",
        ]
    ),
)
