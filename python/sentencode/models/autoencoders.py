"""Paper 000's autoencoders as encoders: the mean-max attention autoencoder, its variant, its baselines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch

from ..checks import checked_float, checked_int
from ..text.inputs import is_single
from .attention_pictures import draw_poolings
from .cnn_lstm_autoencoder import CNNLSTMAutoencoderNetwork
from .core_model import read_sentence
from .denoising import DenoisingNetwork
from .encoder_class import AS_PUBLISHED
from .lstm_autoencoder import LSTMAutoencoderNetwork
from .mean_max import MeanMaxNetwork
from .neural_encoder import NeuralEncoder
from .task import Autoencoding

__all__ = ["CNNLSTMAE", "LSTMSDAE", "RAE", "MeanMaxAAE"]

# The size and the training of the paper, and those of its public code.
_PAPER: dict[str, Any] = {
    "hidden": 2048,
    "dropout": 0.5,
    "vocabulary_size": 21_583,
    "learning_rate": 2e-4,
    "schedule": "constant",
    "warmup": 0,
    "betas": (0.9, 0.999),
    "label_smoothing": 0.0,
    **AS_PUBLISHED,
}
_REFERENCE: dict[str, Any] = {**_PAPER, "betas": (0.9, 0.98), "label_smoothing": 0.1}
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
    """An encoder whose network reconstructs sentences."""

    task_class = Autoencoding
    training_defaults: ClassVar[dict[str, Any]] = {
        **NeuralEncoder.training_defaults,
        **{"learning_rate": 1e-3, "schedule": "linear", "warmup": 0.1},
    }
    _presets: ClassVar[dict[str, dict[str, Any]]] = {
        **{"small": {}, "paper": _PAPER, "reference": _REFERENCE},
    }
    _reads_end = True

    def reconstruct(
        self,
        sentences: Any,
        *,
        beam: int = 1,
        best: int = 1,
        max_length: int = 100,
        length_penalty: float = 0.0,
    ) -> Any:
        """Decode the embeddings of sentences.

        Args:
            sentences: One sentence, or many.
            beam: Number of hypotheses; 1 is greedy search.
            best: Number of hypotheses that are returned.
            max_length: Maximal number of words.
            length_penalty: As in `sentencode.nn.beam_search`.

        Returns:
            For each sentence the text, or the list of its `best` texts if that is more than one. A sentence
            of which no word is read has the empty text.

        Raises:
            NotFittedError: If the encoder is not fitted.
            ValueError: If an argument is out of range.
        """
        single = is_single(sentences)
        max_length = checked_int("max_length", max_length, 1)
        beam = checked_int("beam", beam, 1)
        best = checked_int("best", best, 1, beam)
        length_penalty = checked_float("length_penalty", length_penalty, -math.inf)
        embeddings = self.encode([sentences] if single else sentences)
        words = self.vocabulary_.words
        reconstructions: list[Any] = []
        with self._evaluating() as network:
            like = next(network.parameters())
            for begin in range(0, len(embeddings), 256):
                part = embeddings[begin : begin + 256]
                z = torch.from_numpy(part).to(like)
                ids, lengths, _ = self.network.reconstruct(z, max_length, beam, best, length_penalty)
                for embedding, hypotheses, counts in zip(part, ids.tolist(), lengths.tolist(), strict=True):
                    texts = [
                        " ".join(words[i] for i in hypothesis[: max(0, count)] if i < len(words))
                        for hypothesis, count in zip(hypotheses, counts, strict=True)
                    ]
                    texts = texts if embedding.any() else [""] * len(texts)
                    reconstructions.append(texts[0] if best == 1 else texts)
        return reconstructions[0] if single else reconstructions


class _LatentAttention(_Autoencoder):
    """An autoencoder whose decoder attends to the pooled vectors."""

    _computed: ClassVar[tuple[str, ...]] = ("inner",)
    _presets = {"small": {}, "paper": _PAPER_LAYERS, "reference": _REFERENCE_LAYERS}  # noqa: RUF012
    inner: Any
    pooling: Any
    places: Any
    max_length: Any

    def _completed(self, settings: dict[str, Any]) -> dict[str, Any]:
        hidden = checked_int("hidden", settings["hidden"], 1)
        return {**settings, "inner": 2 * hidden if self.inner is None else self.inner}

    def _pooled_dims(self) -> list[int]:
        width = int(self.settings()["hidden"])
        return [width] * (self.dim // width)

    def attention(self, sentence: str | Sequence[str]) -> tuple[list[str], npt.NDArray[np.float32]]:
        """Return the attention weights of each reconstructed word over the pooled vectors.

        Args:
            sentence: A text, or its tokens. Words without a vector are left out.

        Returns:
            The words and the end of the sentence, and weights [heads, words, poolings]; the mean comes before
            the maximum.

        Raises:
            NotFittedError: If the encoder is not fitted.
            ValueError: If no word of the sentence is read.
        """
        words, x, lengths = read_sentence(self, sentence)
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
        """Draw the paper's Figure 2: the attention of each reconstructed word to the mean and the maximum.

        Args:
            sentence: As in `attention`.
            heads: The "mean" or "max" over the heads, or the number of one. The paper does not say which it
                shows.
            ax: Axes to draw on; new ones by default.

        Returns:
            The axes.

        Raises:
            ImportError: If matplotlib is not installed.
        """
        words, weights = self.attention(sentence)
        rows = ["mean", "max"] if self.pooling == "mean_max" else [self.pooling]
        return draw_poolings(words, rows, weights, heads=heads, ax=ax)


class MeanMaxAAE(_LatentAttention):
    """The mean-max attention autoencoder (Zhang et al. 2018).

    Self-attention encodes the words; the mean and the maximum of its outputs are the sentence embedding; a
    decoder that attends to these two reconstructs the sentence. From the built-in vectors, three minutes
    of training make classifiers of the embeddings better than those of `Average`, thirty minutes still
    better; cosines get worse than those of an untrained one, and are below those of `Average`.

    Args:
        vectors: Word vectors.
        {options}
        inner: Units of the feed-forward layers; 2 `hidden` by default.
        places: Number of learnt position encodings; later positions have the last one's. By default
            `max_length` + 2, enough for the longest training sentences.
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
    _onnx = "mean_max"
    _presets = {  # noqa: RUF012
        "small": {"positions": "learnt"},  # sinusoids are several times as long as the word vectors
        "paper": {**_PAPER_LAYERS, "positions": "sinusoidal"},
        "reference": {**_REFERENCE_LAYERS, "positions": "learnt"},
    }
    _computed = ("inner", "places")

    def _completed(self, settings: dict[str, Any]) -> dict[str, Any]:
        settings = super()._completed(settings)
        longest = 32 if self.max_length is None else checked_int("max_length", self.max_length, 1)
        return {**settings, "places": longest + 2 if self.places is None else self.places}


