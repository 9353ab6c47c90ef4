"""The solver of many logistic regressions, compared with scikit-learn and SciPy."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
linear_model = pytest.importorskip("sklearn.linear_model")
optimize = pytest.importorskip("scipy.optimize")

from sentencode.evaluation.metrics.solver import convergence, fit_logistic

CS = (1e-4, 1e-2, 1.0, 1e2, 1e4, 1e9)
PARTS = ("u", "v", "|u-v|", "u*v")


# --- reference in float64 ---


def one_hot(labels, classes):
    return np.eye(classes)[labels]


def objective_and_gradient(x, targets, c, weights, intercepts):
    """The objective, and its gradient divided by C, for the weights and then the intercepts."""
    w, b = weights.astype(float), intercepts.astype(float)
    scores = x @ w.T + b
    if len(w) == 1:  # two classes: the first one's score is 0
        scores = np.concatenate([np.zeros_like(scores), scores], axis=1)
    scores -= scores.max(axis=1, keepdims=True)
    log_sum = np.log(np.exp(scores).sum(axis=1, keepdims=True))
    share = targets.sum(axis=1, keepdims=True)
    losses = share * log_sum - (targets * scores).sum(axis=1, keepdims=True)
    residuals = (share * np.exp(scores - log_sum) - targets)[:, -len(w) :]
    gradient = np.concatenate([residuals.T @ x + w / c, residuals.sum(axis=0)[:, None]], axis=1)
    return c * losses.sum() + 0.5 * (w**2).sum(), gradient


def fitted(x, labels, c, solver="lbfgs"):
    """scikit-learn's solution at a low tolerance; without centred features it stops early."""
    model = linear_model.LogisticRegression(C=c, tol=1e-10, max_iter=100_000, solver=solver)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it cannot get any tighter
        return model.fit(x, labels)


def margins(model, x):
    """Margin of the best class of each row over the second."""
    scores = model.decision_function(x)
    if scores.ndim == 1:
        return np.abs(scores)
    best = np.sort(scores, axis=1)
    return best[:, -1] - best[:, -2]


def problem(classes=2, n=240, d=8, folds=3, seed=0, change=lambda x: x):
    """Features, partly separable classes, and folds. Features are exact in float32."""
    random = np.random.default_rng(seed)
    z = random.normal(size=(n, d))
    scores = z @ random.normal(size=(d, classes)) * 1.5 / np.sqrt(d)
    labels = (scores + random.gumbel(size=(n, classes))).argmax(axis=1)
    x = change(z).astype(np.float32).astype(float)
    return x, labels, random.random((folds, n)) < 0.8


def constant_columns(x):
    x = x.copy()
    x[:, 1], x[:, 3] = 0, 5
    return x


CHANGES = {
    "shifted": lambda x: x + 30 * np.arange(x.shape[1]),
    "far away": lambda x: x + 1000,
    "scaled": lambda x: x * np.logspace(-1.5, 1.5, x.shape[1]),
    "tiny": lambda x: x * 1e-4,
    "huge": lambda x: x * 1e4,
    "constant columns": constant_columns,
    "equal columns": lambda x: np.concatenate([x, x[:, :3]], axis=1),
}


def assert_solved(x, labels, classes, folds, problems, fits, *, solver="lbfgs"):
    """Check all solutions against scikit-learn, and their gradients and objectives."""
    targets, mean = one_hot(labels, classes), x.mean(axis=0)
    centred = x - mean  # has the same solutions, but for intercepts
    for p, (fold, c) in enumerate(problems):
        rows, where = folds[fold], f"problem {p}: fold {fold}, C {c:g}"
        x_of, y_of = centred[rows], targets[rows]
        model = fitted(x_of, labels[rows], c, solver)
        least, _ = objective_and_gradient(x_of, y_of, c, model.coef_, model.intercept_)
        w, b = fits.weights[p].astype(float), fits.intercepts[p].astype(float)
        value, _ = objective_and_gradient(x_of, y_of, c, w, b + w @ mean)
        assert value <= least * (1 + 1e-6), where  # below it where the oracle ends early
        assert fits.objectives[p] == pytest.approx(value, rel=1e-6), where
        # Columns that lie far from 0 multiply what float32 leaves of the intercept's gradient.
        _, gradient = objective_and_gradient(x[rows], y_of, c, w, b)
        assert fits.gradients[p] <= 3e-5 * max(1, np.abs(x[rows]).max()), where
        steepest = np.abs(gradient).max() / rows.sum()
        assert fits.gradients[p] == pytest.approx(steepest, rel=1e-2, abs=1e-12), where
        # Of less than that, an objective that is within 1e-6 says nothing: it bends by the square.
        sure = margins(model, centred) > 3e-3
        assert (fits.predictions[p] == model.predict(centred))[sure].all(), where


