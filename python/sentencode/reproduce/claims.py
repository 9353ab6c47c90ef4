"""Claims of a paper about its rows, and whether they hold here: differences of means, with intervals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist, fmean
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._extras import require
from .._figures import forest, legend, new_figure
from ..evaluation import Report as Evaluated
from ..evaluation import paired_t_test
from ..evaluation.statistics.joint_bootstrap import resampled_mean
from .report import Report, Table
from .results_folder import Result
from .score_tables import Scores
from .tables import MISSING, TableText, differing, filled_columns

__all__ = [
    "CLAIM_HEADER",
    "Claim",
    "Claims",
    "claim_cells",
    "evaluated_claims",
    "forest_plot",
    "published_difference",
    "rules",
    "untrained_control",
]

_DIGITS = 4  # of stored differences
_SEED = 1111  # of the bootstrap, as in `evaluate`
_SEEDS_TESTED = 3  # fewest seeds of a t-test over seeds
_POOLING = ("pooling", "architecture", "heads")  # options that say how an embedding is pooled
CLAIM_HEADER = [
    *("claim", "compared", "paper", "margin", "training gave", "ours (95 % interval)", "verdict", "why"),
]
_COLOURS = {"holds": "C2", "undecided": "0.35", "differs": "C3"}
_LEGEND = {
    "mark": "the paper's",
    "margin": "margin of equally good",
    "band": "what training gave (number at the right)",
}


@dataclass(frozen=True)
class Claim:
    """The claim that a row is as good as another one in the mean of some tasks, or better.

    Attributes:
        name: Name, as in "Finding I".
        row: Row that the claim is about.
        other: Row that it is compared with.
        tasks: Tasks of the mean, or columns of scores, as in `"en-de bleu"`.
        within: Largest loss, in points, of a row that counts as equally good. None: the claim is that `row`
            is better.
        net: Whether the difference of the untrained networks of the same widths and poolings is subtracted,
            for a claim on width or pooling, which change the scores of untrained encoders, too.
    """

    name: str
    row: str
    other: str
    tasks: Sequence[str]
    within: float | None = 1.0
    net: bool = False

    def verdict(self, low: float, high: float, trained: float | None = None) -> str:
        """The verdict that follows from the interval of the difference, in points.

        Args:
            low: Lower end.
            high: Upper end.
            trained: What training gave over the untrained encoder. If that is not more than `within`, the
                run cannot decide whether rows are equally good. None: unknown.
        """
        if self.within is None:
            return "holds" if low > 0 else "differs" if high < 0 else "undecided"
        if trained is not None and trained <= self.within:
            return "undecided"
        return "holds" if low >= -self.within else "differs" if high < -self.within else "undecided"


def evaluated_claims(
    claims: Sequence[Claim], report: Report, reports: Mapping[str, Sequence[Path]], resamples: int
) -> list[Result]:
    """The difference of each claim, with its interval and verdict; claims with a missing row are left out.

    The variance of a difference has two parts: one of resampled test examples, the same for both rows, and
    one of the training seeds. The latter is pooled over all rows, because each row has few seeds, and
    Student's t accounts for their number. With one seed each it is unknown and left out. Where evaluation
    reports are missing, the first part combines the intervals of the scores as if they were independent.
    A claim with `net` is undecided if an untrained network is missing; its difference is then that of the
    trained rows.

    Args:
        claims: The claims.
        report: The results of the rows.
        reports: Row -> files of its evaluation reports, one for each seed.
        resamples: Number of bootstrap resamples.
    """
    differences = _Differences(report, reports, resamples)
    evaluated = []
    for claim in claims:
        difference = differences.between([claim.row], [claim.other], claim.tasks)
        if difference is None:
            continue
        tasks, control = difference["tasks"], untrained_control(report, claim.row)
        trained = None if control is None else differences.between([claim.row], [control], tasks)
        if claim.net:
            difference |= _net(claim, difference["tasks"], report, differences)
        if trained is not None and trained["tasks"] == tasks:
            difference["trained"] = {
                "control": control,
                **{key: trained[key] for key in ("value", "low", "high")},
            }
        gain = difference.get("trained", {}).get("value")
        verdict = claim.verdict(difference["low"], difference["high"], gain)
        tested = claim.within is None and len(claim.tasks) == 1
        evaluated.append(
            {
                "claim": claim.name,
                "row": claim.row,
                "other": claim.other,
                "of": len(claim.tasks),
                "within": claim.within,
                **difference,
                "verdict": "undecided" if "reasons" in difference else verdict,
                **(differences.tested(claim.row, claim.other, tasks[0]) if tested else {}),
            }
        )
    return evaluated


def _net(claim: Claim, tasks: Sequence[str], report: Report, differences: _Differences) -> Result:
    """The difference less that of the untrained networks; if one is missing, the reason of no verdict."""
    controls = {row: untrained_control(report, row) for row in (claim.row, claim.other)}
    computed = {row: control for row, control in controls.items() if control is not None}
    if len(computed) == len(controls):
        net = differences.between(
            [claim.row, computed[claim.other]], [claim.other, computed[claim.row]], tasks
        )
        if net is not None and net["tasks"] == tasks:
            return {**net, "net": list(computed.values())}
    missing = [row for row in controls if row not in computed]
    return {"reasons": ["no untrained control" + f" of {missing[0]}" * (len(missing) == 1)]}


def untrained_control(report: Report, name: str) -> str | None:
    """The computed untrained network of the same class, width and pooling as a row, None if there is none.

    Of several, it is that of the same corpus, then that with the fewest other options.
    """
    rows = report.rows

    def identity(one: str) -> list[Any]:
        row = rows[one]
        return [report.of(one)[0].get("dim"), row.kind, *map(row.options.get, _POOLING)]

    def distance(control: str) -> tuple[bool, int]:
        row, other = rows[name], rows[control]
        options = {key for both in (row.options, other.options) for key in both if key != "hidden"}
        differing = sum(row.options.get(key) != other.options.get(key) for key in options)
        return row.corpus != other.corpus, differing

    if not report.of(name) or not rows[name].trained:
        return None
    untrained = [one for one, row in rows.items() if row.kind and not row.trained and report.of(one)]
    controls = [one for one in untrained if identity(one) == identity(name)]
    return min(controls, key=distance, default=None)


def published_difference(report: Report, finding: Result) -> float | None:
    """The difference between the two rows of a finding in the paper, in points; None if it is not printed."""
    for table in report.tables.values():
        if not isinstance(table, Scores):
            continue
        lines = table.lines or {row: (row,) for row in report.rows}
        names = [[line for line, rows in lines.items() if finding[side] in rows] for side in ("row", "other")]
        if all(names):
            both = [table.published(report, of[0]) for of in names]
            means = [_points(figures, both[0].keys() & both[1].keys(), finding["tasks"]) for figures in both]
            if len(means[0]) == len(finding["tasks"]):
                return round(fmean(means[0].values()) - fmean(means[1].values()), _DIGITS)
    return None


def _points(figures: Mapping[str, Any], columns: Collection[str], tasks: Sequence[str]) -> dict[str, float]:
    """The figure of each task in points: percent, or the mean of the correlations times 100.

    Args:
        figures: Column -> figure.
        columns: Columns that are read.
        tasks: Tasks or columns; those without a figure are left out.
    """
    points = {}
    for task in tasks:
        if percent := {task, f"{task} accuracy"} & set(columns):
            points[task] = float(figures[percent.pop()])
        elif r := [column for column in (f"{task} pearson", f"{task} spearman") if column in columns]:
            points[task] = 100 * fmean(float(figures[column]) for column in r)
    return points


class _Differences:
    """Differences between rows: over the same resampled examples if there are reports, else of scores."""

    def __init__(self, report: Report, reports: Mapping[str, Sequence[Path]], resamples: int) -> None:
        self.report, self.resamples = report, resamples
        self.read = {row: [Evaluated.load(path) for path in paths] for row, paths in reports.items()}

    def between(self, plus: Sequence[str], minus: Sequence[str], tasks: Sequence[str]) -> Result | None:
        """The rows of `plus` less those of `minus`, in the mean of the tasks that all have.

        Returns:
            The tasks, the difference, its interval, and the number of seeds of the rows that depend on them;
            None without a common task.
        """
        rows, signs = [*plus, *minus], [1] * len(plus) + [-1] * len(minus)
        runs_of = [self.read.get(name, []) for name in rows]
        common = [task for task in tasks if all(task in run for runs in runs_of for run in runs)]
        if not (all(runs_of) and common):
            return self._of_scores(rows, signs, tasks)
        means = [
            np.stack([_mean(run, common, self.resamples) for run in runs]).mean(0) for runs in runs_of
        ]  # [1 + R]
        difference = np.array(signs) @ np.stack(means)
        complete = [[run for run in runs if set(common) <= set(run)] for runs in self.read.values()]
        seeds = _between_seeds([[_mean(run, common, 1)[0] for run in runs] for runs in complete])
        counts = [
            len(runs) for name, runs in zip(rows, runs_of, strict=True) if self.report.rows[name].seeded
        ]
        half = _half_width(difference[1:].var(), seeds, counts)
        return {"tasks": common, "seeds": min(counts, default=1), **_interval(float(difference[0]), half)}

    def _of_scores(self, rows: Sequence[str], signs: Sequence[int], tasks: Sequence[str]) -> Result | None:
        """The same from the intervals of the rows' scores, as if they were independent."""
        each = [self.report.intervals(name) for name in rows]
        common = {column for column in each[0] if all("low" in scores.get(column, {}) for scores in each)}
        halves = [{c: (scores[c]["high"] - scores[c]["low"]) / 2 for c in common} for scores in each]
        widths = [_points(figures, common, tasks) for figures in halves]
        if not widths[0]:
            return None

        def mean(run: Result) -> float:
            values = {c: score["value"] for c, score in run["scores"].items()}
            return fmean(_points(values, common, tasks).values())

        means = {
            name: [mean(run) for run in self.report.of(name) if common <= run["scores"].keys()]
            for name in self.report.rows
        }
        difference = sum(sign * fmean(means[name]) for sign, name in zip(signs, rows, strict=True))
        half = math.hypot(*(width for figures in widths for width in figures.values())) / len(widths[0])
        counts = [len(means[name]) for name in rows if self.report.rows[name].seeded]
        half = _half_width((half / _normal_quantile()) ** 2, _between_seeds(list(means.values())), counts)
        return {
            "tasks": list(widths[0]),
            "seeds": min(counts, default=1),
            **_interval(difference, half),
            "paired": False,
        }

    def tested(self, row: str, other: str, task: str) -> Result:
        """One-tailed paired t-tests of accuracies: over examples (means of the seeds), and over seeds."""
        results = [[run[task] for run in self.read.get(name, []) if task in run] for name in (row, other)]
        if not all(results) or any(result.headline != "acc" for runs in results for result in runs):
            return {}
        outputs = [[result.predictions["test"] for result in runs] for runs in results]
        correct = [np.mean([run.per_seed == run.gold for run in runs], axis=(0, 1)) for runs in outputs]
        p = {"examples": paired_t_test(*correct).p_one_tailed}
        accuracies = [[result.figure("acc") for result in runs] for runs in results]
        seeds = [[result["seed"] for result in self.report.of(name)] for name in (row, other)]
        if seeds[0] == seeds[1] and len(accuracies[0]) == len(accuracies[1]) >= _SEEDS_TESTED:
            p["seeds"] = paired_t_test(*accuracies).p_one_tailed
        return {"p": p}


