"""Exported folders, read back by us; tests/python/contracts reads them with the other libraries."""

from __future__ import annotations

import json
import os
import pickle
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import sentencode as se
from sentencode.static_models import reading, writing
from sentencode.static_models.card import BUILT_IN, checked_facts

from ..io.saved_files import changed
from .parts import (
    TEXTS,
    WORDS,
    rows,
    tensors_of,
    tokenizer_json,
    write_model2vec,
    write_sentence_transformers,
)

SENTENCES = [
    "The ship sank.",
    "the whale, the sea",
    "",
    "qqqqz",
    "Qqqqz ship!",
    "a 1,000.5 İ",
    "“sea” \N{EM DASH} ship\N{EN DASH}sea",
    "Mr. Whale doesn't sink.... ''It's the U.S. sea!!'' -----",
]
FORMATS = ("model2vec", "sentence-transformers")
ENCODERS = {
    "average": lambda v: se.Average(v),
    "unit": lambda v: se.Average(v, normalize=True, a=1e-3),
    "words": lambda v: se.Average(v, tokenizer="words"),
    "weights": lambda v: se.Average(v, weights=np.linspace(0.5, 2, len(v)), tokenizer="whitespace"),
    "sif": lambda v: se.SIF(v, components=2).fit(SENTENCES * 3),
    "usif": lambda v: se.USIF(v, normalize="none", components=2).fit(SENTENCES * 3),
}


@pytest.fixture(scope="module")
def vectors():
    table = se.WordVectors.default()
    words = [*table.words[:3000], "whale", "1,000.5"]
    rows = np.random.default_rng(2).normal(size=(len(words), 20)).astype(np.float32)
    return se.WordVectors.from_dict(dict(zip(words, rows, strict=True)))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", ENCODERS)
def test_rows_are_the_same(vectors, tmp_path, kind, form):
    encoder = ENCODERS[kind](vectors)
    expected = encoder.encode(SENTENCES)
    encoder.export(tmp_path / "model", format=form)
    again = se.load(tmp_path / "model")
    np.testing.assert_allclose(again.encode(SENTENCES), expected, atol=2e-6 * np.abs(expected).max())
    assert again.tokenizer_.split == encoder.tokenizer_.split
    assert again.normalize == (kind == "unit")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("dtype", "error"), [("float16", 1e-3), ("int8", 2e-2)])
def test_types(vectors, tmp_path, form, dtype, error):
    encoder = se.Average(vectors)
    encoder.export(tmp_path / "model", format=form, dtype=dtype)
    again, expected = se.load(tmp_path / "model"), encoder.encode(SENTENCES)
    assert again.vectors.storage == dtype
    np.testing.assert_allclose(again.encode(SENTENCES), expected, atol=error * np.abs(expected).max())


def test_unknown_words_that_count(vectors, tmp_path):
    for policy in ("zero", "mean"):
        encoder = se.Average(vectors.with_oov(policy))
        encoder.export(tmp_path / policy, format="sentence-transformers")
        expected = encoder.encode(SENTENCES)
        np.testing.assert_allclose(se.load(tmp_path / policy).encode(SENTENCES), expected, atol=1e-6)
        with pytest.raises(NotImplementedError, match="model2vec skips unknown words"):
            encoder.export(tmp_path / "other")
    assert sorted(os.listdir(tmp_path)) == ["mean", "zero"]


@pytest.mark.parametrize("split", ["words", "punctuation", "whitespace"])
@pytest.mark.parametrize("form", FORMATS)
def test_a_limit_may_be_added(vectors, tmp_path, form, split):
    pytest.importorskip("tokenizers")
    encoder, folder = se.Average(vectors, tokenizer=split), tmp_path / "model"
    encoder.export(folder, format=form)
    if form == "model2vec":
        path, limit = folder / "config.json", {"max_length": 2}
    else:
        path = next(folder.rglob("tokenizer.json"))
        options = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
        limit = {"truncation": options}
    path.write_text(json.dumps({**json.loads(path.read_text()), **limit}))
    sentences = ["the whale", "the whale the sea the sea"]
    first, second = se.load(folder).encode(sentences)
    np.testing.assert_allclose(first, encoder.encode("the whale"), atol=1e-5)
    np.testing.assert_allclose(second, first, atol=1e-5)


