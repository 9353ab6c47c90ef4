"""What all neural encoders share: a network, the vectors of words, and how both are trained and kept."""

from __future__ import annotations

import copy
import hashlib
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
from ..core_encoder import CoreEncoder, checked_keys, is_still, plain
from ..distributed import communicator as all_processes
from ..encoder import Encoder, progress
from ..errors import FormatError, NotFittedError
from ..search import lengths_of
from ..text.corpus import repeatable
from ..text.tokenizer import Tokenizer
from ..text.vocabulary import Vocabulary
from ..training import Batcher, Callback, Examples, History, Trainer, Validation
from ..vectors import Vectors, WordVectors
from .autoencoder import Autoencoder

__all__ = ["NeuralEncoder"]

Floats = npt.NDArray[np.float32]
_BEGIN, _END = "<s>", "</s>"
_BATCH_TOKENS = 4096  # that are encoded at a time
_ROWS = 1 << 16  # of vectors that are looked at together

# Options of networks by their kinds: what else is wrong with them the networks tell.
_WHOLE = frozenset({"hidden", "inner", "heads", "filters", "sampled_words"})
_SHARES = frozenset({"dropout", "drop_words", "swap_words", "label_smoothing", "epsilon"})
_CHOICES = frozenset({"pooling", "dropout_place", "positions", "projection"})
_SWITCHES = frozenset({"projection_bias", "output_projection"})


