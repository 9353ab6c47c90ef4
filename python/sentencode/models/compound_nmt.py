"""Compound-attention translation as an encoder: it translates, and gives vectors of sentences."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch

from ..checks import checked_bool, checked_float, checked_int
from ..errors import DivergedError
from ..text.corpus import Corpus, repeatable
from ..text.inputs import is_single
from ..text.tokenizer import Tokenizer, chosen_tokenizer
from ..text.vocabulary import Vocabulary
from ..training import Batcher, Examples
from ..vectors import Vectors, WordVectors
from .attention_pictures import draw_alignment, draw_positions, position_shares
from .ensemble import EnsembleDecoder, check_same_words
from .neural_encoder import NeuralEncoder
from .task import SentenceTask, WordVectorsOf
from .translation import Architecture, TranslationNetwork

__all__ = ["CompoundNMT"]

_BEGIN, _END, _UNKNOWN = "<s>", "</s>", "<unk>"
_AT_ONCE = 64  # sentences that are translated together
_ATTENDS = frozenset({"attn", "attn_attn", "trf", "trf_attn_attn"})  # whose decoders do
Floats = npt.NDArray[np.float32]


class Translating(SentenceTask):
    """Sentences and their translations.

    Both languages have tables of their own, which are trained. Ids of the source are its words, then that of
    unknown ones; of the target its words, the end, unknown words, and the symbol before the first word. Where
    both have the same words, so that examples give them the same symbols, unknown words come before the end.
    """

    parameters: ClassVar[Mapping[str, Any]] = {
        **SentenceTask.parameters,
        "features": 512,
        "vocabulary_size": 30_000,
        "target_tokenizer": None,
        "target_vocabulary": None,
        "max_length": 50,
        "label_smoothing": 0.0,
        "sampled_words": 0,
        "trainable_words": True,
    }
    data = (*SentenceTask.data, "train_target", "valid_target")
    sized = (*SentenceTask.sized, "source_words")
    words_need_vectors = False

    def __init__(self, name: str, chosen: Mapping[str, Any], words: WordVectorsOf, cut: Tokenizer) -> None:
        super().__init__(name, chosen, words, cut)
        other = chosen["target_tokenizer"]
        self.target_cut = cut if other is None else target_tokenizer(name, other, chosen["lowercase"])
        self.target: Vocabulary | None = None

    @classmethod
    def ids(cls, known: int) -> dict[str, int]:
        """Those of the source: the words, and one of all others."""
        return {"source_words": known + cls.symbols}

    @staticmethod
    def target_ids(known: int, end: int) -> dict[str, int]:
        """Those of the target: the words, the end and unknown words in either order, and the first symbol."""
        return {"words": known + 3, "begin": known + 2, "end": known if end == known else known + 1}

    def sizes(self, examples: Examples | None) -> dict[str, Any]:
        """Of both tables."""
        features = self.words.dim
        if examples is None or self.target is None:  # the latter under a head, which never writes
            words = 3 + checked_int("sampled_words", self.chosen["sampled_words"], 0)
            known = 1 if examples is None else len(self.vocabulary)
            return {"words": words, "features": features, "begin": 0, "end": 1, **self.ids(known)}
        target = self.target_ids(len(self.target), examples.symbols("target")[_END])
        return {**target, "features": features, **self.ids(len(self.vocabulary))}

    def learn_vocabulary(self, sentences: Any, on_progress: Any) -> None:
        """The source's words, and the vectors that their rows begin with: those given, others by chance."""
        super().learn_vocabulary(sentences, on_progress)
        self.vocabulary = _without_symbols(self.vocabulary)
        rows = _drawn(len(self.vocabulary), self.words.dim, self.chosen["seed"])
        for i, word in enumerate(self.vocabulary.words):
            if word in self.words:
                rows[i] = self.words.vectors[word]
        made = WordVectors.from_array(self.vocabulary.words, rows, self.vocabulary.counts)
        self.words = WordVectorsOf(made.with_oov("zero"), unit=False)

    def examples(self, sentences: Any, y: Any, on_progress: Any) -> Examples:
        """Two fields, "source" and "target"."""
        if y is None:
            raise ValueError(f"{self.name}: give fit translations, too: fit(source, target)")
        if self.target is None:
            self.target = self._target_vocabulary(y)
        return Examples.build(
            sentences.files if isinstance(sentences, _Files) else _Pairs(sentences, y),
            {"source": self.vocabulary, "target": self.target},
            {"source": self.cut, "target": self.target_cut},
            fields=("source", "target"),
            end={"source": None, "target": _END},
            unknown=_UNKNOWN,
            unknown_words="symbol",
            min_length=self.chosen["min_length"],
            max_length=self.chosen["max_length"],
            on_progress=on_progress,
        )

    def _target_vocabulary(self, y: Any) -> Vocabulary:
        given = self.chosen["target_vocabulary"]
        if given is not None and not isinstance(given, Vocabulary):
            raise TypeError(f"target_vocabulary must be a Vocabulary, got {type(given).__name__}")
        if given is None:
            given = Vocabulary.from_corpus(y, self.target_cut, min_count=self.chosen["min_count"])
        found = Vocabulary(dict(_without_symbols(given)), max_size=self.chosen["vocabulary_size"])
        if len(found) == 0:
            raise ValueError(f"{self.name}: the translations have no words")
        return found

    def prepare(self, network: Any, examples: Examples) -> None:
        """The rows that both tables begin with, and how frequent the words are that are written."""
        network.load_source_words(self.words.table(self.vocabulary, {len(self.vocabulary): _UNKNOWN}))
        if self.target is None:
            return
        known = len(self.target)
        symbols = examples.symbols("target")
        assert sorted(symbols.values()) == [known, known + 1]
        assert examples.symbols("source")[_UNKNOWN] == len(self.vocabulary)
        network.load_words(_drawn(known + 3, self.words.dim, self.chosen["seed"] + 1))
        counts = np.ones(known + 3, np.int64)
        counts[:known] = self.target.counts
        counts[symbols[_END]] = len(examples)
        network.set_word_counts(torch.from_numpy(counts))

    def batcher(self, examples: Examples, *, validating: bool, rank: int, world: int) -> Batcher:
        """By the lengths of both; pairs that are equally long in both are few."""
        if self.target is None:  # under a head, which says it
            return super().batcher(examples, validating=validating, rank=rank, world=world)
        equal = self.chosen["batching"] == "equal_length"
        self.length_fields = ("source",) if equal else ("source", "target")  # type: ignore[misc]
        return super().batcher(examples, validating=validating, rank=rank, world=world)

    def decisive(self, network: Any) -> dict[str, Any]:
        """Both vocabularies, and what the source's rows began with."""
        if self.target is None:  # under a head
            return super().decisive(network)
        words = json.dumps([self.target.words, self.target.counts.tolist()])
        target = hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()
        return {**super().decisive(network), "target": target}

    def attributes(self) -> dict[str, Any]:
        """The target's vocabulary, and what cuts it."""
        return {"target_vocabulary_": self.target, "_target_cut": self.target_cut}


