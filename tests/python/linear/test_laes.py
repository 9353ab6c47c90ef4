"""LAES against the paper's formulas from a dense singular value decomposition."""

from __future__ import annotations

import numpy as np
import pytest

import sentencode as se

from . import reference as ref
from .conftest import PAIRS, SCORES

NEW = ["the man plays a guitar .", "a small dog sleeps", "big big house", "the", "the man " * 12]
MODES = ["hidden", "reconstruction", "residual"]


def data_of(vectors, a, sentences, direction="forward"):
    weights = ref.sif_weights(vectors, a)
    data = [ref.words_of(vectors, weights, s) for s in sentences]
    return [x[::-1] for x in data] if direction == "backward" else data


def assert_same_up_to_signs(actual_a, actual_b, a, b):
    """Compare parameters, which are unique up to the signs of the singular vectors; return the signs."""
    signs = np.sign((a * actual_a).sum(1))
    np.testing.assert_allclose(actual_a, a * signs[:, None], atol=2e-4)
    np.testing.assert_allclose(actual_b, b * signs[:, None] * signs[None, :], atol=2e-4)
    return signs


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("hidden", [1, 4, 9])
@pytest.mark.parametrize("count", [3, 200])  # solved in the dual, in the primal
def test_one_direction(vectors, sentences, mode, direction, hidden, count):
    sentences = sentences[:count]
    a, b, s = ref.autoencoder(data_of(vectors, 1e-2, sentences, direction), hidden)
    laes = se.LAES(vectors, hidden=hidden, mode=mode, direction=direction, a=1e-2).fit(sentences)
    signs = assert_same_up_to_signs(laes.A_, laes.B_, a, b)
    np.testing.assert_allclose(laes.singular_values_, s, rtol=1e-4)
    expected = np.array([ref.embedding(x, a, b, mode) for x in data_of(vectors, 1e-2, NEW, direction)])
    if mode == "hidden":
        expected *= signs
    np.testing.assert_allclose(laes.encode(NEW), expected, atol=3e-4)
    assert (laes.n_sentences_, laes.n_tokens_) == (count, sum(len(s.split()) for s in sentences))


def test_the_default_is_the_papers_proposal(vectors, sentences):
    laes = se.LAES(vectors, hidden=5)
    assert laes.mode == "residual"
    same = se.LAES(vectors, hidden=5, mode="residual").fit(sentences)
    np.testing.assert_array_equal(laes.fit(sentences).encode(NEW), same.encode(NEW))


def test_zero_residuals_warn(vectors):
    with pytest.warns(UserWarning, match=r"2 hidden units reconstruct these 2 sentences exactly.*hidden=150"):
        laes = se.LAES(vectors).fit(["the dog", "the dog"])
    assert not laes.encode("the dog").any()
    se.LAES(vectors, mode="hidden").fit(["the dog"])  # no warning


def test_counts_are_those_of_fit(vectors, sentences, tmp_path):
    laes = se.LAES(vectors, hidden=2, mode="hidden").fit(sentences)
    laes.save(tmp_path / "x.st")
    for name in ("n_sentences_", "n_tokens_"):
        with pytest.raises(AttributeError, match="loaded from a file without statistics"):
            getattr(se.load(tmp_path / "x.st"), name)
    assert "sentences" not in se.load(tmp_path / "x.st")._facts()
    with pytest.raises(ValueError, match="no sentence has a known word"):
        laes.reconstruction_error(["xyzzy", ""])
    with pytest.raises(TypeError, match="sizes must be a whole number"):
        laes.reconstruction_error(sentences, sizes=[1.5])
    with pytest.raises(TypeError, match="decode: length must be a whole number"):
        laes.decode([0, 0], 1.5)


def test_statistics_larger_than_memory_are_refused(vectors, sentences):
    laes = se.LAES(vectors, hidden=2_000_000, mode="hidden")  # B alone: 16 terabytes
    with pytest.raises(
        ValueError, match=r"2000000 hidden units need \d{5} GB, of \d+ GB .*: use a smaller max_"
    ):
        laes.fit(sentences)
    assert not laes.fitted


def test_both_directions(vectors, sentences):
    options = {"hidden": 4, "mode": "residual", "a": None}
    forward = se.LAES(vectors, direction="forward", **options).fit(sentences).encode(NEW)
    backward = se.LAES(vectors, direction="backward", **options).fit(sentences).encode(NEW)
    both = se.LAES(vectors, direction="both", **options).fit(sentences)
    np.testing.assert_allclose(both.encode(NEW), (forward + backward) / 2, atol=1e-5)
    concat = se.LAES(vectors, direction="both", combine="concat", **options).fit(sentences)
    np.testing.assert_allclose(concat.encode(NEW), np.hstack([forward, backward]), atol=1e-5)
    assert both.A_backward_.shape == (4, 6)
    assert both.B_backward_.shape == (4, 4)


