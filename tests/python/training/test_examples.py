from __future__ import annotations

import gzip
import json
import os
import pickle
import subprocess
import sys
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sentencode as se
from sentencode.training import Batcher, Examples

WORDS = ["a", "b", "c", "d", "</s>"]
VOCABULARY = se.Vocabulary({word: len(WORDS) - i for i, word in enumerate(WORDS)})


@pytest.fixture(autouse=True)
def _cache(tmp_path):
    se.set_cache_dir(tmp_path / "cache")
    yield
    se.set_cache_dir(None)


def built(source, **options):
    return Examples.build(source, VOCABULARY, "whitespace", **options)


def ids(examples, field=None):
    name = field or examples.fields[0]
    return [example[name].tolist() for example in examples]


def reference(documents, *, begin, end, unknown_words, least, most, too_long, neighbours, following):
    """A slow reference with whole documents in memory."""
    table = {word: i for i, word in enumerate(WORDS)}
    for symbol in [begin, end, "<unk>" if unknown_words == "symbol" else None]:
        if symbol is not None and symbol not in table:
            table[symbol] = len(table)

    def usable(words):
        if unknown_words == "drop_word":
            words = [word for word in words if word in WORDS]
        if unknown_words == "drop_example" and any(word not in WORDS for word in words):
            return None
        return [word if word in WORDS else "<unk>" for word in words]

    def closed(words):
        full = [begin] * (begin is not None) + words + [end] * (end is not None)
        return [table[word] for word in full]

    def field(words):
        words = usable(words)
        if words is None or len(words) < least or (most and len(words) > most and too_long == "drop"):
            return None
        return closed(words[:most] if most else words)

    examples = []
    for document in documents:
        for i, words in enumerate(document):
            example = {"tokens": field(words)}
            for name, offset in neighbours.items():
                inside = 0 <= i + offset < len(document)
                example[name] = field(document[i + offset]) if inside else None
            if following:
                rest = [word for later in document[i + 1 :] for word in later]
                if unknown_words == "drop_word":
                    rest = usable(rest)
                window = usable(rest[:following])
                example["following"] = None if not window or len(window) < least else closed(window)
            if None not in example.values():
                examples.append(example)
    return examples


sentences = st.lists(st.sampled_from([*WORDS, "x", "y"]), min_size=1, max_size=7)


@settings(max_examples=60, deadline=None)
@given(
    documents=st.lists(st.lists(sentences, min_size=1, max_size=6), min_size=1, max_size=5),
    begin=st.sampled_from([None, "<s>", "</s>"]),
    end=st.sampled_from([None, "</s>", "<e>"]),
    unknown_words=st.sampled_from(["symbol", "drop_word", "drop_example"]),
    least=st.integers(0, 3),
    most=st.sampled_from([None, 3, 5]),
    too_long=st.sampled_from(["drop", "truncate"]),
    neighbours=st.dictionaries(
        st.sampled_from(["p", "n", "q"]), st.sampled_from([-2, -1, 1, 2, 3]), max_size=2
    ),
    following=st.sampled_from([None, 1, 4, 9]),
    shard=st.sampled_from([1, 3, 1000]),
)
def test_equals_a_slow_reference(tmp_path_factory, documents, shard, **chosen):
    path = tmp_path_factory.mktemp("examples") / "file"
    text = path.with_suffix(".txt")
    text.write_text("\n\n".join("\n".join(map(" ".join, document)) for document in documents))
    expected = reference(documents, **chosen)
    options = {
        "begin": chosen["begin"],
        "end": chosen["end"],
        "unknown_words": chosen["unknown_words"],
        "min_length": chosen["least"],
        "max_length": chosen["most"],
        "too_long": chosen["too_long"],
        "neighbours": chosen["neighbours"],
        "following_words": chosen["following"],
    }
    if not expected:
        with pytest.raises(ValueError, match=r"none of [0-9]+ rows can be used"):
            built(text, path=path, shard_examples=shard, **options)
        return
    examples = built(text, path=path, shard_examples=shard, **options)
    assert [{name: part.tolist() for name, part in example.items()} for example in examples] == expected
    assert sum(examples.rows.values()) == 2 * examples.rows["read"] == 2 * sum(map(len, documents))
    assert examples.rows["examples"] == len(examples) == len(expected)
    lengths = [len(example["tokens"]) for example in expected]
    assert examples.lengths().tolist() == lengths
    assert examples.ids().max() < examples.vocabulary_size()
    Examples.open(path, verify=True)
    # The same from memory, batch by batch.
    listed = [" ".join(words) for document in documents for words in [*document, []]]
    again = built(listed, path=path.with_suffix(".again"), shard_examples=shard, **options)
    assert [{name: part.tolist() for name, part in example.items()} for example in again] == expected


