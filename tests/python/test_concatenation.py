"""Concatenated embeddings, as of encoders that are called one by one."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import sentencode as se

from .io.saved_files import TEXTS, changed, parts, table, with_checksums


def encoders():
    laes = se.LAES(table("int8"), hidden=3, mode="hidden")
    return [se.SIF(table(), components=1).fit(TEXTS), se.Average(table("float16")), laes.fit(TEXTS)]


def expected(normalize, texts=TEXTS):
    """The rows, one sentence at a time."""
    rows = [[encoder.encode(text).astype(float) for encoder in encoders()] for text in texts]
    if normalize:
        rows = [[part / (np.sqrt((part**2).sum()) or 1) for part in row] for row in rows]
    return np.array([np.concatenate(row) for row in rows])


@pytest.mark.parametrize("normalize", [False, True])
def test_is_the_embeddings_side_by_side(normalize, tmp_path):
    encoder = se.Concatenation(encoders(), normalize=normalize)
    assert encoder.dim == 4 + 4 + 3
    rows = encoder.encode(TEXTS)
    np.testing.assert_allclose(rows, expected(normalize), atol=1e-5)
    np.testing.assert_allclose(encoder.encode(iter(TEXTS), batch_size=2), rows, atol=1e-6)
    assert encoder.encode(TEXTS, truncate_dim=5, out=np.empty((6, 5), np.float16)).dtype == np.float16
    assert encoder.semantic_search("a dog", TEXTS, top_k=1).indices.shape == (1,)
    encoder.save(tmp_path / "both")
    assert [path.name for path in tmp_path.iterdir()] == ["both"]
    for again in (se.load(tmp_path / "both"), pickle.loads(pickle.dumps(se.load(tmp_path / "both")))):
        assert [type(one) for one in again.encoders] == [se.SIF, se.Average, se.LAES]
        np.testing.assert_array_equal(again.encode(TEXTS), rows)
        assert again.fingerprint() == encoder.fingerprint()


def test_fingerprint_depends_on_the_encoders_their_order_and_the_lengths():
    first, second, _ = encoders()
    variants = [[first, second], [second, first], [first], [first, first, second]]
    prints = {se.Concatenation(variant).fingerprint() for variant in variants}
    prints |= {se.Concatenation(variant, normalize=True).fingerprint() for variant in variants}
    assert len(prints) == 8


def test_combine_skip(tmp_path):
    pytest.importorskip("torch")
    options = {"hidden": 4, "max_steps": 2, "batch_size": 3, "device": "cpu"}
    both = [se.SkipThoughts(table(), bidirectional=two, **options).fit(TEXTS * 4) for two in (False, True)]
    encoder = se.Concatenation(both, normalize=True)
    rows = encoder.encode(TEXTS)
    assert rows.shape == (6, 8)
    np.testing.assert_allclose(np.linalg.norm(rows[0]), 2**0.5, rtol=1e-6)
    encoder.save(tmp_path / "combined")
    inside = se.Concatenation([se.load(tmp_path / "combined"), se.Average(table())])
    inside.save(tmp_path / "nested")
    np.testing.assert_array_equal(se.load(tmp_path / "nested").encode(TEXTS)[:, :8], rows)


def test_fit_trains_each_encoder():
    encoder = se.Concatenation(
        [se.SIF(table(), components=1), se.LAES(table("int8"), hidden=3, mode="hidden")]
    )
    assert not encoder.fitted
    with pytest.raises(se.NotFittedError, match="this SIF has not been fitted"):
        encoder.encode(TEXTS)
    assert encoder.fit(iter(TEXTS)) is encoder
    np.testing.assert_allclose(
        encoder.encode(TEXTS), expected(normalize=False)[:, [0, 1, 2, 3, 8, 9, 10]], atol=1e-5
    )
    with pytest.raises(NotImplementedError, match="has no partial_fit"):
        encoder.partial_fit(TEXTS)


def test_in_scikit_learn():
    pytest.importorskip("sklearn")
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline

    encoder = se.Concatenation(encoders(), normalize=True)
    again = clone(encoder)
    assert not again.fitted
    assert again.encoders[0] is not encoder.encoders[0]
    pipeline = make_pipeline(again, LogisticRegression())
    assert len(cross_val_score(pipeline, TEXTS * 2, [0, 1, 0, 1, 0, 1] * 2, cv=2)) == 2
    assert encoder.get_feature_names_out()[-1] == "concatenation10"
    assert "SIF" in encoder._repr_html_()


def test_in_senteval_and_mteb():
    encoder = se.Concatenation(encoders())
    prepare, batcher = se.senteval.plugin(encoder)
    prepare({}, [["the", "cat"]])
    np.testing.assert_allclose(batcher({}, [["the", "cat"]])[0], encoder.encode("the cat"), atol=1e-6)
    assert se.mteb.model(encoder).encode([{"text": TEXTS}]).shape == (6, 11)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"encoders": []}, TypeError, r"encoders must be a list of encoders, got \[\]"),
        ({"encoders": se.Average({"cat": [1.0]})}, TypeError, "encoders must be a list"),
        (
            {"encoders": [np.eye(2)]},
            TypeError,
            r"encoders\[0\] must be an encoder of sentencode, got a ndarray",
        ),
        (
            {"encoders": [se.SIF({"cat": [1.0]}, statistics="evaluated")]},
            ValueError,
            r"encoders\[0\]: SIF has statist",
        ),
        (
            {"encoders": [se.Average({"cat": [1.0]})], "normalize": 1},
            TypeError,
            "normalize must be True or False",
        ),
    ],
)
def test_wrong_parameters_are_named(options, error, message, tmp_path):
    encoder = se.Concatenation(**options)
    for call in (
        lambda: encoder.encode(["cat"]),
        lambda: encoder.save(tmp_path / "x"),
        lambda: encoder.fit(["cat"]),
    ):
        with pytest.raises(error, match=message):
            call()
    assert not list(tmp_path.iterdir())


def test_a_tokenizer_is_passed_to_the_encoders(tmp_path):
    encoder = se.Concatenation([se.Average(table(), tokenizer=lambda text: text.split("_"))])
    with pytest.warns(UserWarning, match="pass it to load again"):
        encoder.save(tmp_path / "file")
    with pytest.raises(ValueError, match=r"file: encoders\[0\]: .*tokenizer") as caught:
        se.load(tmp_path / "file")
    assert not isinstance(caught.value, se.FormatError)
    again = se.load(tmp_path / "file", tokenizer=encoder.encoders[0].tokenizer)
    np.testing.assert_array_equal(again.encode("the_cat"), encoder.encode("the_cat"))


def test_damaged_files_are_refused_with_the_encoder_that_is_damaged(tmp_path):
    path = tmp_path / "file"
    se.Concatenation(encoders()).save(path)
    whole = path.read_bytes()
    for config in ({}, {"normalize": 1}, {"normalize": True, "more": 1}):
        changed(path, lambda old, _, config=config: (old.clear(), old.update(config)))
        with pytest.raises(se.FormatError, match=r"file: config: expected normalize"):
            se.load(path)
    header, body = parts(whole)
    header["5"] = header.pop("2")
    path.write_bytes(with_checksums(header, body))
    with pytest.raises(se.FormatError, match=r"expected tensors 0, 1, ..., got \['0', '1', '5'\]"):
        se.load(path)
    header["2"] = header.pop("5")
    end = header["1"]["data_offsets"][1]
    path.write_bytes(with_checksums(header, body[: end - 1] + bytes([body[end - 1] ^ 1]) + body[end:]))
    with pytest.raises(se.FormatError, match=r"file: encoders\[1\]: is damaged"):
        se.load(path)
