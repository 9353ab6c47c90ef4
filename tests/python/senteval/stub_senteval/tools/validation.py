from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression

from .classifier import PyTorchClassifier


class Binary:
    sentences = ("a cat sat", "the cat sat", "cat", "", "a dog", "the dog", "dog sat down", "a dog sat down")

    def do_prepare(self, params, prepare):
        self.samples = [s.split() for s in self.sentences]
        prepare(params, self.samples)

    def run(self, params, batcher):
        size = params.batch_size
        X = np.vstack(
            [batcher(params, self.samples[i : i + size]) for i in range(0, len(self.samples), size)]
        )
        y = np.array([1] * 4 + [0] * 4)
        if params.usepytorch:
            classifier = PyTorchClassifier(X.shape[1], 2)
            classifier.fit(X, y, validation_split=0.25)
        else:
            classifier = LogisticRegression(C=1.0, random_state=1111)
            classifier.fit(X, y)
        return {"acc": round(100 * classifier.score(X, y), 2), "ntest": len(y)}


class Inference(Binary):
    def run(self, params, batcher):
        X = batcher(params, self.samples)
        y = [0, 1, 2, 0, 1, 2, 0, 1]  # stays a list
        if params.usepytorch:
            classifier = PyTorchClassifier(X.shape[1], 3, cudaEfficient=True)
            accuracy = classifier.fit(X, y, validation_data=(X, y))
        else:
            accuracy = LogisticRegression(C=1e9, random_state=1111).fit(X, y).score(X, y)
        return {"acc": accuracy, "ntest": len(y)}
