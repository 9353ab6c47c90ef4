"""scikit-learn's checks of estimators, with rows of numbers converted to texts.

`check_estimator` itself skips all but the first of these for estimators of text, so they run one by one.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils import estimator_checks

# Checks that every encoder passes. Left out are those that
# - need numbers: columns, a number of features, dtypes, sparse, complex, infinite or negative numbers,
#   separable classes (check_n_features_in, check_estimators_dtypes, check_classifiers_train, ...);
# - pass sample weights, which `fit` does not accept, or several labels per example;
# - are about clusterers, outlier detectors, sparse coefficients, or scikit-learn's parameter validation;
# - index texts by columns in other ways (check_transformer_general, check_methods_subset_invariance,
#   check_methods_sample_order_invariance; linear/test_invariance.py tests these).
CHECKS = [
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_estimators_fit_returns_self",
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_estimators_unfitted",
    "check_fit_check_is_fitted",
    "check_get_feature_names_out_error",
    "check_get_params_invariance",
    "check_parameters_default_constructible",
    "check_pipeline_consistency",
    "check_readonly_memmap_input",
    "check_requires_y_none",
    "check_set_params",
    "check_transformers_unfitted",
    "check_valid_tag_types",
]


class Texts(np.ndarray):
    """Texts that can be indexed as a table: `X[rows, :]`; `X[:, 0]`, for labels, is their lengths."""

    def __getitem__(self, key):
        if not isinstance(key, tuple):
            return super().__getitem__(key)
        rows, columns = key
        return np.array([len(text) for text in self[rows]]) if isinstance(columns, int) else self[rows]


def run(check, estimator, monkeypatch):
    """Runs a check of scikit-learn, by name."""
    words = list(estimator.vectors.words)

    def texts(estimator, X, *args, **kwargs):
        rows = np.asarray(X, dtype=float).reshape(len(X), -1)
        lines = [" ".join(words[int(abs(x) * 7) % len(words)] for x in row) for row in rows]
        return np.array(lines, dtype=object).view(Texts)

    monkeypatch.setattr(estimator_checks, "_enforce_estimator_tags_X", texts)
    function = getattr(estimator_checks, check, None)
    if function is None:
        pytest.skip("not in this version of scikit-learn")
    function(type(estimator).__name__, estimator)
