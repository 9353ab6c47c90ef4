"""Average, SIF and uSIF against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

import sentencode as se

from . import reference as ref
from .conftest import PAIRS, SCORES

NEW = ["the man plays a guitar .", "a small dog sleeps", "big big house", "", "xyzzy", "the"]
CLOSE = {"atol": 2e-6, "rtol": 1e-5}


def means(vectors, weights, sentences):
    return np.array([ref.mean(ref.words_of(vectors, weights, s)) for s in sentences])


@pytest.mark.parametrize("a", [None, 1e-3, 0.5])
def test_average(vectors, a):
    weights = ref.sif_weights(vectors, a)
    np.testing.assert_allclose(se.Average(vectors, a=a).encode(NEW), means(vectors, weights, NEW), **CLOSE)


@pytest.mark.filterwarnings("ignore:SIF. components=6 leaves nothing")
@pytest.mark.parametrize("components", [0, 1, 3, 6])
@pytest.mark.parametrize("a", [None, 1e-2])
def test_sif(vectors, sentences, components, a):
    weights = ref.sif_weights(vectors, a)
    directions, values = ref.leading_directions(means(vectors, weights, sentences), components)
    e = means(vectors, weights, NEW)
    sif = se.SIF(vectors, a=a, components=components).fit(sentences)
    np.testing.assert_allclose(sif.encode(NEW), e - e @ directions.T @ directions, **CLOSE)
    np.testing.assert_allclose(sif.singular_values_, values, rtol=1e-5)
    np.testing.assert_allclose(np.abs(sif.components_ @ directions.T), np.eye(components), atol=1e-5)
    assert sif.n_sentences_ == 200


def test_usif_reads_eleven_words_by_default():
    """The public code's mean length of a sentence."""
    random = np.random.default_rng(0)
    words, counts = [f"w{i}" for i in range(200)], [1000 // i for i in range(1, 201)]
    vectors = se.WordVectors.from_array(words, random.normal(size=(200, 4)).astype(np.float32), counts=counts)
    usif = se.USIF(vectors, components=0, normalize="none").fit(words)
    weights = ref.usif_weights(vectors, 11)
    np.testing.assert_allclose(usif.encode(words), means(vectors, weights, words), **CLOSE)


@pytest.mark.parametrize("texts", [["the man"], ["the man", "a dog", "xyzzy"]])
def test_nothing_remains_of_few_sentences(vectors, texts):
    with pytest.warns(UserWarning, match="components=2 leaves nothing of the means") as warned:
        sif = se.SIF(vectors, components=2).fit(texts)
    assert warned[0].filename == __file__
    assert not sif.encode(texts).any()


def test_nothing_remains_without_all_directions(vectors, sentences):
    for encoder, texts in ((se.SIF(vectors, components=6), sentences), (se.USIF(vectors), ["the man"])):
        with pytest.warns(UserWarning, match="leaves nothing of the means"):
            encoder.fit(texts)
        assert np.abs(encoder.encode(texts)).max() < 1e-6
    se.USIF(vectors).fit(["the man", "a dog"])  # no warning: a part of each direction remains
    se.SIF(vectors, components=0).fit(["the man"])


def test_other_means_are_not_merged(vectors, sentences):
    usif = se.USIF(vectors).fit(sentences[:9])
    with pytest.raises(ValueError, match="cannot merge two USIF with different normalize"):
        usif.merge(se.USIF(vectors, normalize="none").fit(sentences[9:]))
    assert usif.n_sentences_ == 9


@pytest.mark.parametrize("kind", [se.Average, se.SIF, se.USIF, se.LAES])
def test_saved_weights_are_for_their_words(kind, vectors, sentences, tmp_path):
    options = {"a": 1e-3} if kind is se.Average else {"hidden": 3} if kind is se.LAES else {}
    encoder = kind(vectors.with_oov("mean"), **options)
    encoder.fit(sentences).save(tmp_path / "x.st")
    words = list(vectors.words)
    other = se.WordVectors.from_array(words[::-1], vectors.matrix(words[::-1]))
    for unlike in (other, se.WordVectors.from_array(words[1:], vectors.matrix(words[1:]))):
        with pytest.raises(
            ValueError, match=r"loaded with weights for other word vectors.*; set frequencies"
        ):
            se.load(tmp_path / "x.st").set_params(vectors=unlike).fit(sentences)
    loaded = se.load(tmp_path / "x.st")
    loaded.set_params(vectors=loaded.vectors.with_oov("skip")).fit(sentences)
    early = se.load(tmp_path / "x.st")
    early.frequencies.vectors = None  # as in pickles of earlier versions
    with pytest.raises(ValueError, match="weights"):
        early.set_params(vectors=loaded.vectors).fit(sentences)
    expected = kind(vectors, **options).fit(sentences)
    np.testing.assert_allclose(loaded.encode(NEW), expected.encode(NEW), **CLOSE)


def test_sif_of_the_evaluated_sentences(vectors, sentences):
    paper = se.SIF(vectors, statistics="evaluated", components=2)
    assert paper.fitted
    np.testing.assert_array_equal(
        paper.encode(sentences), se.SIF(vectors, components=2).fit(sentences).encode(sentences)
    )
    np.testing.assert_array_equal(paper.encode(iter(sentences)), paper.encode(sentences))
    np.testing.assert_array_equal(paper.encode(sentences, batch_size=7), paper.encode(sentences))
    with pytest.raises(ValueError, match=r"SIF\.encode_iter: .* needs all sentences together"):
        paper.encode_iter(sentences)
    with pytest.raises(ValueError, match=r"SIF\.semantic_search: .* needs all sentences together"):
        paper.semantic_search(["a"], sentences)
    with pytest.raises(ValueError, match="nothing to select from"):
        paper.select([("a", "b")], [1])


class TestEvaluated:
    @pytest.fixture
    def paper(self, vectors):
        return se.SIF(vectors, statistics="evaluated")

    @pytest.mark.parametrize("texts", [[], iter(()), [""], ["xyzzy", ""], (t for t in ["xyzzy"])])
    def test_without_known_words_rows_are_zero(self, paper, texts):
        rows = paper.encode(texts)
        assert rows.shape[1] == paper.dim
        assert not rows.any()

    def test_without_known_words_options_hold(self, paper):
        out = np.ones((1, 6), np.float16)
        assert paper.encode(["xyzzy"], out=out) is out
        assert not out.any()
        assert paper.encode("xyzzy").shape == (6,)
        assert paper.encode([], precision="float16").dtype == np.float16

    def test_sides_are_compared_with_statistics_of_both(self, paper, vectors, sentences):
        a, b = sentences[:4], sentences[4:8]
        both = se.SIF(vectors).fit(a + b)
        np.testing.assert_array_equal(paper.similarity(a, b), both.similarity(a, b))
        np.testing.assert_array_equal(paper.similarity_pairwise(a, iter(b)), both.similarity_pairwise(a, b))
        one = se.SIF(vectors).fit([a[0], b[0]])
        expected = one.similarity(a[0], b[0], "dot")
        np.testing.assert_array_equal(paper.similarity(a[0], b[0], "dot"), expected)
        assert expected.any()
        tokens = [text.split() for text in b]
        np.testing.assert_array_equal(paper.similarity(a, tokens), both.similarity(a, b))
        assert not paper.similarity("xyzzy", ["", "?"]).any()
        rows = paper.encode(a)  # embeddings are compared unchanged
        np.testing.assert_array_equal(paper.similarity(rows, a), se.similarity(rows, rows))

    def test_statistics_of_the_evaluated_sentences_are_not_stored(self, paper, vectors, sentences, tmp_path):
        assert paper.fit(sentences) is paper
        assert paper.partial_fit(sentences).fitted
        fitted = se.SIF(vectors).fit(sentences)
        for use in (
            lambda: paper.save(tmp_path / "x"),
            paper.fingerprint,
            lambda: paper.components_,
            lambda: paper.singular_values_,
            lambda: paper.n_sentences_,
            lambda: paper.merge(fitted),
            lambda: fitted.merge(paper),
        ):
            with pytest.raises(se.NotFittedError, match="statistics='evaluated' has nothing"):
                use()
        assert not hasattr(paper, "components_")
        assert "evaluated" in paper._repr_html_()
        with pytest.raises(ValueError, match=r"mteb.model: SIF has statistics='evaluated'"):
            se.mteb.model(paper, revision="1")
        with pytest.raises(ValueError, match="components must be from 0"):
            paper.set_params(components=99).fit(sentences)

    def test_statistics_can_be_switched(self, vectors, sentences):
        sif = se.SIF(vectors).fit(sentences[:50])
        rows = sif.encode(sentences)
        sif.set_params(statistics="evaluated")
        np.testing.assert_array_equal(sif.encode(sentences), se.SIF(vectors).fit(sentences).encode(sentences))
        sif.set_params(statistics="fit")
        np.testing.assert_array_equal(sif.encode(sentences), rows)


@pytest.mark.parametrize("normalize", ["dimension", "none"])
def test_usif(vectors, sentences, normalize):
    weights = ref.usif_weights(vectors, 3)  # for longer sentences, none of 14 words is frequent enough
    ones = dict.fromkeys(weights, 1.0)

    def raw(texts):
        if normalize == "none":
            return means(vectors, weights, texts)
        columns = [np.array([weights[w] for w in s.split() if w in vectors]).reshape(-1, 1) for s in texts]
        rows = [ref.words_of(vectors, ones, s) for s in texts]
        return np.array([ref.normalised_mean(x, c) for x, c in zip(rows, columns, strict=True)])

    directions, values = ref.leading_directions(raw(sentences), 3)
    shares = values**2 / (values**2).sum()
    e = raw(NEW)
    expected = e - (e @ directions.T * shares) @ directions
    usif = se.USIF(vectors, components=3, normalize=normalize, sentence_length=3).fit(sentences)
    np.testing.assert_allclose(usif.factors_, shares, rtol=1e-5)
    np.testing.assert_allclose(usif.encode(NEW), expected, atol=1e-5, rtol=1e-4)


def test_user_defined_frequencies(vectors, sentences, tmp_path):
    counts = {"the": 100, "dog": 3, "cat": 1}
    file = tmp_path / "counts.txt"
    file.write_text("".join(f"{w} {c}\n" for w, c in counts.items()))
    row = se.Average(vectors, a=1e-2, frequencies=counts).encode("the dog sleeps")
    p = {w: c / 104 for w, c in counts.items()}
    weights = {w: 1e-2 / (1e-2 + p.get(w, 0.0)) for w in vectors.words}
    np.testing.assert_allclose(row, means(vectors, weights, ["the dog sleeps"])[0], **CLOSE)
    np.testing.assert_array_equal(se.Average(vectors, a=1e-2, frequencies=file).encode("the dog sleeps"), row)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        se.Average(vectors, a=1e-2, frequencies="nowhere").encode("the dog")
    with pytest.raises(TypeError, match=r"frequencies must be None, 'zipf', a path.*got int"):
        se.Average(vectors, a=1e-2, frequencies=3).encode("the dog")


class TestDegenerateInput:
    def test_one_sentence(self, vectors):
        with pytest.warns(UserWarning, match="use fewer components or more sentences"):
            sif = se.SIF(vectors).fit(["the dog sleeps"])
        assert not sif.encode("the dog sleeps").any()

    def test_sif_of_equal_sentences(self, vectors):
        sif = se.SIF(vectors, components=3).fit(["the dog"] * 10)
        assert not sif.encode("the dog").any()
        assert not sif.components_[1:].any()
        assert sif.encode("a cat").any()

    @pytest.mark.parametrize("sentences", [[], [""], ["xyzzy"]])
    def test_fit_without_sentences(self, vectors, sentences):
        for encoder in (se.SIF(vectors), se.USIF(vectors), se.LAES(vectors, hidden=3)):
            with pytest.raises(ValueError, match=r"nothing to fit to: .*(no sentence|no word)"):
                encoder.fit(sentences)
            assert not encoder.fitted

    def test_average_is_fitted_without_sentences(self, vectors):
        np.testing.assert_array_equal(se.Average(vectors).fit([]).encode("dog"), vectors["dog"])


class TestSelect:
    def test_curves_equal_those_of_single_encoders(self, vectors, sentences):
        sif = se.SIF(vectors).fit(sentences)
        selection = sif.select(PAIRS, SCORES)
        assert selection.settings.tolist() == list(range(7))
        assert np.isnan(selection.curves["SIF"][6])  # all six components removed: zero embeddings
        for components in range(6):
            one = se.SIF(vectors, components=components).fit(sentences)
            cosines = one.similarity_pairwise(*zip(*PAIRS, strict=True))
            expected = np.corrcoef(cosines, SCORES)[0, 1]
            np.testing.assert_allclose(selection.curves["SIF"][components], expected, atol=1e-5)
        best = int(np.nanargmax(selection.curves["SIF"]))
        assert (selection.components, selection.score) == (best, selection.curves["SIF"][best])
        one = se.SIF(vectors, components=best).fit(sentences)
        np.testing.assert_allclose(selection.encode(NEW), one.encode(NEW), atol=1e-6)
        assert selection.encoder.components == best
        assert sif.components == 1  # unchanged

    def test_rounding_noise_has_no_correlation(self):
        vectors = se.WordVectors.from_dict({"a": [3, 1], "b": [1, 2], "c": [2, 5]})
        laes = se.LAES(vectors, hidden=2, mode="hidden", a=None).fit(["a b", "b c a", "c"])
        pairs = [("a", "b"), ("a b c", "c c"), ("b c", "c a"), ("a a b", "b")]
        # With one unit and words in one half-plane, all states have the same sign.
        one, two = laes.select(pairs, [1, 3, 2, 4], [1, 2]).curves["forward"]
        assert np.isnan(one)
        assert not np.isnan(two)

    def test_selected_numbers_of_components(self, vectors, sentences):
        selection = se.SIF(vectors).fit(sentences).select(PAIRS, SCORES, components=[4, 2, 2, 99])
        assert selection.settings.tolist() == [2, 4]

    def test_selections_are_saved_and_plotted(self, vectors, sentences, tmp_path):
        selection = se.SIF(vectors).fit(sentences).select(PAIRS, SCORES)
        selection.save(tmp_path / "best")
        np.testing.assert_array_equal(se.load(tmp_path / "best").encode(NEW), selection.encode(NEW))
        assert repr(selection).startswith(f"Selection(components={selection.components}")
        assert "best components" in selection._repr_html_()
        with pytest.raises(AttributeError, match="of components, not of hidden"):
            selection.hidden  # noqa: B018
        pytest.importorskip("matplotlib").use("agg")
        from matplotlib import pyplot

        assert selection.plot().get_xlabel() == "components"
        assert len(selection.plot(pyplot.gca()).lines) >= 4
        pyplot.close("all")

    @pytest.mark.parametrize(
        ("pairs", "scores", "message"),
        [
            ([("a", "b", "c")], [1], r"pairs\[0\] must be a pair of sentences"),
            (["ab"], [1], r"pairs\[0\] must be a pair"),
            (PAIRS, [1, 2], r"a number for each of the 3 pairs, got shape \[2\]"),
            (PAIRS, [1, np.nan, 2], r"scores\[1\] is not a finite number"),
            (PAIRS, [2, 2, 2], r"select: all scores are 2, so that there is no correlation"),
            (PAIRS[:1], [2], r"select: a correlation needs at least two pairs, got 1"),
            ([], [], r"select: a correlation needs at least two pairs, got 0"),
            ([("xyzzy", "?")] * 2, [1, 2], r"select: no number of (hidden|components) has a corr"),
        ],
    )
    def test_wrong_arguments(self, vectors, sentences, pairs, scores, message):
        for encoder in (se.SIF(vectors), se.LAES(vectors, hidden=3)):
            with pytest.raises(ValueError, match=message):
                encoder.fit(sentences).select(pairs, scores)

    def test_selection_requires_a_correlation(self):
        curves = {"sum": np.array([np.nan, np.nan]), "forward": np.array([0.5, 0.1])}
        settings = np.array([1, 2])
        with pytest.raises(ValueError, match="no number of hidden has a correlation"):
            se.linear.Selection.of("hidden", settings, curves, lambda *_: None, candidates=["sum"])
        selection = se.linear.Selection.of("hidden", settings, curves, lambda *_: None)
        assert (selection.variant, selection.hidden, selection.score) == ("forward", 1, 0.5)
