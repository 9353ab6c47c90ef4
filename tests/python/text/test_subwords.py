from __future__ import annotations

import gzip
import json
import os
import pickle
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sentencode as se
from sentencode.text import learn_bpe

pytest.importorskip("tokenizers")

TEXT = ["low lower lowest", "new newer newest wide wider widest", "the new low", "älter als"]


def test_each_merge_is_of_a_most_frequent_pair():
    """As in the listing of Sennrich et al., which does not define how ties are broken."""
    learnt = json.loads(learn_bpe(TEXT, size=40).to_str())["model"]["merges"]
    assert len(learnt) > 10
    words = Counter("▁" + word for line in TEXT for word in line.split())
    pieces = {word: list(word) for word in words}
    for pair in map(tuple, learnt):
        pairs = Counter()
        for word, count in words.items():
            for both in zip(pieces[word], pieces[word][1:], strict=False):
                pairs[both] += count
        assert pairs[pair] == max(pairs.values()) >= 2
        for word, symbols in pieces.items():
            joined, i = [], 0
            while i < len(symbols):
                width = 1 + (tuple(symbols[i : i + 2]) == pair)
                joined.append("".join(symbols[i : i + width]))
                i += width
            pieces[word] = joined


@settings(deadline=None, max_examples=50)
@given(st.lists(st.text(alphabet="abc äß.,'\t\n\u3000", max_size=20), min_size=1))
def test_text_is_restored_except_for_repeated_spaces(lines):
    bpe = learn_bpe(["abc äß.,' cab cab"], lines, size=60)
    for line in lines:
        encoded = bpe.encode(line)
        assert bpe.decode(encoded.ids) == " ".join(line.split())
        assert se.Tokenizer(bpe).join(encoded.tokens) == " ".join(line.split())


def test_joint_files_and_lists_are_the_same(tmp_path):
    for name, lines in (("a.txt", TEXT[:2]), ("b.txt.gz", TEXT[2:])):
        text = "\n".join(lines).encode()
        (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    both = learn_bpe(TEXT[:2], TEXT[2:], size=40).to_str()
    assert learn_bpe(str(tmp_path / "a.txt"), tmp_path / "b.txt.gz", size=40).to_str() == both
    assert learn_bpe(se.Corpus(tmp_path), size=40).to_str() == both
    assert learn_bpe(iter(TEXT), size=40).to_str() == both


def test_the_same_in_every_process():
    code = f"from sentencode.text import learn_bpe; print(learn_bpe({TEXT!r} * 50, size=60).to_str())"
    run = [sys.executable, "-c", code]
    outputs = {subprocess.run(run, check=True, capture_output=True).stdout for _ in range(3)}
    assert len(outputs) == 1


def test_sizes():
    characters = {letter for line in TEXT for letter in line if letter != " "} | {"▁", "<unk>"}
    bpe = learn_bpe(TEXT, size=len(characters))
    assert set(bpe.get_vocab()) == characters
    assert learn_bpe(TEXT, size=len(characters) + 5).get_vocab_size() == len(characters) + 5
    with pytest.raises(ValueError, match=rf"size must be at least {len(characters)}, .* got 10"):
        learn_bpe(TEXT, size=10)
    assert set(learn_bpe(TEXT, size=1000, min_count=5).get_vocab()) == characters
    assert characters < set(learn_bpe(TEXT, size=1000, min_count=4).get_vocab())
    assert bpe.encode("x").tokens == ["▁", "<unk>"]


def test_errors():
    with pytest.raises(ValueError, match="at least one text"):
        learn_bpe(size=10)
    with pytest.raises(ValueError, match="the texts have no words"):
        learn_bpe(["", "  "], [], size=10)
    with pytest.raises(TypeError, match=r"texts\[1\]\[2\] is int \(3\); expected str"):
        learn_bpe(TEXT, ["a", "b", 3], size=100)
    with pytest.raises(FileNotFoundError):
        learn_bpe("no such file", size=100)
    for wrong in ({"size": 0}, {"size": 9, "min_count": 0}):
        with pytest.raises(ValueError, match="must be at least 1"):
            learn_bpe(TEXT, **wrong)
    with pytest.raises(TypeError, match="show_progress_bar must be True or False"):
        learn_bpe(TEXT, size=100, show_progress_bar="no")


def test_without_tokenizers_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ImportError, match=r"this needs tokenizers: pip install 'sentencode\[translate\]'"):
        learn_bpe(TEXT, size=100)


def test_pickled():
    bpe = learn_bpe(TEXT, size=40)
    assert pickle.loads(pickle.dumps(bpe)).to_str() == bpe.to_str()


@pytest.mark.skipif("SENTENCODE_DATA" not in os.environ, reason="SENTENCODE_DATA is not set")
def test_real_lines_come_back():
    folder = Path(os.environ["SENTENCODE_DATA"], "multi30k")
    bpe = learn_bpe(folder / "train.en.gz", folder / "train.de.gz", size=4000)
    assert bpe.get_vocab_size() == 4000
    for language in ("en", "de"):
        lines = list(se.Corpus(folder / f"val.{language}.gz"))
        back = bpe.decode_batch([one.ids for one in bpe.encode_batch(lines)])
        assert back == [" ".join(line.split()) for line in lines]
