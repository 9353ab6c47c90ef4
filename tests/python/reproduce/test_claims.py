"""Claims that rows are equally good, or better."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sentencode.evaluation import Report, Split, Task, evaluate, task_kind
from sentencode.reproduce.claims import Claim, _between_seeds, _half_width, evaluated_claims


@pytest.mark.parametrize(
    ("within", "interval", "verdict"),
    [
        (1.0, (-0.9, 0.9), "holds"),
        (1.0, (0.1, 0.9), "holds"),
        (1.0, (-0.1, 1.1), "undecided"),
        (1.0, (1.1, 2.0), "differs"),
        (1.0, (-3.0, -1.1), "differs"),
        (None, (0.1, 5.0), "holds"),
        (None, (-0.1, 5.0), "undecided"),
        (None, (-5.0, -0.1), "differs"),
    ],
)
def test_verdicts(within, interval, verdict):
    assert Claim("", "a", "b", ("MR",), within).verdict(*interval) == verdict


class Predictor:
    """Embeddings that predict a fraction of the labels."""

    def __init__(self, share, seed=0):
        self.share, self.seed = share, seed

    def encode(self, sentences):
        rows = np.zeros((len(sentences), 2), np.float32)
        for row, sentence in zip(rows, sentences, strict=True):
            number, label = sentence if isinstance(sentence, list) else sentence.split()
            value = np.random.default_rng([int(number), self.seed]).random()
            row[int(label) if value < self.share else 1 - int(label)] = 1
        return rows


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    labels = np.arange(900) % 2
    sentences = [f"{i} {label}" for i, label in enumerate(labels)]
    parts = {"train": slice(0, 300), "test": slice(300, 900)}
    splits = {name: Split((sentences[part],), labels[part]) for name, part in parts.items()}
    task = Task("TREC", splits, task_kind("TREC"), ("0", "1"), partial=True)
    by_name = {}
    for name, encoders in {
        "good": [Predictor(0.95), Predictor(0.95, 1)],
        "as good": [Predictor(0.95), Predictor(0.95, 1)],
        "bad": [Predictor(0.7), Predictor(0.7, 1)],
    }.items():
        paths = [folder / f"{name} {i}.json" for i in range(len(encoders))]
        for encoder, path in zip(encoders, paths, strict=True):
            evaluate(encoder, [task], out=path, cache=False, tokens=True, resamples=50)
        by_name[name] = paths
    return by_name


def test_differences_are_those_of_the_means(reports):
    claims = [
        Claim("same", "good", "as good", ("TREC",), within=3.0),
        Claim("other", "good", "bad", ("TREC",)),
        Claim("better", "good", "bad", ("TREC",), within=None),
        Claim("worse", "bad", "good", ("TREC",), within=None),
        Claim("not there", "good", "nothing", ("TREC",)),
        Claim("no task", "good", "bad", ("MR",)),
    ]
    by_claim = {one["claim"]: one for one in evaluated_claims(claims, reports, 200)}
    assert set(by_claim) == {"same", "other", "better", "worse"}
    verdicts = {name: one["verdict"] for name, one in by_claim.items()}
    assert verdicts == {"same": "holds", "other": "differs", "better": "holds", "worse": "differs"}
    assert by_claim["same"]["value"] == 0
    assert by_claim["same"]["low"] < 0 < by_claim["same"]["high"]  # seeds vary
    assert 15 < by_claim["better"]["low"] < by_claim["better"]["value"] < by_claim["better"]["high"] < 35
    assert by_claim["worse"]["value"] == -by_claim["better"]["value"]
    assert evaluated_claims(claims, reports, 200) == list(by_claim.values())


def test_differences_are_paired(reports):
    one_seed = {row: paths[:1] for row, paths in reports.items()}
    (same, other) = evaluated_claims(
        [Claim("", "good", "as good", ("TREC",)), Claim("", "good", "bad", ("TREC", "MR"))], one_seed, 200
    )
    assert same["low"] == same["value"] == same["high"] == 0
    assert (same["seeds"], same["of"], other["of"], other["tasks"]) == (1, 1, 2, ["TREC"])
    # What differs is known of each example: the interval of paired differences, by the normal law.
    predictions = [Report.load(one_seed[row][0])["TREC"].predictions["test"] for row in ("good", "bad")]
    right = [(one.per_seed == one.gold)[0].astype(float) for one in predictions]
    half = 100 * 1.96 * np.std(right[0] - right[1]) / np.sqrt(len(right[0]))
    assert (other["high"] - other["low"]) / 2 == pytest.approx(half, rel=0.2)


def test_a_report_without_examples_is_refused(reports, tmp_path):
    content = json.loads(reports["good"][0].read_text())
    content["results"]["TREC"]["judged"] = {}
    path = tmp_path / "bare.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="does not hold the predictions for each example"):
        evaluated_claims([Claim("", "a", "b", ("TREC",))], {"a": [path], "b": [path]}, 20)


@pytest.mark.parametrize("seeds", [2, 3])
@pytest.mark.parametrize("examples", [0.0, 0.5])
def test_intervals_cover_the_true_difference_at_their_level(seeds, examples):
    rng, inside, runs = np.random.default_rng(3), 0, 1500
    for _ in range(runs):
        rows = rng.normal(0, 0.7, (6, seeds))  # of which none is better than another
        difference = rows[0].mean() - rows[1].mean() + rng.normal(0, examples**0.5)
        half = _half_width(examples, _between_seeds(rows.tolist()), [seeds, seeds])
        inside += abs(difference) <= half
    assert 0.935 <= inside / runs <= 0.975
