from __future__ import annotations

import gzip
import math
import pickle
import re
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

import sentencode as se
from sentencode.evaluation import Bleu, bleu

pytest.importorskip("sacrebleu")

REFERENCES = [
    "The dog runs in the park.",
    'A man, who doesn\'t smile, buys 3,000 "apples".',
    "Two children play.",
    "It rains!",
    "Women (and men) read books on a bench in the sun.",
] * 8
OTHERS = [
    "A dog is running in the park.",
    "A man buys 3,000 apples and does not smile.",
    "Two kids are playing.",
    "Rain falls!",
    "Some women and men read on a bench.",
] * 8
random = np.random.default_rng(5)
TRANSLATIONS = [
    " ".join(word for word in line.split() if random.random() > 0.2) or "Nothing." for line in REFERENCES
]


def command_line(tmp_path, translations, references, *options):
    """Score and signature that the command sacrebleu prints."""
    files = []
    for i, lines in enumerate([translations, *references]):
        files.append(tmp_path / f"{i}.txt")
        files[-1].write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    run = [
        sys.executable,
        "-m",
        "sacrebleu",
        *map(str, files[1:]),
        "-i",
        str(files[0]),
        "-w",
        "6",
        "-f",
        "text",
    ]
    shown = subprocess.run([*run, *options], check=True, capture_output=True, text=True).stdout
    signature, score = re.fullmatch(r"BLEU\|(\S+) = ([\d.]+) .*\n", shown).groups()
    return float(score), signature


@pytest.mark.parametrize(
    ("references", "ours", "theirs"),
    [
        ([REFERENCES], {}, []),
        ([REFERENCES, OTHERS], {}, []),
        ([REFERENCES], {"lowercase": True, "tokenize": "intl"}, ["-lc", "-tok", "intl"]),
    ],
)
def test_score_and_signature_equal_the_command_line(tmp_path, references, ours, theirs):
    scored = bleu(TRANSLATIONS, *references, **ours)
    assert (pytest.approx(scored.score, abs=1e-6), scored.signature) == command_line(
        tmp_path, TRANSLATIONS, references, *theirs
    )
    assert scored.low < scored.score < scored.high
    assert str(scored) == f"{scored.score:.2f} ({scored.low:.2f} to {scored.high:.2f}; {scored.signature})"


def slow(translations, references):
    """BLEU of tokens with spaces between them, by its definition (Papineni et al. 2002)."""
    matched, there, long, short = np.zeros(4), np.zeros(4), 0, 0
    for text, *gold in zip(translations, *references, strict=True):
        tokens, gold = text.split(), [one.split() for one in gold]
        long += len(tokens)
        short += min((abs(len(one) - len(tokens)), len(one)) for one in gold)[1]
        for n in range(1, 5):
            counts, most = ngrams(tokens, n), Counter()
            for one in gold:
                most |= ngrams(one, n)
            matched[n - 1] += (
                (counts & most).total() if hasattr(counts, "total") else sum((counts & most).values())
            )
            there[n - 1] += sum(counts.values())
    return 100 * min(1, math.exp(1 - short / long)) * math.exp(np.log(matched / there).mean())


def ngrams(tokens, n):
    return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


@pytest.mark.parametrize("references", [[REFERENCES], [REFERENCES, OTHERS]])
def test_by_definition(references):
    scored = bleu(TRANSLATIONS, *references, tokenize="none", resamples=0)
    assert scored.score == pytest.approx(slow(TRANSLATIONS, references), rel=1e-12)
    assert scored.low == scored.high == scored.score
    assert "tok:none" in scored.signature


def test_the_interval_is_that_of_resampled_test_sets():
    scored = bleu(TRANSLATIONS, REFERENCES, OTHERS, tokenize="none", resamples=1000)
    draw, scores = np.random.default_rng(0), []
    for _ in range(400):
        at = draw.integers(len(TRANSLATIONS), size=len(TRANSLATIONS))
        scores.append(slow(*([lines[i] for i in at] for lines in (TRANSLATIONS,)), _drawn(at)))
    low, high = np.percentile(scores, [2.5, 97.5])
    width = high - low
    assert abs(scored.low - low) < 0.2 * width > abs(scored.high - high)
    assert bleu(TRANSLATIONS, REFERENCES, OTHERS, tokenize="none", resamples=1000) == scored
    other = bleu(TRANSLATIONS, REFERENCES, OTHERS, tokenize="none", resamples=1000, seed=1)
    assert (other.low, other.high) != (scored.low, scored.high)
    narrow = bleu(TRANSLATIONS, REFERENCES, OTHERS, tokenize="none", resamples=1000, confidence=0.5)
    assert scored.low < narrow.low < narrow.high < scored.high