def _interval(value: float, half: float) -> Result:
    ends = {"value": value, "low": value - half, "high": value + half}
    return {name: round(end, _DIGITS) for name, end in ends.items()}


def _mean(report: Evaluated, tasks: Sequence[str], resamples: int) -> npt.NDArray[np.float64]:
    """The mean over tasks: of the test examples, then of each resample."""
    means = resampled_mean([report[task] for task in tasks], [1 / len(tasks)] * len(tasks), resamples, _SEED)
    if means is None:
        raise ValueError(f"the report on {report.encoder} does not hold the predictions for each example")
    return means


class _Variance(NamedTuple):
    """The variance of the means of one row between seeds."""

    value: float
    freedom: int


def _between_seeds(means: Sequence[Sequence[float]]) -> _Variance:
    """The variance between seeds, pooled over rows."""
    freedom = sum(len(runs) - 1 for runs in means if runs)
    squares = sum(float(np.var(runs)) * len(runs) for runs in means if runs)
    return _Variance(squares / freedom if freedom else 0.0, freedom)


def _normal_quantile() -> float:
    """Half the width of a 95 % interval of a standard normal variable."""
    return NormalDist().inv_cdf(0.975)


def _half_width(examples: float, seeds: _Variance, counts: Sequence[int]) -> float:
    """Half the 95 % interval, by Student's t with the degrees of freedom of Welch and Satterthwaite."""
    from_seeds = seeds.value * sum(1 / count for count in counts)
    both = examples + from_seeds
    if from_seeds == 0:
        return _normal_quantile() * math.sqrt(both)
    stats: Any = require("scipy.stats", "eval")
    return float(stats.t.ppf(0.975, seeds.freedom * (both / from_seeds) ** 2)) * math.sqrt(both)


