"""Learns labels with a static model, and predicts those of the test examples. Three systems share the table.

The task is a JSON file with train, labels and test; the table a folder in model2vec's format.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np


def ours(folder, task):
    import sentencode as se

    encoder = se.TrainedAverage(se.load(folder))
    encoder.fit(examples(task["train"]), task["labels"])
    return encoder.predict, {"epochs": encoder.trial_.epochs}


def frozen(folder, task):
    """Logistic regression; C, and the features of pairs, are chosen by cross-validation."""
    from sklearn.linear_model import LogisticRegressionCV

    import sentencode as se

    encoder = se.load(folder)

    def features(rows, all_parts):
        if isinstance(rows[0], str):
            return encoder.encode(rows)
        u, v = (encoder.encode([row[side] for row in rows]) for side in range(2))
        return np.hstack([*([u, v] if all_parts else []), np.abs(u - v), u * v])

    choices = {}
    for all_parts in (False,) if isinstance(task["train"][0], str) else (False, True):
        x = features(task["train"], all_parts)
        scale = np.sqrt(np.mean(np.square(x)))
        model = LogisticRegressionCV(Cs=4.0 ** np.arange(-4, 2), cv=3, scoring="accuracy")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the next version, and at most 100 iterations, as by default
            model.fit(x / scale, task["labels"])
        accuracy = next(iter(model.scores_.values())).mean(axis=0).max()
        choices[float(accuracy), all_parts] = model, scale
    (_, all_parts), (model, scale) = max(choices.items(), key=lambda choice: choice[0])
    return lambda rows: model.predict(features(rows, all_parts) / scale), {}


def model2vec(folder, task):
    from model2vec import StaticModel
    from model2vec.train import StaticModelForClassification

    model = StaticModelForClassification.from_static_model(model=StaticModel.from_pretrained(folder))
    model.fit(task["train"], task["labels"], device="cpu")
    return model.predict, {}


def examples(rows):
    return rows if isinstance(rows[0], str) else [tuple(row) for row in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system", choices=["ours", "frozen", "model2vec"])
    parser.add_argument("--task", type=Path, required=True)
    parser.add_argument("--table", type=Path, required=True)
    args = parser.parse_args()
    task = json.loads(args.task.read_text(encoding="utf-8"))
    # Imports and a first fit are not counted: 20 examples of each class.
    few = [
        i for name in set(task["labels"]) for i in [k for k, y in enumerate(task["labels"]) if y == name][:20]
    ]
    fit = {"ours": ours, "frozen": frozen, "model2vec": model2vec}[args.system]
    fit(args.table, {"train": [task["train"][i] for i in few], "labels": [task["labels"][i] for i in few]})
    begin = time.perf_counter()
    predict, facts = fit(args.table, task)
    seconds = time.perf_counter() - begin
    predictions = [str(name) for name in predict(examples(task["test"]))]
    print(json.dumps({"seconds": seconds, "predictions": predictions, **facts}))


if __name__ == "__main__":
    main()
