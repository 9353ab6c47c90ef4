"""What a paper says of its rows, and whether ours say the same: differences of means, with intervals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._extras import require
from .._figures import forest, new_figure, rendered
from ..evaluation import Report as Judged
from ..evaluation import paired_t_test
from ..evaluation.statistics.joint_bootstrap import drawn_mean
from .report import Made, Report
from .results_folder import Result
from .tables import MISSING, differing

__all__ = ["Claim", "Claims", "judged_claims", "picture"]

_ROUND = 4  # digits that are kept
_SEED = 1111  # of the bootstrap, as `evaluate` has it


@dataclass(frozen=True)
class Claim:
    """That one row is as good as another one on the mean of some tasks, or better.

    Attributes:
        name: What it is called, as in "Finding I".
        row: The row that is said to be so.
        other: What it is compared with.
        tasks: Over which means are taken.
        within: Points that rows may be apart and still count as equally good. None: `row` is to be better.
    """

    name: str
    row: str
    other: str
    tasks: Sequence[str]
    within: float | None = 1.0

    def verdict(self, low: float, high: float) -> str:
        """What follows from the interval of the difference, in points."""
        if self.within is None:
            return "holds" if low > 0 else "differs" if high < 0 else "undecided"
        if -self.within <= low and high <= self.within:
            return "holds"
        return "differs" if low > self.within or high < -self.within else "undecided"


def judged_claims(
    claims: Sequence[Claim], reports: Mapping[str, Sequence[Path]], resamples: int
) -> list[Result]:
    """Claims of which both rows are there, each with the difference, its interval and the verdict.

    The variance of a difference has two parts: that of resampled test examples, the same ones for both rows,
    and that of the seeds that rows were trained with. Few seeds tell little of the latter, so that all rows
    tell it together, and Student's t takes account of how many they are. With one seed each it is unknown,
    and left out.

    Args:
        claims: The claims.
        reports: Row -> the files of what `evaluate` said of it, one for each seed.
        resamples: Of the bootstrap.
    """
    read = {row: [Judged.load(path) for path in paths] for row, paths in reports.items()}
    found = []
    for claim in claims:
        both = [read.get(row, []) for row in (claim.row, claim.other)]
        tasks = tuple(task for task in claim.tasks if all(task in one for one in (*both[0], *both[1])))
        if not (both[0] and both[1] and tasks):
            continue
        runs = [
            np.stack([_mean(one, tasks, resamples) for one in of_row]) for of_row in both
        ]  # [seeds, 1 + R]
        difference = runs[0].mean(0) - runs[1].mean(0)
        between = _between_seeds(
            [
                [_mean(one, tasks, 1)[0] for one in of_row if set(tasks) <= set(one)]
                for of_row in read.values()
            ]
        )
        tested = _tested(both, tasks[0]) if claim.within is None and len(claim.tasks) == 1 else {}
        half = _half_width(difference[1:].var(), between, [len(of_row) for of_row in both])
        value = float(difference[0])
        found.append(
            {
                "claim": claim.name,
                "row": claim.row,
                "other": claim.other,
                "tasks": list(tasks),
                "of": len(claim.tasks),
                "seeds": min(map(len, both)),
                "within": claim.within,
                "value": round(value, _ROUND),
                "low": round(value - half, _ROUND),
                "high": round(value + half, _ROUND),
                "verdict": claim.verdict(value - half, value + half),
                **tested,
            }
        )
    return found


def _mean(report: Judged, tasks: Sequence[str], resamples: int) -> npt.NDArray[np.float64]:
    """The mean over tasks: of the examples as they are, then of resamples."""
    drawn = drawn_mean([report[task] for task in tasks], [1 / len(tasks)] * len(tasks), resamples, _SEED)
    if drawn is None:
        raise ValueError(f"the report on {report.encoder} does not hold what was said of each example")
    return drawn


def _tested(both: Sequence[Sequence[Judged]], task: str) -> Result:
    """One-tailed paired t-tests of accuracies: over examples, of seeds the mean, and over seeds."""
    results = [[one[task] for one in of_row] for of_row in both]
    if any(result.headline != "acc" for of_row in results for result in of_row):
        return {}
    judged = [[result.judged["test"] for result in of_row] for of_row in results]
    right = [np.mean([one.said == one.gold for one in of_row], axis=(0, 1)) for of_row in judged]
    found = {"examples": paired_t_test(*right).p_one_tailed}
    accuracies = [[result.figure("acc") for result in of_row] for of_row in results]
    if len(accuracies[0]) == len(accuracies[1]) > 1:
        found["seeds"] = paired_t_test(*accuracies).p_one_tailed
    return {"p": found}


class _Variance(NamedTuple):
    """Of the means of rows that differ in their seeds alone."""

    value: float
    freedom: int


def _between_seeds(means: Sequence[Sequence[float]]) -> _Variance:
    """That of all rows together."""
    freedom = sum(len(of_row) - 1 for of_row in means if of_row)
    squares = sum(float(np.var(of_row)) * len(of_row) for of_row in means if of_row)
    return _Variance(squares / freedom if freedom else 0.0, freedom)


def _half_width(examples: float, seeds: _Variance, counts: Sequence[int]) -> float:
    """Of the 95 % interval, by Student's t with Welch's and Satterthwaite's degrees of freedom."""
    stats: Any = require("scipy.stats", "eval")
    of_seeds = seeds.value * sum(1 / count for count in counts)
    both = examples + of_seeds
    if of_seeds == 0:
        return float(stats.norm.ppf(0.975)) * math.sqrt(both)
    return float(stats.t.ppf(0.975, seeds.freedom * (both / of_seeds) ** 2)) * math.sqrt(both)


