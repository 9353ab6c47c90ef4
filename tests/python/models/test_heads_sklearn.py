"""An encoder with a classifier head is a classifier to scikit-learn, to pandas and to joblib."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")
models = pytest.importorskip("sentencode.models")
sys.path.insert(0, str(Path(__file__).parents[1] / "shared"))
import joblib
import sklearn_texts
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    check_cv,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline

import sentencode as se

WORDS = ["good", "fine", "bad", "poor", "the", "film", "was", "story"]
ROWS = np.random.default_rng(0).normal(size=(8, 6)).astype(np.float32)
ROWS[:2, 0], ROWS[2:4, 0] = 3, -3
VECTORS = se.WordVectors.from_array(WORDS, ROWS)
TEXTS = [f"the {thing} was {kind}" for thing in ("film", "story") * 6 for kind in WORDS[:4]]
LABELS = np.array([{"good": "pos", "fine": "pos"}.get(text.split()[-1], "neg") for text in TEXTS])


def classifier(head=None, **options):
    chosen = {"max_epochs": None, "max_steps": 60, "learning_rate": 0.02, "device": "cpu", **options}
    return se.GeneralizedPooling(
        VECTORS, preset="infersent", characters=False, hidden=16, layers=1,
        head=se.Classifier(hidden=16, layers=1, dropout=0.0) if head is None else head, **chosen,
    )  # fmt: skip


@pytest.fixture(scope="module")
def fitted():
    return classifier().fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (se.Classifier(), "classifier"),
        ("Classifier", "classifier"),
        ({"kind": "Classifier", "layers": 0}, "classifier"),
        (se.CosineRegression(), "regressor"),
        (se.RowRegression(), None),
        (se.Triplet(), None),
        ("no such head", None),  # which fit refuses
    ],
    ids=str,
)
def test_tags(head, kind):
    encoder = classifier(head)
    assert (is_classifier(encoder), is_regressor(encoder)) == (kind == "classifier", kind == "regressor")
    assert encoder._estimator_type == kind  # what releases before 1.6 look at
    assert not is_classifier(se.LSTMSDAE(VECTORS))
    assert not is_classifier(se.SIF(VECTORS))


def test_cross_validation():
    assert isinstance(check_cv(3, LABELS, classifier=is_classifier(classifier())), StratifiedKFold)
    assert cross_val_score(classifier(), TEXTS, LABELS, cv=2, scoring="roc_auc").min() > 0.9
    assert set(cross_val_predict(classifier(), np.array(TEXTS, object), LABELS, cv=2)) == {"pos", "neg"}
    search = GridSearchCV(classifier(), {"head": [se.Classifier(hidden=4, layers=n) for n in (0, 1)]}, cv=2)
    assert search.fit(TEXTS, LABELS).best_score_ > 0.9


def test_options_of_heads_are_parameters():
    head = se.Classifier(hidden=4)
    for encoder in (classifier(head), se.TrainedAverage(VECTORS, head=head)):
        assert encoder.get_params()["head__hidden"] == 4
        copy = clone(encoder).set_params(head__class_weight="balanced")
        assert (copy.head, encoder.head) == (se.Classifier(hidden=4, class_weight="balanced"), head)
        with pytest.raises(ValueError, match=r"no parameter 'head__hiden'; its head has .*'hidden'"):
            encoder.set_params(head__hiden=3)
        with pytest.raises(ValueError, match="class_weight must be"):
            encoder.set_params(head__class_weight="equal")
    chosen = {"head__class_weight": [None, "balanced"]}
    search = GridSearchCV(se.TrainedAverage(VECTORS, head=se.Classifier()), chosen, cv=2).fit(TEXTS, LABELS)
    assert search.best_params_.keys() == chosen.keys()


@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_voting(voting):
    other = make_pipeline(se.Average(VECTORS), LogisticRegression())
    voters = VotingClassifier([("head", classifier()), ("other", other)], voting=voting).fit(TEXTS, LABELS)
    assert voters.score(TEXTS, LABELS) > 0.9


def test_calibration():
    calibrated = CalibratedClassifierCV(classifier(), cv=2).fit(TEXTS, LABELS)
    np.testing.assert_allclose(calibrated.predict_proba(TEXTS[:5]).sum(axis=1), 1)
    assert calibrated.score(TEXTS, LABELS) > 0.9


def test_parameters_are_stored_unchanged():
    head, betas = {"kind": "Classifier", "dropout": 7}, [0.5]  # neither can be used: fit says so
    encoder = se.GeneralizedPooling("no such file", head=head, betas=betas, hidden="many", preset="none")
    assert (encoder.head, encoder.betas, encoder.vectors) == (head, betas, "no such file")
    assert encoder.head is head
    assert not encoder.fitted
    copy = clone(encoder).set_params(head=se.Classifier(), hidden=3)
    assert (copy.hidden, encoder.hidden) == (3, "many")
    with pytest.raises(ValueError, match="preset must be one of"):
        encoder.fit(TEXTS, LABELS)
    with pytest.raises(NotFittedError):
        encoder.predict(TEXTS)


def test_joblib(fitted, tmp_path):
    again, known = pickle.loads(pickle.dumps(fitted)), joblib.hash(fitted)
    again.predict(TEXTS[:3])
    assert joblib.hash(again) == joblib.hash(fitted) == known
    fit = joblib.Memory(tmp_path, verbose=0).cache(lambda encoder, texts, y: encoder.fit(texts, y))
    first, second = (fit(classifier(), TEXTS, LABELS) for _ in range(2))
    assert first is not second
    np.testing.assert_array_equal(second.predict_proba(TEXTS), first.predict_proba(TEXTS))
    weight = next(fitted.network.parameters())
    changed = pickle.loads(pickle.dumps(fitted))
    next(changed.network.parameters()).data.add_(weight.new_ones(1))
    assert joblib.hash(changed) != known


def test_data_frames_of_one_column(fitted):
    pandas = pytest.importorskip("pandas")
    texts, labels = pandas.DataFrame({"text": TEXTS}), pandas.DataFrame({"label": LABELS})
    assert fitted.score(texts, labels) == fitted.score(TEXTS, LABELS)
    np.testing.assert_array_equal(classifier().fit(texts, labels).encode(texts), fitted.encode(TEXTS))
    with pytest.raises(TypeError, match=r"y is a DataFrame; pass one of its columns: \['a', 'b'\]"):
        classifier().fit(texts, pandas.DataFrame({"a": LABELS, "b": LABELS}))


CHECKS = [*sklearn_texts.CHECKS, "check_classifiers_classes", "check_fit2d_1sample"]
# Left out here, too, are checks that
# - read parameters from the constructor's signature: families share theirs as **shared
#   (check_no_attributes_set_in_init, check_do_not_raise_errors_in_init_or_set_params);
# - call partial_fit, which neural encoders lack (check_fit_score_takes_y);
# - have 0.5 as a label (check_classifiers_regression_target).


@pytest.mark.parametrize("check", CHECKS)
def test_checks_of_scikit_learn(check, monkeypatch):
    sklearn_texts.run(check, classifier(max_steps=2), monkeypatch)