def laes(vectors):
    return se.LAES(vectors, hidden=4).fit(SENTENCES * 3)


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (laes, {}, "LAES is not an average of rows"),
        (lambda v: se.USIF(v).fit(SENTENCES), {}, "normalize='dimension' divides each dimension"),
        (lambda v: se.Average(v.with_oov("random")), {}, "oov='random' represent unknown words by their"),
        (lambda v: se.Average(v, tokenizer=str.split), {}, "tokenizer 'external' has no equivalent"),
        (se.SIF, {}, "has not been fitted"),
        (se.Average, {"format": "onnx"}, "format must be 'model2vec' or"),
        (se.Average, {"dtype": "float64"}, "dtype must be 'float32'"),
        (se.Average, {"card": {"licence": "mit"}}, "unknown key 'licence'"),
        (se.Average, {"card": {"scores": {"STS": "good"}}}, "the score of 'STS' must be a number"),
        (se.Average, {"card": {"scores": {"STS": np.nan}}}, "the score of 'STS' must be a number"),
        (
            se.Average,
            {"card": {"scores": {"STS": (1, 2, 3)}}},
            r"score of 'STS' must be in its interval; .*1, 2",
        ),
        (se.Average, {"card": {"scores": {"STS": [2, 3, 1]}}}, "score of 'STS' must be in its interval"),
        (se.Average, {"card": {"license": 3}}, "license must be a text, got 3"),
        (
            lambda v: se.Average(v, normalize=True),
            {"dtype": "float16", "format": "sentence-transformers"},
            "divides zero by zero",
        ),
        (
            lambda v: se.Average(v, normalize=True, truncate_dim=2),
            {"format": "model2vec"},
            "model2vec cannot truncate normalised embeddings",
        ),
        (lambda v: se.Average(v, weights=np.full(len(v), 1e5)), {"dtype": "float16"}, "exceeds float16"),
    ],
)
def test_refused(vectors, tmp_path, make, options, message):
    with pytest.raises((ValueError, NotImplementedError), match=message):
        make(vectors).export(tmp_path / "model", **options)
    assert os.listdir(tmp_path) == []


def test_folders_appear_completely(vectors, tmp_path, monkeypatch):
    encoder = se.Average(vectors)
    target = tmp_path / "model"
    target.mkdir()
    (target / "README.md").write_text("old")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        encoder.export(target)
    from sentencode.static_models import writing

    def fail(*_):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(writing, "tensor_pieces", fail)
        with pytest.raises(OSError, match="disk full"):
            encoder.export(target, overwrite=True)
    assert os.listdir(tmp_path) == ["model"]
    assert os.listdir(target) == ["README.md"]
    encoder.export(target, overwrite=True)
    assert os.listdir(tmp_path) == ["model"]
    assert (target / "README.md").read_text() != "old"
    (target / "thesis.tex").touch()
    with pytest.raises(FileExistsError, match=r"no file of a static model.*thesis\.tex"):
        encoder.export(target, overwrite=True)
    assert (target / "thesis.tex").exists()
    (target / "thesis.tex").unlink()
    (target / "0_StaticEmbedding").mkdir()
    (target / "0_StaticEmbedding" / "notes").touch()
    with pytest.raises(FileExistsError, match=r"no file of a static model.*notes"):
        encoder.export(target, overwrite=True)
    (target / "0_StaticEmbedding" / "notes").unlink()
    target.chmod(0o775)
    encoder.export(target, overwrite=True)
    assert target.stat().st_mode & 0o777 == 0o775
    assert not (target / "0_StaticEmbedding").exists()
    with pytest.raises(FileNotFoundError, match=r"there is no such folder: .*missing'"):
        encoder.export(tmp_path / "missing" / "model")
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="is not replaced"):
        encoder.export(tmp_path / "file", overwrite=True)