def test_symbols_are_shared_by_fields_of_one_vocabulary():
    examples = built(["a b", "c"], begin={"tokens": None, "next": "<s>"}, end="</s>", neighbours={"next": 1})
    assert examples.symbols() == examples.symbols("next") == {"</s>": 4, "<unk>": 5, "<s>": 6}
    assert examples.vocabulary_size("tokens") == examples.vocabulary_size("next") == 7
    assert (ids(examples), ids(examples, "next")) == ([[0, 1, 4]], [[6, 2, 4]])


def test_pairs_with_labels():
    pairs = [("a", "b c", 1), ("c x", "d", 0), ("b", "", 2)]
    examples = built(pairs, fields=("first", "second"), labels="int64")
    assert examples.fields == ("first", "second")
    assert (ids(examples), ids(examples, "second")) == ([[0], [2, 5]], [[1, 2], [3]])
    assert examples.labels.dtype == np.int64
    assert examples.labels.tolist() == [1, 0]
    assert examples[1]["label"] == 0
    assert not examples.labels.flags.writeable
    scores = built(
        ((a, b, y / 2) for a, b, y in pairs),
        fields=("first", "second"),
        labels="float32",
        path=se.cache_dir() / "scores",
    )
    assert scores.labels.tolist() == [0.5, 0.0]
    assert scores.key == ""
    assert built([("a", 3)], labels="int64").labels.tolist() == [3]


def test_parallel_files(tmp_path):
    (tmp_path / "en").write_text("a b\n\nc\nd d\n")
    with gzip.open(tmp_path / "de.gz", "wt") as file:
        file.write("u\nv\nw u\n\n")
    german = se.Vocabulary({"u": 3, "v": 2, "w": 1})
    source = {"source": tmp_path / "en", "target": tmp_path / "de.gz"}
    examples = Examples.build(
        source,
        {"source": VOCABULARY, "target": german},
        "whitespace",
        begin={"source": None, "target": "<s>"},
        unknown_words="drop_word",
    )
    assert [(e["source"].tolist(), e["target"].tolist()) for e in examples] == [
        ([0, 1], [3, 0]),
        ([2], [3, 2, 0]),
    ]
    assert (examples.vocabulary_size("source"), examples.vocabulary_size("target")) == (5, 4)
    tokenizer = se.Tokenizer(str.split)
    again = Examples.build(
        source,
        {"source": VOCABULARY, "target": german},
        tokenizer,
        begin={"source": None, "target": "<s>"},
        unknown_words="drop_word",
    )
    assert ids(again, "target") == ids(examples, "target")
    assert again.key != examples.key
    (tmp_path / "en").write_text("a b\n")
    with pytest.raises(se.FormatError, match=r"have fewer lines than those of field 'target'.*in .*en"):
        Examples.build(source, {"source": VOCABULARY, "target": german}, "whitespace")


def test_the_cache_depends_on_content_not_on_the_name(tmp_path):
    text = tmp_path / "text"
    text.write_text("a b\nc\n")
    progress = []
    first = built(text, on_progress=lambda *seen: progress.append(seen))
    assert first.path.parent == se.cache_dir() / "examples"
    assert first.path.name == f"{first.key}.examples"
    assert progress == [(text.stat().st_size, text.stat().st_size)]
    inode = first.path.stat().st_ino
    moved = text.rename(tmp_path / "moved")
    again = built(moved, on_progress=lambda *seen: progress.append(seen))
    assert (again.path, again.path.stat().st_ino, len(progress)) == (first.path, inode, 1)
    moved.write_text("a b\nd\n")
    assert ids(built(moved)) == [[0, 1], [3]]
    assert ids(first) == [[0, 1], [2]]
    listed = built(["a b", "c"])
    assert listed.key == built(["a b", "c"]).key != built(["a", "b c"]).key
    assert built([["a", "b"], ["c"]]).key != listed.key
    assert built(lambda: iter(["a b", "c"])).key == listed.key
    with pytest.raises(ValueError, match="pass path="):
        built(iter(["a"]))


