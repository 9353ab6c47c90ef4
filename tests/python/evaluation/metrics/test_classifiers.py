"""SentEval's three kinds of validation against scikit-learn's loops; other classifiers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
linear_model = pytest.importorskip("sklearn.linear_model")
selection = pytest.importorskip("sklearn.model_selection")

import sentencode as se
from sentencode.evaluation import PROTOCOLS, Kind, Split, Task, task_kind
from sentencode.evaluation.embeddings import Embedder
from sentencode.evaluation.metrics.classifiers import (
    Adam,
    Examples,
    Fit,
    Optimum,
    Predictions,
    ScikitLearn,
)
from sentencode.evaluation.metrics.protocols import Protocol, protocol_named
from sentencode.evaluation.metrics.validation import cross_validate
from sentencode.evaluation.runner import encode_task, run_task

PAIR = ("|u-v|", "u*v")


def examples(n=300, d=6, classes=2, pairs=False, noise=1.0, seed=0):
    """Embeddings with partly separable classes."""
    random = np.random.default_rng(seed)
    embeddings = random.normal(size=(n, d)).astype(np.float32)
    sides = tuple(random.permutation(n) for _ in range(1 + pairs))
    blank = np.zeros(n, dtype=np.int64)
    x = Examples(embeddings, sides, PAIR if pairs else (), blank, classes).features()
    scores = x @ random.normal(size=(x.shape[1], classes)) + noise * random.gumbel(size=(n, classes))
    return Examples(embeddings, sides, PAIR if pairs else (), scores.argmax(axis=1), classes)


def splits_of(validation, n=300):
    if validation == "nested":
        return {"all": np.arange(n)}
    order = np.random.default_rng(1).permutation(n)
    parts = {"train": np.sort(order[: n // 2]), "test": np.sort(order[2 * n // 3 :])}
    return parts | ({"dev": np.sort(order[n // 2 : 2 * n // 3])} if validation == "dev" else {})


# --- SentEval's validations, slowly ---


def model(c):
    return linear_model.LogisticRegression(C=c, tol=1e-8, max_iter=10_000)


def folds_of(x, y, folds):
    return list(selection.StratifiedKFold(folds, shuffle=True, random_state=1111).split(x, y))


def rounded(scores):
    return round(100 * float(np.mean(scores)), 2)


def score(x, y, train, test, c):
    return model(c).fit(x[train], y[train]).score(x[test], y[test])


def nested(x, y, splits, folds):
    dev, test, chosen = [], [], []
    for train, held_out in folds_of(x, y, folds):
        inner = folds_of(x[train], y[train], folds)
        grid = [2.0**t for t in range(-2, 4)]
        scores = [rounded([score(x[train], y[train], a, b, c) for a, b in inner]) for c in grid]
        best = grid[int(np.argmax(scores))]
        dev.append(max(scores))
        chosen.append((best, dict(zip(grid, scores, strict=True))))
        test.append(rounded(score(x, y, train, held_out, best)))
    return round(np.mean(dev), 2), round(np.mean(test), 2), chosen


def folds(x, y, splits, folds):
    train, test = splits["train"], splits["test"]
    grid = [2.0**t for t in range(-1, 6)]
    inner = folds_of(x[train], y[train], folds)
    scores = [rounded([score(x[train], y[train], a, b, c) for a, b in inner]) for c in grid]
    best = grid[int(np.argmax(scores))]
    return (
        max(scores),
        rounded(score(x, y, train, test, best)),
        [(best, dict(zip(grid, scores, strict=True)))],
    )


def dev(x, y, splits, _):
    grid = [2.0**t for t in range(-2, 4)]
    scores = [rounded(score(x, y, splits["train"], splits["dev"], c)) for c in grid]
    best = grid[int(np.argmax(scores))]
    test = rounded(score(x, y, splits["train"], splits["test"], best))
    return max(scores), test, [(best, dict(zip(grid, scores, strict=True)))]


SLOWLY = {"nested": nested, "folds": folds, "dev": dev}


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("validation", SLOWLY)
def test_validates_as_senteval_does(validation, classes, pairs):
    samples, splits, k = examples(classes=classes, pairs=pairs), splits_of(validation), 4
    validated = cross_validate(Optimum(), samples, splits, validation, k)
    x, y = samples.features().astype(float), samples.labels
    expected_dev, expected_test, chosen = SLOWLY[validation](x, y, splits, k)
    outer = k if validation == "nested" else 1
    # One example on the other side of a boundary that is the same to seven digits.
    one_example = 100 / len(splits.get("dev", splits.get("train", y)))
    assert validated.dev_accuracy == pytest.approx(expected_dev, abs=one_example + 0.011)
    assert validated.accuracy == pytest.approx(expected_test, abs=100 / len(validated.tested) + 0.011)
    assert len(validated.penalties) == outer
    for c, (best, scores) in zip(validated.penalties, chosen, strict=True):
        assert c == best or abs(scores[c] - scores[best]) <= outer * one_example
    assert validated.gradient <= 1e-5
    tested = splits["test"] if validation != "nested" else np.arange(len(y))
    assert np.array_equal(np.sort(validated.tested), tested)
    right = 100 * np.mean(validated.predictions == y[validated.tested])
    assert validated.accuracy == pytest.approx(right, abs=0.5 if validation == "nested" else 0.006)


class Recorder:
    """A classifier of given accuracies that records its calls."""

    def __init__(self, accuracies):
        self.accuracies, self.asked = accuracies, []

    def penalties(self, validation):
        return tuple(self.accuracies)

    def predict(self, examples, fits, on_progress):
        self.asked.append(list(fits))
        classes = np.tile(1 - examples.labels, (len(fits), 1))
        for i, fit in enumerate(fits):
            evaluated = fit.valid if fit.valid is not None else np.arange(len(examples.labels))
            right = evaluated[: round(self.accuracies[fit.penalty] * len(evaluated))]
            classes[i, right] = examples.labels[right]
        return Predictions(classes, np.full(len(fits), np.nan))


def test_folds_are_scikit_learns():
    samples = examples()
    recorder = Recorder({1.0: 1.0})
    cross_validate(recorder, samples, splits_of("nested"), "nested", 5)
    inner, outer = recorder.asked
    x, y = np.zeros((300, 1)), samples.labels
    expected = folds_of(x, y, 5)
    assert [fit.train.tolist() for fit in outer] == [train.tolist() for train, _ in expected]
    expected_splits = [
        (train[a], train[b]) for train, _ in expected for a, b in folds_of(x[train], y[train], 5)
    ]
    for fit, (train, valid) in zip(inner, expected_splits, strict=True):
        assert np.array_equal(fit.train, train)
        assert np.array_equal(fit.valid, valid)

    splits = splits_of("folds")
    cross_validate(recorder, samples, splits, "folds", 5)
    inner, outer = recorder.asked[2:]
    train = splits["train"]
    expected_splits = folds_of(x[train], y[train], 5)
    assert [fit.train.tolist() for fit in inner] == [train[a].tolist() for a, _ in expected_splits]
    assert [fit.train.tolist() for fit in outer] == [train.tolist()]


@pytest.mark.parametrize("validation", SLOWLY)
@pytest.mark.parametrize(
    ("accuracies", "best"),
    [
        ({0.25: 0.5, 0.5: 0.8, 1.0: 0.8}, 0.5),  # the first of equals
        ({0.25: 0.8, 0.5: 0.8, 1.0: 0.8}, 0.25),
        ({0.25: 0.5, 0.5: 0.6, 1.0: 0.8}, 1.0),
    ],
)
def test_the_first_of_the_best_is_chosen(validation, accuracies, best):
    validated = cross_validate(Recorder(accuracies), examples(), splits_of(validation), validation, 5)
    assert set(validated.penalties) == {best}
    assert validated.dev_accuracy == pytest.approx(100 * accuracies[best], abs=2)


def test_scores_are_rounded_before_they_are_compared():
    """Differences below 0.005 points are ties: the first is chosen."""
    n = 60_000
    samples = Examples(np.zeros((1, 1), np.float32), (np.zeros(n, np.int64),), (), np.arange(n) % 2, 2)
    splits = {"train": np.arange(10), "dev": np.arange(10, n), "test": np.arange(10)}
    validated = cross_validate(Recorder({1.0: 0.5, 2.0: 0.50003}), samples, splits, "dev", 5)
    assert validated.penalties == (1.0,)
    assert validated.dev_accuracy == 50.0
    validated = cross_validate(Recorder({1.0: 0.5, 2.0: 0.5002}), samples, splits, "dev", 5)
    assert validated.penalties == (2.0,)
    assert validated.dev_accuracy == 50.02


def test_progress_counts_all_classifiers():
    for validation, total in (("nested", 4 * 4 * 6 + 4), ("folds", 4 * 7 + 1), ("dev", 6)):
        seen = []
        samples, splits = examples(), splits_of(validation)
        cross_validate(
            Optimum(), samples, splits, validation, 4, on_progress=lambda *of, seen=seen: seen.append(of)
        )
        assert seen[-1] == (total, total)
        assert seen == sorted(seen)


# --- missing classes and splits ---


def rare(count):
    """Examples with this number of class 1."""
    samples = examples(n=60)
    labels = np.zeros(60, dtype=np.int64)
    labels[:count] = 1
    return Examples(samples.embeddings, samples.sides, (), labels, 2)


def test_a_class_with_fewer_members_than_folds():
    with pytest.warns(UserWarning, match="least populated class"):
        validated = cross_validate(Optimum(), rare(6), splits_of("nested", 60), "nested", 8)
    assert np.array_equal(np.sort(validated.tested), np.arange(60))
    with (
        pytest.warns(UserWarning, match="least populated class"),
        pytest.raises(ValueError, match="trains on one class"),
    ):
        cross_validate(Optimum(), rare(1), splits_of("nested", 60), "nested", 8)
    with pytest.raises(ValueError, match=r"62 folds need a class of as many examples; the largest .* has 59"):
        cross_validate(Optimum(), rare(1), splits_of("nested", 60), "nested", 62)


@pytest.mark.parametrize(
    ("validation", "missing"),
    [("nested", "all"), ("folds", "test"), ("folds", "train"), ("dev", "dev"), ("dev", "test")],
)
def test_a_split_that_is_missing(validation, missing):
    splits = splits_of(validation)
    del splits[missing]
    there = ", ".join(splits) or "none"
    with pytest.raises(ValueError, match=rf"needs the splits .*{missing}.*; there are {there}$"):
        cross_validate(Optimum(), examples(), splits, validation, 5)


def task(name, splits, kind=None, classes=("no", "yes"), seed=0):
    """Sentences of one word, which determines the class in three of four cases."""
    random = np.random.default_rng(seed)
    parts = {}
    for split, n in splits.items():
        labels = np.arange(n) % len(classes)
        words = np.where(random.random(n) < 0.75, labels, random.integers(0, len(classes), n))
        sentences = [f"w{word} n{i % 13}" for i, word in enumerate(words)]
        parts[split] = Split((sentences,) * (1 + (kind is not None and kind.pairs)), labels)
    return Task(name, parts, kind or Kind("classification", "dev", features=("u",)), classes)


def hashed(sentences):
    rows = np.zeros((len(sentences), 20), np.float32)
    for row, sentence in zip(rows, sentences, strict=True):
        for word in sentence.split():
            row[int(word[1:]) + (4 if word[0] == "n" else 0)] += 1
    return rows


def test_missing_splits_of_a_task_are_named():
    with pytest.raises(ValueError, match=r"^mine: needs the splits train, dev, test; there are train, test$"):
        run_task(task("mine", {"train": 40, "test": 20}), Embedder(hashed), PROTOCOLS["optimum"])


@pytest.mark.parametrize(
    ("name", "pairs"),
    [("SST2", False), ("Length", False), ("SICKEntailment", True), ("SICKRelatedness", True), ("SNLI", True)],
)
def test_rows_are_in_the_order_of_the_original(name, pairs):
    """The order determines batches: SentEval's code in sst.py, probing.py, sick.py and snli.py."""
    random = np.random.default_rng(4)
    names = ("entailment", "neutral", "contradiction")
    splits, expected = {}, []
    for i, split in enumerate(("train", "dev", "test")):
        x, z = ([f"{'a ' * random.integers(4)}{i}{j}" for j in range(50)] for _ in range(2))
        y = random.integers(0, 3, 50)
        splits[split] = Split((x, z) if pairs else (x,), y)
        samples = [(a.split(), b.split(), label) for a, b, label in zip(x, z, y, strict=True)]
        if name == "SNLI":
            samples = [(b, a, names[label]) for a, b, label in samples]
        ordered = sorted(samples, key=lambda e: (len(e[0]), len(e[1]) if pairs else 0, e[2]))
        if name == "SNLI":
            ordered = [(b, a, names.index(label)) for a, b, label in ordered]
        expected += [(" ".join(a), label) for a, _, label in ordered]
    task = Task(name, splits, task_kind(name), names)
    sentences = []

    def encode(samples):
        sentences.extend(samples)
        return [[len(one), i] for i, one in enumerate(samples)]

    seen, labels, _ = encode_task(task, Embedder(encode)).examples()
    assert list(zip([sentences[i] for i in seen.sides[0]], labels, strict=True)) == expected


