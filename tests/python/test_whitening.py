"""Whitened embeddings, compared with principal components in double precision."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest

import sentencode as se

from .io.saved_files import changed, parts, table, with_checksums

WORDS = ["cat", "dog", "ship", "the", "runs", "sinks"]


@pytest.fixture(scope="module")
def vectors():
    rows = np.random.default_rng(0).normal(size=(6, 4)) * [5, 1, 0.5, 0.1] + [3, 0, -1, 0]
    return se.WordVectors.from_array(WORDS, rows.astype(np.float32))


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(1)
    return [" ".join(rng.choice(WORDS, rng.integers(1, 6))) for _ in range(300)]


def reference(x, damping, n):
    """Projections on principal components, each divided by its deviation."""
    x = x.astype(np.float64)
    mean = x.mean(axis=0)
    _, singular, axes = np.linalg.svd(x - mean, full_matrices=False)
    variances = singular**2 / len(x)
    scaled = axes.T / np.sqrt(variances + damping * variances.mean())  # [d, d]
    return (x - mean) @ scaled[:, :n]


@pytest.mark.parametrize(("damping", "n"), [(0.1, None), (0.5, 3), (1e-8, 4), (1e-8, 1)])
def test_is_principal_components_of_equal_variance(vectors, texts, damping, n):
    average = se.Average(vectors)
    encoder = se.Whitening(average, n_components=n, damping=damping).fit(texts)
    rows, expected = encoder.encode(texts), reference(average.encode(texts), damping, n)
    assert rows.shape == (300, n or 4)
    assert encoder.dim == (n or 4)
    signs = np.sign((rows * expected).sum(axis=0))
    np.testing.assert_allclose(rows * signs, expected, atol=1e-3)
    if damping < 1e-5:
        np.testing.assert_allclose(np.cov(rows.T, bias=True).reshape(n, n), np.eye(n), atol=0.01)


def test_fit_reads_files_and_streams(vectors, texts, tmp_path):
    (tmp_path / "texts").write_text("\n".join(texts))
    encoder = se.Whitening(se.Average(vectors))
    rows = encoder.fit(texts).encode(texts)
    for sentences in (iter(texts), tmp_path / "texts", np.array(texts)):
        np.testing.assert_allclose(encoder.fit(sentences).encode(texts), rows, atol=1e-5)


def test_sentences_without_known_words_stay_zero_and_are_not_counted(vectors, texts):
    encoder = se.Whitening(se.Average(vectors)).fit(texts)
    rows = encoder.encode(["cat", "zzz", "", "dog"])
    assert not rows[1:3].any()
    assert rows[[0, 3]].any(axis=1).all()
    again = se.Whitening(se.Average(vectors)).fit([*texts, *["zzz"] * 500])
    np.testing.assert_allclose(again.encode(texts), encoder.encode(texts), atol=1e-5)


def test_cosines_do_not_depend_on_a_common_vector(vectors, texts):
    moved = se.WordVectors.from_array(WORDS, vectors.matrix(WORDS) + 100)
    rows, others = (se.Whitening(se.Average(table)).fit(texts).encode(texts) for table in (vectors, moved))
    np.testing.assert_allclose(others @ others.T, rows @ rows.T, atol=0.05)
    plain = se.Average(moved).similarity(texts[:20], texts[20:40])
    assert plain.min() > 0.99
    assert (rows @ rows.T).min() < -1


def test_is_saved_with_its_encoder(vectors, texts, tmp_path):
    encoder = se.Whitening(se.SIF(vectors, components=1).fit(texts), n_components=3, damping=0.01).fit(texts)
    encoder.save(tmp_path / "white")
    for again in (se.load(tmp_path / "white"), pickle.loads(pickle.dumps(encoder))):
        assert again.get_params(deep=False).keys() == {"encoder", "n_components", "damping"}
        assert (again.n_components, again.damping, type(again.encoder)) == (3, 0.01, se.SIF)
        np.testing.assert_array_equal(again.encode(texts), encoder.encode(texts))
        assert again.fingerprint() == encoder.fingerprint()
    inside = se.Concatenation([se.load(tmp_path / "white"), se.Average(vectors)])
    inside.save(tmp_path / "nested")
    np.testing.assert_array_equal(se.load(tmp_path / "nested").encode(texts), inside.encode(texts))
    other = se.Whitening(encoder.encoder, n_components=np.int64(3), damping=np.float32(0.1)).fit(texts)
    other.save(tmp_path / "numbers of NumPy")
    assert se.load(tmp_path / "numbers of NumPy").n_components == 3
    assert other.fingerprint() != encoder.fingerprint()


def test_an_encoder_is_fitted_unless_it_is(vectors, texts):
    sif = se.SIF(vectors, components=1)
    encoder = se.Whitening(sif)
    with pytest.raises(se.NotFittedError, match="this Whitening has not been fitted"):
        encoder.encode("cat")
    assert encoder.fit(iter(texts)) is encoder
    before = sif.encode(texts)
    np.testing.assert_array_equal(before, se.SIF(vectors, components=1).fit(texts).encode(texts))
    # What this has fitted, it fits again; what was fitted before, it does not.
    encoder.fit(texts[:100])
    other = se.SIF(vectors, components=1).fit(texts[:100])
    np.testing.assert_array_equal(sif.encode(texts), other.encode(texts))
    np.testing.assert_array_equal(encoder.encode(texts), se.Whitening(other).fit(texts[:100]).encode(texts))
    before = other.encode(texts)
    se.Whitening(other).fit(texts).fit(texts)
    np.testing.assert_array_equal(other.encode(texts), before)


@pytest.mark.parametrize(
    "copied", [lambda one: one, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]
)
def test_a_changed_encoder_needs_a_fit(vectors, texts, copied):
    for inner in (se.Average(vectors), se.Whitening(se.Average(vectors))):
        encoder = copied(se.Whitening(inner).fit(texts))
        rows = encoder.encode(texts)
        np.testing.assert_array_equal(encoder.encode(texts), rows)
        first, value = ("normalize", True) if isinstance(inner, se.Average) else ("damping", 0.5)
        encoder.encoder.set_params(**{first: value})
        with pytest.raises(se.NotFittedError, match="call fit"):
            encoder.encode(texts)
        assert encoder.fit(texts).fitted


def test_a_thread_encodes_by_one_fit_while_another_one_fits(vectors, texts):
    encoder = se.Whitening(se.Average(vectors)).fit(texts)
    halves = texts[:150], texts[150:]
    expected = [se.Whitening(se.Average(vectors)).fit(half).encode("cat") for half in (texts, *halves)]
    done, seen = threading.Event(), []

    def encode():
        while not done.is_set():
            seen.append(encoder.encode("cat"))

    thread = threading.Thread(target=encode)
    thread.start()
    fits = 0
    while thread.is_alive() and (fits < 30 or len(seen) < 50):
        encoder.fit(halves[fits % 2])
        fits += 1
    done.set()
    thread.join()
    assert len(seen) >= 50
    assert all(min(np.abs(rows - one).max() for one in expected) < 1e-5 for rows in seen)


def test_changed_parameters_need_a_fit(vectors, texts):
    for name, value in {"n_components": 2, "damping": 0.2, "encoder": se.Average(vectors)}.items():
        encoder = se.Whitening(se.Average(vectors)).fit(texts)
        setattr(encoder, name, value)
        with pytest.raises(se.NotFittedError, match="call fit"):
            encoder.encode(texts)
        assert encoder.fit(texts).fitted


def test_in_scikit_learn(vectors, texts):
    pytest.importorskip("sklearn")
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline

    labels = ["cat" in text for text in texts]
    pipeline = make_pipeline(se.Whitening(se.SIF(vectors, components=1)), LogisticRegression())
    assert len(cross_val_score(pipeline, texts, labels, cv=3)) == 3


def test_wrong_parameters_are_named(vectors, texts, tmp_path):
    average = se.Average(vectors)
    for encoder, error, message in [
        (se.Whitening(np.eye(2)), TypeError, "encoder must be an encoder of sentencode, got a ndarray"),
        (se.Whitening(average, damping=0), ValueError, "Whitening: damping must be"),
        (se.Whitening(average, n_components=0), ValueError, "Whitening: n_components must be"),
        (se.Whitening(average, n_components=5), ValueError, "n_components is 5, but the encoder has 4 dim"),
    ]:
        with pytest.raises(error, match=message):
            encoder.fit(texts)
    for few in (["cat"], ["cat", "cat"], ["zzz"], []):
        with pytest.raises(ValueError, match=r"embeddings that are all the same|no sentences"):
            se.Whitening(average).fit(few)
    with pytest.raises(se.NotFittedError):
        se.Whitening(average).save(tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "file"
    encoder = se.Whitening(se.Average(table())).fit(["the cat", "a dog", "the", "a"])
    encoder.save(path)
    whole = path.read_bytes()
    for config in ({}, {"n_components": 3, "damping": 1e-4}, {"n_components": None, "damping": -1}):
        path.write_bytes(whole)
        changed(path, lambda old, _, config=config: (old.clear(), old.update(config)))
        with pytest.raises(se.FormatError, match="file: "):
            se.load(path)
    header, body = parts(whole)
    header["mean"]["shape"] = [2, 2]
    path.write_bytes(with_checksums(header, body))
    with pytest.raises(se.FormatError, match=r"file: expected tensors .*'mean': \[4\]"):
        se.load(path)