class CompoundNMT(NeuralEncoder):
    """Compound-attention translation (Cífka and Bojar 2018): it translates, and gives sentences' vectors.

    `fit(source, target)` learns from sentences and their translations. But for "attn" and "trf", what the
    decoder gets of a sentence is one vector, which `encode` returns.

    Args:
        vectors: Where the rows of the source's words begin; None: by chance. They are trained.
        features: Width of words' vectors in both languages, where `vectors` is None.
        architecture: See `sentencode.models.TranslationNetwork`, as for the next ones.
        hidden: Units of each direction of the encoder. None: 500; of a Transformer half of `features`.
        decoder_hidden: Units of a recurrent decoder.
        size: Numbers of a sentence's vector, where there is inner attention. None: 2 `hidden`.
        heads: Of the inner attention.
        attention: Hidden units of the attentions of recurrent networks.
        begins_with_sentence: Whether the decoder of "attn_attn" begins with the vector, too, as it does in
            the public code (`preset="reference"`); in the paper it attends to it alone.
        layers: Of the encoder, and of a Transformer's decoder. None: 1, of a Transformer 6.
        attention_heads: Of a Transformer's attentions.
        inner: Width inside its feed-forward layers.
        dropout: On words, states, and what words are told from.
        tied: Whether target words are told by their own vectors.
        tokenizer: Cuts sentences of the source; "auto" takes tokens that have spaces between them. One of
            the package `tokenizers`, such as a BPE, is saved with the encoder.
        target_tokenizer: The like of the target, whose tokens it puts together again. None: the same.
        vocabulary: Words of the source that have ids. None: the most frequent ones.
        target_vocabulary: The like of the target.
        vocabulary_size: Of both.
        max_length: Longer pairs are left out.
        learning_rate: The highest. None: 1e-4; of a Transformer that has its schedule, (`features` x
            `warmup`)^-0.5.
        schedule: None: "constant"; of a Transformer "inverse_sqrt", as its paper has it.
        warmup: None: 4,000 steps of "inverse_sqrt", else 0.
        clip_norm: None: 5; in `preset="reference"` none, but each tensor's gradient has at most the norm 1
            (`clip_each`).
        **shared: See `sentencode.models.NeuralEncoder`.

    Attributes:
        target_vocabulary_: The words that it can write.

    Example:
        >>> import sentencode as se
        >>> source = ["a dog runs", "a cat sleeps", "a cat runs", "a dog sleeps"]
        >>> target = ["ein Hund rennt", "eine Katze schläft", "eine Katze rennt", "ein Hund schläft"]
        >>> nmt = se.CompoundNMT(features=16, hidden=16, decoder_hidden=32, heads=2, attention=16,
        ...     dropout=0.0, max_epochs=None, max_steps=120, learning_rate=0.02, device="cpu")
        >>> nmt = nmt.fit(source, target)
        >>> nmt.translate(["a dog sleeps", "a cat runs"])
        ['ein Hund schläft', 'eine Katze rennt']
        >>> nmt.encode(source).shape
        (4, 32)
    """

    network_class = TranslationNetwork
    task_class = Translating
    training_defaults: ClassVar[dict[str, Any]] = {
        **NeuralEncoder.training_defaults,
        **{"learning_rate": None, "schedule": None, "warmup": None, "clip_norm": None},
    }
    _presets = {  # noqa: RUF012
        "paper": {"begins_with_sentence": False, "clip_norm": 5.0},
        "reference": {"begins_with_sentence": True, "clip_each": 1.0},
    }
    _unsaved = (*NeuralEncoder._unsaved, "target_tokenizer", "target_vocabulary")

    target_vocabulary_: Vocabulary
    _target_cut: Tokenizer
    target_tokenizer: Any
    features: Any

    def __init__(
        self,
        vectors: Vectors | None = None,
        *,
        architecture: Architecture = "attn_attn",
        hidden: int | None = None,
        decoder_hidden: int = 1000,
        size: int | None = None,
        heads: int = 8,
        attention: int = 500,
        begins_with_sentence: bool | None = None,
        layers: int | None = None,
        attention_heads: int = 8,
        inner: int = 2048,
        dropout: float = 0.1,
        tied: bool = False,
        **shared: Any,
    ) -> None:
        super().__init__(vectors, **shared)  # type: ignore[arg-type]
        self.architecture = architecture
        self.hidden = hidden
        self.decoder_hidden = decoder_hidden
        self.size = size
        self.heads = heads
        self.attention = attention
        self.begins_with_sentence = begins_with_sentence
        self.layers = layers
        self.attention_heads = attention_heads
        self.inner = inner
        self.dropout = dropout
        self.tied = tied

    def settings(self) -> dict[str, Any]:
        """All parameters as they are used.

        Raises:
            ValueError: If there is no such preset.
        """
        found = super().settings()
        transformer = str(self.architecture).startswith("trf")
        wide = checked_int("features", self.features, 1)
        found["features"] = wide if self.vectors is None else self._word_vectors.dim
        found = _filled(
            found,
            hidden=found["features"] // 2 if transformer else 500,
            layers=6 if transformer else 1,
            betas=(0.9, 0.98) if transformer else (0.9, 0.999),
            schedule="inverse_sqrt" if transformer else "constant",
        )
        found = _filled(
            found, size=2 * found["hidden"], warmup=4000 if found["schedule"] == "inverse_sqrt" else 0
        )
        # Of Vaswani et al. 2017, eq. 3: features^-0.5 min(step^-0.5, step warmup^-1.5).
        highest = (found["features"] * max(1, checked_int("warmup", found["warmup"], 0))) ** -0.5
        of_transformer = transformer and found["schedule"] == "inverse_sqrt"
        return _filled(found, learning_rate=highest if of_transformer else 1e-4)

    @property
    def _word_vectors(self) -> WordVectors:
        """Those given; where there are none, a table of that width: the task makes the real one."""
        if self.vectors is not None:
            return super()._word_vectors
        wide = checked_int("features", self.features, 1)
        return WordVectors.from_array([_UNKNOWN], np.zeros((1, wide), np.float32))

    def _new_tokenizer(self) -> Tokenizer:
        if self.vectors is not None and "_made_with" not in self.__dict__:
            return super()._new_tokenizer()
        return target_tokenizer(type(self).__name__, self.tokenizer, self.lowercase)

    def fit(  # type: ignore[override]
        self, source: Any, target: Any, *, valid: Any = None, **options: Any
    ) -> CompoundNMT:
        """Trains the network, and forgets all that was learnt before.

        Args:
            source: Sentences, or the name of a text file; a line of a file is a sentence.
            target: Their translations, as many.
            valid: A tuple of both to validate on.
            **options: As of `sentencode.models.NeuralEncoder.fit`.

        Returns:
            The encoder itself.

        Raises:
            TypeError: If a parameter is not of its kind.
            ValueError: If a parameter cannot be used, there are not as many translations as sentences, or
                checkpoints are of a different run.
        """
        if options.get("head") is None and self.head is None:
            source, target = _sides(source, target)
            if valid is not None:
                if not isinstance(valid, tuple | list) or len(valid) != 2:
                    raise ValueError("valid must be a tuple of sentences and their translations")
                valid = _sides(*valid)
        found: CompoundNMT = super().fit(source, target, valid=valid, **options)
        return found

    def expand_vocabulary(self, vectors: Any, *, ridge: float = 0.0) -> Any:
        """Not available: a word that was not learnt is read as unknown, whatever vector it has.

        Args:
            vectors: Ignored.
            ridge: Ignored.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no expand_vocabulary: words that it has not learnt are read as "
            "unknown; subwords leave none"
        )

    # What is kept.

    def _more_content(self) -> dict[str, Any]:
        target = self.target_vocabulary_
        if target is None:  # under a head
            return {}
        own = None if self.target_tokenizer is None else self._target_cut.to_config()
        return {"words": target.words, "counts": target.counts.tolist(), "tokenizer": own}

    def _sizes(self, config: dict[str, Any], vocabulary: Vocabulary) -> dict[str, int]:
        found = super()._sizes(config, vocabulary)
        if self.target_vocabulary_ is None:  # under a head
            return found
        return {**found, **self.task_class.target_ids(len(self.target_vocabulary_), config["end"])}

    def _take_content(self, content: dict[str, Any], trust: bool) -> None:
        if content == {}:
            if self.head is None:
                raise ValueError(
                    "params: more: expected words, counts and tokenizer of the target, as no head is learnt"
                )
            self.target_vocabulary_, self._target_cut = None, self._new_tokenizer()  # type: ignore[assignment]
            return
        if not isinstance(content, dict) or set(content) != {"words", "counts", "tokenizer"}:
            raise ValueError("params: more: expected words, counts and tokenizer")
        self.target_vocabulary_ = Vocabulary(dict(zip(content["words"], content["counts"], strict=True)))
        if content["tokenizer"] is None:
            self._target_cut = self._new_tokenizer()
        else:
            self.target_tokenizer = self._target_cut = Tokenizer.from_config(
                content["tokenizer"], trust=trust
            )

    # What can be asked.

    def translate(
        self,
        sentences: Any,
        *,
        beam: int = 5,
        best: int = 1,
        max_length: int = 100,
        length_penalty: float = 0.0,
        sample: bool = False,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int | None = None,
        replace_unknown: bool = False,
        ensemble: Sequence[CompoundNMT] = (),
        scores: bool = False,
    ) -> Any:
        """Translations.

        Args:
            sentences: One sentence, or many.
            beam: Hypotheses that are kept; 1 takes the likeliest word each time.
            best: Translations of each sentence that are returned.
            max_length: Tokens at most.
            length_penalty: a: log p is divided by ((5 + tokens) / 6)^a.
            sample: Whether words are drawn as likely as they are, in the place of a beam.
            temperature: Of what is drawn.
            top_k: Words that can be drawn; 0: all.
            top_p: Of these the likeliest that have so much of the probability.
            seed: Of what is drawn. None: the encoder's.
            replace_unknown: Whether an unknown word becomes that word of the source that it looks at most.
            ensemble: Other encoders that translate along, with the same words and tokenizers: the probability
                of each word is the mean of theirs. Architectures may differ.
            scores: Whether each translation comes with its score, log p: a tuple of both.

        Returns:
            For each sentence its translation, or the list of its `best`. A sentence without words has the
            empty text.

        Raises:
            NotFittedError: If it has to be fitted first.
            TypeError: If one of the ensemble does not translate.
            ValueError: If an argument is out of range, one of the ensemble has other words, or unknown words
                cannot be replaced, as the decoder has no attention.
        """
        single = is_single(sentences)
        sentences = [sentences] if single else list(sentences)
        others = self._checked_ensemble(ensemble)
        beam = checked_int("beam", beam, 1)
        best = checked_int("best", best, 1, 1 if sample else beam)
        drawn = checked_int("seed", self.seed if seed is None else seed, 0) % 2**32
        max_length = checked_int("max_length", max_length, 1)
        length_penalty = checked_float("length_penalty", length_penalty, -math.inf)
        if checked_bool("replace_unknown", replace_unknown) and self.architecture not in _ATTENDS:
            raise ValueError(
                f"replace_unknown: architecture={self.architecture!r}: its decoder has no attention"
            )
        found: dict[int, list[tuple[str, float]]] = {}
        with ExitStack() as stack:
            for encoder in (self, *others):
                stack.enter_context(encoder._evaluating())
            for part, (numbers, words, x, lengths) in enumerate(self._read_many(sentences)):
                given = self.network.read(x, lengths)
                writer, memory = self.network._cpp, given
                if others:
                    read = [given, *(other._read_tokens(words) for other in others)]
                    writers = [encoder.network._cpp for encoder in (self, *others)]
                    writer = EnsembleDecoder(writers, [len(of) for of in read])
                    memory = [one.to(x.device) for of in read for one in of]
                if sample:
                    decoded = self.network.sampled(
                        memory,
                        max_length=max_length,
                        temperature=checked_float("temperature", temperature, 0, above=True),
                        top_k=checked_int("top_k", top_k, 0),
                        top_p=checked_float("top_p", top_p, 0, 1, above=True),
                        seed=drawn + (part << 32),  # no part draws what another one does
                        writer=writer,
                    )
                else:
                    decoded = self.network.translate(
                        memory,
                        beam=beam,
                        best=best,
                        max_length=max_length,
                        length_penalty=length_penalty,
                        writer=writer,
                    )
                texts = self._texts(decoded, (words, given, x, lengths) if replace_unknown else None)
                found.update(zip(numbers, texts, strict=True))
        rows = [found.get(i, [("", 0.0)] * best) for i in range(len(sentences))]
        shown = [[pair if scores else pair[0] for pair in row] for row in rows]
        texts_only = [row[0] for row in shown] if best == 1 else shown
        return texts_only[0] if single else texts_only

    def score(self, source: Any, target: Any) -> Any:
        """Log p of translations; under a head, how good predictions are, as for every encoder.

        Args:
            source: One sentence, or many.
            target: As many translations.

        Returns:
            A number, or [n]; of a sentence without words NaN.

        Raises:
            NotFittedError: If it has to be fitted first.
            ValueError: If there are not as many.
        """
        if self._learnt is not None:
            return super().score(source, target)
        single = is_single(source)
        if single != is_single(target):
            raise ValueError("source and target must both be one sentence, or both several")
        source, target = ([source], [target]) if single else (list(source), list(target))
        if len(source) != len(target):
            raise ValueError(f"there are {len(source)} sentences and {len(target)} translations")
        found = np.full(len(source), np.nan)
        with self._evaluating():
            for numbers, _, x, lengths in self._read_many(source):
                ids, ends = self._target_ids([target[i] for i in numbers])
                told = self.network.score(self.network.read(x, lengths), ids.to(x.device), ends.to(x.device))
                found[numbers] = told.cpu().numpy()
        return float(found[0]) if single else found

    def inner_attention(self, sentence: str | Sequence[str]) -> tuple[list[str], Floats]:
        """A: how much of each word each head of the sentence's vector is made of.

        Args:
            sentence: A text, or its tokens.

        Returns:
            The words, and weights [heads, words].

        Raises:
            NotFittedError: If it has to be fitted first.
            ValueError: If the architecture has no inner attention, or the sentence no words.
        """
        with self._evaluating():
            ((_, (words,), x, lengths),) = self._read_many([sentence], strict=True)
            return words, self.network.inner_attention(x, lengths)[0].float().cpu().numpy()

    def alignment(
        self,
        source: str | Sequence[str],
        target: str | Sequence[str] | None = None,
        *,
        layer: int = -1,
    ) -> tuple[list[str], list[str], Floats]:
        """How much each word of a translation looks at each word of the source.

        Of compound attention this is B A, both attentions together (eq. 4). Of a Transformer it is the mean
        of the heads of one layer.

        Args:
            source: A text, or its tokens.
            target: Its translation. None: the encoder's own.
            layer: Of a Transformer's decoder; from the end if below 0.

        Returns:
            The words of the source, those of the target with its end, and weights [target, source], which sum
            to one over the source.

        Raises:
            NotFittedError: If it has to be fitted first.
            ValueError: If the decoder has no attention, or the sentence no words.
        """
        if target is None:
            target = self.translate(source)
        with self._evaluating():
            ((_, (words,), x, lengths),) = self._read_many([source], strict=True)
            ids, ends = self._target_ids([target])
            given = self.network.read(x, lengths)
            weights = self._aligned(given, x, lengths, ids.to(x.device), ends.to(x.device), layer)
        told = [*self._target_cut([target])[0], _END]
        return words, told, weights[0].float().cpu().numpy()

    def plot_alignment(
        self,
        source: str | Sequence[str],
        target: str | Sequence[str] | None = None,
        *,
        least: float = 0.01,
        layer: int = -1,
        ax: Any = None,
    ) -> Any:
        """Draws the paper's Figure 4: what each word of a translation looks at, each head in its colour.

        The sentence stands at the left, the translation at the right; the wider a stroke, the larger its
        weight. Without inner attention there are no heads, and one colour.

        Args:
            source: As for `alignment`.
            target: As there.
            least: Weights up to this are not drawn.
            layer: As there.
            ax: Axes to draw on; new ones by default.

        Returns:
            The axes.

        Raises:
            ImportError: If matplotlib is not there.
            ValueError: As for `alignment`.
        """
        target = self.translate(source) if target is None else target
        words, told, whole = self.alignment(source, target, layer=layer)
        parts = whole[None]
        if str(self.architecture).endswith("attn_attn"):
            with self._evaluating():
                ((_, _, x, lengths),) = self._read_many([source], strict=True)
                ids, ends = self._target_ids([target])
                given = self.network.read(x, lengths)
                b = self.network.attention(given, ids.to(x.device), ends.to(x.device), layer)
                a = self.network.inner_attention(x, lengths)
            parts = (b[0].T[:, :, None] * a[0][:, None, :]).float().cpu().numpy()  # [r, target, source]
        return draw_alignment(words, told, parts, least=least, ax=ax)

    def position_weights(
        self, sentences: Any, *, bins: int = 10, least_words: int = 8
    ) -> npt.NDArray[np.float64]:
        """Where in sentences each head looks: its mean weight by relative position.

        A word of T is a T-th of its sentence, and its weight lies evenly on it.

        Args:
            sentences: One sentence, or many.
            bins: Into how many equal parts sentences are cut.
            least_words: Shorter ones are left out.

        Returns:
            [heads, bins]. Rows sum to one: a head that looks at all words alike has 1 / `bins` in each part.

        Raises:
            NotFittedError: If it has to be fitted first.
            ValueError: If the architecture has no inner attention, or no sentence is long enough.
        """
        bins = checked_int("bins", bins, 1)
        least_words = checked_int("least_words", least_words, 1)
        total, count = np.zeros(()), 0
        with self._evaluating():
            for _, words, x, lengths in self._read_many([sentences] if is_single(sentences) else sentences):
                weights = self.network.inner_attention(x, lengths).double().cpu().numpy()
                for row, of in zip(weights, words, strict=True):
                    if len(of) >= least_words:
                        total = total + position_shares(row[:, : len(of)], bins)
                        count += 1
        if count == 0:
            raise ValueError(f"no sentence has {least_words} words or more (least_words)")
        return total / count

    def plot_positions(
        self, sentences: Any, *, bins: int = 10, least_words: int = 8, axes: Any = None
    ) -> Any:
        """Draws the paper's Figure 5: where in sentences each head looks, a plot for each.

        Args:
            sentences: As for `position_weights`.
            bins: As there.
            least_words: As there.
            axes: As many axes as there are heads, to draw on; new ones by default.

        Returns:
            The axes [heads].

        Raises:
            ImportError: If matplotlib is not there.
            ValueError: As for `position_weights`, or if there are not as many axes as heads.
        """
        return draw_positions(self.position_weights(sentences, bins=bins, least_words=least_words), axes)

    # Reading and writing.

    def _checked_ensemble(self, ensemble: Sequence[Any]) -> list[CompoundNMT]:
        others = list(ensemble)
        for i, other in enumerate(others):
            name = f"ensemble[{i}]"
            if not isinstance(other, CompoundNMT):
                raise TypeError(f"{name} must be a CompoundNMT, got {type(other).__name__}")
            other._check_fitted()
            check_same_words(self, other, name)
            if self._cut.to_config() != other._cut.to_config():
                raise ValueError(f"{name} has another tokenizer than the first encoder")
            if self._target_cut.to_config() != other._target_cut.to_config():
                raise ValueError(f"{name} has another tokenizer of the target than the first encoder")
        return others

    def _read_tokens(self, words: Sequence[Sequence[str]]) -> list[torch.Tensor]:
        """What the decoder is given of sentences that are cut."""
        given: list[torch.Tensor] = self.network.read(
            *self._padded([self._model.read(of)[1] for of in words])
        )
        return given

    def _read_many(self, sentences: Any, *, strict: bool = False) -> Iterator[tuple[Any, ...]]:
        """Sentences that have words, some at once, sorted by length: their places, words, rows, lengths."""
        self._check_fitted()
        tokens = self._cut(list(sentences) if not isinstance(sentences, str) else [sentences])
        read = []
        for i, of in enumerate(tokens):
            kept, x = self._model.read(of)
            if len(kept):
                read.append((i, [of[j] for j in kept[: int(self.max_words)]], x))
            elif strict:
                raise ValueError("sentence has no words")
        read.sort(key=lambda one: -len(one[1]))
        for begin in range(0, len(read), _AT_ONCE):
            numbers, words, rows = zip(*read[begin : begin + _AT_ONCE], strict=True)
            yield (list(numbers), list(words), *self._padded(rows))

    def _padded(self, rows: Sequence[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        """What was read of sentences, as the network wants it: x [B, T, F], lengths [B]."""
        like = next(self.network.parameters())
        found: tuple[torch.Tensor, torch.Tensor] = self._model.padded(rows, int(self.max_words), like)
        return found

    def _target_ids(self, sentences: Sequence[Any]) -> tuple[torch.Tensor, torch.Tensor]:
        """Ids with ends, and lengths."""
        target = self.target_vocabulary_
        places = {word: i for i, word in enumerate(target.words)}
        end, unknown = self._end_and_unknown()
        rows = [
            torch.tensor([*(places.get(word, unknown) for word in words), end])
            for words in self._target_cut(list(sentences))
        ]
        lengths = torch.tensor([len(row) for row in rows])
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=end), lengths

    def _end_and_unknown(self) -> tuple[int, int]:
        """Their ids among the words of the target."""
        end = int(self.network._config["end"])
        return end, 2 * len(self.target_vocabulary_) + 1 - end

    def _aligned(
        self, given: Any, x: Any, lengths: Any, ids: Any, ends: Any, layer: int = -1
    ) -> torch.Tensor:
        """What words of the target look at in the source: [B, T', T]."""
        weights: torch.Tensor = self.network.attention(given, ids, ends, layer)  # B
        if str(self.architecture).endswith("attn_attn"):
            weights = weights @ self.network.inner_attention(x, lengths)  # B A  eq. 4
        return weights

    def _texts(self, decoded: Any, read: Any) -> list[list[tuple[str, float]]]:
        """Texts and scores of what was written."""
        end, unknown = self._end_and_unknown()
        words = [*self.target_vocabulary_.words, _END, _UNKNOWN, _BEGIN]
        words[end], words[unknown] = _END, _UNKNOWN
        found = []
        counts, scores = decoded.lengths.tolist(), decoded.scores.tolist()
        for b, hypotheses in enumerate(decoded.ids.tolist()):
            row = []
            for n, ids in enumerate(hypotheses):
                if (count := counts[b][n]) < 0:
                    continue
                tokens = [words[i] for i in ids[:count]]
                if read is not None and unknown in ids[:count]:
                    source, given, x, lengths = read
                    told = torch.tensor([[*ids[:count], end]], device=x.device)
                    one = [part[b : b + 1] for part in given]
                    looked = self._aligned(
                        one, x[b : b + 1], lengths[b : b + 1], told, told.new_tensor([count + 1])
                    )
                    for place, i in enumerate(ids[:count]):
                        if i == unknown:
                            tokens[place] = source[b][int(looked[0, place, : len(source[b])].argmax())]
                row.append((self._target_cut.join(tokens), scores[b][n]))
            if not row:
                raise DivergedError(
                    f"{type(self).__name__}: no translation has a probability above 0: weights "
                    "are damaged, or the training diverged"
                )
            found.append(row)
        return found


def target_tokenizer(name: str, tokenizer: Any, lowercase: Any) -> Tokenizer:
    """A tokenizer where no vectors say what words look like: text is cut already, and keeps its case."""
    split = "whitespace" if isinstance(tokenizer, str) and tokenizer == "auto" else tokenizer
    cut = chosen_tokenizer(name, split, lowercase, compounds=True)
    if cut.lowercase == "auto":
        cut = Tokenizer(cut, lowercase=False, invalid=cut.invalid)  # type: ignore[arg-type]
    return cut


def _filled(found: dict[str, Any], **by_default: Any) -> dict[str, Any]:
    """With values where there is None."""
    return {**found, **{name: value for name, value in by_default.items() if found[name] is None}}


def _drawn(count: int, wide: int, seed: int) -> Floats:
    drawn: Floats = np.random.default_rng(seed).standard_normal((count, wide), np.float32)
    drawn *= np.float32(wide**-0.5)
    return drawn


def _without_symbols(vocabulary: Vocabulary) -> Vocabulary:
    symbols = (_BEGIN, _END, _UNKNOWN)
    if not any(symbol in vocabulary for symbol in symbols):
        return vocabulary
    return Vocabulary({word: count for word, count in vocabulary.items() if word not in symbols})


class _Files:
    """Files that belong together line by line; by itself, the sentences of the first."""

    def __init__(self, source: Any, target: Any) -> None:
        self.files = {"source": os.fspath(source), "target": os.fspath(target)}

    def __iter__(self) -> Iterator[str]:
        return iter(Corpus(self.files["source"], keep_empty=True))


class _Pairs:
    """Sentences and translations, one by one, as often as is asked."""

    def __init__(self, source: Any, target: Any) -> None:
        self.source, self.target = source, target

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        nothing = object()
        target = iter(self.target)
        for i, sentence in enumerate(self.source):
            if (translation := next(target, nothing)) is nothing:
                raise ValueError(f"sentence {i} has no translation: there are {i} translations")
            yield sentence, translation
        if next(target, nothing) is not nothing:
            raise ValueError("there are more translations than sentences")


def _sides(source: Any, target: Any) -> tuple[Any, Any]:
    """Both as they can be read again and again; of files every line counts."""
    if all(isinstance(side, str | os.PathLike) for side in (source, target)):
        files = _Files(source, target)
        return files, Corpus(files.files["target"], keep_empty=True)
    return tuple(  # type: ignore[return-value]
        Corpus(side, keep_empty=True) if isinstance(side, str | os.PathLike) else repeatable(side)
        for side in (source, target)
    )
