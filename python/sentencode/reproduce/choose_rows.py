"""Rows of the comparison of all encoders: their defaults, by what they learn from."""

from __future__ import annotations

import importlib
import importlib.util
import math
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import models
from ..distill import teacher_named
from ..evaluation import Task
from ..evaluation.metrics.bleu import bleu
from ..files import make_folder
from ..linear import LAES, SIF, USIF, Average, TrainedAverage
from ..paragraph_vec import ParagraphVec
from ..saved import load
from ..vectors import WordVectors
from ..whitening import Whitening
from .controls import of_wordnet
from .evaluator import Evaluator
from .results_folder import Result, Results, slug
from .rows import NO_STEP, NotAvailableError

__all__ = [
    "BASELINE",
    "SEED",
    "WHITENING_SENTENCES",
    "Bench",
    "Learner",
    "Row",
    "encoders",
    "learners",
    "wordllama",
]

BASELINE = "average, logistic regression"
SEED = 0
_NEURAL = (
    *("MeanMaxAAE", "RAE", "LSTMSDAE", "CNNLSTMAE"),
    *("SkipThoughts", "RNNCNN", "HierarchicalCNN", "CompositeCNN", "FastSent"),
)
WHITENING_SENTENCES = 10_000
_TIMED_SENTENCES = 10_000


class Learner:
    """A classifier of sentences or pairs: an encoder that learns from labels, or a frozen one.

    Args:
        encoder: Encoder with `fit(examples, labels)` and `predict`; or, if `frozen`, any encoder.
        pairs: Whether it learns from pairs, too.
        frozen: Whether logistic regression is trained on the embeddings. C, and whether the features of pairs
            are [|u - v|; u * v] or [u; v; |u - v|; u * v], are chosen by cross-validation.
    """

    def __init__(self, encoder: Any, *, pairs: bool = True, frozen: bool = False) -> None:
        self.encoder, self.pairs, self.frozen = encoder, pairs, frozen
        if frozen:
            importlib.import_module("sklearn.linear_model")  # whose time is not that of a fit

    def fit(self, examples: Sequence[Any], labels: Sequence[Any]) -> None:
        """Learns from sentences or pairs and their labels."""
        if not self.frozen:
            self.encoder.fit(list(examples), list(labels))
            return
        from sklearn.linear_model import LogisticRegressionCV
        from threadpoolctl import threadpool_limits

        if isinstance(self.encoder, SIF | USIF):
            pairs = not isinstance(examples[0], str)
            self.encoder.fit([side for pair in examples for side in pair] if pairs else list(examples))
        best = -1.0
        for every in (False,) if isinstance(examples[0], str) else (False, True):
            x = self._features(examples, every)
            scale = math.sqrt(np.mean(np.square(x)))
            model = LogisticRegressionCV(Cs=4.0 ** np.arange(-4, 2), cv=3, scoring="accuracy")
            # One thread: those of BLAS, which wait by spinning, slow its small products down.
            with warnings.catch_warnings(), threadpool_limits(1):
                warnings.simplefilter("ignore")  # at most 100 iterations, and classes with few examples
                model.fit(x / scale, labels)
            accuracy = next(iter(model.scores_.values())).mean(axis=0).max()
            if accuracy > best:
                best, self._chosen = accuracy, (model, scale, every)

    def predict(self, examples: Sequence[Any]) -> npt.NDArray[Any]:
        """The labels of sentences or pairs."""
        if not self.frozen:
            return np.asarray(self.encoder.predict(list(examples)))
        model, scale, every = self._chosen
        return np.asarray(model.predict(self._features(examples, every) / scale))

    def _features(self, examples: Sequence[Any], every: bool) -> npt.NDArray[Any]:
        if isinstance(examples[0], str):
            return np.asarray(self.encoder.encode(list(examples)), np.float32)
        u, v = (np.asarray(self.encoder.encode(list(side))) for side in zip(*examples, strict=True))
        return np.hstack([*([u, v] if every else []), abs(u - v), u * v])


