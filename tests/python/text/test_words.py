from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import sentencode as se

WORDS = se.Tokenizer("words")
PAGE = Path(__file__).parents[3] / "docs" / "text.md"
TABLE = re.findall(r"^\| [^|]*\| `(.*)` \| `(.*)` \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)

# Text as it comes: words, clitics, signs and what sticks them together.
pieces = st.sampled_from(
    [*"abIé日 .,'-!?\"/@:…’“—()5$%👍", "n't", "'s", "Mr.", "U.S.", "don't", "www.", "http://", "\u200d"]
)
likely_text = st.lists(pieces, max_size=30).map("".join)


def bare(text):
    """What no tokenizer may lose: letters and numbers."""
    return "".join(char for char in text if unicodedata.category(char)[0] in "LN")


def test_the_table_is_there():
    assert len(TABLE) >= 30


@pytest.mark.parametrize(("text", "tokens"), TABLE)
def test_rule_of_the_documentation(text, tokens):
    assert WORDS(text) == tokens.split()
    assert se.Tokenizer("words", lowercase=True)(text) == tokens.lower().split()


@given(st.one_of(st.text(), likely_text))
@example("a'")
@example("\u00b4")
def test_all_characters_but_spaces_are_kept(text):
    tokens = WORDS(text)
    assert all(tokens)
    assert bare("".join(tokens)) == bare(text.replace("\u02bc", ""))
    assert not any(char.isspace() for token in tokens for char in token)


@given(likely_text)
def test_lower_case_first_or_last_is_the_same(text):
    lower = se.Tokenizer("words", lowercase=True)
    assert lower(text) == [token.lower() for token in WORDS(text)]
    assert lower(text) == lower(text.lower())


@given(st.lists(st.binary(max_size=40), max_size=5))
def test_invalid_bytes_are_split_like_the_replacement_character(texts):
    assert WORDS(texts) == WORDS([text.decode("utf-8", "replace") for text in texts])


@given(likely_text)
def test_tokens_joined_by_blanks_hold_the_same_letters(text):
    again = WORDS(" ".join(WORDS(text)))
    assert bare("".join(again)) == bare("".join(WORDS(text)))


@given(st.lists(likely_text, max_size=8))
def test_sentences_do_not_see_each_other(texts):
    assert WORDS(texts) == [WORDS(text) for text in texts]