def picture(findings: Sequence[Result], kind: str) -> bytes:
    """Differences and their intervals, one below the other, as the content of a file.

    Args:
        findings: As `judged_claims` gives them, at least one.
        kind: `"png"`, `"svg"`, or another format of matplotlib.

    Raises:
        ImportError: matplotlib is not installed.
    """
    figure, (axes,) = new_figure(8.5, 0.8 + 0.42 * len(findings))
    for row, one in enumerate(findings):
        if one["within"] is not None:
            axes.barh(row, 2 * one["within"], 1, -one["within"], color="0.93", lw=0)
    forest(
        axes,
        [f"{one['row']}\nless {one['other']}" for one in findings],
        [(one["value"], (one["low"], one["high"])) for one in findings],
        [one["verdict"] for one in findings],
        {"holds": "C2", "undecided": "0.5", "differs": "C3"},
    )
    axes.set_xlabel("mean difference in points, 95 % interval; grey: what counts as equally good")
    return rendered(figure, kind)


@dataclass(frozen=True)
class Claims:
    """What the paper finds, and whether it holds here.

    Attributes:
        title: Of the table.
        rows: Those that are compared.
    """

    title: str
    rows: Sequence[str]

    def made(self, report: Report) -> Iterator[Made]:
        """The table."""
        rows = [
            [one["claim"], one["row"], one["other"], differing(one, 2), one["verdict"] + _incomplete(one)]
            for one in report.findings
        ]
        heading = ["finding", "row", "less", "mean difference (95 % interval)", "verdict"]
        if any("p" in one for one in report.findings):
            heading += ["p over examples", "p over seeds"]
            rows = [
                [*row, *_levels(one.get("p", {}))] for row, one in zip(rows, report.findings, strict=True)
            ]
        yield self.title, heading, rows

    def notes(self, report: Report) -> Iterator[str]:
        """How verdicts are come by, and what they make together."""
        if not report.findings:
            return
        yield (
            "Findings: differences of means over tasks, of accuracies in percent and of correlations times "
            "100 (of Pearson's and Spearman's the mean). Intervals are of test examples, the same resamples "
            "for both rows, and of seeds, whose variance is that of all rows together; with one seed, of "
            'examples alone. That rows are as good "holds" where the interval lies within one point, and '
            '"differs" where it lies beyond; that one is better "holds" where it lies above 0, and "differs" '
            'where it lies below. All else is "undecided".'
        )
        if any("p" in one for one in report.findings):
            yield (
                "p: of a one-tailed paired t-test, over test examples (each one's mean of seeds) and over "
                "seeds."
            )
        for name in dict.fromkeys(one["claim"] for one in report.findings):
            of_it = [one for one in report.findings if one["claim"] == name]
            counts = Counter(one["verdict"] for one in of_it)
            said = ", ".join(f"{verdict} in {count}" for verdict, count in counts.most_common())
            tasks = dict.fromkeys(task for one in of_it for task in one["tasks"])
            yield f"{name}, over {', '.join(tasks)}: {said} of {len(of_it)}."


def _levels(p: Result) -> list[str]:
    return [f"{p[over]:.2g}" if over in p else MISSING for over in ("examples", "seeds")]


def _incomplete(one: Result) -> str:
    """What a verdict lacks."""
    lacks = [f"{len(one['tasks'])} of {one['of']} tasks"] * (len(one["tasks"]) < one["of"])
    lacks += ["one seed"] * (one["seeds"] == 1)
    return f" ({', '.join(lacks)})" if lacks else ""
