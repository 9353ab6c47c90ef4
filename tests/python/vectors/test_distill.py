"""Distillation: against scipy's least squares, at both ends of lambda, and with faulty teachers."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sentencode as se
from sentencode import Vocabulary, _core
from sentencode.distill import distill
from sentencode.text.tokenizer import Tokenizer
from sentencode.vectors import distillation

scipy_sparse = pytest.importorskip("scipy.sparse")

WORDS = [f"w{i}" for i in range(60)]


class Teacher:
    """Means of word vectors with a nonlinearity, so that no table explains the embeddings exactly."""

    def __init__(self, dim=20, nonlinear=0.5, seed=0):
        self.rows = np.random.default_rng(seed).standard_normal((len(WORDS) + 1, dim)).astype(np.float32)
        self.nonlinear = nonlinear
        self.calls = []

    def encode(self, sentences):
        self.calls.append(list(sentences))
        ids = [[WORDS.index(w) if w in WORDS else len(WORDS) for w in s.split()] for s in sentences]
        means = np.array([self.rows[i].mean(0) for i in ids])
        return (1 - self.nonlinear) * means + self.nonlinear * np.tanh(3 * means[:, ::-1])


def sentences_of(count, seed=1, words=50):
    random = np.random.default_rng(seed)
    return list(
        dict.fromkeys(" ".join(random.choice(WORDS[:words], random.integers(1, 9))) for _ in range(count))
    )


def matrices(sentences, words, weights, teacher):
    """A, dense, and T minus its mean."""
    a = np.zeros((len(sentences), len(words)))
    for row, sentence in zip(a, sentences, strict=True):
        ids = [words.index(w) for w in sentence.split() if w in words]
        for i in ids:
            row[i] += weights[i] / len(ids)
    t = np.asarray(teacher.encode(sentences), np.float64)
    return a, t - t.mean(0)


def sums_of(sentences, words, weights, teacher, dim):
    tokenizer = Tokenizer("words", lowercase=True)
    sums = _core.Distillation(Vocabulary(dict.fromkeys(words, 1)).core, tokenizer.core(), weights, dim)
    sums.add(sentences, np.ascontiguousarray(teacher.encode(sentences), np.float32))
    return sums


@pytest.fixture
def problem():
    """Words in the vocabulary's order, weights, sentences, a prior, and the sums."""
    words = list(Vocabulary(dict.fromkeys(WORDS, 1)))
    random = np.random.default_rng(3)
    weights = random.uniform(0.1, 1, len(words)).astype(np.float32)
    teacher, sentences = Teacher(), sentences_of(400)
    prior = random.standard_normal((len(words), 20)).astype(np.float32)
    return words, weights, teacher, sentences, prior, sums_of(sentences, words, weights, teacher, 20)


@pytest.mark.parametrize("penalty", [1e-3, 0.1, 10.0])
def test_matches_scipys_least_squares(problem, penalty):
    words, weights, teacher, sentences, prior, sums = problem
    a, t = matrices(sentences, words, weights, teacher)
    stacked = scipy_sparse.csr_matrix(np.vstack([a, np.sqrt(penalty) * np.eye(len(words))]))
    right = np.vstack([t, np.sqrt(penalty) * prior])
    solve = scipy_sparse.linalg.lsqr
    expected = np.stack(
        [solve(stacked, column, atol=1e-13, btol=1e-13, iter_lim=9999)[0] for column in right.T], axis=1
    )
    table, residual, iterations = sums.solve(prior, penalty=penalty, tolerance=1e-6)
    assert residual <= 1e-6
    assert 0 < iterations < 200
    assert_allclose(table, expected, atol=2e-4 * np.abs(expected).max())
    assert sums.mean() == pytest.approx(np.asarray(teacher.encode(sentences)).mean(0), abs=1e-6)
    error = np.square(a @ table - t).sum() / np.square(t).sum()
    assert sums.error(table, sums.mean()) == pytest.approx(error, abs=1e-5)
    student = a @ prior
    moments = sums.moments(prior)
    assert_allclose(moments.gram, student.T @ student, rtol=1e-4, atol=1e-4 * np.square(student).sum())
    assert_allclose(moments.cross, student.T @ t, rtol=1e-4, atol=1e-4 * np.abs(student.T @ t).max())


