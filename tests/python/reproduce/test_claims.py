"""What is said of rows that a paper calls equally good, or better."""

from __future__ import annotations

import numpy as np
import pytest

from sentencode.evaluation import Split, Task, evaluate, task_kind
from sentencode.reproduce.claims import Claim, judged_claims


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


class Knows:
    """Rows that tell a share of the labels."""

    def __init__(self, share, seed=0):
        self.share, self.seed = share, seed

    def encode(self, sentences):
        rows = np.zeros((len(sentences), 2), np.float32)
        for row, sentence in zip(rows, sentences, strict=True):
            number, label = sentence if isinstance(sentence, list) else sentence.split()
            drawn = np.random.default_rng([int(number), self.seed]).random()
            row[int(label) if drawn < self.share else 1 - int(label)] = 1
        return rows


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    labels = np.arange(900) % 2
    sentences = [f"{i} {label}" for i, label in enumerate(labels)]
    parts = {"train": slice(0, 300), "test": slice(300, 900)}
    splits = {name: Split((sentences[part],), labels[part]) for name, part in parts.items()}
    task = Task("TREC", splits, task_kind("TREC"), ("0", "1"), partial=True)
    made = {}
    for name, encoders in {
        "good": [Knows(0.95), Knows(0.95, 1)],
        "as good": [Knows(0.95), Knows(0.95, 1)],
        "bad": [Knows(0.7), Knows(0.7, 1)],
    }.items():
        paths = [folder / f"{name} {i}.json" for i in range(len(encoders))]
        for encoder, path in zip(encoders, paths, strict=True):
            evaluate(encoder, [task], out=path, cache=False, tokens=True, resamples=50)
        made[name] = paths
    return made


def test_differences_are_those_of_the_means(reports):
    claims = [
        Claim("same", "good", "as good", ("TREC",), within=3.0),
        Claim("other", "good", "bad", ("TREC",)),
        Claim("better", "good", "bad", ("TREC",), within=None),
        Claim("worse", "bad", "good", ("TREC",), within=None),
        Claim("not there", "good", "nothing", ("TREC",)),
        Claim("no task", "good", "bad", ("MR",)),
    ]
    found = {one["claim"]: one for one in judged_claims(claims, reports, 200)}
    assert set(found) == {"same", "other", "better", "worse"}
    verdicts = {name: one["verdict"] for name, one in found.items()}
    assert verdicts == {"same": "holds", "other": "differs", "better": "holds", "worse": "differs"}
    assert found["same"]["value"] == 0
    assert found["same"]["low"] < 0 < found["same"]["high"]  # seeds are drawn for each row by itself
    assert 15 < found["better"]["low"] < found["better"]["value"] < found["better"]["high"] < 35
    assert found["worse"]["value"] == -found["better"]["value"]
    assert judged_claims(claims, reports, 200) == list(found.values())
