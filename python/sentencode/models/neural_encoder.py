"""The base class of neural encoders: a network and word vectors."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch

from .. import _core, _nn
from ..checks import checked_float, checked_int
from ..core_encoder import CoreEncoder, plain
from ..errors import NotFittedError
from ..files import as_name
from ..generators import isolated_generators
from ..nn.module import float32_default
from ..text.tokenizer import Tokenizer
from ..text.vocabulary import Vocabulary
from ..training import Callback, History
from ..vectors import Vectors, WordVectors
from . import encoder_class, neural_files
from .core_model import core_encoder, normalized_parts
from .device import device_of, usable_device
from .encoder_class import network_defaults, shared_defaults
from .expansion import expanded_words
from .heads import HeadModule, as_head
from .neural_training import trained_encoder
from .prediction import TrainedHead
from .python_network import core_network
from .task import SentenceTask, Task

__all__ = ["NeuralEncoder"]

Floats = npt.NDArray[np.float32]


class NeuralEncoder(CoreEncoder):
    """An encoder whose network is trained. Use one of its subclasses, which share these parameters.

    Every word that has a vector can be encoded, also words that the network was not trained with.

    A subclass with a network of your own sets `network_class` to its class: any `torch.nn.Module` with `dim`,
    `encode(inputs)` and `loss(batch)`, constructed with `words` and `features`. Its other arguments with
    defaults are parameters of the encoder. See "Your own encoder" in the documentation.

    Args:
        vectors: Word vectors, as for `SIF`. They are not trained. With oov="skip", words without a vector are
            left out; other policies give the network a substitute.
        preset: "small", which trains in minutes on two processors; "paper", as the paper describes it; or, of
            some families, "reference", as its public code is. Parameters that are None are the preset's.
        tokenizer: As for `SIF`.
        lowercase: As for `SIF`.
        unit_words: Whether word vectors are divided by their lengths. None: as in `init`, or the preset's,
            which may depend on the head.
        max_words: Maximal number of words of a sentence that encoding reads.
        device: "cpu", "cuda", ...; "auto": a GPU if there is one.
        validation_fraction: Fraction of the data that `fit` holds out without `valid`. None: the preset's; a
            classifier of fewer than 2,000 examples holds nothing out, unless `stop_after`, `decay`,
            `reload_best` or `metric="accuracy"` needs it.
        head: Head whose loss replaces the network's: `se.Classifier()` or another head, its name, or a dict
            of its `kind` and options. None: the preset's, or no head.
        word_dropout: Probability that a word is left out of an example in the training of a head.
        vocabulary: Words that have ids (autoencoders generate them). None: those of the training sentences.
        vocabulary_size: Maximal size of the vocabulary; the most frequent words remain.
        min_count: Minimal number of occurrences of a word of the vocabulary.
        min_length: Minimal number of words of a training sentence. Not used with a head.
        max_length: Maximal number of words of a training sentence.
        batch_size: Number of sentences in a batch; "auto": 16 to 128, so that an epoch has about 64 batches.
        batching: How sentences are put into batches: "equal_length" (the default), "sorted_buffer",
            "token_budget" or "plain". See `sentencode.training.Batcher`.
        max_tokens: Maximal number of tokens in a batch, if `batching` is "token_budget".
        label_smoothing: Label smoothing in the training of families that generate words.
        sampled_words: Mean number of words that the softmax of these families samples in training; 0: all.
            Not used with a head.
        trainable_words: Whether the word table of these families is trained. Encoding then reads the rows of
            its words, and the vectors of other words, until `expand_vocabulary`.
        **training: Fields of `sentencode.training.TrainingOptions`; its `epsilon` is `optimizer_epsilon`
            here, `save_every` of None is `validate_every`. Where a family learns from text, that is "auto" by
            default: an epoch, but at least 20 and at most 500 steps. `validate_first` of "auto" is True with
            `init`, and with heads other than `Classifier`: what begins well does not become worse, if
            examples are held out.

    Attributes:
        network: The network, a `torch.nn.Module`, once fitted. It cannot be replaced, but its weights can be
            changed as those of any module.
        words_: The word vectors that encoding reads: `vectors`, or those of `expand_vocabulary`.
        vocabulary_: The words that have ids, with their counts.
        head_: The trained head, a `torch.nn.Module`, if there is one.
        classes_: The classes of a classifier.
        history_: The events of the training; not saved.
        origin_: What `sentencode train` noted about vectors and texts; else None.

    Methods raise `NotFittedError` before `fit`; those of a head raise `AttributeError` without one.
    """

    network_class: ClassVar[Any]
    task_class: ClassVar[type[Task]] = SentenceTask
    training_defaults: ClassVar[dict[str, Any]] = {
        **{"learning_rate": 2e-4, "clip_norm": 5.0},
        **{"max_steps": 100_000, "max_epochs": 10, "validate_every": "auto", "validate_first": "auto"},
    }
    _presets: ClassVar[dict[str, dict[str, Any]]] = {
        "small": encoder_class.AS_PUBLISHED,
        "paper": encoder_class.AS_PUBLISHED,
    }
    _computed: ClassVar[tuple[str, ...]] = ()  # network options whose default depends on other parameters
    _renamed: ClassVar[dict[str, str]] = {}  # network options, and parameters of old files, by other names
    _unsaved: ClassVar[tuple[str, ...]] = ("vectors", "vocabulary")  # parameters that are not in files
    _onnx: ClassVar[str] = ""  # which graph of `models.onnx` computes its embeddings
    _reads_end: ClassVar[bool] = False  # whether the network reads a symbol after the last word
    _network_options: ClassVar[tuple[str, ...]] = ()  # of the network, without those that the task decides

    seed: Any
    batch_size: int | Literal["auto"] | None
    validate_every: int | Literal["auto"] | None
    validate_first: bool | Literal["auto"]
    history_: History
    vocabulary_: Vocabulary
    origin_: dict[str, Any] | None = None
    _network: Any
    _trained_head: TrainedHead | None = None
    _unit_words: bool | None = None  # of the fitted network, if `unit_words` is None
    _stopped: Any = None  # a training without checkpoints that Ctrl-C has stopped

    def __init__(
        self,
        vectors: Vectors,
        *,
        preset: str = "small",
        tokenizer: Any = "auto",
        lowercase: bool | Literal["auto"] = "auto",
        unit_words: bool | None = None,
        max_words: int = 512,
        device: str = "auto",
        head: Any = None,
        word_dropout: float = 0.0,
        validation_fraction: float | None = None,
        **training: Any,
    ) -> None:
        self.vectors = vectors
        self.preset = preset
        self.tokenizer = tokenizer
        self.lowercase = lowercase
        self.unit_words = unit_words
        self.max_words = max_words
        self.device = device
        self.head = head
        self.word_dropout = word_dropout
        self.validation_fraction = validation_fraction
        defaults = {**network_defaults(type(self)), **shared_defaults(type(self))}
        if unknown := [name for name in training if name not in defaults]:
            raise TypeError(
                f"{type(self).__name__} has no parameter {unknown[0]!r}; its parameters are "
                f"{sorted(self._defaults())}"
            )
        for name, value in {**defaults, **training}.items():
            setattr(self, name, value)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if hasattr(cls, "network_class"):
            common = encoder_class.arguments(NeuralEncoder)
            reserved = {*dir(NeuralEncoder), *common, *shared_defaults(cls)}
            encoder_class.register_encoder(cls, reserved=reserved)

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        constructor = {**encoder_class.arguments(NeuralEncoder), **encoder_class.arguments(cls)}
        vectors = constructor.pop("vectors")
        return {"vectors": vectors, **network_defaults(cls), **shared_defaults(cls), **constructor}

    @property
    def network(self) -> Any:
        """The network, a `torch.nn.Module`. Encoding uses its current weights."""
        if "_network" not in self.__dict__:
            raise NotFittedError(f"this {type(self).__name__} has no network yet: call fit first")
        return self._network

    @property
    def words_(self) -> WordVectors:
        """The word vectors that encoding reads."""
        self._check_fitted()
        return self._fitted_vectors

    def settings(self) -> dict[str, Any]:
        """All parameters, with the preset's values instead of None.

        Raises:
            ValueError: If there is no such preset.
        """
        values, params = encoder_class.preset_values(self), self.get_params(deep=False)
        settings = {name: values.get(name) if value is None else value for name, value in params.items()}
        if self.unit_words is None:
            settings["unit_words"] = bool(values.get("unit_words")) and self._word_vectors.oov != "subwords"
        settings = self._completed({**settings, "head": as_head(settings["head"])})
        if self.unit_words is None and self._unit_words is not None:
            settings["unit_words"] = self._unit_words
        return settings

    def _completed(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Settings with the values of parameters that others decide."""
        return settings

    def _make_network(self, sizes: dict[str, Any]) -> Any:
        with isolated_generators(checked_int("seed", self.seed, 0, 2**63 - 1)), float32_default():
            return self.network_class(**sizes, **self._network_settings(self.settings()))

    def _network_settings(self, settings: dict[str, Any]) -> dict[str, Any]:
        """The network's options."""
        return {name: plain(settings[self._renamed.get(name, name)]) for name in self._network_options}

    def _check_vectors(self) -> None:
        super()._check_vectors()
        if self._word_vectors.oov == "subwords" and self.unit_words:
            raise ValueError(
                f"{type(self).__name__}: unit_words=True and vectors with oov='subwords': vectors made of "
                "subwords cannot be divided by their lengths"
            )

    def _new_tokenizer(self) -> Tokenizer:
        tokenizer = super()._new_tokenizer()
        if tokenizer.lowercase != "auto":
            return tokenizer
        lowercase = not self._word_vectors.cased
        return Tokenizer(tokenizer, lowercase=lowercase, invalid=tokenizer.invalid)  # type: ignore[arg-type]

    def _core_network(self, network: Any, *, head: bool) -> Any:
        """The network as C++ reads it; `head`: whether it is trained with a head."""
        return core_network(network, type(self).__name__, self._network_settings(self.settings()), head=head)

    def _adopt(
        self,
        network: Any,
        vocabulary: Vocabulary,
        tokenizer: Tokenizer,
        words: WordVectors,
        *,
        weights: Floats | Literal["auto"] | None = "auto",
        model: Any = None,
        head: TrainedHead | None = None,
    ) -> None:
        """Makes the encoder fitted, with its current parameters. `model` is the encoder in C++, or None."""
        self._network, self.vocabulary_, self._trained_head = network, vocabulary, head
        self._fitted_tokenizer, self._fitted_vectors = tokenizer, words
        self._model = core_encoder(self, weights) if model is None else model
        self._fitted_params = self.get_params(deep=False)  # last, as other threads may read

    def fit(
        self,
        sentences: Any,
        y: Any = None,
        *,
        valid: Any = "auto",
        head: Any = None,
        init: Any = None,
        freeze: Sequence[str] = (),
        checkpoints: str | os.PathLike[str] | None = None,
        keep_last: int = 1,
        callbacks: Sequence[Callback] = (),
        stop: Literal["now"] | None = None,
        show_progress_bar: bool | None = None,
    ) -> Any:
        """Train the network from scratch.

        If training fails or is interrupted, the encoder stays unchanged; with `stop="now"`, the same call
        then makes an encoder of the weights so far, and with `checkpoints` it resumes the training. With
        validations, the encoder gets the best weights of all of them.

        Args:
            sentences: Many sentences, or the name of a text file, a folder or a glob. They are read twice:
                for the vocabulary, and to become ids in a file of the cache. With a head, examples may be
                tuples of two or three sentences, an array or a data frame with as many columns.
            y: Labels, one for each sentence, if the network or the head is trained on them: classes, scores,
                embeddings of another encoder; else ignored.
            valid: Validation sentences, used every `validate_every` steps; with labels, a tuple of both. Or
                the fraction of the training data to hold out for validation; None or 0: no validation.
                "auto": `validation_fraction`, unless `metric` is a function.
            head: Sets the parameter `head`, such as `se.Classifier()`.
            init: A fitted neural encoder whose weights initialise this one's, where name and shape are the
                same. Word tables are copied word by word; other words keep their own initialisation, as do
                all words of a table that is not trained. The head is copied if both have one of the same
                kind, shape and labels. `unit_words` is as in `init` if it is None here.
            freeze: Names of weights that are not trained: of a weight, a part of the network ("encoder"), or
                a pattern such as `"*.bias"`. Saved files do not keep which they are.
            checkpoints: A folder for the state of the training. A folder of a different run (other sentences,
                vectors or parameters) is refused. A resumed run may change where it ends (`max_steps`,
                `max_epochs`, `max_minutes`, `stop_after`), how often it validates (`validate_every`), and
                what has no effect on the weights (`device`; `max_words` without a head). But a "linear" or
                "cosine" schedule fixes the last step, and `decay` fixes how often it validates.
            keep_last: Number of last checkpoints that stay in the folder besides the best one, such as for
                `sentencode.models.average_checkpoints`.
            callbacks: Notified of every step and validation; see `sentencode.training`.
            stop: "now" takes no step: the encoder gets the last weights of the `fit` that Ctrl-C has stopped,
                or the best ones if it was validated. If it had `checkpoints`, they are read from there, and
                all other arguments must be those of the stopped call; else they are ignored.
            show_progress_bar: Whether to show one, and lines on the plan and the result. None: in a terminal
                or a notebook, after a second, or if the logger "sentencode" shows information.

        Returns:
            The encoder itself.

        Raises:
            TypeError: If a parameter has the wrong type.
            ValueError: If a parameter is out of range, there is no sentence to train on, or the checkpoints
                are of a different run.
            DivergedError: If the loss is not finite.
            KeyboardInterrupt: After Ctrl-C. The message says what was saved, and how to continue.

        Warns:
            TrainingWarning: If the result could be better: a `MajorityWarning`, a `StillImprovingWarning` or
                a `LearningRateWarning` of `sentencode.errors`.
            UserWarning: If the file of the best weights in `checkpoints` is damaged or missing; the encoder
                then has the last ones.
        """
        if init is not None and not isinstance(init, NeuralEncoder):
            raise TypeError(f"init must be a neural encoder, as se.load reads one, got {type(init).__name__}")
        options = {"valid": valid, "init": init, "freeze": freeze, "stop": stop, "show": show_progress_bar}
        options |= {"checkpoints": checkpoints, "keep_last": keep_last, "callbacks": callbacks}
        fresh = trained_encoder(self, sentences, y, head, **options)
        self.head = fresh.head
        self._take(fresh)
        return self

    def partial_fit(self, sentences: Any, y: Any = None, *, show_progress_bar: bool | None = None) -> Any:
        """Not available: `fit` with `checkpoints` resumes a run.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no partial_fit; fit(..., checkpoints=FOLDER) resumes a run"
        )

    def expand_vocabulary(self, vectors: Vectors, *, ridge: float = 0.0) -> Any:
        """Map word vectors into the space of the network's trained word table.

        A linear map with intercept is fitted by least squares on the words that have both a vector and a row
        of the table. It gives all other words of `vectors` a row; trained words keep theirs. Encoding then
        reads the words that have a row.

        Args:
            vectors: Word vectors of any width, as for the constructor. Words without a row are read as their
                policy says; vectors made of subwords are not used.
            ridge: Weight of the squared norm of the map in the least-squares problem.

        Returns:
            The encoder itself.

        Raises:
            NotFittedError: If the encoder is not fitted.
            ValueError: If the network has no trained word table, or no word has both.
        """
        self._check_fitted()
        words = expanded_words(self, vectors, checked_float("ridge", ridge, 0))
        weights = np.ones(words._core.row_count, np.float32) if self.settings()["unit_words"] else None
        state = (self.network, self.vocabulary_, self._fitted_tokenizer, words)
        self._adopt(*state, weights=weights, head=self._trained_head)
        return self

    def to(self, device: str | torch.device) -> Any:
        """Move the network, and its head, to a device, as `torch.nn.Module.to` does.

        Not while another thread encodes.

        Args:
            device: As the parameter `device`, which it becomes.

        Returns:
            The encoder.

        Raises:
            NotFittedError: If the encoder is not fitted.
            ValueError: If the device cannot be used.

        Example:
            ::

                encoder = se.load("encoder.sentencode").to("cuda")
        """
        self._check_fitted()
        device = str(device) if isinstance(device, torch.device) else device
        here = usable_device(device)
        self.network.to(here)
        if self._trained_head is not None:
            self._trained_head.head.to(here)
        self.device = self._fitted_params["device"] = device
        return self

    @property
    def _device(self) -> torch.device:
        return device_of(self.network, self._trained_head)

    @property
    def dim(self) -> int:
        """Dimensions of an embedding."""
        self._check_fitted()
        return int(self._model.dim)

    def _encode_into(self, batch: Any, out: Floats) -> None:
        self._model.encode_into(self._fitted_tokenizer.prepare(batch), out)

    def encode(self, sentences: Any, *args: Any, normalize: str | None = None, **options: Any) -> Any:
        """Encode sentences.

        Args:
            sentences: As in `Encoder.encode`.
            *args: As in `Encoder.encode`.
            normalize: None, or "halves": each pooled vector is divided by its length, as in the public code.
                The length of an embedding of two such vectors is then √2.
            **options: As in `Encoder.encode`.
        """
        if normalize is None:
            return super().encode(sentences, *args, **options)
        if normalize != "halves":
            raise ValueError(f"encode: normalize must be None or 'halves', got {normalize!r}")
        if options.get("convert_to_tensor") or not options.get("convert_to_numpy", True):
            raise ValueError("encode: normalize is for NumPy arrays alone")
        if options.get("precision") not in (None, "float32", "float16") or options.get("truncate_dim"):
            raise ValueError("encode: normalize='halves' is for all dimensions in float32 or float16")
        return normalized_parts(super().encode(sentences, *args, **options), self._pooled_dims())

    def _pooled_dims(self) -> list[int]:
        """Dimensions of each pooled vector."""
        return [self.dim]

    def _facts(self) -> dict[str, str]:
        facts = super()._facts()
        if self.fitted:
            facts["parameters"] = f"{self.network_parameters():,}"
        return facts

    def network_parameters(self) -> int:
        """Return the number of trained parameters of the network, without word vectors."""
        self._check_fitted()
        return sum(p.numel() for p in self.network.parameters() if p.requires_grad)

    @contextmanager
    def _evaluating(self) -> Iterator[torch.nn.Module]:
        """The network in evaluation mode, without gradients, on this thread; other threads may train it."""
        self._check_fitted()
        with torch.no_grad(), _nn.Evaluating():
            yield self.network

    # Predictions of the head

    @property
    def _estimator_type(self) -> Literal["classifier", "regressor"] | None:
        try:
            head = self.settings()["head"]
        except (TypeError, ValueError):  # `fit` reports invalid parameters
            return None
        return None if head is None else head.estimator_type

    def _predictor(self) -> TrainedHead:
        if "_model" not in self.__dict__:
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first")
        if self._trained_head is None:
            raise AttributeError(
                f"this {type(self).__name__} has no head to predict with: fit it with one, as in "
                "fit(sentences, y, head=se.Classifier())"
            )
        return self._trained_head

    @property
    def head_(self) -> HeadModule:
        """The trained head, a `torch.nn.Module`."""
        return self._predictor().head

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes of a classifier, sorted."""
        return self._predictor().class_array(self)

    def predict_proba(self, sentences: Any) -> npt.NDArray[Any]:
        """Return the probability of each class.

        Args:
            sentences: As in `fit`.

        Returns:
            [n, classes], in the order of `classes_`.
        """
        return self._predictor().probabilities(self, sentences)

    def predict(self, sentences: Any) -> npt.NDArray[Any]:
        """Return the head's predictions.

        A classifier predicts classes; a regression the scores of pairs, or target embeddings; a ranking the
        cosines of pairs; a triplet head how much closer the second sentence is than the third.

        Args:
            sentences: As in `fit`.

        Returns:
            [n], or embeddings [n, d].
        """
        return self._predictor().predictions(self, sentences)

    def score(self, sentences: Any, y: Any) -> float:
        """Return the accuracy of a classifier, or Spearman's rank correlation of predicted scores.

        Args:
            sentences: As in `fit`.
            y: The true classes or scores.

        Raises:
            NotImplementedError: If the head predicts neither classes nor scores.
        """
        return self._predictor().score(self, sentences, y)

    def confusion_matrix(self, sentences: Any, y: Any) -> npt.NDArray[np.int64]:
        """Return the confusion matrix of a classifier.

        Args:
            sentences: As in `fit`.
            y: The true classes.

        Returns:
            [classes, classes]: a row for each true class, a column for each predicted one.
        """
        return self._predictor().confusion_matrix(self, sentences, y)

    # Files and pickles

    def save(self, path: str | os.PathLike[str], *, vectors: bool = True) -> None:
        """Write the encoder to one file, for `sentencode.load` and C++ programs.

        The file is written completely or not at all. It is a safetensors file with the configuration as JSON
        in its header; nothing in it can be executed.

        Args:
            path: The file, which is replaced if it exists.
            vectors: Whether the word vectors are part of the file. Without them, loading needs the file that
                they are mapped from, at the same path.

        Raises:
            NotFittedError: If the encoder is not fitted, or its parameters have changed since.
            OSError: If the file cannot be written.

        Warns:
            UserWarning: If the tokenizer is neither built in nor found by its name: `load` then requires it.
        """
        model = self._described_model()
        self._check_tokenizer_name()
        model.save(_core.link_target(as_name(path)), vectors=vectors)

    _open = staticmethod(neural_files.open_model)
    _read_params = classmethod(neural_files.read_params)
    _from_model = classmethod(neural_files.from_model)
    _described_model = neural_files.described_model
    _identity = neural_files.identity
    __getstate__ = neural_files.pickled_state
    __setstate__ = neural_files.restore_state