def test_tokenizers_without_a_name_are_distinguished_by_their_code(tmp_path):
    text = tmp_path / "text"
    text.write_text("a-b c\n")
    by_hyphen = se.Tokenizer(lambda line: line.replace("-", " ").split())
    by_space = se.Tokenizer(lambda line: line.split())
    for source in (text, ["a-b c"], {"tokens": text}):
        first = Examples.build(source, VOCABULARY, by_hyphen)
        assert ids(first) == [[0, 1, 2]]
        assert ids(Examples.build(source, VOCABULARY, by_space)) == [[5, 2]]
        assert Examples.build(source, VOCABULARY, by_hyphen).key == first.key
    named = Examples.build(text, VOCABULARY, se.Tokenizer(str.split))
    assert ids(named) == [[5, 2]]


def module_with(code, monkeypatch):
    module = types.ModuleType("cuts")
    exec(code, vars(module))
    monkeypatch.setitem(sys.modules, "cuts", module)
    return module


PLAIN = "def cut(text):\n    return text.split()"
WRAPPER = """
import functools
def own(function):
    @functools.wraps(function)
    def inner(text):
        return function(text)
    return inner
"""
CHANGED = {
    "code": "def cut(text):\n    return text.split()[::-1]",
    "name": "def cut(text):\n    return text.rsplit()",
    "constant": "def cut(text):\n    return text.split(' ')",
    "nested": "def cut(text):\n    return [f'{word}' for word in text.split()]",
    "nested constant": "def cut(text):\n    return (lambda: [w for w in text.split() if w != 'x'])()",
    "default": "def cut(text, least=0):\n    return [w for w in text.split() if len(w) >= least]",
    "another default": "def cut(text, least=1):\n    return [w for w in text.split() if len(w) >= least]",
    "keyword": "def cut(text, *, least=0):\n    return [w for w in text.split() if len(w) >= least]",
    "set": "def cut(text):\n    return [w for w in text.split() if w not in {'x', 'y', 'z'}]",
    "wrapped": WRAPPER + "@own\n" + PLAIN,
    "wrapped changed": WRAPPER + "@own\ndef cut(text):\n    return text.split()[::-1]",
}


@pytest.mark.parametrize("source", ["file", "list", "fields"])
def test_the_cache_depends_on_the_code_of_a_tokenizer(tmp_path, monkeypatch, source):
    text = tmp_path / "text"
    text.write_text("a b\nc\n")
    sentences = {"file": text, "list": ["a b", "c"], "fields": {"one": text, "two": text}}[source]

    def key(code):
        return Examples.build(sentences, VOCABULARY, module_with(code, monkeypatch).cut).key

    first = key(PLAIN)
    assert key(f"# moved\n\n{PLAIN}  # a remark") == first  # the same code
    keys = {name: key(code) for name, code in CHANGED.items()}
    assert len({first, *keys.values()}) == len(CHANGED) + 1
    assert key(CHANGED["set"]) == keys["set"]
    if source == "file":
        changed = Examples.build(text, VOCABULARY, module_with(CHANGED["code"], monkeypatch).cut)
        assert ids(changed) == [[1, 0], [2]]


def test_the_digest_of_code_is_the_same_in_every_process(monkeypatch):
    program = (
        "from sentencode.code_digest import code_digest\n"
        f"code = {CHANGED['set']!r}\nexec(code)\nprint(code_digest(cut))"
    )
    digests = set()
    for seed in "123":
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        digests.add(done.stdout)
    assert len(digests) == 1


def test_callable_objects_are_distinguished_by_their_tokens(monkeypatch):
    code = "class Cut:\n    def __call__(self, text):\n        return text.split({0!r})\ncut = Cut()"
    keys = []
    for separator in ("-", " "):
        module_with(code.format(separator), monkeypatch)
        keys.append(Examples.build(["a-b c"], VOCABULARY, "cuts:cut").key)
    assert keys[0] != keys[1]