def test_large_lambda_gives_the_prior_and_zero_gives_least_squares(problem):
    words, weights, teacher, sentences, prior, sums = problem
    assert_allclose(sums.solve(prior, penalty=1e9)[0], prior, atol=1e-4)
    a, t = matrices(sentences, words, weights, teacher)
    table = sums.solve(prior, penalty=0.0, tolerance=1e-7, iterations=5000)[0]
    expected = np.linalg.lstsq(a, t, rcond=None)[0]
    assert_allclose(a @ table, a @ expected, atol=2e-3)
    unseen = ~a.any(axis=0)
    assert unseen.any()
    assert_allclose(table[unseen], prior[unseen])


def test_recovers_a_teacher_that_is_an_average():
    truth = np.random.default_rng(5).standard_normal((50, 8)).astype(np.float32)
    vectors = se.WordVectors.from_array(WORDS[:50], truth)
    sentences = sentences_of(3000)
    student = distill(
        se.Average(vectors), sentences, a=None, penalty=1e-6, cache=False, tokenizer="whitespace"
    )
    rows = np.stack([student.vectors[word] for word in WORDS[:50]])
    # The student has no mean.
    mean = se.Average(vectors).encode(sentences).mean(0)
    assert_allclose(rows, truth - mean, atol=1e-3 * np.abs(truth).max())
    assert student.residual <= 1e-5
    assert student.unseen == 0


def test_chooses_lambda_on_held_out_sentences():
    teacher, sentences = Teacher(nonlinear=0.2), sentences_of(2000)
    student = distill(teacher, sentences, WORDS, cache=False)
    assert student.penalty == min(student.unexplained, key=student.unexplained.get)
    assert student.unexplained[student.penalty] < student.words_alone < 1.5
    assert student.unseen == 10
    encoder = se.Average(student.vectors)
    fresh = [s for s in sentences_of(400, seed=9) if s not in sentences]
    rows, truth = encoder.encode(fresh), teacher.encode(fresh)
    centred = truth - teacher.encode(sentences).mean(0)
    norms = np.linalg.norm(rows, axis=1) * np.linalg.norm(centred, axis=1)
    assert student.cosine == pytest.approx(((rows * centred).sum(1) / norms).mean(), abs=0.02)
    fixed = {"penalty": 1e9, "ridge": 1e12}  # scaled word embeddings
    baseline = se.Average(se.WordVectors.distill(teacher, sentences, WORDS, cache=False, **fixed))
    assert correlation(rows, truth) > correlation(baseline.encode(fresh), truth) + 0.004


def correlation(rows, truth):
    rows, truth = ((x - x.mean(0)) / np.linalg.norm(x - x.mean(0)) for x in (rows, truth))
    return float((rows * truth).sum())


def test_resumes_an_interrupted_teacher(tmp_path):
    sentences = sentences_of(9000)
    assert len(sentences) > 6000

    class Interrupted(Teacher):
        def encode(self, sentences):
            if len(self.calls) == 4:
                raise KeyboardInterrupt
            return super().encode(sentences)

    first = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        se.WordVectors.distill(first, sentences, cache=tmp_path)
    second = Teacher()
    vectors = se.WordVectors.distill(second, sentences, cache=tmp_path)
    # The first call identifies the teacher, the second encodes the words.
    encoded = {s for call in second.calls[1:] for s in call}
    assert encoded
    assert not encoded & {s for call in first.calls[2:] for s in call}
    third = Teacher()
    other = se.WordVectors.distill(third, sentences, cache=tmp_path, penalty=0.3)
    assert len(third.calls) == 1
    assert other.fingerprint != vectors.fingerprint
    assert se.WordVectors.distill(Teacher(), sentences, cache=False).fingerprint == vectors.fingerprint


def test_cached_columns_are_not_solved_again(problem):
    words, weights, _, sentences, _, _ = problem
    teacher = Teacher(dim=40)  # three blocks of columns
    sums = sums_of(sentences, words, weights, teacher, 40)
    prior = np.random.default_rng(5).standard_normal((len(words), 40)).astype(np.float32)
    blocks = {}
    table, residual, iterations = sums.solve(prior, save=lambda first, *block: blocks.update({first: block}))
    assert sorted(blocks) == [0, 16, 32]
    assert np.array_equal(np.hstack([blocks[first][0] for first in sorted(blocks)]), table)
    assert (residual, iterations) == tuple(max(block[i] for block in blocks.values()) for i in (1, 2))
    solved = []
    again = sums.solve(
        prior,
        load=lambda first: blocks[first] if first else None,
        save=lambda first, *block: solved.append(first),
    )
    assert solved == [0]
    assert np.array_equal(again[0], table)
    assert again[1:] == (residual, iterations)
    # A block of another shape is ignored.
    sums.solve(prior, load=lambda first: blocks[32], save=lambda first, *block: solved.append(first))
    assert sorted(solved) == [0, 0, 16]