@dataclass
class Bench:
    """What the rows share.

    Attributes:
        results: Folder of results.
        evaluator: Tasks of encoders.
        labelled: Tasks with labelled examples.
        text: Sentences in order, blank ones between documents; without those of the tasks.
        pairs: Sentences and their translations; likewise.
        pairs_valid: The same to compute BLEU of.
        student: File of a student.
        teacher: Name of a teacher.
        word_vectors: Word vectors to compare with.
        show: Show progress bars.
    """

    results: Results
    evaluator: Evaluator
    labelled: Sequence[Task]
    text: Sequence[str] = ()
    pairs: Sequence[Sequence[str]] = ()
    pairs_valid: Sequence[Sequence[str]] = ()
    student: str | os.PathLike[str] | None = None
    teacher: str | None = None
    word_vectors: WordVectors | None = None
    show: bool = False
    facts: Result = field(default_factory=dict)  # of the current row

    def loaded_student(self) -> Any:
        """The student."""
        return load(_given(self.student, "student"))

    def loaded_teacher(self) -> Any:
        """The teacher."""
        return teacher_named(_given(self.teacher, "teacher"))

    def given_vectors(self) -> Any:
        """The word vectors to compare with."""
        return _given(self.word_vectors, "word vectors")

    def some_text(self) -> Any:
        """The text to learn from."""
        return _given(self.text, "text")

    def sentences(self) -> list[str]:
        """Sentences of the tasks, to measure speed with."""
        tasks = [*self.evaluator.tasks, *self.labelled]
        texts = [text for task in tasks for split in task.splits.values() for text in split.sentences[0]]
        order = np.random.default_rng(SEED).permutation(len(texts))[:_TIMED_SENTENCES]
        return [texts[i] for i in order]


def _given(value: Any, name: str) -> Any:
    if not value:
        raise NotAvailableError(f"no {name} was given")
    return value


@dataclass(frozen=True)
class Row:
    """A row of a table.

    Attributes:
        make: Makes the encoder, or the learner if there are labels.
        learner: Name of the learner.
        examples: Number of labelled examples; 0: a row without labels.
        learns: What an encoder learns from.
        fits: Whether `make` trains or fits the encoder.
        asked: Whether the row is only computed if it is named.
    """

    make: Callable[[Bench], Any]
    learner: str = ""
    examples: int = 0
    learns: str = ""
    fits: bool = False
    asked: bool = False


# --- rows with labels ---


def _model2vec_trainer(_: Bench) -> Any:
    train = _installed("model2vec.train", "model2vec[train]")
    folder = Path(tempfile.mkdtemp())
    try:
        Average(WordVectors.default()).export(folder / "table")
        table = importlib.import_module("model2vec").StaticModel.from_pretrained(folder / "table")
    finally:
        shutil.rmtree(folder)
    model = train.StaticModelForClassification.from_static_model(model=table)
    model.encode = model.predict
    return model


