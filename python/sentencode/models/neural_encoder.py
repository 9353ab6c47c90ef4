"""What all neural encoders share: a network, the vectors of words, and how both are used and kept."""

from __future__ import annotations

import copy
import inspect
import json
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch

from .. import _core, _nn
from ..checks import checked_bool, checked_float, checked_int, checked_str
from ..code_digest import code_digest
from ..core_encoder import NEURAL_KINDS, CoreEncoder, checked_keys, is_still, plain
from ..distributed import communicator as all_processes
from ..encoder import Encoder, progress
from ..errors import FormatError, NotFittedError
from ..nn.module import CppModule
from ..search import lengths_of
from ..text.corpus import repeatable
from ..text.tokenizer import Tokenizer
from ..text.vocabulary import Vocabulary
from ..training import Callback, History, Trainer, TrainingOptions
from ..vectors import Vectors, WordVectors
from .python_network import core_network, network_name, register
from .task import SentenceTask, Task, WordVectorsOf
from .transfer import begin_with, frozen_names

__all__ = ["NeuralEncoder"]

Floats = npt.NDArray[np.float32]
_BATCH_TOKENS = 4096  # that are encoded at a time
_ROWS = 1 << 16  # of vectors that are looked at together
_SHARES = frozenset({"dropout", "drop_words", "swap_words", "label_smoothing"})
# Parameters that files lack which were written before there were any of these.
_LATER = frozenset(
    {
        *("batching", "max_tokens", "momentum", "optimizer_epsilon", "weight_decay", "schedule_steps"),
        *("schedule_end", "epoch_decay", "least_rate", "clip_each", "save_every", "higher_is_better"),
        *("bad_steps", "read_every", "places"),
    }
)
_LINEAR = frozenset({"Average", "LAES", "SIF", "USIF"})  # names that the core knows
_OPTIMIZER_EPSILON = "optimizer_epsilon"  # a network may have an epsilon of its own


