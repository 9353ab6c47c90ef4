"""Paper 001's encoders, which learn from ordered text: RNN-CNN, and skip-thoughts, its baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

import torch

from ..checks import checked_bool, checked_int, checked_str
from ..nn.pooling import Pooling
from ..text.corpus import Corpus
from ..text.inputs import is_single
from ..text.vocabulary import Vocabulary
from ..training import Examples
from ..vectors import WordVectors
from .context import ContextNetwork
from .neural_encoder import NeuralEncoder
from .prediction import checked_finite
from .skip_thoughts import SkipThoughtsNetwork
from .task import BEGIN, END, UNKNOWN, SentenceTask, set_word_counts

__all__ = ["RNNCNN", "SkipThoughts"]


class _OrderedText(SentenceTask):
    """Sentences in order: each is an example with its neighbours in the same document.

    The word table is initialised with the word vectors and trained; encoding reads it.
    """

    parameters: ClassVar[Mapping[str, Any]] = {
        **SentenceTask.parameters,
        "vocabulary_size": 20_000,
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

    def _built(self, sentences: Any, on_progress: Any, **options: Any) -> Examples:
        if not checked_bool("documents", self.chosen["documents"]):
            sentences = _OneDocument(sentences)
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
        """Loads word vectors and word counts. An unknown word begins with the mean of all vectors."""
        known = len(self.vocabulary)
        rows = self.words.table(self.vocabulary, {known + i: s for i, s in enumerate(self.symbols)})
        if UNKNOWN not in self.words:
            rows[known] = rows[:known].mean(0)
        network.load_words(rows)
        set_word_counts(network, self.vocabulary, examples, "tokens", self.ids(known))


class FollowingWords(_OrderedText):
    """Sentences, and of each the words behind it: so many, over the ends of sentences, or the next one's."""

    parameters: ClassVar[Mapping[str, Any]] = {**_OrderedText.parameters, "targets": "words"}

    def examples(self, sentences: Any, y: Any, on_progress: Any) -> Examples:
        """Two fields: "tokens", and "following" or "next"."""
        targets = checked_str("targets", self.chosen["targets"])
        predict = self.chosen["predict"]
        shortest, longest = self.chosen["min_length"], self.chosen["max_length"]
        if targets == "words":
            return self._built(
                sentences,
                on_progress,
                following_words=predict,
                min_length={"tokens": shortest, "following": 1},
                max_length={"tokens": longest, "following": None},
            )
        if targets != "sentence":
            raise ValueError(f"targets must be 'words' or 'sentence', got {targets!r}")
        if predict < 2:
            raise ValueError("following_words must be at least 2 where sentences are told, whose end is one")
        return self._built(
            sentences,
            on_progress,
            neighbours={"next": 1},
            end={"tokens": None, "next": END},
            min_length={"tokens": shortest, "next": 1},
            max_length={"tokens": longest, "next": predict - 1},
            too_long={"tokens": "drop", "next": "truncate"},
        )


class Surroundings(_OrderedText):
    """Sentences, the one before each and the one behind it, both with their ends."""

    parameters: ClassVar[Mapping[str, Any]] = {**_OrderedText.parameters, "max_length": 30}

    def examples(self, sentences: Any, y: Any, on_progress: Any) -> Examples:
        """Three fields: "tokens", "previous" and "next"."""
        return self._built(
            sentences,
            on_progress,
            neighbours={"previous": -1, "next": 1},
            end={"tokens": None, "previous": END, "next": END},
            min_length=self.chosen["min_length"],
            max_length=self.chosen["max_length"],
        )


class _OneDocument:
    """Sentences without what parts documents, as often as is asked."""

    def __init__(self, sentences: Any) -> None:
        self.corpus = sentences if isinstance(sentences, Corpus) else Corpus(sentences)

    def __iter__(self) -> Iterator[Any]:
        for document in self.corpus.documents():
            yield from document


