"""Tasks, how well scores agree with them, which system is better, and what was published of them."""

from __future__ import annotations

from . import plots
from .baselines import baseline
from .compare import Compared, Comparisons, Differing, compare
from .curves import learning_curve
from .data import (
    Kind,
    Split,
    Task,
    convert_coco_pickles,
    load_groups,
    load_task,
    load_tsv_task,
    task_kind,
    task_names,
)
from .embeddings import DegenerateEncoderError
from .evaluate import evaluate
from .html import write_html
from .metrics import (
    Interval,
    accuracy,
    bootstrap_difference,
    bootstrap_f1,
    bootstrap_interval,
    bootstrap_mean,
    cosine_of_pairs,
    f1,
    mean_squared_error,
    pearson,
    spearman,
)
from .paraphrase import (
    LinearDiscriminant,
    Paraphrases,
    cluster_classification,
    inverse_davies_bouldin,
    nearest_neighbours,
)
from .precomputed import Precomputed, sentences_of
from .protocols import PROTOCOLS, Protocol
from .published import Paper, PublishedFigure, published, published_for
from .report import Curve, Report, TaskResult
from .significance import (
    Comparison,
    mcnemar_test,
    paired_bootstrap,
    paired_bootstrap_correlation,
    paired_t_test,
    steiger_test,
    williams_test,
)

__all__ = [
    "PROTOCOLS",
    "Compared",
    "Comparison",
    "Comparisons",
    "Curve",
    "DegenerateEncoderError",
    "Differing",
    "Interval",
    "Kind",
    "LinearDiscriminant",
    "Paper",
    "Paraphrases",
    "Precomputed",
    "Protocol",
    "PublishedFigure",
    "Report",
    "Split",
    "Task",
    "TaskResult",
    "accuracy",
    "baseline",
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
    "sentences_of",
    "spearman",
    "steiger_test",
    "task_kind",
    "task_names",
    "williams_test",
    "write_html",
]