# --- other classifiers ---


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("solver", ["lbfgs", "liblinear"])
def test_scikit_learn_is_plain_scikit_learn(solver, classes):
    samples, splits = examples(classes=classes), splits_of("dev")
    fits = [Fit(splits["train"], c, splits["dev"]) for c in (0.25, 8.0)]
    seen = []
    predictions = ScikitLearn(solver, jobs=1).predict(samples, fits, lambda *of: seen.append(of))
    assert seen == [(1, 2), (2, 2)]
    assert np.isnan(predictions.gradients).all()
    x, y = samples.features(), samples.labels
    for fit, predicted in zip(fits, predictions.classes, strict=True):
        if solver == "lbfgs":
            expected = (
                linear_model.LogisticRegression(C=fit.penalty).fit(x[fit.train], y[fit.train]).predict(x)
            )
        else:  # one against the rest
            scores = []
            for one in range(classes) if classes > 2 else [1]:
                alone = linear_model.LogisticRegression(C=fit.penalty, solver="liblinear", random_state=1111)
                alone.fit(x[fit.train], y[fit.train] == one)
                scores.append(alone.predict_proba(x)[:, 1])
            expected = np.argmax(scores, axis=0) if classes > 2 else (scores[0] > 0.5).astype(int)
        assert np.array_equal(predicted, expected)