def forest_plot(findings: Sequence[Result]) -> Any:
    """A figure of the claims, one below the other, with a panel for each unit.

    It shows the paper's difference as a dot, ours with its interval, the margin of "equally good", and as a
    grey band around 0 what training gave over the untrained encoder.

    Args:
        findings: Results of `evaluated_claims` or of tables, at least one.

    Raises:
        ImportError: matplotlib is not installed.
    """
    units: dict[str, list[Result]] = {}
    for finding in findings:
        units.setdefault(finding.get("unit", "difference in points"), []).append(finding)
    height = 1.2 + 0.42 * max(map(len, units.values()))
    figure, panels = new_figure(8.5 * len(units), height, len(units))
    handles: dict[str, Any] = {}
    for axes, (unit, shown) in zip(panels, units.items(), strict=True):
        handles |= forest(
            axes,
            [_compared(finding, "\nminus ") for finding in shown],
            [(finding["value"], (finding["low"], finding["high"])) for finding in shown],
            [finding["verdict"] for finding in shown],
            _COLOURS,
            marks=[finding.get("paper") for finding in shown],
            margins=[finding.get("within") for finding in shown],
            bands=[finding.get("trained", {}).get("value") for finding in shown],
        )
        axes.set_xlabel(f"{unit}, 95 % interval")
    names = {**{verdict: f"ours: {verdict}" for verdict in _COLOURS}, **_LEGEND}
    handles = {text: handles[name] for name, text in names.items() if name in handles}
    legend(figure, handles, loc="outside lower center", ncols=len(handles), fontsize=8)
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
            *filled_columns(
                CLAIM_HEADER + ["p over examples", "p over seeds"] * tested,
                [claim_cells(finding) + _levels(finding) * tested for finding in report.findings],
            ),
        )

    def pictures(self, report: Report) -> Iterator[tuple[str, Any]]:
        """The differences with their intervals, if there are any."""
        if report.findings:
            yield "findings", forest_plot(report.findings)

    def notes(self, report: Report) -> Iterator[str]:
        """How the verdicts follow, and their counts."""
        if not report.findings:
            return
        yield rules(report.findings)
        yield "Intervals cover test examples and seeds (variance pooled over rows; unknown with one seed)."
        if any("p" in finding for finding in report.findings):
            yield (
                "p: one-tailed paired t-test over test examples (each with the mean of the seeds), and over "
                f"seeds, if there are {_SEEDS_TESTED} or more."
            )
        for name in dict.fromkeys(finding["claim"] for finding in report.findings):
            findings = [finding for finding in report.findings if finding["claim"] == name]
            counts = Counter(finding["verdict"] for finding in findings)
            verdicts = ", ".join(f"{verdict} in {count}" for verdict, count in counts.most_common())
            tasks = dict.fromkeys(task for finding in findings for task in finding["tasks"])
            yield f"{name}, over {', '.join(tasks)}: {verdicts} of {len(findings)}."


