"""Result of one encoder on one task: scores, intervals, and the predictions of all examples."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data import Split
from .intervals import Interval
from .scores import ranks_apart

__all__ = ["Curve", "SplitPredictions", "TaskResult", "Wrong", "examples_of", "is_class", "labelled", "plain"]

# Old name, in pickles and in part in the format of reports -> attribute.
_ATTRIBUTES = {"places": "indices", "judged": "predictions", "drawn": "resampled"}
# Scores that represent a task without a correlation of subsets; the last one is that of results of mteb.
_HEADLINES = ("acc", "pearson", "nn_cosine", "ap", "v_measure", "nearest", "few_shot", "ndcg10", "main_score")
# Further scores that tables show of a task, by its headline score.
_BELOW = {
    "acc": ("f1",),
    "nn_cosine": ("nn_l2", "cl_one", "cl_half", "idb"),
    "ndcg10": ("recall10", "mrr10"),
    "t2i.r1": ("t2i.r5", "t2i.r10", "t2i.medr", "i2t.r1", "i2t.r5", "i2t.r10", "i2t.medr"),
}


def _renamed(old: str, new: str) -> Any:
    """The property of the old name of an attribute."""

    def read(self: Any) -> Any:
        warnings.warn(f"{old} is now {new}", DeprecationWarning, stacklevel=2)
        return getattr(self, new)

    return property(read, doc=f"The old name of `{new}`.")


@dataclass(frozen=True, eq=False)
class SplitPredictions:
    """Predictions and gold labels of the examples of a split.

    Attributes:
        split: Name of the split.
        indices: Indices of the examples in the split.
        predicted: Predicted classes or scores; those of the first seed, if there are several. For few shots,
            the number of classifiers that are right.
        gold: Gold classes or scores. For few shots, the number of classifiers that tested the example.
        by_seed: Predictions of each of several seeds, `(seeds, examples)`.
        keys: Hash of each example's sentences, which identifies examples that tasks share. None: unknown, as
            in reports of older versions.
    """

    split: str
    indices: NDArray[np.int64]
    predicted: NDArray[Any]
    gold: NDArray[Any]
    by_seed: NDArray[Any] | None = None
    keys: NDArray[np.int64] | None = None

    @property
    def per_seed(self) -> NDArray[Any]:
        """Predictions of each seed, `(seeds, examples)`; with one seed `(1, examples)`."""
        return self.predicted[None] if self.by_seed is None else self.by_seed

    places = _renamed("SplitPredictions.places", "indices")
    said = _renamed("SplitPredictions.said", "per_seed")

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({_ATTRIBUTES.get(key, key): value for key, value in state.items()})


Judged = SplitPredictions  # the old name, which pickles have


class Wrong(NamedTuple):
    """An example with a wrong prediction."""

    sentences: tuple[str, ...]
    gold: Any
    predicted: Any


@dataclass(frozen=True)
class Curve:
    """Scores as a function of the number of training examples, or of training steps.

    Attributes:
        x: Positions, in rising order.
        y: Scores.
        low: Lower ends of the confidence intervals; empty if there are none.
        high: Upper ends.
        x_label: Label of the x axis.
        y_label: Label of the y axis, with the unit.
        logarithmic: Whether the x axis is logarithmic.
        data: Digest of the task's examples; empty if unknown.

    Raises:
        ValueError: There is no point, lengths differ, `x` does not rise, a number is not finite, or the x
            axis is logarithmic and `x` is not positive.

    Example:
        >>> from sentencode.evaluation import Curve
        >>> curve = Curve((100, 200), (61.5, 70), x_label="step", y_label="accuracy, percent")
        >>> curve.y
        (61.5, 70.0)
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    x_label: str = "training examples"
    y_label: str = "accuracy, percent"
    logarithmic: bool = False
    data: str = ""

    def __post_init__(self) -> None:
        for name in ("x", "y", "low", "high"):
            values = tuple(float(value) for value in getattr(self, name))
            if not all(map(math.isfinite, values)):
                raise ValueError(f"{name} must be finite, got {values}")
            object.__setattr__(self, name, values)
        if not self.x:
            raise ValueError("a curve has at least one point")
        for name in ("y", "low", "high"):
            if len(getattr(self, name)) != len(self.x) and (name == "y" or self.low or self.high):
                raise ValueError(
                    f"x and {name} must be equally long, got {len(self.x)} and {len(getattr(self, name))}"
                )
        if any(b <= a for a, b in zip(self.x, self.x[1:], strict=False)):
            raise ValueError(f"x must rise, got {self.x}")
        if self.logarithmic and self.x[0] <= 0:
            raise ValueError(f"x must be positive to be drawn logarithmically, got {self.x[0]}")


