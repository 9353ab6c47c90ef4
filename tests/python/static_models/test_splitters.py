"""The tokenizers of exported folders give the tokens of ours, in the package `tokenizers`."""

from __future__ import annotations

import json
import random
import unicodedata

import pytest

import sentencode as se
from sentencode.static_models.splitters import tokenizer_json
from sentencode.static_models.words_patterns import VARIANTS

tokenizers = pytest.importorskip("tokenizers")

# Borders of all patterns: apostrophes, periods, hyphens, addresses, initials, emoji, typography.
PARTS = """' '' ''' ` `` . .. ... .... - -- --- , : / ; ! ? ( ) @ + _ < > " & $ % ^ ~ | [ ] { } = # * \\ n't
N'T 's 'S 'm 'd 'll 're 've 'VE cannot Cannot gimme gonna gotta lemme wanna d'ye more'n y'all Y'ALL
'tis 'Twas 'em 'n' 'n 'bout 'cause 'round 'til 'till 't '90s '90 90s 5's Mr. Dr. mr No. no. NO i. I.
A. b. U.S. u.s e.g. i.e. Ph.D. ph.d co.uk yahoo.com x.de .com .net www. WWW. http:// https://a
ftp://x1 a@b.co x.y+z@host-name.org a@b a@b. :// vs. etc. jan. Figs 1 12 123 1,000 3.5 .5 10:30 1/2
1-2 a b c s t d ll k x z é e\u0301 ſ \u212a ß İ ﬁ ﬆ 中 漢字 か ﾞ 🙂 👨‍👩‍👧 🇩🇪 🇩 👍🏽 ™ € \u2013 \u2014
\u2019 \u201c \u201d … \u2011 \u200d \u200c \ufe0f \ufeff \u00ad \ufffd \u2060 ٣ ½ \u0301 \x7f the
cat don't o'clock rock'n'roll they've I'd've shouldn't've well-known U.K. a.m. info.org"""
SPACING = (" ", " ", " ", "\t", "\n", "\u00a0", "\x1c", "\x85", "\u3000", "")
PARTS = PARTS.split()


def generated(count, seed):
    """Texts of borders, and of characters that all versions of Unicode know."""
    choice = random.Random(seed)

    def part():
        kind = choice.random()
        if kind < 0.7:
            return choice.choice(PARTS)
        if kind < 0.96:
            return choice.choice(SPACING)
        letter = chr(choice.randrange(choice.choice((0x80, 0x700, 0x3400, 0x20000))))
        return letter if unicodedata.ucd_3_2_0.category(letter) not in ("Cn", "Cs") else ""

    return ["".join(part() for _ in range(choice.choice((1, 2, 3, 5, 8, 14, 30)))) for _ in range(count)]


def assert_same_tokens(split, texts):
    content = json.dumps(tokenizer_json(split, False, ["the"], unknown=True))
    package = tokenizers.Tokenizer.from_str(content)
    for text, ours in zip(texts, se.Tokenizer(split)(texts), strict=True):
        pairs = package.pre_tokenizer.pre_tokenize_str(package.normalizer.normalize_str(text))
        theirs = [token for token, _ in pairs]
        if split == "words":
            theirs = [VARIANTS.get(token, token) for token in theirs]
        assert theirs == ours, ascii(text)


@pytest.mark.parametrize("split", ["words", "punctuation", "whitespace"])
def test_generated_texts(split):
    assert_same_tokens(split, generated(10_000, 1))


def test_long_hosts_take_linear_time():
    """Oniguruma ends with an error after some millions of steps back; so it did for 2,500 periods."""
    content = json.dumps(tokenizer_json("words", False, ["the"], unknown=True))
    package = tokenizers.Tokenizer.from_str(content)
    for part in ("x.com", "x.", "a-b.com"):
        assert len(package.encode(part * 4000).tokens) > 0
    assert_same_tokens("words", ["x.com" * 40, "x." * 100 + "com", "a-b.com" * 30])


@pytest.mark.slow
@pytest.mark.parametrize("split", ["words", "punctuation", "whitespace"])
def test_local_text(split, local_text):
    assert_same_tokens(split, generated(100_000, 2))
    for lines in local_text:
        assert_same_tokens(split, lines)