def test_errors_count_from_the_first_row():
    with pytest.raises(TypeError, match=r"sentences\[20001\] is (int|float)"):
        built(["a"] * 20_001 + [1.5])


@pytest.mark.parametrize("as_file", [False, True])
def test_a_failed_build_holds_no_lock(tmp_path, as_file):
    """Also while its traceback is kept, as in a notebook."""
    (tmp_path / "text.txt").write_text("the cat\n")
    source = tmp_path / "text.txt" if as_file else ["the cat"]
    errors = []
    for _ in range(2):
        with pytest.raises(ValueError, match="none of 1 rows can be used: 1 are too short") as error:
            built(source, min_length=3)
        errors.append(error)


def test_an_interrupted_build_of_a_list_resumes(tmp_path):
    texts = [f"{'abcd'[i % 4]} {'abcd'[i // 5 % 4]}" for i in range(60_000)]

    def stop(read, _):
        if read > 40_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        built(lambda: iter(texts), path=tmp_path / "f", shard_examples=5000, on_progress=stop)
    assert (tmp_path / "f.parts" / "000001.examples").exists()
    resumed = built(lambda: iter(texts), path=tmp_path / "f", shard_examples=5000)
    assert ids(resumed) == ids(built(lambda: iter(texts), path=tmp_path / "g"))


def test_lowercase_follows_the_vocabulary():
    assert ids(built(["A b X"], unknown_words="drop_word")) == [[0, 1]]
    cased = se.Vocabulary({"A": 2, "b": 1})
    assert ids(Examples.build(["A B b"], cased, unknown_words="drop_word")) == [[0, 1]]


def test_config_and_views(tmp_path):
    examples = built(["a x", "b"], path=tmp_path / "file", end="<e>")
    config = examples.config
    field = config["fields"][0]
    assert (config["source"], config["labels"], field["end"], field["unknown"]) == (
        "<list>",
        "none",
        "<e>",
        "<unk>",
    )
    assert field["tokenizer"] == {"split": "whitespace", "lowercase": True, "invalid": "replace"}
    assert (len(field["vocabulary"]), field["words"]) == (64, 5)
    assert ids(pickle.loads(pickle.dumps(examples))) == ids(examples)
    assert examples[-1]["tokens"].tolist() == [1, 5]
    assert not examples[0]["tokens"].flags.writeable
    with pytest.raises(IndexError):
        examples[2]
    with pytest.raises(ValueError, match=r"no field 'next'; they have \['tokens'\]"):
        examples.ids("next")
    view = examples.ids()
    del examples
    assert view.tolist() == [0, 6, 5, 1, 5]


