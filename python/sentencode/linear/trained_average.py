"""Average of word vectors that learn from labels."""

from __future__ import annotations

import numbers
import time
import warnings
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import Any, Literal, NoReturn, cast

import numpy as np
import numpy.typing as npt

from .. import _core
from ..checks import checked_bool, checked_float, checked_int
from ..errors import NotFittedError
from ..groups import groups_of, held_out_masks, key_of
from ..labels import check_count, class_array, class_ids, scores
from ..progress import progress, say
from ..text.sides import is_empty, sides_of
from ..text.tokenizer import Tokenizer
from ..vectors import Vectors, WordVectors
from .base import LinearEncoder
from .table_heads import SIDES, UNLABELLED, checked_head, confusion, head_config, table_labels
from .table_report import TableReport, planned, unknown_advice
from .table_training import Split, TableTraining, Trial

__all__ = ["TrainedAverage"]

Floats = npt.NDArray[np.float32]
Indices = npt.NDArray[np.int64]

_MOST_HELD_OUT = 5000  # examples
_FEW, _PARTS = 1000, 5  # with fewer examples, each part is held out once
_PAIR_SCALE = 0.1  # on held-out pairs, 0.03 and 1 were worse, 0.3 no better on average


class TrainedAverage(LinearEncoder):
    """The mean of a sentence's word vectors, which `fit` trains on labels together with a head.

    Gradients are those of the words in a batch, and are computed in C++ without torch: 10,000 sentences take
    seconds. Training begins with the head that is best on the initial vectors (logistic regression), so that
    few labels suffice. Held-out examples decide when it stops, which word dropout it has, and whether vectors
    are trained at all: if not, the initial ones are used. Then all examples are trained on in the same way.
    With 500 examples it is 2.3 points better than logistic regression on the initial embeddings, with
    thousands 5 points (docs/results/fit-labels.md).

    Heads have the names of those of neural encoders. "Classifier" learns the classes of sentences, or of
    pairs by `[a / 10; b / 10; |a - b|; a * b / 10]`; "CosineRegression" the scores of pairs;
    "MultipleNegatives" ranks the partners of sentences above those of others in the batch, and above the
    third sentences of triples; "Triplet" makes a sentence closer to the second than to the third (both: no
    labels); "RowRegression" maps embeddings linearly to those of another encoder.

    Args:
        vectors: Initial word vectors, as for `Average`; or an `Average`, `SIF` or `USIF`, whose weights and
            directions are multiplied into its vectors, and whose tokenizer is used.
        head: Name of the head, or a dict of its `kind` and options, or such a head of the neural encoders.
            "Classifier": `class_weight` (None, "balanced", or weights by class). "CosineRegression": `low`
            and `high`, the scores of the cosines 0 and 1. "MultipleNegatives": `scale` of the cosines (20).
            "Triplet": `margin` (0.2) and `distance` ("cosine" or "euclidean").
            "RowRegression" has none.
        tokenizer: As for `Average`.
        lowercase: As for `Average`.
        normalize: Whether to divide each embedding by its norm. None: as the encoder in `vectors` does, or
            not.
        learning_rate: Adam's rate for the vectors, in multiples of the root mean square of their elements. It
            rises for a tenth of the steps, and then falls to zero.
        head_learning_rate: Adam's rate for the head.
        anchor: Rate at which vectors return to the initial ones, in multiples of the learning rate.
        word_dropout: Probability that a word is left out of an example. None: 0 and 0.3 are tried.
        batch_size: Examples of a step. None: 32, or 128 for "MultipleNegatives".
        max_epochs: Passes over the examples, at most.
        patience: Passes without a better validation loss after which training stops.
        max_minutes: Time for the training. None: no limit. At the limit, the encoder has the best model so
            far, which was not trained on the held-out examples.
        validation_fraction: Fraction of the examples that is held out, at most 5,000; not used with `valid`.
            None: a tenth, and with fewer than 1,000 examples cross-validation, where each of five parts is
            held out once.
        seed: Seed of everything random. Results do not depend on the number of threads.

    Attributes:
        classes_: Classes of a classifier, sorted.
        trial_: How the model was trained: `loss` and `accuracy` on held-out examples, `epochs` (0: the
            vectors are the initial ones), `word_dropout` and `c`, the inverse penalty of the initial head.
            The loss of "RowRegression" is in multiples of the targets' mean square; it is NaN if nothing was
            held out.
        trials_: The same for all that was tried. Both are not saved in files.

    Example:
        >>> import sentencode as se
        >>> sentences = ["what a fine film", "a dull film", "fine acting", "a dull and long story"] * 10
        >>> encoder = se.TrainedAverage(se.WordVectors.default())
        >>> encoder.fit(sentences, ["good", "bad", "good", "bad"] * 10).predict(["fine story", "dull acting"])
        array(['good', 'bad'], dtype='<U4')
        >>> encoder.encode("fine story").shape
        (148,)
    """

    _kind = "TrainedAverage"
    _reported = "TrainedAverage"  # in messages of fit
    _oovs: tuple[str, ...] = ("skip", "zero")  # the vectors' ways to represent unknown words
    _unsaved = frozenset({"vectors"})
    _in_files = frozenset({"classes"})

    trial_: Trial
    trials_: list[Trial]
    _classes: list[Any] | None

    def __init__(
        self,
        vectors: Vectors | LinearEncoder,
        *,
        head: Any = "Classifier",
        tokenizer: Any = "auto",
        lowercase: bool | Literal["auto"] = "auto",
        normalize: bool | None = None,
        learning_rate: float = 0.01,
        head_learning_rate: float = 0.001,
        anchor: float = 0.0,
        word_dropout: float | None = None,
        batch_size: int | None = None,
        max_epochs: int = 10,
        patience: int = 3,
        max_minutes: float | None = None,
        validation_fraction: float | None = None,
        seed: int = 0,
    ) -> None:
        self.vectors = vectors  # type: ignore[assignment]
        self.head = head
        self.tokenizer = tokenizer
        self.lowercase = lowercase
        self.normalize = normalize
        self.learning_rate = learning_rate
        self.head_learning_rate = head_learning_rate
        self.anchor = anchor
        self.word_dropout = word_dropout
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.max_minutes = max_minutes
        self.validation_fraction = validation_fraction
        self.seed = seed

    def fit(
        self, sentences: Any, y: Any = None, *, valid: Any = None, show_progress_bar: bool | None = None
    ) -> Any:
        """Train the vectors and the head.

        If it is interrupted (Ctrl-C), the encoder has the best model so far, unless there is none yet.

        Args:
            sentences: Sentences; or pairs or triples: tuples, an array or a data frame with as many columns.
            y: Labels: classes, scores, embeddings [n, d] of another encoder; None for "MultipleNegatives"
                and "Triplet".
            valid: Validation examples, which are not trained on: a tuple of sentences and labels, or, without
                labels, pairs or triples. Or the fraction of the examples that is held out. None:
                `validation_fraction`. 0: nothing is held out or chosen; there are `max_epochs` passes, with
                the `word_dropout` 0 if it is None.
            show_progress_bar: Whether to show a progress bar, and lines with the plan and the result. None:
                if the logger "sentencode" shows information, or, after a second, in a terminal or a notebook.

        Returns:
            The encoder itself.

        Raises:
            TypeError: A parameter or label has the wrong type.
            ValueError: A parameter is invalid, labels do not fit the sentences, or no word has a vector.
            DivergedError: The loss is not finite.

        Warns:
            LearningRateWarning: Training raised the loss, so the initial vectors were kept.
            MajorityWarning: A classifier is no better on held-out examples than the most frequent class.
            ZeroRowsWarning: Many examples have a sentence without known words.
            StillImprovingWarning: A limit ended the training while the held-out loss was still falling.
        """
        fresh = type(self)(**self.get_params(deep=False))
        y = list(y) if isinstance(y, Iterator) else y
        try:
            fresh._train(sentences, y, valid, show_progress_bar)
        finally:
            if "_model" in vars(fresh):
                self._take(fresh)
        return self

    def partial_fit(
        self, sentences: Any, y: Any = None, *, show_progress_bar: bool | None = None
    ) -> NoReturn:
        """Not available: training can begin with a trained model, as in `TrainedAverage(encoder)`.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError("TrainedAverage has no partial_fit: call fit with all examples")

    def merge(self, other: Any) -> NoReturn:
        """Not available.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError("TrainedAverage cannot be merged")

    # Predictions

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """Classes of a classifier, sorted."""
        self._check_fitted()
        if self._classes is None:
            raise AttributeError(f"this TrainedAverage has no classes_: its head is {self._head()[0]}")
        return class_array(self._classes)

    def predict_proba(self, sentences: Any) -> Floats:
        """Return the probability of each class [n, classes], in the order of `classes_`.

        Args:
            sentences: As in `fit`.
        """
        self.classes_  # noqa: B018
        return self._outputs(sentences)

    def predict(self, sentences: Any) -> npt.NDArray[Any]:
        """Return classes, scores, cosines, or embeddings of the other encoder.

        Of "Triplet": how much nearer the second sentence is than the third.

        Args:
            sentences: As in `fit`.
        """
        outputs = self._outputs(sentences)
        if self._classes is not None:
            classes: npt.NDArray[Any] = self.classes_[outputs.argmax(axis=1)]
            return classes
        kind, options = self._head()
        if kind == "CosineRegression":
            outputs = options["low"] + (options["high"] - options["low"]) * outputs
        return outputs if kind == "RowRegression" else outputs[:, 0]

    def score(self, sentences: Any, y: Any) -> float:
        """Return the accuracy of a classifier, or Spearman's rank correlation of predicted scores.

        Args:
            sentences: As in `fit`.
            y: True classes or scores.

        Raises:
            NotImplementedError: The head predicts neither.
        """
        if self._head()[0] == "Classifier":
            ids, outputs = class_ids(y, self.classes_.tolist(), "y", others=-1), self._outputs(sentences)
            check_count(ids, len(outputs), "y")
            return float((outputs.argmax(axis=1) == ids).mean())
        if self._head()[0] != "CosineRegression":
            raise NotImplementedError(f"{self._head()[0]} predicts neither classes nor scores")
        predicted, truth = self.predict(sentences), scores(y, "y", 1)
        check_count(truth, len(predicted), "y")
        return float(_core.spearman(predicted.astype(np.float64), truth.astype(np.float64)))

    def confusion_matrix(self, sentences: Any, y: Any) -> Indices:
        """Return the confusion matrix of a classifier.

        Args:
            sentences: As in `fit`.
            y: True classes.

        Returns:
            [classes, classes]: a row for each true class, a column for each predicted one.
        """
        classes = self.classes_.tolist()
        ids, outputs = class_ids(y, classes, "y"), self._outputs(sentences)
        check_count(ids, len(outputs), "y")
        return confusion(ids, outputs.argmax(axis=1), len(classes))

    def _outputs(self, sentences: Any) -> Floats:
        head = self._fitted_model().head
        count = head.config["sides"]
        sides = [[]] * count if is_empty(sentences) else sides_of(sentences, (count,), files=False)
        if len(sides) != count:
            raise ValueError(
                f"TrainedAverage was trained on examples of {count} sentences, got {len(sides)}"
                + (": pairs and triples are tuples, as in [(first, second), ...]" if len(sides) == 1 else "")
            )
        return cast("Floats", head.predict([self.encode(side) for side in sides]))

    @property
    def _estimator_type(self) -> Literal["classifier", "regressor"] | None:
        config = head_config(self.head)
        kind = config.get("kind") if isinstance(config, Mapping) else None
        return {"Classifier": "classifier", "CosineRegression": "regressor"}.get(cast("str", kind))  # type: ignore[return-value]

    # Parameters

    def _head(self) -> tuple[str, dict[str, Any]]:
        """The checked kind and options of the head."""
        return checked_head(self.head)

    def _options(self) -> dict[str, Any]:
        if self.normalize is not None:
            return {"normalize": checked_bool(f"{self._reported}: normalize", self.normalize)}
        trained = self.__dict__.get("_model", self.vectors)  # the start may have changed since
        return {"normalize": getattr(trained, "normalize", False) is True}

    def _weights(self) -> None:
        return None

    @property
    def _word_vectors(self) -> WordVectors:
        vectors: Any = self.vectors
        if isinstance(vectors, LinearEncoder) and self.__dict__.get("_resolved", (None,))[0] is not vectors:
            fitted = self._fitted_start()
            folded = fitted._folded()
            if folded.unknown is not None and folded.unknown.any():
                raise ValueError(
                    f"{self._reported}: the {type(vectors).__name__} has a vector for unknown words, which "
                    f"would not be trained: {self._advice()}"
                )
            table = fitted._fitted_vectors
            oov: Literal["skip", "zero"] = "skip" if folded.unknown is None else "zero"
            copied = WordVectors.from_array(
                folded.words, folded.rows[:, : folded.truncate_dim], table.counts, oov=oov
            )
            self._resolved = vectors, copied
        return super()._word_vectors

    def _fitted_start(self) -> Any:
        """`vectors`, or what they were fitted to in `fit`."""
        given, fitted = self.__dict__.get("_start", (None, None))
        return fitted if given is self.vectors else self.vectors

    def _advice(self) -> str:
        return f"use vectors.with_oov({self._oovs[0]!r})" + "".join(f" or {oov!r}" for oov in self._oovs[1:])

    def _check_vectors(self) -> None:
        oov = self._word_vectors.oov
        if oov not in self._oovs:
            raise ValueError(
                f"{self._reported}: vectors with oov={oov!r} represent unknown words by vectors that are not "
                f"trained; {self._advice()}"
            )

    def _new_tokenizer(self) -> Tokenizer:
        if isinstance(self.vectors, LinearEncoder) and (self.tokenizer, self.lowercase) == ("auto", "auto"):
            tokenizer: Tokenizer = self._fitted_start().tokenizer_
            return tokenizer
        return super()._new_tokenizer()

    def _linear(self, rows: Floats) -> Floats:
        return rows

    # Training

    def _train(self, sentences: Any, y: Any, valid: Any, show: bool | None) -> None:
        kind, head = self._head()
        deadline = time.monotonic() + (
            np.inf
            if self.max_minutes is None
            else 60 * checked_float(f"{self._reported}: max_minutes", self.max_minutes, 0, above=True)
        )
        options = self._training_options(kind)
        sides = sides_of(sentences, SIDES[kind])
        if isinstance(self.vectors, LinearEncoder) and not self.vectors.fitted:  # as after sklearn's clone
            unfitted = type(self.vectors)(**self.vectors.get_params(deep=False))
            self._start = self.vectors, unfitted.fit([one for side in sides for one in side])
        self._check_vectors()
        tokenizer, initial = self._new_tokenizer(), self._word_vectors
        labels, learnt = table_labels(kind, head, y, len(sides[0]), "y", None)
        held_out_sides, fraction = None, self.validation_fraction
        if isinstance(valid, numbers.Real):
            fraction = checked_float("fit: valid", valid, 0, 0.5)
        elif valid is not None:
            if kind not in UNLABELLED and not (isinstance(valid, tuple) and len(valid) == 2):
                raise TypeError(
                    "fit: valid must be a tuple of sentences and their labels, or a fraction, got "
                    f"{type(valid).__name__}"
                )
            others, others_y = (valid, None) if kind in UNLABELLED else valid
            held_out_sides = sides_of(others, SIDES[kind])
            more, _ = table_labels(kind, head, others_y, len(held_out_sides[0]), "the y of valid", learnt)
            if len(held_out_sides) != len(sides):
                raise ValueError(
                    f"fit: valid has examples of {len(held_out_sides)} sentences, the training data of "
                    f"{len(sides)}"
                )
        if len(sides) not in SIDES[kind]:
            expected = " or ".join(map(str, SIDES[kind]))
            raise ValueError(
                f"{self._reported}: {kind} learns from examples of {expected} sentences, got {len(sides)}"
                + (": pairs and triples are tuples, as in [(first, second), ...]" if len(sides) == 1 else "")
            )
        n = len(sides[0])
        if held_out_sides is not None:
            sides = [[*a, *b] for a, b in zip(sides, held_out_sides, strict=True)]
            labels = np.concatenate([labels, more])
        # Elements of about 1, as the rate of the head and the tolerance of its fit expect.
        unit = 1.0
        if kind == "RowRegression":
            unit = float(np.sqrt(np.mean(np.square(labels, dtype=np.float64)))) or 1.0
            labels = labels / unit

        core = tokenizer.core(lowercase=not initial.cased)
        looked_up = [initial._core.lookup(core, tokenizer.prepare(side)) for side in sides]
        if held_out_sides is None:
            groups = groups_of(map(key_of, zip(*map(_bags, looked_up), strict=True)))
            splits = self._splits(labels if kind == "Classifier" else None, groups, fraction)
        else:
            splits = [(np.arange(n), np.arange(n, len(sides[0])))]
        ids, rows = np.unique(np.concatenate([ids for ids, _ in looked_up]), return_inverse=True)
        listed = ids[ids < len(initial)]  # others have zero rows
        if len(listed) == 0:
            raise ValueError(f"{self._reported}: none of the words of the sentences has a vector")
        ends = np.cumsum([len(side) for side, _ in looked_up])[:-1]
        parts = np.split(rows.astype(np.int32), ends)
        examples = _core.TableExamples(
            [(part, offsets) for part, (_, offsets) in zip(parts, looked_up, strict=True)], labels
        )
        outputs = labels.shape[1] if kind in ("Classifier", "RowRegression") else 0
        begin, shown = time.monotonic(), progress(show, "fit", "examples", interactive=True)
        with shown as bar:
            training = TableTraining(
                examples,
                initial._core.rows(listed),
                labels,
                {
                    "kind": kind,
                    "dim": initial.dim,
                    "sides": len(sides),
                    "outputs": outputs,
                    "scale": head.get("scale", 1.0),
                    **{name: head[name] for name in ("margin", "distance") if name in head},
                    "pair_scale": _PAIR_SCALE if kind == "Classifier" and len(sides) == 2 else 1.0,
                },
                options,
                max_epochs=checked_int(f"{self._reported}: max_epochs", self.max_epochs, 1, 1 << 20),
                patience=checked_int(f"{self._reported}: patience", self.patience, 1),
                deadline=deadline,
                on_progress=bar
                and planned(bar, self._reported, shown.show, splits, self.max_epochs, self.max_minutes),
            )
            dropouts = (0.0, 0.3) if self.word_dropout is None else (self.word_dropout,)
            try:
                training.run(splits, dropouts, refit=held_out_sides is None)
            finally:  # also if interrupted
                if training.best is not None:
                    self._adopt_trained(training, initial, listed, tokenizer, learnt, unit)
        seconds = time.monotonic() - begin
        warned = [*unknown_advice(looked_up, len(initial))]
        if len(splits[0][1]):
            report = TableReport(training, self.trial_, labels if kind == "Classifier" else None, splits)
            say(
                shown.show and seconds >= shown.delay, f"{self._reported}: {report.result()}; {seconds:.1f} s"
            )
            warned += report.advice(self.max_minutes)
        for text, warning in warned:
            warnings.warn(f"{self._reported}.fit: {text}", warning, stacklevel=3)

    def _training_options(self, kind: str) -> dict[str, Any]:
        name = f"{self._reported}: "
        size = {"MultipleNegatives": 128}.get(kind, 32) if self.batch_size is None else self.batch_size
        if self.word_dropout is not None:
            checked_float(name + "word_dropout", self.word_dropout, 0, 1, below=True)
        if self.validation_fraction is not None:
            checked_float(name + "validation_fraction", self.validation_fraction, 0, 0.5, above=True)
        return {
            "learning_rate": checked_float(name + "learning_rate", self.learning_rate, 0),
            "head_learning_rate": checked_float(name + "head_learning_rate", self.head_learning_rate, 0),
            "anchor": checked_float(name + "anchor", self.anchor, 0),
            "batch_size": checked_int(name + "batch_size", size, 1),
            "warm_up": 0.1,
            "normalize": self._options()["normalize"],
            "seed": checked_int(name + "seed", self.seed, 0),
        }

    def _splits(self, labels: Floats | None, groups: Indices, fraction: float | None) -> list[Split]:
        """Examples to train on and to hold out: equal fractions of the classes, equal examples together."""
        if len(groups) < 2:
            raise ValueError(f"{self._reported}: fit needs two examples or more, got {len(groups)}")
        if fraction == 0:
            return [(np.arange(len(groups)), np.arange(0))]
        ids = None if labels is None else labels.argmax(axis=1)
        masks = held_out_masks(partial(self._chosen, fraction), groups, ids)
        return [(np.flatnonzero(~held_out), np.flatnonzero(held_out)) for held_out in masks]

    def _chosen(self, fraction: float | None, ids: Indices | None, n: int) -> Iterator[Indices]:
        """Yield the examples to hold out, of `n` with the classes `ids`."""
        few = fraction is None and n < _FEW
        fraction = 0.1 if fraction is None else fraction
        step = max(2, min(_PARTS, n // 2) if few else 1 / fraction, -(-n // _MOST_HELD_OUT))
        order = np.random.default_rng(self.seed).permutation(n)
        if ids is not None:
            order = order[np.argsort(ids[order], kind="stable")]
        for first in range(min(int(step), n)) if few else [min(step // 2, n - 1)]:
            positions = (first + step * np.arange(n)).astype(np.int64)
            yield order[positions[positions < n]]

    def _adopt_trained(
        self,
        training: TableTraining,
        initial: WordVectors,
        ids: Indices,
        tokenizer: Tokenizer,
        learnt: Any,
        unit: float,
    ) -> None:
        """Makes the encoder fitted with the best model; `unit` is that of the labels of a regression."""
        assert training.best is not None
        best, vectors = training.best, initial
        head = _core.TableHead(**best.head.config)
        head.weights = best.head.weights * np.float32(unit)
        if best.table is not None:
            rows = initial._core.rows(np.arange(len(initial)))
            rows[ids] = best.table
            vectors = WordVectors.from_array(initial.words, rows, initial.counts).with_oov(initial.oov)  # type: ignore[arg-type]
        core = tokenizer.core(lowercase=not initial.cased)
        model = _core.TrainedAverage(vectors._core, core, head, **self._options())
        self._classes = learnt if isinstance(learnt, list) else None
        self.trial_, self.trials_ = best.trial, training.trials
        self._adopt(model, tokenizer)
        self._fitted_vectors = vectors

    # Files

    def _config(self) -> dict[str, Any]:
        kind, options = self._head()
        if isinstance(options.get("class_weight"), Mapping):
            options["class_weight"] = [[name, float(w)] for name, w in options["class_weight"].items()]
        head = {"kind": kind, **options}
        return {**super()._config(), **self._options(), "head": head, "classes": self._classes}

    @classmethod
    def _from_model(cls, model: Any, params: dict[str, Any], tokenizer: Tokenizer, *, trust: bool) -> Any:
        params = dict(params)
        classes = params.pop("classes")
        config = model.head.config
        outputs = len(classes) if isinstance(classes, list) else None
        if (config["kind"] == "Classifier") != isinstance(classes, list) or outputs not in (
            None,
            config["outputs"],
        ):
            raise ValueError(
                f"params: classes are {classes!r:.60}, but config has {config['outputs']} outputs"
            )
        encoder = super()._from_model(model, params, tokenizer, trust=trust)
        if encoder._head()[0] != config["kind"]:
            raise ValueError(f"params: head is {encoder._head()[0]}, but config has {config['kind']}")
        encoder._classes = classes
        return encoder

    @classmethod
    def _weights_of(cls, model: Any, params: dict[str, Any]) -> dict[str, Any]:
        if model.weights is not None:
            raise ValueError("params: word weights of a TrainedAverage are part of its vectors")
        return {}

    def _identity(self) -> Any:
        content = self._described_model().to_bytes(statistics=False)
        return self._fitted_vectors.fingerprint, content

    def _described_model(self, *, card: bool = False) -> Any:
        if not self.fitted:
            raise NotFittedError("this TrainedAverage has not been fitted: call fit with labelled sentences")
        return super()._described_model(card=card)


def _bags(looked_up: tuple[Indices, Indices]) -> Iterator[bytes]:
    """Yield what an average reads of each sentence: its words in any order."""
    ids, offsets = looked_up
    for begin, end in pairwise(offsets.tolist()):
        yield np.sort(ids[begin:end]).tobytes()
