from __future__ import annotations

import copy
import json
import pickle
import re

import pytest

import sentencode as se


def letters(text):
    return list(text.replace(" ", ""))


class Splitter:
    def tokenize(self, text):
        return text.split("-")

    @classmethod
    def whole(cls, text):
        return [text]


def test_is_an_immutable_value():
    first = se.Tokenizer("whitespace", lowercase=True, invalid="refuse")
    same = se.Tokenizer("whitespace", lowercase=True, invalid="refuse")
    assert first == same
    assert hash(first) == hash(same)
    assert repr(first) == "Tokenizer('whitespace', lowercase=True, invalid='refuse')"
    assert len({first, same, se.Tokenizer("whitespace"), se.Tokenizer()}) == 3
    assert first != "whitespace"
    assert copy.deepcopy(first) is first
    with pytest.raises(AttributeError, match="cannot be changed; create one with another lowercase"):
        first.lowercase = False
    with pytest.raises(AttributeError):
        del first._split


@pytest.mark.parametrize(
    "tokenizer",
    [
        se.Tokenizer(),
        se.Tokenizer("whitespace", lowercase=True, invalid="refuse"),
        se.Tokenizer("whitespace", lowercase=False),
        se.Tokenizer("json:dumps", lowercase=True),
    ],
    ids=repr,
)
def test_survives_pickle_config_and_repr(tokenizer):
    assert pickle.loads(pickle.dumps(tokenizer)) == tokenizer
    config = json.loads(json.dumps(tokenizer.to_config()))
    assert se.Tokenizer.from_config(config, trust=True) == tokenizer
    assert eval(repr(tokenizer), {"Tokenizer": se.Tokenizer}) == tokenizer


def test_punctuation():
    tokenizer = se.Tokenizer("punctuation", lowercase=True)
    assert " ".join(tokenizer("Isn't it co-op's $1,000.50?")) == "isn ' t it co - op ' s $ 1,000.50 ?"