# --- against scikit-learn ---


@pytest.mark.parametrize("classes", [2, 3, 6])
def test_ends_where_scikit_learn_does(classes):
    x, labels, folds = problem(classes)
    problems = [(fold, c) for fold in range(len(folds)) for c in CS]
    fits = fit_logistic(x, labels, folds, problems, classes=classes)
    assert fits.weights.shape == (len(problems), classes if classes > 2 else 1, x.shape[1])
    assert fits.intercepts.shape == fits.weights.shape[:2]
    assert fits.predictions.shape == (len(problems), len(x))
    assert_solved(x, labels, classes, folds, problems, fits)


def cases():
    """Badly conditioned features. The reference is Newton's method; lbfgs stops early."""
    for name in CHANGES:
        for classes in (2, 4):
            yield pytest.param(classes, CHANGES[name], id=f"{name}-{classes}")


@pytest.mark.parametrize(("classes", "change"), list(cases()))
def test_ends_there_with_features_of_any_kind(classes, change):
    x, labels, folds = problem(classes, change=change)
    problems = [(fold, c) for fold in range(len(folds)) for c in CS]
    fits = fit_logistic(x, labels, folds, problems, classes=classes)
    assert_solved(x, labels, classes, folds, problems, fits, solver="newton-cholesky")


def counts(x):
    """Sparse rows of a few words, equally many in each."""
    few = np.eye(7)[np.argsort(x[:, :7], axis=1)[:, :3]].sum(axis=1)
    out = np.zeros_like(x)
    out[:, 3 : 3 + 7 * 20 : 20] = few
    return out


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "change", [lambda x: x, counts, CHANGES["shifted"]], ids=["full", "counts", "shifted"]
)
def test_more_columns_than_rows(classes, change):
    x, labels, folds = problem(classes, n=60, d=150, folds=2, change=change)
    problems = [(fold, c) for fold in range(2) for c in (1e-4, 1e-2, 1.0, 10.0)]
    fits = fit_logistic(x, labels, folds, problems, classes=classes)
    assert_solved(x, labels, classes, folds, problems, fits)


@pytest.mark.parametrize(("classes", "c"), [(2, 1e2), (2, 1e4), (3, 1.0), (3, 1e4)])
def test_separable_classes(classes, c):
    x, labels, folds = problem(classes, n=60, d=150, folds=2, seed=4)
    fits = fit_logistic(x, labels, folds, [(0, c), (1, c)], classes=classes)
    assert all((fits.predictions[p] == labels)[folds[p]].all() for p in range(2))
    assert_solved(x, labels, classes, folds, [(0, c), (1, c)], fits)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_tolerance_below_float32_ends(classes):
    x, labels, folds = problem(classes)
    fits = fit_logistic(x, labels, folds, [(0, 1.0), (1, 100.0)], classes=classes, tolerance=1e-14)
    assert fits.iterations.max() < 100
    assert fits.gradients.max() < 1e-5


@pytest.mark.parametrize("classes", [2, 3])
def test_separable_classes_without_a_penalty_end(classes):
    """Separable classes: the optimum is at infinity; the solver must stop with the right classes."""
    x, labels, folds = problem(classes, n=60, d=150, folds=2, seed=4)
    fits = fit_logistic(x, labels, folds, [(0, 1e9), (1, 1e9)], classes=classes, max_iterations=100)
    assert (fits.iterations <= 100).all()
    assert np.isfinite(fits.weights).all()
    assert (fits.gradients < 1e-5).all()
    assert all((fits.predictions[p] == labels)[folds[p]].all() for p in range(2))


@settings(max_examples=30, deadline=None)
@given(
    st.integers(2, 5), st.integers(20, 120), st.integers(1, 12), st.floats(-4, 3), st.integers(0, 2**32 - 1)
)
def test_any_small_problem(classes, n, d, exponent, seed):
    x, labels, _ = problem(classes, n=n, d=d, seed=seed)
    labels[:classes] = range(classes)  # none is missing
    folds, problems = np.ones((1, n), bool), [(0, 10.0**exponent)]
    fits = fit_logistic(x, labels, folds, problems, classes=classes)
    model = fitted(x, labels, 10.0**exponent, "newton-cholesky")
    values = [
        objective_and_gradient(x, one_hot(labels, classes), 10.0**exponent, w, b)[0]
        for w, b in ((fits.weights[0], fits.intercepts[0]), (model.coef_, model.intercept_))
    ]
    assert values[0] <= values[1] * (1 + 1e-6)


