"""Paper 002's encoder: words and their characters, stacked LSTMs, generalized pooling, and a head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ..checks import checked_float
from ..training import Examples
from ..vectors import WordVectors
from .attention_pictures import draw_dimensions
from .core_model import read_sentence
from .cpp_network import CppNetwork
from .encoder_class import AS_PUBLISHED
from .heads import Classifier
from .neural_encoder import NeuralEncoder
from .task import SentenceTask

__all__ = ["GeneralizedPooling", "GeneralizedPoolingNetwork", "LabelledWords"]

Floats = npt.NDArray[np.float32]


class GeneralizedPoolingNetwork(CppNetwork):
    """The encoder of Chen et al. (2018). It is trained with a head.

    Args:
        {options}

    Example:
        >>> import torch
        >>> from sentencode.models import GeneralizedPoolingNetwork
        >>> network = GeneralizedPoolingNetwork(
        ...     words=1, features=16, characters=False, hidden=8, pooling="generalized", heads=3)
        >>> x, lengths = torch.randn(2, 4, 16), torch.tensor([4, 2])
        >>> network.encode(x, lengths).shape, network.attention(x, lengths).shape
        (torch.Size([2, 48]), torch.Size([2, 3, 4, 16]))
    """

    word_tables: ClassVar[Mapping[str, str]] = {"table.weight": "words"}

    def attention(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Return the weights of the words in each dimension of the sentence embedding.

        Args:
            x: As in `encode`.
            lengths: As in `encode`.

        Returns:
            [batch, heads, time, 2 hidden]; [batch, heads, time, 1] if all dimensions have the same weights.
            With "max" and "last" they are 1 for the word that a dimension comes from, else 0. "mean_max" has
            two heads. With `boundaries`, time counts both symbols.

        Raises:
            ValueError: If shapes or types do not fit.
        """
        weights: Tensor = self._cpp.attention(x, lengths)
        return weights

    def load_words(self, rows: Any) -> None:
        """Fill the word table, if it is trained; else there is none.

        Args:
            rows: [words, features], a tensor or an array.

        Raises:
            ValueError: If the shape is wrong.
        """
        if self._config["trainable_words"]:
            self._cpp.load_words(torch.as_tensor(rows))

    def learnt_words(self) -> Tensor | None:
        """The word table [words, features], if it is trained."""
        if not self._config["trainable_words"]:
            return None
        table: Tensor = self.table.weight  # type: ignore[assignment, union-attr]
        return table


class LabelledWords(SentenceTask):
    """Words that have ids only if their vectors are trained. Unknown words are read by their characters."""

    parameters: ClassVar[Mapping[str, Any]] = {
        **SentenceTask.parameters,
        "vocabulary_size": None,
        "batching": "sorted_buffer",
        "batch_size": "auto",
        "trainable_words": False,
    }
    words_need_vectors = False

    def learn_vocabulary(self, sentences: Any, on_progress: Any) -> None:
        """Finds the words that get ids, if word vectors are trained."""
        if self.chosen["trainable_words"]:
            super().learn_vocabulary(sentences, on_progress)

    def sizes(self, examples: Examples | None) -> dict[str, Any]:
        """The words and the unknown symbol."""
        return {**self.ids(len(self.vocabulary)), "features": self.words.dim}

    def read_words(self) -> WordVectors:
        """The word vectors. With characters, words without a vector are read, by default with zeros."""
        vectors = self.words.vectors
        return vectors.with_oov("zero") if self.chosen["characters"] and vectors.oov == "skip" else vectors

    def prepare(self, network: Any, examples: Examples) -> None:
        """Loads word vectors, if they are trained; words without one begin with zeros."""
        if self.chosen["trainable_words"]:
            rows = np.zeros((len(self.vocabulary) + len(self.symbols), self.words.dim), np.float32)
            rows[:-1] = self.words.table(self.vocabulary, {})
            network.load_words(rows)