def rules(findings: Sequence[Result]) -> str:
    """How verdicts follow from the intervals, to be read before the results."""
    differences = [finding for finding in findings if "unit" not in finding]
    margins = sorted({one["within"] for one in differences if one["within"] is not None})
    parts = ["Differences are in points: percent, BLEU, or correlation times 100."]
    if any(one["within"] is None for one in differences):
        parts.append(
            '"Better" holds if the 95 % interval is above 0 and differs if it is below; else it is undecided.'
        )
    if margins:
        parts.append(
            f'Margin of "equally good", chosen before the run: {", ".join(f"{-x:g}" for x in margins)}. '
            "It holds if the interval is above the margin, and differs if it is below. "
            "If training gave no more than the margin's size, it is undecided."
        )
    if any("trained" in one for one in differences):
        parts.append(
            '"Training gave": the first row minus the untrained network of the same width and pooling, same '
            'tasks; "-": none was evaluated.'
        )
    elif differences:
        parts.append(
            "What training gave is unknown: no untrained network of the same width and pooling was evaluated."
        )
    if any("net" in one for one in differences):
        parts.append(
            '"Net": less the difference of the untrained networks of these widths and poolings, which the '
            "paper's difference includes."
        )
    if any("paired" in one for one in differences):
        parts.append(
            "Intervals from stored scores treat rows as independent, so they are wider than paired ones."
        )
    if any(one.get("unit", "").startswith("correlation") for one in findings):
        parts.append(
            "Claims on correlations require p < 0.05 over all groups of metrics (permutations of encoders)."
        )
    return " ".join(parts)