def test_digests_of_different_problems_differ(problem):
    words, weights, teacher, sentences, prior, sums = problem
    digest = sums.digest(prior)
    assert sums_of(sentences, words, weights, teacher, 20).digest(prior) == digest
    others = [
        sums.digest(prior * 2),
        sums.digest(prior, penalty=0.5),
        sums.digest(prior, iterations=9),
        sums_of(sentences[:-1], words, weights, teacher, 20).digest(prior),
        sums_of(sentences, words, weights * 2, teacher, 20).digest(prior),
        sums_of(sentences, words, weights, Teacher(seed=1), 20).digest(prior),
    ]
    assert len({digest, *others}) == 7


def test_resumes_an_interrupted_solution(tmp_path):
    sentences = sentences_of(1000)
    expected = se.WordVectors.distill(Teacher(dim=40), sentences, cache=False)

    def interrupt(name, done, total):
        if name == "solving" and done >= 16:
            raise KeyboardInterrupt

    def stopped():
        with pytest.raises(KeyboardInterrupt):
            se.WordVectors.distill(Teacher(dim=40), sentences, cache=tmp_path, progress=interrupt)
        return sorted(tmp_path.glob("solving-*.npz"))

    before = stopped()
    assert before
    written = {path: path.stat().st_mtime_ns for path in before}
    assert set(stopped()) >= set(before)
    assert {path: path.stat().st_mtime_ns for path in before} == written
    before[0].write_bytes(before[0].read_bytes()[:-50])  # a damaged one is solved again
    expired = tmp_path / "solving-other-0.npz"
    expired.write_bytes(b"")
    os.utime(expired, (0, 0))
    vectors = se.WordVectors.distill(Teacher(dim=40), sentences, cache=tmp_path)
    assert vectors.fingerprint == expected.fingerprint
    assert not list(tmp_path.glob("solving-*"))


def test_other_teachers_and_sentences_have_other_cache_files(tmp_path):
    sentences = sentences_of(500)
    vectors = se.WordVectors.distill(Teacher(), sentences, cache=tmp_path)
    other = Teacher(seed=1)
    assert se.WordVectors.distill(other, sentences, cache=tmp_path).fingerprint != vectors.fingerprint
    assert len(other.calls) > 1
    same = Teacher()
    se.WordVectors.distill(same, [*sentences, "w1 w2 w3 w1"], cache=tmp_path)
    assert len(same.calls) > 1
    wider = Teacher(dim=30)
    assert se.WordVectors.distill(wider, sentences, cache=tmp_path).dim == 30


def test_more_sentences_reuse_cached_embeddings(tmp_path):
    sentences = sentences_of(9000)
    few = distill(Teacher(), sentences, max_sentences=5000, cache=tmp_path)
    assert few.sentences == 5000
    teacher = Teacher()
    more = distill(teacher, sentences, max_sentences=6500, cache=tmp_path)
    assert more.sentences == 6500
    assert sum(map(len, teacher.calls[1:])) == 6500 - 4096
    # Words are counted in all sentences.
    assert_allclose(few.vectors.counts, more.vectors.counts)
    assert sum(few.vectors.counts) == sum(len(s.split()) for s in sentences)
    assert distill(Teacher(), sentences[::-1], max_sentences=5000, cache=tmp_path).sentences == 5000


def test_smaller_dim_takes_principal_components():
    teacher, sentences = Teacher(), sentences_of(500)
    whole = se.WordVectors.distill(teacher, sentences, penalty=0.01, cache=False)
    small = se.WordVectors.distill(teacher, sentences, penalty=0.01, cache=False, dim=5)
    assert small.dim == 5
    assert list(small.words) == list(whole.words)
    rows, fewer = (se.Average(one).encode(sentences).astype(np.float64) for one in (whole, small))
    values = np.linalg.eigvalsh(rows.T @ rows)[::-1]
    assert_allclose(np.diag(fewer.T @ fewer), values[:5], rtol=1e-3)
    with pytest.raises(ValueError, match="dim must be at most the 20 of Teacher, got 21"):
        se.WordVectors.distill(teacher, sentences, cache=False, dim=21)