def test_scikit_learn_in_several_processes():
    samples, splits = examples(), splits_of("nested")
    one, two = (cross_validate(ScikitLearn(jobs=jobs), samples, splits, "nested", 3) for jobs in (1, 2))
    assert np.array_equal(one.predictions, two.predictions)


def test_scikit_learn_stops_after_100_iterations():
    """After 100 iterations, without a warning, and not at the optimum."""
    samples = examples(d=30)
    embeddings = samples.embeddings * np.logspace(-1, 2, 30, dtype=np.float32)
    scaled, fits = Examples(embeddings, samples.sides, (), samples.labels, 2), [Fit(np.arange(150), 8.0)]
    x = scaled.features()
    with pytest.warns(match="failed to converge"):
        linear_model.LogisticRegression(C=8.0).fit(x[:150], samples.labels[:150])
    stopped = ScikitLearn("lbfgs", jobs=1).predict(scaled, fits, None)
    assert not np.array_equal(stopped.classes, Optimum().predict(scaled, fits, None).classes)


@pytest.mark.parametrize("nhid", [0, 8])
@pytest.mark.parametrize("classes", [2, 3])
def test_adam_learns(classes, nhid):
    samples, splits = examples(n=600, classes=classes, noise=0.1), splits_of("dev", 600)
    adam = Adam(nhid=nhid, max_epoch=16, tenacity=1, optim="adam,lr=0.05")
    validated = cross_validate(adam, samples, splits, "dev", 5)
    assert validated.accuracy > validated.majority + 25
    again = cross_validate(adam, samples, splits, "dev", 5)
    assert np.array_equal(validated.predictions, again.predictions)
    assert np.isnan(validated.gradient)


