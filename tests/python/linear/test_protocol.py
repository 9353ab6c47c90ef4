"""Fitting, copying and saving of all linear encoders."""

from __future__ import annotations

import copy
import json
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import sentencode as se
from sentencode import _core

from .conftest import FAMILIES

TEXTS = ["the man plays a guitar .", "a small dog sleeps", "", "cat cat cat", "nobody knows"]


def same(a, b, exact=True):
    if exact:
        np.testing.assert_array_equal(a.encode(TEXTS), b.encode(TEXTS))
    else:
        np.testing.assert_allclose(a.encode(TEXTS), b.encode(TEXTS), atol=2e-5)


def test_parts_and_merged_parts_are_the_whole(unfitted, sentences):
    whole = copy.deepcopy(unfitted).fit(sentences)
    in_parts = copy.deepcopy(unfitted)
    for i in range(0, 200, 30):
        in_parts.partial_fit(sentences[i : i + 30])
    same(in_parts, whole, exact=False)
    left = copy.deepcopy(unfitted).fit(sentences[:120])
    right = copy.deepcopy(unfitted).fit(iter(sentences[120:]))
    same(left.merge(right), whole, exact=False)


def test_fit_discards_earlier_statistics(unfitted, sentences):
    once = copy.deepcopy(unfitted).fit(sentences)
    same(unfitted.fit(sentences[:20]).fit(sentences), once)


def test_fit_from_a_file(unfitted, sentences, tmp_path):
    path = tmp_path / "train.txt"
    path.write_text("\n".join(sentences))
    once = copy.deepcopy(unfitted).fit(sentences)
    same(unfitted.fit(str(path)), once)
    same(unfitted.fit(path), once)


@pytest.mark.parametrize("again", [lambda e: pickle.loads(pickle.dumps(e)), copy.deepcopy])
def test_copies(encoder, again, sentences):
    other = again(encoder)
    same(other, encoder)
    assert type(other) is type(encoder)
    assert other.vectors is encoder.vectors or again is not copy.deepcopy
    assert repr(other) == repr(encoder)
    if isinstance(encoder, se.LAES) and again is not copy.deepcopy:
        with pytest.raises(ValueError, match="without its statistics"):
            other.partial_fit(sentences[:50])
        large = copy.copy(encoder)
        large.pickle_statistics = True
        other = again(large)
    other.partial_fit(sentences[:50])  # a copy continues independently
    fresh = type(encoder)(**encoder.get_params(deep=False)).fit(sentences).partial_fit(sentences[:50])
    same(other, fresh, exact=False)
    same(again(encoder), encoder)


def test_pickles_are_small(encoder):
    # The pickle has the vectors once, and small statistics.
    assert len(pickle.dumps([encoder, encoder, copy.deepcopy(encoder)])) < 200_000


def test_pickles_of_loaded_encoders_have_the_vectors_once(tmp_path):
    vectors = se.WordVectors.from_array(
        [f"w{i}" for i in range(2000)], np.ones((2000, 50)), range(2000, 0, -1)
    )
    se.Average(vectors, a=1e-3).save(tmp_path / "x.st")
    assert len(pickle.dumps(se.load(tmp_path / "x.st"))) < 1.2 * len(pickle.dumps(vectors))


def test_pickles_leave_sums_out():
    rows = np.random.default_rng(1).normal(size=(50, 40)).astype(np.float32)
    vectors = se.WordVectors.from_array([f"w{i}" for i in range(50)], rows)
    long = [" ".join(f"w{(i * j) % 50}" for j in range(1, 65)) for i in range(1, 4200)]
    laes = se.LAES(vectors, hidden=4).partial_fit(long)
    assert laes.pickle_statistics is False
    counted = pickle.loads(pickle.dumps(laes))  # nothing else was there: a worker sends what it counted
    assert counted.n_sentences_ == laes.n_sentences_
    laes.encode("w1")
    assert len(pickle.dumps(laes)) < 100_000
    with pytest.raises(ValueError, match="without its statistics"):
        pickle.loads(pickle.dumps(laes)).partial_fit(long[:1])
    laes.pickle_statistics = True
    whole = pickle.dumps(laes)
    assert len(whole) > 8 * 64 * 65 / 2 * 40 * 40  # the sums
    assert pickle.loads(whole).partial_fit(long[:1]).n_sentences_ == len(long) + 1