def test_states_and_decode(vectors, sentences):
    laes = se.LAES(vectors, hidden=5, mode="hidden", a=None).fit(sentences)
    x = data_of(vectors, None, NEW[:1])[0]
    states = laes.states(NEW[0])
    h = np.zeros(5)
    for word, state in zip(x, states, strict=True):
        h = laes.A_ @ word + laes.B_ @ h
        np.testing.assert_allclose(state, h, atol=1e-4)
    np.testing.assert_allclose(laes.encode(NEW[0]), states[-1], atol=1e-5)
    np.testing.assert_allclose(
        laes.decode(states[-1], 6), ref.reconstructions(h, laes.A_, laes.B_, 6), atol=1e-4
    )
    np.testing.assert_array_equal(laes.states(NEW[0].split()), states)
    backward = se.LAES(vectors, hidden=5, a=None, direction="backward").fit(sentences)
    assert backward.decode(backward.states("the dog")[-1], 2).shape == (2, 6)
    assert laes.decode(states[-1], 0).shape == (0, 6)
    with pytest.raises(ValueError, match=r"5.*4|4.*5"):
        laes.decode(np.zeros(4), 2)
    with pytest.raises(ValueError, match="backward"):
        laes.states(NEW[0], "backward")


def test_reconstruction_is_exact_at_full_rank(vectors, sentences):
    some = sentences[:10]
    rank = np.linalg.matrix_rank(ref.data_matrix(data_of(vectors, None, some)))
    laes = se.LAES(vectors, hidden=rank + 5, mode="hidden", a=None).fit(some)
    assert laes.rank_ == rank
    errors = laes.reconstruction_error(some, [1, 5, rank, rank + 5])
    assert errors[0] > errors[1] > 0.1
    np.testing.assert_allclose(errors[2:], 0, atol=1e-3)
    assert not laes.encode(some)[:, rank:].any()
    residual = se.LAES(vectors, hidden=rank, a=None, mode="residual").fit(some)
    np.testing.assert_allclose(residual.encode(some), 0, atol=1e-3)
    assert laes.reconstruction_error(some).shape == (1,)
    with pytest.raises(ValueError, match="sizes must be at least 1, got 0"):
        laes.reconstruction_error(some, [0])


def test_one_step_never_increases_the_norm(vectors, sentences):
    laes = se.LAES(vectors, hidden=8).fit(sentences)
    together = laes.A_ @ laes.A_.T + laes.B_ @ laes.B_.T
    assert np.linalg.eigvalsh(together.astype(np.float64)).max() < 1 + 1e-5


def test_center(vectors, sentences):
    data = data_of(vectors, None, sentences)
    centre = np.concatenate(data).mean(0)
    a, b, _ = ref.autoencoder([x - centre for x in data], 4)
    laes = se.LAES(vectors, hidden=4, a=None, center=True, mode="residual").fit(sentences)
    new = [x - centre for x in data_of(vectors, None, NEW)]
    expected = np.array([ref.embedding(x, a, b, "residual") for x in new])
    np.testing.assert_allclose(laes.encode(NEW), expected, atol=3e-4)


def test_projection_is_the_best_state(vectors, sentences):
    options = {"hidden": 6, "mode": "hidden", "a": None}
    recursive = se.LAES(vectors, **options).fit(sentences)
    projection = se.LAES(vectors, state="projection", **options).fit(sentences)
    data = data_of(vectors, None, sentences)
    _, _, ut = np.linalg.svd(ref.data_matrix(data), full_matrices=False)
    longest = max(map(len, data))
    z = np.array([np.concatenate([x[::-1].ravel(), np.zeros((longest - len(x)) * 6)]) for x in data])
    embeddings = projection.encode(sentences)
    np.testing.assert_allclose(np.abs(embeddings), np.abs(z @ ut[:6].T), atol=1e-3)
    assert np.abs(embeddings - recursive.encode(sentences)).max() > 1e-2  # below full rank they differ


def test_words_beyond_max_length_are_not_fitted_to(vectors):
    short = se.LAES(vectors, hidden=4, max_length=2).fit(["the dog", "a cat"] * 3)
    long = se.LAES(vectors, hidden=4, max_length=2).fit(["the dog sleeps", "a cat plays ."] * 3)
    np.testing.assert_allclose(short.encode(NEW), long.encode(NEW), atol=1e-5)


class TestSelect:
    @pytest.mark.parametrize("mode", MODES)
    def test_curves_equal_those_of_single_encoders(self, vectors, sentences, mode):
        laes = se.LAES(vectors, hidden=6, mode=mode, direction="both").fit(sentences)
        selection = laes.select(PAIRS, SCORES)
        assert set(selection.curves) == {"forward", "backward", "sum", "concat"}
        for hidden in (1, 3, 6):
            for variant in ("sum", "concat"):
                one = se.LAES(vectors, hidden=hidden, mode=mode, direction="both", combine=variant)
                cosines = one.fit(sentences).similarity_pairwise(*zip(*PAIRS, strict=True))
                expected = np.corrcoef(cosines, SCORES)[0, 1]
                np.testing.assert_allclose(selection.curves[variant][hidden - 1], expected, atol=2e-3)
        assert selection.variant in ("sum", "concat")
        assert selection.encoder.get_params()["combine"] == selection.variant
        one = se.LAES(
            vectors, hidden=selection.hidden, mode=mode, direction="both", combine=selection.variant
        )
        np.testing.assert_allclose(selection.encode(NEW), one.fit(sentences).encode(NEW), atol=1e-4)

    def test_one_direction_some_sizes(self, vectors, sentences):
        laes = se.LAES(vectors, hidden=6, mode="residual").fit(sentences)
        selection = laes.select(np.array(PAIRS), list(SCORES), sizes=[5, 2])
        assert selection.settings.tolist() == [2, 5]
        assert list(selection.curves) == ["forward"]
        assert selection.encoder.hidden == selection.hidden
        with pytest.raises(ValueError, match="sizes must be at most 6, got 7"):
            laes.select(PAIRS, SCORES, sizes=[7])