@pytest.mark.parametrize("validation", ["nested", "folds"])
def test_adam_holds_out_training_examples(validation):
    samples = examples(noise=0.1)
    validated = cross_validate(
        Adam(max_epoch=20, tenacity=1, optim="adam,lr=0.1"), samples, splits_of(validation), validation, 2
    )
    assert validated.accuracy > validated.majority + 15


def test_adam_trains_with_few_examples():
    samples = examples(n=30, noise=0.1)
    fits = [Fit(np.arange(12), 1e-5)]
    trained = Adam(optim="adam,lr=0.1", max_epoch=40).predict(samples, fits, None).classes[0]
    assert np.mean(trained[:12] == samples.labels[:12]) > 0.8


def test_adams_options_matter():
    samples, splits = examples(n=200), splits_of("dev", 200)

    def classes(**options):
        options = {"max_epoch": 8, **options}
        return Adam(**options).predict(samples, [Fit(splits["train"], 1e-5, splits["dev"])], None).classes

    plain = classes()
    for options in (
        {"nhid": 5},
        {"seed": 1},
        {"reduction": "sum"},
        {"optim": "sgd,lr=0.5"},
        {"optim": "adam,lr=1"},
        {"nhid": 50, "dropout": 0.9},
    ):
        assert not np.array_equal(classes(**options), plain), options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optim": "lion"}, "optim must be one of adadelta, .*; got 'lion'"),
        ({"optim": "sgd"}, "sgd needs a learning rate, as in 'sgd,lr=0.1'"),
        ({"optim": "adam,lr"}, "settings as in 'sgd,lr=0.1', got 'adam,lr'"),
        ({"optim": "adam,lr=fast"}, "settings as in 'sgd,lr=0.1', got 'adam,lr=fast'"),
        ({"reduction": "max"}, "reduction must be 'mean' or 'sum', got 'max'"),
    ],
)
def test_wrong_options_of_adam(options, message):
    with pytest.raises(ValueError, match=message):
        Adam(**options)
    with pytest.raises(ValueError, match=message):
        protocol_named("senteval-torch", **options)