class NeuralEncoder(CoreEncoder):
    """An encoder whose network is trained. Use one of its subclasses, which share these parameters.

    A word that has a vector can be encoded, whether the network was trained with it or not.

    A subclass with a network of your own names its class as `network_class`: any `torch.nn.Module` with
    `dim`, `encode(inputs)` and `loss(batch)`, made with `words` and `features`; its other arguments that have
    defaults are parameters of the encoder, too. See "Your own encoder" in the documentation.

    Args:
        vectors: Of words, as for `SIF`. They are not trained.
        preset: Where a family has several: "paper", as it is written there, or "reference", as the paper's
            public code is. A parameter that is None is the preset's.
        tokenizer: As for `SIF`.
        lowercase: As for `SIF`.
        unit_words: Whether words' vectors are divided by their lengths.
        max_words: Of a sentence that are read where it is encoded.
        device: "cpu", "cuda", ...; "auto" takes a GPU where there is one.
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
        **training: As `sentencode.training.TrainingOptions` says. Its `epsilon` is `optimizer_epsilon` here;
            `betas` of None are the preset's, `save_every` of None is `validate_every`.

    Attributes:
        network: The network, a `torch.nn.Module`, once fitted. It cannot be replaced: an encoder is made of
            it. Its weights can be changed, as those of any module.
        vocabulary_: The words that have ids, with their counts.
        history_: What happened in training; not saved.
        origin_: What `sentencode train` noted of the vectors and texts that it is made of; else None.
    """

    network_class: ClassVar[Any]
    task_class: ClassVar[type[Task]] = SentenceTask
    training_defaults: ClassVar[dict[str, Any]] = {
        **{"learning_rate": 2e-4, "betas": None, "clip_norm": 5.0},
        **{"max_steps": 100_000, "max_epochs": 10, "validate_every": 500},
    }
    _network_options: ClassVar[tuple[str, ...]] = ()  # parameters that are the network's
    _presets: ClassVar[dict[str, dict[str, Any]]] = {"paper": {"betas": (0.9, 0.999)}}

    _network: Any
    metric: Any
    stop_after: Any
    decay: Any
    reload_best: Any
    seed: Any
    vocabulary_: Vocabulary
    history_: History
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
        **training: Any,
    ) -> None:
        self.vectors = vectors
        self.preset = preset
        self.tokenizer = tokenizer
        self.lowercase = lowercase
        self.unit_words = unit_words
        self.max_words = max_words
        self.device = device
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
            skipped = {"words", "features", "begin", "end", "trainable_words"}
            config = json.loads(_nn.default_config(network.__name__))
            cls._network_options = tuple(name for name in config if name not in {*skipped, "network"})
        else:
            cls._network_options = tuple(_own_defaults(network))
            for name in cls._network_options:
                if hasattr(NeuralEncoder, name) or name in cls._shared_defaults():
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
        training[_OPTIMIZER_EPSILON] = training.pop("epsilon")
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

    def settings(self) -> dict[str, Any]:
        """All parameters as they are used: what is None is what the preset says.

        Raises:
            ValueError: If there is no such preset.
        """
        if not isinstance(self.preset, str) or self.preset not in self._presets:
            raise ValueError(f"preset must be one of {sorted(self._presets)}, got {self.preset!r}")
        chosen = self._presets[self.preset]
        given = self.get_params(deep=False)
        return {name: chosen.get(name) if value is None else value for name, value in given.items()}

    # Training.

    def fit(
        self,
        sentences: Any,
        y: Any = None,
        *,
        valid: Any = None,
        init: Any = None,
        freeze: Sequence[str] = (),
        checkpoints: str | os.PathLike[str] | None = None,
        callbacks: Sequence[Callback] = (),
        show_progress_bar: bool | None = None,
    ) -> Any:
        """Trains the network, and forgets all that was learnt before.

        If that fails or is interrupted, the encoder stays as it was; with `checkpoints`, the same call goes
        on where it was. Where there is `valid`, or a function as `metric`, the encoder ends with the weights
        that were best.

        Args:
            sentences: Many sentences, or the name of a text file, a folder or a glob. They are read twice:
                for the vocabulary, and to become ids in a file of the cache.
            y: Labels, one for each sentence, where the network learns from them; else ignored.
            valid: Sentences to validate on, every `validate_every` steps; with labels, a tuple of both.
            init: A fitted neural encoder, whose weights this one begins with: those of the same name and
                shape. What belongs to words is taken word by word; the others keep their own beginnings.
            freeze: Names of weights that stay as they begin: of one, of a part of the network ("encoder"), or
                a pattern, as `"*.bias"`.
            checkpoints: A folder for the state of the training. If it holds a different run (other sentences,
                vectors or parameters), it is refused. These may change when a run is resumed: where it ends
                (`max_steps`, `max_epochs`, `stop_after`), how often it validates (`validate_every`), and what
                has no effect on the weights (`device`, `max_words`). But a "linear" or "cosine" schedule
                fixes the end, and a `decay` fixes how often it validates.
            callbacks: Told of every step and validation; see `sentencode.training`.
            show_progress_bar: Whether to show one. None: if the logger "sentencode" shows information.

        Returns:
            The encoder itself.

        Raises:
            TypeError: If a parameter is not of its kind.
            ValueError: If a parameter cannot be used, no sentence can be trained on, or the checkpoints are
                of a different run.
            DivergedError: If the loss is not finite.

        Warns:
            UserWarning: If the best weights are to be taken from `checkpoints`, and that file is damaged or
                missing; the encoder has the last ones then.
        """
        fresh = type(self)(**self.get_params(deep=False))
        fresh._train(sentences, y, valid, init, freeze, checkpoints, callbacks, show_progress_bar)
        self._take(fresh)
        return self

    def partial_fit(self, sentences: Any, y: Any = None, *, show_progress_bar: bool | None = None) -> Any:
        """Not available: a run is resumed by `fit` with its `checkpoints`.

        Args:
            sentences: Ignored.
            y: Ignored.
            show_progress_bar: Ignored.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no partial_fit; fit(..., checkpoints=FOLDER) resumes a run"
        )

    def _train(
        self,
        sentences: Any,
        y: Any,
        valid: Any,
        init: Any,
        freeze: Sequence[str],
        checkpoints: Any,
        callbacks: Sequence[Callback],
        show: bool | None,
    ) -> None:
        chosen = self.settings()
        self._check_vectors()
        device = self._device()
        checked_int("max_words", self.max_words, 1)
        words = WordVectorsOf(self._word_vectors, unit=checked_bool("unit_words", self.unit_words))
        task = self.task_class(type(self).__name__, chosen, words, self._new_tokenizer())
        options = self._training_options(chosen)
        self._check_validation(valid)
        begun = _encoder_of(init)
        # Wrong options are told of now, and not when all sentences were read.
        trial = self._made_network(task.sizes(None))
        core_network(trial, type(self).__name__, self._network_settings(chosen))
        frozen_names(trial, freeze)
        sentences = repeatable(sentences)
        with progress(show, "words") as bar:
            task.learn_vocabulary(sentences, bar)
        with progress(show, "ids") as bar:
            train = task.examples(sentences, y, bar)
        held_out = None
        if valid is not None:
            labelled = task.takes_labels and y is not None and isinstance(valid, tuple)
            texts, labels = valid if labelled else (valid, None)
            held_out = task.examples(repeatable(texts), labels, None)
        network = self._made_network(task.sizes(train))
        task.prepare(network, train)
        if begun is not None:
            begin_with(network, task.vocabulary, begun.network, begun.vocabulary_, task.symbols)
        frozen = frozen_names(network, freeze)
        for name in frozen:
            network.get_parameter(name).requires_grad_(False)
        network.to(device)
        metric = options.pop("metric")
        if callable(metric):
            # What it is asked about encodes with the weights as they are then.
            self._adopt(network, task.vocabulary, task.cut)
            own = metric
            metric = lambda _: own(self)  # noqa: E731
        validates = held_out is not None or callable(metric)
        settings = None
        if checkpoints is not None:
            settings = task.decisive(network)
            if not isinstance(network, CppModule):  # the others tell it themselves
                settings["network"] = {
                    **{"class": type(network).__name__, "code": code_digest(type(network))},
                    **self._network_settings(chosen),
                }
            if frozen:
                settings["frozen"] = frozen
            if begun is not None:
                settings["init"] = begun.fingerprint()
        others = all_processes()
        sharing: dict[str, Any] = {"rank": others.rank, "world": others.size}
        trainer = Trainer(
            network,
            task.batcher(train, validating=False, **sharing),
            None if held_out is None else task.batcher(held_out, validating=True, **sharing),
            checkpoints=checkpoints,
            callbacks=callbacks,
            communicator=others,
            settings=settings,
            metric=metric,
            **options,
        )
        self.history_ = trainer.run(show_progress_bar=show)
        self.origin_ = None
        if validates:
            self._load_best(trainer, checkpoints)
        self._adopt(network.eval(), task.vocabulary, task.cut)

    def _training_options(self, chosen: dict[str, Any]) -> dict[str, Any]:
        """What the trainer is told."""
        options = {name: chosen[_OPTIMIZER_EPSILON if name == "epsilon" else name] for name in _TRAINING}
        betas = options["betas"]
        if not isinstance(betas, Sequence | np.ndarray) or isinstance(betas, str) or len(betas) != 2:
            raise TypeError(f"betas must be two numbers, got {betas!r:.40} ({type(betas).__name__})")
        options["betas"] = tuple(
            checked_float(f"betas[{i}]", beta, 0, 1, below=True) for i, beta in enumerate(betas)
        )
        if options["save_every"] is None:
            options["save_every"] = options["validate_every"]
        return options

    def _load_best(self, trainer: Trainer, checkpoints: Any) -> None:
        """Gives the network the best weights. Where they are lost, a training that is done is not."""
        if checkpoints is None:  # they are in memory
            trainer.load_best()
            return
        path = os.path.join(os.fsdecode(checkpoints), "best.safetensors")
        state = trainer.model.state_dict()
        last = {name: tensor.to("cpu", copy=True) for name, tensor in state.items()}
        try:
            if trainer.load_best() or not trainer._core.scores:
                return
            why = f"{path} is missing, which had the weights of the best validation"
        except FormatError as error:
            trainer.model.load_state_dict(last)  # some may have been read
            why = f"the weights of the best validation cannot be read: {error}"
        warnings.warn(
            f"{type(self).__name__}: {why}; the encoder has those of the last step, {trainer.step:,}. Put "
            "the file back from a copy and call fit again, or train in another folder",
            UserWarning,
            stacklevel=4,
        )

    def _check_validation(self, valid: Any) -> None:
        """What asks for validations, or for a folder, is told of before a sentence is read."""
        if not callable(self.metric) and checked_str("metric", self.metric) not in ("loss", "accuracy"):
            raise ValueError(f"metric must be 'loss', 'accuracy' or a function, got {self.metric!r}")
        wants = {
            "stop_after": self.stop_after is not None,
            "decay": checked_float("decay", self.decay, 0, 1, above=True) < 1,
            "reload_best": checked_bool("reload_best", self.reload_best),
            "metric": self.metric == "accuracy",
        }
        for name, wanted in wants.items():
            if wanted and valid is None and not callable(self.metric):
                raise ValueError(
                    f"{name}={getattr(self, name)!r} needs validations: give fit valid=SENTENCES, or a "
                    "function as metric"
                )

    def _made_network(self, sizes: dict[str, Any]) -> Any:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(checked_int("seed", self.seed, 0, 2**63 - 1))
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
        if self._word_vectors.oov != "skip":
            raise ValueError(
                f"{type(self).__name__}: vectors must skip unknown words, got oov={self._word_vectors.oov!r}"
            )

    def _new_tokenizer(self) -> Tokenizer:
        cut = super()._new_tokenizer()
        if cut.lowercase == "auto":
            cut = Tokenizer(cut, lowercase=not self._word_vectors.cased, invalid=cut.invalid)  # type: ignore[arg-type]
        return cut

    def _weights(self) -> Floats | None:
        """What words' vectors are multiplied by."""
        if not self.unit_words:
            return None
        core, count = self._word_vectors._core, len(self._word_vectors)
        norms = [
            lengths_of(core.rows(np.arange(begin, min(begin + _ROWS, count))))
            for begin in range(0, count, _ROWS)
        ]
        weights: Floats = 1 / np.maximum(np.concatenate(norms), np.finfo(np.float32).tiny, dtype=np.float32)
        return weights

    def _adopt(self, network: Any, vocabulary: Vocabulary, cut: Tokenizer, model: Any = None) -> None:
        """Takes what was learnt with the parameters as they are now; `model` is made of it, or was read."""
        self._network, self.vocabulary_, self._cut = network, vocabulary, cut
        self._model = model or _nn.NeuralEncoder(
            type(self).__name__,
            self._word_vectors._core,
            cut.core(),
            self._weights(),
            core_network(network, type(self).__name__, self._network_settings(self.settings())),
            max_words=checked_int("max_words", self.max_words, 1),
            batch_tokens=_BATCH_TOKENS,
        )
        self._made_with = self._word_vectors
        self._made_of = self.get_params(deep=False)  # last: other threads may be looking

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

    # Keeping it.

    def save(self, path: str | os.PathLike[str], *, vectors: bool = True) -> None:
        """Writes the encoder to one file, which `sentencode.load` reads, and C++ as well.

        The file is there whole or not at all. It is a safetensors file with the configuration as JSON in its
        header; nothing in it can be executed.

        Args:
            path: Where to; a file of that name is replaced.
            vectors: Whether the word vectors are part of the file. Without them it needs the file that they
                are mapped from, at the same place.

        Raises:
            NotFittedError: If the encoder was not fitted, or its parameters have changed since.
            OSError: If the file cannot be written.

        Warns:
            UserWarning: If the tokenizer is neither built in nor found again by its name: it has to be given
                to `load`.
        """
        model = self._described_model()
        self._check_tokenizer_name()
        model.save(path, vectors=vectors)

    def _described_model(self) -> Any:
        """The model, with the parameters that it will be saved with."""
        self._check_fitted()
        config = self.get_params(deep=False)
        del config["vectors"], config["vocabulary"]
        config["tokenizer"] = self._cut.to_config()
        if callable(config["metric"]):
            config["metric"] = "function"  # that it was one; nothing in a file can be executed
        params = {name: plain(value) for name, value in config.items()}
        words = {"words": self.vocabulary_.words, "counts": self.vocabulary_.counts.tolist()}
        content = {"params": params, "vocabulary": words, "origin": self.origin_}
        self._model.params = json.dumps(content)
        return self._model

    @staticmethod
    def _open(path: str, options: _core.LoadOptions) -> _nn.NeuralEncoder:
        """What the core makes of a file."""
        with torch.random.fork_rng(devices=[]):  # weights are drawn before they are read
            return _nn.NeuralEncoder.load(path, options)

    @classmethod
    def _read_params(cls, model: Any) -> dict[str, Any]:
        """The parameters that stand in a file; whether their values fit is checked by `_from_model`."""
        content = json.loads(model.params)
        if not isinstance(content, dict) or set(content) != {"params", "vocabulary", "origin"}:
            raise ValueError("params: expected a JSON object with params, vocabulary and origin")
        known = cls._defaults()
        given = content["params"]
        if isinstance(given, dict):
            given = {**{name: known[name] for name in _LATER & set(known)}, **given}
        params = checked_keys(cls, given, set(known) - {"vectors", "vocabulary"})
        words, origin = content["vocabulary"], content["origin"]
        if not isinstance(origin, dict | None):
            raise ValueError("params: origin must be a JSON object or null")
        vocabulary = Vocabulary(dict(zip(words["words"], words["counts"], strict=True)))
        return {**params, "vocabulary": vocabulary, "origin": origin}

    @classmethod
    def _from_model(cls, model: Any, params: dict[str, Any], cut: Tokenizer) -> Any:
        """The Python face of an encoder of the core that was read from a file."""
        vocabulary, origin = params.pop("vocabulary"), params.pop("origin")
        encoder = cls(WordVectors(model.vectors), **{**params, "tokenizer": cut})
        encoder._check_vectors()
        config = json.loads(model.network.config())
        if config.pop("network") != cls._network_name():
            raise ValueError(f"config: the network is no {cls.network_class.__name__}")
        there = {"max_words": model.max_words, "unit_words": model.weighted, **config}
        chosen = encoder.settings()
        for name in ("max_words", "unit_words", *encoder._network_settings(chosen)):
            if not is_still(chosen[name], there[name]):
                raise ValueError(f"params: {name}={chosen[name]!r}, but config has {there[name]!r}")
        core = encoder._new_tokenizer().core()
        for name in ("split", "lowercase", "invalid"):
            if getattr(core, name) != getattr(model.tokenizer, name):
                raise ValueError(f"params: another {name} of the tokenizer than config has")
        symbols = cls.task_class.symbols
        if config["words"] != len(vocabulary) + symbols:
            raise ValueError(
                f"the network has {config['words'] - symbols} words, the vocabulary has {len(vocabulary)}"
            )
        network = _network_of(cls.network_class, model.network, config)
        encoder._adopt(network.to(encoder._device_here()).eval(), vocabulary, cut, model)
        encoder.origin_ = origin
        return encoder

    def _identity(self) -> Any:
        params = json.loads(self._described_model().params)
        del params["origin"]  # where its texts lay makes no other encoder
        state = {name: tensor.float().cpu().numpy() for name, tensor in self.network.state_dict().items()}
        # The rows of a network in Python are its code's, too.
        code = None if isinstance(self.network, CppModule) else code_digest(type(self.network))
        return self._word_vectors.fingerprint, json.dumps(params), state, *([code] if code else [])

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_model", None)
        if (network := state.get("_network")) is not None:
            # Tensors of a GPU could not be read where there is none.
            state["_network_device"] = str(next(network.parameters()).device)
            if state["_network_device"] != "cpu":
                state["_network"] = copy.deepcopy(network).cpu()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        made_of = state.get("_made_of")
        self.__dict__.update(state)
        device = self.__dict__.pop("_network_device", "cpu")
        if made_of is not None:
            now = self.get_params(deep=False)
            if device != "cpu":
                self.device = device
                self.network.to(self._device_here())
            self.set_params(**made_of)
            if "_made_with" in state:
                self._resolved = self.vectors, state["_made_with"]
            self._adopt(self.network, self.vocabulary_, self._cut)
            self.set_params(**now)

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

    @contextmanager
    def _evaluating(self) -> Iterator[torch.nn.Module]:
        """The network without dropout and gradients, and as it was afterwards."""
        self._check_fitted()
        modes = [(part, part.training) for part in self.network.modules()]
        self.network.eval()
        try:
            with torch.no_grad():
                yield self.network
        finally:
            for part, training in modes:  # those above come first
                part.train(training)


def _check_windows(name: str, value: Any) -> None:
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str | bytes):
        raise TypeError(f"{name} must be whole numbers, got {value!r:.40} ({type(value).__name__})")
    for i, window in enumerate(value):
        checked_int(f"{name}[{i}]", window, 1)


_TRAINING = tuple(TrainingOptions.defaults())
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


def _network_of(kind: Any, core: Any, config: dict[str, Any]) -> Any:
    """The Python face of a network that was read from a file."""
    return kind.of(core, config) if issubclass(kind, CppModule) else core.parts.module


def _encoder_of(init: Any) -> NeuralEncoder | None:
    """What a training is to begin with."""
    if init is None:
        return None
    if not isinstance(init, NeuralEncoder):
        raise TypeError(f"init must be a neural encoder, as se.load reads one, got {type(init).__name__}")
    init._check_fitted()
    return init
