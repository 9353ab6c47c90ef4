"""What all neural encoders share: a network, the vectors of words, and how both are used and kept."""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch

from .. import _nn
from ..checks import checked_bool, checked_float, checked_int, checked_str
from ..core_encoder import NEURAL_KINDS, plain
from ..encoder import Encoder
from ..errors import NotFittedError
from ..generators import isolated_generators
from ..nn.module import CppModule, float32_default
from ..search import lengths_of
from ..text.inputs import is_single
from ..text.tokenizer import Tokenizer
from ..text.vocabulary import Vocabulary
from ..training import TrainingOptions
from ..vectors import Vectors, WordVectors
from .expansion import expanded
from .heads import as_head
from .neural_training import OPTIMIZER_EPSILON, NeuralTraining
from .prediction import Learnt, Prediction
from .python_network import core_network, network_name, register
from .task import WordVectorsOf, row_words

__all__ = ["NeuralEncoder"]

Floats = npt.NDArray[np.float32]
_BATCH_TOKENS = 4096  # that are encoded at a time
_SHARES = frozenset({"dropout", "drop_words", "swap_words", "label_smoothing"})
_LINEAR = frozenset({"Average", "LAES", "SIF", "USIF"})  # names that the core knows


class NeuralEncoder(Prediction, NeuralTraining):
    """An encoder whose network is trained. Use one of its subclasses, which share these parameters.

    A word that has a vector can be encoded, whether the network was trained with it or not.

    A subclass with a network of your own names its class as `network_class`: any `torch.nn.Module` with
    `dim`, `encode(inputs)` and `loss(batch)`, made with `words` and `features`; its other arguments that have
    defaults are parameters of the encoder, too. See "Your own encoder" in the documentation.

    Args:
        vectors: Of words, as for `SIF`. They are not trained. Their policy says whether words without one are
            left out (oov="skip") or reach the network, and as what.
        preset: Where a family has several: "paper", as it is written there, or "reference", as the paper's
            public code is. A parameter that is None is the preset's.
        tokenizer: As for `SIF`.
        lowercase: As for `SIF`.
        unit_words: Whether words' vectors are divided by their lengths.
        max_words: Of a sentence that are read where it is encoded.
        device: "cpu", "cuda", ...; "auto" takes a GPU where there is one.
        head: What learns from the rows in the place of the network's own loss: `se.Classifier()`, or another
            head; its name, or a dict of its `kind` and options. None: the network's own, or the preset's.
        vocabulary: The words that networks know by ids (autoencoders: that they write), or None: those of the
            training sentences.
        vocabulary_size: At most so many of them, the most frequent ones.
        min_count: Words of the training sentences that are seen less often are not among them.
        min_length: Sentences of fewer words are not trained on.
        max_length: Nor are those of more.
        batch_size: Sentences in a batch.
        batching: Which of them share one: of "equal_length" by default. See `sentencode.training.Batcher`.
        max_tokens: Of a batch, where `batching` is "token_budget".
        label_smoothing: Of the softmax of families that write words, in training.
        sampled_words: How many words their targets are told from in training; 0: all.
        trainable_words: Of the like: whether the vectors of the words that they write are trained. Those are
            then what is read of these words, too; the others keep their vectors, until `expand_vocabulary`.
        **training: As `sentencode.training.TrainingOptions` says. Its `epsilon` is `optimizer_epsilon` here;
            `betas` of None are the preset's, `save_every` of None is `validate_every`.

    Attributes:
        network: The network, a `torch.nn.Module`, once fitted. It cannot be replaced: an encoder is made of
            it. Its weights can be changed, as those of any module.
        words_: The vectors of words that encoding looks at: those given, or what `expand_vocabulary` made.
        vocabulary_: The words that have ids, with their counts.
        head_: What was learnt from the rows, a `torch.nn.Module`, where there is a head.
        classes_: Of a classifier.
        history_: What happened in training; not saved.
        origin_: What `sentencode train` noted of the vectors and texts that it is made of; else None.
    """

    network_class: ClassVar[Any]
    training_defaults: ClassVar[dict[str, Any]] = {
        **{"learning_rate": 2e-4, "betas": None, "clip_norm": 5.0},
        **{"max_steps": 100_000, "max_epochs": 10, "validate_every": 500},
    }
    _network_options: ClassVar[tuple[str, ...]] = ()  # parameters that are the network's
    _presets: ClassVar[dict[str, dict[str, Any]]] = {"paper": {"betas": (0.9, 0.999)}}

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
        known = self._shared_defaults()
        if type(self).__init__ is NeuralEncoder.__init__:
            known |= _own_defaults(self.network_class)
        if unknown := [name for name in training if name not in known]:
            raise TypeError(f"{type(self).__name__} has no parameter {unknown[0]!r}")
        for name, value in {**known, **training}.items():
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
        if issubclass(network, CppModule):
            skipped = {"network", *cls.task_class.sized}
            config = json.loads(_nn.default_config(network.__name__))
            cls._network_options = tuple(name for name in config if name not in skipped)
        else:
            cls._network_options = tuple(_own_defaults(network))
            for name in cls._network_options:
                taken = {"head", *cls._shared_defaults()}
                if hasattr(NeuralEncoder, name) or name in taken:
                    raise ValueError(
                        f"{cls.__name__}: the network's option {name!r} has the name of something that every "
                        "encoder has: choose another one"
                    )
            register(cls.__name__, network)

    @classmethod
    def _network_name(cls) -> str:
        """What files call the network."""
        of_cpp = issubclass(cls.network_class, CppModule)
        return str(cls.network_class.__name__) if of_cpp else network_name(cls.__name__, cls.network_class)

    @classmethod
    def _shared_defaults(cls) -> dict[str, Any]:
        """The parameters that come from the task and the trainer."""
        training = {**TrainingOptions.defaults(), **cls.training_defaults}
        training[OPTIMIZER_EPSILON] = training.pop("epsilon")
        return {**cls.task_class.parameters, **training}

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        own = super()._defaults()
        for rest in ("shared", "training"):  # **shared of a family, **training of this class
            own.pop(rest, None)
        first = Encoder._defaults.__func__(NeuralEncoder)  # type: ignore[attr-defined]
        first.pop("training")
        others = {**first, **cls._shared_defaults()}
        if cls.__init__ is NeuralEncoder.__init__:
            own = {"vectors": own.pop("vectors"), **_own_defaults(cls.network_class), **own}
        return {**own, **{name: value for name, value in others.items() if name not in own}}

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
        """All parameters as they are used: what is None is what the preset says.

        Raises:
            ValueError: If there is no such preset.
        """
        if not isinstance(self.preset, str) or self.preset not in self._presets:
            raise ValueError(f"preset must be one of {sorted(self._presets)}, got {self.preset!r}")
        chosen = self._presets[self.preset]
        given = self.get_params(deep=False)
        found = {name: chosen.get(name) if value is None else value for name, value in given.items()}
        return {**found, "head": as_head(found["head"])}

    def _made_network(self, sizes: dict[str, Any]) -> Any:
        with isolated_generators(checked_int("seed", self.seed, 0, 2**63 - 1)), float32_default():
            return self.network_class(**sizes, **self._network_settings(self.settings()))

    def _network_settings(self, chosen: dict[str, Any]) -> dict[str, Any]:
        """The network's options, each of its kind: what else is wrong with them the networks tell."""
        if not issubclass(self.network_class, CppModule):
            return {name: plain(chosen[name]) for name in self._network_options}
        kinds = json.loads(_nn.default_config(self.network_class.__name__))
        for name in self._network_options:
            kind = type(kinds[name])
            if name in _SHARES:
                checked_float(name, chosen[name], 0, 1)
            elif kind is list:
                _check_windows(name, chosen[name])
            elif kind is int:
                checked_int(name, chosen[name], int(name != "sampled_words"))
            else:
                _CHECKS[kind](name, chosen[name])
        return {name: plain(chosen[name]) for name in self._network_options}

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
            why = str(error).partition("\n")[0]
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

    # What was learnt.

    def _check_vectors(self) -> None:
        super()._check_vectors()
        if self._word_vectors.oov == "subwords" and self.unit_words:
            raise ValueError(
                f"{type(self).__name__}: unit_words=True and vectors with oov='subwords': what is made of "
                "subwords cannot be divided by its length"
            )

    def _new_tokenizer(self) -> Tokenizer:
        cut = super()._new_tokenizer()
        if cut.lowercase == "auto":
            cut = Tokenizer(cut, lowercase=not self._word_vectors.cased, invalid=cut.invalid)  # type: ignore[arg-type]
        return cut

    def _adopt(
        self,
        network: Any,
        vocabulary: Vocabulary,
        cut: Tokenizer,
        words: WordVectors,
        *,
        weights: Floats | Literal["auto"] | None = "auto",
        model: Any = None,
        learnt: Learnt | None = None,
    ) -> None:
        """Takes what was learnt with the parameters as they are now; `model` is made of it, or was read."""
        self._network, self.vocabulary_, self._cut, self._made_with = network, vocabulary, cut, words
        self._learnt = learnt
        if model is None:
            settings = self._network_settings(self.settings())
            core = core_network(network, type(self).__name__, settings, head=learnt is not None)
            model = _nn.NeuralEncoder(
                type(self).__name__,
                words._core,
                cut.core(),
                WordVectorsOf(words, unit=self.unit_words).weights() if isinstance(weights, str) else weights,
                core,
                max_words=checked_int("max_words", self.max_words, 1),
                batch_tokens=_BATCH_TOKENS,
                head=None if learnt is None else learnt.head._cpp,
                **self._ids(core, vocabulary),
            )
        self._model = model
        self._made_of = self.get_params(deep=False)  # last: other threads may be looking

    def _ids(self, core: Any, vocabulary: Vocabulary) -> dict[str, Any]:
        """The ids of words, if the network asks for them where it encodes."""
        if not core.ids:
            return {"ids": [], "unknown": -1}
        return {"ids": vocabulary.words, "unknown": self.task_class.unknown_id(vocabulary)}

    def _row_words(self, vocabulary: Vocabulary, network: Any) -> dict[str, list[Any]]:
        """The words of the rows of the network's word tables, by the option that is their number."""
        return {"words": row_words(vocabulary, self.task_class.symbols)}

    def expand_vocabulary(self, vectors: Vectors, *, ridge: float = 0.0) -> Any:
        """Gives all words of a table of vectors a place among those that the network has learnt.

        A linear map leads from the vectors to the learnt rows of the words that have both: the one of least
        squares, with an intercept. The other words get what it makes of theirs; the learnt ones keep their
        rows. Words that have an id or a vector of this table are known afterwards.

        Args:
            vectors: Of words, of any width, as the constructor takes them. What stands for words that are
                neither there nor learnt is the policy of these; what subwords would make is left out.
            ridge: How much the map is held back: this times the sum of its squares is added to the errors'.

        Returns:
            The encoder itself, changed.

        Raises:
            NotFittedError: If the encoder has to be fitted first.
            ValueError: If the network has learnt no table of words, or no word has both.
        """
        self._check_fitted()
        rows = getattr(self.network, "learnt_words", lambda: None)()
        if rows is None:
            raise ValueError(
                f"{type(self).__name__}.expand_vocabulary: its network has no table of words that is "
                "trained, and reads the vectors themselves"
            )
        learnt = rows.detach()[: len(self.vocabulary_)].double().cpu().numpy()
        words = expanded(self.vocabulary_, learnt, WordVectors.of(vectors), checked_float("ridge", ridge, 0))
        weights = np.ones(words._core.row_count, np.float32) if self.unit_words else None  # as learnt
        self._adopt(self.network, self.vocabulary_, self._cut, words, weights=weights, learnt=self._learnt)
        return self

    @property
    def dim(self) -> int:
        """The length of a row."""
        self._check_fitted()
        return int(self._model.dim)

    def _encode_into(self, batch: Any, out: Floats) -> None:
        self._model.encode_into(self._cut.prepare(batch), out)

    def encode(self, sentences: Any, *args: Any, normalize: str | None = None, **options: Any) -> Any:
        """Turns sentences into rows of numbers.

        Args:
            sentences: As `Encoder.encode`.
            *args: As there.
            normalize: None, or "halves": what each pooling gives is divided by its length, as the public
                code does it. A "mean_max" row is then √2 long.
            **options: As there.

        Returns:
            As there.

        Raises:
            ValueError: If `normalize` is unknown.
        """
        if normalize is None:
            return super().encode(sentences, *args, **options)
        if normalize != "halves":
            raise ValueError(f"encode: normalize must be None or 'halves', got {normalize!r}")
        if options.get("convert_to_tensor") or not options.get("convert_to_numpy", True):
            raise ValueError("encode: normalize is for NumPy arrays alone")
        rows = super().encode(sentences, *args, **options)
        for begin in range(0, self.dim, self._part()):
            part = rows[..., begin : begin + self._part()]
            lengths = lengths_of(part)[..., None]
            part /= np.where(lengths > 0, lengths, 1)
        return rows

    def _part(self) -> int:
        """How wide what one pooling gives is."""
        return self.dim

    def _facts(self) -> dict[str, str]:
        facts = super()._facts()
        if self.fitted:
            facts["parameters"] = f"{self.network_parameters():,}"
        return facts

    def network_parameters(self) -> int:
        """How many numbers of the network are trained; words' vectors are not among them.

        Raises:
            NotFittedError: If the encoder was not fitted.
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
            raise ValueError("sentence has no word that is known")
        ((_, (positions,), x, lengths),) = batches
        return [tokens[i] for i in positions], x, lengths

    @contextmanager
    def _evaluating(self) -> Iterator[torch.nn.Module]:
        """The network, without dropout and gradients on this thread; others may train it meanwhile."""
        self._check_fitted()
        with torch.no_grad(), _nn.Evaluating():
            yield self.network


def _check_windows(name: str, value: Any) -> None:
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str | bytes):
        raise TypeError(f"{name} must be whole numbers, got {value!r:.40} ({type(value).__name__})")
    for i, window in enumerate(value):
        checked_int(f"{name}[{i}]", window, 1)


_CHECKS: dict[type, Callable[[str, Any], Any]] = {
    bool: checked_bool,
    float: lambda name, value: checked_float(name, value, 0),
    str: checked_str,
}


def _own_defaults(network: Any) -> dict[str, Any]:
    """The arguments of a network's constructor that are parameters of its encoder."""
    found = {}
    for parameter in list(inspect.signature(network.__init__).parameters.values())[1:]:
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        if parameter.default is not parameter.empty:
            found[parameter.name] = parameter.default
    return found