# --- what SentEval does for one task alone ---


class Asked:
    """Replaces Adam's method and records its settings."""

    def __init__(self, monkeypatch):
        self.settings = []

        def predict(adam, examples, fits, on_progress):
            self.settings.append((adam.nhid, adam.max_epoch, adam.epoch_size, {fit.penalty for fit in fits}))
            return Recorder(dict.fromkeys((*adam.penalties("dev"), 1e-9), 1.0)).predict(examples, fits, None)

        monkeypatch.setattr(Adam, "predict", predict)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("SNLI", (50, 15, 1, {1e-9})),
        ("WordContent", (0, 200, 4, {1e-5, 1e-4, 1e-3, 1e-2})),
        ("Length", (50, 200, 4, {1e-5, 1e-4, 1e-3, 1e-2})),
    ],
)
def test_special_tasks(monkeypatch, name, expected):
    asked = Asked(monkeypatch)
    small = task("mine", {"train": 40, "dev": 20, "test": 20})
    small = replace(small, kind=replace(small.kind, settings=task_kind(name).settings))
    small = replace(small, kind=replace(small.kind, penalised=task_kind(name).penalised))
    run_task(small, Embedder(hashed), protocol_named("senteval-torch", nhid=50), resamples=10)
    (samples,) = asked.settings
    assert samples[:3] == expected[:3]
    assert sorted(samples[3]) == pytest.approx(sorted(expected[3]))


def test_snli_has_no_penalty_at_the_optimum():
    small = task("mine", {"train": 90, "dev": 60, "test": 60}, task_kind("SNLI"), ("e", "n", "c"))
    result = run_task(small, Embedder(hashed), PROTOCOLS["optimum"], resamples=10)
    assert result.details["penalties"] == (1e9,)
    assert list(result) == ["devacc", "acc", "ndev", "ntest"]
    assert result["acc"] > 50


@pytest.mark.parametrize("protocol", ["optimum", "senteval-torch"])
def test_own_tasks_do_not_get_sentevals_settings_by_name(protocol, monkeypatch):
    asked = Asked(monkeypatch)
    for name in ("SNLI", "WordContent"):
        small = task(name, {"train": 40, "dev": 20, "test": 20})
        options = {"nhid": 50} if protocol == "senteval-torch" else {}
        result = run_task(small, Embedder(hashed), protocol_named(protocol, **options), resamples=10)
        assert result.details["penalties"][0] in protocol_named(protocol).classifier.penalties("dev")
    assert all(samples[:3] == (50, 200, 4) for samples in asked.settings)


