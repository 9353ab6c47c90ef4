"""Encoders trained on ordered text: RNN-CNN of paper 001, and the baselines of papers 000 and 001."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import torch

from ..checks import checked_bool, checked_int, checked_str
from ..linear import Average
from ..text.corpus import Corpus
from ..text.inputs import is_single
from ..text.vocabulary import Vocabulary
from ..training import Examples
from ..vectors import WordVectors
from .cnn_lstm_context import CompositeCNNNetwork, HierarchicalCNNNetwork
from .context import ContextNetwork
from .core_model import read_rows
from .encoder_class import AS_PUBLISHED
from .fast_sent import FastSentNetwork
from .neural_encoder import NeuralEncoder
from .prediction import checked_finite
from .skip_thoughts import SkipThoughtsNetwork
from .task import BEGIN, END, UNKNOWN, SentenceTask, set_word_counts

__all__ = ["RNNCNN", "CompositeCNN", "FastSent", "HierarchicalCNN", "SkipThoughts"]

# The training of all, and of the papers.
_SMALL: dict[str, Any] = {
    **NeuralEncoder.training_defaults,
    **{"learning_rate": 1e-3, "schedule": "linear"},
}
_PAPER: dict[str, Any] = {
    **{"vocabulary_size": 20_000, "learning_rate": 5e-4, "schedule": "constant", **AS_PUBLISHED},
}

_GAN: dict[str, Any] = {  # of Gan et al. (2017), from its public code
    **{**_PAPER, "vocabulary_size": 21_102, "learning_rate": 2e-4},
    **{"hidden": 600, "filters": 800, "dropout": 0.0},
}


class _OrderedText(SentenceTask):
    """Sentences in order: each is an example with its neighbours in the same document.

    The word table is initialised with the word vectors and trained; encoding reads it.
    """

    parameters: ClassVar[Mapping[str, Any]] = {
        **SentenceTask.parameters,
        "vocabulary_size": 8000,
        "documents": True,
        "label_smoothing": 0.0,
        "sampled_words": 0,
        "trainable_words": True,
    }
    symbols = (UNKNOWN, END, BEGIN)
    takes_labels = False

    @classmethod
    def unknown_id(cls, vocabulary: Vocabulary) -> int:
        """None: encoding reads the vectors of other words, until the table is expanded."""
        return -1

    def sizes(self, examples: Examples | None) -> dict[str, Any]:
        """The words and the symbols."""
        least = 1 + checked_int("sampled_words", self.chosen["sampled_words"], 0)
        return {**self.ids(least if examples is None else len(self.vocabulary)), "features": self.words.dim}

    def _build(
        self, sentences: Any, on_progress: Any, paragraph: int | None = None, **options: Any
    ) -> Examples:
        if not checked_bool("documents", self.chosen["documents"]):
            sentences = _OneDocument(sentences)
        if paragraph is not None:
            sentences = _Paragraphs(sentences, paragraph)
        return Examples.build(
            sentences,
            self.vocabulary,
            self.tokenizer,
            unknown=UNKNOWN,
            unknown_words=self.unknown_words,
            on_progress=on_progress,
            **options,
        )

    def prepare(self, network: Any, examples: Examples) -> None:
        """Loads word vectors and word counts. Without a vector, "<unk>" gets the mean of all."""
        size = len(self.vocabulary)
        rows = self.words.table(self.vocabulary, {size + i: s for i, s in enumerate(self.symbols)})
        if UNKNOWN not in self.words:
            rows[size + self.symbols.index(UNKNOWN)] = rows[:size].mean(0)
        network.load_words(rows)
        set_word_counts(network, self.vocabulary, examples, "tokens", self.ids(size))


class FollowingWords(_OrderedText):
    """Sentences with the words that follow them: a fixed number, or those of the next sentence."""

    parameters: ClassVar[Mapping[str, Any]] = {**_OrderedText.parameters, "targets": "words"}

    def examples(self, sentences: Any, y: Any, on_progress: Any) -> Examples:
        """Two fields: "tokens", and "following" or "next"."""
        targets = checked_str("targets", self.chosen["targets"])
        count = self.chosen["following_words"]
        shortest, longest = self.chosen["min_length"], self.chosen["max_length"]
        if targets == "words":
            return self._build(
                sentences,
                on_progress,
                following_words=count,
                min_length={"tokens": shortest, "following": 1},
                max_length={"tokens": longest, "following": None},
            )
        if targets != "sentence":
            raise ValueError(f"targets must be 'words' or 'sentence', got {targets!r}")
        if count < 2:
            raise ValueError(
                "following_words must be at least 2 with targets='sentence', whose end is a word"
            )
        return self._build(
            sentences,
            on_progress,
            neighbours={"next": 1},
            end={"tokens": None, "next": END},
            min_length={"tokens": shortest, "next": 1},
            max_length={"tokens": longest, "next": count - 1},
            too_long={"tokens": "drop", "next": "truncate"},
        )


class Surroundings(_OrderedText):
    """Sentences with the previous and the next one, both with their ends."""

    parameters: ClassVar[Mapping[str, Any]] = {**_OrderedText.parameters, "max_length": 30}
    neighbour_end: ClassVar[str | None] = END

    def examples(self, sentences: Any, y: Any, on_progress: Any) -> Examples:
        """Three fields: "tokens", "previous" and "next"."""
        return self._build(
            sentences,
            on_progress,
            neighbours={"previous": -1, "next": 1},
            end={"tokens": None, "previous": self.neighbour_end, "next": self.neighbour_end},
            min_length=self.chosen["min_length"],
            max_length=self.chosen["max_length"],
        )


class SurroundingWords(Surroundings):
    """The same without ends. Words without an id are left out."""

    parameters: ClassVar[Mapping[str, Any]] = _OrderedText.parameters
    symbols = (UNKNOWN, END, BEGIN)
    unknown_words = "drop_word"
    neighbour_end = None


class NextSentence(_OrderedText):
    """Sentences with the next one, both with their ends. Longer ones are truncated."""

    parameters: ClassVar[Mapping[str, Any]] = {**_OrderedText.parameters, "max_length": 40}
    symbols = (END, UNKNOWN, BEGIN)  # in the order in which examples name them

    def examples(self, sentences: Any, y: Any, on_progress: Any) -> Examples:
        """Two fields: "tokens" and "next"."""
        return self._with_ends(sentences, on_progress, neighbours={"next": 1})

    def _with_ends(self, sentences: Any, on_progress: Any, **options: Any) -> Examples:
        return self._build(
            sentences,
            on_progress,
            end=END,
            min_length=self.chosen["min_length"],
            max_length=self.chosen["max_length"],
            too_long="truncate",
            **options,
        )


class Paragraphs(NextSentence):
    """Consecutive sentences, with their ends. Longer ones are truncated."""

    parameters: ClassVar[Mapping[str, Any]] = {
        **NextSentence.parameters,
        "batch_size": 16,
        "paragraph_length": 5,
    }

    def examples(self, sentences: Any, y: Any, on_progress: Any) -> Examples:
        """A field for each sentence: "tokens", "next_1", "next_2", ..."""
        length = checked_int("paragraph_length", self.chosen["paragraph_length"], 2)
        fields = ("tokens", *(f"next_{i}" for i in range(1, length)))
        return self._with_ends(sentences, on_progress, paragraph=length, fields=fields)


class _Paragraphs:
    """Paragraphs of `length` sentences; can be read again.

    A paragraph begins with the last sentence of the previous one, so that each sentence but the first of a
    document is predicted. The last paragraph overlaps more. Shorter documents have none.
    """

    def __init__(self, sentences: Any, length: int) -> None:
        self.corpus = sentences if isinstance(sentences, Corpus) else Corpus(sentences)
        self.length = length

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        longest = count = 0
        window: deque[Any] = deque(maxlen=self.length)  # the last sentences of the document
        for text, begins in itertools.chain(self.corpus.marked(), [(None, True)]):
            if begins:
                if count > self.length and (count - 1) % (self.length - 1):
                    yield tuple(window)
                longest, count = max(longest, count), 0
            window.append(text)
            count += 1
            if count >= self.length and (count - 1) % (self.length - 1) == 0:
                yield tuple(window)
        if longest < self.length:
            raise ValueError(
                f"paragraph_length={self.length}: the longest document has {longest} sentences; "
                "use shorter paragraphs, or documents=False"
            )


class _OneDocument:
    """Sentences without the ends of documents; can be read again."""

    def __init__(self, sentences: Any) -> None:
        self.corpus = sentences if isinstance(sentences, Corpus) else Corpus(sentences)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.corpus)


class RNNCNN(NeuralEncoder):
    """RNN-CNN (Tang et al. 2018): a recurrent encoder that is trained to predict the next 30 words.

    It is trained on ordered text: one sentence a line, a blank line between documents. Its word table is
    initialised with the word vectors. From the built-in vectors, minutes of training help classifiers of the
    embeddings, and make cosines worse. Its paper has three sizes: `hidden` of 300 (1,200-dimensional
    embeddings), 600 (2,400) and 1,200 (4,800); with `pooling="max"` they have half of the dimensions.

    Args:
        vectors: Word vectors.
        {options}
        targets: "words", the next `following_words` words across sentences, fewer at the end of a document;
            or "sentence", the next sentence, truncated to as many words with its end.
        documents: Whether targets end with a document. Else the text is one document.
        **shared: See `sentencode.models.NeuralEncoder`.

    Example:
        >>> import sentencode as se
        >>> vectors = se.WordVectors.default()
        >>> text = ["the cat sat on the mat", "a dog came in", "it ran to the cat", "the cat ran off"]
        >>> encoder = se.RNNCNN(vectors, hidden=8, channels=16, inner=16, max_steps=3, device="cpu")
        >>> encoder.fit(text).encode("a cat in the park").shape
        (32,)
    """

    network_class = ContextNetwork
    task_class = FollowingWords
    _onnx = "recurrent"
    _renamed: ClassVar[dict[str, str]] = {"predict": "following_words"}
    training_defaults = _SMALL
    _presets: ClassVar[dict[str, dict[str, Any]]] = {
        "small": {},
        "paper": {**_PAPER, "hidden": 300, "channels": 600, "inner": 300, "word_bias": False},
    }

    def _completed(self, settings: dict[str, Any]) -> dict[str, Any]:
        return {**settings, "following_words": checked_int("following_words", settings["following_words"], 1)}

    def _pooled_dims(self) -> list[int]:
        width = 2 * int(self.settings()["hidden"])
        return [width] * (self.dim // width)

    def following(self, sentences: Any, *, best: int = 5) -> Any:
        """Predict the words that follow sentences.

        Args:
            sentences: One sentence, or many.
            best: Number of words for each position.

        Returns:
            For each sentence a list of `following_words` positions, each with its most likely words and their
            probabilities, [(word, p), ...]. "<unk>" is any word without an id, "</s>" the end of the next
            sentence. The list of a sentence of which no word is read is empty.

        Raises:
            NotFittedError: If the encoder is not fitted.
            ValueError: If `best` is out of range.
        """
        single = is_single(sentences)
        embeddings = self.encode([sentences] if single else sentences)
        words = [*self.vocabulary_.words, *self.task_class.symbols]
        best = checked_int("best", best, 1, len(words))
        predictions: list[list[list[tuple[str, float]]]] = []
        with self._evaluating() as network:
            like = next(network.parameters())
            for z in embeddings:
                p = self.network.following(torch.from_numpy(z)[None].to(like))[0].exp()  # [N, V]
                checked_finite(p, f"{type(self).__name__}: a probability")
                top, ids = (part.tolist() for part in p.topk(best))
                positions = [
                    [(words[i], p) for i, p in zip(*position, strict=True)]
                    for position in zip(ids, top, strict=True)
                ]
                predictions.append(positions if z.any() else [])
        return predictions[0] if single else predictions


class SkipThoughts(NeuralEncoder):
    """Skip-thoughts (Kiros et al. 2015), the baseline of `RNNCNN`'s paper.

    The last state of a GRU is the sentence embedding, from which two others predict the previous and the next
    sentence. It is trained on ordered text as `RNNCNN` is. As in its public code, sentences of more than 30
    words, and their neighbours, are left out. Minutes of training make it much better than an untrained one.
    Its cosines stay far below those of `Average`; with a classifier it is level after three minutes, and
    better after thirty.

    Args:
        vectors: Word vectors.
        {options}
        documents: Whether the first and the last sentence of a document have no neighbours beyond it. Else
            the text is one document.
        **shared: See `sentencode.models.NeuralEncoder`.

    Example:
        >>> import sentencode as se
        >>> vectors = se.WordVectors.default()
        >>> text = ["the cat sat on the mat", "a dog came in", "it ran to the cat", "the cat ran off"]
        >>> encoder = se.SkipThoughts(vectors, hidden=8, max_steps=3, device="cpu").fit(text)
        >>> encoder.encode("a cat in the park").shape
        (8,)
    """

    network_class = SkipThoughtsNetwork
    task_class = Surroundings
    _onnx = "recurrent"
    training_defaults: ClassVar[dict[str, Any]] = {**_SMALL, "learning_rate": 3e-3}
    _presets: ClassVar[dict[str, dict[str, Any]]] = {
        "small": {},
        "paper": {**_PAPER, "hidden": 2400, "tied": False},
    }


class FastSent(NeuralEncoder):
    """FastSent (Hill et al. 2016): a sum of word vectors that is trained on the words around a sentence.

    The embedding is the sum of the vectors of a sentence's words, in any order. It predicts each word of the
    previous and the next sentence; with `autoencode=True` its own words, too. It is trained on ordered text
    as `RNNCNN` is; sentences without a previous or a next one in their document are not trained on. Words
    outside the table are left out in training, and read by their vectors in encoding, as `RNNCNN` does. From
    GloVe vectors it gains much similarity. The built-in vectors, a student of a transformer, get worse, less
    so with `learning_rate=5e-4`.

    Args:
        vectors: Word vectors, with which the word table is initialised.
        {options}
        documents: Whether the first and the last sentence of a document have no neighbours beyond it. Else
            the text is one document.
        **shared: See `sentencode.models.NeuralEncoder`.

    Example:
        >>> import sentencode as se
        >>> vectors = se.WordVectors.default()
        >>> text = ["the cat sat on the mat", "a dog came in", "it ran to the cat", "the cat ran off"]
        >>> encoder = se.FastSent(vectors, max_steps=3, device="cpu").fit(text)
        >>> encoder.encode("a cat in the park").shape == (vectors.dim,)
        True
        >>> differences = 2 * encoder.to_average().encode("the cat") - encoder.encode("the cat")
        >>> bool(abs(differences).max() < 1e-5)
        True
    """

    network_class = FastSentNetwork
    task_class = SurroundingWords
    _onnx = "sum"
    training_defaults: ClassVar[dict[str, Any]] = {**_SMALL, "learning_rate": 5e-3}
    _presets: ClassVar[dict[str, dict[str, Any]]] = {"small": {}, "paper": _PAPER}

    def to_average(self) -> Average:
        """Return the same encoder without a network: the average of the trained word vectors.

        It has the rows that this encoder reads, also those of `expand_vocabulary`, and encodes a million
        sentences a second, without torch. Its embeddings are means and not sums: cosines are the same,
        lengths differ by the number of words, so a classifier needs one or the other. It has no `max_words`.

        Raises:
            NotFittedError: If the encoder is not fitted.
            NotImplementedError: If the word vectors have an `oov` other than "skip" and "zero".
        """
        self._check_fitted()
        oov: Any = self.words_.oov
        if oov not in ("skip", "zero"):
            raise NotImplementedError(
                f"FastSent.to_average: expected word vectors with oov='skip' or 'zero', got {oov!r}"
            )
        words = WordVectors.from_array(*read_rows(self))
        return Average(words.with_oov(oov), tokenizer=self.tokenizer_)


class CompositeCNN(NeuralEncoder):
    """The composite CNN-LSTM model (Gan et al. 2017), composite-CNN in the table of paper 000.

    The maxima over time of convolutions are the sentence embedding, as of `CNNLSTMAE`. Two LSTMs start from
    it: one reconstructs the sentence, one predicts the next sentence. It is trained on ordered text as
    `RNNCNN` is; sentences of more than `max_length` words are truncated. Minutes of training help
    classifiers of the embeddings: after thirty they are better than those of `Average` on questions, and
    worse on sentiment. Cosines stay far below.

    Args:
        vectors: Word vectors.
        {options}
        documents: Whether the last sentence of a document has no next one. Else the text is one document.
        **shared: See `sentencode.models.NeuralEncoder`.

    Example:
        >>> import sentencode as se
        >>> vectors = se.WordVectors.default()
        >>> text = ["the cat sat on the mat", "a dog came in", "it ran to the cat", "the cat ran off"]
        >>> encoder = se.CompositeCNN(vectors, hidden=8, filters=4, max_steps=3, device="cpu").fit(text)
        >>> encoder.encode("a cat in the park").shape
        (12,)
    """

    network_class = CompositeCNNNetwork
    task_class = NextSentence
    _onnx = "convolutional"
    _reads_end = True
    training_defaults = _SMALL
    _presets: ClassVar[dict[str, dict[str, Any]]] = {"small": {}, "paper": _GAN, "reference": _GAN}


class HierarchicalCNN(NeuralEncoder):
    """The hierarchical CNN-LSTM model (Gan et al. 2017), hierarchical-CNN in the table of paper 000.

    The sentence embedding is made as that of `CompositeCNN`. It is trained on paragraphs of ordered text: an
    LSTM reads the embeddings of a paragraph's sentences, and after each sentence another LSTM predicts the
    next one. Encoding reads single sentences. Minutes of training gain little, and do not beat `Average`.

    Args:
        vectors: Word vectors.
        {options}
        paragraph_length: Consecutive sentences of an example; all but the first are predicted. Documents
            with fewer sentences are left out.
        batch_size: Number of paragraphs in a batch.
        documents: Whether a paragraph is within a document. Else the text is one document.
        **shared: See `sentencode.models.NeuralEncoder`.

    Example:
        >>> import sentencode as se
        >>> vectors = se.WordVectors.default()
        >>> text = ["the cat sat on the mat", "a dog came in", "it ran to the cat", "the cat ran off"]
        >>> sizes = {"hidden": 8, "filters": 4, "paragraph_length": 3}
        >>> encoder = se.HierarchicalCNN(vectors, **sizes, max_steps=3, device="cpu").fit(text)
        >>> encoder.encode("a cat in the park").shape
        (12,)
    """

    network_class = HierarchicalCNNNetwork
    task_class = Paragraphs
    _onnx = "convolutional"
    _reads_end = True
    training_defaults = _SMALL
    _presets: ClassVar[dict[str, dict[str, Any]]] = {"small": {}, "paper": _GAN, "reference": _GAN}
