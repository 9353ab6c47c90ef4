"""A family of trained encoders: the rows and tables of its paper, and their computation."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from ..evaluation import Task
from ..text.corpus import Corpus
from ..vectors import WordVectors
from .bench import Bench, Measure, checked_networks
from .claims import Claim, evaluated_claims, published_difference
from .evaluator import Evaluator, paired, tasks_there
from .experiment import Experiment
from .labelled import Labels
from .report import Report
from .results_folder import Result, Results, file_identity, settings_of
from .rows import Row, Size, Todo, checked_seeds, computed

__all__ = ["Family"]

File = str | os.PathLike[str]


@dataclass(frozen=True, kw_only=True)
class Family(Experiment):
    """An experiment of a paper that trains its encoders.

    Attributes:
        sizes: Sizes of the networks, by name.
        tasks: SentEval's tasks that rows are evaluated on, where their files are available.
        further: Tasks of the rows with `further`.
        options: Parameters of every network that users may set, besides preset and device, with defaults.
        baseline: Row of the paired differences; "" for none.
        read: Reads files into what `fit` takes; has `files`.
        corpora: Names of further corpora of sentences.
        ordered: Whether training uses neighbouring sentences, so validation sentences must be consecutive.
        labelled: Names of labelled corpora, instead of sentences.
        measure: Adds scores that SentEval does not have.
        claims: Claims of the paper about its rows.
        curve: Tasks of the scores during a training.
        facts: Further settings.
    """

    rows: Mapping[str, Row]
    sizes: Mapping[str, Size]
    tasks: Sequence[str]
    further: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    baseline: str = ""
    read: Callable[[Sequence[File]], Any] = Corpus.from_files
    corpora: Sequence[str] = ()
    ordered: bool = False
    labelled: Sequence[str] = ()
    measure: Measure | None = None
    claims: Sequence[Claim] = ()
    curve: Sequence[str] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

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
        seeds: Sequence[int] | Mapping[str, Sequence[int]] = (0,),
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
        curves: bool = False,
        show_progress_bar: bool = False,
        **shared: Any,
    ) -> Report:
        """Trains and evaluates the rows of the paper's tables, and untrained controls.

        Every row is trained on the same sentences with the same vocabulary, for the same time (or number of
        steps). A stopped training continues from its checkpoint.

        Args:
            data: SentEval's `data` folder. Tasks without files are left out.
            vectors: Word vectors, or their file.
            train: Files of training sentences.
            valid: Files of validation sentences.
            out: Folder for the results: one JSON file for each row and seed in `rows`, reports in `reports`,
                encoders, training logs; the tables as `tables.md` and `results.json`, and a picture of the
                claims if matplotlib is installed.
            others: Further corpus -> its training files and validation files. Rows of missing corpora are
                left out.
            labels: Labelled corpora by name. Rows of missing corpora are left out.
            values: Parameter -> values to choose from by validation, for rows with `chosen`.
            size: "cpu", "paper", or a size.
            minutes: Training time of all trained rows without `asked` together, with one seed each. Every row
                gets an equal part, whichever rows are selected; the number of steps follows from the time of
                the first ones. Evaluation is extra. None: the size's.
            steps: Steps of each training, instead of a time.
            tables: Names of tables. None: all.
            rows: Names of rows, as in `"mean-max-aae"`. None: those of `tables`; rows with `asked` only if
                `out` holds them.
            seeds: Training seeds of each row with a network; tables show means. A mapping has the seeds of
                some rows by name; "" is all others.
            preset: Preset of the networks: "paper" or "reference", where there is one.
            normalize: Normalisation in the evaluation: "none", or "halves" for rows whose public code has it.
                None: that of the preset's code, or of the resumed folder.
            device: Device of the networks.
            autocast: Precision of trainings: "bfloat16" takes half the time on hardware that supports it.
                Embeddings are computed in float32.
            further: Further tasks, for the rows with `further`.
            resume: Continue in a folder that holds results of the same settings.
            protocol: Protocol of `evaluate`.
            options: Options of the protocol.
            resamples: Number of bootstrap resamples.
            partial: Accept files whose size is not the published one.
            curves: Evaluate the encoders that are trained at each validation, too, on the tasks of the
                family's `curve`, and draw the scores against sentences seen.
            show_progress_bar: Show progress bars.
            **shared: The family's options.

        Returns:
            The report.

        Raises:
            ValueError: There is no such size, table or row, a task failed, or `out` holds results of other
                settings.
            FileExistsError: `out` holds results, and `resume` is False.
            FileNotFoundError: A file of sentences, or the files of all tasks, are missing.
            FormatError: A file of the data or the vectors has another format.
        """
        wanted_tables, wanted_rows = self.selected(tables, rows)
        row_seeds = self._row_seeds(seeds)
        sized = self.sized(size).limited(minutes, steps)
        evaluator = Evaluator(
            protocol=protocol, options=options or {}, resamples=resamples, show=show_progress_bar
        )
        if unknown := set(shared) - set(self.options):
            raise TypeError(f"{self.name} has no option {', '.join(sorted(unknown))}")
        normalize = self._normalize(normalize, preset, out)
        family_options = {**self.options, **shared}
        precision = {} if autocast is None else {"autocast": autocast}
        networks = {"preset": preset, **family_options, **precision, "device": device}
        dim = sized.word_dim or (vectors.dim if isinstance(vectors, WordVectors) else 2)
        checked_networks([self.rows[name] for name in wanted_rows], networks, dim)
        labels, values = labels or {}, values or {}
        if unknown := {*(others or {}), *labels} - {*self.corpora, *self.labelled}:
            raise ValueError(f"{self.name} has no corpus {', '.join(sorted(unknown))}")
        files = {**({} if self.labelled else {"": (train, valid)}), **(others or {})}
        texts = {name: (self.read(train), self.read(valid)) for name, (train, valid) in files.items()}
        if not isinstance(vectors, WordVectors):
            vectors = WordVectors.load(vectors)
        if sized.word_dim is not None:
            vectors = vectors.reduced(sized.word_dim)
        tasks = [*tasks_there((*self.tasks, *self.further), data, partial=partial), *further]
        evaluator = replace(evaluator, tasks=tasks)
        settings = {
            "size": {name: value for name, value in asdict(sized).items() if value != {}},
            "preset": preset,
            **({} if normalize is None else {"normalize": normalize}),
            **family_options,
            **precision,
            "vectors": {"words": len(vectors), "dim": vectors.dim, "fingerprint": vectors.fingerprint},
            **{
                " ".join([*([name] if name else []), what]): [file_identity(file) for file in corpus.files]
                for name, both in texts.items()
                for what, corpus in zip(("train", "valid"), both, strict=True)
            },
            **({"labels": {name: corpus.facts for name, corpus in labels.items()}} if labels else {}),
            **({"values": values} if values else {}),
            **evaluator.settings(),
            **self.facts,
        }
        results = Results(out, settings, resume)
        if rows is None:
            wanted_rows = [
                name
                for name in wanted_rows
                if not self.rows[name].asked
                or any(results.holds(f"{name} {seed}") for seed in row_seeds[name])
            ]
        bench = Bench(
            vectors,
            {**texts, **labels},
            sized,
            results,
            evaluator,
            rows=self.rows,
            shared=networks,
            normalize=normalize,
            further=[*self.further, *(task.name for task in further)],
            values=values,
            ordered=self.ordered,
            measure=self.measure,
            curve=self.curve if curves else (),
            show=show_progress_bar,
        )
        todo = self._todo(bench, wanted_rows, row_seeds)
        computed_rows = computed(self.name, todo, len(todo), results, show=show_progress_bar)
        self._compare(bench, computed_rows, evaluator.resamples)
        return self.write(results, computed_rows, wanted_tables, self._findings(bench, computed_rows))

    def sized(self, size: str | Size) -> Size:
        """The size of that name, or the given one."""
        if not isinstance(size, str):
            return size
        if size not in self.sizes:
            raise ValueError(f"size must be one of {', '.join(self.sizes)}, got {size!r}")
        return self.sizes[size]

    def _normalize(self, normalize: str | None, preset: str, out: File) -> str | None:
        """The normalisation in the evaluation; a resumed folder keeps its own."""
        ways = {row.normalize[preset] for row in self.rows.values() if preset in row.normalize}
        known = {way for row in self.rows.values() for way in row.normalize.values()}
        if normalize is None:
            if (before := settings_of(out)) is not None:
                return before.get("normalize")
            return min(ways, default=None)
        if normalize not in {"none", *known}:
            raise ValueError(f"normalize must be one of {', '.join(['none', *known])}, got {normalize!r}")
        return None if normalize == "none" else normalize

    def _row_seeds(self, seeds: Sequence[int] | Mapping[str, Sequence[int]]) -> dict[str, list[int]]:
        """The seeds of every row."""
        named = dict(seeds) if isinstance(seeds, Mapping) else {"": seeds}
        row_seeds = dict.fromkeys(self.rows, checked_seeds(named.pop("", (0,))))
        for name, own in named.items():
            _, (row,) = self.selected(None, [name])
            row_seeds[row] = checked_seeds(own)
        return row_seeds

    def _todo(self, bench: Bench, rows: Sequence[str], row_seeds: Mapping[str, Sequence[int]]) -> list[Todo]:
        """The rows to compute: controls first, which take no time."""
        todo: list[Todo] = []
        for name in sorted(rows, key=lambda name: self.rows[name].trained):
            row, seeds = self.rows[name], row_seeds[name]
            for seed in seeds if row.seeded else seeds[:1]:
                label = f"{name} {seed}" if row.seeded else name
                todo.append((name, label, functools.partial(bench.result, name, row, seed)))
        return todo

    def findings(
        self, report: Report, reports: Mapping[str, Sequence[Path]] | None = None, resamples: int = 2000
    ) -> list[Result]:
        """The verdicts on the claims, with the paper's differences, and those of tables.

        Args:
            report: The results of the rows.
            reports: Row -> files of its evaluation reports. None: intervals are those of the scores.
            resamples: Number of bootstrap resamples.
        """
        findings = evaluated_claims(self.claims, report, reports or {}, resamples)
        findings = [{**finding, "paper": published_difference(report, finding)} for finding in findings]
        return [*findings, *(one for table in report.tables.values() for one in table.findings(report))]

    def _findings(self, bench: Bench, results: Sequence[Result]) -> list[Result]:
        """The verdicts on the claims, from the evaluation reports of their rows and of untrained networks."""
        compared = {row for claim in self.claims for row in (claim.row, claim.other)}
        compared |= {name for name, row in self.rows.items() if row.kind and not row.trained}
        reports: dict[str, list[Path]] = {}
        for result in results:
            if result["row"] in compared and "missing" not in result:
                path = bench.report_of(result["row"], result["seed"])
                reports.setdefault(result["row"], []).append(path)
        return self.findings(self.report(results, bench.results.settings), reports, bench.evaluator.resamples)

    def _compare(self, bench: Bench, results: Sequence[Result], resamples: int) -> None:
        """Adds to each result its difference to the baseline with the same seed, or else the first one."""
        bases = {result["seed"]: result for result in results if result["row"] == self.baseline}
        for result in results:
            if bases and "missing" not in result and result["row"] != self.baseline:
                base = bases.get(result["seed"], next(iter(bases.values())))
                ours, baseline = (bench.report_of(run["row"], run["seed"]) for run in (result, base))
                result["less"] = paired(ours, baseline, resamples)
