"""Definitions of WordNet's data files."""

from __future__ import annotations

import pytest

import sentencode as se

LICENCE = '  1 This software and database is being provided to you, the LICENSEE, by "Princeton" | x\n'
NOUN = (
    "02121620 05 n 02 cat 0 true_cat 0 002 @ 02120997 n 0000 ~ 02121808 n 0000 | "
    'feline; mammal: "a cat; purrs"'
    ' ; "two cats"  \n'
    '00001740 03 n 01 entity 0 000 | that which is ("living" or nonliving); "so"  \n'
)
ADJECTIVE = (
    '00003131 00 a 02 galore(ip) 0 abundant 0 001 & 00012345 a 0000 | in great numbers; "daisies galore"\n'
    '00004567 00 s 01 only_examples 0 000 | "nothing else\n'
)


def test_entries(tmp_path):
    (tmp_path / "data.noun").write_text(LICENCE + NOUN)
    cat = [("feline; mammal", "cat"), ("feline; mammal", "true cat")]
    entity = ('that which is ("living" or nonliving)', "entity")
    assert list(se.definitions(tmp_path / "data.noun")) == [*cat, entity]


def test_folders(tmp_path, monkeypatch):
    for part, text in (("noun", NOUN), ("verb", LICENCE), ("adj", ADJECTIVE), ("adv", "")):
        (tmp_path / f"data.{part}").write_text(text)
    words = [word for _, word in se.definitions(tmp_path)]
    assert words == ["cat", "true cat", "entity", "galore", "abundant"]
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path))
    assert [word for _, word in se.definitions()] == words
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path / "none"))
    with pytest.raises(FileNotFoundError, match="apt install wordnet-base"):
        next(se.definitions())
    (tmp_path / "data.adv").unlink()
    with pytest.raises(FileNotFoundError, match=r"data\.adv"):
        list(se.definitions(tmp_path))


@pytest.mark.parametrize(
    "line",
    [
        "a sentence",
        "00001740 03 n 01 entity 0 000 without a bar",
        "00001740 03 n xx entity 0 000 | x",
        "00001740 03 n 7f entity 0 000 | x",
        "word 03 n 01 entity 0 000 | x",
    ],
)
def test_other_lines(tmp_path, line):
    (tmp_path / "data.noun").write_text(NOUN + line)
    with pytest.raises(se.FormatError, match=r"data\.noun, line 3: not an entry of WordNet, .* got '"):
        list(se.definitions(tmp_path / "data.noun"))