def test_exported_tokens_are_lower_cased_as_those_of_texts(tmp_path):
    tokens = ["ΑΣ", "ασ", "ας", "İ", "i"]  # Python's lower case of ΑΣ is ας, that of İ has two code points
    vocabulary = {token: i for i, token in enumerate(["[UNK]", *tokens])}
    model = {"type": "WordLevel", "unk_token": "[UNK]", "vocab": vocabulary}
    content = tokenizer_json(normalizer=None, pre_tokenizer={"type": "WhitespaceSplit"}, model=model)
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    split = se.Tokenizer(f"hf:{tmp_path / 'tokenizer.json'}", lowercase=True, keep_unknown=False)
    table = se.WordVectors.from_array(["ασ", "ας", "i"], np.eye(3, dtype=np.float32))
    encoder = se.Average(table, tokenizer=split, normalize=True)
    encoder.export(tmp_path / "model")
    np.testing.assert_array_equal(se.load(tmp_path / "model").encode(tokens), encoder.encode(tokens))


def test_the_model_card_has_what_is_known(vectors, tmp_path):
    card = {
        "name": "me/student",
        "license": "mit",
        "language": ["en"],
        "teacher": "all-MiniLM-L6-v2",
        "scores": {"STSB": (0.81, 0.79, 0.83), "SICK": 0.7, "a|b\nc": 1, 7: 2},
        "limits": "English only.",
    }
    se.Average(vectors).export(tmp_path / "model", dtype="int8", card=card)
    text = (tmp_path / "model" / "README.md").read_text()
    for part in (
        'license: "mit"',
        'base_model: "all-MiniLM-L6-v2"',
        "| STSB | 0.81 (95 % interval 0.79 to 0.83) |",
        "| SICK | 0.7 |",
        "| a\\|b c | 1 |",
        "| 7 | 2 |",
        "3,003 of 20 dimensions, int8",
        "English only.",
        'from_pretrained("me/student")',
    ):
        assert part in text
    se.Average(se.WordVectors.default()).export(tmp_path / "built-in", card={"license": "mit"})
    trained = se.TrainedAverage(se.WordVectors.default(), max_epochs=1)
    trained.fit(["a good film", "a bad film"] * 20, [1, 0] * 20, valid=0).export(tmp_path / "trained")
    card = (tmp_path / "trained" / "README.md").read_text()
    assert 'license: "apache-2.0"' in card
    assert not any(fact in card for fact in ("STSBenchmark", "MiniLM", "199,998"))  # those of the vectors
    text = (tmp_path / "built-in" / "README.md").read_text()
    for part in (
        'license: "mit"',
        'language: "en"',
        "MiniLM-L6-v2\n\n## Sentences",
        "199,998 sentences of",
        "| SICK (Pearson x 100, average of the vectors) | ",
        "## Limits\n\nWord vectors: English, lower-cased.",
    ):
        assert part in text
    se.SIF(vectors).fit(SENTENCES).export(tmp_path / "sif")
    assert "not set to zero" in (tmp_path / "sif" / "README.md").read_text()
    assert "## Teacher" not in (tmp_path / "sif" / "README.md").read_text()


def test_the_model_card_has_what_the_encoder_knows(vectors, tmp_path):
    encoder = se.Average(vectors)
    encoder._card = vectors, {"teacher": "me/teacher", "sentences": "7 sentences."}
    encoder.save(tmp_path / "saved")
    assert encoder.fingerprint() == se.load(tmp_path / "saved").fingerprint()
    assert encoder.fingerprint() == se.Average(vectors).fingerprint()
    for name, one in (("a", se.load(tmp_path / "saved")), ("b", pickle.loads(pickle.dumps(encoder)))):
        one.export(tmp_path / name, card={"sentences": "8 sentences."})
        text = (tmp_path / name / "README.md").read_text()
        assert 'base_model: "me/teacher"' in text
        assert "\n\n8 sentences.\n" in text  # what the author says counts
    encoder.set_params(vectors=se.WordVectors.from_dict({"cat": [1.0]})).export(tmp_path / "c")
    assert "me/teacher" not in (tmp_path / "c" / "README.md").read_text()


