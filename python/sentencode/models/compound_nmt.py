"""Compound-attention translation as an encoder: it translates, and encodes sentences."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..checks import checked_bool, checked_float, checked_int
from ..text.corpus import Corpus
from ..text.inputs import is_single, one_column
from ..text.tokenizer import Tokenizer
from ..text.vocabulary import Vocabulary
from ..vectors import Vectors, WordVectors
from .attention_pictures import draw_alignment, draw_positions, position_shares
from .core_model import read_sentence
from .encoder_class import AS_PUBLISHED
from .neural_encoder import NeuralEncoder
from .task import UNKNOWN
from .translation import TranslationNetwork
from .translation_task import Translating, parallel_texts, translation_tokenizer
from .translator import Translator, read_batches

__all__ = ["CompoundNMT"]

_WITH_ATTENTION = frozenset({"attn", "attn_attn", "trf", "trf_attn_attn"})  # architectures
_PAPER: dict[str, Any] = {
    **{"features": 512, "hidden": 500, "layers": 1, "decoder_hidden": 1000, "attention": 500, "heads": 8},
    **{"attention_heads": 8, "inner": 2048, "begins_with_sentence": False, "label_smoothing": 0.0},
    **{"learning_rate": 1e-4, "schedule": "constant", "warmup": 0, "betas": (0.9, 0.999), "clip_norm": 5.0},
    "vocabulary_size": 30_000,
    **AS_PUBLISHED,
}
Floats = npt.NDArray[np.float32]


class CompoundNMT(NeuralEncoder):
    """Compound-attention translation (Cífka and Bojar 2018): an encoder that translates.

    `fit(source, target)` trains it on sentences and their translations. The decoder reads a sentence only
    through its embedding, which `encode` returns; with the architectures "attn" and "trf" there is none. It
    is made to translate: as embeddings of sentences, those of `Average` are better.

    Args:
        vectors: Word vectors that initialise the source word table; None: random ones. The table is trained.
        features: Dimensions of word vectors in both languages, if `vectors` is None. None: 128; 512 in the
            paper.
        {options}
        hidden: Units of each direction of the encoder. None: 128, or 500 in the paper; of a Transformer half
            of `features`.
        size: Dimensions of a sentence embedding with inner attention. None: 2 `hidden`.
        layers: Layers of the encoder, and of a Transformer's decoder. None: 1; of a Transformer 3, or 6 in
            its paper.
        tokenizer: Tokenizer of the source language. "auto" splits at white space. A tokenizer of the package
            `tokenizers`, such as a BPE, is saved with the encoder.
        target_tokenizer: Tokenizer of the target language, which also detokenizes. None: `tokenizer`.
        vocabulary: Source words that have ids. None: the most frequent ones.
        target_vocabulary: Target words that have ids. None: the most frequent ones.
        vocabulary_size: Maximal size of each vocabulary.
        max_length: Maximal number of tokens of a sentence; longer pairs are left out.
        learning_rate: The highest learning rate. None: 2e-3, or 1e-4 in the paper; of a Transformer with its
            schedule, (`features` x `warmup`)^-0.5.
        schedule: Learning rate schedule. None: "linear", or "constant" in the paper; of a Transformer
            "inverse_sqrt", as in its paper.
        warmup: Warmup steps. None: 5 % of all, or none in the paper; with "inverse_sqrt" 400, or 4,000.
        clip_norm: Maximal norm of the gradient. None: 1, or 5 in the paper; in `preset="reference"` each
            tensor's gradient is clipped to norm 1 instead (`clip_each`).
        **shared: See `sentencode.models.NeuralEncoder`.

    Attributes:
        target_vocabulary_: The words that it can generate.

    Example:
        >>> import sentencode as se
        >>> source = ["a dog runs", "a cat sleeps", "a cat runs", "a dog sleeps"]
        >>> target = ["ein Hund rennt", "eine Katze schläft", "eine Katze rennt", "ein Hund schläft"]
        >>> nmt = se.CompoundNMT(features=16, hidden=16, decoder_hidden=32, heads=2, attention=16,
        ...     dropout=0.0, max_epochs=120, learning_rate=0.02, device="cpu")
        >>> nmt = nmt.fit(source, target)
        >>> nmt.translate(["a dog sleeps", "a cat runs"])
        ['ein Hund schläft', 'eine Katze rennt']
        >>> nmt.encode(source).shape
        (4, 32)
    """

    network_class = TranslationNetwork
    task_class = Translating
    _onnx = "translation"
    training_defaults: ClassVar[dict[str, Any]] = {
        **NeuralEncoder.training_defaults,
        **{"learning_rate": 2e-3, "schedule": "linear", "warmup": 0.05, "clip_norm": 1.0},
    }
    _presets = {  # noqa: RUF012
        "small": {},
        "paper": _PAPER,
        "reference": {**_PAPER, "begins_with_sentence": True, "clip_norm": None, "clip_each": 1.0},
    }
    _computed = ("size",)
    _unsaved = (*NeuralEncoder._unsaved, "target_tokenizer", "target_vocabulary")

    target_vocabulary_: Vocabulary
    _target_tokenizer: Tokenizer
    architecture: Any
    features: Any
    target_tokenizer: Any

    def __init__(self, vectors: Vectors | None = None, **options: Any) -> None:
        super().__init__(vectors, **options)  # type: ignore[arg-type]

    def _completed(self, settings: dict[str, Any]) -> dict[str, Any]:
        def choose(**values: Any) -> None:
            settings.update((name, value) for name, value in values.items() if getattr(self, name) is None)

        is_transformer, is_small = str(self.architecture).startswith("trf"), self.preset == "small"
        features = checked_int("features", settings["features"], 1)
        features = settings["features"] = features if self.vectors is None else self._word_vectors.dim
        if is_transformer:
            choose(hidden=features // 2, layers=3 if is_small else 6)
            choose(betas=(0.9, 0.98), schedule="inverse_sqrt")
        choose(size=2 * settings["hidden"])
        if settings["schedule"] == "inverse_sqrt":
            choose(warmup=400 if is_small else 4000)
            if is_transformer:
                # The highest rate of Vaswani et al. 2017, eq. 3:
                # features^-0.5 min(step^-0.5, step warmup^-1.5)
                warmup = settings["warmup"]
                warmup = 1 if warmup == 0 else checked_int("warmup", warmup, 0)
                choose(learning_rate=(features * warmup) ** -0.5)
        return settings

    @property
    def _word_vectors(self) -> WordVectors:
        """`vectors`; without any, a placeholder of `features` dimensions, which the task replaces."""
        if self.vectors is not None:
            return super()._word_vectors
        features = self.settings()["features"]
        return WordVectors.from_array([UNKNOWN], np.zeros((1, features), np.float32))

    def _new_tokenizer(self) -> Tokenizer:
        if self.vectors is not None and "_fitted_vectors" not in self.__dict__:
            return super()._new_tokenizer()
        return translation_tokenizer(type(self).__name__, self.tokenizer, self.lowercase)

    def fit(  # type: ignore[override]
        self, source: Any, target: Any, *, valid: Any = "auto", **options: Any
    ) -> CompoundNMT:
        """Trains the network from scratch.

        Args:
            source: Sentences, or the name of a text file; a line of a file is a sentence.
            target: Their translations.
            valid: A tuple of sentences and their translations, for validation; or as for other encoders.
            **options: As in `sentencode.models.NeuralEncoder.fit`.

        Returns:
            The encoder itself.

        Raises:
            TypeError: If a parameter has the wrong type.
            ValueError: If a parameter is out of range, the numbers of sentences and translations differ, or
                the checkpoints are of a different run.
        """
        if options.get("head") is None and self.head is None:
            source, target = parallel_texts(source, target)
            if isinstance(valid, tuple | list) and len(valid) == 2:
                valid = parallel_texts(*valid)
            elif not (
                valid is None
                or isinstance(valid, numbers.Real)
                or (isinstance(valid, str) and valid == "auto")
            ):
                raise ValueError("valid must be a tuple of sentences and their translations")
        super().fit(source, target, valid=valid, **options)
        return self

    def expand_vocabulary(self, vectors: Any, *, ridge: float = 0.0) -> Any:
        """Not available: a word without an id is read as "<unk>", whatever vector it has.

        Args:
            vectors: Ignored.
            ridge: Ignored.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no expand_vocabulary: words that it was not trained with are read as "
            "unknown. A subword tokenizer leaves no unknown words"
        )

    # Translation

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
        """Translate sentences.

        Args:
            sentences: One sentence, or many, or the `pathlib.Path` of a text file.
            beam: Number of hypotheses; 1 is greedy search.
            best: Number of translations that are returned for each sentence.
            max_length: Maximal number of tokens.
            length_penalty: a: log p is divided by ((5 + tokens) / 6)^a.
            sample: Whether words are sampled from their probabilities instead of searched for. The sample of
                a sentence depends on the seed and its index among `sentences`.
            temperature: Temperature of the sampling.
            top_k: Number of words that can be sampled; 0: all.
            top_p: Probability of the most likely words, from which samples are taken.
            seed: Seed of the sampling. None: the encoder's.
            replace_unknown: Whether "<unk>" is replaced by the source word with the largest attention weight.
            ensemble: Other encoders with the same words and tokenizers. The probability of each word is then
                the mean of all encoders'. Architectures may differ.
            scores: Whether to return pairs of a translation and its score, log p.

        Returns:
            For each sentence its translation, or the list of its `best`. A sentence without words has the
            empty text.

        Raises:
            NotFittedError: If the encoder is not fitted.
            TypeError: If a member of the ensemble does not translate.
            ValueError: If an argument is out of range, a member of the ensemble has other words, or unknown
                words cannot be replaced as the decoder has no attention.
        """
        single = is_single(sentences)
        translator = Translator(self, ensemble)
        beam = checked_int("beam", beam, 1)
        best = checked_int("best", best, 1, 1 if sample else beam)
        seed = checked_int("seed", self.seed if seed is None else seed, 0)
        options: dict[str, Any] = {"max_length": checked_int("max_length", max_length, 1)}
        length_penalty = checked_float("length_penalty", length_penalty, -math.inf)
        if checked_bool("replace_unknown", replace_unknown) and self.architecture not in _WITH_ATTENTION:
            raise ValueError(
                f"replace_unknown: architecture={self.architecture!r}: its decoder has no attention"
            )
        if sample:
            options |= {
                "temperature": checked_float("temperature", temperature, 0, above=True),
                "top_k": checked_int("top_k", top_k, 0),
                "top_p": checked_float("top_p", top_p, 0, 1, above=True),
                "seed": seed,
            }
        else:
            options |= {"beam": beam, "best": best, "length_penalty": length_penalty}
        sentences = _listed(sentences)
        pairs = translator.translate(sentences, sample=sample, replace_unknown=replace_unknown, **options)
        translations = [[pair if scores else pair[0] for pair in hypotheses] for hypotheses in pairs]
        returned = [hypotheses[0] for hypotheses in translations] if best == 1 else translations
        return returned[0] if single else returned

    def score(self, source: Any, target: Any) -> Any:
        """Log p of translations; with a head, its score as in every encoder.

        Args:
            source: One sentence, or many, or the `pathlib.Path` of a text file.
            target: Their translations.

        Returns:
            A number, or [n]; NaN for a sentence without words.

        Raises:
            NotFittedError: If the encoder is not fitted.
            ValueError: If the numbers of sentences and translations differ.
        """
        if self._trained_head is not None:
            return super().score(source, target)
        single = is_single(source)
        if single != is_single(target):
            raise ValueError("source and target must both be one sentence, or both several")
        source, target = _listed(source, "source"), _listed(target, "target")
        if len(source) != len(target):
            raise ValueError(f"there are {len(source)} sentences and {len(target)} translations")
        log_p, translator = np.full(len(source), np.nan), Translator(self)
        with self._evaluating():
            for indices, _, x, lengths in read_batches(self, source):
                ids, id_lengths = translator.target_ids([target[i] for i in indices], x.device)
                log_p[indices] = (
                    self.network.score(self.network.read(x, lengths), ids, id_lengths).cpu().numpy()
                )
        return float(log_p[0]) if single else log_p

    # Attention

    def inner_attention(self, sentence: str | Sequence[str]) -> tuple[list[str], Floats]:
        """Return A, the weights with which each head of the sentence embedding sums the encoder states.

        Args:
            sentence: A text, or its tokens.

        Returns:
            The words, and weights [heads, words].

        Raises:
            NotFittedError: If the encoder is not fitted.
            ValueError: If the architecture has no inner attention, or the sentence no words.
        """
        with self._evaluating():
            words, x, lengths = read_sentence(self, sentence)
            return words, self.network.inner_attention(x, lengths)[0].float().cpu().numpy()

    def alignment(
        self,
        source: str | Sequence[str],
        target: str | Sequence[str] | None = None,
        *,
        layer: int = -1,
    ) -> tuple[list[str], list[str], Floats]:
        """Return the attention weights between the words of a translation and those of the source.

        With compound attention this is the product B A of both attentions (eq. 4); with a Transformer the
        mean of the heads of one layer.

        Args:
            source: A text, or its tokens.
            target: Its translation. None: the encoder's.
            layer: Layer of a Transformer's decoder; negative ones count from the end.

        Returns:
            The words of the source, those of the target with its end, and weights [target, source], whose
            rows sum to one.

        Raises:
            NotFittedError: If the encoder is not fitted.
            ValueError: If the decoder has no attention, or the sentence no words.
        """
        target = self.translate([source])[0] if target is None else target
        words, target_words, b, a = Translator(self).attentions(source, target, layer)
        weights = b if a is None else b @ a  # eq. 4
        return words, target_words, weights[0].float().cpu().numpy()

    def plot_alignment(
        self,
        source: str | Sequence[str],
        target: str | Sequence[str] | None = None,
        *,
        least: float = 0.01,
        layer: int = -1,
        ax: Any = None,
    ) -> Any:
        """Draw the paper's Figure 4: the attention of each word of a translation, each head in its colour.

        The source is on the left, the translation on the right. The width of a line is its weight. Without
        inner attention there are no heads, and one colour.

        Args:
            source: As in `alignment`.
            target: As in `alignment`.
            least: Weights up to this are not drawn.
            layer: As in `alignment`.
            ax: Axes to draw on; new ones by default.

        Returns:
            The axes.

        Raises:
            ImportError: If matplotlib is not installed.
            ValueError: As in `alignment`.
        """
        target = self.translate([source])[0] if target is None else target
        words, target_words, b, a = Translator(self).attentions(source, target, layer)
        heads = b if a is None else b[0].T[:, :, None] * a[0][:, None, :]  # [r, target, source]
        return draw_alignment(words, target_words, heads.float().cpu().numpy(), least=least, ax=ax)

    def position_weights(
        self, sentences: Any, *, bins: int = 10, least_words: int = 8
    ) -> npt.NDArray[np.float64]:
        """Mean attention weight of each head by relative position in the sentence.

        The weight of a word is spread evenly over its 1 / T of a sentence of T words.

        Args:
            sentences: One sentence, or many, or the `pathlib.Path` of a text file.
            bins: Number of equal parts of a sentence.
            least_words: Shorter sentences are left out.

        Returns:
            [heads, bins]. Rows sum to one: uniform attention has 1 / `bins` in each part.

        Raises:
            NotFittedError: If the encoder is not fitted.
            ValueError: If the architecture has no inner attention, or no sentence is long enough.
        """
        bins = checked_int("bins", bins, 1)
        least_words = checked_int("least_words", least_words, 1)
        total, count = np.zeros(()), 0
        with self._evaluating():
            for _, words, x, lengths in read_batches(self, _listed(sentences)):
                weights = self.network.inner_attention(x, lengths).double().cpu().numpy()
                for row, sentence in zip(weights, words, strict=True):
                    if len(sentence) >= least_words:
                        total = total + position_shares(row[:, : len(sentence)], bins)
                        count += 1
        if count == 0:
            raise ValueError(f"no sentence has {least_words} words or more (least_words)")
        return total / count

    def plot_positions(
        self, sentences: Any, *, bins: int = 10, least_words: int = 8, axes: Any = None
    ) -> Any:
        """Draw the paper's Figure 5: the attention of each head by position, a plot for each.

        Args:
            sentences: As in `position_weights`.
            bins: As in `position_weights`.
            least_words: As in `position_weights`.
            axes: Axes to draw on, one for each head; new ones by default.

        Returns:
            The axes [heads].

        Raises:
            ImportError: If matplotlib is not installed.
            ValueError: As in `position_weights`, or if there are not as many axes as heads.
        """
        return draw_positions(self.position_weights(sentences, bins=bins, least_words=least_words), axes)


def _listed(sentences: Any, name: str = "sentences") -> list[Any]:
    """Sentences as a list, also one sentence, those of a column, and the lines of a file."""
    if isinstance(sentences, os.PathLike):
        return list(Corpus(sentences, keep_empty=True))
    return [sentences] if is_single(sentences) else list(one_column(sentences, name))