@pytest.mark.parametrize("statistics", [False, True])
def test_save_and_load(encoder, tmp_path, statistics, sentences):
    path = tmp_path / "model.sentencode"
    encoder.save(path, statistics=statistics)
    other = se.load(path)
    assert type(other) is type(encoder)
    assert other.fitted
    same(other, encoder)
    params, loaded_params = encoder.get_params(deep=False), other.get_params(deep=False)
    for name in set(params) - {"vectors", "frequencies", "tokenizer"}:
        assert np.array_equal(loaded_params[name], params[name]), name
    assert other.vectors.fingerprint == encoder.vectors.fingerprint
    # What was loaded can be fitted anew, with the weights it came with.
    same(copy.deepcopy(other).fit(sentences), encoder, exact=False)
    other.save(tmp_path / "again.sentencode", statistics=statistics)
    same(se.load(tmp_path / "again.sentencode"), encoder)


def test_partial_fit_of_a_loaded_encoder_requires_statistics(tmp_path, vectors, sentences):
    laes = se.LAES(vectors, hidden=5).fit(sentences[:100])
    laes.save(tmp_path / "without")
    laes.save(tmp_path / "with", statistics=True)
    whole = se.LAES(vectors, hidden=5).fit(sentences)
    same(se.load(tmp_path / "with").partial_fit(sentences[100:]), whole, exact=False)
    with pytest.raises(ValueError, match="statistics"):
        se.load(tmp_path / "without").partial_fit(sentences[100:])
    # Those of SIF and uSIF are small, and always there.
    se.SIF(vectors).fit(sentences[:100]).save(tmp_path / "sif")
    same(se.load(tmp_path / "sif").partial_fit(sentences[100:]), se.SIF(vectors).fit(sentences), exact=False)


def test_weights_of_a_loaded_encoder_stay(tmp_path, vectors, sentences):
    se.SIF(vectors, a=1e-2).fit(sentences).save(tmp_path / "sif")
    loaded = se.load(tmp_path / "sif")
    assert "frequencies=<as saved>" in repr(loaded)
    with pytest.raises(ValueError, match=r"a=0.5, but this encoder was loaded with weights for a=0.01"):
        loaded.set_params(a=0.5).fit(sentences)
    same(
        loaded.set_params(frequencies=None).fit(sentences),
        se.SIF(vectors, a=0.5).fit(sentences),
        exact=False,
    )


def test_files_of_other_kinds_are_refused(tmp_path, vectors):
    path = tmp_path / "vectors.sentencode"
    vectors.save(path)
    with pytest.raises(se.FormatError, match=r"vectors\.sentencode"):
        se.load(path)
    path.write_bytes(b"not a model")
    with pytest.raises(se.FormatError):
        se.load(path)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        se.load(tmp_path / "nowhere")


def test_before_fit(unfitted):
    if isinstance(unfitted, se.Average):
        assert unfitted.fitted
        return
    assert not unfitted.fitted
    for call in (unfitted.encode, unfitted.transform, lambda s: unfitted.save("x")):
        with pytest.raises(se.NotFittedError, match=f"this {type(unfitted).__name__} has not been fitted"):
            call(TEXTS)
    learnt = "A_" if isinstance(unfitted, se.LAES) else "components_"
    assert not hasattr(unfitted, learnt)
    with pytest.raises(se.NotFittedError):
        getattr(unfitted, learnt)


def test_merge_requires_equal_encoders(vectors, sentences):
    sif = se.SIF(vectors).fit(sentences)
    with pytest.raises(ValueError, match="expected another SIF, got a USIF"):
        sif.merge(se.USIF(vectors, sentence_length=3).fit(sentences))
    with pytest.raises(se.NotFittedError):
        sif.merge(se.SIF(vectors))
    with pytest.raises(ValueError, match=r"weights|tokenizer|words"):
        sif.merge(se.SIF(vectors, a=1).fit(sentences))


def test_concurrent_use(encoder, sentences):
    expected = encoder.encode(sentences)
    with ThreadPoolExecutor(4) as pool:
        for embeddings in pool.map(encoder.encode, [sentences] * 20):
            np.testing.assert_array_equal(embeddings, expected)