def test_word_embeddings_are_mapped_to_sentence_embeddings():
    """Single words are embedded in other coordinates than sentences, so that scaling is not enough."""
    rotation = np.linalg.qr(np.random.default_rng(4).standard_normal((20, 20)))[0].astype(np.float32)

    class Rotated(Teacher):
        def encode(self, sentences):
            rows = super().encode(sentences)
            single = np.array([" " not in s for s in sentences])
            return np.where(single[:, None], rows @ rotation, rows)

    student = distill(
        Rotated(nonlinear=0.0), [s for s in sentences_of(1500) if " " in s], WORDS, a=None, cache=False
    )
    assert student.unseen == 10
    assert student.ridge == min(student.ridge, 0.1)
    assert student.words_alone < 0.2
    unseen = [word for word in WORDS if word not in {w for s in sentences_of(1500) for w in s.split()}]
    truth = Teacher().rows[[WORDS.index(word) for word in unseen]]
    rows = np.stack([student.vectors[word] for word in unseen])
    assert correlation(rows, truth) > 0.9


def test_splits_at_punctuation_like_its_encoders():
    sentences = [s.replace(" ", "-", 1) for s in sentences_of(400)]

    class Letters(Teacher):
        def encode(self, sentences):
            return super().encode([s.replace("-", " - ") for s in sentences])

    vectors = se.WordVectors.distill(Letters(), sentences, cache=False)
    assert set(vectors.words) == {*WORDS[:50], "-"}
    encoder = se.Average(vectors)
    assert encoder.encode("w1-w2").any()
    assert_allclose(encoder.encode([["w1-w2", "w3"]]), encoder.encode(["w1 - w2 w3"]), atol=1e-6)


def test_creates_the_cache_folder(tmp_path):
    sentences = sentences_of(200)
    se.WordVectors.distill(Teacher(), sentences, cache=tmp_path / "a" / "b")
    again = Teacher()
    se.WordVectors.distill(again, sentences, cache=tmp_path / "a" / "b")
    assert len(again.calls) == 1


@pytest.mark.filterwarnings("ignore:.*have no vector")
def test_a_batch_of_equal_embeddings_is_no_error(tmp_path):
    """Such as a batch of sentences that the teacher does not know."""
    unknown = [f"{i:05} unknown words and nothing else" for i in range(4000)]
    vectors = se.WordVectors.distill(Teacher(), [*unknown, *sentences_of(300)], WORDS, cache=tmp_path)
    assert vectors.dim == 20


def test_lambda_below_the_grid():
    """The weight of a word in a long document is small, and so is the best lambda."""
    random = np.random.default_rng(2)
    documents = [" ".join(random.choice(WORDS[:50], 2000)) for _ in range(300)]
    student = distill(Teacher(nonlinear=0.0), documents, cache=False)
    assert student.penalty < 1e-3
    assert student.unexplained[student.penalty] == min(student.unexplained.values())


def test_warns_if_it_does_not_converge(caplog, monkeypatch):
    sentences = sentences_of(3000)
    distill(Teacher(), sentences, WORDS, penalty=0.01, cache=False)
    assert not caplog.records
    monkeypatch.setattr("sentencode.vectors.distillation._TOLERANCE", 1e-14)  # below the precision of floats
    distill(Teacher(), sentences, WORDS, penalty=0.01, cache=False)
    (record,) = caplog.records
    assert "conjugate gradients did not converge" in record.message


def test_rounding_does_not_make_another_teacher(tmp_path):
    sentences = sentences_of(500)
    se.WordVectors.distill(Teacher(), sentences, cache=tmp_path)
    rounded = Teacher()
    rounded.rows = rounded.rows + 1e-6
    se.WordVectors.distill(rounded, sentences, cache=tmp_path)
    assert len(rounded.calls) == 1


class Wrong(Teacher):
    """Returns wrong embeddings of sentences, but not in the first calls."""

    def __init__(self, change):
        super().__init__()
        self.change = change

    def encode(self, sentences):
        rows = super().encode(sentences)
        return self.change(rows) if len(self.calls) > 2 else rows


