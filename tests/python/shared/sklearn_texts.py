"""scikit-learn's own checks for estimators of text: each row of a table of numbers becomes a text."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils import estimator_checks


class Texts(np.ndarray):
    """Texts indexed as tables are: `X[rows, :]`; `X[:, 0]`, which labels are made of, is their lengths."""

    def __getitem__(self, key):
        if not isinstance(key, tuple):
            return super().__getitem__(key)
        rows, columns = key
        return np.array([len(text) for text in self[rows]]) if isinstance(columns, int) else self[rows]


def run(check, estimator, monkeypatch):
    words = list(estimator.vectors.words)

    def texts(estimator, X, *args, **kwargs):
        rows = np.asarray(X, dtype=float).reshape(len(X), -1)
        made = [" ".join(words[int(abs(x) * 7) % len(words)] for x in row) for row in rows]
        return np.array(made, dtype=object).view(Texts)

    monkeypatch.setattr(estimator_checks, "_enforce_estimator_tags_X", texts)
    function = getattr(estimator_checks, check, None)
    if function is None:
        pytest.skip("not in this version of scikit-learn")
    function(type(estimator).__name__, estimator)
