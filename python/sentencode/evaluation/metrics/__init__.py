"""Metrics, classifiers, protocols, and results of tasks."""

from __future__ import annotations

from .baselines import baseline
from .bleu import Bleu, bleu
from .classifiers import Adam, Optimum, ScikitLearn
from .intervals import (
    Interval,
    bootstrap_difference,
    bootstrap_f1,
    bootstrap_interval,
    bootstrap_mean,
)
from .paraphrase import (
    LinearDiscriminant,
    Paraphrases,
    cluster_classification,
    inverse_davies_bouldin,
    nearest_neighbours,
)
from .protocols import PROTOCOLS, Protocol, protocol_named
from .results import Curve, SplitPredictions, TaskResult, Wrong
from .results import Judged as Judged  # the old name
from .retrieval import Ranking
from .scores import accuracy, cosine_of_pairs, f1, mean_squared_error, pearson, spearman
from .solver import LogisticSolutions, fit_logistic
from .untrained import average_precision

__all__ = [
    "PROTOCOLS",
    "Adam",
    "Bleu",
    "Curve",
    "Interval",
    "LinearDiscriminant",
    "LogisticSolutions",
    "Optimum",
    "Paraphrases",
    "Protocol",
    "Ranking",
    "ScikitLearn",
    "SplitPredictions",
    "TaskResult",
    "Wrong",
    "accuracy",
    "average_precision",
    "baseline",
    "bleu",
    "bootstrap_difference",
    "bootstrap_f1",
    "bootstrap_interval",
    "bootstrap_mean",
    "cluster_classification",
    "cosine_of_pairs",
    "f1",
    "fit_logistic",
    "inverse_davies_bouldin",
    "mean_squared_error",
    "nearest_neighbours",
    "pearson",
    "protocol_named",
    "spearman",
]