def nan(rows):
    rows[3, 2] = np.nan
    return rows


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (nan, "NaN or infinity for 1 of .* sentence 3"),
        (lambda rows: rows[:, :-1], "19 dimensions, and 20 before"),
        (lambda rows: rows[:-1], r"expected \["),
        (lambda rows: "no", "no array of numbers"),
    ],
)
def test_checks_the_teachers_embeddings(change, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        se.WordVectors.distill(Wrong(change), sentences_of(300), cache=tmp_path)


def test_skips_embeddings_of_zeros():
    class Knows(Teacher):
        """Knows all but the last words."""

        def encode(self, sentences):
            rows = super().encode(sentences)
            rows[["w4" in sentence for sentence in sentences]] = 0
            return rows

    sentences = sentences_of(600)
    known = [sentence for sentence in sentences if "w4" not in sentence]
    with pytest.warns(se.errors.ZeroRowsWarning) as warned:
        student = distill(Knows(), sentences, WORDS, penalty=0.1, cache=False)
    assert student.sentences == len(known)
    assert [str(one.message).split(" of ")[0] for one in warned] == [
        "Knows returned zeros for 11",
        f"Knows returned zeros for {len(sentences) - len(known)}",
    ]
    assert not student.vectors["w45"].any()
    with pytest.raises(ValueError, match="returned the same embedding for all"):
        distill(lambda texts: np.ones((len(texts), 8)), sentences, cache=False)
    with pytest.raises(ValueError, match="returned zeros for all"):
        distill(lambda sentences: np.zeros((len(sentences), 3)), sentences, cache=False)


@pytest.mark.filterwarnings("ignore:.*have no vector")
def test_words_are_lower_cased_like_the_text():
    sentences = sentences_of(300)
    student = distill(Teacher(), sentences, ["W1", "w1", "w2", "W3"], penalty=0.1, cache=False)
    assert sorted(student.vectors.words) == ["w1", "w2", "w3"]
    assert student.unseen == 0
    assert not student.vectors.cased
    assert se.Average(student.vectors).encode(["W3 w1"]).any()


@pytest.mark.filterwarnings("ignore:.*have no vector")
def test_words_are_tokenized_like_the_text():
    """No text would find such a word, and a table that contains it would choose another tokenizer."""
    sentences = sentences_of(300)
    with pytest.warns(UserWarning, match="2 of 5 words are left out because .* such as 'w1-w2'"):
        student = distill(
            Teacher(), sentences, ["w1", "w1-w2", "don't", "\u039b", "w3"], cache=False, penalty=0.1
        )
    assert sorted(student.vectors.words) == ["w1", "w3", "\u03bb"]
    assert se.Average(student.vectors)._tokenizer().split == "punctuation"
    with (
        pytest.raises(ValueError, match="none of the words is a single token"),
        pytest.warns(UserWarning, match="1 of 1 words"),
    ):
        distill(Teacher(), sentences, ["a b"], cache=False)
    unrelated = ["w1 w2 w1", *[f"x{i} y" for i in range(200)]]
    read = sorted(unrelated, key=lambda text: text != "x7 y")
    with pytest.raises(ValueError, match="sentences that the teacher read"):
        distill(Teacher(), read, ["w1"], max_sentences=1, penalty=0.1, cache=False)


@pytest.mark.filterwarnings("ignore:.*have no vector")
def test_frequent_english_words_have_vectors():
    teacher = se.Average(se.WordVectors.default())
    english = list(se.Corpus(Path(se.__file__).parent / "data" / "demo_sentences.txt"))[:300]
    vectors = se.WordVectors.distill(teacher, english, penalty=0.1, cache=False)
    assert {"television", "internet"} <= set(vectors.words)
    assert len(vectors) > 50_000
    few = se.WordVectors.distill(teacher, english, max_words=600, penalty=0.1, cache=False)
    assert len(few) == 600
    counts = se.Vocabulary.from_corpus(english, se.Tokenizer("punctuation", lowercase=True), max_size=600)
    assert set(few.words) == set(counts.words)
    assert len(se.WordVectors.distill(Teacher(), sentences_of(300), penalty=0.1, cache=False)) == 50


def test_warns_of_unknown_words():
    rare = [f"{text} x{i}" for i, text in enumerate(sentences_of(400))]  # each has a word of its own
    with pytest.warns(
        UserWarning, match=r"^1?[0-9]\.[0-9] % of the words of held-out sentences have no vector"
    ):
        student = distill(Teacher(), rare, penalty=0.1, cache=False)
    assert 0.5 < student.unknown * np.mean([len(text.split()) for text in rare]) < 2
    assert distill(Teacher(), sentences_of(400), penalty=0.1, cache=False).unknown == 0


def test_a_teacher_with_another_maximum_length_is_another_teacher(tmp_path):
    """Although few sentences are longer than it."""

    class Short(Teacher):
        def encode(self, sentences):
            return super().encode([" ".join(s.split()[:20]) for s in sentences])

    sentences = sentences_of(400)
    se.WordVectors.distill(Short(), sentences, cache=tmp_path)
    whole = Teacher()
    se.WordVectors.distill(whole, sentences, cache=tmp_path)
    assert len(whole.calls) > 1


def test_invalid_arguments():
    teacher, sentences = Teacher(), sentences_of(200)
    call = se.WordVectors.distill
    with pytest.raises(ValueError, match="no sentences"):
        call(teacher, ["", "  "], cache=False)
    with pytest.raises(ValueError, match="words is empty"):
        call(teacher, sentences, [], cache=False)
    with pytest.raises(ValueError, match="none of the 2 words is in any of the"):
        call(teacher, sentences, ["no", "such"], cache=False, penalty=1.0)
    with pytest.raises(ValueError, match="penalty must be"):
        call(teacher, sentences, penalty=-1.0, cache=False)
    with pytest.raises(ValueError, match="a must be a number greater than 0"):
        call(teacher, sentences, a=0.0, cache=False)
    with pytest.raises(TypeError, match="sentence 1 is list"):
        call(teacher, ["w1 w2", ["w1", "w2"]], cache=False)
    with pytest.raises(TypeError, match="encode or transform"):
        call(object(), sentences, cache=False)
    with pytest.raises(ValueError, match="none of the 3 sentences can be held out, which takes 20"):
        call(teacher, sentences[:3], cache=False)
    assert call(teacher, sentences[:3], cache=False, penalty=0.01).dim == 20


def test_progress_reports_each_stage():
    reports = []
    sentences = sentences_of(300)
    se.WordVectors.distill(Teacher(), sentences, cache=False, progress=lambda *report: reports.append(report))
    stages = list(dict.fromkeys(name for name, _, _ in reports))
    assert stages == [
        "teacher: words",
        "teacher: sentences",
        "choosing the penalty",
        "scoring on held-out sentences",
        "solving",
    ]
    for name in stages:
        last = [report for report in reports if report[0] == name][-1]
        assert last[1] == last[2] > 0


def test_the_encoder_knows_the_teacher_and_the_sentences():
    teacher, sentences = Teacher(), sentences_of(300)
    teacher.model_card_data = SimpleNamespace(base_model="sentence-transformers/tiny")
    student = distill(teacher, sentences, cache=False)
    assert student.encoder._known() == {
        "teacher": "sentence-transformers/tiny",
        "sentences": f"{student.sentences} sentences. On others, its embeddings have a mean cosine of "
        f"{student.cosine:.2f} with the teacher's, after subtracting their mean.",
    }
    unnamed = distill(Teacher(), sentences, penalty=1e-3, cache=False)
    assert unnamed.encoder._known() == {"sentences": f"{unnamed.sentences} sentences."}


def test_says_how_good_the_student_is(capsys, monkeypatch):
    sentences = sentences_of(300)
    se.WordVectors.distill(Teacher(), sentences, cache=False)
    assert not capsys.readouterr().err  # nobody watches
    monkeypatch.setattr(distillation, "is_interactive", lambda: True)
    student = distill(Teacher(), sentences, cache=False)
    shown = capsys.readouterr().err
    assert (
        f"student: {len(student.vectors)} words, 20 dimensions, from {student.sentences} sentences" in shown
    )
    assert f"a cosine of {student.cosine:.2f} with the teacher's" in shown
    assert "Evaluate it: sentencode.evaluate(student.encoder, " in shown
    se.WordVectors.distill(Teacher(), sentences, cache=False, progress=True)
    assert "Evaluate it: sentencode.evaluate(sentencode.Average(vectors), " in capsys.readouterr().err
    se.WordVectors.distill(Teacher(), sentences, cache=False, progress=False)
    assert not capsys.readouterr().err