@dataclass(eq=False)
class TaskResult(Mapping[str, Any]):
    """Scores of one task: a mapping with SentEval's keys.

    Attributes:
        task: Name of the task.
        figures: SentEval's keys and values: accuracies in percent, correlations from -1 to 1.
        intervals: Confidence intervals; keys of nested scores are joined by dots.
        predictions: Predictions of all examples, by split.
        details: The protocol, how pairs were scored, the chosen penalties, the convergence of the solver
            (largest gradient and its tolerance, largest gap, most iterations, number of fits and of those
            that stopped short), seconds.
        error: Why there are no scores; None if there are.
        splits: The task's examples; None for a report that was read from a file.
        resampled: Cache of resampled scores, by the number of resamples and the seed.
    """

    task: str
    figures: dict[str, Any] = field(default_factory=dict)
    intervals: dict[str, Interval] = field(default_factory=dict)
    predictions: dict[str, SplitPredictions] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    splits: dict[str, Split] | None = field(default=None, repr=False)
    resampled: dict[tuple[int, int], NDArray[np.float64]] = field(
        default_factory=dict, init=False, repr=False
    )

    judged = _renamed("TaskResult.judged", "predictions")

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({_ATTRIBUTES.get(key, key): value for key, value in state.items()})

    def __getitem__(self, key: str) -> Any:
        if self.error is not None:
            raise KeyError(f"{self.task} has no {key!r}: {self.error}")
        return self.figures[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.figures)

    def __len__(self) -> int:
        return len(self.figures)

    def figure(self, key: str) -> float:
        """A score by its key, with dots for nested keys: `"all.pearson.wmean"`.

        Raises:
            KeyError: There is no such score.
        """
        value: Any = self.figures
        rest = key
        while rest and isinstance(value, Mapping):
            # Names of subsets contain dots.
            first = max((k for k in value if rest == k or rest.startswith(f"{k}.")), key=len, default=None)
            if first is None:
                break
            value, rest = value[first], rest[len(first) + 1 :]
        if rest or isinstance(value, Mapping):
            why = self.error or f"there are {', '.join(self.figures)}"
            raise KeyError(f"{self.task} has no figure {key!r}: {why}")
        return float(value[0] if isinstance(value, tuple) else value)

    def deviation(self, key: str) -> float | None:
        """Standard deviation of a score over seeds or repetitions; None without any."""
        deviation = self.details.get("deviations", {}).get(key)
        return None if deviation is None else float(deviation)

    @property
    def scored(self) -> str | None:
        """How pairs were scored; None for tasks without a correlation.

        `"learnt"`: by a regression that was trained on the task's training pairs. `"cosine"`: by the cosine
        of the two embeddings, without training. Or the name of the protocol's `similarity`. Learnt and
        untrained scores are not comparable and never averaged.
        """
        if "scored" in self.details:
            return str(self.details["scored"])
        if not self.figures or "pearson" not in self.headline:
            return None
        return "learnt" if self.headline == "pearson" else "cosine"  # reports of older versions

    @property
    def label(self) -> str:
        """Name of the task in tables and charts, for correlations with how pairs were scored.

        Example:
            >>> from sentencode.evaluation import TaskResult
            >>> TaskResult("STSBenchmark", {"pearson": 0.7}).label
            'STSBenchmark, learnt'
            >>> TaskResult("STSBenchmarkCosine", {"test": {"pearson": (0.7, 0.0)}}).label
            'STSBenchmarkCosine'
            >>> TaskResult("MR", {"acc": 77.5}).label
            'MR'
        """
        return labelled(self.task, self.scored)

    @property
    def headline(self) -> str:
        """Key of the score that represents the task in averages and charts.

        Raises:
            KeyError: The task has no score.
        """
        if not self.figures:
            raise KeyError(f"{self.task} has no figure: {self.error}")
        if "t2i" in self.figures:  # "acc" has all recalls
            return "t2i.r1"
        for key in _HEADLINES:
            if key in self.figures:
                return key
        split = next((name for name in ("all", "test") if name in self.figures), next(iter(self.figures)))
        if not isinstance(self.figures[split]["pearson"], dict):
            return f"{split}.pearson"
        # Subsets are averaged in three ways; a single one is not.
        subsets = [name for name in self.figures if name != "all"]
        if len(subsets) == 1:
            return f"{subsets[0]}.pearson"
        return f"{split}.pearson.{'wmean' if subsets else 'pooled'}"  # mteb has the latter only

    @property
    def shown(self) -> list[str]:
        """Keys of the scores that tables show, the headline first.

        Raises:
            KeyError: The task has no score.

        Example:
            >>> from sentencode.evaluation import TaskResult
            >>> TaskResult("MRPC", {"devacc": 74.1, "acc": 73.2, "f1": 81.5, "ntest": 1725}).shown
            ['acc', 'f1']
        """
        headline = self.headline
        prefix, pearson, kind = headline.rpartition("pearson")
        if pearson:
            kinds = (".wmean", ".mean", ".pooled") if kind else ("",)
            keys = [f"{prefix}{figure}{kind}" for figure in ("pearson", "spearman") for kind in kinds]
        else:
            keys = [headline, *_BELOW.get(headline, ())]
        return [key for key in keys if self._has(key)]

    def _has(self, key: str) -> bool:
        try:
            self.figure(key)
        except KeyError:
            return False
        return True

    def wrong(self, limit: int | None = None) -> list[Wrong]:
        """Misclassified examples; for scores, all examples by the difference of predicted and gold ranks.

        The ranks are those in a split, divided by its size. For few shots, the examples that a classifier got
        wrong.

        Args:
            limit: Maximum number of examples.

        Raises:
            ValueError: The report was read from a file, which has no sentences.
        """
        splits = examples_of(self)
        wrong: list[tuple[float, Wrong]] = []
        for predictions in self.predictions.values():
            predicted, gold = predictions.predicted, predictions.gold
            if is_class(gold):
                apart = np.ones(len(gold))
                order = np.flatnonzero(predicted != gold)
            else:
                apart = ranks_apart(predicted, gold) / len(gold)
                order = np.argsort(-apart, kind="stable")
            for i in order[:limit]:
                sentences = tuple(
                    side[predictions.indices[i]] for side in splits[predictions.split].sentences
                )
                wrong.append((-apart[i], Wrong(sentences, gold[i].item(), predicted[i].item())))
        return [example for _, example in sorted(wrong, key=lambda pair: pair[0])[:limit]]

    def to_dict(self) -> dict[str, Any]:
        """The result without sentences, as JSON values."""
        return {
            "figures": plain(self.figures),
            "intervals": plain(self.intervals),
            "judged": {
                name: {
                    "places": predictions.indices.tolist(),
                    "predicted": predictions.predicted.tolist(),
                    "gold": predictions.gold.tolist(),
                    **{
                        key: row.tolist()
                        for key, row in (("by_seed", predictions.by_seed), ("keys", predictions.keys))
                        if row is not None
                    },
                }
                for name, predictions in self.predictions.items()
            },
            "details": plain(self.details),
            "error": self.error,
        }

    @classmethod
    def from_dict(cls, task: str, values: Mapping[str, Any]) -> TaskResult:
        """Result from the values of `to_dict`."""
        predictions = {
            name: SplitPredictions(
                name, **{_ATTRIBUTES.get(key, key): np.asarray(row) for key, row in rows.items()}
            )
            for name, rows in values["judged"].items()
        }
        intervals = {key: Interval(*map(float, ends)) for key, ends in values["intervals"].items()}
        figures = _figures(values["figures"])
        return cls(task, figures, intervals, predictions, values["details"], values["error"])


def labelled(task: str, scored: str | None) -> str:
    """Name of a task with how its pairs are scored, unless the name has it."""
    return task if not scored or scored in task.lower() else f"{task}, {scored}"


def is_class(gold: NDArray[Any]) -> bool:
    """Whether gold labels are classes, not scores."""
    return bool(np.issubdtype(gold.dtype, np.integer))


def examples_of(*results: TaskResult) -> dict[str, Split]:
    """The examples of a task, from the first result that has them."""
    for result in results:
        if result.splits is not None:
            return result.splits
    raise ValueError(f"{results[0].task}: the sentences are not part of a saved report; evaluate again")


def plain(value: Any) -> Any:
    """A value for JSON, in which NaN and infinity are strings."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _figures(value: Any) -> Any:
    """Scores from JSON: SentEval's pairs (correlation, p-value) are tuples, `yhat` an array."""
    if isinstance(value, dict):
        return {key: np.asarray(item) if key == "yhat" else _figures(item) for key, item in value.items()}
    if isinstance(value, list):
        # Recalls are a list of tuples.
        return [tuple(recalls) for recalls in value] if value and isinstance(value[0], list) else tuple(value)
    return float(value) if isinstance(value, str) else value
