"""A family of encoders that are trained: what its paper's tables hold, and how they are computed again."""

from __future__ import annotations

import functools
import importlib.util
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..evaluation import Task
from ..text.corpus import Corpus
from ..vectors import WordVectors
from .bench import Bench, Measure, checked_networks
from .claims import Claim, evaluated_claims, picture, published_difference
from .judging import Judge, paired, tasks_there
from .labelled import Labels
from .papers import PAPERS
from .report import Report, Table
from .results_folder import Result, Results, file_identity, settings_of
from .rows import Row, Size, Todo, checked_seeds, chosen, computed

__all__ = ["Family"]

File = str | os.PathLike[str]


@dataclass(frozen=True, kw_only=True)
class Family:
    """Rows and columns of a paper's tables.

    Attributes:
        name: As in `sentencode reproduce <family>`; a key of `papers.PAPERS`.
        rows: By the names that the paper gives them, controls among them.
        sizes: How large encoders are, by name.
        tables: By their names, in the order in which they are shown.
        tasks: SentEval's that rows are judged on, where their files are there.
        further: The like, of rows that say so.
        columns: Of the tables, as in `"MRPC f1"`.
        names: Columns -> what headers call them, where that is not the task.
        remarks: What is to be said under all tables.
        options: Parameters of every network that one may choose, besides the preset and the device, and what
            they are if one does not.
        baseline: A row that the others are compared with, example by example; "" for none.
        read: Makes of files what `fit` takes, and what it is validated on; it tells its `files`.
        corpora: Names of other corpora, which rows are trained on that say so.
        ordered: Whether sentences are learnt from by those around them: then those that a training is
            validated on stand together.
        labelled: Names of corpora of labelled examples, which rows are trained on that say so: families that
            have such have no others.
        measure: Adds figures of what SentEval does not judge.
        claims: What the paper says of its rows.
    """

    name: str
    rows: Mapping[str, Row]
    sizes: Mapping[str, Size]
    tables: Mapping[str, Table]
    tasks: Sequence[str]
    columns: Sequence[str]
    names: Mapping[str, str] = field(default_factory=dict)
    further: Sequence[str] = ()
    remarks: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    baseline: str = ""
    read: Callable[[Sequence[File]], Any] = Corpus.from_files
    corpora: Sequence[str] = ()
    ordered: bool = False
    labelled: Sequence[str] = ()
    measure: Measure | None = None
    claims: Sequence[Claim] = ()

    def reproduce(
        self,
        data: File,
        vectors: File | WordVectors,
        train: Sequence[File] = (),
        valid: Sequence[File] = (),
        *,
        out: File,
        others: Mapping[str, tuple[Sequence[File], Sequence[File]]] | None = None,
        labels: Mapping[str, Labels] | None = None,
        values: Mapping[str, Sequence[Any]] | None = None,
        size: str | Size = "cpu",
        minutes: float | None = None,
        steps: int | None = None,
        tables: Sequence[str] | None = None,
        rows: Sequence[str] | None = None,
        seeds: Sequence[int] = (0,),
        preset: str = "paper",
        normalize: str | None = None,
        device: str = "auto",
        autocast: Literal["bfloat16"] | None = None,
        further: Sequence[Task] = (),
        resume: bool = False,
        protocol: str = "optimum",
        options: Mapping[str, Any] | None = None,
        resamples: int = 2000,
        partial: bool = False,
        show_progress_bar: bool = False,
        **shared: Any,
    ) -> Report:
        """Trains and judges the rows of the paper's tables, beside controls that are not trained.

        Every row is trained on the same sentences with the same words, for the same time (or the same number
        of steps). One that was stopped goes on from its checkpoint.

        Args:
            data: SentEval's `data` folder. Tasks whose files are there are judged.
            vectors: Word vectors, or their file.
            train: Files of sentences to train on.
            valid: Files of sentences to validate on.
            out: A folder for the results: one JSON file for each row and seed in `rows`, reports in
                `reports`, encoders, logs of the training; all tables as `tables.md` and `results.json`,
                findings as a picture, too, where matplotlib is installed.
            others: The family's other corpora, by their names: files to train on, files to validate on. Rows
                of those that are not given are left out.
            labels: The family's labelled corpora, by their names. Rows of those that are not given are left
                out.
            values: By parameters, values of which validation chooses, for rows that say so: each is trained
                with.
            size: "cpu", "paper", or one of your own.
            minutes: Of training for all trained rows together, one seed each: every row has its share,
                whichever rows are asked for. From the time of its first steps follows how many it takes.
                Judging comes on top. None: the size's.
            steps: Of each training, in place of time.
            tables: Names of tables. None: all.
            rows: Names of rows, as in `"mean-max-aae"`. None: those of `tables`.
            seeds: Each row with a network is trained once with each; tables show means.
            preset: Of the networks: "paper" or "reference".
            normalize: How rows are judged: "none", as they are, or "halves", as `encode(..., normalize=)`
                does it, for rows whose public code does. None: as the preset's code does, or, in a folder
                that is gone on with, as before.
            device: Of the networks.
            autocast: Of trainings: "bfloat16" takes half the time where the hardware has it. Embeddings are
                computed in float32.
            further: Tasks of your own, which rows are judged on that are judged on the family's further ones.
            resume: Whether to go on in a folder that holds results, made from the same things.
            protocol: Of `evaluate`.
            options: Of the protocol.
            resamples: Of the bootstrap.
            partial: Whether to accept files of another size than was published.
            show_progress_bar: Whether to show them.
            **shared: The family's own options, parameters of all networks.

        Returns:
            The report.

        Raises:
            ValueError: There is no such size, table or row, a task failed, or `out` holds results of other
                settings.
            FileExistsError: `out` holds results, and `resume` is False.
            FileNotFoundError: A file of sentences, or the files of all tasks, are not there.
            FormatError: The data or the vectors are not what they should be.
        """
        wanted_tables = chosen(tables, list(self.tables), "table")
        asked = self._rows_of(tables) if rows is None and tables is not None else rows
        wanted_rows = chosen(asked, list(self.rows), "row")
        seeds = checked_seeds(seeds)
        of_size = self._sized(size).limited(minutes, steps)
        judging: dict[str, Any] = {"protocol": protocol, "options": options or {}, "resamples": resamples}
        Judge(**judging)  # finds fault before anything is read
        if unknown := set(shared) - set(self.options):
            raise TypeError(f"{self.name} has no option {', '.join(sorted(unknown))}")
        normalize = self._normalize(normalize, preset, out)
        own = {**self.options, **shared}
        half = {} if autocast is None else {"autocast": autocast}
        networks = {"preset": preset, **own, **half, "device": device}
        dim = of_size.word_dim or (vectors.dim if isinstance(vectors, WordVectors) else 2)
        checked_networks({name: self.rows[name] for name in wanted_rows}, networks, dim)
        labels, values = labels or {}, values or {}
        if unknown := {*(others or {}), *labels} - {*self.corpora, *self.labelled}:
            raise ValueError(f"{self.name} has no corpus {', '.join(sorted(unknown))}")
        files = {**({} if self.labelled else {"": (train, valid)}), **(others or {})}
        texts = {name: (self.read(of[0]), self.read(of[1])) for name, of in files.items()}
        if not isinstance(vectors, WordVectors):
            vectors = WordVectors.load(vectors)
        if of_size.word_dim is not None:
            vectors = vectors.reduced(of_size.word_dim)
        tasks = [*tasks_there((*self.tasks, *self.further), data, partial=partial), *further]
        judge = Judge(tasks, **judging, show=show_progress_bar)
        settings = {
            "size": {name: value for name, value in asdict(of_size).items() if value != {}},
            "preset": preset,
            **({} if normalize is None else {"normalize": normalize}),
            **own,
            **half,
            "vectors": {"words": len(vectors), "dim": vectors.dim, "fingerprint": vectors.fingerprint},
            **{
                " ".join([*([name] if name else []), what]): [file_identity(file) for file in corpus.files]
                for name, both in texts.items()
                for what, corpus in zip(("train", "valid"), both, strict=True)
            },
            **({"labels": {name: of.facts for name, of in labels.items()}} if labels else {}),
            **({"values": values} if values else {}),
            **judge.settings(),
        }
        results = Results(out, settings, resume)
        bench = Bench(
            vectors,
            {**texts, **labels},
            of_size,
            results,
            judge,
            parts=sum(row.trained for row in self.rows.values()),
            shared=networks,
            normalize=normalize,
            further=[*self.further, *(task.name for task in further)],
            values=values,
            ordered=self.ordered,
            measure=self.measure,
            show=show_progress_bar,
        )
        todo = self._todo(bench, wanted_rows, seeds)
        found = computed(self.name, todo, len(todo), results, show=show_progress_bar)
        self._compare(bench, found, judge.resamples)
        report = self.report(found, results.settings, wanted_tables, self._findings(bench, found))
        results.write("tables.md", report.markdown())
        results.write("results.json", report.json())
        if report.findings and importlib.util.find_spec("matplotlib") is not None:
            for kind in ("png", "svg"):
                results.write(f"findings.{kind}", picture(report.findings, kind))
        return report

    def report(
        self,
        results: Sequence[Result],
        settings: Mapping[str, Any],
        tables: Sequence[str] | None = None,
        findings: Sequence[Result] = (),
    ) -> Report:
        """The report on results.

        Args:
            results: One for each row and seed.
            settings: All that decided what came out.
            tables: Names of tables. None: all.
            findings: What became of the claims.
        """
        return Report(
            results,
            settings,
            {name: self.tables[name] for name in (self.tables if tables is None else tables)},
            self.name,
            self.rows,
            PAPERS[self.name],
            self.columns,
            self.names,
            self.remarks,
            findings,
        )

    def _rows_of(self, tables: Sequence[str]) -> list[str]:
        """The rows that tables show; those that show what is there show all, if they stand alone."""
        shown = [self.tables[name] for name in chosen(tables, list(self.tables), "table")]
        named = [table.rows for table in shown if hasattr(table, "rows")]
        if not named or None in named:
            return list(self.rows)
        return list(dict.fromkeys(row for rows in named for row in rows))

    def _sized(self, size: str | Size) -> Size:
        if not isinstance(size, str):
            return size
        if size not in self.sizes:
            raise ValueError(f"size must be one of {', '.join(self.sizes)}, got {size!r}")
        return self.sizes[size]

    def _normalize(self, normalize: str | None, preset: str, out: File) -> str | None:
        """How rows are judged; a folder of results that was begun before says how it was begun."""
        ways = {row.normalize[preset] for row in self.rows.values() if preset in row.normalize}
        known = {way for row in self.rows.values() for way in row.normalize.values()}
        if normalize is None:
            before = settings_of(out)
            if before is not None:
                return before.get("normalize")
            return min(ways, default=None)
        if normalize not in {"none", *known}:
            raise ValueError(f"normalize must be one of {', '.join(['none', *known])}, got {normalize!r}")
        return None if normalize == "none" else normalize

    def _todo(self, bench: Bench, rows: Sequence[str], seeds: Sequence[int]) -> list[Todo]:
        """What is to be computed: controls first, which take no time."""
        todo: list[Todo] = []
        for name in sorted(rows, key=lambda name: self.rows[name].trained):
            row = self.rows[name]
            for seed in seeds if row.kind else seeds[:1]:
                label = f"{name} {seed}" if row.kind else name
                todo.append((name, label, functools.partial(bench.result, name, row, seed)))
        return todo

    def _findings(self, bench: Bench, results: Sequence[Result]) -> list[Result]:
        """What becomes of the claims."""
        wanted = {row for claim in self.claims for row in (claim.row, claim.other)}
        reports: dict[str, list[Path]] = {}
        for result in results:
            if result["row"] in wanted and "missing" not in result:
                of_row = reports.setdefault(result["row"], [])
                of_row.append(bench.report_of(result["row"], result["seed"]))
        findings = evaluated_claims(self.claims, reports, bench.judge.resamples)
        every = self.report(results, bench.results.settings)
        return [{**finding, "paper": published_difference(every, finding)} for finding in findings]

    def _compare(self, bench: Bench, results: Sequence[Result], resamples: int) -> None:
        """Says of each result what it has more than the baseline, with the same seed or the first one."""
        bases = {result["seed"]: result for result in results if result["row"] == self.baseline}
        for result in results:
            if bases and "missing" not in result and result["row"] != self.baseline:
                base = bases.get(result["seed"], next(iter(bases.values())))
                both = [bench.report_of(one["row"], one["seed"]) for one in (result, base)]
                result["less"] = paired(both[0], both[1], resamples)