class RNNCNN(NeuralEncoder):
    """RNN-CNN (Tang et al. 2018): a recurrent encoder, trained to tell the 30 words that follow a sentence.

    It learns from ordered text: one sentence a line, a blank line between documents. Words' vectors are
    where its own table of words begins. Its paper has three sizes: `hidden` of 300 (vectors of 1,200
    numbers), 600 (2,400) and 1,200 (4,800); with `pooling="max"` they are half as wide.

    Args:
        vectors: Of words.
        hidden: Units of each direction of the encoder.
        cell: See `sentencode.models.ContextNetwork`, as for the next ones.
        pooling: Of the encoder's states.
        decoder: What tells the words that follow.
        feeding: What an autoregressive decoder is told to have written.
        following_words: Words that are told.
        channels: Numbers that the decoder's maps give for each word.
        inner: Numbers that its convolutions give, but for the last one.
        window: Words that a convolution sees.
        decoder_layers: The decoder's maps, and convolutions behind them.
        tied: Whether words are told by their own vectors.
        word_bias: Whether each word has a bias besides, which the paper's eq. 2 has not.
        targets: "words", the next `following_words` ones over the ends of sentences (fewer at the end of a
            document); or "sentence", the next one, cut to so many with its end.
        documents: Whether a document's end ends what follows. Else all is one document.
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
    _formerly: ClassVar[dict[str, str]] = {"predict": "following_words"}
    training_defaults: ClassVar[dict[str, Any]] = {
        **NeuralEncoder.training_defaults,
        "learning_rate": 5e-4,
    }

    def __init__(
        self,
        vectors: WordVectors,
        *,
        hidden: int = 300,
        cell: Literal["gru", "lstm"] = "gru",
        pooling: Pooling = "mean_max",
        decoder: Literal["cnn", "rnn", "autoregressive_cnn", "autoregressive_rnn"] = "cnn",
        feeding: Literal["teacher_forcing", "always_sampling", "uniform_sampling"] = "teacher_forcing",
        following_words: int = 30,
        channels: int = 600,
        inner: int = 300,
        window: int = 3,
        decoder_layers: int = 3,
        tied: bool = True,
        word_bias: bool = True,
        targets: Literal["words", "sentence"] = "words",
        documents: bool = True,
        **shared: Any,
    ) -> None:
        super().__init__(vectors, **shared)
        self.hidden = hidden
        self.cell = cell
        self.pooling = pooling
        self.decoder = decoder
        self.feeding = feeding
        self.following_words = following_words
        self.channels = channels
        self.inner = inner
        self.window = window
        self.decoder_layers = decoder_layers
        self.tied = tied
        self.word_bias = word_bias
        self.targets = targets
        self.documents = documents

    def settings(self) -> dict[str, Any]:
        """All parameters as they are used.

        Raises:
            ValueError: If there is no such preset, or no word follows.
        """
        found = super().settings()
        words = checked_int("following_words", found["following_words"], 1)
        return {**found, "predict": words}  # as the network calls it

    def _part(self) -> int:
        return 2 * int(self.hidden)

    def following(self, sentences: Any, *, best: int = 5) -> Any:
        """The words that the decoder tells to follow sentences.

        Args:
            sentences: One sentence, or many.
            best: Words of each place.

        Returns:
            For each sentence a list of its `following_words` places: the likeliest words of a place and their
            probabilities, [(word, p), ...]. "<unk>" is any word of no id, "</s>" the end where the next
            sentence is told. A sentence of which no word is known has no places.

        Raises:
            NotFittedError: If the encoder has to be fitted first.
            ValueError: If `best` is out of range.
        """
        single = is_single(sentences)
        rows = self.encode([sentences] if single else sentences)
        words = [*self.vocabulary_.words, *self.task_class.symbols]
        best = checked_int("best", best, 1, len(words))
        found: list[list[list[tuple[str, float]]]] = []
        with self._evaluating() as network:
            like = next(network.parameters())
            for row in rows:
                following = self.network.following(torch.from_numpy(row)[None].to(like))[0].exp()  # [N, V]
                checked_finite(following, f"{type(self).__name__}: a probability")
                p, ids = (part.tolist() for part in following.topk(best))
                places = [
                    [(words[i], p) for i, p in zip(*place, strict=True)] for place in zip(ids, p, strict=True)
                ]
                found.append(places if row.any() else [])
        return found[0] if single else found


class SkipThoughts(NeuralEncoder):
    """Skip-thoughts (Kiros et al. 2015), the baseline of `RNNCNN`'s paper.

    A GRU reads a sentence; from its last state two others write the sentence before and the one behind it.
    It learns from ordered text as `RNNCNN` does. As in its public code, sentences of more than 30 words, and
    their neighbours, are left out.

    Args:
        vectors: Of words.
        hidden: Numbers of a sentence's vector, and units of both decoders.
        bidirectional: Whether the encoder has two directions, with half of `hidden` each.
        tied: Whether words are told by their own vectors.
        documents: Whether a document's first and last sentence have no neighbours beyond it. Else all is one
            document.
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
    training_defaults: ClassVar[dict[str, Any]] = {
        **NeuralEncoder.training_defaults,
        "learning_rate": 5e-4,
    }

    def __init__(
        self,
        vectors: WordVectors,
        *,
        hidden: int = 2400,
        bidirectional: bool = False,
        tied: bool = False,
        documents: bool = True,
        **shared: Any,
    ) -> None:
        super().__init__(vectors, **shared)
        self.hidden = hidden
        self.bidirectional = bidirectional
        self.tied = tied
        self.documents = documents