def test_a_problem_twice_is_solved_twice():
    x, labels, folds = problem()
    fits = fit_logistic(x, labels, folds, [(1, 1.0), (0, 3.0), (1, 1.0)])
    # Not to the last bit: they are two columns of the same products, and a kernel may add up the terms of the
    # last columns in another order.
    assert fits.objectives[0] == pytest.approx(fits.objectives[2], rel=1e-6)
    assert np.allclose(fits.weights[0], fits.weights[2], atol=1e-3 * np.abs(fits.weights[0]).max())
    assert (fits.predictions[0] == fits.predictions[2]).mean() > 0.99


def test_no_problem_has_no_solution():
    x, labels, folds = problem()
    fits = fit_logistic(x, labels, folds, [])
    assert fits.weights.shape == (0, 1, x.shape[1])
    assert fits.predictions.shape == (0, len(x))


@pytest.mark.parametrize("change", [CHANGES["far away"], CHANGES["constant columns"], CHANGES["scaled"]])
@pytest.mark.parametrize("classes", [2, 4])
def test_one_fold_of_many_rows(classes, change):
    """The solver starts with a subset of the rows."""
    x, labels, folds = problem(classes, n=2000, folds=1, change=change)
    problems = [(0, c) for c in CS]
    fits = fit_logistic(x, labels, folds, problems, classes=classes)
    assert_solved(x, labels, classes, folds, problems, fits, solver="newton-cholesky")


@pytest.mark.parametrize("classes", [2, 3])
def test_few_rows_may_lack_a_class(classes):
    """A class of five rows, which the subset is unlikely to contain."""
    x, labels, _ = problem(classes, n=3000, folds=1)
    labels[labels == 1] = 0
    labels[[17, 401, 1003, 1801, 2999]] = 1
    problems = [(0, c) for c in CS]
    folds = np.ones((1, len(x)), dtype=bool)
    fits = fit_logistic(x, labels, folds, problems, classes=classes)
    assert_solved(x, labels, classes, folds, problems, fits, solver="newton-cholesky")