@pytest.mark.parametrize("kind", ["tuples", "files"])
def test_a_damaged_cache_is_built_again(tmp_path, kind):
    """Damage at any position: the rebuilt file is the same."""
    (tmp_path / "text").write_text("a b\nc\nd a\n")
    rows = [("a b", 7), ("c", 7), ("d a", 3)]
    options = {"fields": ("tokens",), "labels": "int64"} if kind == "tuples" else {}
    source = rows if kind == "tuples" else tmp_path / "text"
    (path,) = {built(source, **options).path for _ in range(2)}  # the second is the same file
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    positions = [*range(0, 8 + size, 97), *range(8 + size, len(content))]
    for position in positions:
        damaged = bytearray(content)
        damaged[position] ^= 16
        if content[position] == ord(" "):
            continue  # padding of the header
        path.unlink()  # a mapped file stays unchanged
        path.write_bytes(damaged)
        with pytest.warns(UserWarning, match=r"examples: .*; the examples are built again"):
            again = built(source, **options)
        assert path.read_bytes() == content, position
        assert ids(again) == [[0, 1], [2], [3, 0]]
        if kind == "tuples":
            assert again.labels.tolist() == [7, 7, 3]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"source": [("a",)], "fields": ("x", "y")}, ValueError, r"source\[0\] is \('a',\).*tuple of x, y"),
        ({"source": [("a", 1.5)], "labels": "int64"}, TypeError, r"label of source\[0\] is 1.5"),
        ({"source": [("a", True)], "labels": "int64"}, TypeError, r"label of source\[0\] is True"),
        ({"source": [("a", "1")], "labels": "float32"}, TypeError, "expected a number"),
        (
            {"source": [("a", 1), ("b", 2**63)], "labels": "int64"},
            ValueError,
            r"source\[1\] is 9223.* expected an int64",
        ),
        ({"source": [("a", 1)], "labels": "int8"}, ValueError, "labels"),
        ({"fields": "tokens"}, TypeError, "fields is one str"),
        ({"fields": ("x", "x")}, ValueError, "tuple|unique names"),
        ({"vocabulary": {"tokens": {"a": 1}}}, TypeError, "vocabulary must be a Vocabulary, got dict"),
        ({"vocabulary": se.Vocabulary({})}, ValueError, "without words"),
        ({"begin": {"next": "<s>"}}, ValueError, "begin has no value for the field 'tokens'"),
        ({"neighbours": {"next": 0}}, ValueError, "other than 0"),
        ({"neighbours": {"tokens": 1}}, ValueError, "must have unique names; got 'tokens'"),
        ({"following_words": 0}, ValueError, "at least 1"),
        ({"min_length": 5, "max_length": 4}, ValueError, "at least min_length"),
        ({"unknown_words": "keep"}, ValueError, "'symbol', 'drop_word' or 'drop_example', got 'keep'"),
        ({"unknown": ""}, ValueError, "requires the symbol"),
        ({"too_long": "cut"}, ValueError, "'drop' or 'truncate', got 'cut'"),
        ({"source": [3]}, TypeError, "3"),
        ({"source": ["x"], "unknown_words": "drop_example"}, ValueError, "1 have unknown words"),
        ({"source": "/nowhere/at/all"}, FileNotFoundError, "nowhere"),
    ],
)
def test_wrong_arguments(options, error, message):
    options = {"source": ["a"], "vocabulary": VOCABULARY, **options}
    with pytest.raises(error, match=message):
        Examples.build(**options)
    folder = se.cache_dir() / "examples"
    assert not folder.exists() or not list(folder.glob("*.examples"))


def test_bad_bytes_name_their_row(tmp_path):
    text = tmp_path / "text"
    text.write_bytes(b"a\n" * 20_000 + b"a \xff\n")
    tokenizer = se.Tokenizer("whitespace", invalid="refuse")
    with pytest.raises(ValueError, match="field 'tokens', row 20000: byte 2 is not UTF-8"):
        Examples.build(text, VOCABULARY, tokenizer)


def test_safetensors_reads_the_metadata(tmp_path):
    safetensors = pytest.importorskip("safetensors")
    built(["a b"], path=tmp_path / "file")
    with safetensors.safe_open(tmp_path / "file", "numpy") as file:
        metadata = file.metadata()
    assert (metadata["format"], metadata["format_version"], metadata["kind"]) == (
        "sentencode",
        "1",
        "Examples",
    )
    assert json.loads(metadata["config"])["fields"][0]["name"] == "tokens"


def test_parts_have_some_of_the_examples():
    examples = built([("a b", 5), ("c", 6), ("d d d", 7)], fields=("tokens",), labels="int64")
    part = examples.part([0, 2])
    assert ids(part) == [[0, 1], [3, 3, 3]]
    assert (len(part), part[-1]["label"], part.labels.tolist()) == (2, 7, [5, 7])
    assert part.lengths().tolist() == [2, 3]
    assert part.numbers.tolist() == pickle.loads(pickle.dumps(part)).numbers.tolist() == [0, 2]
    batches = [batch.numbers.tolist() for batch in Batcher(part, batch_size=1, shuffle=False)]
    assert batches == [[0], [2]]
    with pytest.raises(IndexError):
        part[2]
    for wrong in ([2, 0], [0, 0], [-1, 2], [3]):
        with pytest.raises(
            ValueError, match="numbers must be ascending, and below the number of examples, 3"
        ):
            examples.part(wrong)
    for wrong in ([], [0.5], [[1]]):
        with pytest.raises(ValueError, match="numbers must be indices of examples, got"):
            examples.part(wrong)
