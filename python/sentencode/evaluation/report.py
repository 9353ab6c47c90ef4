"""Figures of one encoder on many tasks: to look at, to keep, to compare."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import FormatError
from ..files import read_json, whole_file
from .averages import Average, averages_of
from .data import Split
from .metrics import Interval
from .reading import check_report
from .tables import latex, markdown, markdown_row, percent

__all__ = [
    "Curve",
    "Judged",
    "Report",
    "TaskResult",
    "Wrong",
    "examples_of",
    "is_class",
    "labelled",
    "plain",
    "ranks_apart",
]

# What tables show of a task below its headline, where it is there.
_BELOW = {
    "acc": ("f1",),
    "nn_cosine": ("nn_l2", "cl_one", "cl_half", "idb"),
    "t2i.r1": ("t2i.r5", "t2i.r10", "t2i.medr", "i2t.r1", "i2t.r5", "i2t.r10", "i2t.medr"),
}
_FORMAT = "sentencode.report"
_VERSION = 1
_KEYS = frozenset({"format", "version", "encoder", "facts", "skipped", "averages", "results", "curves"})


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
        intervals = {key: Interval(*map(_number, ends)) for key, ends in values["intervals"].items()}
        figures = _figures(values["figures"])
        return cls(task, figures, intervals, judged, values["details"], values["error"])


@dataclass(eq=False)
class Report(Mapping[str, TaskResult]):
    """What `sentencode.evaluate` found: `report["MR"]["acc"]`.

    Attributes:
        encoder: What it is called.
        results: By task.
        skipped: Tasks that were asked for and not run, and why.
        facts: The encoder's width and fingerprint, the protocol, sentences a second, versions.
        curves: By a name that reports of several encoders share, such as the task's.
    """

    encoder: str
    results: dict[str, TaskResult] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    curves: dict[str, Curve] = field(default_factory=dict)

    def __getitem__(self, task: str) -> TaskResult:
        if task not in self.results and task in self.skipped:
            raise KeyError(f"{task} was not run: {self.skipped[task]}")
        return self.results[task]

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    @property
    def averages(self) -> list[Average]:
        """Of the papers' averages, those whose tasks are all there, and plain means of what is there."""
        options = {key: self.facts[key] for key in ("confidence", "resamples") if key in self.facts}
        return averages_of(self.results, **options)

    @property
    def in_order(self) -> list[TaskResult]:
        """The tasks as tables list them: what was learnt comes behind what the vectors give by themselves."""
        return sorted(self.results.values(), key=lambda result: result.scored == "learnt")

    def rows(self, *, several: bool = False) -> list[tuple[str, str, float, Interval | None]]:
        """Task, figure's key, value and interval; accuracies in percent, correlations times 100.

        Args:
            several: All figures of a task that tables show, and not the headline alone.
        """
        rows = []
        for result in self.in_order:
            if result.error is not None:
                continue
            for key in result.shown if several else [result.headline]:
                scale = _scale(key)
                interval = result.intervals.get(key)
                if interval is not None:
                    interval = Interval(scale * interval.low, scale * interval.high)
                rows.append((result.task, key, scale * result.figure(key), interval))
        return rows

    def to_markdown(self) -> str:
        """A table of the figures, with what was left out and how it was judged below it."""
        head = [markdown(self.encoder), "figure", "value", f"{self.level} interval"]
        lines = [markdown_row(head), markdown_row(["---"] * 4)]
        lines += [markdown_row([*map(markdown, row[:2]), *row[2:]]) for row in self.shown()]
        return "\n".join([*lines, "", *map(markdown, self.notes())]) + "\n"

    def to_latex(self) -> str:
        """The same as a LaTeX table (booktabs)."""
        head = (self.encoder, "figure", "value", f"{self.level} interval")
        lines = [r"\begin{tabular}{llrr}", r"\toprule", rf"{' & '.join(map(latex, head))} \\", r"\midrule"]
        for task, key, value, interval in self.shown(r"$\pm$"):
            lines.append(rf"{latex(task)} & {latex(key)} & {value} & {interval} \\")
        lines.append(r"\bottomrule")
        if "protocol" in self.facts:
            lines.append(rf"\multicolumn{{4}}{{l}}{{{latex(self._protocol)}}} \\")
        return "\n".join([*lines, r"\end{tabular}", ""])

    def shown(self, sign: str = "±") -> Iterator[tuple[str, str, str, str]]:
        """The rows of tables as text: what a figure is of, its key, value with deviation, and interval."""
        for task, key, value, interval in self.rows(several=True):
            digits = 4 if key == "idb" else 2  # which is often less than 1
            deviation = self[task].deviation(key)
            spread = "" if deviation is None else f" {sign} {_scale(key) * deviation:.{digits}f}"
            yield self[task].label, key, f"{value:.{digits}f}{spread}", _ends(interval, digits)
        for average in self.averages:
            yield average.label, average.figure, f"{average.value:.2f}", _ends(average.interval)

    @property
    def level(self) -> str:
        """Of the intervals, as `"95 %"`."""
        return percent(float(self.facts.get("confidence", 0.95)))

    @property
    def _protocol(self) -> str:
        return f"Protocol {self.facts['protocol']}, {self.facts['folds']} folds"

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Everything but the sentences, as JSON; also written to a file, whole or not at all.

        Args:
            path: The file.

        Returns:
            The text.
        """
        text = json.dumps(
            {
                "format": _FORMAT,
                "version": _VERSION,
                "encoder": self.encoder,
                "facts": plain(self.facts),
                "skipped": self.skipped,
                "averages": [plain(average._asdict()) for average in self.averages],
                "results": {name: result.to_dict() for name, result in self.results.items()},
                "curves": {name: asdict(curve) for name, curve in self.curves.items()},
            },
            allow_nan=False,
        )
        if path is not None:
            with whole_file(path) as file:
                file.write(text.encode("utf-8"))
        return text

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Report:
        """Reads what `to_json` wrote.

        Args:
            path: The file.

        Returns:
            The report, without the sentences of its tasks.

        Raises:
            FormatError: It is not such a file.
        """
        name = os.fsdecode(path)
        try:
            values = read_json(path)
        except FormatError as error:
            where = str(error).removeprefix(name).lstrip(",: ")
            raise FormatError(f"{name} is not a report of Sentencode: {where}") from None
        if not isinstance(values, dict) or values.get("format") != _FORMAT:
            raise FormatError(f"{name} is not a report of Sentencode")
        version = values.get("version")
        if type(version) is not int or not 1 <= version <= _VERSION:
            raise FormatError(f"{name} is of version {version!r}; this Sentencode reads up to {_VERSION}")
        try:
            check_report(values, _KEYS, _KEYS - {"averages", "curves"})
            results = {task: TaskResult.from_dict(task, result) for task, result in values["results"].items()}
            curves = {one: Curve(**curve) for one, curve in values.get("curves", {}).items()}
            _tell_similarity(results, values["facts"])
            for result in results.values():
                _ = result.scored  # the figures are those of such a task
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
            raise FormatError(f"{name}: a damaged report: {error}") from None
        return cls(values["encoder"], results, values["skipped"], values["facts"], curves)

    def to_html(
        self,
        path: str | os.PathLike[str],
        others: Sequence[Report] = (),
        *,
        extra: Mapping[str, Mapping[str, float]] | None = None,
    ) -> None:
        """Writes one HTML file that needs no other: see `write_html`.

        Args:
            path: The file.
            others: Reports of other encoders, to stand beside this one.
            extra: By encoder, what else is known of it, such as BLEU.
        """
        from .html import write_html

        write_html([self, *others], path, extra=extra)

    def show(self) -> Any:
        """Shows the table: in a notebook as one, elsewhere printed."""
        try:
            from IPython import get_ipython
            from IPython.display import Markdown, display
        except ImportError:
            get_ipython = None
        if get_ipython is not None and get_ipython() is not None:
            display(Markdown(self.to_markdown()))  # type: ignore[no-untyped-call]
        else:
            sys.stdout.write(self.to_markdown())

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def __repr__(self) -> str:
        shown = ", ".join(f"{self[task].label} {value:.2f}" for task, _, value, _ in self.rows())
        return f"Report({self.encoder!r}: {shown or 'no figures'})"

    def short(self) -> str | None:
        """The tasks with classifiers that ended short of their optimum, as a sentence, if any."""
        found = []
        for name, result in self.results.items():
            told = result.details
            # Of a report that was read from a file, what is not a number is a word.
            gradient, wanted = (float(told.get(key, math.nan)) for key in ("gradient", "tolerance"))
            if told.get("short"):
                found.append(
                    f"{name} {told['short']} of {told['fits']} (gradient up to {gradient:.1e} where "
                    f"{wanted:g} was asked for, gap up to {told['gap']:.1e}, up to {told['iterations']} "
                    "iterations)"
                )
            elif "short" not in told and gradient > wanted:  # saved before fits were counted
                found.append(f"{name} (gradient up to {gradient:.1e} where {wanted:g} was asked for)")
        return f"Classifiers that ended short of their optimum: {', '.join(found)}." if found else None

    def notes(self) -> list[str]:
        """How it was judged, and what has no figure."""
        notes = []
        if "protocol" in self.facts:
            notes.append(
                f"{self._protocol}; accuracies in percent, correlations times 100; intervals by bootstrap. "
                "STS years: the subsets' correlations weighted by their sizes (wmean), their plain mean, and "
                "all pairs pooled."
            )
        seeds = {name: r.details["seeds"] for name, r in self.results.items() if "seeds" in r.details}
        if {result.scored for result in self.results.values()} >= {"learnt", "cosine"}:
            notes.append(
                "Learnt: pairs are scored by a regression that was trained on the task's training pairs; "
                "cosine: by the cosine of their vectors, nothing was trained. The two do not compare."
            )
        if seeds:
            notes.append(
                f"Means of {max(seeds.values())} seeds ± their standard deviation: {', '.join(seeds)}. Their "
                "intervals cover other seeds and other tested examples."
            )
        for name, result in self.results.items():
            if result.error is not None:
                notes.append(f"{name}: no figure, {result.error}.")
            if result.details.get("partial"):
                notes.append(f"{name}: files of another size than published were accepted.")
            if undefined := result.details.get("undefined"):
                notes.append(
                    f"{name}: all cosines or all scores of {', '.join(undefined)} are equal. The "
                    "correlation, which does not exist, counts as 0 in the means."
                )
        if short := self.short():
            notes.append(short)
        averaged = {task for average in self.averages if average.interval for task in average.tasks}
        if any(judged.keys is None for task in averaged for judged in self[task].judged.values()):
            notes.append(
                "The report was saved by an older version, and which examples tasks share is not known: "
                "intervals of averages take them for independent, and are too narrow where tasks share some."
            )
        unknown = {name: r.details.get("unknown_tokens") for name, r in self.results.items()}
        listed = [f"{name} {100 * share:.1f} %" for name, share in unknown.items() if share is not None]
        if listed:
            notes.append(f"Tokens without a word vector: {', '.join(listed)}.")
        if self.skipped:
            notes.append(
                "Not run: " + "; ".join(f"{task} ({why})" for task, why in self.skipped.items()) + "."
            )
        return notes


def _tell_similarity(results: Mapping[str, TaskResult], facts: Mapping[str, Any]) -> None:
    """Says how pairs were scored in reports that were saved before it was kept, if not by the cosine."""
    other = re.search(r"\bsimilarity=([^,]+)", str(facts.get("protocol")))
    for result in results.values():
        if other and result.scored == "cosine" and "scored" not in result.details:
            result.details["scored"] = other[1]


def labelled(task: str, scored: str | None) -> str:
    """The name of a task with how its pairs are scored, unless it says so already."""
    return task if not scored or scored in task.lower() else f"{task}, {scored}"


def _scale(key: str) -> int:
    """Tables show correlations times 100; accuracies and recalls are in percent."""
    return 100 if {"pearson", "spearman"} & set(key.split(".")) else 1


def _ends(interval: Interval | None, digits: int = 2) -> str:
    return "" if interval is None else f"{interval.low:.{digits}f} to {interval.high:.{digits}f}"


def is_class(gold: NDArray[Any]) -> bool:
    """Whether what is right are classes, and not scores."""
    return bool(np.issubdtype(gold.dtype, np.integer))


def ranks_apart(x: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
    """How far each example's ranks by two kinds of scores are from each other; ties share a rank.

    Example:
        >>> ranks_apart(np.array([1, 2, 2]), np.array([30, 20, 10]))
        array([2. , 0.5, 1.5])
    """
    a, b = _ranks(x), _ranks(y)
    return np.abs(a - b)


def _ranks(row: NDArray[Any]) -> NDArray[np.float64]:
    _, place, counts = np.unique(row, return_inverse=True, return_counts=True)
    ranks: NDArray[np.float64] = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return ranks


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


def _number(value: Any) -> float:
    return float(value)


def _figures(value: Any) -> Any:
    """Back from JSON: SentEval's pairs (correlation, p-value) are tuples, scores an array."""
    if isinstance(value, dict):
        return {key: np.asarray(one) if key == "yhat" else _figures(one) for key, one in value.items()}
    if isinstance(value, list):
        # Of recalls there is a list of tuples.
        return [tuple(one) for one in value] if value and isinstance(value[0], list) else tuple(value)
    return float(value) if isinstance(value, str) else value