class RAE(_LatentAttention):
    """The recurrent variant of `MeanMaxAAE` (RAE in section 4.4 of its paper).

    LSTMs replace self-attention: a bidirectional one in the encoder, one in the decoder. From the built-in
    vectors, thirty minutes of training help classifiers of the embeddings, three do not; cosines get worse.

    Args:
        vectors: Word vectors.
        {options}
        inner: Units of the feed-forward layers; 2 `hidden` by default.
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
    _onnx = "recurrent"


class LSTMSDAE(_Autoencoder):
    """The sequential denoising autoencoder (Hill et al. 2016), a baseline of paper 000.

    An LSTM reads a sentence with dropped and swapped words, another one reconstructs the original. Three
    minutes of training help classifiers of the embeddings, more do not; they make cosines worse, and do not
    beat `Average`.

    Args:
        vectors: Word vectors.
        {options}
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
    _onnx = "recurrent"


class CNNLSTMAE(_Autoencoder):
    """The convolutional autoencoder (Gan et al. 2017), a baseline of paper 000.

    The maxima over time of convolutions are the sentence embedding, from which an LSTM reconstructs the
    sentence. Minutes of training help classifiers of the embeddings, make cosines worse, and do not beat
    `Average`.

    Args:
        vectors: Word vectors.
        {options}
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
    _onnx = "convolutional"
    _presets = {  # noqa: RUF012
        "small": {},
        **{name: {**values, "filters": 800} for name, values in _Autoencoder._presets.items() if values},
    }