def test_notebook_table(encoder, unfitted):
    assert "<td" in encoder._repr_html_()
    assert type(encoder).__name__ in encoder._repr_html_()
    assert "fitted" in unfitted._repr_html_()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda v: se.SIF(v, a=0), r"SIF: a must be a number greater than 0, or None .*, got 0"),
        (lambda v: se.SIF(v, a="x"), r"SIF: a must be .*got 'x'"),
        (lambda v: se.SIF(v, components=7), r"SIF: components must be from 0 to 6.*got 7"),
        (lambda v: se.SIF(v, components=1.5), r"SIF: components must be an integer, got 1.5"),
        (lambda v: se.SIF(v, statistics="train"), r"statistics must be 'fit' or 'evaluated', got 'train'"),
        (lambda v: se.SIF(v, lowercase="yes"), r"lowercase must be True, False or 'auto', got 'yes'"),
        (lambda v: se.SIF(5), r"SIF: vectors must be WordVectors, the path of a file, .* got a int"),
        (lambda v: se.SIF({"the": 1}), r"the vector of 'the' must be numbers \[dim\]"),
        (
            lambda v: se.USIF(v, normalize="l2", sentence_length=3),
            r"normalize must be 'dimension' or 'none', got 'l2'",
        ),
        (lambda v: se.USIF(v, sentence_length=0), r"sentence_length must be a number greater than 0, got 0"),
        (
            lambda v: se.LAES(v, mode="res"),
            r"mode must be 'hidden' or 'reconstruction' or 'residual', got 'res'",
        ),
        (lambda v: se.LAES(v, direction="up"), r"direction must be 'forward' or .* got 'up'"),
        (lambda v: se.LAES(v, combine="add"), r"combine must be 'sum' or 'concat', got 'add'"),
        (lambda v: se.LAES(v, state="best"), r"state must be 'recursive' or 'projection', got 'best'"),
        (lambda v: se.LAES(v, hidden=0), r"LAES: hidden must be at least 1, got 0"),
        (lambda v: se.LAES(v, max_length=None), r"max_length must be a whole number, got None"),
        (lambda v: se.LAES(v, hidden=2**64), r"LAES: hidden must be at most 2147483647, got 1844"),
        (lambda v: se.LAES(v, a=-1), r"LAES: a must be a number greater than 0"),
        (
            lambda v: se.SIF(v, tokenizer=se.Tokenizer("words", lowercase=False), lowercase=True),
            r"lowercase=True contradicts its Tokenizer\('words', lowercase=False\)",
        ),
        (lambda v: se.LAES(v, center="no"), r"center must be True or False, got 'no'"),
    ],
)
def test_parameters_are_checked_in_fit(vectors, make, message):
    encoder = make(vectors)  # the constructor takes everything
    with pytest.raises((ValueError, TypeError), match=message):
        encoder.fit(["the dog"])


def test_external_tokenizers(vectors, sentences, tmp_path):
    encoder = se.SIF(vectors, tokenizer=str.split).fit(sentences)
    white = se.SIF(vectors, tokenizer="whitespace").fit(sentences)
    same(encoder, white)
    path = tmp_path / "sif"
    encoder.save(path)
    both_ways = (
        r"sif: saved with the tokenizer 'builtins:str.split', which is not built in; "
        r".*tokenizer=my_tokenizer.*trust_tokenizer=True"
    )
    with pytest.raises(ValueError, match=both_ways):
        se.load(path)
    for again in (
        se.load(path, trust_tokenizer=True),
        se.load(path, tokenizer=str.split),
        se.load(path, tokenizer="whitespace"),
        se.load(path, tokenizer=se.Tokenizer(str.split)),
    ):
        same(again, white)
        # What is not the same code may split otherwise.
        is_same = again.tokenizer_.code_digest == encoder.tokenizer_.code_digest
        assert (again.fingerprint() == encoder.fingerprint()) == is_same
    white.save(path)
    with pytest.raises(ValueError, match=r"sif: saved with the tokenizer 'whitespace', so that no other"):
        se.load(path, tokenizer=str.split)


class Splitter:
    def split(self, text):
        return text.split()


@pytest.mark.parametrize("split", [lambda text: text.split(), Splitter().split], ids=["function", "method"])
def test_a_tokenizer_without_a_name_warns(vectors, sentences, tmp_path, split):
    encoder = se.SIF(vectors, tokenizer=split).fit(sentences)
    with pytest.warns(UserWarning, match=r"SIF.save: the tokenizer has no name.*tokenizer=my_tok") as warned:
        encoder.save(tmp_path / "sif")
    assert len(warned) == 1
    assert warned[0].filename == __file__
    for trust in (False, True):
        with pytest.raises(ValueError, match=r"sif: saved with a tokenizer that has no name.*my_tokenizer"):
            se.load(tmp_path / "sif", trust_tokenizer=trust)
    loaded = se.load(tmp_path / "sif", tokenizer=split)
    same(loaded, encoder)
    assert loaded.fingerprint() == encoder.fingerprint()


