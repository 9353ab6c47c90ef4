"""Claims of a paper about its rows, and whether they hold here: differences of means, with intervals."""

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
from .._figures import forest, new_figure
from ..evaluation import Report as Evaluated
from ..evaluation import paired_t_test
from ..evaluation.statistics.joint_bootstrap import resampled_mean
from .report import Report, Table
from .results_folder import Result
from .score_tables import Scores
from .tables import MISSING, TableText, differing

__all__ = [
    "CLAIM_HEADER",
    "Claim",
    "Claims",
    "claim_cells",
    "evaluated_claims",
    "forest_plot",
    "published_difference",
]

_DIGITS = 4  # of stored differences
_SEED = 1111  # of the bootstrap, as in `evaluate`
CLAIM_HEADER = ["claim", "compared", "paper", "ours (95 % interval)", "verdict", "why"]


@dataclass(frozen=True)
class Claim:
    """The claim that a row is as good as another one in the mean of some tasks, or better.

    Attributes:
        name: Name, as in "Finding I".
        row: Row that the claim is about.
        other: Row that it is compared with.
        tasks: Tasks of the mean.
        within: Largest difference, in points, of rows that count as equally good. None: the claim is that
            `row` is better.
    """

    name: str
    row: str
    other: str
    tasks: Sequence[str]
    within: float | None = 1.0

    def verdict(self, low: float, high: float) -> str:
        """The verdict that follows from the interval of the difference, in points."""
        if self.within is None:
            return "holds" if low > 0 else "differs" if high < 0 else "undecided"
        if -self.within <= low and high <= self.within:
            return "holds"
        return "differs" if low > self.within or high < -self.within else "undecided"


def evaluated_claims(
    claims: Sequence[Claim], reports: Mapping[str, Sequence[Path]], resamples: int
) -> list[Result]:
    """The difference of each claim, with its interval and verdict; claims with a missing row are left out.

    The variance of a difference has two parts: one of resampled test examples, the same for both rows, and
    one of the training seeds. The latter is pooled over all rows, because each row has few seeds, and
    Student's t accounts for their number. With one seed each it is unknown and left out.

    Args:
        claims: The claims.
        reports: Row -> files of its evaluation reports, one for each seed.
        resamples: Number of bootstrap resamples.
    """
    read = {row: [Evaluated.load(path) for path in paths] for row, paths in reports.items()}
    evaluated = []
    for claim in claims:
        both = [read.get(row, []) for row in (claim.row, claim.other)]
        tasks = tuple(task for task in claim.tasks if all(task in run for run in (*both[0], *both[1])))
        if not (both[0] and both[1] and tasks):
            continue
        means = [np.stack([_mean(run, tasks, resamples) for run in runs]) for runs in both]  # [seeds, 1 + R]
        difference = means[0].mean(0) - means[1].mean(0)
        between = _between_seeds(
            [[_mean(run, tasks, 1)[0] for run in runs if set(tasks) <= set(run)] for runs in read.values()]
        )
        tested = _tested(both, tasks[0]) if claim.within is None and len(claim.tasks) == 1 else {}
        half = _half_width(difference[1:].var(), between, [len(runs) for runs in both])
        value = float(difference[0])
        evaluated.append(
            {
                "claim": claim.name,
                "row": claim.row,
                "other": claim.other,
                "tasks": list(tasks),
                "of": len(claim.tasks),
                "seeds": min(map(len, both)),
                "within": claim.within,
                "value": round(value, _DIGITS),
                "low": round(value - half, _DIGITS),
                "high": round(value + half, _DIGITS),
                "verdict": claim.verdict(value - half, value + half),
                **tested,
            }
        )
    return evaluated


def published_difference(report: Report, finding: Result) -> float | None:
    """The difference between the two rows of a finding in the paper, in points; None if it is not printed."""
    for table in report.tables.values():
        if not isinstance(table, Scores):
            continue
        lines = table.lines or {row: (row,) for row in report.rows}
        names = [[line for line, rows in lines.items() if finding[side] in rows] for side in ("row", "other")]
        if not all(names):
            continue
        both = [table.published(report, lines[0]) for lines in names]
        means = [_published_mean(figures, finding["tasks"]) for figures in both]
        if None not in means:
            return round(means[0] - means[1], _DIGITS)  # type: ignore[operator]
    return None


def _published_mean(figures: Mapping[str, str], tasks: Sequence[str]) -> float | None:
    """The mean over tasks of the published accuracies, and of the correlations times 100."""
    means = []
    for task in tasks:
        if f"{task} accuracy" in figures:
            means.append(float(figures[f"{task} accuracy"]))
        elif f"{task} pearson" in figures:
            both = [figures[f"{task} {r}"] for r in ("pearson", "spearman") if f"{task} {r}" in figures]
            means.append(100 * sum(map(float, both)) / len(both))
        else:
            return None
    return sum(means) / len(means)


def _mean(report: Evaluated, tasks: Sequence[str], resamples: int) -> npt.NDArray[np.float64]:
    """The mean over tasks: of the test examples, then of each resample."""
    means = resampled_mean([report[task] for task in tasks], [1 / len(tasks)] * len(tasks), resamples, _SEED)
    if means is None:
        raise ValueError(f"the report on {report.encoder} does not hold the predictions for each example")
    return means


