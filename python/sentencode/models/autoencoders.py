"""Paper 000's autoencoders as encoders: the mean-max attention autoencoder, its twin, its baselines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch

from ..checks import checked_float, checked_int
from ..nn.attention import Activation
from ..nn.pooling import Pooling
from ..text.inputs import is_single
from ..vectors import WordVectors
from .cnn_lstm_autoencoder import CNNLSTMAutoencoderNetwork
from .denoising import DenoisingNetwork
from .lstm_autoencoder import LSTMAutoencoderNetwork
from .mean_max import MeanMaxNetwork
from .neural_encoder import NeuralEncoder
from .task import Autoencoding

__all__ = ["CNNLSTMAE", "LSTMSDAE", "RAE", "MeanMaxAAE"]

# What the paper says, and what its public code does.
_PAPER: dict[str, Any] = {"betas": (0.9, 0.999), "label_smoothing": 0.0}
_REFERENCE: dict[str, Any] = {"betas": (0.9, 0.98), "label_smoothing": 0.1}
_PAPER_LAYERS: dict[str, Any] = {
    **_PAPER,
    "dropout_place": "weights",
    "projection": "none",
    "projection_bias": False,
    "output_projection": False,
    "epsilon": 1e-5,
}
_REFERENCE_LAYERS: dict[str, Any] = {
    **_REFERENCE,
    "dropout_place": "weights",
    "projection": "relu",
    "projection_bias": True,
    "output_projection": False,
    "epsilon": 1e-8,
}


class _Autoencoder(NeuralEncoder):
    """What can be asked of an encoder whose network writes sentences again."""

    task_class = Autoencoding

    def reconstruct(
        self,
        sentences: Any,
        *,
        beam: int = 1,
        best: int = 1,
        max_length: int = 100,
        length_penalty: float = 0.0,
    ) -> Any:
        """What the decoder makes of sentences' vectors.

        Args:
            sentences: One sentence, or many.
            beam: Hypotheses that are kept; 1 takes the most likely word each time.
            best: Hypotheses that are returned.
            max_length: Words at most.
            length_penalty: As in `sentencode.nn.beam_search`.

        Returns:
            For each sentence the text, or the list of its `best` texts if there are more than one. A sentence
            of which no word is known has none: the text is empty.

        Raises:
            NotFittedError: If the encoder has to be fitted first.
            ValueError: If an argument is out of range.
        """
        single = is_single(sentences)
        max_length = checked_int("max_length", max_length, 1)
        beam = checked_int("beam", beam, 1)
        best = checked_int("best", best, 1, beam)
        length_penalty = checked_float("length_penalty", length_penalty, -math.inf)
        rows = self.encode([sentences] if single else sentences)
        words = self.vocabulary_.words
        found = []
        with self._evaluating() as network:
            like = next(network.parameters())
            for begin in range(0, len(rows), 256):
                part = rows[begin : begin + 256]
                z = torch.from_numpy(part).to(like)
                ids, lengths, _ = self.network.reconstruct(z, max_length, beam, best, length_penalty)
                for row, given, counts in zip(part, ids.tolist(), lengths.tolist(), strict=True):
                    texts = [
                        " ".join(words[i] for i in hypothesis[: max(0, count)] if i < len(words))
                        for hypothesis, count in zip(given, counts, strict=True)
                    ]
                    texts = texts if row.any() else [""] * len(texts)
                    found.append(texts[0] if best == 1 else texts)
        return found[0] if single else found


class _LatentAttention(_Autoencoder):
    """What can be asked where the decoder attends to the poolings."""

    hidden: Any
    inner: Any
    pooling: Any
    max_length: Any

    def settings(self) -> dict[str, Any]:
        """All parameters as they are used.

        Raises:
            ValueError: If there is no such preset.
        """
        found = super().settings()
        return {**found, "inner": 2 * self.hidden if self.inner is None else self.inner}

    def _part(self) -> int:
        return int(self.hidden)

    def attention(self, sentence: str | Sequence[str]) -> tuple[list[str], npt.NDArray[np.float32]]:
        """What each word attends to in the sentence's own vector when it is written.

        Args:
            sentence: A text, or its tokens. Words that have no vector are left out.

        Returns:
            The words, the end of the sentence among them, and weights [heads, words, poolings]; the mean
            comes before the maximum.

        Raises:
            NotFittedError: If the encoder has to be fitted first.
            ValueError: If no word of the sentence is known.
        """
        words, x, lengths = self._read_sentence(sentence)
        with self._evaluating():
            end = self.network.table.weight[self.network._config["end"]]
            weights = self.network.attention(torch.cat([x, end[None, None]], 1), lengths + 1)
        return [*words, "</s>"], weights[0].float().cpu().numpy()

    def plot_attention(
        self,
        sentence: str | Sequence[str],
        *,
        heads: Literal["mean", "max"] | int = "mean",
        ax: Any = None,
    ) -> Any:
        """Draws the paper's Figure 2: how much of the mean and of the maximum each word is written from.

        Args:
            sentence: As in `attention`.
            heads: How the heads become one picture: their "mean", their "max", or one of them by its number.
                The paper does not say which it shows.
            ax: Axes to draw on; new ones by default.

        Returns:
            The axes.

        Raises:
            ImportError: If matplotlib is not there.
        """
        from .._extras import require

        pyplot = require("matplotlib.pyplot", "plot")
        words, weights = self.attention(sentence)
        if heads in ("mean", "max"):
            shown = getattr(weights, heads)(axis=0)
        elif isinstance(heads, int | np.integer) and type(heads) is not bool and 0 <= heads < len(weights):
            shown = weights[heads]
        else:
            raise ValueError(f"heads must be 'mean', 'max' or from 0 to {len(weights) - 1}, got {heads!r}")
        if ax is None:
            _, ax = pyplot.subplots(figsize=(max(4.0, 0.6 * len(words)), 1.8), layout="constrained")
        rows = ["mean", "max"] if self.pooling == "mean_max" else [self.pooling]
        image = ax.imshow(shown.T, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        ax.set_xticks(range(len(words)), words, rotation=45, ha="right")
        ax.set_yticks(range(len(rows)), rows)
        merged = f"head {heads}" if not isinstance(heads, str) else f"{heads} of {len(weights)} heads"
        ax.set_title(f"attention to the poolings, {merged}", fontsize="medium")
        ax.figure.colorbar(image, ax=ax)
        return ax


class MeanMaxAAE(_LatentAttention):
    """The mean-max attention autoencoder (Zhang et al. 2018).

    Self-attention encodes words; their mean and their maximum are the sentence's vector; a decoder that
    attends to these two writes the sentence again. Defaults are the paper's.

    Args:
        vectors: Of words.
        hidden: Width of what one pooling gives, a multiple of `heads`.
        inner: Width inside the feed-forward layers; twice `hidden` by default.
        heads: Of every attention.
        pooling: "mean_max", or "mean" or "max" alone.
        dropout: Its rate.
        dropout_place: See `sentencode.models.MeanMaxNetwork`, as for the next ones.
        positions: "sinusoidal", or "learnt".
        places: How many of the learnt ones; words beyond have the last one's. By default those of the longest
            sentences that are trained on: `max_length` and 2.
        projection: Of queries, keys and values.
        projection_bias: Whether their products have one added.
        output_projection: Whether there is one after the heads.
        epsilon: Of layer norms.
        **shared: See `sentencode.models.NeuralEncoder`.

    Example:
        >>> import sentencode as se
        >>> vectors = se.WordVectors.default()
        >>> sentences = ["the cat sat on the mat", "a dog ran in the park", "the dog sat in the park"]
        >>> aae = se.MeanMaxAAE(vectors, hidden=32, heads=4, max_epochs=None, max_steps=3, device="cpu")
        >>> aae.fit(sentences).encode("a cat in the park").shape
        (64,)
    """

    network_class = MeanMaxNetwork
    _presets = {  # noqa: RUF012
        "paper": {**_PAPER_LAYERS, "positions": "sinusoidal"},
        "reference": {**_REFERENCE_LAYERS, "positions": "learnt"},
    }

    def __init__(
        self,
        vectors: WordVectors,
        *,
        hidden: int = 2048,
        inner: int | None = None,
        heads: int = 8,
        pooling: Pooling = "mean_max",
        dropout: float = 0.5,
        dropout_place: Literal["weights", "sublayers"] | None = None,
        positions: Literal["sinusoidal", "learnt"] | None = None,
        places: int | None = None,
        projection: Activation | None = None,
        projection_bias: bool | None = None,
        output_projection: bool | None = None,
        epsilon: float | None = None,
        **shared: Any,
    ) -> None:
        super().__init__(vectors, **shared)
        self.hidden = hidden
        self.inner = inner
        self.heads = heads
        self.pooling = pooling
        self.dropout = dropout
        self.dropout_place = dropout_place
        self.positions = positions
        self.places = places
        self.projection = projection
        self.projection_bias = projection_bias
        self.output_projection = output_projection
        self.epsilon = epsilon

    def settings(self) -> dict[str, Any]:
        """All parameters as they are used.

        Raises:
            ValueError: If there is no such preset.
        """
        found = super().settings()
        longest = 32 if self.max_length is None else self.max_length
        return {**found, "places": longest + 2 if self.places is None else self.places}


class RAE(_LatentAttention):
    """The recurrent twin of `MeanMaxAAE` (RAE in section 4.4 of its paper).

    A bidirectional LSTM in the place of the encoder's attention, an LSTM in that of the decoder's
    self-attention; vectors are as wide.

    Args:
        vectors: Of words.
        hidden: Width of what one pooling gives: a half for each direction; a multiple of `heads`.
        inner: Width inside the feed-forward layer; twice `hidden` by default.
        heads: Of the attention to the poolings.
        pooling: "mean_max", or "mean" or "max" alone.
        dropout: Its rate.
        dropout_place: See `sentencode.models.LSTMAutoencoderNetwork`, as for the next ones.
        projection: Of queries, keys and values.
        projection_bias: Whether their products have one added.
        output_projection: Whether there is one after the heads.
        epsilon: Of layer norms.
        **shared: See `sentencode.models.NeuralEncoder`.

    Example:
        >>> import sentencode as se
        >>> vectors = se.WordVectors.default()
        >>> sentences = ["the cat sat on the mat", "a dog ran in the park", "the dog sat in the park"]
        >>> rae = se.RAE(vectors, hidden=32, heads=4, pooling="max", max_steps=3, device="cpu")
        >>> rae.fit(sentences).encode("a cat in the park").shape
        (32,)
    """

    network_class = LSTMAutoencoderNetwork
    _presets = {"paper": _PAPER_LAYERS, "reference": _REFERENCE_LAYERS}  # noqa: RUF012

    def __init__(
        self,
        vectors: WordVectors,
        *,
        hidden: int = 2048,
        inner: int | None = None,
        heads: int = 8,
        pooling: Pooling = "mean_max",
        dropout: float = 0.5,
        dropout_place: Literal["weights", "sublayers"] | None = None,
        projection: Activation | None = None,
        projection_bias: bool | None = None,
        output_projection: bool | None = None,
        epsilon: float | None = None,
        **shared: Any,
    ) -> None:
        super().__init__(vectors, **shared)
        self.hidden = hidden
        self.inner = inner
        self.heads = heads
        self.pooling = pooling
        self.dropout = dropout
        self.dropout_place = dropout_place
        self.projection = projection
        self.projection_bias = projection_bias
        self.output_projection = output_projection
        self.epsilon = epsilon


class LSTMSDAE(_Autoencoder):
    """The sequential denoising autoencoder (Hill et al. 2016), a baseline of paper 000.

    An LSTM reads a sentence of which words are lost and swapped, an LSTM writes the whole one.

    Args:
        vectors: Of words.
        hidden: Width of sentences' vectors.
        dropout: On words' vectors.
        drop_words: How likely a word is lost, in training.
        swap_words: How likely two neighbours are swapped, in training.
        **shared: See `sentencode.models.NeuralEncoder`.

    Example:
        >>> import sentencode as se
        >>> vectors = se.WordVectors.default()
        >>> sentences = ["the cat sat on the mat", "a dog ran in the park", "the dog sat in the park"]
        >>> sdae = se.LSTMSDAE(vectors, hidden=32, max_steps=3, device="cpu").fit(sentences)
        >>> sdae.encode("a cat in the park").shape
        (32,)
    """

    network_class = DenoisingNetwork
    _presets = {"paper": _PAPER, "reference": _REFERENCE}  # noqa: RUF012

    def __init__(
        self,
        vectors: WordVectors,
        *,
        hidden: int = 2048,
        dropout: float = 0.5,
        drop_words: float = 0.1,
        swap_words: float = 0.1,
        **shared: Any,
    ) -> None:
        super().__init__(vectors, **shared)
        self.hidden = hidden
        self.dropout = dropout
        self.drop_words = drop_words
        self.swap_words = swap_words


class CNNLSTMAE(_Autoencoder):
    """The convolutional autoencoder (Gan et al. 2017), a baseline of paper 000.

    Convolutions of several widths and their maxima over time are the vector, an LSTM writes the sentence.

    Args:
        vectors: Of words.
        hidden: Of the decoder.
        filters: For each window; a vector is as wide as those of all windows.
        windows: Words that a filter sees at a time.
        dropout: On words' vectors.
        **shared: See `sentencode.models.NeuralEncoder`.

    Example:
        >>> import sentencode as se
        >>> vectors = se.WordVectors.default()
        >>> sentences = ["the cat sat on the mat", "a dog ran in the park", "the dog sat in the park"]
        >>> cnn = se.CNNLSTMAE(vectors, hidden=32, filters=16, max_steps=3, device="cpu").fit(sentences)
        >>> cnn.encode("a cat in the park").shape
        (48,)
    """

    network_class = CNNLSTMAutoencoderNetwork
    _presets = {"paper": _PAPER, "reference": _REFERENCE}  # noqa: RUF012

    def __init__(
        self,
        vectors: WordVectors,
        *,
        hidden: int = 2048,
        filters: int = 800,
        windows: Sequence[int] = (3, 4, 5),
        dropout: float = 0.5,
        **shared: Any,
    ) -> None:
        super().__init__(vectors, **shared)
        self.hidden = hidden
        self.filters = filters
        self.windows = windows
        self.dropout = dropout
