"""Paper 002's encoder: words and their characters, stacked LSTMs, generalized pooling, and a head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from .. import _nn
from ..nn.module import CppModule
from ..training import Examples
from ..vectors import WordVectors
from .heads import Classifier
from .neural_encoder import NeuralEncoder
from .task import SentenceTask

__all__ = ["GeneralizedPooling", "GeneralizedPoolingNetwork", "LabelledWords"]

Floats = npt.NDArray[np.float32]
Pooling = Literal["generalized", "scalar", "mean", "max", "mean_max", "last"]
Penalty = Literal["none", "parameters", "attention", "embeddings"]

_ALPHABET = "".join(map(chr, range(ord("!"), ord("~") + 1)))  # what ASCII prints


class GeneralizedPoolingNetwork(CppModule):
    """The encoder of Chen et al. (2018). What is learnt a head says.

    Args:
        words: Ids, if their vectors are trained; the last one is that of all other words.
        features: Width of a word's vector.
        trainable_words: Whether words' vectors are trained; else they are read as they are given.
        characters: Whether words are read by their characters, too.
        alphabet: The characters that are told apart.
        max_characters: Of a word that are seen.
        character_features: Numbers of a character's vector.
        character_filters: Of each window.
        character_windows: Characters that a filter sees at a time.
        hidden: Units of each direction of an LSTM.
        layers: Bidirectional LSTMs on top of each other.
        shortcuts: What a layer above the first sees beside the one below it: "none", the "input" (the
            paper's), or "all", the input and all layers below.
        dropout: On words' rows.
        boundaries: Whether symbols stand before a sentence's first word and behind its last one. Their rows
            are learnt.
        orthogonal: Where the LSTMs' weights begin: see `sentencode.nn.RecurrentStack`.
        pooling: "generalized", attention whose weights are vectors; "scalar", whose weights are scalars (Lin
            et al. 2017); "mean", "max", "mean_max", or "last", the last state of each direction.
        heads: Of both attentions.
        attention_hidden: Units of a head's scores; scalar attention has them once for all heads.
        attention_activation: "relu", or "tanh".
        penalty: What heads are to differ in: "parameters", "attention", "embeddings", or "none".
        mu: The penalty's weight.
        margin: The squared distance from which on heads differ enough: the paper's lambda.
        batch_distance: Whether distances are means over a batch before they are compared with it, as in the
            public code.

    Raises:
        ValueError: If an argument is out of range.

    Example:
        >>> import torch
        >>> from sentencode.models import GeneralizedPoolingNetwork
        >>> network = GeneralizedPoolingNetwork(words=1, features=16, characters=False, hidden=8, heads=3)
        >>> x, lengths = torch.randn(2, 4, 16), torch.tensor([4, 2])
        >>> network.encode(x, lengths).shape, network.attention(x, lengths).shape
        (torch.Size([2, 48]), torch.Size([2, 3, 4, 16]))
    """

    word_tables: ClassVar[Mapping[str, str]] = {"table.weight": "words"}

    def __init__(
        self,
        *,
        words: int,
        features: int,
        trainable_words: bool = False,
        characters: bool = True,
        alphabet: str = _ALPHABET,
        max_characters: int = 20,
        character_features: int = 15,
        character_filters: int = 100,
        character_windows: Sequence[int] = (1, 3, 5),
        hidden: int = 600,
        layers: int = 3,
        shortcuts: Literal["none", "input", "all"] = "input",
        dropout: float = 0.5,
        boundaries: bool = False,
        orthogonal: bool = False,
        pooling: Pooling = "generalized",
        heads: int = 5,
        attention_hidden: int = 600,
        attention_activation: Literal["relu", "tanh"] = "relu",
        penalty: Penalty = "parameters",
        mu: float = 0.01,
        margin: float = 1.0,
        batch_distance: bool = False,
    ) -> None:
        super().__init__(
            _nn.GeneralizedPoolingNetwork,
            words=words,
            features=features,
            trainable_words=trainable_words,
            characters=characters,
            alphabet=alphabet,
            max_characters=max_characters,
            character_features=character_features,
            character_filters=character_filters,
            character_windows=list(character_windows),
            hidden=hidden,
            layers=layers,
            shortcuts=shortcuts,
            dropout=dropout,
            boundaries=boundaries,
            orthogonal=orthogonal,
            pooling=pooling,
            heads=heads,
            attention_hidden=attention_hidden,
            attention_activation=attention_activation,
            penalty=penalty,
            mu=mu,
            margin=margin,
            batch_distance=batch_distance,
        )

    @property
    def dim(self) -> int:
        """Width of a sentence's vector."""
        dim: int = self._cpp.dim
        return dim

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """The same as `encode`."""
        z: Tensor = self._cpp.encode(x, lengths)
        return z

    def encode(self, x: Tensor, lengths: Tensor) -> Tensor:
        """The vectors of sentences. This is what calling the network does: its hooks fire.

        Args:
            x: [batch, time, features and characters']: words' rows, at the left.
            lengths: [batch], int64.

        Returns:
            [batch, dim].

        Raises:
            ValueError: If shapes or types do not fit.
        """
        z: Tensor = self(x, lengths)
        return z

    def attention(self, x: Tensor, lengths: Tensor) -> Tensor:
        """What each word weighs in each number of the sentence's vector.

        Args:
            x: As in `encode`.
            lengths: As in `encode`.

        Returns:
            [batch, heads, time, 2 hidden]; [batch, heads, time, 1] where all numbers have the same weights.
            Of "max" and "last" they are 1 where a number comes from. "mean_max" has two heads. With
            `boundaries`, time counts both symbols.

        Raises:
            ValueError: If shapes or types do not fit.
        """
        weights: Tensor = self._cpp.attention(x, lengths)
        return weights

    def load_words(self, rows: Any) -> None:
        """Fills the table of words, if it is trained; else there is none.

        Args:
            rows: [words, features], a tensor or an array.

        Raises:
            ValueError: If its shape is another.
        """
        if self._config["trainable_words"]:
            self._cpp.load_words(torch.as_tensor(rows))

    def learnt_words(self) -> Tensor | None:
        """The table of words [words, features], if it is trained."""
        return self.table.weight if self._config["trainable_words"] else None  # type: ignore[union-attr, return-value]


class LabelledWords(SentenceTask):
    """Words that have ids only if their vectors are trained. Unknown ones are read by their characters."""

    parameters: ClassVar[Mapping[str, Any]] = {
        **SentenceTask.parameters,
        "vocabulary_size": None,
        "batching": None,
        "batch_size": None,
        "trainable_words": None,
    }
    words_need_vectors = False

    def learn_vocabulary(self, sentences: Any, on_progress: Any) -> None:
        """None where words stay as they are: what a word is then does not depend on others."""
        if self.chosen["trainable_words"]:
            super().learn_vocabulary(sentences, on_progress)

    def sizes(self, examples: Examples | None) -> dict[str, Any]:
        """Ids of words, and one of all others."""
        return {**self.ids(len(self.vocabulary)), "features": self.words.dim}

    def read_words(self) -> WordVectors:
        """Those given. Beside its characters a word without a vector has zeros, if nothing else is given."""
        given = self.words.vectors
        return given.with_oov("zero") if self.chosen["characters"] and given.oov == "skip" else given

    def prepare(self, network: Any, examples: Examples) -> None:
        """Gives words their vectors, if they are trained; those of words without one begin at zero."""
        if self.chosen["trainable_words"]:
            rows = np.zeros((len(self.vocabulary) + len(self.symbols), self.words.dim), np.float32)
            rows[:-1] = self.words.table(self.vocabulary, {})
            network.load_words(rows)


# What the paper says of its inference encoder, and what its public code does.
_PAPER: dict[str, Any] = {
    "trainable_words": False,
    "characters": True,
    "hidden": 600,
    "layers": 3,
    "dropout": 0.5,
    "boundaries": False,
    "orthogonal": False,
    "pooling": "generalized",
    "penalty": "parameters",
    "batch_distance": False,
    "head": Classifier(),
    "optimizer": "adam",
    "learning_rate": 4e-4,
    "epoch_decay": 1.0,
    "decay": 0.5,
    "reload_best": True,
    "least_rate": 4e-4 * 0.5**7.5,  # eight misses
    "clip_norm": 10.0,
    "batch_size": 128,
    "batching": "sorted_buffer",
    "betas": (0.9, 0.999),
}
_REFERENCE: dict[str, Any] = {**_PAPER, "boundaries": True, "orthogonal": True, "batch_distance": True}
_INFERSENT: dict[str, Any] = {
    **_PAPER,
    "characters": False,
    "hidden": 2048,
    "layers": 1,
    "dropout": 0.0,
    "pooling": "max",
    "head": Classifier(hidden=512, shortcuts=False, activation="none", dropout=0.0),
    "optimizer": "sgd",
    "learning_rate": 0.1,
    "epoch_decay": 0.99,
    "decay": 0.2,
    "reload_best": False,
    "least_rate": 1e-5,
    "clip_norm": 5.0,
    "batch_size": 64,
    "batching": "plain",
}


class GeneralizedPooling(NeuralEncoder):
    """Generalized pooling (Chen et al. 2018): sentences as sums of LSTM states, weighted number by number.

    It learns from labels: of pairs (inference) or of single sentences, by a classifier, or by any other head.
    Words without a vector are read by their characters.

    Args:
        vectors: Of words.
        preset: "paper"; "reference", as its public code is; or "infersent": one LSTM of 2,048 units a
            direction, the maximum over time, no characters, a linear classifier, trained as InferSent
            (Conneau et al. 2017) is. What is None is the preset's.
        characters: See `sentencode.models.GeneralizedPoolingNetwork`, as for the next ones.
        alphabet: The characters that are told apart.
        max_characters: Of a word that are seen.
        character_features: Numbers of a character's vector.
        character_filters: Of each window.
        character_windows: Characters that a filter sees at a time.
        hidden: Units of each direction; the paper's are 600, or 300.
        layers: 3 in the paper for inference, else 1.
        shortcuts: What a layer above the first sees beside the one below.
        dropout: On words' rows.
        boundaries: Whether symbols stand at both ends of a sentence.
        orthogonal: Whether the LSTMs' weights begin orthogonal.
        pooling: "generalized", "scalar", "mean", "max", "mean_max" or "last".
        heads: Of "generalized" and "scalar".
        attention_hidden: Units of a head's scores.
        attention_activation: "relu", or "tanh".
        penalty: What heads are to differ in.
        mu: The penalty's weight; the paper chooses it among 1, .1, .01, .001 and .0001.
        margin: The squared distance from which on heads differ enough.
        batch_distance: Whether distances are means over a batch, as in the public code.
        **shared: See `sentencode.models.NeuralEncoder`. The presets halve the learning rate, or divide it by
            five, whenever `valid` has not got better, and end when it is small.

    Example:
        >>> import sentencode as se
        >>> pairs = [("a man sleeps", "a man runs"), ("a cat sat down", "an animal sat")] * 8
        >>> labels = ["contradiction", "entailment"] * 8
        >>> small = {"hidden": 8, "layers": 1, "heads": 2, "attention_hidden": 8, "character_filters": 8}
        >>> encoder = se.GeneralizedPooling(
        ...     se.WordVectors.default(), head=se.Classifier(hidden=8), max_steps=40, learning_rate=0.01,
        ...     device="cpu", **small)
        >>> encoder.fit(pairs, labels).encode("a dog ran off").shape
        (32,)
        >>> encoder.predict([("a man sleeps", "a man runs")]).tolist()
        ['contradiction']
    """

    network_class = GeneralizedPoolingNetwork
    task_class = LabelledWords
    training_defaults: ClassVar[dict[str, Any]] = {
        **NeuralEncoder.training_defaults,
        **dict.fromkeys(("learning_rate", "optimizer", "epoch_decay", "decay", "reload_best", "least_rate")),
        **dict.fromkeys(("metric", "clip_norm", "validate_every", "max_steps")),
        "max_epochs": 20,
    }
    _presets = {"paper": _PAPER, "reference": _REFERENCE, "infersent": _INFERSENT}  # noqa: RUF012

    def __init__(
        self,
        vectors: WordVectors,
        *,
        preset: Literal["paper", "reference", "infersent"] = "paper",
        characters: bool | None = None,
        alphabet: str = _ALPHABET,
        max_characters: int = 20,
        character_features: int = 15,
        character_filters: int = 100,
        character_windows: Sequence[int] = (1, 3, 5),
        hidden: int | None = None,
        layers: int | None = None,
        shortcuts: Literal["none", "input", "all"] = "input",
        dropout: float | None = None,
        boundaries: bool | None = None,
        orthogonal: bool | None = None,
        pooling: Pooling | None = None,
        heads: int = 5,
        attention_hidden: int = 600,
        attention_activation: Literal["relu", "tanh"] = "relu",
        penalty: Penalty | None = None,
        mu: float = 0.01,
        margin: float = 1.0,
        batch_distance: bool | None = None,
        **shared: Any,
    ) -> None:
        super().__init__(vectors, preset=preset, **shared)  # type: ignore[arg-type]
        self.characters = characters
        self.alphabet = alphabet
        self.max_characters = max_characters
        self.character_features = character_features
        self.character_filters = character_filters
        self.character_windows = character_windows
        self.hidden = hidden
        self.layers = layers
        self.shortcuts = shortcuts
        self.dropout = dropout
        self.boundaries = boundaries
        self.orthogonal = orthogonal
        self.pooling = pooling
        self.heads = heads
        self.attention_activation = attention_activation
        self.attention_hidden = attention_hidden
        self.penalty = penalty
        self.mu = mu
        self.margin = margin
        self.batch_distance = batch_distance

    def _part(self) -> int:
        return 2 * int(self.settings()["hidden"])

    def settings(self) -> dict[str, Any]:
        """All parameters as they are used.

        Raises:
            ValueError: If there is no such preset.
        """
        found = super().settings()
        if found["metric"] is None:
            found["metric"] = "accuracy" if isinstance(found["head"], Classifier) else "loss"
        return found

    def attention(self, sentence: str | Sequence[str]) -> tuple[list[str], Floats]:
        """What each word weighs in each number of the sentence's vector, whatever the pooling.

        Args:
            sentence: A text, or its tokens.

        Returns:
            The words that are read, with `boundaries` "<s>" and "</s>" among them; and weights [heads, words,
            2 hidden], or [heads, words, 1] where all numbers of a head have the same. A head's weights of a
            number sum to 1. Of "max" and "last" a weight is 1 where the number comes from; "mean_max" has two
            heads, the mean and the maximum.

        Raises:
            NotFittedError: If the encoder has to be fitted first.
            ValueError: If no word of the sentence is known.
        """
        words, x, lengths = self._read_sentence(sentence)
        with self._evaluating():
            weights = self.network.attention(x, lengths)
        shown = ["<s>", *words, "</s>"] if self.network._config["boundaries"] else words
        return shown, weights[0].float().cpu().numpy()

    def explain(self, sentence: str | Sequence[str]) -> list[tuple[str, Floats]]:
        """How much of the sentence's vector comes from each word.

        Args:
            sentence: As in `attention`.

        Returns:
            The words, and for each head the mean of the word's weights: of "max" the share of numbers in
            which it is the largest. Shares of a head sum to 1.

        Raises:
            NotFittedError: If the encoder has to be fitted first.
            ValueError: If no word of the sentence is known.
        """
        words, weights = self.attention(sentence)
        return list(zip(words, weights.mean(axis=2).T, strict=True))

    def head_distance(self, sentence: str | Sequence[str]) -> float:
        """How far apart the heads' weights are: the mean distance of two heads, number by number.

        Args:
            sentence: As in `attention`.

        Returns:
            sqrt(mean of (A_i - A_j)^2 over words, summed) of pairs of heads; 0 for one head.
        """
        _, weights = self.attention(sentence)
        first, second = np.triu_indices(len(weights), 1)
        if len(first) == 0:
            return 0.0
        squares = ((weights[first] - weights[second]) ** 2).sum(axis=1).mean(axis=1)  # [pairs]
        return float(np.sqrt(squares).mean())

    def plot_attention(self, sentence: str | Sequence[str], *, axes: Any = None) -> Any:
        """Draws the paper's Figure 2: each head's weights, words by numbers.

        Args:
            sentence: As in `attention`.
            axes: As many axes as there are heads, to draw on; new ones by default.

        Returns:
            The axes [heads].

        Raises:
            ImportError: If matplotlib is not there.
            ValueError: If there are not as many axes as heads.
        """
        from .._extras import require

        pyplot = require("matplotlib.pyplot", "plot")
        words, weights = self.attention(sentence)
        if axes is None:
            high = 0.6 + 0.22 * len(words)
            _, axes = pyplot.subplots(
                len(weights), 1, figsize=(7, high * len(weights)), layout="constrained", squeeze=False
            )
        axes = np.atleast_1d(np.asarray(axes, object)).ravel()
        if len(axes) != len(weights):
            raise ValueError(f"axes must be {len(weights)}, one for each head, got {len(axes)}")
        for i, (ax, head) in enumerate(zip(axes, weights, strict=True)):
            image = ax.imshow(head, cmap="Blues", vmin=0, aspect="auto", interpolation="nearest")
            ax.set_yticks(range(len(words)), words)
            ax.set_title(f"head {i + 1} of {len(weights)}", fontsize="medium")
            ax.figure.colorbar(image, ax=ax)
        axes[-1].set_xlabel("numbers of the vector")
        return axes