def test_a_name_of_another_tokenizer_warns(vectors, tmp_path):
    average = se.Average(vectors, tokenizer=se.Tokenizer(str.split, name="json:dumps"))
    with pytest.warns(
        UserWarning, match=r"Average.save: the tokenizer is not the one that its name 'json:dumps'"
    ):
        average.save(tmp_path / "average")


def test_loading_runs_no_code(vectors, tmp_path, monkeypatch):
    (tmp_path / "harmful_module.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "average"
    se.Average(vectors, tokenizer=str.split).save(path)
    for tokenizer in (
        {"split": "external", "lowercase": "auto", "invalid": "replace", "name": "harmful_module:f"},
        {"split": "harmful_module:f", "lowercase": "auto", "invalid": "replace"},
        {"split": "hf:harmful", "lowercase": "auto", "invalid": "replace"},
    ):
        with_params(path, tokenizer=tokenizer)
        with pytest.raises(ValueError, match=r"average: "):
            se.load(path)
    with_params(path, tokenizer={"split": "external", "name": "harmful_module:f"})
    again = se.load(path, tokenizer=str.split)
    with pytest.warns(UserWarning, match="harmful_module:f"):  # nor when it is saved again
        again.save(path)


def with_params(path, **changes):
    """Write a file again, with other parameters."""
    model = _core.load_encoder(str(path))
    params = {**json.loads(model.params), **changes}
    model.params = json.dumps({name: value for name, value in params.items() if value != "left out"})
    model.save(str(path))


@pytest.mark.parametrize(
    ("family", "changes", "message"),
    [
        ("laes hidden", {"hidden": 99}, "params: hidden=99, but config has 10"),
        ("laes hidden", {"hidden": "x"}, "hidden must be a whole number, got 'x'"),
        ("laes hidden", {"mode": "zzz"}, "mode must be .*, got 'zzz'"),
        ("laes hidden", {"mode": ["hidden"]}, "mode must be"),
        ("laes hidden", {"mode": "residual"}, "params: mode='residual', but config has 'hidden'"),
        ("laes hidden", {"center": 1}, "center must be True or False, got 1"),
        ("laes hidden", {"a": "x"}, "a must be a number greater than 0, or None .*, got 'x'"),
        ("laes hidden", {"a": None}, "a=None contradicts the weights"),
        ("average", {"a": 0.5}, "a=0.5 contradicts"),
        ("sif", {"a": float("nan")}, "a must be a number"),
        ("sif", {"components": 1}, "params: components=1, but config has 2"),
        ("sif", {"statistics": 3}, "statistics must be"),
        ("sif", {"colour": 1, "size": 2}, "params: unknown 'colour', 'size' of SIF"),
        ("sif", {"components": "left out"}, "params: missing 'components' of SIF"),
        ("sif", {"lowercase": False}, "params: another lowercase of the tokenizer than config has"),
        ("sif", {"lowercase": "x"}, "lowercase must be"),
        ("sif", {"tokenizer": {"split": "whitespace"}}, "another split of the tokenizer"),
        ("sif", {"tokenizer": {"split": "words", "colour": 1}}, "unknown key 'colour'"),
        ("sif", {"tokenizer": "words"}, "tokenizer must be a JSON object, got 'words'"),
        ("usif", {"normalize": "none"}, "params: normalize='none', but config has 'dimension'"),
        ("usif", {"sentence_length": -1}, "sentence_length must be a number greater than 0, got -1"),
    ],
    ids=str,
)
def test_parameters_in_a_file_are_checked(vectors, sentences, tmp_path, family, changes, message):
    path = tmp_path / "model.sentencode"
    FAMILIES[family](vectors).fit(sentences).save(path)
    with_params(path, **changes)
    with pytest.raises(se.FormatError, match=message) as caught:
        se.load(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize("params", ["", "[]", "{", '"x"'])
def test_params_must_be_json(vectors, tmp_path, params):
    path = tmp_path / "average"
    model = se.Average(vectors)._fitted_model()
    model.params = params
    model.save(str(path))
    with pytest.raises(se.FormatError, match="average: params"):
        se.load(path)


def test_loaded_weights_of_usif_stay(vectors, sentences, tmp_path):
    se.USIF(vectors, sentence_length=3).fit(sentences).save(tmp_path / "usif")
    loaded = se.load(tmp_path / "usif")
    with pytest.raises(ValueError, match=r"sentence_length=5, but this encoder was loaded with weights for"):
        loaded.set_params(sentence_length=5).fit(sentences)
