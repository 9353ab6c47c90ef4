"""What a paper says of its rows, and whether ours say the same: differences of means, with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..evaluation import Report as Judged
from ..evaluation.judging.intervals import mean_of_runs
from ..evaluation.statistics.joint_bootstrap import drawn_mean
from .report import Made, Report
from .results_folder import Result
from .tables import differing, file_of

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

    Resamples are of test examples, the same ones for both rows, and of the seeds that rows were trained with.

    Args:
        claims: The claims.
        reports: Row -> the files of what `evaluate` said of it, one for each seed.
        resamples: Of the bootstrap.
    """
    read = {row: [Judged.load(path) for path in paths] for row, paths in reports.items()}
    found = []
    for claim in claims:
        both = [read.get(row, []) for row in (claim.row, claim.other)]
        tasks = [task for task in claim.tasks if all(task in one for one in (*both[0], *both[1]))]
        if not (both[0] and both[1] and tasks):
            continue
        row, other = (_mean(one, tasks, resamples, _SEED + i) for i, one in enumerate(both))
        difference = row - other
        low, high = np.quantile(difference[1:], (0.025, 0.975))
        found.append(
            {
                "claim": claim.name,
                "row": claim.row,
                "other": claim.other,
                "tasks": tasks,
                "value": round(float(difference[0]), _ROUND),
                "low": round(float(low), _ROUND),
                "high": round(float(high), _ROUND),
                "verdict": claim.verdict(low, high),
            }
        )
    return found


def _mean(
    reports: Sequence[Judged], tasks: Sequence[str], resamples: int, seed: int
) -> npt.NDArray[np.float64]:
    """The mean over tasks and seeds: of the examples as they are, then of resamples."""
    each = []
    for report in reports:
        drawn = drawn_mean([report[task] for task in tasks], [1 / len(tasks)] * len(tasks), resamples, _SEED)
        assert drawn is not None  # rows are judged with what was said of each example
        each.append(drawn)
    runs = np.stack(each, axis=1)  # [1 + resamples, seeds]
    return np.concatenate([runs[:1].mean(1), mean_of_runs(runs[1:], seed)])


def picture(findings: Sequence[Result], kind: str) -> bytes:
    """Differences and their intervals, one below the other, as the content of a file.

    Args:
        findings: As `judged_claims` gives them, at least one.
        kind: `"png"`, `"svg"`, or another format of matplotlib.

    Raises:
        ImportError: matplotlib is not installed.
    """
    from matplotlib.figure import Figure  # not pyplot, which would choose a window system

    colours = {"holds": "C2", "undecided": "0.5", "differs": "C3"}
    figure = Figure(figsize=(8.5, 0.8 + 0.42 * len(findings)), layout="constrained")
    axes = figure.subplots()
    axes.axvspan(-1, 1, color="0.93", lw=0)
    axes.axvline(0, color="0.6", lw=0.8)
    for verdict, colour in colours.items():
        of_it = [(place, one) for place, one in enumerate(findings) if one["verdict"] == verdict]
        if of_it:
            places, found = zip(*of_it, strict=True)
            values = np.array([one["value"] for one in found])
            ends = np.array([[one["low"], one["high"]] for one in found]).T  # [2, n]
            axes.errorbar(
                values, places, xerr=abs(ends - values), fmt="o", color=colour, capsize=3, label=verdict
            )
    axes.set_yticks(
        range(len(findings)), [f"{one['row']}\nless {one['other']}" for one in findings], fontsize=7
    )
    axes.set_ylim(len(findings) - 0.4, -0.6)
    axes.set_xlabel("mean difference in points, 95 % interval; grey: within one point")
    axes.legend(loc="best", fontsize=8)
    return file_of(figure, kind)


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
            [one["claim"], one["row"], one["other"], differing(one, 2), one["verdict"]]
            for one in report.findings
        ]
        yield self.title, ["finding", "row", "less", "mean difference (95 % interval)", "verdict"], rows

    def notes(self, report: Report) -> Iterator[str]:
        """How verdicts are come by."""
        tasks = dict.fromkeys(task for one in report.findings for task in one["tasks"])
        if tasks:
            yield (
                f"Findings: mean differences over tasks (of {', '.join(tasks)}), in percent and correlations "
                "times 100, over resamples of test examples, the same for both rows, and of seeds. That rows "
                'are as good "holds" where the interval lies within one point, and "differs" where it lies '
                'beyond; that one is better "holds" where it lies above 0, and "differs" where it is below. '
                'All else is "undecided".'
            )
