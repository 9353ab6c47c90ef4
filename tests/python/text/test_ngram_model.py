from __future__ import annotations

import copy
import gzip
import math
import os
import pickle
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sentencode as se
from sentencode.text import NgramModel

LINES = ["a dog runs in the park", "a cat runs", "the dog sleeps", "a dog sees a cat in the park"]


def sampled(n, seed):
    """Sentences in which words follow each other as in a language: few often, many rarely."""
    draw = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(600)]
    lines = []
    for _ in range(n):
        at, line = 0, []
        for _ in range(draw.integers(1, 12)):
            at = (3 * at + min(int(draw.zipf(1.5)), 599)) % 600
            line.append(words[at])
        lines.append(" ".join(line))
    return lines


class Slow:
    """Interpolated, modified Kneser-Ney, straight from Chen and Goodman (1998), section 3, word by word.

    Where n-grams begin with the first symbol, nothing stands before them, and their own counts are taken.
    """

    def __init__(self, lines, order):
        self.order = order
        counts = defaultdict(Counter)  # counts of contexts, by next word
        before = defaultdict(lambda: defaultdict(set))
        for line in filter(None, map(str.split, lines)):
            tokens = ["<s>", *line, "</s>"]
            for i in range(1, len(tokens)):
                for n in range(1, min(order, i + 1) + 1):
                    context = tuple(tokens[i - n + 1 : i])
                    counts[context][tokens[i]] += 1
                    if i - n + 1 > 0:
                        before[context][tokens[i]].add(tokens[i - n])
        self.counts = {}
        for context, words in counts.items():
            if len(context) == order - 1 or context[:1] == ("<s>",):
                self.counts[context] = dict(words)
            else:
                self.counts[context] = {word: len(before[context][word]) for word in words}
        self.words = set(counts[()])
        self.discounts = {}
        for n in range(order):
            of = Counter(c for ctx, words in self.counts.items() if len(ctx) == n for c in words.values())
            self.discounts[n] = self._discounts(*(of[i] for i in (1, 2, 3, 4)))

    @staticmethod
    def _discounts(n1, n2, n3, n4):
        if n1 and n2 and n3:
            y = n1 / (n1 + 2 * n2)
            discounts = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
            if all(0 <= d <= i for i, d in enumerate(discounts, 1)):
                return discounts
        return 0.5, 1, 1.5

    def p(self, context, word):
        lower = self.p(context[1:], word) if context else 1 / (len(self.words) + 1)
        seen = self.counts.get(context)
        if seen is None:
            return lower
        d1, d2, d3 = self.discounts[len(context)]
        discount = {0: 0, 1: d1, 2: d2}
        whole = sum(seen.values())
        left = sum(discount.get(c, d3) for c in seen.values()) / whole
        c = seen.get(word, 0)
        return (c - discount.get(c, d3)) / whole + left * lower

    def log_p(self, line):
        tokens = ["<s>", *line.split(), "</s>"]
        return [
            math.log(self.p(tuple(tokens[max(0, i - self.order + 1) : i]), tokens[i]))
            for i in range(1, len(tokens))
        ]


