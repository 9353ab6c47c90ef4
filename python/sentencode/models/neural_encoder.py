"""The base class of neural encoders: a network and word vectors."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch

from .. import _nn
from ..checks import checked_float, checked_int, checked_str
from ..core_encoder import NEURAL_KINDS, plain
from ..errors import NotFittedError
from ..generators import isolated_generators
from ..nn.module import float32_default
from ..search import lengths_of
from ..text.inputs import is_single
from ..text.tokenizer import Tokenizer
from ..text.vocabulary import Vocabulary
from ..training import TrainingOptions
from ..vectors import Vectors, WordVectors
from .cpp_network import CppNetwork, documented
from .expansion import expanded
from .heads import as_head
from .neural_training import OPTIMIZER_EPSILON, NeuralTraining
from .prediction import Learnt, Prediction
from .python_network import core_network, network_name, register
from .task import SentenceTask, WordVectorsOf, row_words

__all__ = ["NeuralEncoder"]

Floats = npt.NDArray[np.float32]
_BATCH_TOKENS = 4096  # encoded at a time
_LINEAR = frozenset({"Average", "LAES", "SIF", "USIF"})  # names of encoders of C++


class NeuralEncoder(Prediction, NeuralTraining):
    """An encoder whose network is trained. Use one of its subclasses, which share these parameters.

    Every word that has a vector can be encoded, also words that the network was not trained with.

    A subclass with a network of your own names its class as `network_class`: any `torch.nn.Module` with
    `dim`, `encode(inputs)` and `loss(batch)`, made with `words` and `features`. Its other arguments with
    defaults are parameters of the encoder. See "Your own encoder" in the documentation.

    Args:
        vectors: Word vectors, as for `SIF`. They are not trained. With oov="skip", words without a vector are
            left out; other policies give the network a substitute.
        preset: Of families with several: "paper", as the paper describes it, or "reference", as its public
            code is. Parameters that are None are the preset's.
        tokenizer: As for `SIF`.
        lowercase: As for `SIF`.
        unit_words: Whether word vectors are divided by their lengths.
        max_words: Maximal number of words of a sentence that encoding reads.
        device: "cpu", "cuda", ...; "auto" takes a GPU if there is one.
        head: Head that is trained instead of the network's own loss: `se.Classifier()` or another head, its
            name, or a dict of its `kind` and options. None: the preset's, or no head.
        vocabulary: Words that have ids (autoencoders generate them). None: those of the training sentences.
        vocabulary_size: Maximal size of the vocabulary; the most frequent words remain.
        min_count: Minimal number of occurrences of a word of the vocabulary.
        min_length: Minimal number of words of a training sentence.
        max_length: Maximal number of words of a training sentence.
        batch_size: Number of sentences in a batch.
        batching: How sentences are put into batches, "equal_length" by default. See
            `sentencode.training.Batcher`.
        max_tokens: Maximal number of tokens in a batch, if `batching` is "token_budget".
        label_smoothing: Label smoothing in the training of families that generate words.
        sampled_words: Mean number of words that the softmax of these families samples in training; 0: all.
        trainable_words: Whether the word table of these families is trained. Encoding then reads the rows of
            its words, and the vectors of other words, until `expand_vocabulary`.
        **training: Fields of `sentencode.training.TrainingOptions`; its `epsilon` is `optimizer_epsilon`
            here, `betas` of None are the preset's, `save_every` of None is `validate_every`.

    Attributes:
        network: The network, a `torch.nn.Module`, once fitted. It cannot be replaced, but its weights can be
            changed as those of any module.
        words_: The word vectors that encoding reads: `vectors`, or what `expand_vocabulary` made.
        vocabulary_: The words that have ids, with their counts.
        head_: The trained head, a `torch.nn.Module`, if there is one.
        classes_: The classes of a classifier.
        history_: The events of the training; not saved.
        origin_: What `sentencode train` noted about vectors and texts; else None.
    """

    network_class: ClassVar[Any]
    training_defaults: ClassVar[dict[str, Any]] = {
        **{"learning_rate": 2e-4, "betas": None, "clip_norm": 5.0},
        **{"max_steps": 100_000, "max_epochs": 10, "validate_every": 500},
    }
    _network_options: ClassVar[tuple[str, ...]] = ()  # of the network, without those that the task decides
    _presets: ClassVar[dict[str, dict[str, Any]]] = {"paper": {"betas": (0.9, 0.999)}}
    _computed: ClassVar[tuple[str, ...]] = ()  # network options whose default depends on other parameters

    _network: Any
    seed: Any
    origin_: dict[str, Any] | None = None

    def __init__(
        self,
        vectors: Vectors,
        *,
        preset: Literal["paper", "reference"] = "paper",
        tokenizer: Any = "auto",
        lowercase: bool | Literal["auto"] = "auto",
        unit_words: bool = False,
        max_words: int = 512,
        device: str = "auto",
        head: Any = None,
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
        defaults = {**self._network_defaults(), **self._shared_defaults()}
        if unknown := [name for name in training if name not in defaults]:
            raise TypeError(f"{type(self).__name__} has no parameter {unknown[0]!r}")
        for name, value in {**defaults, **training}.items():
            setattr(self, name, value)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        network = getattr(cls, "network_class", None)
        if network is None:
            return
        before = getattr(NEURAL_KINDS.get(cls.__name__), "__module__", cls.__module__)
        of_ours = before.startswith("sentencode.") or cls.__name__ in _LINEAR
        if of_ours and not cls.__module__.startswith("sentencode."):
            raise ValueError(f"there is an encoder named {cls.__name__!r} already: choose another name")
        if before != cls.__module__:
            warnings.warn(
                f"{cls.__module__}.{cls.__name__} takes the place of {before}.{cls.__name__}: files of either"
                " are read by it",
                UserWarning,
                stacklevel=2,
            )
        NEURAL_KINDS[cls.__name__] = cls
        _nn.register_kind(cls.__name__)
        if issubclass(network, CppNetwork):
            skipped = cls.task_class.sized
            cls._network_options = tuple(name for name in network.options if name not in skipped)
            cls._describe(network)
            return
        cls._network_options = tuple(_constructor_defaults(network))
        for name in cls._network_options:
            if hasattr(NeuralEncoder, name) or name in {"head", *cls._shared_defaults()}:
                raise ValueError(
                    f"{cls.__name__}: the network's option {name!r} has the name of something that every "
                    "encoder has: choose another one"
                )
        register(cls.__name__, network)

    @classmethod
    def _describe(cls, network: type[CppNetwork]) -> None:
        """Completes signature, types and docstring with the options of a network of C++."""
        shared, defaults = cls._shared_defaults(), cls._defaults()
        options = []
        for name in cls._network_options:
            if name in shared:
                continue
            parameter, option = cls._renamed.get(name, name), network.options[name]
            default = defaults[parameter]
            annotation = f"{option.annotation} | None" if default is None else option.annotation
            options.append(option._replace(name=parameter, default=default, annotation=annotation))
        cls.__doc__ = documented(cls.__doc__, options)
        presets = f"Literal[{', '.join(map(repr, cls._presets))}]"
        declared = {name: a for name, a in inspect.get_annotations(cls).items() if a != "Any"}
        cls.__annotations__ = {
            **{option.name: option.annotation for option in options},
            **{"preset": presets, **declared},
        }
        keyword, empty = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty
        of_task = cls.task_class.parameters.keys() - {*SentenceTask.parameters, *cls._network_options}
        names = [name for name in defaults if name in of_task or (name == "preset" and len(cls._presets) > 1)]
        cls.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                inspect.Parameter(
                    "vectors",
                    inspect.Parameter.POSITIONAL_OR_KEYWORD,
                    default=defaults["vectors"],
                    annotation="Vectors" if defaults["vectors"] is empty else "Vectors | None",
                ),
                *(
                    inspect.Parameter(o.name, keyword, default=o.default, annotation=o.annotation)
                    for o in options
                ),
                *(inspect.Parameter(name, keyword, default=defaults[name]) for name in names),
                inspect.Parameter("shared", inspect.Parameter.VAR_KEYWORD, annotation="Any"),
            ]
        )

    @classmethod
    def _network_name(cls) -> str:
        """The name of the network in files."""
        of_cpp = issubclass(cls.network_class, CppNetwork)
        return str(cls.network_class.__name__) if of_cpp else network_name(cls.__name__, cls.network_class)

    @classmethod
    def _network_defaults(cls) -> dict[str, Any]:
        """The parameters that are the network's options; None if the preset or other parameters decide."""
        if issubclass(cls.network_class, CppNetwork):
            defaults = {name: cls.network_class.options[name].default for name in cls._network_options}
        else:
            defaults = _constructor_defaults(cls.network_class)
        decided = {*cls._computed, *(name for preset in cls._presets.values() for name in preset)}
        return {
            cls._renamed.get(name, name): None if name in decided else default
            for name, default in defaults.items()
        }

    @classmethod
    def _shared_defaults(cls) -> dict[str, Any]:
        """The parameters that come from the task and the trainer."""
        training = {**TrainingOptions.defaults(), **cls.training_defaults}
        training[OPTIMIZER_EPSILON] = training.pop("epsilon")
        return {**cls.task_class.parameters, **training}

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        constructor = {
            name: parameter.default
            for of in (NeuralEncoder, cls)
            for name, parameter in list(inspect.signature(of.__init__).parameters.items())[1:]
            if parameter.kind is not parameter.VAR_KEYWORD
        }
        return {
            "vectors": constructor.pop("vectors"),
            **cls._network_defaults(),
            **cls._shared_defaults(),
            **constructor,
        }

    @property
    def network(self) -> Any:
        """The network, a `torch.nn.Module`. Encoding computes with its weights as they are."""
        if "_network" not in self.__dict__:
            raise NotFittedError(f"this {type(self).__name__} has no network yet: call fit first")
        return self._network

    @property
    def words_(self) -> WordVectors:
        """The vectors of words that encoding looks at."""
        self._check_fitted()
        return self._made_with

    def settings(self) -> dict[str, Any]:
        """All parameters as they are used: those that are None are the preset's.

        Raises:
            ValueError: If there is no such preset.
        """
        if not isinstance(self.preset, str) or self.preset not in self._presets:
            raise ValueError(f"preset must be one of {sorted(self._presets)}, got {self.preset!r}")
        preset = self._presets[self.preset]
        params = self.get_params(deep=False)
        settings = {name: preset.get(name) if value is None else value for name, value in params.items()}
        return {**settings, "head": as_head(settings["head"])}

    def _make_network(self, sizes: dict[str, Any]) -> Any:
        with isolated_generators(checked_int("seed", self.seed, 0, 2**63 - 1)), float32_default():
            return self.network_class(**sizes, **self._network_settings(self.settings()))

    def _network_settings(self, settings: dict[str, Any]) -> dict[str, Any]:
        """The network's options."""
        return {name: plain(settings[self._renamed.get(name, name)]) for name in self._network_options}

    def _device(self) -> torch.device:
        name = checked_str("device", self.device)
        if name == "auto":
            name = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            device = torch.device(name)
            if device.type == "meta":
                raise RuntimeError("nothing is computed there")
            torch.empty(0, device=device)
        except (RuntimeError, AssertionError) as error:  # the latter where torch was built without CUDA
            why = re.split(r"\.\s|\n", str(error))[0]
            raise ValueError(f"device={name!r} cannot be used: {why}") from None
        return device

    def _device_here(self) -> torch.device:
        """The same for an encoder that was made elsewhere: without its device, it computes on another."""
        try:
            return self._device()
        except ValueError as error:
            try:
                torch.device(self.device)
            except RuntimeError:
                raise error from None  # it is none anywhere
            there = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            warnings.warn(
                f"{type(self).__name__}: {error}; it computes on {there}", UserWarning, stacklevel=3
            )
            return there

    # The fitted encoder

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

    def _adopt(
        self,
        network: Any,
        vocabulary: Vocabulary,
        tokenizer: Tokenizer,
        words: WordVectors,
        *,
        weights: Floats | Literal["auto"] | None = "auto",
        model: Any = None,
        learnt: Learnt | None = None,
    ) -> None:
        """Makes the encoder fitted, with its current parameters. `model` is the encoder in C++, or None."""
        self._network, self.vocabulary_, self._cut, self._made_with = network, vocabulary, tokenizer, words
        self._learnt = learnt
        if model is None:
            settings = self._network_settings(self.settings())
            core = core_network(network, type(self).__name__, settings, head=learnt is not None)
            model = _nn.NeuralEncoder(
                type(self).__name__,
                words._core,
                tokenizer.core(),
                WordVectorsOf(words, unit=self.unit_words).weights() if isinstance(weights, str) else weights,
                core,
                max_words=checked_int("max_words", self.max_words, 1),
                batch_tokens=_BATCH_TOKENS,
                head=None if learnt is None else learnt.head._cpp,
                **self._ids(core, vocabulary),
            )
        self._model = model
        self._made_of = self.get_params(deep=False)  # last, as other threads may read

    def _ids(self, core: Any, vocabulary: Vocabulary) -> dict[str, Any]:
        """The word ids, if `word_rows` of the network reads them."""
        if not core.ids:
            return {"ids": [], "unknown": -1}
        return {"ids": vocabulary.words, "unknown": self.task_class.unknown_id(vocabulary)}

    def _row_words(self, vocabulary: Vocabulary, network: Any) -> dict[str, list[Any]]:
        """The words of the rows of the network's word tables, by the option that is their number."""
        return {"words": row_words(vocabulary, self.task_class.symbols)}

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
        rows = getattr(self.network, "learnt_words", lambda: None)()
        if rows is None:
            raise ValueError(
                f"{type(self).__name__}.expand_vocabulary: its network has no trained word table, and reads "
                "the vectors themselves"
            )
        trained = rows.detach()[: len(self.vocabulary_)].double().cpu().numpy()
        words = expanded(self.vocabulary_, trained, WordVectors.of(vectors), checked_float("ridge", ridge, 0))
        weights = np.ones(words._core.row_count, np.float32) if self.unit_words else None  # unchanged
        self._adopt(self.network, self.vocabulary_, self._cut, words, weights=weights, learnt=self._learnt)
        return self

    @property
    def dim(self) -> int:
        """Dimensions of an embedding."""
        self._check_fitted()
        return int(self._model.dim)

    def _encode_into(self, batch: Any, out: Floats) -> None:
        self._model.encode_into(self._cut.prepare(batch), out)

    def encode(self, sentences: Any, *args: Any, normalize: str | None = None, **options: Any) -> Any:
        """Encode sentences.

        Args:
            sentences: As in `Encoder.encode`.
            *args: As in `Encoder.encode`.
            normalize: None, or "halves": each pooled vector is divided by its length, as in the public code.
                The length of a "mean_max" embedding is then √2.
            **options: As in `Encoder.encode`.

        Returns:
            As in `Encoder.encode`.

        Raises:
            ValueError: If `normalize` is unknown.
        """
        if normalize is None:
            return super().encode(sentences, *args, **options)
        if normalize != "halves":
            raise ValueError(f"encode: normalize must be None or 'halves', got {normalize!r}")
        if options.get("convert_to_tensor") or not options.get("convert_to_numpy", True):
            raise ValueError("encode: normalize is for NumPy arrays alone")
        embeddings = super().encode(sentences, *args, **options)
        for begin in range(0, self.dim, self._part()):
            part = embeddings[..., begin : begin + self._part()]
            lengths = lengths_of(part)[..., None]
            part /= np.where(lengths > 0, lengths, 1)
        return embeddings

    def _part(self) -> int:
        """Dimensions of one pooled vector."""
        return self.dim

    def _facts(self) -> dict[str, str]:
        facts = super()._facts()
        if self.fitted:
            facts["parameters"] = f"{self.network_parameters():,}"
        return facts

    def network_parameters(self) -> int:
        """Return the number of trained parameters of the network, without word vectors.

        Raises:
            NotFittedError: If the encoder is not fitted.
        """
        self._check_fitted()
        return sum(p.numel() for p in self.network.parameters() if p.requires_grad)

    def _read_sentence(self, sentence: str | Sequence[str]) -> tuple[list[str], torch.Tensor, torch.Tensor]:
        """The words of a sentence that the network reads, x [1, T, F] and lengths [1]."""
        self._check_fitted()
        tokens = self._cut([sentence])[0]
        batches = list(self._model.read_tokens([tokens], 1))
        texts = not is_single(sentence) and any(len(str(token).split()) > 1 for token in sentence)
        if texts and (not batches or self._cut.split == "punctuation"):  # which splits tokens
            raise ValueError("sentence: a list is the tokens of one sentence, and these look like texts")
        if not batches:
            raise ValueError("sentence has no word that is read")
        ((_, (positions,), x, lengths),) = batches
        return [tokens[i] for i in positions], x, lengths

    @contextmanager
    def _evaluating(self) -> Iterator[torch.nn.Module]:
        """The network in evaluation mode, without gradients, on this thread; other threads may train it."""
        self._check_fitted()
        with torch.no_grad(), _nn.Evaluating():
            yield self.network


def _constructor_defaults(network: Any) -> dict[str, Any]:
    """The arguments of a network's constructor that have defaults: they are parameters of its encoder."""
    return {
        parameter.name: parameter.default
        for parameter in list(inspect.signature(network.__init__).parameters.values())[1:]
        if parameter.default is not parameter.empty
        and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    }