# The inference encoder of the paper, and that of its public code.
_PAPER: dict[str, Any] = {
    "trainable_words": False,
    "characters": True,
    "character_filters": 100,
    "hidden": 600,
    "layers": 3,
    "dropout": 0.5,
    "boundaries": False,
    "orthogonal": False,
    "pooling": "generalized",
    "heads": 5,
    "attention_hidden": 600,
    "penalty": "parameters",
    "mu": 0.01,
    "batch_distance": False,
    "word_sum": False,
    "head": Classifier(hidden=600, dropout=0.5),
    "optimizer": "adam",
    "schedule": "constant",
    "warmup": 0,
    "learning_rate": 4e-4,
    "epoch_decay": 1.0,
    "decay": 0.5,
    "reload_best": True,
    "least_rate": 4e-4 * 0.5**7.5,  # eight misses
    "clip_norm": 10.0,
    "batch_size": 128,
    "batching": "sorted_buffer",
    "betas": (0.9, 0.999),
    **AS_PUBLISHED,
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
    """Generalized pooling (Chen et al. 2018): LSTM states summed with a weight for each of their dimensions.

    It is trained on labels of pairs (inference) or of single sentences, by a classifier or another head.
    Words without a vector are read by their characters. The default, "small", pools by mean and maximum,
    appends the sum of the word vectors, and divides word vectors by their lengths if the head is a
    classifier. With 500 examples it is 1.8 points better than `TrainedAverage` on average of four tasks, and
    as good as logistic regression on `Average` on two of them (docs/which_encoder.md).

    Args:
        vectors: Word vectors.
        preset: "small", for thousands of examples and minutes on two processors; "paper"; "reference", as its
            public code is; or "infersent": one LSTM of 2,048 units in each direction, the maximum over time,
            no characters, a linear classifier, trained as InferSent (Conneau et al. 2017) is. Parameters that
            are None are the preset's.
        {options}
        mu: Weight of the penalty; the paper chooses it among 1, .1, .01, .001 and .0001.
        **shared: See `sentencode.models.NeuralEncoder`. All presets but "small" halve the learning rate, or
            divide it by five, whenever `valid` has not improved, and stop when it is small.

    Example:
        >>> import sentencode as se
        >>> pairs = [("a man sleeps", "a man runs"), ("a cat sat down", "an animal sat")] * 8
        >>> labels = ["contradiction", "entailment"] * 8
        >>> small = {"hidden": 8, "layers": 1, "heads": 2, "attention_hidden": 8, "character_filters": 8}
        >>> encoder = se.GeneralizedPooling(
        ...     se.WordVectors.default(), head=se.Classifier(hidden=8), max_steps=40, learning_rate=0.01,
        ...     device="cpu", **small)
        >>> encoder.fit(pairs, labels).encode("a dog ran off").shape
        (180,)
        >>> encoder.predict([("a man sleeps", "a man runs")]).tolist()
        ['contradiction']
    """

    network_class = GeneralizedPoolingNetwork
    task_class = LabelledWords
    _onnx = "generalized_pooling"
    training_defaults: ClassVar[dict[str, Any]] = {
        **NeuralEncoder.training_defaults,
        **{"learning_rate": 1e-3, "schedule": "linear", "warmup": 0.1},
        **dict.fromkeys(("metric", "validate_every", "max_steps")),
        "max_epochs": 20,
    }
    _presets = {  # noqa: RUF012
        "small": {"head": Classifier(pair_scale=0.1), "unit_words": True, "word_sum": True},
        **{"paper": _PAPER, "reference": _REFERENCE, "infersent": _INFERSENT},
    }

    def _pooled_dims(self) -> list[int]:
        settings = self.settings()
        width, words = 2 * int(settings["hidden"]), self._word_vectors.dim if settings["word_sum"] else 0
        return [width] * ((self.dim - words) // width) + [words] * bool(words)

    def _completed(self, settings: dict[str, Any]) -> dict[str, Any]:
        given, classifies = self.get_params(deep=False), isinstance(settings["head"], Classifier)
        if self.unit_words is None and not classifies:  # similarity depends on the lengths of word vectors
            settings["unit_words"] = False
        if given["learning_rate"] is None and self.preset == "small" and not classifies:
            settings["learning_rate"] = 3e-4
        if settings["metric"] is None:
            # The accuracy does not weight classes, the loss does.
            plain = classifies and settings["head"].class_weight is None
            settings["metric"] = "accuracy" if plain else "loss"
        if given["least_rate"] is None and settings["least_rate"] is not None:
            # The preset's, for its learning rate.
            rate = checked_float("learning_rate", settings["learning_rate"], 0)
            settings["least_rate"] *= rate / self._presets[self.preset]["learning_rate"]
        return settings

    def attention(self, sentence: str | Sequence[str]) -> tuple[list[str], Floats]:
        """Return the weights of the words in each dimension of the sentence embedding, for any pooling.

        Args:
            sentence: A text, or its tokens.

        Returns:
            The words that are read, with "<s>" and "</s>" if there are `boundaries`; and weights [heads,
            words, 2 hidden], or [heads, words, 1] if all dimensions of a head have the same. The weights of a
            dimension sum to 1. With "max" and "last" they are 1 for one word; "mean_max" has two heads, the
            mean and the maximum.

        Raises:
            NotFittedError: If the encoder is not fitted.
            ValueError: If no word of the sentence is read.
        """
        words, x, lengths = read_sentence(self, sentence)
        with self._evaluating():
            weights = self.network.attention(x, lengths)
        shown = ["<s>", *words, "</s>"] if self.network._config["boundaries"] else words
        return shown, weights[0].float().cpu().numpy()

    def explain(self, sentence: str | Sequence[str]) -> list[tuple[str, Floats]]:
        """Return the contribution of each word to the sentence embedding.

        Args:
            sentence: As in `attention`.

        Returns:
            The words, and for each head the mean of the word's weights: with "max" the fraction of dimensions
            in which it is the largest. Those of a head sum to 1.

        Raises:
            NotFittedError: If the encoder is not fitted.
            ValueError: If no word of the sentence is read.
        """
        words, weights = self.attention(sentence)
        return list(zip(words, weights.mean(axis=2).T, strict=True))

    def head_distance(self, sentence: str | Sequence[str]) -> float:
        """Return the mean distance between the weights of two heads, over all dimensions.

        Args:
            sentence: As in `attention`.

        Returns:
            Mean of sqrt(sum over words of (A_i - A_j)^2, averaged over dimensions); 0 for one head.
        """
        _, weights = self.attention(sentence)
        first, second = np.triu_indices(len(weights), 1)
        if len(first) == 0:
            return 0.0
        squares = ((weights[first] - weights[second]) ** 2).sum(axis=1).mean(axis=1)  # [pairs]
        return float(np.sqrt(squares).mean())

    def plot_attention(self, sentence: str | Sequence[str], *, axes: Any = None) -> Any:
        """Draw the paper's Figure 2: each head's weights, words by dimensions.

        Args:
            sentence: As in `attention`.
            axes: Axes to draw on, one for each head; new ones by default.

        Returns:
            The axes [heads].

        Raises:
            ImportError: If matplotlib is not installed.
            ValueError: If there are not as many axes as heads.
        """
        return draw_dimensions(*self.attention(sentence), axes=axes)
