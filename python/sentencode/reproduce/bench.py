"""Trains and evaluates the rows of a family; a stopped training continues."""

from __future__ import annotations

import math
import shutil
import statistics
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..concatenation import Concatenation
from ..errors import MajorityWarning
from ..files import make_folder, without_link
from ..saved import load
from ..text.vocabulary import Vocabulary
from ..threads import num_threads
from ..training import Callback, CsvLog, History
from ..vectors import WordVectors
from .curves import CurveLog, curve_of
from .evaluator import Adapted, Evaluator, scores_of
from .labelled import Labels, evaluated_labels
from .parallel import Parallel
from .results_folder import Result, Results, as_json, slug
from .rows import NO_STEP, NotAvailableError, Row, Size

if TYPE_CHECKING:  # which needs torch
    from ..models import NeuralEncoder

__all__ = ["Bench", "Measure", "checked_networks"]

_PROBE_SKIPS = 10  # first steps of a probe, which are slower
_VALIDATIONS = 10  # and checkpoints in a training
_IN_ORDER = 20  # consecutive validation sentences of a document, if it has as many
_TINY = 24  # a width that every number of heads divides
_CHECKED = 5  # sentences, as many as a paragraph has

# Scores that SentEval does not have: bench, encoder of the row, result of the row so far -> scores.
Measure = Callable[["Bench", Any, Result], Mapping[str, Mapping[str, float]]]