def _tested(both: Sequence[Sequence[Evaluated]], task: str) -> Result:
    """One-tailed paired t-tests of accuracies: over examples (means of the seeds), and over seeds."""
    results = [[run[task] for run in runs] for runs in both]
    if any(result.headline != "acc" for runs in results for result in runs):
        return {}
    outputs = [[result.predictions["test"] for result in runs] for runs in results]
    correct = [np.mean([run.per_seed == run.gold for run in runs], axis=(0, 1)) for runs in outputs]
    p = {"examples": paired_t_test(*correct).p_one_tailed}
    accuracies = [[result.figure("acc") for result in runs] for runs in results]
    if len(accuracies[0]) == len(accuracies[1]) > 1:
        p["seeds"] = paired_t_test(*accuracies).p_one_tailed
    return {"p": p}


class _Variance(NamedTuple):
    """The variance of the means of one row between seeds."""

    value: float
    freedom: int


def _between_seeds(means: Sequence[Sequence[float]]) -> _Variance:
    """The variance between seeds, pooled over rows."""
    freedom = sum(len(runs) - 1 for runs in means if runs)
    squares = sum(float(np.var(runs)) * len(runs) for runs in means if runs)
    return _Variance(squares / freedom if freedom else 0.0, freedom)


def _half_width(examples: float, seeds: _Variance, counts: Sequence[int]) -> float:
    """Half the 95 % interval, by Student's t with the degrees of freedom of Welch and Satterthwaite."""
    stats: Any = require("scipy.stats", "eval")
    from_seeds = seeds.value * sum(1 / count for count in counts)
    both = examples + from_seeds
    if from_seeds == 0:
        return float(stats.norm.ppf(0.975)) * math.sqrt(both)
    return float(stats.t.ppf(0.975, seeds.freedom * (both / from_seeds) ** 2)) * math.sqrt(both)


def forest_plot(findings: Sequence[Result]) -> Any:
    """A figure of the differences of claims with their intervals, one below the other.

    Args:
        findings: Results of `evaluated_claims`, at least one.

    Raises:
        ImportError: matplotlib is not installed.
    """
    figure, (axes,) = new_figure(8.5, 0.8 + 0.42 * len(findings))
    for y, finding in enumerate(findings):
        if finding["within"] is not None:
            axes.barh(y, 2 * finding["within"], 1, -finding["within"], color="0.93", lw=0)
    forest(
        axes,
        [f"{finding['row']}\nminus {finding['other']}" for finding in findings],
        [(finding["value"], (finding["low"], finding["high"])) for finding in findings],
        [finding["verdict"] for finding in findings],
        {"holds": "C2", "undecided": "0.5", "differs": "C3"},
    )
    axes.set_xlabel("mean difference in points, 95 % interval; grey: equally good")
    return figure


@dataclass(frozen=True)
class Claims(Table):
    """The claims of the paper, and whether they hold here.

    Attributes:
        title: Title of the table.
        rows: Rows that are compared.
    """

    title: str
    rows: Sequence[str]

    def content(self, report: Report) -> Iterator[TableText]:
        """The table."""
        tested = any("p" in finding for finding in report.findings)
        yield (
            self.title,
            CLAIM_HEADER + ["p over examples", "p over seeds"] * tested,
            [claim_cells(finding) + _levels(finding) * tested for finding in report.findings],
        )

    def pictures(self, report: Report) -> Iterator[tuple[str, Any]]:
        """The differences with their intervals, if there are any."""
        if report.findings:
            yield "findings", forest_plot(report.findings)

    def notes(self, report: Report) -> Iterator[str]:
        """How the verdicts follow, and their counts."""
        if not report.findings:
            return
        yield (
            "Claims: differences of means over tasks, in percent or correlation times 100 (mean of Pearson's "
            "and Spearman's). The intervals cover test examples (the same resamples for both rows) and seeds "
            '(variance pooled over rows; unknown with one seed). "Equally good" holds if the interval is '
            'within one point and differs if it is outside; "better" holds if it is above 0 and differs if '
            "it is below. Everything else is undecided."
        )
        if any("p" in finding for finding in report.findings):
            yield (
                "p: one-tailed paired t-test over test examples (each with the mean of the seeds), and over "
                "seeds."
            )
        for name in dict.fromkeys(finding["claim"] for finding in report.findings):
            findings = [finding for finding in report.findings if finding["claim"] == name]
            counts = Counter(finding["verdict"] for finding in findings)
            verdicts = ", ".join(f"{verdict} in {count}" for verdict, count in counts.most_common())
            tasks = dict.fromkeys(task for finding in findings for task in finding["tasks"])
            yield f"{name}, over {', '.join(tasks)}: {verdicts} of {len(findings)}."


def claim_cells(finding: Result) -> list[str]:
    """The cells of a finding below `CLAIM_HEADER`."""
    paper = finding.get("paper")
    reasons = []
    if finding["verdict"] == "undecided":
        within = finding["within"]
        reasons.append("interval contains 0" if within is None else f"interval exceeds ±{within:g}")
    if len(finding["tasks"]) < finding["of"]:
        reasons.append(f"{len(finding['tasks'])} of {finding['of']} tasks")
    if finding["seeds"] == 1:
        reasons.append("one seed")
    return [
        finding["claim"],
        f"{finding['row']} / {finding['other']}",
        MISSING if paper is None else f"{paper:+.1f}",
        differing(finding, 2),
        finding["verdict"],
        ", ".join(reasons),
    ]


def _levels(finding: Result) -> list[str]:
    p = finding.get("p", {})
    return [f"{p[over]:.2g}" if over in p else MISSING for over in ("examples", "seeds")]
