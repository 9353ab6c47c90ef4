"""Evaluation of sentence encoders: tasks, metrics, significance tests, reports and published scores."""

from __future__ import annotations

import sys
from importlib import import_module

from .compare import Compared, Comparisons, Differing, compare
from .data import (
    Kind,
    Labelled,
    Split,
    Task,
    convert_coco_pickles,
    load_groups,
    load_nli_task,
    load_task,
    load_tsv_task,
    read_labelled,
    task_kind,
    task_names,
)
from .decontamination import Decontaminator
from .embeddings import DegenerateEncoderError
from .evaluate import evaluate
from .learning_curve import learning_curve
from .metrics import (
    PROTOCOLS,
    Bleu,
    Curve,
    Interval,
    LinearDiscriminant,
    Paraphrases,
    Protocol,
    TaskResult,
    accuracy,
    average_precision,
    baseline,
    bleu,
    bootstrap_difference,
    bootstrap_f1,
    bootstrap_interval,
    bootstrap_mean,
    cluster_classification,
    cosine_of_pairs,
    f1,
    inverse_davies_bouldin,
    mean_squared_error,
    nearest_neighbours,
    pearson,
    spearman,
)
from .precomputed import Precomputed, sentences_of
from .ranking import Ranked, RankedEncoders, rank
from .report import Paper, PublishedFigure, Report, plots, published, published_for, write_html
from .statistics.correlation_tests import paired_bootstrap_correlation, steiger_test, williams_test
from .statistics.significance import Comparison, mcnemar_test, paired_bootstrap, paired_t_test

__all__ = [
    "PROTOCOLS",
    "Bleu",
    "Compared",
    "Comparison",
    "Comparisons",
    "Curve",
    "Decontaminator",
    "DegenerateEncoderError",
    "Differing",
    "Interval",
    "Kind",
    "Labelled",
    "LinearDiscriminant",
    "Paper",
    "Paraphrases",
    "Precomputed",
    "Protocol",
    "PublishedFigure",
    "Ranked",
    "RankedEncoders",
    "Report",
    "Split",
    "Task",
    "TaskResult",
    "accuracy",
    "average_precision",
    "baseline",
    "bleu",
    "bootstrap_difference",
    "bootstrap_f1",
    "bootstrap_interval",
    "bootstrap_mean",
    "cluster_classification",
    "compare",
    "convert_coco_pickles",
    "cosine_of_pairs",
    "evaluate",
    "f1",
    "inverse_davies_bouldin",
    "learning_curve",
    "load_groups",
    "load_nli_task",
    "load_task",
    "load_tsv_task",
    "mcnemar_test",
    "mean_squared_error",
    "nearest_neighbours",
    "paired_bootstrap",
    "paired_bootstrap_correlation",
    "paired_t_test",
    "pearson",
    "plots",
    "published",
    "published_for",
    "rank",
    "read_labelled",
    "sentences_of",
    "spearman",
    "steiger_test",
    "task_kind",
    "task_names",
    "williams_test",
    "write_html",
]

# Old names of modules, which programs and pickles may have.
_MOVED = {
    "metrics": ("baselines", "classifiers", "paraphrase", "protocols", "relatedness", "retrieval", "solver"),
    "statistics": ("significance",),
    "report": ("averages", "html", "plots", "published"),
}
for _package, _names in _MOVED.items():
    for _name in _names:
        _module = import_module(f"{__name__}.{_package}.{_name}")
        sys.modules[f"{__name__}.{_name}"] = _module
        globals().setdefault(_name, _module)


def __dir__() -> list[str]:
    return sorted(__all__)