def test_scores_of_the_built_in_vectors_are_those_of_their_page():
    page = (Path(__file__).parents[3] / "docs" / "default_vectors.md").read_text(encoding="utf-8")
    header = re.search(r"^\| encoder \| (SICK .*) \|$", page, re.MULTILINE)[1].split(" | ")
    scores = re.search(r"^\| the built-in vectors \| (.*) \|$", page, re.MULTILINE)[1].split(" | ")
    header = [task.replace("the years", "STS12 to STS15") for task in header]
    shown = {task.partition(" (")[0]: score for task, score in BUILT_IN["scores"].items()}
    numbers = [[float(number) for number in re.findall(r"[\d.]+", score)] for score in scores]
    assert shown == {
        task: tuple(score) if len(score) > 1 else score[0]
        for task, score in zip(header, numbers, strict=True)
    }
    assert checked_facts(BUILT_IN) == BUILT_IN


@pytest.mark.parametrize("card", [7, {"teacher": 7}, {"colour": "red"}])
def test_the_card_in_a_file_is_checked(vectors, tmp_path, card):
    path = tmp_path / "saved"
    se.Average(vectors).save(path)
    changed(path, lambda config, params: params.update(card=card))
    with pytest.raises(se.FormatError, match=r"saved: .*(card must be|unknown key)"):
        se.load(path)


def test_words_that_look_like_the_unknown_token(tmp_path):
    table = {"[UNK]": [1.0], "cat": [2.0], "\u2581": [3.0], "\u2581cat": [5.0]}
    for form in FORMATS:
        encoder = se.Average(table, tokenizer="whitespace", lowercase=False)
        encoder.export(tmp_path / form, format=form)
        again = se.load(tmp_path / form)
        texts = ["[UNK]", "cat unknown", "\u2581 \u2581cat", ""]
        np.testing.assert_allclose(again.encode(texts), encoder.encode(texts))


def test_files_of_model2vec(vectors, tmp_path):
    se.Average(vectors, normalize=True).export(tmp_path / "model")
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    assert config["normalize"] is True
    assert config["max_length"] is None
    tokenizer = json.loads((tmp_path / "model" / "tokenizer.json").read_text())
    assert tokenizer["model"]["vocab"]["[UNK]"] == len(vectors)
    assert not tensors_of(tmp_path / "model")["embeddings"][-1].any()


@pytest.mark.parametrize("config", [{}, {"max_length": 3}, {"max_length": None, "normalize": True}])
def test_models_of_model2vec_can_be_exported_again(tmp_path, config):
    encoder = se.load(write_model2vec(tmp_path / "a", config=config))
    encoder.export(tmp_path / "b")
    np.testing.assert_array_equal(se.load(tmp_path / "b").encode(TEXTS), encoder.encode(TEXTS))
    if config.get("normalize"):  # then the zero row of the unknown token makes no difference
        encoder.export(tmp_path / "c", format="sentence-transformers")
        np.testing.assert_allclose(se.load(tmp_path / "c").encode(TEXTS), encoder.encode(TEXTS), atol=1e-6)
    else:
        with pytest.raises(NotImplementedError, match=r"counts 1 tokens that this .*normalize=True"):
            encoder.export(tmp_path / "c", format="sentence-transformers")


def test_models_of_sentence_transformers_can_be_exported_again(tmp_path):
    limit = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
    folder = write_sentence_transformers(tmp_path / "a", tokenizer=tokenizer_json(truncation=limit))
    encoder = se.load(folder)
    encoder.export(tmp_path / "b", format="sentence-transformers")
    np.testing.assert_array_equal(se.load(tmp_path / "b").encode(TEXTS), encoder.encode(TEXTS))
    with pytest.raises(NotImplementedError, match="model2vec skips the unknown token"):
        encoder.export(tmp_path / "c")


