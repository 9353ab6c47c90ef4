"""The bench that trains the rows of a family: each goes on where it was stopped."""

from __future__ import annotations

import math
import shutil
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..files import make_folder, without_link
from ..saved import load
from ..text.vocabulary import Vocabulary
from ..threads import num_threads
from ..training import CsvLog, History
from ..vectors import WordVectors
from .judging import Imitating, Judge, Normalized, Prepared, scores_of
from .labelled import Labels, judged_labels
from .parallel import Parallel
from .results_folder import Result, Results, as_json, slug
from .rows import NotAvailableError, Row, Size

if TYPE_CHECKING:  # which needs torch
    from ..models import NeuralEncoder

__all__ = ["Bench", "Measure", "checked_networks"]

_PROBE_SKIPS = 10  # of a probe's steps, which take longer than those that follow
_VALIDATIONS = 10  # in a training, and checkpoints
_IN_ORDER = 20  # sentences of a document that are to be validated on together, if it has as many
_TINY = 24  # a width that every number of heads divides
_NO_STEP = 1e-30  # a learning rate with which weights stay as they are

# Figures of what SentEval does not judge: a bench, a row's encoder and what is known of the row -> scores.
Measure = Callable[["Bench", Any, Result], Mapping[str, Mapping[str, float]]]