class NeuralEncoder(CoreEncoder):
    """An encoder whose network is trained. Use one of its subclasses, which share these parameters.

    A word that has a vector can be encoded, whether the network was trained with it or not.

    Args:
        vectors: Of words, as for `SIF`. They are not trained.
        preset: "paper", as it is written there, or "reference", as the paper's public code is. A parameter
            that is None is the preset's.
        tokenizer: As for `SIF`.
        lowercase: As for `SIF`.
        unit_words: Whether words' vectors are divided by their lengths.
        vocabulary: The words that are written, or None: those of the training sentences.
        vocabulary_size: At most so many of them, the most frequent ones.
        min_count: Words of the training sentences that are seen less often are not written.
        min_length: Sentences of fewer words are not trained on.
        max_length: Nor are those of more, nor those with a word that is not written.
        max_words: Of a sentence that are read where it is encoded.
        batch_size: Sentences in a batch; they are of one length.
        accumulate: Batches of one training step.
        optimizer: Of `sentencode.training.Trainer`, as the next ones.
        learning_rate: Its highest.
        betas: Of Adam.
        schedule: Of the learning rate.
        warmup: Steps in which it rises.
        decay: What the learning rate is multiplied by where validation has not got better; 0.5 halves it.
        patience: After so many validations in a row that were not better.
        reload_best: Whether the best weights are taken up again then; needs `checkpoints` in `fit`.
        clip_norm: What gradients' norm is at most.
        label_smoothing: Of the softmax, in training.
        sampled_words: How many words targets are told from in training; 0: all.
        max_steps: At most so many steps.
        max_epochs: At most so many times all sentences. Where this and `max_steps` are None: once.
        validate_every: Steps between two validations, where there are sentences to validate on.
        stop_after: It ends after so many validations that are not better than the best; None: never.
        metric: What decides how good a validation is: the "loss" or the "accuracy" on the sentences to
            validate on, or a function of the encoder, as it is then, that returns a number of which more is
            better. A function is not saved.
        autocast: "bfloat16" to compute in it where the hardware does.
        seed: Of weights, order and dropout.
        device: "cpu", "cuda", ...; "auto" takes a GPU where there is one.

    Attributes:
        network: The network, a `torch.nn.Module`, once fitted. It cannot be replaced: an encoder is made of
            it. Its weights can be changed, as those of any module.
        vocabulary_: The words that are written, with their counts.
        history_: What happened in training; not saved.
        origin_: What `sentencode train` noted of the vectors and texts that it is made of; else None.
    """

    _network_class: ClassVar[type[Autoencoder]]
    _network_options: ClassVar[tuple[str, ...]]  # parameters that are the network's
    _presets: ClassVar[dict[str, dict[str, Any]]]

    _network: Autoencoder
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
        vocabulary: Vocabulary | None = None,
        vocabulary_size: int | None = 21_583,
        min_count: int = 1,
        min_length: int = 4,
        max_length: int = 32,
        max_words: int = 512,
        batch_size: int = 64,
        accumulate: int = 1,
        optimizer: Literal["adam", "adamw", "sgd", "rmsprop", "adagrad"] = "adam",
        learning_rate: float = 2e-4,
        betas: tuple[float, float] | None = None,
        schedule: Literal["constant", "linear", "cosine", "inverse_sqrt"] = "constant",
        warmup: int = 0,
        decay: float = 1.0,
        patience: int = 1,
        reload_best: bool = False,
        clip_norm: float | None = 5.0,
        label_smoothing: float | None = None,
        sampled_words: int = 0,
        max_steps: int | None = 100_000,
        max_epochs: int | None = 10,
        validate_every: int | None = 500,
        stop_after: int | None = None,
        metric: Literal["loss", "accuracy"] | Callable[[Any], float] = "loss",
        autocast: Literal["bfloat16"] | None = None,
        seed: int = 0,
        device: str = "auto",
    ) -> None:
        self.vectors = vectors
        self.preset = preset
        self.tokenizer = tokenizer
        self.lowercase = lowercase
        self.unit_words = unit_words
        self.vocabulary = vocabulary
        self.vocabulary_size = vocabulary_size
        self.min_count = min_count
        self.min_length = min_length
        self.max_length = max_length
        self.max_words = max_words
        self.batch_size = batch_size
        self.accumulate = accumulate
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.betas = betas
        self.schedule = schedule
        self.warmup = warmup
        self.decay = decay
        self.patience = patience
        self.reload_best = reload_best
        self.clip_norm = clip_norm
        self.label_smoothing = label_smoothing
        self.sampled_words = sampled_words
        self.max_steps = max_steps
        self.max_epochs = max_epochs
        self.validate_every = validate_every
        self.stop_after = stop_after
        self.metric = metric
        self.autocast = autocast
        self.seed = seed
        self.device = device

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        own = super()._defaults()
        own.pop("shared", None)  # **shared: the parameters of this class
        shared = Encoder._defaults.__func__(NeuralEncoder)  # type: ignore[attr-defined]
        return {**own, **{name: value for name, value in shared.items() if name not in own}}

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
            y: Ignored.
            valid: Sentences to validate on, every `validate_every` steps.
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
        sentences, valid = map(repeatable, (sentences, valid))
        fresh._train(sentences, valid, checkpoints, callbacks, show_progress_bar)
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
        valid: Any,
        checkpoints: Any,
        callbacks: Sequence[Callback],
        show: bool | None,
    ) -> None:
        chosen = self.settings()
        self._check_vectors()
        cut = self._new_tokenizer()
        device = self._device()
        checked_int("max_words", self.max_words, 1)
        checked_bool("unit_words", self.unit_words)
        betas = self._betas(chosen["betas"])
        self._check_validation(valid, checkpoints)
        # Wrong options are told of now, and not when all sentences were read.
        self._made_network(2 + checked_int("sampled_words", self.sampled_words, 0), 0, 1)
        with progress(show, "words") as bar:
            vocabulary = self._vocabulary_of(sentences, cut, bar)
        with progress(show, "ids") as bar:
            train = self._examples_of(sentences, vocabulary, cut, bar)
        held_out = None if valid is None else self._examples_of(valid, vocabulary, cut, None)
        network = self._new_network(train, vocabulary).to(device)
        metric = self.metric
        if callable(metric):
            # What it is asked about encodes with the weights as they are then.
            self._adopt(network, vocabulary, cut)
            own = metric
            metric = lambda _: own(self)  # noqa: E731
        validates = held_out is not None or callable(metric)
        best = _Best() if validates and checkpoints is None else None
        others = all_processes()
        sharing: dict[str, Any] = {"rank": others.rank, "world": others.size}
        trainer = Trainer(
            network,
            Batcher(train, batch_size=self.batch_size, seed=self.seed, **sharing),
            None if held_out is None else Batcher(held_out, batch_size=256, shuffle=False, **sharing),
            betas=betas,
            checkpoints=checkpoints,
            callbacks=callbacks if best is None else [*callbacks, best],
            communicator=others,
            save_every=self.validate_every,
            metric=metric,
            settings=self._learnt_from(network, vocabulary) if checkpoints is not None else None,
            **{
                name: chosen[name]
                for name in (
                    *("accumulate", "optimizer", "learning_rate", "schedule", "warmup", "decay", "patience"),
                    *("reload_best", "clip_norm", "max_steps", "max_epochs", "validate_every", "stop_after"),
                    *("autocast", "seed"),
                )
            },
        )
        self.history_ = trainer.run(show_progress_bar=show)
        self.origin_ = None
        if best is not None:
            best.load_into(network)
        elif validates:
            self._load_best(trainer, os.path.join(os.fsdecode(checkpoints), "best.safetensors"))
        self._adopt(network.eval(), vocabulary, cut)

    def _load_best(self, trainer: Trainer, path: str) -> None:
        """Gives the network the best weights. Where they are lost, a training that is done is not."""
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

    @staticmethod
    def _betas(value: Any) -> tuple[float, float]:
        if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str) or len(value) != 2:
            raise TypeError(f"betas must be two numbers, got {value!r:.40} ({type(value).__name__})")
        first, second = (checked_float(f"betas[{i}]", beta, 0, 1, below=True) for i, beta in enumerate(value))
        return first, second

    def _check_validation(self, valid: Any, checkpoints: Any) -> None:
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
        if self.reload_best and checkpoints is None:
            raise ValueError(
                "reload_best needs a folder where the best weights are kept: give fit checkpoints="
            )

    def _learnt_from(self, network: Autoencoder, vocabulary: Vocabulary) -> dict[str, Any]:
        """What decides, beside the network's own options and the ids, what is learnt; for checkpoints."""
        words = json.dumps([vocabulary.words, vocabulary.counts.tolist()]).encode("utf-8", "surrogatepass")
        rows = network.state_dict()["table.weight"].cpu().numpy()
        return {
            "unit_words": bool(self.unit_words),
            "vocabulary": hashlib.sha256(words).hexdigest(),
            "vectors": hashlib.sha256(rows.tobytes()).hexdigest(),
        }

    def _vocabulary_of(self, sentences: Any, cut: Tokenizer, bar: Any) -> Vocabulary:
        if self.vocabulary is not None:
            if not isinstance(self.vocabulary, Vocabulary):
                raise TypeError(f"vocabulary must be a Vocabulary, got {type(self.vocabulary).__name__}")
            counts = dict(self.vocabulary)
        else:
            seen = Vocabulary.from_corpus(sentences, cut, min_count=self.min_count, on_progress=bar)
            counts = dict(seen)
        known = {word: count for word, count in counts.items() if word in self._word_vectors}
        for symbol in (_BEGIN, _END):
            known.pop(symbol, None)  # they have places of their own
        found = Vocabulary(known, max_size=self.vocabulary_size)
        if not counts and self.vocabulary is None:
            often = "" if self.min_count <= 1 else f" min_count={self.min_count} times"
            raise ValueError(f"{type(self).__name__}: there is no sentence that has a word{often}")
        if len(found) == 0:
            raise ValueError(
                f"{type(self).__name__}: none of the {len(counts)} words of the sentences has a vector"
            )
        return found

    def _examples_of(self, sentences: Any, vocabulary: Vocabulary, cut: Tokenizer, bar: Any) -> Examples:
        return Examples.build(
            sentences,
            vocabulary,
            cut,
            end=_END,
            unknown_words="drop_example",
            min_length=self.min_length,
            max_length=self.max_length,
            on_progress=bar,
        )

    def _new_network(self, examples: Examples, vocabulary: Vocabulary) -> Autoencoder:
        end = examples.symbols()[_END]
        begin = examples.vocabulary_size()  # the first id that no example has
        network = self._made_network(begin + 1, begin, end)
        network.load_words(self._table(vocabulary, begin, end))
        counts = np.zeros(begin + 1, np.int64)
        counts[: len(vocabulary)] = vocabulary.counts
        counts[end] = len(examples)
        network.set_word_counts(torch.from_numpy(counts))
        return network

    def _made_network(self, words: int, begin: int, end: int) -> Autoencoder:
        chosen = self.settings()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(checked_int("seed", self.seed, 0, 2**63 - 1))
            return self._network_class(
                words=words,
                features=self._word_vectors.dim,
                begin=begin,
                end=end,
                **self._network_settings(chosen),
            )

    def _network_settings(self, chosen: dict[str, Any]) -> dict[str, Any]:
        names = ("label_smoothing", "sampled_words", *self._network_options)
        for name in names:
            if name in _WHOLE:
                checked_int(name, chosen[name], int(name != "sampled_words"))
            elif name in _SHARES:
                checked_float(name, chosen[name], 0, 1)
            elif name in _CHOICES:
                checked_str(name, chosen[name])
            elif name in _SWITCHES:
                checked_bool(name, chosen[name])
            elif name == "windows":
                _check_windows(chosen[name])
        return {name: plain(chosen[name]) for name in names}

    def _table(self, vocabulary: Vocabulary, begin: int, end: int) -> Floats:
        """The vectors of the words that are written, and of the symbols."""
        rows = np.empty((begin + 1, self._word_vectors.dim), np.float32)
        rows[: len(vocabulary)] = self._word_vectors.matrix(vocabulary.words)
        # Symbols that have no vectors get ones that are as long as those of words, the same every time.
        typical = lengths_of(rows[: len(vocabulary)]).mean()
        for place, symbol in ((begin, _BEGIN), (end, _END)):
            if symbol in self._word_vectors:
                rows[place] = self._word_vectors[symbol]
            else:
                drawn = np.random.default_rng(place == end).standard_normal(self._word_vectors.dim)
                rows[place] = drawn * (typical / np.linalg.norm(drawn))
        if self.unit_words:
            rows /= np.maximum(lengths_of(rows)[:, None], np.finfo(np.float32).tiny)
        return rows

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

    def _adopt(self, network: Autoencoder, vocabulary: Vocabulary, cut: Tokenizer, model: Any = None) -> None:
        """Takes what was learnt with the parameters as they are now; `model` is made of it, or was read."""
        self._network, self.vocabulary_, self._cut = network, vocabulary, cut
        self._model = model or _nn.NeuralEncoder(
            type(self).__name__,
            self._word_vectors._core,
            cut.core(),
            self._weights(),
            network._cpp,
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
        params = checked_keys(cls, content["params"], set(cls._defaults()) - {"vectors", "vocabulary"})
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
        if config.pop("network") != cls._network_class.__name__:
            raise ValueError(f"config: the network is no {cls._network_class.__name__}")
        there = {"max_words": model.max_words, "unit_words": model.weighted, **config}
        chosen = encoder.settings()
        for name in ("max_words", "unit_words", *encoder._network_settings(chosen)):
            if not is_still(chosen[name], there[name]):
                raise ValueError(f"params: {name}={chosen[name]!r}, but config has {there[name]!r}")
        core = encoder._new_tokenizer().core()
        for name in ("split", "lowercase", "invalid"):
            if getattr(core, name) != getattr(model.tokenizer, name):
                raise ValueError(f"params: another {name} of the tokenizer than config has")
        if config["words"] != len(vocabulary) + 2:
            raise ValueError(
                f"the network writes {config['words'] - 2} words, the vocabulary has {len(vocabulary)}"
            )
        network = cls._network_class.of(model.network, config)
        encoder._adopt(network.to(encoder._device_here()).eval(), vocabulary, cut, model)
        encoder.origin_ = origin
        return encoder

    def _identity(self) -> Any:
        params = json.loads(self._described_model().params)
        del params["origin"]  # where its texts lay makes no other encoder
        state = {name: tensor.float().cpu().numpy() for name, tensor in self.network.state_dict().items()}
        return self._word_vectors.fingerprint, json.dumps(params), state

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_model", None)
        if (network := state.get("_network")) is not None:
            # Tensors of a GPU could not be read where there is none.
            state["_network_device"] = str(network.table.weight.device)
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


def _check_windows(value: Any) -> None:
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str | bytes):
        raise TypeError(f"windows must be whole numbers, got {value!r:.40} ({type(value).__name__})")
    for i, window in enumerate(value):
        checked_int(f"windows[{i}]", window, 1)


class _Best(Callback):
    """Keeps the best weights in memory, where there is no folder for them."""

    def __init__(self) -> None:
        self.state: dict[str, torch.Tensor] = {}

    def on_validation(self, trainer: Trainer, validation: Validation) -> None:
        if validation.best:
            state = trainer.model.state_dict()
            self.state = {name: tensor.detach().clone() for name, tensor in state.items()}

    def load_into(self, network: Any) -> None:
        if self.state:
            network.load_state_dict(self.state)
