"""The report of one encoder on many tasks: tables, JSON and HTML."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...errors import FormatError
from ...files import read_json, whole_file
from ..metrics.results import Curve, TaskResult, plain
from .base import BaseReport
from .html import write_html
from .mteb import read_mteb, write_mteb
from .reading import check_report
from .tables import html_of, latex, markdown, markdown_row

__all__ = ["Report"]

_FORMAT = "sentencode.report"
_VERSION = 1
_KEYS = frozenset({"format", "version", "encoder", "facts", "skipped", "averages", "results", "curves"})


@dataclass(eq=False)
class Report(BaseReport):
    """Result of `sentencode.evaluate`: `report["MR"]["acc"]`.

    Attributes:
        encoder: Name of the encoder.
        results: Results by task.
        skipped: Requested tasks that were not run, and why.
        facts: Dimensions and fingerprint of the encoder, the protocol, sentences per second, versions.
        curves: Curves by a name that reports of several encoders share, such as the task's.
    """

    def to_markdown(self) -> str:
        """A table of the scores with notes."""
        head = [markdown(self.encoder), "figure", "value", f"{self.level} interval"]
        lines = [markdown_row(head), markdown_row(["---"] * 4)]
        lines += [markdown_row([*map(markdown, row[:2]), *row[2:]]) for row in self.shown()]
        return "\n".join([*lines, "", *map(markdown, self.notes())]) + "\n"

    def to_latex(self) -> str:
        """A LaTeX table of the scores (booktabs)."""
        head = (self.encoder, "figure", "value", f"{self.level} interval")
        lines = [r"\begin{tabular}{llrr}", r"\toprule", rf"{' & '.join(map(latex, head))} \\", r"\midrule"]
        for task, key, value, interval in self.shown(r"$\pm$"):
            lines.append(rf"{latex(task)} & {latex(key)} & {value} & {interval} \\")
        lines.append(r"\bottomrule")
        if "protocol" in self.facts:
            lines.append(rf"\multicolumn{{4}}{{l}}{{{latex(self.protocol)}}} \\")
        return "\n".join([*lines, r"\end{tabular}", ""])

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The report without sentences, as JSON; also written to a file, atomically.

        Args:
            path: The file. None: none is written.
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
            with whole_file(path, follow_link=True) as file:
                file.write(text.encode("utf-8"))
        return text

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Report:
        """Read a report from a file of `to_json`; it has no sentences.

        Args:
            path: The file.

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
            _add_similarity(results, values["facts"])
            for result in results.values():
                _ = result.scored  # raises if the scores are not those of a task
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
            raise FormatError(f"{name}: a damaged report: {error}") from None
        return cls(values["encoder"], results, values["skipped"], values["facts"], curves)

    def to_mteb(
        self, folder: str | os.PathLike[str], name: str | None = None, revision: str | None = None
    ) -> list[Path]:
        """Write the tasks that mteb defines in the same way, as results of mteb.

        These are STSBenchmark's test set, all pairs of SICK, and the STS years. The correlation is that of
        all pairs of a task together. Other tasks are left out, with a warning. The sentences of STSBenchmark
        and of the STS years are those of SentEval's files: tokenized, and partly lower-cased. So scores of
        encoders that read case or punctuation differ from those on mteb's files (`sentencode.mteb.model`).

        Args:
            folder: Folder for the results; those of this model go to `folder/<name>/<revision>`, as mteb's
                cache has them.
            name: Name of the model, as in "organisation/model". None: "sentencode/" and the encoder's name.
            revision: Revision of the model. None: the encoder's fingerprint.

        Returns:
            The files, one for each task.

        Raises:
            ValueError: The report has none of these tasks.
        """
        fingerprint = re.sub(r"\W", "-", str(self.facts.get("fingerprint") or "unknown"))[:12]
        return write_mteb(self.results, folder, name or f"sentencode/{self.encoder}", revision or fingerprint)

    @classmethod
    def from_mteb(cls, folder: str | os.PathLike[str]) -> Report:
        """Read results of mteb, such as published ones, to show them next to others.

        STSBenchmark, SICK and the STS years have the names that they have here, other tasks mteb's names and
        main scores. There are no predictions, and so no intervals and no tests.

        Args:
            folder: Folder of a revision of a model, with a JSON file for each task.

        Raises:
            FileNotFoundError: There are no results in the folder.
            FormatError: A file is not a result of mteb.
        """
        name, results = read_mteb(folder)
        return cls(name, results)

    def to_html(
        self,
        path: str | os.PathLike[str],
        others: Sequence[BaseReport] = (),
        *,
        extra: Mapping[str, Mapping[str, float]] | None = None,
    ) -> None:
        """Write a self-contained HTML file: see `write_html`.

        Args:
            path: The file.
            others: Reports of other encoders to compare with.
            extra: Further scores by encoder, such as BLEU.
        """
        write_html([self, *others], path, extra=extra)

    def show(self) -> Any:
        """Display the table in a notebook, or print it."""
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

    def _repr_html_(self) -> str:
        return html_of(self.to_markdown())

    def __repr__(self) -> str:
        shown = ", ".join(f"{self[task].label} {value:.2f}" for task, _, value, _ in self.rows())
        return f"Report({self.encoder!r}: {shown or 'no figures'})"


def _add_similarity(results: Mapping[str, TaskResult], facts: Mapping[str, Any]) -> None:
    """Add how pairs were scored to results of older versions, if not by the cosine."""
    other = re.search(r"\bsimilarity=([^,]+)", str(facts.get("protocol")))
    for result in results.values():
        if other and result.scored == "cosine" and "scored" not in result.details:
            result.details["scored"] = other[1]
