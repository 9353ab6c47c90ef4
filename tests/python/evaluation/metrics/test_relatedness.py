"""Relatedness: against SentEval's targets, SciPy's metrics, and a slow solver."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
stats = pytest.importorskip("scipy.stats")
optimize = pytest.importorskip("scipy.optimize")
special = pytest.importorskip("scipy.special")

from sentencode.evaluation import Kind, Split, Task, evaluate
from sentencode.evaluation.metrics import relatedness
from sentencode.evaluation.metrics.classifiers import Adam, Examples, Optimum, ScikitLearn
from sentencode.evaluation.metrics.early_stopping import train_with_early_stopping
from sentencode.evaluation.metrics.relatedness import relate, targets_of

PARTS = ("|u-v|", "u*v")
DEGREES = np.arange(1, 6)


def pairs(n=240, d=4, seed=0):
    """Pairs with scores from 1 to 5 by distance, and some below 1."""
    random = np.random.default_rng(seed)
    embeddings = random.normal(size=(n, d)).astype(np.float32)
    sides = (np.arange(n), random.permutation(n))
    apart = np.abs(embeddings[sides[0]] - embeddings[sides[1]]).mean(axis=1)
    scores = np.clip(5.5 - 2 * apart + 0.3 * random.normal(size=n), 0, 5).round(1)
    examples = Examples(embeddings, sides, PARTS, np.zeros(n, dtype=np.int64), 5)
    order = random.permutation(n)
    return examples, scores, {"train": order[:140], "dev": order[140:180], "test": order[180:]}


@given(st.lists(st.floats(0, 5), min_size=1, max_size=20))
def test_targets_are_tree_lstms(scores):
    """Entry by entry, as Tai et al. (2015) define them."""
    targets = targets_of(np.array(scores))
    for row, score in zip(targets, scores, strict=True):
        low = int(np.floor(score))
        for degree, share in zip(DEGREES, row, strict=True):
            expected = score - low if degree == low + 1 else low - score + 1 if degree == low else 0
            assert share == pytest.approx(expected, abs=1e-6)


@given(st.floats(1, 5))
def test_the_expectation_of_targets_is_the_score(score):
    (row,) = targets_of(np.array([score]))
    assert row.sum() == pytest.approx(1, abs=1e-6)
    assert row @ DEGREES == pytest.approx(score, abs=1e-5)


def slowly(x, targets, c):
    """Weights (5, d + 1) of the least cross-entropy and penalty, in float64."""
    k, d = targets.shape[1], x.shape[1]

    def objective(flat):
        w = flat.reshape(k, d + 1)
        scores = x @ w[:, :d].T + w[:, d]
        log_p = special.log_softmax(scores, axis=1)
        r = targets.sum(axis=1, keepdims=True) * np.exp(log_p) - targets
        gradient = np.concatenate([r.T @ x + w[:, :d] / c, r.sum(axis=0)[:, None]], axis=1)
        return -(targets * log_p).sum() + (w[:, :d] ** 2).sum() / (2 * c), gradient.ravel()

    options = {"ftol": 1e-15, "gtol": 1e-8, "maxiter": 10_000}
    least = optimize.minimize(objective, np.zeros(k * (d + 1)), jac=True, method="L-BFGS-B", options=options)
    return least.x.reshape(k, d + 1)


def test_optimum_is_that_of_a_slow_solver():
    examples, scores, splits = pairs()
    related = relate(Optimum(tolerance=1e-6), examples, scores, splits)
    x, targets = examples.features().astype(float), targets_of(scores).astype(float)
    expected = {}
    for c in (2.0**t for t in range(-2, 4)):
        w = slowly(x[splits["train"]], targets[splits["train"]], c)
        y = special.softmax(x @ w[:, :-1].T + w[:, -1], axis=1) @ DEGREES
        expected[c] = (stats.pearsonr(y[splits["dev"]], scores[splits["dev"]]).statistic, y[splits["test"]])
    best = max(dev for dev, _ in expected.values())
    assert related.dev_pearson == pytest.approx(best, abs=1e-4)
    assert expected[related.penalty][0] == pytest.approx(best, abs=1e-4)
    assert np.allclose(related.scores, expected[related.penalty][1], atol=2e-3)
    assert related.gradient <= 1e-6


@pytest.mark.parametrize("classifier", [Adam(), ScikitLearn("lbfgs")], ids=["adam", "scikit-learn"])
def test_regressions_are_trained_as_in_senteval(classifier):
    examples, scores, splits = pairs()
    related = relate(classifier, examples, scores, splits)
    assert stats.pearsonr(related.scores, scores[splits["test"]]).statistic > 0.75
    assert related.dev_pearson > 0.75
    assert related.penalty is None
    again = relate(classifier, examples, scores, splits)
    assert np.array_equal(related.scores, again.scores)


def test_where_memory_begins_makes_no_difference(monkeypatch):
    """Memory-mapped embeddings of another process give bit-equal figures.
    A kernel's sums may depend on it."""
    examples, scores, _ = pairs(60, d=9)
    splits = {"train": np.arange(40), "dev": np.arange(40, 50), "test": np.arange(50, 60)}
    features = Examples.features
    related = []
    for offset in (0, 4):

        def elsewhere(self, rows, offset=offset):
            columns = features(self, rows)
            room = np.empty(columns.nbytes + 128, np.uint8)
            begin = -room.ctypes.data % 64 + offset
            moved = room[begin : begin + columns.nbytes].view(columns.dtype).reshape(columns.shape)
            moved[:] = columns
            return moved

        monkeypatch.setattr(Examples, "features", elsewhere)
        related.append(relate(Adam(), examples, scores, splits).scores)
    assert np.array_equal(related[1], related[0])