def _installed(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise NotAvailableError(f"{package} is not installed ({error})") from error


_TRAINER = "model2vec's trainer"


def _frozen(make: Callable[[Bench], Any]) -> Callable[[Bench], Learner]:
    return lambda b: Learner(make(b), frozen=True)


_LEARNERS: dict[str, Callable[[Bench], Learner]] = {
    BASELINE: _frozen(lambda _: Average(WordVectors.default())),
    "SIF, logistic regression": _frozen(lambda _: SIF(WordVectors.default())),
    "uSIF, logistic regression": _frozen(lambda _: USIF(WordVectors.default())),
    "TrainedAverage": lambda _: Learner(TrainedAverage(WordVectors.default(), seed=SEED)),
    "GeneralizedPooling": lambda _: Learner(models.GeneralizedPooling(WordVectors.default(), seed=SEED)),
    "word vectors, logistic regression": _frozen(lambda b: Average(b.given_vectors())),
    "word vectors, TrainedAverage": lambda b: Learner(TrainedAverage(b.given_vectors(), seed=SEED)),
    "WordLlama, logistic regression": _frozen(lambda _: wordllama()),
    "student, logistic regression": _frozen(Bench.loaded_student),
    "student, TrainedAverage": lambda b: Learner(TrainedAverage(b.loaded_student(), seed=SEED)),
    "teacher, logistic regression": _frozen(Bench.loaded_teacher),
    _TRAINER: lambda b: Learner(_model2vec_trainer(b), pairs=False),
}


def learners(examples: Sequence[int]) -> dict[str, Row]:
    """The rows with these numbers of labelled examples."""
    return {
        f"{name}, {n} examples": Row(make, name, n, asked=name == _TRAINER)
        for n in examples
        for name, make in _LEARNERS.items()
    }


# --- rows without labels ---


def _trained(kind: str, minutes: float, *, saved: bool = False) -> Callable[[Bench], Any]:
    """Makes an encoder that is trained on the text for some minutes, across interruptions.

    It is saved for the row that whitens it; `saved` takes that one.
    """

    def make(b: Bench) -> Any:
        assert b.results.folder is not None
        name = slug(f"{kind} {minutes:g}")
        file = make_folder(b.results.folder / "encoders", within=b.results.folder) / name
        if saved and file.exists():
            return load(file)
        encoder = getattr(models, kind)(WordVectors.default(), max_minutes=minutes, seed=SEED)
        checkpoints = b.results.folder / "work" / name
        encoder.fit(b.some_text(), checkpoints=checkpoints, show_progress_bar=b.show)
        shutil.rmtree(checkpoints)
        encoder.save(file)
        return encoder

    return make


def _whitened(make: Callable[[Bench], Any]) -> Callable[[Bench], Any]:
    """Whitens the encoder of another row on sentences that are spread over the text."""

    def whitened(b: Bench) -> Any:
        texts = [line for line in b.some_text() if line]
        return Whitening(make(b)).fit(texts[:: max(1, len(texts) // WHITENING_SENTENCES)])

    return whitened


_UNTRAINED: dict[str, Any] = {"max_steps": 1, "max_epochs": None, "learning_rate": NO_STEP, "seed": SEED}


def _untrained(kind: str) -> Callable[[Bench], Any]:
    return lambda b: getattr(models, kind)(WordVectors.default(), **_UNTRAINED).fit(b.some_text(), valid=None)


def _untrained_translation(b: Bench) -> Any:
    return models.CompoundNMT(**_UNTRAINED).fit(*_given(b.pairs, "translation pairs"), valid=None)


def _translation(b: Bench) -> Any:
    encoder = models.CompoundNMT(seed=SEED)
    encoder.fit(*_given(b.pairs, "translation pairs"), show_progress_bar=b.show)
    if b.pairs_valid:
        source, target = b.pairs_valid
        measured = bleu(encoder.translate(list(source)), list(target), resamples=b.evaluator.resamples)
        b.facts["bleu"] = {"value": measured.score, "low": measured.low, "high": measured.high}
    return encoder


def _model2vec(b: Bench) -> Any:
    """Model2vec's student of the teacher: embeddings of its word pieces, without sentences."""
    teacher = _given(b.teacher, "teacher")
    distill = _installed("model2vec.distill", "model2vec[distill]").distill
    if Path(teacher).is_file():
        raise NotAvailableError("model2vec requires the name of a sentence-transformers model")
    return distill(teacher)


def wordllama(_: object = None) -> Any:
    """The weights in the package WordLlama."""
    spec = importlib.util.find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise NotAvailableError("wordllama is not installed")
    return load(Path(spec.origin).parent)


def encoders(minutes: Sequence[float]) -> dict[str, Row]:
    """The rows without labels, with these training times on text."""
    text: dict[str, Any] = {"learns": "text", "fits": True}
    rows = {
        "built-in vectors": Row(lambda _: Average(WordVectors.default()), learns="nothing"),
        "WordLlama": Row(wordllama, learns="nothing"),
        "word vectors, average": Row(lambda b: Average(b.given_vectors()), learns="nothing"),
        "word vectors, weighted mean": Row(lambda b: Average(b.given_vectors(), a=1e-3), learns="nothing"),
        "SIF": Row(lambda b: SIF(WordVectors.default()).fit(b.some_text()), **text),
        "uSIF": Row(lambda b: USIF(WordVectors.default()).fit(b.some_text()), **text),
        "LAES": Row(lambda b: LAES(WordVectors.default()).fit(b.some_text()), **text),
        "built-in vectors, whitened": Row(_whitened(lambda _: Average(WordVectors.default())), **text),
        "ParagraphVec": Row(lambda b: ParagraphVec().fit(b.some_text()), asked=True, **text),
        "DictRep": Row(lambda _: of_wordnet(WordVectors.default()), learns="WordNet", fits=True),
    }
    for kind in _NEURAL:
        rows[f"{kind}, untrained"] = Row(_untrained(kind), learns="nothing")
        rows[f"{kind}, untrained, whitened"] = Row(_whitened(_untrained(kind)), **text)
        for m in minutes:
            rows[f"{kind}, {m:g} minutes"] = Row(_trained(kind, m), **text)
            rows[f"{kind}, {m:g} minutes, whitened"] = Row(_whitened(_trained(kind, m, saved=True)), **text)
    return {
        **rows,
        "CompoundNMT, untrained": Row(_untrained_translation, learns="nothing"),
        "CompoundNMT": Row(_translation, learns="translations", fits=True),
        "student": Row(Bench.loaded_student, learns="a teacher"),
        "model2vec": Row(_model2vec, learns="a teacher", fits=True),
        "teacher": Row(Bench.loaded_teacher, learns="nothing"),
    }