def test_auto_selects_the_split_that_knows_most_words():
    row = [1.0, 0.0]
    whole = se.Average({"do": row, "n't": row, "co-op": row})
    apart = se.Average({"do": row, "n": row, "co": row, "op": row, "'": row})
    assert whole.encode("don't").any()
    for encoder, split in ((whole, "words"), (apart, "punctuation")):
        assert encoder._tokenizer().split == split
    assert apart.encode("co-op").any()
    assert apart.encode([["co-op"]]).any()  # pre-tokenized
    assert not se.Average({"co": row}, tokenizer="words").encode("co-op").any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"split": "letters"},
            "unknown tokenizer 'letters'; expected 'words', 'punctuation', 'whitespace', ",
        ),
        ({"lowercase": "yes"}, "lowercase must be True, False or 'auto', got 'yes'"),
        ({"invalid": "ignore"}, "invalid must be 'replace' or 'refuse', got 'ignore'"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        se.Tokenizer(**arguments)


def test_wrong_splits_are_refused():
    with pytest.raises(TypeError, match=r"tokenizer must be .*, got 3 \(int\)"):
        se.Tokenizer(3)


def test_auto_is_the_encoders_to_decide():
    auto = se.Tokenizer("whitespace")
    assert auto("A b") == ["A", "b"]
    assert auto.core(lowercase=True)(["A b"]) == [["a", "b"]]
    assert se.Tokenizer("whitespace", lowercase=False).core(lowercase=True)(["A b"]) == [["A", "b"]]


def test_callables_split_text_but_not_tokens():
    tokenizer = se.Tokenizer(letters, lowercase=True)
    assert tokenizer(["Ab c", ""]) == [["a", "b", "c"], []]
    assert tokenizer("Ab") == ["a", "b"]
    assert tokenizer([b"\xff"]) == [["\ufffd"]]
    assert tokenizer([["New York"]]) == [["new york"]]
    assert tokenizer(iter(["ab"])) == [["a", "b"]]
    with pytest.raises(TypeError, match=r"sentences\[1\] is float \(nan\); expected str"):
        tokenizer(["a", float("nan")])
    with pytest.raises(UnicodeDecodeError):
        se.Tokenizer(letters, invalid="refuse")([b"\xff"])


def test_objects_with_tokenize():
    assert se.Tokenizer(Splitter())(["a-b", "c"]) == [["a", "b"], ["c"]]


def test_results_of_callables_are_checked():
    with pytest.raises(TypeError, match="returned str; expected a list of str"):
        se.Tokenizer(str.lower)(["abc"])
    with pytest.raises(TypeError, match="returned int; expected a list of str"):
        se.Tokenizer(len)(["abc"])
    with pytest.raises(TypeError, match=r"sentences\[0\]\[0\] is int \(97\); expected str"):
        se.Tokenizer(lambda text: [ord(c) for c in text])(["abc"])


def test_names_of_callables_are_imported_or_explained():
    assert se.Tokenizer("json:dumps").name == "json:dumps"
    assert se.Tokenizer(json.dumps).name == "json:dumps"
    nameless = se.Tokenizer(lambda text: [text], name="mine")
    assert nameless.name == "mine"
    message = r"saved with the tokenizer 'mine', which cannot be found .*se.load\(path, tokenizer="
    with pytest.raises(ValueError, match=message):
        se.Tokenizer.from_config(nameless.to_config(), trust=True)
    assert se.Tokenizer.from_config(nameless.to_config(), external=letters)("ab") == ["a", "b"]
    with pytest.raises(ValueError, match="unknown key 'colour'"):
        se.Tokenizer.from_config({"colour": "red"})


def test_names_in_files_are_not_imported(tmp_path, monkeypatch):
    (tmp_path / "harmful_module.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    for config in (
        {"split": "external", "name": "harmful_module:cut"},
        {"split": "external", "name": "hf:somebody/model"},
        {"split": "external"},
        {"split": "harmful_module:cut"},
        {"split": ["words"]},
    ):
        with pytest.raises(ValueError, match=r"tokenizer=my_tokenizer|cannot use split="):
            se.Tokenizer.from_config(config)
    with pytest.raises(SystemExit, match="imported"):
        se.Tokenizer.from_config({"split": "external", "name": "harmful_module:cut"}, trust=True)
    with pytest.raises(ValueError, match="saved with the tokenizer 'words', so that no other can be given"):
        se.Tokenizer.from_config({"split": "words"}, external=letters)
    assert se.Tokenizer.from_config({"split": "external", "name": "x"}, "whitespace")("a b") == ["a", "b"]


def test_only_importable_callables_have_names():
    def inner(text):
        return [text]

    for external in (lambda text: [text], inner, Splitter().tokenize, re.compile("a").findall, Splitter()):
        assert se.Tokenizer(external).name == ""
        assert not se.Tokenizer(external).found_by_name
    for external in (letters, str.split, Splitter.whole, re.findall):
        assert se.Tokenizer(external).name.endswith(f":{external.__qualname__}")
        assert se.Tokenizer(external).found_by_name
    assert se.Tokenizer("words").found_by_name
    assert not se.Tokenizer(letters, name="json:dumps").found_by_name
    assert not se.Tokenizer(letters, name="not_imported:dumps").found_by_name


def test_nameless_objects_are_equal_only_to_themselves():
    first, second = Splitter(), Splitter()
    assert se.Tokenizer(first) == se.Tokenizer(first)
    assert se.Tokenizer(first) != se.Tokenizer(second)
    assert se.Tokenizer(lambda text: [text]) != se.Tokenizer(lambda text: text.split())
    assert se.Tokenizer(str.split) == se.Tokenizer("builtins:str.split")


def test_tokenizers_of_hugging_face(tmp_path):
    hf = pytest.importorskip("tokenizers")
    words = {"a": 0, "man": 1, "[UNK]": 2, "[CLS]": 3}
    inner = hf.Tokenizer(hf.models.WordLevel(words, unk_token="[UNK]"))
    inner.pre_tokenizer = hf.pre_tokenizers.Whitespace()
    inner.post_processor = hf.processors.TemplateProcessing(single="[CLS] $A", special_tokens=[("[CLS]", 3)])
    assert se.Tokenizer(inner)(["a man, a plan"]) == [["a", "man", "[UNK]", "a", "[UNK]"]]
    path = tmp_path / "tokenizer.json"
    inner.save(str(path))
    loaded = se.Tokenizer(f"hf:{path}")
    assert loaded("a man") == ["a", "man"]
    assert se.Tokenizer.from_config(loaded.to_config(), trust=True)("a man") == ["a", "man"]
    assert pickle.loads(pickle.dumps(loaded)) == loaded
    # Padding would make tokens depend on the other sentences, truncation lose some: both are off.
    inner.enable_padding(pad_id=2, pad_token="[UNK]")
    inner.enable_truncation(2)
    padded = se.Tokenizer(inner)
    assert padded(["a man a man", "a"]) == [["a", "man", "a", "man"], ["a"]]
    assert padded == se.Tokenizer(inner)
    assert pickle.loads(pickle.dumps(padded))(["a man a man", "a"])[1] == ["a"]
    assert inner.padding is not None  # the user's object is unchanged
    assert inner.truncation is not None