def _drawn(at):
    return [[lines[i] for i in at] for lines in (REFERENCES, OTHERS)]


def test_perfect_empty_and_foreign_translations():
    perfect = bleu(REFERENCES, REFERENCES)
    assert perfect[:3] == pytest.approx((100, 100, 100))
    assert bleu([""] * len(REFERENCES), REFERENCES)[:3] == (0, 0, 0)
    assert bleu(["völlig anderes"] * len(REFERENCES), REFERENCES)[:3] == (0, 0, 0)
    assert 0 < bleu(["", *REFERENCES[1:]], REFERENCES).score < 100
    assert bleu([line.lower() for line in REFERENCES], REFERENCES).score < 100
    assert bleu([line.lower() for line in REFERENCES], REFERENCES, lowercase=True).score == pytest.approx(100)


def test_files_by_name_keep_their_empty_lines(tmp_path):
    translations = ["", *TRANSLATIONS[1:]]
    (tmp_path / "out").write_text("".join(f"{line}\n" for line in translations))
    (tmp_path / "ref.gz").write_bytes(gzip.compress("".join(f"{line}\n" for line in REFERENCES).encode()))
    scored = bleu(str(tmp_path / "out"), tmp_path / "ref.gz")
    assert scored == bleu(translations, REFERENCES) == bleu(iter(translations), np.array(REFERENCES))
    assert scored == bleu(translations, se.Corpus(REFERENCES))
    with pytest.raises(FileNotFoundError):
        bleu("none", REFERENCES)


def test_errors():
    for references in ([], [REFERENCES], [[], []]):
        with pytest.raises(ValueError, match="give translations and at least one list of references"):
            bleu(*(references or [[]]))
    with pytest.raises(ValueError, match=r"there are 2 translations and 1 references$"):
        bleu(["a", "b"], ["a"])
    with pytest.raises(ValueError, match="there are 2 translations and 3 references in list 1"):
        bleu(["a", "b"], ["a", "b"], ["a", "b", "c"])
    with pytest.raises(TypeError, match=r"translations\[1\] is NoneType"):
        bleu(["a", None], ["a", "b"])
    with pytest.raises(TypeError, match=r"references\[1\]\[0\] is int"):
        bleu(["a"], ["a"], [1])
    for wrong, why in (
        ({"confidence": 1}, "confidence must be less than 1"),
        ({"resamples": -1}, "resamples must be at least 0"),
        ({"tokenize": "words"}, "tokenize must be one of .*13a.*, got 'words'"),
        ({"seed": -1}, "seed must be at least 0"),
    ):
        with pytest.raises(ValueError, match=why):
            bleu(["a"], ["a"], **wrong)
    with pytest.raises(TypeError, match="lowercase must be True or False"):
        bleu(["a"], ["a"], lowercase=1)


def test_tokenized_text_is_noticed():
    with pytest.warns(UserWarning, match=r"2 of 3 translations end with ' \.': detokenize them first"):
        bleu(["a b .", "c d . ", "e."], ["a b.", "c d.", "e."])
    bleu(["a b .", "c d."], ["a b.", "c d."])


def test_nothing_is_logged(caplog):
    bleu(["a dog ."] * 101 + ["a dog."] * 102, ["a dog."] * 203)
    assert not caplog.records


def test_without_sacrebleu_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    with pytest.raises(ImportError, match=r"this needs sacrebleu: pip install 'sentencode\[translate\]'"):
        bleu(["a"], ["a"])


def test_pickled():
    scored = bleu(TRANSLATIONS, REFERENCES)
    assert pickle.loads(pickle.dumps(scored)) == scored
    assert isinstance(scored, Bleu)