def claim_cells(finding: Result) -> list[str]:
    """The cells of a finding below `CLAIM_HEADER`."""
    paper, within, gain = finding.get("paper"), finding.get("within"), finding.get("trained", {}).get("value")
    reasons = list(finding.get("reasons", ()))
    if finding["verdict"] == "undecided" and not reasons:
        if within is None:
            reasons.append("interval contains 0")
        elif gain is not None and gain <= within:
            reasons.append(f"training gave only {gain:+.1f}")
        else:
            reasons.append(f"interval contains {-within:g}")
    if len(finding["tasks"]) < finding["of"]:
        reasons.append(f"{len(finding['tasks'])} of {finding['of']} tasks")
    if finding["seeds"] == 1:
        reasons.append("one seed")
    return [
        finding["claim"],
        _compared(finding, " / "),
        MISSING if paper is None else f"{paper:+.{2 if 'unit' in finding else 1}f}",
        MISSING if within is None else f"{-within:g}",
        MISSING if gain is None else f"{gain:+.1f}",
        differing(finding, 2),
        finding["verdict"],
        ", ".join(reasons),
    ]


def _compared(finding: Result, separator: str) -> str:
    """The compared rows, the task if it is one, and whether the difference is net."""
    task = f", {finding['tasks'][0].replace('_', ' ')}" if len(finding["tasks"]) == 1 else ""
    task += ", net" * ("net" in finding)
    return str(finding.get("compared") or f"{finding['row']}{separator}{finding['other']}{task}")


def _levels(finding: Result) -> list[str]:
    p = finding.get("p", {})
    return [f"{p[over]:.2g}" if over in p else MISSING for over in ("examples", "seeds")]
