"""Encoders in scikit-learn's hands."""

from __future__ import annotations

import pickle
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import sentencode as se

sklearn = pytest.importorskip("sklearn")
sys.path.insert(0, str(Path(__file__).parents[1] / "shared"))
import joblib
import sklearn_texts
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.validation import check_is_fitted


@pytest.fixture
def labelled(sentences):
    return sentences, np.array(["dog" in s.split() for s in sentences])


def test_clone(encoder):
    copy = clone(encoder)
    assert repr(copy) == repr(encoder)
    assert copy.vectors is encoder.vectors
    if not isinstance(encoder, se.Average):
        assert not copy.fitted


def test_is_fitted(encoder):
    check_is_fitted(encoder)
    if not isinstance(encoder, se.Average):
        with pytest.raises(Exception, match="not fitted"):
            check_is_fitted(clone(encoder))


def test_tags(encoder, unfitted):
    tags = get_tags(encoder)
    assert tags.input_tags.string
    assert tags.input_tags.one_d_array
    assert not tags.input_tags.two_d_array
    assert tags.transformer_tags is not None
    assert get_tags(unfitted).requires_fit is not isinstance(unfitted, se.Average)


def test_pipeline(unfitted, labelled):
    texts, labels = labelled
    pipeline = make_pipeline(unfitted, LogisticRegression(C=100, max_iter=10_000))
    assert pipeline.fit(texts, labels).score(texts, labels) > 0.7
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(pipeline)).predict(texts), pipeline.predict(texts)
    )
    assert len(cross_val_score(pipeline, texts, labels, cv=3)) == 3
    assert "LogisticRegression" in pipeline._repr_html_()
    assert pipeline[:-1].get_feature_names_out()[0] == f"{type(unfitted).__name__.lower()}0"


@pytest.mark.parametrize("jobs", [1, 2])
def test_grid_search(vectors, labelled, jobs):
    pipeline = make_pipeline(se.SIF(vectors), LogisticRegression(max_iter=10_000))
    grid = {"sif__components": [0, 2], "sif__a": [1e-3, None]}
    search = GridSearchCV(pipeline, grid, cv=2, n_jobs=jobs).fit(*labelled)
    assert len(search.cv_results_["params"]) == 4
    assert search.best_estimator_.named_steps["sif"].components in (0, 2)
    with pytest.raises(ValueError, match="SIF has no parameter 'component'"):
        GridSearchCV(pipeline, {"sif__component": [1]}, cv=2).fit(*labelled)


def test_union(vectors, sentences):
    union = make_union(se.Average(vectors), se.LAES(vectors, hidden=3, mode="hidden"))
    assert union.fit_transform(sentences).shape == (200, 9)
    assert isinstance(union, FeatureUnion)
    frame = union.set_output(transform="pandas").transform(sentences)
    assert frame.columns[-1] == "laes__laes2"


CHECKS = [
    *sklearn_texts.CHECKS,
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_fit2d_1feature",
    "check_fit_idempotent",
    "check_fit_score_takes_y",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_global_output_transform_pandas",
    "check_transformer_get_feature_names_out",
    "check_transformer_n_iter",
]
# Average needs no fit.
STATELESS = {
    "check_get_feature_names_out_error": None,
    "check_transformers_unfitted": "check_transformers_unfitted_stateless",
}


@pytest.mark.parametrize("check", CHECKS)
def test_checks_of_scikit_learn(check, unfitted, monkeypatch):
    if isinstance(unfitted, se.Average):
        check = STATELESS.get(check, check)
        if check is None:
            pytest.skip("needs no fit")
    sklearn_texts.run(check, unfitted, monkeypatch)


def test_not_fitted_error(unfitted):
    if isinstance(unfitted, se.Average):
        pytest.skip("needs no fit")
    with pytest.raises(NotFittedError, match="has not been fitted") as raised:
        unfitted.encode("the dog")
    assert isinstance(raised.value, se.NotFittedError)
    again = pickle.loads(pickle.dumps(raised.value))
    assert isinstance(again, NotFittedError)
    assert str(again) == str(raised.value)
    unfitted._forget()
    with pytest.raises(NotFittedError):  # raised by the core
        unfitted._model.solve()


def test_joblib(encoder, sentences, tmp_path):
    known = joblib.hash(encoder)
    encoder.encode(sentences[:3])
    again = pickle.loads(pickle.dumps(encoder))
    assert joblib.hash(encoder) == joblib.hash(again) == known
    if not isinstance(encoder, se.Average):
        assert joblib.hash(clone(encoder).fit(sentences[:100])) != known
    calls = []

    def encoded(encoder, sentences):
        calls.append(1)
        return encoder.encode(sentences)

    cached = joblib.Memory(tmp_path, verbose=0).cache(encoded)
    np.testing.assert_array_equal(cached(encoder, sentences), cached(again, sentences))
    assert calls == [1]


def test_a_data_frame_of_one_column(unfitted, sentences):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": sentences}, index=range(7, 207))
    rows = unfitted.fit(sentences).transform(sentences)
    np.testing.assert_array_equal(unfitted.fit_transform(frame), rows)
    np.testing.assert_array_equal(
        ColumnTransformer([("rows", unfitted, ["text"])]).fit_transform(frame), rows
    )
    np.testing.assert_array_equal(unfitted.set_output(transform="pandas").transform(frame).index, frame.index)
    with pytest.raises(TypeError, match=r"pass one of its columns: \['text', 'more'\]"):
        unfitted.encode(frame.assign(more=sentences))


def test_tags_of_older_releases(unfitted):
    assert unfitted._estimator_type is None


def test_check_estimator(unfitted):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that all but one are left out
        estimator_checks.check_estimator(unfitted)


def test_settings_of_scikit_learn_for_all(vectors, sentences):
    with sklearn.config_context(transform_output="pandas"):
        assert se.Average(vectors).transform(sentences).columns[0] == "average0"
    assert isinstance(se.Average(vectors).transform(sentences), np.ndarray)
