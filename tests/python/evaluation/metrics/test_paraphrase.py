from __future__ import annotations

import numpy as np
import pytest

import sentencode as se
from sentencode.evaluation import (
    Kind,
    LinearDiscriminant,
    Split,
    Task,
    cluster_classification,
    inverse_davies_bouldin,
    nearest_neighbours,
)

discriminant_analysis = pytest.importorskip("sklearn.discriminant_analysis")
metrics = pytest.importorskip("sklearn.metrics")


def clouds(groups=40, size=7, dim=12, spread=1.0, seed=0):
    random = np.random.default_rng(seed)
    labels = np.repeat(np.arange(groups), size)
    rows = random.standard_normal((groups, dim))[labels] + spread * random.standard_normal((len(labels), dim))
    order = random.permutation(len(labels))  # groups need not be contiguous
    return rows[order].astype(np.float32), labels[order]


def unequal(rows, groups):
    """Groups of different sizes."""
    mask = ~((groups % 3 == 0) & (np.random.default_rng(1).random(len(groups)) < 0.4))
    return rows[mask], groups[mask]


@pytest.mark.parametrize("prepare", [lambda x, g: (x, g), unequal], ids=["equal", "unequal"])
@pytest.mark.parametrize("scale", [1.0, 1e-3, 300.0])
def test_discriminant_is_scikit_learns(prepare, scale):
    rows, groups = prepare(*clouds())
    rows = rows * np.linspace(1, scale, rows.shape[1], dtype=np.float32)
    reference = discriminant_analysis.LinearDiscriminantAnalysis().fit(rows.astype(np.float64), groups)
    assert (LinearDiscriminant(rows, groups).predict(rows) == reference.predict(rows)).mean() > 0.995


def test_the_covariance_has_the_degrees_of_freedom():
    """Few examples of many classes of unequal size, for which n and n - K differ much."""
    random = np.random.default_rng(4)
    groups = np.repeat(np.arange(30), np.where(np.arange(30) < 20, 1, 6))
    rows = (random.normal(size=(30, 4))[groups] + random.normal(size=(len(groups), 4))).astype(np.float32)
    points = random.normal(size=(3000, 4)).astype(np.float32)
    counts = np.bincount(groups)
    means = np.stack([rows[groups == k].mean(0) for k in range(30)]).astype(np.float64)
    within = rows - means[groups]

    def predicted(freedom):
        """Classes of the greatest x S^-1 m - m S^-1 m / 2 + log p."""
        inverse = np.linalg.inv(within.T @ within / freedom)
        offsets = np.log(counts / len(rows)) - 0.5 * np.einsum("kd,de,ke->k", means, inverse, means)
        return (points @ inverse @ means.T + offsets).argmax(1)

    ours = LinearDiscriminant(rows, groups).predict(points)
    assert (ours == predicted(len(rows) - 30)).mean() > 0.999
    assert (ours == predicted(len(rows))).mean() < 0.95


@pytest.mark.parametrize("dim", [149, 150, 300])
def test_discriminant_of_more_columns_than_freedom(dim):
    """Directions without variance within groups are ignored."""
    rows, groups = clouds(groups=50, size=5, dim=dim, spread=4.0, seed=1)
    held = np.arange(len(rows)) % 5 == 0
    reference = discriminant_analysis.LinearDiscriminantAnalysis()
    reference.fit(rows[~held].astype(np.float64), groups[~held])
    predicted = LinearDiscriminant(rows[~held], groups[~held]).predict(rows[held])
    assert (predicted == reference.predict(rows[held].astype(np.float64))).mean() > 0.95


def test_discriminant_drops_directions_without_width():
    rows, groups = clouds()
    degenerate = np.concatenate(
        [rows, rows[:, :3] + rows[:, 3:6], np.zeros((len(rows), 2), np.float32)], axis=1
    )
    assert (
        LinearDiscriminant(degenerate, groups).predict(degenerate)
        == LinearDiscriminant(rows, groups).predict(rows)
    ).all()