@pytest.mark.parametrize("order", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("lines", [LINES, sampled(400, 0), ["a"], ["a b", "a b"]], ids=len)
def test_as_the_slow_reference(order, lines):
    model, slow = NgramModel(order=order).fit(lines), Slow(lines, order)
    read = [*lines[:20], *sampled(30, 1), *LINES, "a new a dog", "new", "dog new runs in"]
    each = [slow.log_p(line) for line in read]
    assert model.log_probability(read) == pytest.approx([sum(one) for one in each], rel=1e-10)
    every = [p for one in each for p in one]
    assert model.perplexity(read, unknown=True) == pytest.approx(math.exp(-np.mean(every)), rel=1e-10)
    known = [
        p
        for line, one in zip(read, each, strict=True)
        for word, p in zip([*line.split(), "</s>"], one, strict=True)
        if word in slow.words
    ]
    assert model.perplexity(read) == pytest.approx(math.exp(-np.mean(known)), rel=1e-10)
    words = [word for line in read for word in line.split()]
    assert model.oov_rate(read) == pytest.approx(np.mean([word not in slow.words for word in words]))


def test_discounts_come_from_the_counts_where_these_suffice():
    slow = Slow(sampled(400, 0), 4)
    assert all(discounts != (0.5, 1, 1.5) for discounts in slow.discounts.values())
    assert set(Slow(["a b"], 3).discounts.values()) == {(0.5, 1, 1.5)}


SENTENCES = st.lists(st.lists(st.sampled_from("abcde"), max_size=7).map(" ".join), min_size=1, max_size=12)


@settings(deadline=None, max_examples=60)
@given(SENTENCES, st.integers(1, 5), st.lists(st.sampled_from("abcdex"), max_size=4))
def test_probabilities_of_all_words_sum_to_one(lines, order, begin):
    if not any(lines):
        return
    model = NgramModel(order=order).fit(lines)
    words = {word for line in lines for word in line.split()}
    start = " ".join(begin)

    def p(line):  # probability of a line without its end
        ids, depth = model._ids([line])
        return float(np.exp(model._log_p(ids, depth)[: len(line.split()) + 1].sum()))

    total = sum(p(f"{start} {word}") for word in [*words, "unknown"])
    ends = np.exp(model.log_probability([start]))[0] if begin else 1 - total
    assert total + ends == pytest.approx(p(start) if begin else 1, rel=1e-9)


def test_values_of_lmplz():
    """What KenLM's `lmplz -o 3 --discount_fallback` and `query` say; logarithms to 10."""
    model = NgramModel(order=3).fit(LINES)
    read = ["a dog sleeps in the park", "the bird runs"]
    assert model.log_probability(read) / np.log(10) == pytest.approx([-4.7411385, -4.30721], abs=1e-6)
    assert model.perplexity(read, unknown=True) == pytest.approx(6.646256984371778, rel=1e-6)
    assert model.perplexity(read) == pytest.approx(5.61011449227327, rel=1e-6)
    assert model.oov_rate(read) == 1 / 9


def test_arpa_files_equal_those_of_lmplz(tmp_path):
    path = tmp_path / "a.arpa"
    NgramModel(order=3).fit(LINES).write_arpa(path)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("\\data\\\nngram 1=12\nngram 2=17\nngram 3=17\n\n\\1-grams:\n")
    assert text.endswith("\n\\end\\\n")
    rows = {parts[1]: parts for parts in (line.split("\t") for line in text.splitlines()) if len(parts) > 1}
    for words, p, weight in (
        ("<unk>", -1.1484567, 0),
        ("<s>", 0, -0.024823597),
        ("a", -1.0908151, -0.26999578),
        ("in", -1.0908151, -0.3802113),
        ("park", -0.9466779, -0.10914446),
        ("runs </s>", -0.77892613, 0),
        ("<s> a", -1.1156387, -0.30103),
        ("runs in", -0.75892013, -0.30103),
    ):
        assert [float(x) for x in rows[words][::2]] == pytest.approx([p, weight], abs=1e-6), words
    assert len(rows["a dog runs"]) == 2
    kenlm = pytest.importorskip("kenlm")
    model = kenlm.Model(str(path))
    read = [*LINES, "the bird runs", "a dog sleeps in the park"]
    theirs = [model.score(line) * math.log(10) for line in read]
    assert NgramModel(order=3).fit(LINES).log_probability(read) == pytest.approx(theirs, rel=1e-5)


def test_files_tokenizers_and_empty_lines(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress("\n\n".join(LINES).encode()))
    model = NgramModel().fit(LINES)
    expected = model.perplexity(LINES)
    for held in (
        str(path),
        path,
        se.Corpus(path, keep_empty=True),
        iter(LINES),
        np.array(LINES),
        ["", *LINES],
    ):
        assert NgramModel().fit(held).perplexity(LINES) == expected
    assert model.perplexity(path) == expected
    assert len(model.log_probability(["", LINES[0], " "])) == 1
    words = NgramModel(tokenizer=se.Tokenizer("words", lowercase=True)).fit(["A dog runs.", "It doesn't."])
    assert words.oov_rate(["The dog does run ."]) == pytest.approx(2 / 5)
    tokens = [line.split() for line in LINES]
    assert NgramModel().fit(tokens).perplexity(tokens) == expected


def test_words_that_are_named_as_symbols_are_words(tmp_path):
    model = NgramModel(order=2).fit(["<s> a </s> <unk>", "a b"])
    assert model.oov_rate(["<unk> <s> c"]) == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="the text has one of <unk>, <s>"):
        model.write_arpa(tmp_path / "a.arpa")
    with pytest.raises(ValueError, match="the word 'a b' has white space"):
        NgramModel(2, tokenizer=lambda text: [text]).fit(["a b", "c"]).write_arpa(tmp_path / "a.arpa")
    assert list(tmp_path.iterdir()) == []


def test_errors(tmp_path):
    model = NgramModel()
    uses = (model.perplexity, model.oov_rate, model.log_probability)
    for use in uses:
        with pytest.raises(se.NotFittedError, match="NgramModel: call fit first"):
            use(LINES)
    with pytest.raises(se.NotFittedError):
        model.write_arpa(tmp_path / "a.arpa")
    with pytest.raises(ValueError, match="fit: no sentence has a word"):
        model.fit(["", " "])
    model.fit(LINES)
    for use in uses:
        with pytest.raises(ValueError, match="sentences: none has a word"):
            use([" "])
        with pytest.raises(TypeError, match=r"sentences\[1\] is"):
            use(["a dog", 3])
    for order in (0, 17):
        with pytest.raises(ValueError, match="order must be at"):
            NgramModel(order=order)
    with pytest.raises(FileNotFoundError):
        model.fit("no such file")


def test_copied_and_pickled():
    model = NgramModel(order=3).fit(LINES)
    for same in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert same.perplexity(LINES) == model.perplexity(LINES)
        assert repr(same) == repr(model)
    assert "9 words" in repr(model)


@pytest.mark.skipif("SENTENCODE_DATA" not in os.environ, reason="SENTENCODE_DATA is not set")
def test_real_text_as_lmplz():
    """What KenLM's `lmplz -o 4` and `query` say of Multi30k."""
    folder = Path(os.environ["SENTENCODE_DATA"], "multi30k")
    model = NgramModel(order=4).fit(folder / "train.en.gz")
    valid = folder / "val.en.gz"
    assert model.perplexity(valid, unknown=True) == pytest.approx(53.48397393796628, rel=1e-6)
    assert model.perplexity(valid) == pytest.approx(44.23180936843489, rel=1e-6)
    assert model.oov_rate(valid) == 273 / (13181 - 1014)