def sampled(classes, n, d, scale, seed=0):
    """Rows and classes, the more separable the larger the scale."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, d)).astype(np.float32)
    scores = x @ random.normal(size=(d, classes)) * scale / np.sqrt(d) + random.gumbel(size=(n, classes))
    return x, scores.argmax(axis=1), random


def ones_of(column, every):
    """Some rows are zero in half the columns, or nearly zero."""

    def change(x):
        x = x.copy()
        x[::every, : x.shape[1] // 2 if column else None] *= 0 if column else 0.05
        return x

    return change


GRID = (0.25, 8.0)
HARD = {  # classes, rows, columns, scale, change, penalties
    "nearly separable": (2, 5376, 20, 40, lambda x: x, (1e9,)),
    "nearly separable, 3": (3, 5376, 20, 40, lambda x: x, (1e9,)),
    "nearly separable, a large middle C": (3, 5376, 20, 40, lambda x: x, (1e-6, 1e8, 1e9)),
    "every other row without columns": (2, 5376, 20, 1.5, ones_of(True, 2), GRID),
    "every other row without columns, 3": (3, 5376, 20, 1.5, ones_of(True, 2), GRID),
    "every other row small": (2, 5376, 20, 1.5, ones_of(False, 2), GRID),
    "every fourth row small": (2, 5376, 20, 1.5, ones_of(False, 4), GRID),
    "all figures apart by the few": (2, 12800, 50, 20, lambda x: x, (8.0, 1e9)),
}


@pytest.mark.parametrize(
    ("classes", "n", "d", "scale", "change", "penalties"), HARD.values(), ids=HARD.keys()
)
def test_few_rows_that_mislead_cost_few_iterations(classes, n, d, scale, change, penalties):
    x, labels, _ = sampled(classes, n, d, scale)
    x, folds, problems = change(x), np.ones((1, n), bool), [(0, c) for c in penalties]
    fits = fit_logistic(x, labels, folds, problems, classes=classes)
    assert_solved(x, labels, classes, folds, problems, fits, solver="newton-cholesky")
    assert fits.iterations.max() < 60


def test_rare_classes_cost_few_iterations():
    x, labels, random = sampled(2, 50_000, 10, 1.5)
    labels = np.where(labels == 1, 0, labels)
    labels[random.choice(len(x), 5, replace=False)] = 1
    folds, problems = np.ones((1, len(x)), bool), [(0, 1.0), (0, 8.0)]
    fits = fit_logistic(x, labels, folds, problems)
    assert_solved(x, labels, 2, folds, problems, fits, solver="newton-cholesky")
    assert fits.iterations.max() < 60


@pytest.mark.parametrize("shares", [(0.9,) * 10, (0.01, 0.03, 0.1, 0.5, 1.0)], ids=["alike", "mixed"])
def test_separable_folds_need_few_iterations(shares):
    x, labels, random = sampled(6, 5500, 60, 40) if len(shares) == 10 else sampled(3, 20_000, 20, 20)
    folds = np.stack([random.random(len(x)) < share for share in shares])
    problems = [(fold, c) for c in (0.25, 8.0) for fold in range(len(folds))]
    fits = fit_logistic(x, labels, folds, problems)
    for p in (0, len(problems) - 1):
        fold, c = problems[p]
        train = x[folds[fold]].astype(float), labels[folds[fold]]
        model = fitted(*train, c, "newton-cholesky")
        targets = one_hot(train[1], int(labels.max()) + 1)
        least, _ = objective_and_gradient(train[0], targets, c, model.coef_, model.intercept_)
        assert fits.objectives[p] == pytest.approx(least, rel=1e-6)
    assert fits.iterations.max() < 90


def test_the_old_name_of_indices_works():
    x, labels = np.array([[2.0], [-2.0], [1.0], [-1.0]]), [0, 1, 0, 1]
    folds, problems, order = np.ones((1, 4), bool), [(0, 1.0)], [1, 0, 3, 2]
    expected = fit_logistic(x, labels, folds, problems, indices=order)
    with pytest.warns(DeprecationWarning, match="places is now indices"):
        fits = fit_logistic(x, labels, folds, problems, places=order)
    np.testing.assert_array_equal(fits.weights, expected.weights)


@pytest.mark.parametrize(("n", "classes"), [(240, 2), (240, 3), (3000, 3)])
@pytest.mark.parametrize("kind", ["embeddings", "indices", "pairs"])
def test_rows_outside_of_all_folds_are_predicted(kind, n, classes):
    x, labels, folds = problem(classes, n=n, folds=2)
    rest = np.arange(n) % 3 == 1
    folds &= ~rest
    first, second, parts = np.arange(n)[::-1], np.arange(n), ("u", "|u-v|")
    of = {
        "embeddings": {},
        "indices": {"indices": first},
        "pairs": {"pairs": (first, second), "parts": parts},
    }
    rows = {"embeddings": x, "indices": x[first], "pairs": features_of_pairs(x, first, second, parts)}[kind]
    options = {"classes": classes, **of[kind]}
    problems = [(fold, c) for fold in range(2) for c in (0.01, 1.0)]
    fits = fit_logistic(x, labels, folds, problems, **options)
    assert_solved(rows, labels, classes, folds, problems, fits)
    streamed = fit_logistic(x, labels, folds, problems, max_bytes=1, **options)
    assert (streamed.predictions == fits.predictions).mean() > 0.995
    scores = rows @ np.swapaxes(fits.weights, 1, 2).astype(float) + fits.intercepts[:, None]  # [p, n, K]
    best = scores.argmax(2) if classes > 2 else scores[..., 0] > 0
    assert (fits.predictions == best)[:, rest].mean() > 0.995


def test_rows_that_no_fold_trains_on_are_looked_at():
    x, labels, _ = problem(n=60, folds=1)
    x[7, 2] = np.nan
    with pytest.raises(ValueError, match="features must be finite"):
        fit_logistic(x, labels, (np.arange(60) != 7)[None], [(0, 1.0)])


@pytest.mark.parametrize("n", [240, 3000])
@pytest.mark.parametrize("lacking", [(3,), (0, 2)], ids=["one", "all but two"])
@pytest.mark.parametrize("shifted", [False, True])
def test_a_class_that_a_fold_lacks_is_dropped(lacking, n, shifted):
    x, labels, folds = problem(4, n=n, change=CHANGES["shifted"] if shifted else lambda x: x)
    folds[0] &= ~np.isin(labels, lacking)
    problems = [(fold, c) for fold in (0, 1) for c in (1e-2, 1.0, 1e2)]
    fits = fit_logistic(x, labels, folds, problems)
    assert_solved(x, labels, 4, folds, problems[3:], subset(fits, slice(3, None)))
    assert shifted or not fits.short.any()
    left, rows = np.setdiff1d(range(4), lacking), folds[0]
    centred = x - x.mean(axis=0)
    for p, (_, c) in enumerate(problems[:3]):
        model = fitted(centred[rows], labels[rows], c)
        assert (fits.weights[p, list(lacking)] == 0).all()
        assert (fits.intercepts[p, list(lacking)] == -np.inf).all()
        sure = margins(model, centred) > 3e-3
        assert sure.mean() > 0.9
        assert (fits.predictions[p] == model.predict(centred))[sure].all()
        w = fits.weights[p, left] - fits.weights[p, left].mean(0)
        if len(left) == 2:  # scikit-learn has the difference
            w = 2 * w[1:]
        assert np.allclose(
            w, model.coef_ - model.coef_.mean(0) * (len(left) > 2), atol=3e-3 * np.abs(w).max()
        )
        targets = one_hot(np.searchsorted(left, labels[rows]), len(left))
        least, _ = objective_and_gradient(centred[rows], targets, c, model.coef_, model.intercept_)
        assert fits.objectives[p] == pytest.approx(least, rel=1e-6)


def subset(fits, which):
    return type(fits)(**{name: values[which] for name, values in vars(fits).items()})


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(("d", "change"), [(8, "shifted"), (8, "far away"), (8, "scaled"), (300, "far away")])
def test_gradients_are_those_of_the_returned_weights(classes, d, change):
    """In float64, without centring: float32 would lose digits of columns far from 0."""
    x, labels, folds = problem(classes, d=d, change=CHANGES[change])
    problems = [(fold, c) for fold in range(2) for c in (1e-2, 1.0, 1e3)]
    fits = fit_logistic(x, labels, folds, problems)
    for p, (fold, c) in enumerate(problems):
        rows = folds[fold]
        targets = one_hot(labels[rows], classes)
        _, gradient = objective_and_gradient(x[rows], targets, c, fits.weights[p], fits.intercepts[p])
        assert fits.gradients[p] == pytest.approx(np.abs(gradient).max() / rows.sum(), rel=1e-3, abs=1e-12)
    assert (fits.short == ((fits.gradients > 1e-5) | ((fits.gaps > 1e-7) & (fits.gradients > 1e-10)))).all()


def test_fits_that_do_not_converge_are_counted():
    x, labels, folds = problem(4)
    problems = [(fold, c) for fold in range(3) for c in (1e-2, 1e4)]
    assert not fit_logistic(x, labels, folds, problems).short.any()
    fits = fit_logistic(x, labels, folds, problems, max_iterations=1, tolerance=1e-9)
    assert fits.short.all()
    figures = convergence(fits, subset(fits, slice(2)))
    assert figures == {"gap": fits.gaps.max(), "iterations": 1, "fits": 8, "short": 8}


# --- soft targets ---


def test_soft_targets():
    """Class probabilities, which need not sum to 1, against a slow solver."""
    x, _, folds = problem(n=150, d=5)
    random = np.random.default_rng(0)
    targets = random.dirichlet([0.5] * 4, size=len(x)).astype(np.float32).astype(float)
    targets[:10] *= 0.5
    targets[10:15] = 0
    problems = [(fold, c) for fold in range(2) for c in (1e-2, 1.0, 1e3)]
    fits = fit_logistic(x, targets, folds, problems)
    assert fits.weights.shape == (len(problems), 4, 5)
    for p, (fold, c) in enumerate(problems):
        rows = folds[fold]

        def divided(flat, rows=rows, c=c):
            w = flat.reshape(4, 6)
            value, gradient = objective_and_gradient(x[rows], targets[rows], c, w[:, :5], w[:, 5])
            return value / c, gradient.ravel()

        best = optimize.minimize(
            divided,
            np.zeros(24),
            jac=True,
            method="L-BFGS-B",
            options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 10_000},
        )
        value, _ = objective_and_gradient(x[rows], targets[rows], c, fits.weights[p], fits.intercepts[p])
        assert value == pytest.approx(c * best.fun, rel=1e-6)
        assert fits.objectives[p] == pytest.approx(value, rel=1e-6)
        w = best.x.reshape(4, 6)
        scores = np.sort(x @ w[:, :5].T + w[:, 5], axis=1)
        sure = scores[:, -1] - scores[:, -2] > 1e-2
        assert (fits.predictions[p] == (x @ w[:, :5].T + w[:, 5]).argmax(1))[sure].all()


def test_hard_targets_as_shares_are_the_same_problem():
    x, labels, folds = problem(3)
    hard = fit_logistic(x, labels, folds, [(0, 1.0)])
    soft = fit_logistic(x, one_hot(labels, 3), folds, [(0, 1.0)])
    assert soft.objectives == pytest.approx(hard.objectives, rel=1e-6)
    assert np.allclose(soft.weights, hard.weights, atol=1e-3)


# --- pairs and blocks ---


def features_of_pairs(embeddings, first, second, parts):
    u, v = embeddings[first], embeddings[second]
    columns = {"u": u, "v": v, "|u-v|": np.abs(u - v), "u*v": u * v}
    return np.concatenate([columns[part] for part in parts], axis=1)


def pairs_of(n, m=50, d=4, seed=0):
    random = np.random.default_rng(seed)
    embeddings = random.normal(size=(m, d)).astype(np.float32)
    first, second = random.integers(0, m, size=(2, n))
    close = np.abs(embeddings[first] - embeddings[second]).sum(axis=1)
    labels = (close + random.normal(size=n) < np.median(close)).astype(int)
    return embeddings, first, second, labels


SUBSETS = [tuple(part for i, part in enumerate(PARTS) if mask >> i & 1) for mask in range(1, 16)] + [
    ("u*v", "u"),
    ("v", "u"),
    ("u", "u"),
]


@pytest.mark.parametrize("parts", SUBSETS, ids=",".join)
def test_parts_of_pairs(parts):
    embeddings, first, second, labels = pairs_of(200)
    folds = np.random.default_rng(1).random((2, 200)) < 0.8
    problems = [(0, 1.0), (1, 0.1)]
    x = features_of_pairs(embeddings, first, second, parts)
    fits = fit_logistic(embeddings, labels, folds, problems, pairs=(first, second), parts=parts)
    expected = fit_logistic(x, labels, folds, problems)
    assert fits.weights.shape == (2, 1, 4 * len(parts))
    assert np.allclose(fits.weights, expected.weights, atol=1e-6)
    assert np.array_equal(fits.predictions, expected.predictions)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", ["rows", "pairs"])
def test_blocks_are_equal_to_rows_in_memory(classes, kind):
    n = 17_000  # two blocks
    embeddings, first, second, labels = pairs_of(n, m=5000, d=3)
    labels = (labels + (embeddings[first, 0] > 1)).clip(0, classes - 1)
    folds = np.random.default_rng(1).random((2, n)) < 0.8
    rows = {"pairs": (first, second), "parts": ("|u-v|", "u*v")} if kind == "pairs" else {}
    x = embeddings if kind == "pairs" else features_of_pairs(embeddings, first, second, PARTS)
    whole, blocks = (
        fit_logistic(x, labels, folds, [(0, 1.0), (1, 10.0)], classes=classes, max_bytes=size, **rows)
        for size in (1 << 30, 400_000)
    )
    assert blocks.objectives == pytest.approx(whole.objectives, rel=1e-6)
    assert np.allclose(blocks.weights, whole.weights, atol=1e-3 * np.abs(whole.weights).max())
    assert (blocks.predictions == whole.predictions).mean() > 0.999
    assert (blocks.gradients < 1e-5).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int64])
def test_embeddings_of_other_types(dtype):
    x, labels, folds = problem()
    x = (8 * x).astype(dtype)
    fits = fit_logistic(x, labels, folds, [(0, 0.1)])
    expected = fit_logistic(x.astype(np.float32), labels, folds, [(0, 0.1)])
    assert np.array_equal(fits.weights, expected.weights)
    assert fits.weights.dtype == np.float32


def test_arrays_that_cannot_be_written_to(tmp_path):
    """As of a memory map, without a warning."""
    x, labels, folds = problem()
    np.save(tmp_path / "x.npy", x.astype(np.float32))
    for mode in "rc":
        mapped = np.load(tmp_path / "x.npy", mmap_mode=mode)
        fits = fit_logistic(mapped, labels, folds, [(0, 1.0)])
        assert np.array_equal(fits.weights, fit_logistic(x, labels, folds, [(0, 1.0)]).weights)


def test_arguments_are_not_changed():
    x, labels, folds = problem(change=lambda x: x.astype(np.float32))
    x = x.astype(np.float32)
    before = x.copy(), labels.copy(), folds.copy()
    fit_logistic(x, labels, folds, [(0, 1.0)])
    assert all(np.array_equal(a, b) for a, b in zip(before, (x, labels, folds), strict=True))


def test_lists_will_do():
    x, labels, folds = problem(n=40, d=2)
    fits = fit_logistic(x.tolist(), labels.tolist(), folds.tolist(), [(np.int64(0), np.float32(1))])
    assert np.array_equal(fits.weights, fit_logistic(x, labels, folds, [(0, 1.0)]).weights)


# --- what it must not depend on ---


@pytest.mark.parametrize("classes", [2, 4])
def test_other_problems_make_no_difference(classes):
    x, labels, folds = problem(classes, folds=6)
    problems = [(fold, c) for fold in range(6) for c in (1e-3, 0.25, 1.0, 8.0, 1e3)]
    together = fit_logistic(x, labels, folds, problems, classes=classes)
    for p in range(0, len(problems), 7):
        alone = fit_logistic(x, labels, folds[[problems[p][0]]], [(0, problems[p][1])], classes=classes)
        assert together.objectives[p] == pytest.approx(alone.objectives[0], rel=1e-6)
        size = np.abs(alone.weights[0]).max()
        assert np.allclose(together.weights[p], alone.weights[0], atol=2e-3 * size)
        assert (together.predictions[p] == alone.predictions[0]).mean() > 0.99
    order = np.random.default_rng(0).permutation(len(problems))
    shuffled = fit_logistic(x, labels, folds, [problems[p] for p in order], classes=classes)
    assert shuffled.objectives == pytest.approx(together.objectives[order], rel=1e-6)


@pytest.mark.parametrize("classes", [2, 4])
def test_threads_make_no_difference(classes):
    x, labels, folds = problem(classes, n=3000, d=20)
    threads = torch.get_num_threads()
    fits = []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            fits.append(fit_logistic(x, labels, folds, [(0, 1.0), (2, 100.0)], classes=classes))
    finally:
        torch.set_num_threads(threads)
    for one in fits[1:]:
        assert one.objectives == pytest.approx(fits[0].objectives, rel=1e-7)
        assert np.allclose(one.weights, fits[0].weights, atol=2e-3)
        assert (one.predictions == fits[0].predictions).mean() > 0.999


def test_devices():
    x, labels, folds = problem()
    with pytest.raises(RuntimeError, match="abacus"):
        fit_logistic(x, labels, folds, [(0, 1.0)], device="abacus")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu():
    x, labels, folds = problem()
    expected = fit_logistic(x, labels, folds, [(0, 1.0)])
    fits = fit_logistic(x, labels, folds, [(0, 1.0)], device="cuda")
    assert fits.objectives == pytest.approx(expected.objectives, rel=1e-6)
    np.testing.assert_allclose(fits.weights, expected.weights, atol=2e-3)


def test_iterations_end():
    x, labels, folds = problem(4)
    fits = fit_logistic(x, labels, folds, [(0, 1e-2), (1, 1e4)], max_iterations=1, tolerance=1e-12)
    assert (fits.iterations == 1).all()
    assert (fits.gradients > 1e-12).all()


# --- errors ---

ERRORS = {
    "NaN": ({"x": [[0.0], [np.nan], [1.0], [2.0]]}, "features must be finite"),
    "infinity": ({"x": [[0.0], [np.inf], [1.0], [2.0]]}, "features must be finite"),
    "more than float32 holds": ({"x": [[0.0], [1e39], [1.0], [2.0]]}, "features must be finite"),
    "one dimension": ({"x": [0.0, 1.0, 2.0, 3.0]}, r"embeddings must be floating point \[n, d\]"),
    "targets too short": ({"targets": [0, 1, 1]}, r"targets must be int64 \[4\]"),
    "class too large": ({"targets": [0, 1, 2, 1], "classes": 2}, "targets must be classes, 0 to 1"),
    "class negative": ({"targets": [0, 1, -1, 1]}, "targets must be classes, 0 to 1"),
    "one class": ({"targets": [0, 0, 0, 0]}, "fold 0 trains on one class"),
    "one class in a fold": ({"folds": [[1, 1, 1, 1], [1, 1, 0, 0]]}, "fold 1 trains on one class"),
    "no rows in a fold": ({"folds": [[1, 1, 1, 1], [0, 0, 0, 0]]}, "fold 1 has no rows"),
    "folds too short": ({"folds": [[1, 1, 1]]}, r"folds must be bool \[F, 4\]"),
    "folds of one dimension": ({"folds": [1, 1, 1, 1]}, r"folds must be bool \[F, 4\]"),
    "fold out of range": ({"problems": [(1, 1.0)]}, "fold must hold numbers of folds, 0 to 0"),
    "C of 0": ({"problems": [(0, 0.0)]}, "penalties must be positive"),
    "C negative": ({"problems": [(0, -1.0)]}, "penalties must be positive"),
    "C infinite": ({"problems": [(0, np.inf)]}, "penalties must be positive and finite"),
    "C not a number": ({"problems": [(0, np.nan)]}, "penalties must be positive"),
    "two soft classes": ({"targets": np.full((4, 2), 0.5)}, "at least 3 classes"),
    "soft NaN": ({"targets": np.full((4, 3), np.nan)}, "targets must be finite"),
    "unknown part": ({"pairs": ([0, 1, 2, 3], [1, 2, 3, 0]), "parts": ("u+v",)}, r"got 'u\+v'"),
    "no part": ({"pairs": ([0, 1, 2, 3], [1, 2, 3, 0])}, "at least one part"),
    "pairs out of range": ({"pairs": ([0, 1, 2, 4], [1, 2, 3, 0]), "parts": ("u",)}, "0 to 3, got 0 to 4"),
    "pairs unequal": ({"pairs": ([0, 1, 2], [1, 2, 3, 0]), "parts": ("u",)}, "equally long, got 3 and 4"),
    "tolerance": ({"tolerance": 0.0}, "tolerance and gap must be positive"),
    "iterations": ({"max_iterations": 0}, "max_iterations must be at least 1"),
}


@pytest.mark.parametrize(("wrong", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_wrong_arguments(wrong, message):
    right = {
        "x": [[-2.0], [-1.0], [1.0], [2.0]],
        "targets": [0, 0, 1, 1],
        "folds": [[1, 1, 1, 1]],
        "problems": [(0, 1.0)],
    }
    with pytest.raises(ValueError, match=message):
        fit_logistic(**(right | wrong))


# --- progress and interruption ---


def test_progress_reaches_its_end():
    x, labels, folds = problem(3)
    seen = []
    fit_logistic(
        x, labels, folds, [(f, c) for f in range(3) for c in CS], on_progress=lambda *of: seen.append(of)
    )
    assert seen[-1] == (18, 18)
    assert seen == sorted(seen)
    assert {total for _, total in seen} == {18}


def test_progress_is_reported_after_each_iteration():
    x, labels, folds = problem(3, change=CHANGES["tiny"])
    seen = []
    fits = fit_logistic(x, labels, folds, [(0, 1e9)], on_progress=lambda *of: seen.append(of))
    assert len(seen) >= fits.iterations[0] > 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, SystemExit])
def test_an_error_of_on_progress_ends_it(error):
    x, labels, folds = problem()

    def stop(done, total):
        raise error("enough")

    for _ in range(3):
        with pytest.raises(error, match="enough"):
            fit_logistic(x, labels, folds, [(0, 1.0)], on_progress=stop)
    assert fit_logistic(x, labels, folds, [(0, 1.0)]).gradients[0] < 1e-5
    assert torch.ones(2, requires_grad=True).sum().requires_grad  # autograd is on again


def test_a_signal_ends_it():
    """In a subprocess, because pytest handles Ctrl-C."""
    script = """
        import os, signal, threading
        import numpy as np
        from sentencode.evaluation.metrics.solver import fit_logistic
        random = np.random.default_rng(0)
        x, labels = random.normal(size=(4000, 60)), random.integers(0, 2, 4000)
        folds = random.random((40, 4000)) < 0.9
        problems = [(f, 10.0**c) for f in range(40) for c in range(-3, 3)]
        fit_logistic(x[:100], labels[:100], folds[:, :100], problems[:2])  # everything is loaded
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            for _ in range(1000):
                fit_logistic(x, labels, folds, problems)
        except KeyboardInterrupt:
            fits = fit_logistic(x[:100], labels[:100], folds[:, :100], problems[:2])
            print("stopped", (fits.gradients < 1e-5).all())
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "stopped True\n", done.stderr


def test_concurrent_solving():
    x, labels, folds = problem(n=1000)
    expected = fit_logistic(x, labels, folds, [(0, 1.0)])
    with ThreadPoolExecutor(4) as pool:
        for fits in pool.map(lambda _: fit_logistic(x, labels, folds, [(0, 1.0)]), range(4)):
            assert fits.objectives == pytest.approx(expected.objectives, rel=1e-7)
