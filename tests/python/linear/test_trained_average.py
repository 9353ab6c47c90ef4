"""Averages of word vectors that learn from labels, on tasks that the initial vectors do not show."""

from __future__ import annotations

import copy
import enum
import itertools
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, log_loss
from sklearn.model_selection import StratifiedKFold

import sentencode as se
from sentencode.evaluation import load_task
from sentencode.linear import table_training

from ..io.saved_files import changed

GOOD, BAD, OTHER = (
    [f"{kind}{i}" for i in range(count)] for kind, count in (("good", 6), ("bad", 6), ("x", 40))
)
RNG = np.random.default_rng(3)
VECTORS = se.WordVectors.from_array(
    [*GOOD, *BAD, *OTHER], RNG.normal(size=(52, 16)).astype(np.float32) + 1, range(152, 100, -1)
)


def opinions(count, seed=0):
    """Sentences of other words and one that decides the class."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["down", "up"], count)
    words = [rng.choice(GOOD if name == "up" else BAD) for name in y]
    return [" ".join([*rng.choice(OTHER, 9), word]) for word in words], y


def pairs(count, seed=0):
    """Pairs that share their good or bad word in half of the cases."""
    rng = np.random.default_rng(seed)
    same = rng.random(count) < 0.5
    first = rng.choice([*GOOD, *BAD], count)
    second = np.where(same, first, rng.choice([*GOOD, *BAD], count))
    with_others = lambda words: [" ".join([*rng.choice(OTHER, 4), word]) for word in words]  # noqa: E731
    return list(zip(with_others(first), with_others(second), strict=True)), (first == second).astype(int)


@pytest.fixture(scope="module")
def trained():
    return se.TrainedAverage(VECTORS).fit(*opinions(800))


def test_learns_what_the_initial_vectors_do_not_show(trained):
    sentences, y = opinions(500, seed=1)
    assert trained.score(sentences, y) > 0.95
    assert trained.trial_.epochs > 0
    frozen = se.TrainedAverage(VECTORS, learning_rate=0, head_learning_rate=0).fit(*opinions(800))
    assert frozen.score(sentences, y) < trained.score(sentences, y) - 0.02
    assert frozen.trial_.epochs == 0  # never better than the head that it began with
    np.testing.assert_allclose(
        frozen.encode(sentences), se.Average(VECTORS).encode(sentences), rtol=1e-5, atol=1e-6
    )
    probabilities = trained.predict_proba(sentences)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
    assert trained.classes_.tolist() == ["down", "up"]
    assert (trained.classes_[probabilities.argmax(axis=1)] == trained.predict(sentences)).all()


def test_says_how_good_the_result_is(capsys):
    examples = opinions(200)
    encoder = se.TrainedAverage(VECTORS).fit(*examples, show_progress_bar=True)
    initial, trial = encoder.trials_[0], encoder.trial_
    assert (
        f"TrainedAverage: held-out accuracy {trial.accuracy:.3f} (initial vectors {initial.accuracy:.3f}, "
        "majority class 0.5"
    ) in capsys.readouterr().err
    assert initial.accuracy < trial.accuracy < 1
    se.TrainedAverage(VECTORS).fit(*examples)
    assert not capsys.readouterr().err
    se.TrainedAverage(VECTORS, head="CosineRegression").fit(*pairs(200), show_progress_bar=True)
    assert "TrainedAverage: held-out loss 0." in capsys.readouterr().err


def test_says_after_a_second_what_it_will_do(capsys, monkeypatch):
    monkeypatch.setattr("sentencode.linear.table_report.DELAY", np.inf)
    se.TrainedAverage(VECTORS).fit(*opinions(200), show_progress_bar=True)
    assert "epochs in about" not in capsys.readouterr().err
    monkeypatch.setattr("sentencode.linear.table_report.DELAY", 0)
    for count, examples in (
        (200, "160 examples, 40 held out in each of 5 parts"),
        (2000, "1,800 examples, 200"),
    ):
        encoder = se.TrainedAverage(VECTORS, max_epochs=7, max_minutes=1e-9)
        encoder.fit(*opinions(count), show_progress_bar=True)
        (line,) = [one for one in capsys.readouterr().err.splitlines() if "epochs in about" in one]
        assert f"TrainedAverage: {examples}" in line
        assert line.endswith("; up to 7 epochs in about 0 s")


def test_held_out_accuracy():
    sentences, y = opinions(1200)
    others = opinions(300, seed=1)
    encoder = se.TrainedAverage(VECTORS).fit(sentences, y, valid=others)  # without a refit
    assert encoder.trial_.accuracy == pytest.approx(encoder.score(*others))


@pytest.mark.parametrize("weights", ["balanced", {"up": 1.0, "down": 0.0}], ids=["balanced", "one class"])
def test_accuracies_have_the_weights_of_the_classes(weights):
    sentences, y = opinions(1500)
    keep = (y == "up") | (np.arange(len(y)) % 10 == 0)  # one in eleven is down
    sentences, y = [text for text, kept in zip(sentences, keep, strict=True) if kept], y[keep]
    others, others_y = opinions(400, seed=1)
    head = {"kind": "Classifier", "class_weight": weights}
    encoder = se.TrainedAverage(VECTORS, head=head).fit(sentences, y, valid=(others, others_y))
    right = encoder.predict(others) == others_y
    factor = weights if isinstance(weights, dict) else {name: 1 / np.sum(others_y == name) for name in set(y)}
    expected = np.average(right, weights=[factor[name] for name in others_y])
    assert encoder.trial_.accuracy == pytest.approx(expected, abs=1e-6)


def test_warns_where_it_could_be_better():
    examples = opinions(1200)
    options = {"max_epochs": 3, "learning_rate": 1e-3, "head_learning_rate": 1e-4}
    with pytest.warns(se.errors.StillImprovingWarning, match=r"held-out loss .*: give max_epochs=6"):
        se.TrainedAverage(VECTORS, **options).fit(*examples)


@pytest.mark.parametrize("rate", [None, 30.0])
def test_warns_of_a_rate_that_raises_the_loss(rate):
    sentences, y = opinions(300)
    y[::7] = "down"  # the initial vectors do not explain all labels
    options = {} if rate is None else {"learning_rate": rate, "head_learning_rate": rate}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        encoder = se.TrainedAverage(VECTORS, **options).fit(sentences, y)
    raised = [warning for warning in caught if warning.category is se.errors.LearningRateWarning]
    assert bool(raised) == (rate is not None)
    if raised:
        assert encoder.trial_.epochs == 0
        assert "learning_rate=30 or head_learning_rate=30 is too high" in str(raised[0].message)


def test_untrained_words_keep_their_vectors(trained):
    seen, y = opinions(60)
    few = se.TrainedAverage(VECTORS, word_dropout=0, learning_rate=0.03).fit(
        [sentence.replace("good5", "good4") for sentence in seen], y
    )
    np.testing.assert_array_equal(few.encode("good5"), VECTORS["good5"])
    assert not np.array_equal(few.encode("good4"), VECTORS["good4"])


def test_pairs():
    encoder = se.TrainedAverage(VECTORS, max_epochs=20, learning_rate=0.03).fit(*pairs(2000))
    others, y = pairs(500, seed=1)
    assert encoder.score(others, y) > 0.8 > 0.75 > (y == 0).mean()
    assert encoder.predict(np.array(others)).tolist() == encoder.predict(others).tolist()
    assert encoder._model.head.config["pair_scale"] == 0.1
    with pytest.raises(
        ValueError, match="trained on examples of 2 sentences, got 1: pairs and triples are tuples"
    ):
        encoder.predict(["x1"])


def test_earlier_files_have_no_scale_of_pairs(tmp_path):
    se.TrainedAverage(VECTORS, max_epochs=1).fit(*pairs(100)).save(tmp_path / "file")
    changed(tmp_path / "file", lambda config, _: config.pop("pair_scale"))
    assert se.load(tmp_path / "file")._model.head.config["pair_scale"] == 1


def test_scores_of_pairs(tmp_path):
    examples, y = pairs(2000)
    head = {"kind": "CosineRegression", "low": 1, "high": 5}
    encoder = se.TrainedAverage(VECTORS, head=head, learning_rate=0.03).fit(examples, 1 + 4 * y)
    others, y = pairs(500, seed=1)
    cosines = se.Average(VECTORS).similarity_pairwise(*zip(*others, strict=True))
    assert encoder.score(others, y) > se.evaluation.spearman(cosines, y) + 0.1
    sides = encoder.similarity_pairwise(*zip(*others, strict=True))
    np.testing.assert_allclose(encoder.predict(others), 1 + 4 * sides, atol=1e-5)
    encoder.save(tmp_path / "file")
    np.testing.assert_array_equal(se.load(tmp_path / "file").predict(others), encoder.predict(others))


def test_heads_of_neural_encoders():
    pytest.importorskip("torch")
    pairs, y = [("x1", "x1"), ("x1", "x2")] * 10, [5, 0] * 10
    encoder = se.TrainedAverage(VECTORS, head=se.CosineRegression(high=5.0), max_epochs=2).fit(pairs, y)
    named = {"kind": "CosineRegression", "high": 5.0}
    expected = se.TrainedAverage(VECTORS, head=named, max_epochs=2).fit(pairs, y)
    np.testing.assert_array_equal(encoder.predict(pairs), expected.predict(pairs))
    assert encoder._estimator_type == "regressor"
    with pytest.raises(ValueError, match="Classifier has no option 'hidden'"):
        se.TrainedAverage(VECTORS, head=se.Classifier(hidden=8)).fit(["x1", "x2"], [0, 1])
    with pytest.raises(TypeError, match="head must be a name"):
        se.TrainedAverage(VECTORS, head=se.Classifier).fit(["x1", "x2"], [0, 1])


def test_negatives():
    rng = np.random.default_rng(1)

    def partners(count):  # of a good word, the bad one of the same number
        number = rng.integers(0, 6, count)
        return [(f"{rng.choice(OTHER)} good{i}", f"bad{i} {rng.choice(OTHER)}") for i in number]

    encoder = se.TrainedAverage(VECTORS, head="MultipleNegatives", learning_rate=0.05, batch_size=16)
    encoder.fit(partners(1000))
    good, bad = encoder.encode([f"good{i}" for i in range(6)]), encoder.encode([f"bad{i}" for i in range(6)])
    assert (se.similarity(good, bad).argmax(axis=1) == np.arange(6)).all()
    assert encoder.predict(partners(3)).shape == (3,)
    with pytest.raises(NotImplementedError, match="predicts neither classes nor scores"):
        encoder.score(partners(3), [1, 2, 3])


@pytest.mark.parametrize(
    "head",
    [
        "MultipleNegatives",
        se.Triplet(),
        se.Triplet(distance="euclidean", margin=1.0),
        {"kind": "Triplet", "margin": 0.4},
    ],
)
def test_triples(head, tmp_path):
    rng = np.random.default_rng(1)

    def triples(count):  # of a good word, the bad one of the same number and another one
        numbers = np.array([rng.permutation(6)[:2] for _ in range(count)])
        return [
            (f"{rng.choice(OTHER)} good{i}", f"bad{i}", f"bad{j} {rng.choice(OTHER)}") for i, j in numbers
        ]

    encoder = se.TrainedAverage(VECTORS, head=head, learning_rate=0.05, batch_size=16)
    encoder.fit(triples(1000))
    good, bad = encoder.encode([f"good{i}" for i in range(6)]), encoder.encode([f"bad{i}" for i in range(6)])
    assert (se.similarity(good, bad).argmax(axis=1) == np.arange(6)).all()
    some = triples(50)
    a, p, n = (encoder.encode(list(side)) for side in zip(*some, strict=True))
    predicted = encoder.predict(some)
    if head == "MultipleNegatives":
        expected = se.similarity_pairwise(a, p)
    elif getattr(head, "distance", "cosine") == "cosine":
        expected = se.similarity_pairwise(a, p) - se.similarity_pairwise(a, n)
    else:
        expected = np.linalg.norm(a - n, axis=1) - np.linalg.norm(a - p, axis=1)
    np.testing.assert_allclose(predicted, expected, atol=1e-5)
    encoder.save(tmp_path / "triples.sentencode")
    again = se.load(tmp_path / "triples.sentencode")
    np.testing.assert_array_equal(again.predict(some), predicted)
    assert again.head == encoder._config()["head"]
    valid = se.TrainedAverage(VECTORS, head=head, max_epochs=1).fit(triples(100), valid=triples(50))
    assert len(valid.predict(some)) == 50


def test_embeddings_of_another_encoder():
    teacher = se.Average(
        se.WordVectors.from_array(VECTORS.words, RNG.normal(size=(52, 5)).astype(np.float32))
    )
    sentences, _ = opinions(1500)
    encoder = se.TrainedAverage(VECTORS, head="RowRegression", learning_rate=0.03, max_epochs=30)
    encoder.fit(sentences, teacher.encode(sentences))
    others, _ = opinions(200, seed=1)
    rows = teacher.encode(others)
    error = np.square(encoder.predict(others) - rows).sum() / np.square(rows - rows.mean(axis=0)).sum()
    assert encoder.predict(others).shape == (200, 5)
    assert error < 0.2
    frozen = next(trial.loss for trial in encoder.trials_ if trial.epochs == 0)
    assert encoder.trial_.loss < frozen / 2


@pytest.mark.parametrize("scale", [2.0**-40, 2.0**-10, 2.0**13])
def test_the_size_of_embeddings_of_another_encoder_does_not_matter(scale):
    rows = np.random.default_rng(3).normal(size=(52, 5)).astype(np.float32)
    teacher = se.Average(se.WordVectors.from_array(VECTORS.words, rows))
    sentences, _ = opinions(300)
    targets = teacher.encode(sentences)
    first, second = (
        se.TrainedAverage(VECTORS, head="RowRegression", max_epochs=2).fit(sentences, factor * targets)
        for factor in (1, np.float32(scale))
    )
    np.testing.assert_allclose(second.predict(sentences) / scale, first.predict(sentences), rtol=1e-6)
    assert second.trial_ == first.trial_


def test_zero_embeddings_of_another_encoder():
    sentences, _ = opinions(50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", se.errors.LearningRateWarning)
        encoder = se.TrainedAverage(VECTORS, head="RowRegression").fit(sentences, np.zeros((50, 3)))
    np.testing.assert_allclose(encoder.predict(sentences), 0, atol=1e-6)


@pytest.mark.parametrize("again", ["file", "pickle", "copy", "export"])
def test_copies(trained, again, tmp_path):
    sentences, _ = opinions(50, seed=2)
    if again == "export":
        trained.export(tmp_path / "folder")
        other = se.load(tmp_path / "folder")
        np.testing.assert_allclose(other.encode(sentences), trained.encode(sentences), rtol=1e-5, atol=1e-6)
        return
    if again == "file":
        trained.save(tmp_path / "file")
        other = se.load(tmp_path / "file")
    else:
        other = pickle.loads(pickle.dumps(trained)) if again == "pickle" else copy.deepcopy(trained)
    np.testing.assert_array_equal(other.encode(sentences), trained.encode(sentences))
    np.testing.assert_array_equal(other.predict_proba(sentences), trained.predict_proba(sentences))
    assert other.predict(sentences).tolist() == trained.predict(sentences).tolist()
    assert other.fingerprint() == trained.fingerprint()
    assert other.fingerprint() != se.TrainedAverage(VECTORS, seed=1).fit(*opinions(800)).fingerprint()


def test_results_do_not_depend_on_threads(trained):
    threads = se.num_threads()
    try:
        se.set_num_threads(3)
        again = se.TrainedAverage(VECTORS).fit(*opinions(800))
    finally:
        se.set_num_threads(threads)
    np.testing.assert_array_equal(again.encode(VECTORS.words), trained.encode(VECTORS.words))
    assert again.trial_ == trained.trial_


def test_an_encoder_is_the_beginning(trained):
    sentences, y = opinions(300)
    sif = se.SIF(VECTORS).fit(sentences)
    frozen = se.TrainedAverage(sif, learning_rate=0, head_learning_rate=0).fit(sentences, y)
    np.testing.assert_allclose(frozen.encode(sentences), sif.encode(sentences), atol=1e-5)
    unit = se.Average(VECTORS, normalize=True, tokenizer="whitespace")
    encoder = se.TrainedAverage(unit).fit(sentences, y)
    np.testing.assert_allclose(np.linalg.norm(encoder.encode(sentences), axis=1), 1, rtol=1e-5)
    assert encoder.tokenizer_ == unit.tokenizer_
    more = se.TrainedAverage(trained).fit(*opinions(400, seed=5))
    assert more.score(*opinions(200, seed=6)) > 0.9


def test_the_beginning_may_change_later(tmp_path):
    start = se.Average({"a": [1.0, 2.0], "b": [3.0, -1.0]})
    trained = se.TrainedAverage(start, max_epochs=1).fit(["a", "b"] * 20, [0, 1] * 20)
    before = trained.encode(["a b", "b"])
    start.set_params(normalize=True)
    trained.save(tmp_path / "trained.st")
    trained.export(tmp_path / "exported")
    for again in (trained, se.load(tmp_path / "trained.st"), se.load(tmp_path / "exported")):
        np.testing.assert_allclose(again.encode(["a b", "b"]), before, rtol=1e-6)


def test_time_ends_the_training_on_all_examples(monkeypatch):
    words = [*(f"a{i}" for i in range(20)), *(f"b{i}" for i in range(20))]
    table = dict(zip(words, np.random.default_rng(0).normal(size=(40, 4)), strict=True))
    texts = [f"{word} {other}" for word in words for other in words if word[0] == other[0]]
    best, refit = [], table_training.TableTraining._refit

    def late(self, everything, trial):
        best.append((self.best.table, trial))
        self.deadline = 0.0
        refit(self, everything, trial)

    monkeypatch.setattr(table_training.TableTraining, "_refit", late)
    encoder = se.TrainedAverage(table, max_minutes=10, learning_rate=0.1)
    encoder.fit(texts, [text[0] for text in texts])
    ((chosen, trial),) = best
    assert encoder.trial_ == trial
    assert trial.epochs > 0
    np.testing.assert_allclose(encoder.encode(words[0]), chosen[0], rtol=1e-6)  # that of validation


def test_validation_examples_are_not_trained_on():
    sentences, y = opinions(400)
    valid = ["good0 good1", "bad0 bad1"] * 10, ["up", "down"] * 10
    without = [sentence.replace("good0", "x0").replace("bad0", "x0") for sentence in sentences]
    encoder = se.TrainedAverage(VECTORS).fit(without, y, valid=valid)
    np.testing.assert_array_equal(encoder.encode(["good0", "bad0"]), VECTORS.matrix(["good0", "bad0"]))


def test_few_examples_are_held_out_in_turn(monkeypatch):
    held_out = []
    run = table_training.TableTraining.run

    def recorded(self, splits, *options, **others):
        held_out.append([[*map(int, part)] for _, part in splits])
        assert all(sorted([*train, *part]) == list(range(len(self.y))) for train, part in splits)
        run(self, splits, *options, **others)

    monkeypatch.setattr(table_training.TableTraining, "run", recorded)
    sentences, y = opinions(999)
    encoder = se.TrainedAverage(VECTORS, max_epochs=2).fit(sentences, y)
    assert len(encoder.trials_) == 1 + 2 * 2
    assert sorted(itertools.chain(*held_out[-1])) == list(range(999))
    for part in held_out[-1]:
        assert abs((y[part] == "up").mean() - (y == "up").mean()) < 0.01
    for few, options in (False, {"validation_fraction": 0.2}), (True, {"max_epochs": 1}):
        se.TrainedAverage(VECTORS, **options).fit(sentences, y)
        assert len(held_out[-1]) == (5 if few else 1)
    assert len(held_out[-2][0]) == pytest.approx(200, abs=2)
    se.TrainedAverage(VECTORS, max_epochs=1).fit(*opinions(1000))
    assert [len(part) for part in held_out[-1]] == [100]
    se.TrainedAverage(VECTORS, max_epochs=1).fit(sentences[:3], ["up", "down", "up"])
    assert [len(part) for part in held_out[-1]] == [1, 1]  # without the class of one example
    se.TrainedAverage(VECTORS, max_epochs=1).fit(sentences, ["once", *y[1:]])
    assert 0 not in itertools.chain(*held_out[-1])  # its class would be unknown


@pytest.mark.parametrize("again", ["capitals", "spaces", "word order", "swapped pairs"])
def test_held_out_examples_are_read_differently_from_those_of_training(again):
    rng = np.random.default_rng(0)
    words = [*VECTORS.words]
    sentences = [" ".join(rng.choice(words, 6)) for _ in range(150)]
    pairs = list(zip(sentences, sentences[::-1], strict=True))
    others = {
        "capitals": [text.upper() for text in sentences],
        "spaces": [text + " " for text in sentences],
        "word order": [" ".join(text.split()[::-1]) for text in sentences],
        "swapped pairs": [(second, first) for first, second in pairs],
    }[again]
    labels = rng.integers(2, size=150).tolist()
    first = pairs if again == "swapped pairs" else sentences
    encoder = se.TrainedAverage(VECTORS, word_dropout=0).fit([*first, *others], labels * 2)
    assert encoder.trial_.accuracy < 0.65  # labels are random


def test_trials_do_not_depend_on_threads(monkeypatch):
    sentences, y = opinions(300)
    trials = []
    for threads in (1, 2, 2, 2):
        monkeypatch.setattr(table_training, "num_threads", lambda count=threads: count)
        trials.append(se.TrainedAverage(VECTORS, max_epochs=4).fit(sentences, y).trials_)
    assert all(repr(other) == repr(trials[0]) for other in trials)  # losses may be NaN
    assert [(trial.word_dropout, trial.epochs) for trial in trials[0]] == sorted(
        (trial.word_dropout, trial.epochs) for trial in trials[0]
    )


def test_losses_of_a_trial_are_means_over_the_parts():
    sentences, y = opinions(200)
    options = {"learning_rate": 0, "head_learning_rate": 0, "max_epochs": 1, "word_dropout": 0}
    encoder = se.TrainedAverage(VECTORS, **options).fit(sentences, y)
    x = se.Average(VECTORS).encode(sentences)
    x /= np.sqrt(np.square(x).mean())
    folds = StratifiedKFold(5).split(x, y)
    regression = LogisticRegression(C=encoder.trial_.c, max_iter=1000)
    losses = [
        log_loss(y[part], regression.fit(x[train], y[train]).predict_proba(x[part])) for train, part in folds
    ]
    assert encoder.trials_[0].loss == pytest.approx(np.mean(losses), rel=0.05)  # by other parts
    assert encoder.trials_[0].loss == pytest.approx(encoder.trials_[1].loss, rel=1e-5)  # nothing is trained


def test_class_weights():
    sentences, y = opinions(800)
    skewed = [i for i, name in enumerate(y) if name == "up" or i % 20 == 0]
    some, labels = [sentences[i] for i in skewed], y[skewed]
    options = {"learning_rate": 0, "head_learning_rate": 0, "max_epochs": 1}
    plain = se.TrainedAverage(VECTORS, **options).fit(some, labels)
    head = {"kind": "Classifier", "class_weight": "balanced"}
    balanced = se.TrainedAverage(VECTORS, head=head, **options).fit(some, labels)
    assert (balanced.predict(some) == "down").sum() > (plain.predict(some) == "down").sum()


def test_an_interrupted_fit_leaves_the_best_model(monkeypatch):
    encoder = se.TrainedAverage(VECTORS)

    def interrupt(self, everything, trial):
        raise KeyboardInterrupt

    monkeypatch.setattr(table_training.TableTraining, "_refit", interrupt)
    with pytest.raises(KeyboardInterrupt):
        encoder.fit(*opinions(800))
    assert encoder.score(*opinions(300, seed=1)) > 0.9
    late = se.TrainedAverage(VECTORS, max_minutes=1e-9).fit(*opinions(800))
    assert late.trial_.epochs == 0


def test_pipelines_and_few_examples():
    sklearn = pytest.importorskip("sklearn.model_selection")
    encoder = se.TrainedAverage(VECTORS, max_epochs=3)
    scores = sklearn.cross_val_score(encoder, np.array(opinions(90)[0]), opinions(90)[1], cv=3)
    assert len(scores) == 3
    tiny = se.TrainedAverage(VECTORS).fit(["good1", "bad1", "good2"], [1, 0, 1])
    assert tiny.predict(["good1"]).tolist() == [1]


def test_torch_is_not_loaded():
    code = (
        "import sys, sentencode as se; "
        "e = se.TrainedAverage({'a': [1., 0.], 'b': [0., 1.]}).fit(['a', 'b'] * 9, [0, 1] * 9); "
        "assert e.predict(['b']).tolist() == [1] and 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


def test_warns_of_examples_without_known_words():
    texts, y = opinions(100)
    pairs = [*itertools.pairwise(texts), (texts[0], "unheard")]
    with pytest.warns(se.ZeroRowsWarning, match=r"2 of 101 examples have a sentence without known words"):
        se.TrainedAverage(VECTORS.with_oov("zero"), max_epochs=1).fit(
            [*pairs, ("new", "new")], [*y[1:], *y[:2]]
        )


def test_warns_if_nothing_is_learnt():
    sentences, y = opinions(200)
    wrong = np.where(y == "up", "down", "up")
    with pytest.warns(se.errors.MajorityWarning, match="no better than always predicting"):
        se.TrainedAverage(VECTORS).fit(sentences, y, valid=(sentences, wrong))


@pytest.mark.parametrize(
    ("options", "fit", "message"),
    [
        ({"head": "Other"}, (["x1"], [0]), "head must be one of Classifier, CosineRegression"),
        ({"head": "Triplet"}, ([("x1", "x2")], None), "Triplet learns from examples of 3 sentences, got 2"),
        (
            {"head": {"kind": "Triplet", "margin": -1}},
            ([("x1",) * 3], None),
            "head: margin must be at least 0",
        ),
        ({"head": {"kind": "Triplet", "distance": "dot"}}, ([("x1",) * 3], None), "'euclidean' or 'cosine'"),
        ({"head": {"kind": "Classifier", "layers": 1}}, (["x1"], [0]), "Classifier has no option 'layers'"),
        ({"head": 3}, (["x1"], [0]), r"head must be a name, .* or a dict such as .*, got 3 \(int\)"),
        ({"head": {"kind": "CosineRegression", "high": 0}}, ([("x1", "x2")], [0]), "high must be more than"),
        ({"head": "CosineRegression"}, (["x1", "x2"], [0, 1]), "CosineRegression learns from examples of 2"),
        ({"head": "MultipleNegatives"}, ([("x1", "x2")], [0]), "trained without labels: y must be None"),
        ({"learning_rate": -1}, (["x1"], [0]), "learning_rate must be at least 0, got -1"),
        ({"word_dropout": 1}, (["x1"], [0]), "word_dropout must be less than 1, got 1"),
        ({"validation_fraction": 0}, (["x1"], [0]), "validation_fraction must be more than 0, got 0"),
        ({"max_minutes": 0}, (["x1"], [0]), "max_minutes must be more than 0, got 0"),
        ({}, (["x1", "x2"], None), "Classifier needs labels: y is None"),
        ({}, (["x1", "x2"], [0]), "y must have two classes or more"),
        ({}, (["x1", "x2", "x3"], [0, 1]), "a label for each of 3 examples, got 2"),
        ({}, (["unknown", "words"], [0, 1]), "none of the words of the sentences has a vector"),
        ({}, (["x1", "x2"], [0.5, 1]), "must be a class's name"),
    ],
)
def test_invalid_arguments(options, fit, message):
    with pytest.raises((ValueError, TypeError), match=message):
        se.TrainedAverage(VECTORS, **options).fit(*fit)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([*["x1"] * 3, None], r"sentences\[3\] is NoneType \(None\); expected str"),
        ([float("nan"), *["x1"] * 3], r"sentences\[0\] is float \(nan\)"),
        ([("x1", "x2"), ("x1", 5)] * 2, r"sentences\[1\]\[1\] is int \(5\)"),
        (None, "sentences is NoneType"),
        (dict.fromkeys("abcd"), "sentences is dict"),
    ],
)
def test_what_is_no_sentence_is_named(trained, wrong, message):
    with pytest.raises(TypeError, match=message):
        se.TrainedAverage(VECTORS).fit(wrong, [0, 1, 0, 1])
    if not isinstance(wrong, list) or not isinstance(wrong[0], tuple):
        with pytest.raises(TypeError, match=message):
            trained.predict(wrong)


def test_tokens_may_be_arrays(trained):
    tokens = [np.array(["x1", "x2"]), np.array(["x3"])]
    assert trained.predict(tokens).tolist() == trained.predict([["x1", "x2"], ["x3"]]).tolist()
    se.TrainedAverage(VECTORS, max_epochs=1).fit(tokens * 10, ["up", "down"] * 10)


def test_a_text_is_no_file_for_predict(trained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("x1").write_text("x1\nx2\n")
    with pytest.raises(ValueError, match="sentences is one text, 'x1'; give a list, or a file as a Path"):
        trained.predict("x1")
    assert len(trained.predict(Path("x1"))) == 2


def test_labels_without_a_class_are_wrong(trained):
    sentences, y = opinions(40, seed=1)
    score = trained.score(sentences, y)
    assert trained.score([*sentences, "x1"], [*y, "sideways"]) == pytest.approx(score * 40 / 41)


def test_an_unfitted_encoder_is_fitted_first(tmp_path):
    sentences, y = opinions(60)
    sif = se.SIF(VECTORS)
    encoder = se.TrainedAverage(sif, max_epochs=2).fit(sentences, y)
    assert not sif.fitted
    assert encoder.vectors is sif
    expected = se.TrainedAverage(se.SIF(VECTORS).fit(sentences), max_epochs=2).fit(sentences, y)
    np.testing.assert_array_equal(encoder.encode(sentences), expected.encode(sentences))
    encoder.save(tmp_path / "encoder")
    for same in (pickle.loads(pickle.dumps(encoder)), se.load(tmp_path / "encoder")):
        np.testing.assert_array_equal(same.encode(sentences), encoder.encode(sentences))


def test_what_is_not_there(trained):
    unfitted = se.TrainedAverage(VECTORS)
    for use in (unfitted.encode, unfitted.predict):
        with pytest.raises(se.NotFittedError):
            use(["x1"])
    with pytest.raises(ValueError, match=r"oov='mean'.*use vectors.with_oov\('skip'\)"):
        se.TrainedAverage(VECTORS.with_oov("mean")).fit(*opinions(20))
    with pytest.raises(NotImplementedError, match="no partial_fit"):
        trained.partial_fit(["x1"])
    with pytest.raises(TypeError, match="valid must be a tuple of sentences and their labels"):
        unfitted.fit(*opinions(20), valid=["x1"])
    with pytest.raises(ValueError, match="the y of valid"):
        unfitted.fit(*opinions(20), valid=(["x1"], ["sideways"]))


@pytest.mark.skipif("SENTENCODE_DATA" not in os.environ, reason="SENTENCODE_DATA is not set")
def test_few_pairs_are_learnt_as_by_logistic_regression():
    data = Path(os.environ["SENTENCODE_DATA"]) / "senteval"
    train, test = load_task("SICKEntailment", data, splits=["train", "test"]).splits.values()
    pairs, y = list(train.pairs)[:400], list(train.labels)[:400]
    encoder = se.Average(se.WordVectors.default())

    def features(pairs):
        u, v = (encoder.encode(list(side)) for side in zip(*pairs, strict=True))
        return np.hstack([abs(u - v), u * v])

    regression = LogisticRegression(C=10, max_iter=1000).fit(features(pairs), y)
    least = regression.score(features(list(test.pairs)), test.labels) - 0.02
    assert se.TrainedAverage(encoder).fit(pairs, y).score(list(test.pairs), list(test.labels)) > least


def test_equal_examples_are_held_out_together():
    sentences, y = opinions(30)
    encoder = se.TrainedAverage(VECTORS).fit(sentences * 20, [*y] * 20)
    alone = se.TrainedAverage(VECTORS).fit(sentences, y)
    assert encoder.trials_[0].accuracy == pytest.approx(alone.trials_[0].accuracy, abs=0.2)
    assert encoder.trials_[0].accuracy < 0.9


def test_a_frequent_example_is_trained_on():
    groups = np.concatenate([np.zeros(500, int), np.arange(1, 501)])
    for seed in range(10):
        for _, held_out in se.TrainedAverage(VECTORS, seed=seed)._splits(None, groups, 0.2):
            assert 80 <= len(held_out) <= 130


def test_no_class_is_held_out_as_a_whole():
    """Classes of equal examples differ from that of the first one."""
    groups, ids = np.repeat(np.arange(40), 2), np.tile([0, 1], 40)
    labels = np.eye(2, dtype=np.float32)[ids]
    for seed in range(10):
        for train, held_out in se.TrainedAverage(VECTORS, seed=seed)._splits(labels, groups, None):
            assert set(ids[train]) == {0, 1}
            assert not set(groups[train]) & set(groups[held_out])


@pytest.mark.parametrize("fraction", [0.07, 0.1, 0.3, 0.4, 0.5])
def test_the_fraction_of_validation(fraction):
    encoder = se.TrainedAverage(VECTORS)
    for n in [*range(2, 130), 200]:
        ((train, held_out),) = encoder._splits(None, np.arange(n), fraction)
        assert sorted([*train, *held_out]) == list(range(n))
        assert abs(len(held_out) - fraction * n) <= 1


@pytest.mark.parametrize("count", [1, 499])
def test_labels_are_counted(trained, count):
    sentences, y = opinions(500, seed=1)
    with pytest.raises(ValueError, match=f"y must have a label for each of 500 examples, got {count}"):
        trained.score(sentences, y[:count])


def test_no_examples(trained):
    assert trained.predict([]).shape == (0,)
    assert trained.predict_proba([]).shape == (0, 2)


def test_labels_of_other_types():
    class Side(str, enum.Enum):
        one, other = "up", "down"

    sentences, y = opinions(60)
    expected = se.TrainedAverage(VECTORS).fit(sentences, y)
    names = [Side(name) for name in y]
    for labels in (names, iter(y), [str(name) for name in y]):
        encoder = se.TrainedAverage(VECTORS).fit(sentences, labels)
        assert encoder.classes_.tolist() == ["down", "up"]
        np.testing.assert_array_equal(encoder.encode(sentences), expected.encode(sentences))


def test_scores_outside_the_range_are_refused():
    examples, y = pairs(40)
    with pytest.raises(
        ValueError, match=r"y\[\d+\] is 5.0, but CosineRegression has low=0, .* high=1, that of 1"
    ):
        se.TrainedAverage(VECTORS, head="CosineRegression").fit(examples, 4 * y + 1)
    cosines = np.where(y, np.float32(1.0000001), -0.5)
    se.TrainedAverage(VECTORS, head="CosineRegression").fit(examples, cosines)
    head = {"kind": "CosineRegression", "low": 1, "high": 5}
    assert se.TrainedAverage(VECTORS, head=head).fit(examples, 4 * y + 1).predict(examples).max() <= 5


@pytest.mark.parametrize(("low", "high", "dtype"), [(-100, 100, np.int8), (10, 20, np.uint8)])
def test_scores_of_small_integer_types(low, high, dtype):
    examples, y = pairs(40)
    y = np.where(y, high, max(2 * low - high, low - 5))
    fits = [
        se.TrainedAverage(VECTORS, head={"kind": "CosineRegression", "low": low, "high": high}).fit(
            examples, labels
        )
        for labels in (y.astype(dtype), y.astype(float))
    ]
    np.testing.assert_array_equal(*(encoder.predict(examples) for encoder in fits))


def test_labels_of_another_type_are_not_just_wrong():
    """Labels that are read from a file again may be texts."""
    encoder = se.TrainedAverage(se.WordVectors.default()).fit(["a cat", "a dog"] * 10, [0, 1] * 10)
    assert encoder.score(["a cat", "a dog"], [0, 1]) == 1
    with pytest.raises(TypeError, match=r"y\[0\] is '0' \(str\), but the classes are int, such as 0"):
        encoder.score(["a cat", "a dog"], ["0", "1"])


def test_confusion_matrix(trained):
    sentences, y = opinions(300, seed=1)
    matrix = trained.confusion_matrix(sentences, y)
    np.testing.assert_array_equal(matrix, confusion_matrix(y, trained.predict(sentences)))
    assert matrix.dtype == np.int64
    with pytest.raises(ValueError, match="none of the classes"):
        trained.confusion_matrix(sentences, ["left"] * 300)


def test_a_fraction_is_held_out():
    sentences, y = opinions(400)
    fits = [
        se.TrainedAverage(VECTORS, max_epochs=2).fit(sentences, y, valid=0.2),
        se.TrainedAverage(VECTORS, max_epochs=2, validation_fraction=0.2).fit(sentences, y),
    ]
    np.testing.assert_array_equal(*(encoder.predict_proba(sentences) for encoder in fits))
    assert fits[0].trial_ == fits[1].trial_
    for wrong, message in ((0.7, "valid must be at most 0.5, got 0.7"), (True, "valid must be a number")):
        with pytest.raises((ValueError, TypeError), match=f"fit: {message}"):
            fits[0].fit(sentences, y, valid=wrong)


@pytest.mark.parametrize("head", ["Classifier", "MultipleNegatives"])
def test_nothing_is_held_out(head):
    examples, y = opinions(400) if head == "Classifier" else (pairs(200)[0], None)
    encoder = se.TrainedAverage(VECTORS, head=head, max_epochs=6, patience=1).fit(examples, y, valid=0)
    assert (encoder.trial_.epochs, encoder.trial_.word_dropout, len(encoder.trials_)) == (6, 0, 1)
    assert np.isnan(encoder.trial_.loss)
    if head == "Classifier":
        assert encoder.score(*opinions(300, seed=1)) > 0.9
    limited = se.TrainedAverage(VECTORS, head=head, max_epochs=1 << 20, max_minutes=0.005)
    assert limited.fit(examples, y, valid=0).trial_.epochs < 1 << 20
    unknown = "no" if y is not None else ("no", "x1")
    with pytest.warns(se.errors.ZeroRowsWarning):
        encoder.fit([unknown, *examples[:19]], None if y is None else y[:20], valid=0)
