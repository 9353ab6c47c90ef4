"""An embedding depends only on its sentence, and not on the batch or the number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sentencode as se

from .conftest import FAMILIES, WORDS

TOKENS = st.one_of(st.sampled_from(WORDS), st.text(max_size=5))
SENTENCES = st.lists(
    st.one_of(st.lists(TOKENS, max_size=20).map(" ".join), st.text(max_size=30)), max_size=30
)
TOLERANCE = {"atol": 1e-6, "rtol": 0}
quick = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def restored_threads():
    before = se.num_threads()
    yield
    se.set_num_threads(before)


@quick
@given(SENTENCES, st.integers(1, 31), st.randoms(use_true_random=False), st.sampled_from([1, 2, 5]))
def test_embeddings_do_not_depend_on_the_batch(encoder, sentences, batch_size, random, threads):
    se.set_num_threads(1)
    alone = [encoder.encode(s) for s in sentences]
    se.set_num_threads(threads)
    order = random.sample(range(len(sentences)), len(sentences))
    rows = encoder.encode([sentences[i] for i in order], batch_size)
    assert rows.shape == (len(sentences), encoder.dim)
    assert np.isfinite(rows).all()
    for row, i in zip(rows, order, strict=True):
        np.testing.assert_allclose(row, alone[i], **TOLERANCE)


@pytest.fixture(scope="session")
def white(encoder, sentences):
    """The encoder with a tokenizer that splits at white space."""
    return type(encoder)(**{**encoder.get_params(deep=False), "tokenizer": "whitespace"}).fit(sentences)


@quick
@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=12), max_size=12))
def test_tokens_bytes_and_text_are_the_same(white, sentences):
    # Only this tokenizer splits "n't" alone as the tokens do.
    texts = [" ".join(tokens) for tokens in sentences]
    rows = white.encode(sentences)
    np.testing.assert_array_equal(white.encode([[t.encode() for t in tokens] for tokens in sentences]), rows)
    np.testing.assert_allclose(white.encode(texts), rows, **TOLERANCE)
    np.testing.assert_allclose(white.encode([text.encode() for text in texts]), rows, **TOLERANCE)


def test_many_sentences_on_many_threads(encoder, sentences):
    many = sentences * 40  # several pieces of work for each thread
    se.set_num_threads(1)
    expected = encoder.encode(many)
    for threads in (2, 7):
        se.set_num_threads(threads)
        np.testing.assert_allclose(encoder.encode(many), expected, **TOLERANCE)
        np.testing.assert_allclose(encoder.encode(many, batch_size=333), expected, **TOLERANCE)


def scaled(family, scale):
    """A fitted encoder with vectors of this scale, and its sentences."""
    random = np.random.default_rng(3)
    words = [f"w{i}" for i in range(200)]
    rows = (scale * random.normal(size=(200, 67)).astype(np.float32)).astype(np.float32)
    texts = [" ".join(random.choice(words, random.integers(1, 30))) for _ in range(50)]
    return FAMILIES[family](se.WordVectors.from_array(words, rows, range(200, 0, -1))).fit(texts), texts


@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1e16])
@pytest.mark.parametrize("family", sorted(set(FAMILIES) - {"laes concat"}))
def test_directions_of_embeddings_do_not_depend_on_the_scale_of_vectors(family, scale):
    usual, other = (
        encoder.encode(texts, normalize_embeddings=True)
        for encoder, texts in (scaled(family, 1), scaled(family, scale))
    )
    np.testing.assert_allclose(other, usual, atol=1e-4)
    assert np.abs(usual).max(axis=1).min() > 0.05


@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1e16])
@pytest.mark.parametrize("family", ["sif", "laes residual"])
def test_selection_does_not_depend_on_the_scale_of_vectors(family, scale):
    usual, other = (
        encoder.select(list(zip(texts, texts[::-1], strict=True)), np.arange(50) % 7)
        for encoder, texts in (scaled(family, 1), scaled(family, scale))
    )
    for name, curve in usual.curves.items():
        np.testing.assert_allclose(other.curves[name], curve, atol=1e-3)


@pytest.mark.parametrize("size", [2.0**-10, 2.0**10])
@pytest.mark.parametrize("family", ["weighted average", "sif", "usif", "laes hidden", "laes residual"])
def test_rounding_is_relative_to_the_word_vectors(family, size):
    encoder, texts = scaled(family, size)
    se.set_num_threads(1)
    alone = [encoder.encode(text) for text in texts]
    # A difference is rounded like its operands: means of sentences, and word vectors.
    least = np.linalg.norm(encoder.vectors.matrix(), axis=1).max() if family != "laes hidden" else 0
    for threads, batch_size in [(1, 7), (2, 50), (3, 16)]:
        se.set_num_threads(threads)
        for row, expected in zip(encoder.encode(texts, batch_size), alone, strict=True):
            assert np.linalg.norm(row - expected) <= 1e-6 * max(np.linalg.norm(expected), least)


def test_sentences_without_known_words_are_zero(encoder):
    rows = encoder.encode(["", "   ", "xyzzy plugh", "the dog"])
    assert not rows[:3].any()
    assert rows[3].any()


def test_precision_and_out(encoder):
    assert encoder.encode(["the dog", "a"], precision="float16").dtype == np.float16
    out = np.empty((2, encoder.dim), np.float32)
    np.testing.assert_allclose(
        encoder.encode(["the dog", "a"], out=out)[0], encoder.encode("the dog"), **TOLERANCE
    )
