"""Linear maps by ridge regression, and what begins with one."""

from __future__ import annotations

import numpy as np
import pytest

import sentencode as se

pytest.importorskip("torch")
from sklearn.linear_model import Ridge

from sentencode.models.linear_map import chosen_map, linear_map

RNG = np.random.default_rng(0)
WORDS = [f"w{i}" for i in range(30)]
VECTORS = se.WordVectors.from_array(WORDS, RNG.normal(size=(30, 6)).astype(np.float32))
TEXTS = [" ".join(RNG.choice(WORDS, RNG.integers(2, 9))) for _ in range(300)]


@pytest.mark.parametrize("ridge", [0.0, 2.5])
def test_maps_are_ridge_regressions(ridge):
    x, y = RNG.normal(size=(40, 5)), RNG.normal(size=(40, 3))
    a, b = linear_map(x, y, ridge)
    expected = Ridge(alpha=ridge).fit(x, y)
    np.testing.assert_allclose(a, expected.coef_.T, atol=1e-8)
    np.testing.assert_allclose(b, expected.intercept_, atol=1e-8)


def test_the_ridge_is_chosen_on_held_out_rows():
    x = RNG.normal(size=(200, 20))
    truth = RNG.normal(size=(20, 2))
    exact, _ = chosen_map(x, x @ truth + 3)
    np.testing.assert_allclose(exact, truth, atol=1e-3)
    noise = 30 * RNG.normal(size=(200, 2))
    shrunk, _ = chosen_map(x, x @ truth + noise)
    least_squares, _ = linear_map(x, x @ truth + noise, 0)
    assert np.abs(shrunk - truth).mean() < 0.8 * np.abs(least_squares - truth).mean()


@pytest.mark.parametrize("rows", [1, 2, 9])
def test_few_rows_have_the_largest_ridge(rows):
    x = RNG.normal(size=(rows, 3))
    unit = np.square(x - x.mean(0)).sum(0).mean() or 1.0
    a, b = chosen_map(x, x @ np.ones((3, 2)) + 5)
    expected = linear_map(x, x @ np.ones((3, 2)) + 5, 10 * unit)
    np.testing.assert_allclose(a, expected[0])
    np.testing.assert_allclose(b, expected[1])


def test_equal_rows():
    a, b = chosen_map(np.ones((50, 3)), np.full((50, 2), 5.0))
    np.testing.assert_allclose(a, 0, atol=1e-9)
    np.testing.assert_allclose(b, 5)


def untrained(kind, texts, targets, **options):
    encoder = getattr(se, kind)(VECTORS, head=se.RowRegression(), hidden=8, device="cpu")
    encoder.set_params(max_steps=1, max_epochs=None, learning_rate=1e-30)
    return encoder.fit(texts, targets, **options)


def error(predicted, targets):
    return np.square(predicted - targets).sum() / np.square(targets - targets.mean(0)).sum()


@pytest.mark.parametrize("kind", ["GeneralizedPooling", "MeanMaxAAE", "RNNCNN", "CompositeCNN", "RAE"])
@pytest.mark.parametrize("valid", [None, 0.2])
def test_row_regression_is_initialised_with_the_best_map_of_the_untrained_network(kind, valid):
    texts = [*TEXTS[:7], "unheard", *TEXTS[7:]]  # the unknown sentence is left out
    embeddings = untrained(kind, texts, np.zeros((301, 3), np.float32), valid=valid).encode(texts)
    targets = embeddings @ RNG.normal(size=(embeddings.shape[1], 3)).astype(np.float32) + 2
    assert error(untrained(kind, texts, targets, valid=valid).predict(TEXTS), np.delete(targets, 7, 0)) < 0.05


def test_copies_of_sentences_do_not_decide_the_ridge():
    noise = RNG.normal(size=(40, 3)).astype(np.float32)
    once = untrained("RNNCNN", TEXTS[:40], noise, valid=None).predict(TEXTS)
    copied = untrained("RNNCNN", TEXTS[:40] * 5, np.tile(noise, (5, 1)), valid=None).predict(TEXTS)
    assert np.square(copied - copied.mean(0)).mean() < 3 * np.square(once - once.mean(0)).mean()
