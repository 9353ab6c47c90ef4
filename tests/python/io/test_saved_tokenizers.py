"""Tokenizers of the package `tokenizers` in saved files: ordinary ones load, none hangs or panics."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

import sentencode as se
from sentencode.text import learn_bpe

from .saved_files import changed

tokenizers = pytest.importorskip("tokenizers")
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers

TEXTS = ["the cat sat on the mat", "a big dog ran", "the red cat"]
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)


def charsmap(replacements, *, size=512, text=None):
    """A double array as `Precompiled` has it, of keys of one byte: units, then texts that end in a zero."""
    units, texts = [0] * size, b""
    root = 256
    units[0] = root << 10
    for key, value in replacements.items():
        child = root ^ key
        offset = key + 1  # an even offset below 256 for each key
        units[child] = key | 1 << 8 | (child ^ offset) << 10
        units[offset] = len(texts) | 1 << 31
        texts += value.encode() + b"\0"
    trie = np.array(units, "<u4").tobytes()
    return base64.b64encode(
        len(trie).to_bytes(4, "little") + trie + (texts if text is None else text)
    ).decode()


def tokenizer(normalizer=None, pre=None, decoder=None, model=None):
    built = tokenizers.Tokenizer(
        model or models.WordLevel({"<unk>": 0, "the": 1, "cat": 2}, unk_token="<unk>")
    )
    for name, part in (("normalizer", normalizer), ("pre_tokenizer", pre), ("decoder", decoder)):
        if part is not None:
            setattr(built, name, part)
    return built


def bert():
    built = tokenizer(
        normalizers.BertNormalizer(),
        pre_tokenizers.BertPreTokenizer(),
        decoders.WordPiece(),
        models.WordPiece(unk_token="[UNK]"),
    )
    trainer = trainers.WordPieceTrainer(
        vocab_size=60, special_tokens=["[UNK]", "[CLS]", "[SEP]"], show_progress=False
    )
    built.train_from_iterator(TEXTS, trainer)
    built.add_tokens([tokenizers.AddedToken("[MASK]", lstrip=True), tokenizers.AddedToken("  ")])
    built.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return built


def trained(built):
    built.train_from_iterator(TEXTS, vocab_size=60, show_progress=False)
    return built._tokenizer


def albert():
    table = {"type": "Precompiled", "precompiled_charsmap": charsmap({ord("X"): "x", ord("Y"): "yy"})}
    content = json.loads(trained(tokenizers.SentencePieceUnigramTokenizer()).to_str())
    quotes = [{"type": "Replace", "pattern": {"String": "``"}, "content": '"'}]
    content["normalizer"] = {
        "type": "Sequence",
        "normalizers": [*quotes, {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}, table],
    }
    return tokenizers.Tokenizer.from_str(json.dumps(content))


def byte_level(pattern):
    built = trained(tokenizers.ByteLevelBPETokenizer())
    built.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(use_regex=False)]
    )
    return built


ORDINARY = {
    "bert": bert,
    "unigram": lambda: trained(tokenizers.SentencePieceUnigramTokenizer()),
    "sentencepiece bpe": lambda: trained(tokenizers.SentencePieceBPETokenizer()),
    "byte-level bpe": lambda: trained(tokenizers.ByteLevelBPETokenizer()),
    "character bpe": lambda: trained(tokenizers.CharBPETokenizer()),
    "gpt-2": lambda: byte_level(GPT2),
    "llama 3": lambda: byte_level(LLAMA3),
    "albert": albert,
    "ours": lambda: learn_bpe(TEXTS, size=40),
}


def saved(path, content, texts=TEXTS):
    """A file with this JSON as its external tokenizer, as earlier versions saved all of them."""
    built = learn_bpe(texts, size=40)
    pieces = {piece for text in texts for piece in built.encode(text).tokens}
    rows = np.random.default_rng(1).normal(size=(len(pieces), 4)).astype(np.float32)
    vectors = se.WordVectors.from_array(sorted(pieces), rows)
    encoder = se.Average(vectors, tokenizer=built)
    encoder.save(path)

    def as_external(config, params):
        for part, more in ((config, {}), (params, {"content": content})):
            kept = {name: part["tokenizer"][name] for name in ("lowercase", "invalid")}
            part["tokenizer"] = {"split": "external", **kept, **more}

    changed(path, as_external)
    return path


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_tokenizers_need_no_trust(tmp_path, name):
    built = ORDINARY[name]()
    loaded = se.load(saved(tmp_path / "file", built.to_str()))
    expected = [built.encode(text, add_special_tokens=False).tokens for text in TEXTS]
    assert loaded.tokenizer_(TEXTS) == expected
    assert all(expected)


REPLACE = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 10}
BOUNDLESS = {
    "nested replacements": {"normalizer": {"type": "Sequence", "normalizers": [REPLACE] * 4}},
    "one character that becomes many": {"normalizer": {**REPLACE, "content": "\ufdfa" * 9}},
    "an empty match": {"normalizer": {**REPLACE, "pattern": {"Regex": r"\s*"}}},
    "an empty string": {"normalizer": {**REPLACE, "pattern": {"String": ""}}},
    "backtracking": {
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"Regex": "(a+)+$"},
            "behavior": "Isolated",
            "invert": False,
        }
    },
    "backtracking in a decoder": {"decoder": {**REPLACE, "pattern": {"Regex": "(a+)+$"}}},
    "bytes as characters, again and again": {
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "ByteLevel"}] * 9}
    },
    "very many components": {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}] * 999}},
    "a component of a later version": {"normalizer": {"type": "Later"}},
    "a component without a type": {"normalizer": {"pattern": {"String": "a"}, "content": "a"}},
    "a long prefix": {"normalizer": {"type": "Prepend", "prepend": "a" * 1000}},
    "a table that makes text long": {
        "normalizer": {"type": "Precompiled", "precompiled_charsmap": charsmap({ord("a"): "a" * 999})}
    },
    "words in square time": {
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 10**6,
            "vocab": {"[UNK]": 0},
        }
    },
    **{
        f"a long token of unknown words in {kind}": {
            "model": {"type": kind, "vocab": {"a" * 5000: 0}, "unk_token": "a" * 5000, **more}
        }
        for kind, more in (
            ("BPE", {"merges": []}),
            ("WordLevel", {}),
            ("WordPiece", {"continuing_subword_prefix": "##", "max_input_chars_per_word": 100}),
        )
    },
    **{
        f"white space that takes more, {side} {content!r}": {
            "normalizer": {"type": "Replace", "pattern": {"String": "x"}, "content": " "},
            "added_tokens": [
                {
                    **{"id": 9, "content": content, "single_word": False, "special": False},
                    **{"lstrip": False, "rstrip": False, "normalized": True, side: True},
                }
            ],
        }
        for side in ("lstrip", "rstrip")
        for content in (" ", "x")
    },
    "words of 1000 characters": {
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 1000,
            "vocab": {"[UNK]": 0},
        }
    },
    "a long prefix of BPE": {
        "model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "continuing_subword_prefix": "a" * 5000}
    },
    "a long suffix of BPE": {
        "model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "end_of_word_suffix": "a" * 5000}
    },
    "a long prefix of WordPiece": {
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "a" * 5000,
            "max_input_chars_per_word": 100,
            "vocab": {"[UNK]": 0},
        }
    },
    "long pieces": {"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["a" * 5000, -1]]}},
}


@pytest.mark.parametrize("name", BOUNDLESS)
def test_unbounded_tokenizers_require_trust(tmp_path, name):
    content = json.dumps({**json.loads(tokenizer().to_str()), **BOUNDLESS[name]})
    path = saved(tmp_path / "file", content)
    with pytest.raises(ValueError, match=r"could hang, or fill the memory.*trust_tokenizer=True") as caught:
        se.load(path)
    assert str(path) in str(caught.value)
    se.load(path, tokenizer=str.split)


def test_a_tokenizer_that_is_trusted_may_be_anything(tmp_path):
    built = tokenizer(
        normalizers.Replace("t", "t" * 300), pre_tokenizers.Split(Regex(r" ?\w\w+"), "isolated")
    )
    path = saved(tmp_path / "file", built.to_str())
    with pytest.raises(ValueError, match="trust_tokenizer"):
        se.load(path)
    assert se.load(path, trust_tokenizer=True).tokenizer_("the") == built.encode("the").tokens


def test_trust_reaches_the_tokenizer_of_the_target(tmp_path):
    pytest.importorskip("torch")
    built = tokenizer(pre=pre_tokenizers.Split(Regex(r" ?\w\w+"), "isolated"))
    small = {"features": 4, "hidden": 2, "decoder_hidden": 3, "heads": 2, "attention": 3}
    nmt = se.CompoundNMT(**small, target_tokenizer=built, max_steps=1, device="cpu").fit(TEXTS, TEXTS)
    nmt.save(tmp_path / "file")
    with pytest.raises(ValueError, match="trust_tokenizer=True"):
        se.load(tmp_path / "file")
    assert se.load(tmp_path / "file", trust_tokenizer=True).translate(TEXTS) == nmt.translate(TEXTS)


FINE = charsmap({ord("a"): "b"})
RAW = base64.b64decode(FINE)
DAMAGED = {
    "nothing": "",
    "no base64": "?" + FINE,
    "more units than there are": base64.b64encode((2**31).to_bytes(4, "little") + RAW[4:]).decode(),
    "no unit": base64.b64encode(bytes(8)).decode(),
    "a path that leads out": charsmap({ord("a"): "b"}, size=257 + ord("a")),
    "a text past the end": charsmap({ord("a"): "b", ord("c"): "d"}, text=b"b"),
    "half a character": charsmap({ord("a"): "b", ord("c"): "d"}, text="aé\0".encode()),
    "a text that is not UTF-8": charsmap({ord("a"): "b"}, text=b"\xff\0"),
}


def with_table(table):
    normalizer = {"type": "Precompiled", "precompiled_charsmap": table}
    return json.dumps({**json.loads(tokenizer().to_str()), "normalizer": normalizer})


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_tables_of_precompiled_are_format_errors(tmp_path, name):
    assert se.load(saved(tmp_path / "fine", with_table(FINE))).tokenizer_("cat") == ["<unk>"]
    path = saved(tmp_path / "file", with_table(DAMAGED[name]))
    with pytest.raises(se.FormatError, match="precompiled_charsmap is damaged") as caught:
        se.load(path)
    assert str(path) in str(caught.value)


def test_a_table_that_passes_never_panics(tmp_path):
    """Of many damaged tables, those that are not refused normalise every character."""
    from sentencode.text.tokenizer_json import check_tokenizer_json

    generator, outcomes = np.random.default_rng(1), {True: 0, False: 0}
    whole = base64.b64decode(charsmap({key: chr(key).lower() for key in b"ABCDEFGHIJKLM"}))
    texts = ["".join(map(chr, range(begin, begin + 999))) for begin in (1, 1000, 0x3000, 0xF900)]
    for _ in range(300):
        data = bytearray(whole)
        for position in generator.integers(4, len(data), 3):
            data[position] = generator.integers(256)
        table = base64.b64encode(data).decode()
        try:
            check_tokenizer_json(with_table(table))
        except ValueError:
            outcomes[False] += 1
            continue
        outcomes[True] += 1
        normalizer = normalizers.Precompiled(bytes(data))
        for text in texts:
            normalizer.normalize_str(text)  # a panic is no Exception
    assert min(outcomes.values()) > 20, outcomes


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[1]",
        "{",
        "[" * 10_000,
        '{"normalizer": ' * 10_000,
        '{"normalizer": {"type": "Lowercase", "type": "Replace"}}',
        json.dumps({**json.loads(tokenizer().to_str()), "normalizer": {"type": "Precompiled"}}),
        json.dumps({**json.loads(tokenizer().to_str()), "normalizer": [1]}),
        json.dumps({**json.loads(tokenizer().to_str()), "decoder": {"type": "Sequence"}}),
        tokenizer().to_str().replace('"cat":2', '"cat":4294967295'),  # all ids up to it are gone through
        tokenizer().to_str().replace('"cat":2', '"cat":"x"'),
        learn_bpe(TEXTS, size=40)
        .to_str()
        .replace('"continuing_subword_prefix":null', '"continuing_subword_prefix":"ä"'),
    ],
)
def test_damaged_tokenizers_are_format_errors(tmp_path, content):
    path = saved(tmp_path / "file", content)
    with pytest.raises(ValueError, match="tokenizer") as caught:
        se.load(path)
    assert str(path) in str(caught.value)


def test_a_panic_in_use_is_an_error():
    built = se.Tokenizer(tokenizer(decoder=decoders.Strip("a", 0, 3)))
    with pytest.raises(ValueError, match="the decoder of the tokenizer failed"):
        built.join(["a"])
    unknown = se.Tokenizer(tokenizer(model=models.WordLevel({"the": 0}, unk_token="[UNK]")))
    with pytest.raises(ValueError, match="the tokenizer failed"):
        unknown("cat")


def test_tokens_of_post_processors_are_dropped():
    built = tokenizer(pre=pre_tokenizers.Whitespace())
    built.post_processor = processors.TemplateProcessing(single="$A $A $A", special_tokens=[])
    assert se.Tokenizer(built)("the cat") == ["the", "cat"]
