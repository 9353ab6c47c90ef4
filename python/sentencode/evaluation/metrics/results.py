"""What judging finds of one encoder on one task: figures, intervals, and what was said of each example."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data import Split
from .intervals import Interval
from .scores import ranks_apart

__all__ = ["Curve", "Judged", "TaskResult", "Wrong", "examples_of", "is_class", "labelled", "plain"]

# What tables show of a task below its headline, where it is there.
_BELOW = {
    "acc": ("f1",),
    "nn_cosine": ("nn_l2", "cl_one", "cl_half", "idb"),
    "t2i.r1": ("t2i.r5", "t2i.r10", "t2i.medr", "i2t.r1", "i2t.r5", "i2t.r10", "i2t.medr"),
}


@dataclass(frozen=True, eq=False)
class Judged:
    """What an encoder said of each example, beside what is right.

    Attributes:
        split: Which examples they are from.
        places: Their numbers in it.
        predicted: Classes, or scores; of several seeds the first one's.
        gold: The same, as it should be.
        by_seed: Of several seeds, what each said, `(seeds, examples)`.
        keys: A number for each example, the same for the same sentences in all tasks: averages need to know
            which examples tasks share. None: of reports that were saved before there were any.
    """

    split: str
    places: NDArray[np.int64]
    predicted: NDArray[Any]
    gold: NDArray[Any]
    by_seed: NDArray[Any] | None = None
    keys: NDArray[np.int64] | None = None

    @property
    def said(self) -> NDArray[Any]:
        """What each seed said, `(seeds, examples)`; without several there is one."""
        return self.predicted[None] if self.by_seed is None else self.by_seed


class Wrong(NamedTuple):
    """An example that was judged wrongly."""

    sentences: tuple[str, ...]
    gold: Any
    predicted: Any


@dataclass(frozen=True)
class Curve:
    """Scores along something: the number of training examples, or the steps of a training.

    Attributes:
        x: Where it was measured, in rising order.
        y: The scores there.
        low: The lower ends of their intervals; empty where there are none.
        high: The upper ends.
        x_label: What `x` counts.
        y_label: What `y` is, and its unit.
        logarithmic: Whether `x` is drawn so.
        data: Tells the examples of a task's curve from all others; empty where they are not known.

    Raises:
        ValueError: There is no point, lengths differ, `x` does not rise, a number is not finite, or `x` is to
            be drawn logarithmically and is not positive.

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
    """The figures of one task: a mapping with SentEval's keys.

    Attributes:
        task: Its name.
        figures: SentEval's keys and values: accuracies in percent, correlations from -1 to 1.
        intervals: Where figures lie for other examples of the same kind; keys of nested figures are joined
            by dots.
        judged: Each example, by split.
        details: The protocol, how pairs were scored, the penalties that were chosen, the largest gradient and
            the tolerance for it, the largest gap, the most iterations, how many classifiers were fitted and
            how many ended short of their optimum, seconds.
        error: Why there are no figures, where there are none.
        splits: The task's examples, as long as the report is not one that was read from a file.
        drawn: Its figure on resamples, by their number and seed, once an average asked for it.
    """

    task: str
    figures: dict[str, Any] = field(default_factory=dict)
    intervals: dict[str, Interval] = field(default_factory=dict)
    judged: dict[str, Judged] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    splits: dict[str, Split] | None = field(default=None, repr=False)
    drawn: dict[tuple[int, int], NDArray[np.float64]] = field(default_factory=dict, init=False, repr=False)

    def __getitem__(self, key: str) -> Any:
        if self.error is not None:
            raise KeyError(f"{self.task} has no {key!r}: {self.error}")
        return self.figures[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.figures)

    def __len__(self) -> int:
        return len(self.figures)

    def figure(self, key: str) -> float:
        """A figure by a key with dots for what is nested: `"all.pearson.wmean"`.

        Raises:
            KeyError: There is none of that key.
        """
        value: Any = self.figures
        rest = key
        while rest and isinstance(value, Mapping):
            # Names of subsets have dots of their own.
            found = max((k for k in value if rest == k or rest.startswith(f"{k}.")), key=len, default=None)
            if found is None:
                break
            value, rest = value[found], rest[len(found) + 1 :]
        if rest or isinstance(value, Mapping):
            why = self.error or f"there are {', '.join(self.figures)}"
            raise KeyError(f"{self.task} has no figure {key!r}: {why}")
        return float(value[0] if isinstance(value, tuple) else value)

    def deviation(self, key: str) -> float | None:
        """The standard deviation of a figure over seeds or repetitions, where there were some."""
        found = self.details.get("deviations", {}).get(key)
        return None if found is None else float(found)

    @property
    def scored(self) -> str | None:
        """How pairs got the scores that are correlated with people's; None: the task is of another kind.

        `"learnt"`: by a regression that was trained on the task's own training pairs. `"cosine"`: by the
        cosine of the two vectors, with nothing trained. Or the name of the protocol's `similarity`. Figures
        of the two kinds do not compare, and no mean is over both.
        """
        if "scored" in self.details:
            return str(self.details["scored"])
        if not self.figures or "pearson" not in self.headline:
            return None
        return "learnt" if self.headline == "pearson" else "cosine"  # of reports of before it was kept

    @property
    def label(self) -> str:
        """The task as tables and pictures call it: a correlation says whether scores were learnt.

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
        """The key of the figure that stands for the task: in averages, in bars, in the first of its rows.

        Raises:
            KeyError: The task has no figure.
        """
        if not self.figures:
            raise KeyError(f"{self.task} has no figure: {self.error}")
        if "t2i" in self.figures:  # whose acc are recalls
            return "t2i.r1"
        for key in ("acc", "pearson", "nn_cosine"):
            if key in self.figures:
                return key
        split = next((name for name in ("all", "test") if name in self.figures), next(iter(self.figures)))
        if not isinstance(self.figures[split]["pearson"], dict):
            return f"{split}.pearson"
        # Of subsets there is an average, in three ways; a single one is its own.
        subsets = [name for name in self.figures if name != "all"]
        return f"{subsets[0]}.pearson" if len(subsets) == 1 else f"{split}.pearson.wmean"

    @property
    def shown(self) -> list[str]:
        """The keys of the figures that tables show, the headline first.

        Raises:
            KeyError: The task has no figure.

        Example:
            >>> from sentencode.evaluation import TaskResult
            >>> TaskResult("MRPC", {"devacc": 74.1, "acc": 73.2, "f1": 81.5, "ntest": 1725}).shown
            ['acc', 'f1']
        """
        headline = self.headline
        of, pearson, kind = headline.rpartition("pearson")
        if pearson:
            kinds = (".wmean", ".mean", ".pooled") if kind else ("",)
            keys = [f"{of}{figure}{kind}" for figure in ("pearson", "spearman") for kind in kinds]
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
        """The examples that were classified wrongly, or whose rank among all scores is farthest from right.

        Args:
            limit: How many at most.

        Returns:
            The examples, the worst first where there are degrees.

        Raises:
            ValueError: The report was read from a file, which has no sentences.
        """
        splits = examples_of(self)
        found = []
        for judged in self.judged.values():
            if is_class(judged.gold):
                order = np.flatnonzero(judged.predicted != judged.gold)
            else:
                order = np.argsort(-ranks_apart(judged.predicted, judged.gold), kind="stable")
            for i in order[:limit]:
                place = judged.places[i]
                sentences = tuple(side[place] for side in splits[judged.split].sentences)
                found.append(Wrong(sentences, judged.gold[i].item(), judged.predicted[i].item()))
        return found[:limit]

    def to_dict(self) -> dict[str, Any]:
        """Everything but the sentences, as JSON has it."""
        return {
            "figures": plain(self.figures),
            "intervals": plain(self.intervals),
            "judged": {
                name: {
                    "places": judged.places.tolist(),
                    "predicted": judged.predicted.tolist(),
                    "gold": judged.gold.tolist(),
                    **{
                        key: row.tolist()
                        for key, row in (("by_seed", judged.by_seed), ("keys", judged.keys))
                        if row is not None
                    },
                }
                for name, judged in self.judged.items()
            },
            "details": plain(self.details),
            "error": self.error,
        }

    @classmethod
    def from_dict(cls, task: str, values: Mapping[str, Any]) -> TaskResult:
        """What `to_dict` made."""
        judged = {
            name: Judged(name, **{key: np.asarray(each) for key, each in one.items()})
            for name, one in values["judged"].items()
        }
        intervals = {key: Interval(*map(float, ends)) for key, ends in values["intervals"].items()}
        figures = _figures(values["figures"])
        return cls(task, figures, intervals, judged, values["details"], values["error"])


def labelled(task: str, scored: str | None) -> str:
    """The name of a task with how its pairs are scored, unless it says so already."""
    return task if not scored or scored in task.lower() else f"{task}, {scored}"


def is_class(gold: NDArray[Any]) -> bool:
    """Whether what is right are classes, and not scores."""
    return bool(np.issubdtype(gold.dtype, np.integer))


def examples_of(*results: TaskResult) -> dict[str, Split]:
    """The examples of a task, from the first of its results that has them.

    Raises:
        ValueError: None has them.
    """
    for result in results:
        if result.splits is not None:
            return result.splits
    raise ValueError(f"{results[0].task}: the sentences are not part of a saved report; evaluate again")


def plain(value: Any) -> Any:
    """As JSON has it; what is not a number, or infinite, is a string."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _figures(value: Any) -> Any:
    """Back from JSON: SentEval's pairs (correlation, p-value) are tuples, scores an array."""
    if isinstance(value, dict):
        return {key: np.asarray(one) if key == "yhat" else _figures(one) for key, one in value.items()}
    if isinstance(value, list):
        # Of recalls there is a list of tuples.
        return [tuple(one) for one in value] if value and isinstance(value[0], list) else tuple(value)
    return float(value) if isinstance(value, str) else value