@dataclass
class Bench:
    """What all rows share: words, sentences, tasks, and where results go.

    Attributes:
        vectors: Of words.
        corpora: By their names, sentences to train on, and sentences to validate on; or labelled examples.
            "" is that of most rows.
        size: How wide encoders are, and how they are trained.
        results: The folder of results.
        judge: Judges encoders.
        parts: How many trainings share the size's minutes.
        shared: Parameters of every network.
        normalize: How rows are judged that tell it for this; None: as they are.
        further: Names of tasks that rows are judged on which say so.
        values: By parameters, values that are tried for rows that have them chosen.
        ordered: Whether sentences are learnt from by those around them.
        measure: Adds figures to those of the judge.
        show: Whether to show progress bars.
    """

    vectors: WordVectors
    corpora: Mapping[str, tuple[Any, Any] | Labels]
    size: Size
    results: Results
    judge: Judge
    parts: int
    shared: Mapping[str, Any] = field(default_factory=dict)
    normalize: str | None = None
    further: Sequence[str] = ()
    values: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    ordered: bool = False
    measure: Measure | None = None
    show: bool = False
    _vocabularies: dict[str, Vocabulary] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        few = _few_in_order if self.ordered else _few
        most = self.size.valid_sentences
        self.corpora = {
            name: of if isinstance(of, Labels) else (of[0], few(of[1], most))
            for name, of in self.corpora.items()
        }

    @property
    def folder(self) -> Path:
        """Where results go."""
        assert self.results.folder is not None
        return self.results.folder

    def result(self, name: str, row: Row, seed: int) -> Result:
        """All that is said of a row."""
        found: Result = {"row": name, "seed": seed, "threads": num_threads()}
        label = slug(f"{name} {seed}")
        encoder: Any
        if row.trained:
            encoder, history, tried = self.chosen(row, label, seed)
            found |= {**_of_training(history), **tried}
        elif row.kind:
            encoder = self.untrained(row, seed)
        else:
            assert row.make is not None
            encoder = row.make(self.vectors)
        labels = self.labels(row)
        if row.kind:
            found |= self._of_network(encoder, row, seed)
        if row.expanded:
            encoder.expand_vocabulary(self.vectors)
        judged = encoder
        if self.normalize is not None and self.normalize in row.normalize.values():
            judged = Normalized(encoder, self.normalize)
        if row.kind and isinstance(encoder.settings()["head"], _models().RowRegression):
            judged = Imitating(encoder)
        if row.kind and isinstance(labels, Parallel):
            judged = Prepared(encoder, labels.prepare)
        begin = time.perf_counter()
        path = without_link(self.report_of(name, seed))
        make_folder(path.parent)
        label = f"{name}, seed {seed}" if row.kind else name
        further = [] if row.further else self.further
        wanted = [task.name for task in self.judge.tasks] if row.tasks is None else row.tasks
        tasks = [task for task in self.judge.tasks if task.name in wanted and task.name not in further]
        if labels is not None and not row.trained:
            tasks += labels.tasks()
        report = self.judge(judged, label, tasks, out=path, tokens=not row.texts)
        if labels is not None and row.trained and labels.tests:
            own = judged_labels(encoder, labels, resamples=self.judge.resamples)
            report.results = {**own, **report.results}
            report.facts |= {"dim": encoder.network.dim}
            report.to_json(path)
        found["evaluation_minutes"] = (time.perf_counter() - begin) / 60
        found["dim"] = report.facts.get("dim")
        found["scores"] = scores_of(report)
        if self.measure is not None:
            found["scores"] |= self.measure(self, encoder, found)
        return found

    def report_of(self, name: str, seed: int) -> Path:
        """The file of what `evaluate` says of a row."""
        return self.folder / "reports" / f"{slug(f'{name} {seed}')}.json"

    def chosen(self, row: Row, label: str, seed: int) -> tuple[NeuralEncoder, History, Result]:
        """What `trained` gives, with the value that is best in validation; and how good the others are."""
        values = [(name, value) for name in row.chosen for value in self.values.get(name, ())]
        if not values:
            return *self.trained(row, label, seed), {"encoder": f"{label}.sentencode"}
        runs = {}
        for name, value in values:
            tried = replace(row, options={**row.options, name: value})
            of = slug(f"{label} {name} {value}")
            runs[of] = (*self.trained(tried, of, seed), f"{name} {value}")
        dev = {of: max(one.accuracy for one in history.validations) for of, (_, history, _) in runs.items()}
        best = max(dev, key=lambda of: dev[of])
        told = {"tried": {what: dev[of] for of, (*_, what) in runs.items()}, "taken": runs[best][2]}
        return *runs[best][:2], {"encoder": f"{best}.sentencode", **told}

    def trained(self, row: Row, label: str, seed: int) -> tuple[NeuralEncoder, History]:
        """The encoder and all that its training told, even where that was stopped in between."""
        saved, log = self.folder / "encoders" / f"{label}.sentencode", self.folder / "logs" / f"{label}.csv"
        if not saved.exists():
            steps = self._steps(row, label, seed)
            if steps is None:
                encoder = self._network(row, seed)
            else:
                sized = {name: getattr(self.size, of) for name, of in row.sized.items()}
                asked = {**self.size.training, **row.options, **sized}.get("warmup") or 0
                warmup = min(int(asked), steps // 5)
                every = -(-steps // _VALIDATIONS)
                encoder = self._network(row, seed, max_steps=steps, warmup=warmup, validate_every=every)
            self._give_words(encoder, row, seed)
            for path in (saved, log):
                make_folder(path.parent)
            train, valid = self._examples(row)
            encoder.fit(
                *train,
                valid=valid,
                checkpoints=self.folder / "work" / label / "checkpoints",
                callbacks=[CsvLog(log)],
                show_progress_bar=self.show,
            )
            encoder.save(without_link(saved))
            shutil.rmtree(self.folder / "work" / label)
        return load(saved), History.from_csv(log)

    def untrained(self, row: Row, seed: int) -> NeuralEncoder:
        """The encoder as training would begin with it: after a step that changes nothing."""
        encoder = self._network(row, seed, max_steps=1, learning_rate=_NO_STEP, accumulate=1)
        self._give_words(encoder, row, seed)
        train, valid = self._examples(row)
        labels = self.labels(row)
        # A translation's words are those that it is trained on; others' are the vectors', or were given.
        given = train if isinstance(labels, Parallel) else valid if labels else (valid,)
        encoder.fit(*given, show_progress_bar=self.show)
        return encoder

    def labels(self, row: Row) -> Labels | None:
        """A row's examples, if they are labelled."""
        corpus = self._corpus(row)
        return corpus if isinstance(corpus, Labels) else None

    def _examples(self, row: Row) -> tuple[tuple[Any, ...], Any]:
        """What a row learns from, as arguments of `fit`, and what it validates on."""
        corpus = self._corpus(row)
        if isinstance(corpus, Labels):
            return tuple(corpus.train), tuple(corpus.valid)
        return corpus[:1], corpus[1]

    def _corpus(self, row: Row) -> Any:
        if row.corpus in self.corpora:
            return self.corpora[row.corpus]
        if row.corpus:
            raise NotAvailableError(f"no {row.corpus} were given")
        return None  # controls of families whose examples are all labelled

    def _network(self, row: Row, seed: int, **more: Any) -> NeuralEncoder:
        """A row's encoder, not fitted."""
        sized = {name: getattr(self.size, of) for name, of in row.sized.items()}
        of_corpus = self.size.of_corpus.get(row.corpus, {})
        ends = {"max_epochs": None} if "max_steps" in more else {}
        given = {**self.size.training, **of_corpus, **self.shared, **row.options, **sized, **ends, **more}
        corpus = self.corpora.get(row.corpus)
        cut = corpus.parameters if isinstance(corpus, Parallel) else {}
        vectors = self.vectors if row.vectors else None
        made: NeuralEncoder = getattr(_models(), row.kind)(vectors, seed=seed, **cut, **given)
        return made

    def _give_words(self, encoder: NeuralEncoder, row: Row, seed: int) -> None:
        """The words that are written: counted once for all rows of a corpus, by the first one's training."""
        if self.labels(row) is None:
            encoder.set_params(vocabulary=self._words(row, seed))

    def _words(self, row: Row, seed: int) -> Vocabulary:
        if row.corpus not in self._vocabularies:
            path = self.folder / (f"vocabulary-{row.corpus}.txt" if row.corpus else "vocabulary.txt")
            if not path.exists():
                first = self._network(row, seed, max_steps=1)
                first.fit(*self._examples(row)[0], show_progress_bar=self.show)
                first.vocabulary_.write(without_link(path))  # whole or not at all
            self._vocabularies[row.corpus] = Vocabulary.read(path)
        return self._vocabularies[row.corpus]

    def _steps(self, row: Row, label: str, seed: int) -> int | None:
        """How many steps there is time for: measured once, then kept. None: the row's parameters say it."""
        if self.size.minutes is None:
            return self.size.steps
        plan = self.results.read(f"work/{label}/plan.json")
        if plan is None:
            probe = self._network(row, seed, max_steps=self.size.probe)
            self._give_words(probe, row, seed)
            probe.fit(*self._examples(row)[0], show_progress_bar=self.show)
            seconds = [step.seconds for step in probe.history_.steps]
            each = statistics.fmean(seconds[min(_PROBE_SKIPS, len(seconds) - 1) :])
            share = 60 * self.size.minutes / self.parts
            plan = {"seconds_a_step": each, "steps": max(_VALIDATIONS, int(share / each))}
            self.results.write(f"work/{label}/plan.json", as_json(plan))
        return int(plan["steps"])

    def _of_network(self, encoder: NeuralEncoder, row: Row, seed: int) -> Result:
        """How large a network is, and what it was made with."""
        sizes = {key: p.numel() for key, p in encoder.network.named_parameters() if p.requires_grad}
        softmax = sum(count for key, count in sizes.items() if key.startswith("softmax."))
        made = encoder if row.trained else self._network(row, seed, max_steps=1)
        config = made.get_params(deep=False)
        config = {key: config[key] for key in config if key not in ("vectors", "vocabulary")}
        learnt = 0
        if (head := encoder.settings()["head"]) is not None:
            config["head"] = head.to_config()
            learnt = sum(p.numel() for p in encoder.head_.parameters())
        return {
            "parameters": {
                "with_softmax": sum(sizes.values()) + learnt,
                "without_softmax": sum(sizes.values()) - softmax,
            },
            "config": config | {"class": row.kind, "tokenizer": encoder.tokenizer_.to_config()},
        }


def checked_networks(rows: Mapping[str, Row], shared: Mapping[str, Any], dim: int) -> None:
    """Finds fault with rows before anything is read: each is trained for a step, tiny.

    Raises:
        TypeError: A parameter is not of its kind.
        ValueError: A parameter cannot be used.
    """
    word = WordVectors.from_dict({"a": [1.0] * dim})
    for row in {repr((row.kind, row.options)): row for row in rows.values() if row.kind}.values():
        sized = {name: 1 if name == "layers" else _TINY for name in row.sized}
        given = word if row.vectors else None
        made = getattr(_models(), row.kind)(given, **{**row.options, **sized, **shared}, max_steps=1)
        made.fit([["a"] * made.min_length] * 3, _labels_for(made), show_progress_bar=False)


def _labels_for(encoder: NeuralEncoder) -> list[Any] | None:
    """Labels of three sentences, if it learns from labels; translations, if it translates."""
    if hasattr(encoder, "translate"):
        return [["a"]] * 3
    head = encoder.settings()["head"]
    if isinstance(head, _models().RowRegression):
        return [[1.0, 0.0]] * 3
    return ["a", "b", "a"] if isinstance(head, _models().Classifier) else None


def _models() -> Any:
    """The module, which needs torch."""
    from .. import models

    return models


def _few(sentences: Any, most: int) -> list[Any]:
    """About so many of them, of all parts of the files."""
    all_of_them = list(sentences)
    return all_of_them[:: max(1, -(-len(all_of_them) // most))]


def _few_in_order(sentences: Any, most: int) -> list[Any]:
    """The like, each behind the one before it: the beginnings of documents, with a blank between them.

    Of many short documents some are taken, so that sentences keep those around them.
    """
    documents = [document for document in sentences.documents() if document]
    documents = documents[:: -(-len(documents) * _IN_ORDER // most) or 1]
    share = min(1.0, most / max(1, sum(map(len, documents))))
    begun = [document[: math.ceil(share * len(document))] for document in documents]
    return [sentence for document in begun for sentence in (*document, "")]


def _of_training(history: History) -> Result:
    seconds = sum(step.seconds for step in history.steps)
    sentences = sum(step.examples for step in history.steps)
    found: Result = {
        "steps": history.steps[-1].step,
        "sentences": sentences,
        "minutes": seconds / 60,
        "sentences_per_second": sentences / seconds,
        "minutes_per_1000_batches": 1000 * seconds / 60 / len(history.steps),
    }
    found["validations"] = [[one.step, one.loss, _told(one.accuracy)] for one in history.validations]
    if figures := history.steps[-1].figures:
        found["figures"] = {"first": history.steps[0].figures, "last": figures}
    for best in [validation for validation in history.validations if validation.best][-1:]:
        found["dev"] = {"step": best.step, "loss": best.loss, "accuracy": _told(best.accuracy)}
    return found


def _told(accuracy: float) -> float | None:
    return None if math.isnan(accuracy) else accuracy