def test_tokens_without_vectors(tmp_path):
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer_json()))
    tokenizer = se.Tokenizer(f"hf:{tmp_path / 'tokenizer.json'}", keep_unknown=False)
    some = se.WordVectors.from_array(WORDS[1:8], rows()[1:8])
    with pytest.raises(NotImplementedError, match=r"counts 4 tokens that this encoder skips, such as .\."):
        se.Average(some, tokenizer=tokenizer).export(tmp_path / "a")
    units = se.Average(some, tokenizer=tokenizer, normalize=True)
    units.export(tmp_path / "b")
    np.testing.assert_allclose(se.load(tmp_path / "b").encode(TEXTS), units.encode(TEXTS), atol=1e-6)


@pytest.mark.parametrize("exchanges", [False, True])  # at once, which Linux can
def test_an_interrupted_export_keeps_the_old_folder(tmp_path, monkeypatch, exchanges):
    encoder = se.Average({"cat": [1.0, 0.0], "dog": [0.0, 1.0]})
    target = tmp_path / "pets"
    encoder.export(target)
    before = (target / "model.safetensors").read_bytes()
    rename, calls = os.rename, []

    def interrupted(source, name):
        calls.append(name)
        if len(calls) == 2:  # the new folder gets its name
            raise KeyboardInterrupt
        rename(source, name)

    def exchanged(a, b):
        if exchanges:
            raise KeyboardInterrupt
        return False

    monkeypatch.setattr(os, "rename", interrupted)
    monkeypatch.setattr(writing, "_exchanged", exchanged)
    with pytest.raises(KeyboardInterrupt):
        se.Average({"fox": [2.0, 1.0]}).export(target, overwrite=True)
    assert (target / "model.safetensors").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["pets"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems rename twice")
def test_folders_are_exchanged_at_once(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    assert writing._exchanged(tmp_path / "a", tmp_path / "b")
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]
    assert not writing._exchanged(tmp_path / "a", tmp_path / "c")


def test_any_folder_name(vectors, tmp_path, monkeypatch):
    encoder = se.Average(vectors)
    for name in (b"\xff", "ü".encode(), b"a b"):
        path = os.path.join(os.fsencode(tmp_path), name)
        encoder.export(path)
        np.testing.assert_array_equal(se.load(path).encode("ship"), encoder.encode("ship"))
    monkeypatch.chdir(tmp_path / "a b")
    se.Average(vectors, a=1e-3).export(".", overwrite=True)
    assert not np.allclose(se.load(tmp_path / "a b").encode("the ship"), encoder.encode("the ship"))
    assert sorted(os.listdir(os.fsencode(tmp_path))) == [b"a b", "ü".encode(), b"\xff"]


@pytest.mark.parametrize("times", [1, 2, 100])
def test_a_folder_that_is_replaced_while_it_is_read_is_read_again(vectors, tmp_path, monkeypatch, times):
    """Else the words of one model would get the vectors of the other."""
    words, table = list(vectors), np.stack([vectors[word] for word in vectors])
    turned = se.Average(se.WordVectors.from_array(words[::-1], table[::-1]))
    turned.export(tmp_path / "model")
    one, left = se.Average(vectors), times
    tokenizer = reading._tokenizer

    def replacing(*arguments):
        nonlocal left
        result = tokenizer(*arguments)
        if left > 0:
            left -= 1
            (one if left % 2 == 0 else turned).export(tmp_path / "model", overwrite=True)
        return result

    monkeypatch.setattr(reading, "_tokenizer", replacing)
    if times == 100:
        with pytest.raises(se.FormatError, match="was replaced 5 times while it was read"):
            se.load(tmp_path / "model")
    else:
        np.testing.assert_array_equal(se.load(tmp_path / "model").encode(SENTENCES), one.encode(SENTENCES))