@dataclass
class Bench:
    """What all rows share: word vectors, corpora, tasks, and the folder of results.

    Attributes:
        vectors: Word vectors.
        corpora: Name -> training and validation sentences, or labelled examples. "" is the common corpus.
        size: Sizes of the networks, and training parameters.
        results: Folder of results.
        evaluator: Evaluates encoders.
        rows: The rows of the family.
        shared: Parameters of every network.
        normalize: Normalisation of the rows that have it. None: none.
        further: Names of the tasks of the rows with `further`.
        values: Parameter -> values to choose from by validation.
        ordered: Whether training uses neighbouring sentences.
        measure: Adds scores that SentEval does not have.
        curve: Names of tasks that single encoders are evaluated on at each validation.
        show: Show progress bars.
    """

    vectors: WordVectors
    corpora: Mapping[str, tuple[Any, Any] | Labels]
    size: Size
    results: Results
    evaluator: Evaluator
    rows: Mapping[str, Row] = field(default_factory=dict)
    shared: Mapping[str, Any] = field(default_factory=dict)
    normalize: str | None = None
    further: Sequence[str] = ()
    values: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    ordered: bool = False
    measure: Measure | None = None
    curve: Sequence[str] = ()
    show: bool = False
    _vocabularies: dict[str, Vocabulary] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        few = _few_in_order if self.ordered else _few
        most = self.size.valid_sentences
        self.corpora = {
            name: corpus if isinstance(corpus, Labels) else (corpus[0], few(corpus[1], most))
            for name, corpus in self.corpora.items()
        }

    @property
    def folder(self) -> Path:
        """The folder of results."""
        assert self.results.folder is not None
        return self.results.folder

    def result(self, name: str, row: Row, seed: int) -> Result:
        """The result of a row with a seed."""
        result: Result = {"row": name, "seed": seed, "threads": num_threads()}
        label = slug(f"{name} {seed}")
        encoder: Any
        if row.joined:
            encoder, of_parts = self._joined(row, label, seed)
            result |= of_parts
        elif row.trained:
            encoder, history, tried = self.chosen(row, name, seed)
            result |= {**_training_results(history), **tried}
            if (scores := self.results.read(f"curves/{label}.json")) is not None:
                result["curve"] = curve_of(history, scores)
        elif row.kind:
            encoder = self.untrained(row, seed)
        else:
            assert row.make is not None
            encoder = row.make(self.vectors)
            if row.fitted:
                encoder.fit(self._sentences(row), show_progress_bar=self.show)
        labels = self.labels(row)
        if row.kind:
            result |= self._network_results(encoder, row, seed)
        if row.expanded:
            for part in encoder.encoders if row.joined else (encoder,):
                part.expand_vocabulary(self.vectors)
        evaluated = self._evaluated(encoder, row)
        begin = time.perf_counter()
        path = self.report_of(name, seed)
        label = f"{name}, seed {seed}" if row.seeded else name
        further = [] if row.further else self.further
        names = [task.name for task in self.evaluator.tasks] if row.tasks is None else row.tasks
        tasks = [task for task in self.evaluator.tasks if task.name in names and task.name not in further]
        if labels is not None and not row.trained:
            tasks += labels.tasks()
        report = self.evaluator(evaluated, label, tasks, path, tokens=not row.texts)
        if labels is not None and row.trained and labels.tests:
            classified = evaluated_labels(encoder, labels, resamples=self.evaluator.resamples)
            report.results = {**classified, **report.results}
            report.facts |= {"dim": encoder.network.dim}
            report.to_json(path)
        result["evaluation_minutes"] = (time.perf_counter() - begin) / 60
        result["dim"] = report.facts.get("dim")
        result["scores"] = scores_of(report)
        if self.measure is not None:
            result["scores"] |= self.measure(self, encoder, result)
        return result

    def _evaluated(self, encoder: Any, row: Row) -> Any:
        """The encoder as it is evaluated."""
        if not row.kind:  # a control
            return encoder
        labels = self.labels(row)
        encode = partial(encoder.encode, show_progress_bar=False)
        if self.normalize is not None and self.normalize in row.normalize.values():
            fingerprint = f"{encoder.fingerprint()}, normalize={self.normalize}"
            return Adapted(partial(encode, normalize=self.normalize), fingerprint, encoder)
        if isinstance(encoder.settings()["head"], _models().RowRegression):  # imitates a teacher
            return Adapted(lambda x: encoder.predict(list(x)), f"{encoder.fingerprint()}, predict")
        if isinstance(labels, Parallel):
            prepare = labels.prepare
            return Adapted(lambda x: encode(prepare(list(x))), f"{encoder.fingerprint()}, prepared")
        return encoder

    def _joined(self, row: Row, label: str, seed: int) -> tuple[Concatenation, Result]:
        """The concatenation of encoders, other rows' or trained apart, and the sums of their costs."""
        encoders, costs, sizes = [], [], []
        for i, part in enumerate(row.joined, 1):
            rows = [name for name, other in self.rows.items() if other == part]  # at most one
            files = slug(f"{rows[0]} {seed}") if rows else f"{label}-{i}"
            encoder, history = self.trained(part, files, seed, self.curve if rows else ())
            encoders.append(encoder)
            costs.append(_training_results(history))
            sizes.append(self._network_results(encoder, part, seed)["parameters"])
        result = {name: sum(cost[name] for cost in costs) for name in ("steps", "sentences", "minutes")}
        parameters = {name: sum(size[name] for size in sizes) for name in sizes[0]}
        return Concatenation(encoders, normalize=True), result | {"parameters": parameters}

    def report_of(self, name: str, seed: int) -> Path:
        """The file of the evaluation report of a row."""
        return self.results.report_of(f"{name} {seed}")

    def chosen(self, row: Row, name: str, seed: int) -> tuple[NeuralEncoder, History, Result]:
        """The encoder and history of the value with the best validation, and the results of all values.

        Values are chosen with the first seed, and kept for the others.
        """
        label, file = slug(f"{name} {seed}"), f"chosen/{slug(name)}.json"
        values = [(parameter, value) for parameter in row.chosen for value in self.values.get(parameter, ())]
        if not values:
            return *self.trained(row, label, seed, self.curve), {"encoder": f"{label}.sentencode"}
        earlier = self.results.read(file)
        if earlier is not None and earlier["seed"] != seed:
            values = [(earlier["parameter"], earlier["value"])]
        runs, dev = {}, {}
        for parameter, value in values:
            variant = replace(row, options={**row.options, parameter: value})
            encoder, history = self.trained(variant, slug(f"{label} {parameter} {value}"), seed)
            runs[parameter, value] = encoder, history
            dev[parameter, value] = max(validation.accuracy for validation in history.validations)
        parameter, value = best = max(dev, key=lambda value: dev[value])
        if earlier is None or earlier["seed"] == seed:
            self.results.write(file, as_json({"seed": seed, "parameter": parameter, "value": value}))
        return *runs[best], {
            "encoder": f"{slug(f'{label} {parameter} {value}')}.sentencode",
            "tried": {f"{parameter} {value}": accuracy for (parameter, value), accuracy in dev.items()},
            "taken": f"{parameter} {value}",
        }

    def trained(
        self, row: Row, label: str, seed: int, curve: Sequence[str] = ()
    ) -> tuple[NeuralEncoder, History]:
        """The trained encoder and its training history, across interruptions.

        Args:
            row: The row.
            label: Name of its files.
            seed: Seed of the training.
            curve: Names of tasks that it is evaluated on at each validation.
        """
        saved, log = self.folder / "encoders" / f"{label}.sentencode", self.folder / "logs" / f"{label}.csv"
        if not saved.exists():
            steps = self._steps(row, label, seed)
            if steps is None:
                encoder = self._network(row, seed)
            else:
                sized = {name: getattr(self.size, attribute) for name, attribute in row.sized.items()}
                warmup = {**self.size.training, **row.options, **sized}.get("warmup") or 0
                warmup = min(int(warmup), steps // 5)
                every = -(-steps // _VALIDATIONS)
                encoder = self._network(row, seed, max_steps=steps, warmup=warmup, validate_every=every)
            self._give_words(encoder, row, seed)
            for path in (saved, log):
                make_folder(path.parent)
            train, valid = self._examples(row)
            callbacks: list[Callback] = [CsvLog(log)]
            if curve:
                callbacks.append(self._curve_log(row, label, seed, curve))
            encoder.fit(
                *train,
                valid=valid,
                checkpoints=self.folder / "work" / label / "checkpoints",
                callbacks=callbacks,
                show_progress_bar=self.show,
            )
            encoder.save(without_link(saved))
            shutil.rmtree(self.folder / "work" / label, ignore_errors=True)  # or another process did
        return load(saved), History.from_csv(log)

    def _curve_log(self, row: Row, label: str, seed: int, names: Sequence[str]) -> CurveLog:
        """A log of the scores during a training, which begins with those of the untrained encoder."""
        encoder = self.untrained(row, seed)
        evaluator = replace(self.evaluator, resamples=1, show=False)
        tasks = [task for task in evaluator.tasks if task.name in names]
        out = self.folder / "work" / label / "curve.json"

        def score(network: Any) -> dict[str, float]:
            encoder.network.load_state_dict(network.state_dict())
            if row.expanded:
                encoder.expand_vocabulary(self.vectors)
            out.unlink(missing_ok=True)  # of earlier weights
            scores = scores_of(evaluator(self._evaluated(encoder, row), label, tasks, out))
            return {column: round(score["value"], 4) for column, score in scores.items()}

        log = CurveLog(self.results, f"curves/{label}.json", score)
        log.add(0, encoder.network)
        return log

    def untrained(self, row: Row, seed: int) -> NeuralEncoder:
        """The encoder at its initialisation: after a step that changes nothing."""
        encoder = self._network(row, seed, max_steps=1, learning_rate=NO_STEP, accumulate=1)
        self._give_words(encoder, row, seed)
        train, valid = self._examples(row)
        labels = self.labels(row)
        # Translation requires the training vocabulary; other vocabularies do not depend on the examples.
        examples = train if isinstance(labels, Parallel) else valid if labels else (valid,)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MajorityWarning)
            encoder.fit(*examples, show_progress_bar=self.show)
        return encoder

    def labels(self, row: Row) -> Labels | None:
        """The labelled examples of a row; None without labels."""
        corpus = self._corpus(row)
        return corpus if isinstance(corpus, Labels) else None

    def _examples(self, row: Row) -> tuple[tuple[Any, ...], Any]:
        """The training examples of a row, as arguments of `fit`, and its validation examples."""
        corpus = self._corpus(row)
        if isinstance(corpus, Labels):
            return tuple(corpus.train), tuple(corpus.valid)
        return corpus[:1], corpus[1]

    def _sentences(self, row: Row) -> Any:
        """The training sentences of a fitted row."""
        sentences, most = self._examples(row)[0][0], self.size.examples.get(row.corpus)
        if row.fitted != "sample" or most is None:
            return sentences
        count = sum(1 for _ in sentences)
        return [
            sentence for i, sentence in enumerate(sentences) if i * most // count != (i - 1) * most // count
        ]

    def _corpus(self, row: Row) -> Any:
        if row.corpus in self.corpora:
            return self.corpora[row.corpus]
        if row.corpus:
            raise NotAvailableError(f"the corpus {row.corpus} is missing")
        return None  # for controls of families whose examples are all labelled

    def _network(self, row: Row, seed: int, **more: Any) -> NeuralEncoder:
        """The encoder of a row, not fitted."""
        sized = {name: getattr(self.size, attribute) for name, attribute in row.sized.items()}
        corpus_options = self.size.corpus_training.get(row.corpus, {})
        ends = {"max_epochs": None} if "max_steps" in more else {}
        options = {
            **self.size.training,
            **corpus_options,
            **_shared_with(row, self.shared),
            **row.options,
            **sized,
            **ends,
            **more,
        }
        corpus = self.corpora.get(row.corpus)
        tokenizer = corpus.parameters if isinstance(corpus, Parallel) else {}
        vectors = self.vectors if row.vectors else None
        encoder: NeuralEncoder = getattr(_models(), row.kind)(vectors, seed=seed, **tokenizer, **options)
        return encoder

    def _give_words(self, encoder: NeuralEncoder, row: Row, seed: int) -> None:
        """Sets the output vocabulary, which is counted once for all rows of a corpus."""
        if self.labels(row) is None:
            encoder.set_params(vocabulary=self._words(row, seed))

    def _words(self, row: Row, seed: int) -> Vocabulary:
        if row.corpus not in self._vocabularies:
            path = self.folder / (f"vocabulary-{row.corpus}.txt" if row.corpus else "vocabulary.txt")
            if not path.exists():
                first = self._network(row, seed, max_steps=1)
                first.fit(*self._examples(row)[0], show_progress_bar=self.show)
                first.vocabulary_.write(without_link(path))  # atomic
            self._vocabularies[row.corpus] = Vocabulary.read(path)
        return self._vocabularies[row.corpus]

    def _steps(self, row: Row, label: str, seed: int) -> int | None:
        """The number of steps, measured once and stored. None: the row's parameters have it."""
        if self.size.minutes is None:
            return self.size.steps
        plan = self.results.read(f"work/{label}/plan.json")
        if plan is None:
            probe = self._network(row, seed, max_steps=self.size.probe)
            self._give_words(probe, row, seed)
            probe.fit(*self._examples(row)[0], show_progress_bar=self.show)
            seconds = [step.seconds for step in probe.history_.steps]
            each = statistics.fmean(seconds[min(_PROBE_SKIPS, len(seconds) - 1) :])
            share = 60 * self.size.minutes / self._trainings()
            plan = {"seconds_a_step": each, "steps": max(_VALIDATIONS, int(share / each))}
            self.results.write(f"work/{label}/plan.json", as_json(plan))
        return int(plan["steps"])

    def _trainings(self) -> int:
        """The number of trainings that share the size's minutes."""
        rows = list(self.rows.values())
        apart = [part for row in rows for part in row.joined if not row.asked and part not in rows]
        return len(apart) + sum(row.trained and not (row.asked or row.joined) for row in rows)

    def _network_results(self, encoder: NeuralEncoder, row: Row, seed: int) -> Result:
        """The size of a network, and its configuration."""
        sizes = {key: p.numel() for key, p in encoder.network.named_parameters() if p.requires_grad}
        softmax = sum(count for key, count in sizes.items() if key.startswith("softmax."))
        configured = encoder if row.trained else self._network(row, seed, max_steps=1)
        config = configured.get_params(deep=False)
        config = {key: config[key] for key in config if key not in ("vectors", "vocabulary")}
        classifier = 0
        if (head := encoder.settings()["head"]) is not None:
            config["head"] = head.to_config()
            classifier = sum(p.numel() for p in encoder.head_.parameters())
        return {
            "parameters": {
                "with_softmax": sum(sizes.values()) + classifier,
                "without_softmax": sum(sizes.values()) - softmax,
            },
            "config": config | {"class": row.kind, "tokenizer": encoder.tokenizer_.to_config(content=False)},
        }


def checked_networks(rows: Sequence[Row], shared: Mapping[str, Any], dim: int) -> None:
    """Checks the parameters of rows before anything is read, by one training step of tiny networks.

    Raises:
        TypeError: A parameter has a wrong type.
        ValueError: A parameter has a wrong value.
    """
    word = WordVectors.from_dict({"a": [1.0] * dim})
    networks = [one for row in rows for one in row.joined or (row,) if one.kind]
    for row in {repr((row.kind, row.options)): row for row in networks}.values():
        widths = {*row.sized, *({"hidden"} & row.options.keys())} - {"dropout"}
        options = {**row.options, **{name: 1 if name == "layers" else _TINY for name in widths}}
        options |= _shared_with(row, shared)
        encoder = getattr(_models(), row.kind)(word if row.vectors else None, **options, max_steps=1)
        encoder.fit([["a"] * encoder.min_length] * _CHECKED, _labels_for(encoder), show_progress_bar=False)


def _shared_with(row: Row, shared: Mapping[str, Any]) -> Mapping[str, Any]:
    """The shared parameters of a row: "paper", if the public code has no such network."""
    without = shared.get("preset") == "reference" and "reference" not in getattr(_models(), row.kind)._presets
    return {**shared, "preset": "paper"} if without else shared


def _labels_for(encoder: NeuralEncoder) -> list[Any] | None:
    """Labels or translations of these sentences; None for encoders that need none."""
    if hasattr(encoder, "translate"):
        return [["a"]] * _CHECKED
    head = encoder.settings()["head"]
    if isinstance(head, _models().RowRegression):
        return [[1.0, 0.0]] * _CHECKED
    return list("ababa") if isinstance(head, _models().Classifier) else None


def _models() -> Any:
    """The module of models, which imports torch."""
    from .. import models

    return models


def _few(sentences: Any, most: int) -> list[Any]:
    """About `most` of the sentences, spread over the files."""
    every = list(sentences)
    return every[:: max(1, -(-len(every) // most))]


def _few_in_order(sentences: Any, most: int) -> list[Any]:
    """About `most` consecutive sentences: the beginnings of documents, with a blank between them.

    Of many short documents only some are used, so that their sentences keep their neighbours.
    """
    documents = [document for document in sentences.documents() if document]
    documents = documents[:: -(-len(documents) * _IN_ORDER // most) or 1]
    fraction = min(1.0, most / max(1, sum(map(len, documents))))
    beginnings = [document[: math.ceil(fraction * len(document))] for document in documents]
    return [sentence for beginning in beginnings for sentence in (*beginning, "")]


def _training_results(history: History) -> Result:
    """Steps, times and validations of a training."""
    seconds = sum(step.seconds for step in history.steps)
    sentences = sum(step.examples for step in history.steps)
    result: Result = {
        "steps": history.steps[-1].step,
        "sentences": sentences,
        "minutes": seconds / 60,
        "sentences_per_second": sentences / seconds,
        "minutes_per_1000_batches": 1000 * seconds / 60 / len(history.steps),
    }
    result["validations"] = [
        [validation.step, validation.loss, _finite(validation.accuracy)] for validation in history.validations
    ]
    if figures := history.steps[-1].figures:
        result["figures"] = {"first": history.steps[0].figures, "last": figures}
    for best in [validation for validation in history.validations if validation.best][-1:]:
        result["dev"] = {"step": best.step, "loss": best.loss, "accuracy": _finite(best.accuracy)}
    return result


def _finite(accuracy: float) -> float | None:
    return None if math.isnan(accuracy) else accuracy