@pytest.mark.parametrize(("held_out", "away"), [("one", 40), ("half", 120)])
def test_classification_holds_out_the_stated_fraction(held_out, away):
    rows, groups = clouds(spread=0.8)
    score = cluster_classification(rows, groups, held_out, repeats=1)
    asked = score.predicted >= 0
    assert asked.sum() == away
    assert (np.bincount(groups[asked]) == away // 40).all()
    assert score.value == (score.predicted == groups)[asked].mean()
    assert score.interval.low < score.value < score.interval.high


def test_classification_is_by_seed_and_repeats():
    rows, groups = clouds()
    first, again, other = (cluster_classification(rows, groups, repeats=3, seed=s) for s in (1, 1, 2))
    assert first.value == again.value
    assert (first.predicted != other.predicted).any()
    assert first.deviation > 0


def test_classification_separates_clouds_but_not_noise():
    rows, groups = clouds(spread=0.01)
    assert cluster_classification(rows, groups).value == 1
    noise = np.random.default_rng(5).standard_normal(rows.shape).astype(np.float32)
    assert cluster_classification(noise, groups).value < 0.15


@pytest.mark.parametrize("measure", ["cosine", "l2"])
@pytest.mark.parametrize("offset", [0.0, 50.0])
def test_nearest_neighbours_against_all_distances(measure, offset):
    rows, groups = clouds(spread=0.7)
    rows = rows + np.float32(offset)
    exact = rows.astype(np.float64)
    if measure == "l2":
        distances = np.linalg.norm(exact[:, None] - exact[None], axis=2)
    else:
        unit = exact / np.linalg.norm(exact, axis=1, keepdims=True)
        distances = -unit @ unit.T
    np.fill_diagonal(distances, np.inf)
    expected = groups[distances.argmin(1)]
    score = nearest_neighbours(rows, groups, measure)
    # In float32 a cosine of rows far from the origin has few digits left.
    assert (score.predicted == expected).mean() > (0.999 if offset == 0 or measure == "l2" else 0.9)
    assert score.value == (score.predicted == groups).mean()


def test_of_equal_sentences_the_first_other_one_is_nearest():
    rows = np.array([[1, 0], [1, 0], [1, 0], [0, 1]], dtype=np.float32)
    score = nearest_neighbours(rows, np.array([0, 1, 1, 0]))
    assert score.predicted.tolist()[:3] == [1, 0, 0]


@pytest.mark.parametrize("prepare", [lambda x, g: (x, g), unequal], ids=["equal", "unequal"])
def test_davies_bouldin_is_scikit_learns(prepare):
    rows, groups = prepare(*clouds())
    score = inverse_davies_bouldin(rows, groups)
    assert score.value == pytest.approx(1 / metrics.davies_bouldin_score(rows, groups), rel=1e-5)
    assert score.interval.low < score.value < score.interval.high


def by_hand(rows, groups):
    """As in scikit-learn, a distance of 0 is infinite."""
    each = [rows[groups == group] for group in range(groups.max() + 1)]
    centroids = [x.mean(axis=0) for x in each]
    scatter = [np.linalg.norm(x - x.mean(axis=0), axis=1).mean() for x in each]
    worst = []
    for i, a in enumerate(centroids):
        distances = [np.linalg.norm(a - b) for b in centroids]
        worst.append(max((scatter[i] + s) / d for s, d in zip(scatter, distances, strict=True) if d > 1e-9))
    return 1 / np.mean(worst)


@pytest.mark.parametrize("offset", [0, 100])
@pytest.mark.parametrize("twice", [[4, 5, 6, 7], [5, 4, 7, 6]], ids=["equal", "in another order"])
def test_davies_bouldin_of_groups_with_one_centroid(offset, twice):
    """Equal centroids are not compared, up to rounding errors."""
    rows, groups = np.random.default_rng(0).normal(size=(40, 8)), np.repeat(np.arange(10), 4)
    rows[:4] = rows[twice]
    score = inverse_davies_bouldin((rows + offset).astype(np.float32), groups)
    assert score.value == pytest.approx(by_hand(rows, groups), rel=1e-5)
    assert score.interval.low < score.value < score.interval.high < 10
    noisy = rows + offset
    noisy[:4] *= 1 + 1e-7 * np.random.default_rng(1).normal(size=(4, 8))  # as sums in another order are
    assert inverse_davies_bouldin(noisy.astype(np.float32), groups).value == pytest.approx(
        score.value, rel=1e-4
    )


def test_davies_bouldin_of_centroids_that_are_near():
    """Small distances above rounding errors are exact."""
    rows, groups = clouds(groups=12)
    far = np.where(groups == 0, 1e4, 0)[:, None]  # lengths that would take the digits of small differences
    near = 1e-3 * np.where(groups[:, None] < 6, rows, 5 * rows) + far
    assert inverse_davies_bouldin(near, groups).value == pytest.approx(by_hand(near, groups), rel=1e-6)


def test_davies_bouldin_where_all_centroids_are_one():
    rows = np.tile(np.array([[0, 1], [0, 3]], dtype=np.float32), (3, 1))
    score = inverse_davies_bouldin(rows, np.repeat(np.arange(3), 2))
    assert np.isnan([score.value, *score.interval]).all()
    tight = np.repeat(np.eye(3, dtype=np.float32), 2, axis=0)
    assert inverse_davies_bouldin(tight, np.repeat(np.arange(3), 2)).value == np.inf


@pytest.mark.parametrize(
    "of",
    [
        nearest_neighbours,
        lambda x, g: nearest_neighbours(x, g, "l2"),
        cluster_classification,
        lambda x, g: cluster_classification(x, g, "half"),
    ],
    ids=["nn cosine", "nn l2", "one", "half"],
)
def test_intervals_are_of_the_figure_where_groups_are_not_equally_large(of):
    """Scores are fractions of sentences: large groups have more weight, also in intervals."""
    random = np.random.default_rng(4)
    sizes = np.array([20] * 20 + [2] * 60)
    groups = np.repeat(np.arange(80), sizes)
    noise = np.where(sizes == 20, 0.2, 3.0)[groups, None]
    rows = random.normal(size=(80, 10))[groups] + noise * random.normal(size=(len(groups), 10))
    score = of(rows.astype(np.float32), groups)
    assert score.interval.low <= score.value <= score.interval.high
    assert score.interval.low < score.interval.high


def test_the_deviation_is_that_of_a_sample():
    rows, groups = clouds()
    score = [cluster_classification(rows, groups, repeats=n) for n in (1, 2)]
    shares = [score[0].value, 2 * score[1].value - score[0].value]  # the first of two is the only one of one
    assert score[0].deviation == 0
    assert score[1].deviation == pytest.approx(np.std(shares, ddof=1))


def test_groups_too_small_are_refused():
    rows, _ = clouds(groups=2, size=2)
    with pytest.raises(ValueError, match="group 1 has fewer than two sentences"):
        cluster_classification(rows, np.array([0, 0, 0, 1]))
    with pytest.raises(ValueError, match="a discriminant needs a class with several embeddings"):
        cluster_classification(rows, np.array([0, 0, 1, 1]))


def test_evaluate_runs_groups():
    sentences = ["cat dog", "dog cat", "cat", "sun moon", "moon sun", "moon"]
    task = Task(
        "mine", {"all": Split((sentences,), np.array([0, 0, 0, 1, 1, 1]))}, Kind("groups"), ("a", "b")
    )
    vectors = se.WordVectors.from_array(["cat", "dog", "sun", "moon"], np.eye(4, dtype=np.float32))
    report = se.evaluate(se.Average(vectors), task, cache=False)
    assert report["mine"]["nn_cosine"] == report["mine"]["nn_l2"] == 100
    assert set(report["mine"].intervals) == {"cl_one", "cl_half", "nn_cosine", "nn_l2", "idb"}
    assert report.rows()[0][:3] == ("mine", "nn_cosine", 100)


def test_repeated_groups_have_scores(tmp_path):
    words = [f"w{i}" for i in range(8)]
    rows = dict(zip(words, np.random.default_rng(0).normal(size=(8, 6)), strict=True))
    examples = Split((words + words[:4],), np.repeat(np.arange(3), 4))
    task = Task("mine", {"all": examples}, Kind("groups"), ("a", "b", "a again"))
    report = se.evaluate(lambda sentences: [rows[s] for s in sentences], task, name="x", cache=False)
    assert report["mine"].error is None
    embeddings = np.array([rows[s] for s in examples.sentences[0]])
    assert report["mine"]["idb"] == pytest.approx(by_hand(embeddings, examples.labels), rel=1e-5)
    one = Split((words[:4] * 3,), np.repeat(np.arange(3), 4))
    task = Task("one", {"all": one}, Kind("groups"), ("a", "b", "c"))
    report = se.evaluate(lambda sentences: [rows[s] for s in sentences], task, name="x", cache=False)
    assert np.isnan(report["one"]["idb"])
    assert report["one"]["cl_one"] >= 0
    report.to_json(tmp_path / "report.json")
    assert np.isnan(se.evaluation.Report.load(tmp_path / "report.json")["one"]["idb"])
    report.to_html(tmp_path / "report.html")
    assert "not a number" in (tmp_path / "report.html").read_text()