def test_global_random_states_are_unchanged():
    """SentEval's classifier does not use torch's global generator."""
    small = task("mine", {"train": 40, "dev": 20, "test": 20})
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    run_task(small, Embedder(hashed), protocol_named("senteval-torch", nhid=3, max_epoch=4), resamples=10)
    assert torch.equal(torch.rand(1), expected)


@pytest.mark.parametrize(("jobs", "expected"), [(None, 1), (2, 2)])
def test_scikit_learn_has_as_many_processes_as_threads(jobs, expected, monkeypatch):
    import joblib

    asked = []
    monkeypatch.setattr(joblib, "Parallel", lambda n, **_: asked.append(n) or (lambda work: iter(())))
    before = se.num_threads()
    se.set_num_threads(1)
    try:
        with pytest.raises(ValueError, match="need at least one array"):  # nothing was trained
            ScikitLearn(jobs=jobs).predict(examples(), [Fit(np.arange(9), 1.0)], None)
    finally:
        se.set_num_threads(before)
    assert asked == [expected]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Adam(nhid=-5), "nhid must be at least 0, got -5"),
        (lambda: Adam(nhid="abc"), "nhid must be a whole number, got 'abc'"),
        (lambda: Adam(batch_size=0), "batch_size must be at least 1, got 0"),
        (lambda: Adam(epoch_size=0), "epoch_size must be at least 1, got 0"),
        (lambda: Adam(max_epoch=-1), "max_epoch must be at least 0, got -1"),
        (lambda: Adam(tenacity=-1), "tenacity must be at least 0, got -1"),
        (lambda: Adam(dropout=3.0), "dropout must be at most 1, got 3.0"),
        (lambda: Adam(seed=-1), "seed must be at least 0, got -1"),
        (lambda: Adam(memory=0), "memory must be more than 0, got 0"),
        (lambda: Optimum(tolerance="abc"), "tolerance must be a number, got 'abc'"),
        (lambda: Optimum(tolerance=-1), "tolerance must be more than 0, got -1"),
        (lambda: Optimum(device="gpu"), "device: torch cannot compute on 'gpu'"),
        (lambda: Optimum(device="cuda:77"), "device: torch cannot compute on 'cuda:77'"),
        (lambda: Optimum(device=None), "device must be a str, got None"),
        (lambda: ScikitLearn(solver="best"), "solver must be one of lbfgs, liblinear, .* got 'best'"),
        (lambda: ScikitLearn(jobs=0), "jobs must be at least 1, got 0"),
        (lambda: ScikitLearn(memory="much"), "memory must be a number, got 'much'"),
    ],
)
def test_settings_are_checked_before_anything_is_done(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


# --- protocols by name ---


def test_protocols():
    assert protocol_named("optimum") is PROTOCOLS["optimum"]
    assert protocol_named("fast").folds == 5
    protocol = Protocol("mine", Optimum(), 3)
    assert protocol_named(protocol) is protocol
    changed = protocol_named("optimum", tolerance=1e-3, folds=7)
    assert (changed.name, changed.folds) == ("optimum, folds=7, tolerance=0.001", 7)
    assert changed.classifier == Optimum(tolerance=1e-3)
    assert protocol_named("optimum", folds=7, tolerance=1e-3, seeds=1) == changed  # in any order
    assert protocol_named("optimum", folds=10).name == "optimum"
    assert protocol_named(changed, folds=10, tolerance=1e-5) == PROTOCOLS["optimum"]
    with pytest.raises(ValueError, match="no protocol is named 'best'; there are optimum, fast"):
        protocol_named("best")
    with pytest.raises(
        TypeError, match="optimum has no option 'nhid': there are folds, seeds, similarity, tol"
    ):
        protocol_named("optimum", nhid=5)
    with pytest.raises(TypeError, match=r"SentEval's kfold is folds here\.$"):
        protocol_named("fast", kfold=5)


def test_lambdas_are_identified_by_their_code():
    one, again, other = (
        protocol_named("optimum", similarity=f).name
        for f in (lambda u, v: u @ v, lambda u, v: u @ v, lambda u, v: -u @ v)
    )
    assert one == again != other