def test_adam_with_another_seed_ends_elsewhere():
    examples, scores, splits = pairs()
    one, two = (relate(Adam(seed=seed), examples, scores, splits).scores for seed in (1, 2))
    assert not np.array_equal(one, two)


@pytest.mark.parametrize(
    ("scores", "tenacity", "max_epochs", "epochs", "best"),
    [
        ([0.5, 0.4, 0.6, 0.6, 0.5, 0.9], 2, 99, 5, 3),  # equal scores are failures, too; they add up
        ([0.5, 0.4, 0.6, 0.6, 0.5, 0.9], 0, 99, 2, 1),
        ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 2, 3, 4, 4),  # one epoch more than the most
        ([-2.0, -2.0], 0, 99, 1, 0),  # the state before training
    ],
)
def test_early_stopping(scores, tenacity, max_epochs, epochs, best):
    """SentEval's loop, with the state being the number of epochs."""
    trained = []
    stopped = train_with_early_stopping(
        lambda: trained.append(1),
        lambda: scores[len(trained) - 1],
        lambda: len(trained),
        **{"epochs": 1, "tenacity": tenacity, "max_epochs": max_epochs},
    )
    assert (len(trained), stopped.epochs, stopped.best) == (epochs, epochs, best)
    assert stopped.score == (scores[best - 1] if best else -1)


def test_adam_has_sentevals_end_of_training(monkeypatch):
    def stop(*functions, **bounds):
        raise StopIteration(bounds)

    monkeypatch.setattr(relatedness, "train_with_early_stopping", stop)
    with pytest.raises(StopIteration) as error:
        relate(Adam(), *pairs())
    assert error.value.args == ({"epochs": 50, "tenacity": 3, "max_epochs": 1000},)


def task_of(examples, scores, splits):
    names = [f"s{i}" for i in range(len(examples.embeddings))]
    parts = {
        split: Split(tuple([names[i] for i in side[positions]] for side in examples.sides), scores[positions])
        for split, positions in splits.items()
    }
    rows = dict(zip(names, examples.embeddings, strict=True))
    task = Task("mine", parts, Kind("relatedness", "dev", pairs=True, features=PARTS))
    return task, lambda sentences: np.stack([rows[sentence] for sentence in sentences])


def test_figures_are_scipys():
    task, encode = task_of(*pairs())
    result = evaluate(encode, task, resamples=200)["mine"]
    assert list(result) == ["devpearson", "pearson", "spearman", "mse", "yhat", "ndev", "ntest"]
    gold, predicted = task["test"].by_length().labels, result["yhat"]  # in SentEval's order
    assert result["pearson"] == pytest.approx(stats.pearsonr(predicted, gold).statistic)
    assert result["spearman"] == pytest.approx(stats.spearmanr(predicted, gold).statistic)
    assert result["mse"] == pytest.approx(np.mean((predicted - gold) ** 2))
    assert (result["ndev"], result["ntest"]) == (40, 60)
    for key in ("pearson", "spearman", "mse"):
        assert result.intervals[key].low < result[key] < result.intervals[key].high
    assert result.headline == "pearson"
    assert np.array_equal(result.predictions["test"].gold, gold)


def test_a_split_that_is_missing():
    task, encode = task_of(*pairs())
    less = Task("mine", {name: task[name] for name in ("train", "test")}, task.kind)
    error = evaluate(encode, less).results["mine"].error
    assert error == "needs the splits train, dev, test; there are train, test"


def test_constant_scores_have_no_correlation():
    """SentEval gives 0 instead."""
    examples, scores, splits = pairs()
    task, encode = task_of(examples, np.full_like(scores, 3), splits)
    result = evaluate(encode, task, resamples=10).results["mine"]
    assert result.figures == {}
    assert result.error == "all gold scores are equal: the correlation is undefined"


def test_global_random_states_are_unchanged():
    """Adam does not use torch's global generator."""
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    relate(Adam(), *pairs())
    assert torch.equal(torch.rand(1), expected)


def test_scores_beyond_the_degrees_are_refused():
    examples, scores, splits = pairs()
    for values, message in ((scores * 20, "to 100"), (scores - 1, "to 4"), (scores, None)):
        task, encode = task_of(examples, values, splits)
        error = evaluate(encode, task, resamples=10).results["mine"].error
        assert (error is None) if message is None else (f"{message}; scale them" in error)
