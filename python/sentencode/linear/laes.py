"""Linear autoencoder for sequences."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from .._extras import require_nn
from ..checks import checked_int, checked_str
from ..text.inputs import is_single
from ..vectors import Vectors
from .base import LinearEncoder
from .selection import Selection, checked_scores, split_pairs
from .weights import smooth_weights

__all__ = ["LAES"]

Floats = npt.NDArray[np.float32]
Direction = Literal["forward", "backward"]

_CHOICES = {
    "mode": ("hidden", "reconstruction", "residual"),
    "direction": ("forward", "backward", "both"),
    "combine": ("sum", "concat"),
    "state": ("recursive", "projection"),
}


class LAES(LinearEncoder):
    """Sentence embeddings by the linear autoencoder for sequences (Carta and Bacciu 2019).

    The autoencoder encodes a sentence's weighted word vectors x_1 ... x_l and reconstructs them:

        h_t = A x_t + B h_(t-1)        x_t = A^T h_t,  h_(t-1) = B^T h_t

    A and B are computed in closed form from the leading eigenvectors of a matrix whose size does not depend
    on the number of sentences, so that `fit` streams over any corpus. The embedding is the state after the
    last word (mode "hidden"), the mean of the reconstructed words ("reconstruction"), or the mean of the
    reconstruction errors ("residual"): few hidden units reconstruct only what sentences have in common, and
    the residual is specific to the sentence. The paper proposes it for similarity; it is the default.

    Embeddings of sentences without known words, and residuals below 1e-6 of the mean's norm, are zero. If
    `hidden` exceeds the rank of the data, as it may with few sentences, this includes all residuals of the
    sentences of `fit`, which then warns. Sentences longer than those of `fit` are encoded completely.

    Args:
        vectors: Word vectors: `WordVectors`, the path of a file, a dict of vectors, or gensim's
            `KeyedVectors`.
        hidden: Number of hidden units.
        mode: "residual", "hidden" or "reconstruction".
        direction: "forward" (first word first), "backward", or "both": two autoencoders.
        combine: For both directions: "sum" (the mean of both embeddings, as in the paper) or "concat".
        a: Words of probability p(w) have the weight a / (a + p(w)), as in SIF. None: no weights.
        center: Whether to subtract the mean word vector, and add it to reconstructions.
        state: "recursive": as in the paper. "projection": the best linear code of size `hidden`.
        max_length: Maximum of words of a sentence in `fit`; its time and memory grow with the square of it.
        tokenizer: "words", "punctuation", "whitespace", a `Tokenizer`, a callable, or a tokenizer of Hugging
            Face. "auto": "words" if the vectors have words such as *n't*, else "punctuation".
        lowercase: Whether to lower-case. "auto": unless the vectors have words with upper-case letters.
        frequencies: Source of p(w): a `Frequencies`, a `Vocabulary`, a dict of counts, the path of a file of
            words and counts, or "zipf" (the order of the vectors). None: the counts of the vectors, or "zipf"
            if they have none.
        device: Device of `fit`: "cpu", or a device of torch, such as "cuda" or "cuda:1". Encoding always runs
            on the CPU, and files do not contain the device. An interrupted `partial_fit` on a device adds
            nothing.

    Attributes:
        A_: A [hidden, vectors.dim]; with direction="both" that of the forward autoencoder.
        B_: B [hidden, hidden], likewise.
        A_backward_: A of the backward autoencoder.
        B_backward_: B of the backward autoencoder.
        singular_values_: Singular values of the data matrix, descending [hidden].
        rank_: Number of singular values above zero, at most `hidden`.
        n_sentences_: Number of sentences of `fit` with known words.
        n_tokens_: Number of their known words, of each sentence the first `max_length`.
        pickle_statistics: Whether pickles contain the statistics for `partial_fit`, `merge` and larger sizes,
            which may be gigabytes. Before the parameters are computed, pickles always contain them, so that
            workers can return them from `partial_fit`. Copies always do.

    Example:
        >>> import sentencode as se
        >>> vectors = se.WordVectors.from_dict({"the": [3, 1], "cat": [1, 2], "dog": [1, -2], "sat": [0, 1]})
        >>> sentences = ["the cat sat", "the dog sat", "the cat", "the dog"]
        >>> laes = se.LAES(vectors, hidden=6, mode="hidden", a=None).fit(sentences)
        >>> laes.rank_
        5
        >>> state = laes.encode("the cat sat")
        >>> laes.decode(state, length=3).round(4) + 0.0
        array([[3., 1.],
               [1., 2.],
               [0., 1.]], dtype=float32)
    """

    _kind = "LAES"
    _unsaved = LinearEncoder._unsaved | {"device"}
    pickle_statistics: bool = False

    def __init__(
        self,
        vectors: Vectors,
        *,
        hidden: int = 150,
        mode: Literal["hidden", "reconstruction", "residual"] = "residual",
        direction: Literal["forward", "backward", "both"] = "forward",
        combine: Literal["sum", "concat"] = "sum",
        a: float | None = 1e-3,
        center: bool = False,
        state: Literal["recursive", "projection"] = "recursive",
        max_length: int = 64,
        tokenizer: Any = "auto",
        lowercase: bool | Literal["auto"] = "auto",
        frequencies: Any = None,
        device: str = "cpu",
    ) -> None:
        self.vectors = vectors
        self.hidden = hidden
        self.mode = mode
        self.direction = direction
        self.combine = combine
        self.a = a
        self.center = center
        self.state = state
        self.max_length = max_length
        self.tokenizer = tokenizer
        self.lowercase = lowercase
        self.frequencies = frequencies
        self.device = device

    @property
    def A_(self) -> Floats:  # noqa: N802
        """A of the forward or only autoencoder [hidden, vectors.dim]."""
        return cast("Floats", self._parameters()["A"])

    @property
    def B_(self) -> Floats:  # noqa: N802
        """B of the forward or only autoencoder [hidden, hidden]."""
        return cast("Floats", self._parameters()["B"])

    @property
    def A_backward_(self) -> Floats:  # noqa: N802
        """A of the backward autoencoder [hidden, vectors.dim]."""
        return cast("Floats", self._parameters("backward")["A"])

    @property
    def B_backward_(self) -> Floats:  # noqa: N802
        """B of the backward autoencoder [hidden, hidden]."""
        return cast("Floats", self._parameters("backward")["B"])

    @property
    def singular_values_(self) -> Floats:
        """Singular values of the data matrix, descending [hidden]."""
        return cast("Floats", self._parameters()["singular_values"])

    @property
    def rank_(self) -> int:
        """Number of singular values above zero, at most `hidden`."""
        return int(min(self._parameters()["rank"], self._fitted_size()))

    @property
    def n_sentences_(self) -> int:
        """Number of sentences of `fit` with known words."""
        self._check_learnt()
        return self._counted(self._model.sentences_seen)

    @property
    def n_tokens_(self) -> int:
        """Number of their known words, of each sentence the first `max_length`."""
        self._check_learnt()
        return self._counted(self._model.tokens_seen)

    def _counted(self, count: int) -> int:
        if count == 0:  # of a fitted encoder
            raise AttributeError("this LAES was loaded from a file without statistics")
        return int(count)

    def states(self, sentence: Any, direction: Direction | None = None) -> Floats:
        """Return the states after each known word of a sentence, in reading order [words, hidden].

        Args:
            sentence: A sentence: `str`, `bytes` or a list of tokens.
            direction: The autoencoder. None: the forward or only one. The backward one reads the last word
                first.

        Example:
            >>> import sentencode as se
            >>> vectors = se.WordVectors.from_dict({"cat": [1, 2], "dog": [1, -2]})
            >>> laes = se.LAES(vectors, hidden=4, mode="hidden", a=None).fit(["cat dog", "dog cat"])
            >>> laes.states("cat bird dog").shape
            (2, 4)
        """
        prepared = self._tokenizer().prepare([sentence], "sentence")[0]
        return cast("Floats", self._fitted_model().states(prepared, self._reading(direction)))

    def decode(self, state: npt.ArrayLike, length: int, direction: Direction | None = None) -> Floats:
        """Reconstruct weighted word vectors from a state, in reading order [length, vectors.dim].

        Args:
            state: State after the last word [hidden].
            length: Number of words.
            direction: The autoencoder. None: the forward or only one.

        Raises:
            ValueError: The state does not have the size `hidden`, or `length` is negative.
        """
        length = checked_int("LAES.decode: length", length, 0)
        state = np.ascontiguousarray(state, dtype=np.float32)
        return cast("Floats", self._fitted_model().decode(state, length, self._reading(direction)))

    def reconstruction_error(
        self, sentences: Any, sizes: Iterable[int] | None = None, direction: Direction | None = None
    ) -> npt.NDArray[np.float64]:
        """Return the relative reconstruction error `|X - X~| / |X|` for numbers of hidden units [sizes].

        It is 0 for sentences of `fit` if the number is at least the rank. X are their weighted word vectors.

        Args:
            sentences: Sentences.
            sizes: Numbers of hidden units, at most `hidden`. None: `hidden`.
            direction: The autoencoder. None: the forward or only one.

        Raises:
            ValueError: No sentence has a known word, or a size is out of range.

        Example:
            >>> import sentencode as se
            >>> vectors = se.WordVectors.from_dict({"cat": [1, 2], "dog": [1, -2]})
            >>> laes = se.LAES(vectors, hidden=4, mode="hidden", a=None).fit(["cat dog", "dog cat"])
            >>> laes.reconstruction_error(["cat dog", "dog cat"], sizes=[1, 2, 4]).round(2) + 0.0
            array([0.56, 0.38, 0.  ])
        """
        numbers = [self._fitted_size()] if sizes is None else self._sizes(sizes, "reconstruction_error")
        if is_single(sentences):
            sentences = [sentences]
        batch = self._tokenizer().prepare(sentences)
        return np.asarray(self._fitted_model().reconstruction_error(batch, numbers, self._reading(direction)))

    def select(self, pairs: Any, scores: Any, sizes: Iterable[int] | None = None) -> Selection:
        """Select the number of hidden units whose cosines correlate best with human scores.

        All numbers are evaluated with one decomposition: A and B for fewer units are the leading rows and
        columns. With both directions, sum and concatenation are evaluated, too.

        Args:
            pairs: Pairs of sentences.
            scores: Human similarity scores, one per pair.
            sizes: Numbers to evaluate, at most `hidden`. None: all.

        Returns:
            The Pearson correlations, and the encoder with the best.

        Raises:
            NotFittedError: The encoder was not fitted.
            ValueError: Numbers of pairs and scores differ, or a size is out of range.

        Example:
            >>> import sentencode as se
            >>> vectors = se.WordVectors.from_dict({"the": [3, 1], "cat": [1, 2], "dog": [1, -2]})
            >>> laes = se.LAES(vectors, hidden=3, a=None).fit(["the cat", "the dog", "the"])
            >>> pairs = [("the cat", "cat"), ("the cat", "dog"), ("dog", "the dog")]
            >>> best = laes.select(pairs, [5, 0, 5])
            >>> best.settings, best.encoder.hidden == best.hidden
            (array([1, 2, 3]), True)
        """
        largest = self._fitted_size()
        numbers = list(range(1, largest + 1)) if sizes is None else self._sizes(sizes, "select")
        first, second = (self._tokenizer().prepare(side) for side in split_pairs(pairs))
        curves = self._fitted_model().select(first, second, checked_scores(scores, len(first)), numbers)
        both = ("sum", "concat") if self.direction == "both" else None
        pearson = {curve["name"]: curve["pearson"] for curve in curves}
        return Selection.of("hidden", np.array(numbers), pearson, self._resized, candidates=both)

    def variant(
        self,
        *,
        hidden: int | None = None,
        mode: Literal["hidden", "reconstruction", "residual"] | None = None,
        direction: Literal["forward", "backward", "both"] | None = None,
        combine: Literal["sum", "concat"] | None = None,
    ) -> LAES:
        """Return a fitted encoder with other parameters, without reading the sentences again.

        Args:
            hidden: Number of hidden units; more than before need the statistics. None, here and below:
                unchanged.
            mode: "residual", "hidden" or "reconstruction".
            direction: One direction of an encoder with both.
            combine: "sum" or "concat".

        Raises:
            NotFittedError: The encoder was not fitted.
        """
        options = {"hidden": hidden, "mode": mode, "direction": direction, "combine": combine}
        changes = {name: value for name, value in options.items() if value is not None}
        encoder = self._sibling(LAES, **{**self.get_params(deep=False), **changes})
        model = self._fitted_model().variant(encoder.hidden, encoder.mode, encoder.direction, encoder.combine)
        encoder._adopt(model, self._fitted_tokenizer)
        return encoder

    def _resized(self, variant: str, hidden: int) -> LAES:
        return self.variant(hidden=hidden, combine=variant if variant in ("sum", "concat") else None)  # type: ignore[arg-type]

    def _fitted_size(self) -> int:
        return int(self._fitted_model().options["hidden"])

    def _sizes(self, sizes: Iterable[int], name: str) -> list[int]:
        largest = self._fitted_size()
        numbers = sorted({checked_int(f"LAES.{name}: sizes", size, 1, largest) for size in sizes})
        if not numbers:
            raise ValueError(f"LAES.{name}: sizes must be from 1 to {largest}, the number of units, got none")
        return numbers

    def _reading(self, direction: Direction | None) -> Direction:
        if direction is not None:
            return direction
        return "backward" if self.direction == "backward" else "forward"

    def _parameters(self, direction: Direction | None = None) -> dict[str, Any]:
        return cast("dict[str, Any]", self._fitted_model().parameters(self._reading(direction)))

    def _options(self) -> dict[str, Any]:
        checked_str("device", self.device)
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                choices = " or ".join(map(repr, allowed))
                raise ValueError(f"LAES: {name} must be {choices}, got {getattr(self, name)!r}")
        counts = {
            name: checked_int(f"LAES: {name}", getattr(self, name), 1, 2**31 - 1)
            for name in ("hidden", "max_length")
        }
        if not isinstance(self.center, bool | np.bool_):
            raise ValueError(f"LAES: center must be True or False, got {self.center!r}")
        return {
            **counts,
            "mode": self.mode,
            "direction": self.direction,
            "combine": self.combine,
            "center": bool(self.center),
            "state": self.state,
        }

    def _weights(self) -> Floats | None:
        return smooth_weights("LAES", self._word_vectors, self.frequencies, self.a)

    def _changes(self) -> list[str]:
        return [name for name in super()._changes() if name != "device"]  # does not affect results

    @contextmanager
    def _learning(self) -> Iterator[Callable[[Any], None]]:
        if self.device == "cpu":
            with super()._learning() as add:
                yield add
            return
        model, tokenizer = self._current_model()
        sums = _on_device().LAESOnDevice(model, self.device)
        yield lambda block: sums.add(tokenizer.prepare(block))
        sums.merge_into(model)
        self._keep(model, tokenizer)

    def _solve(self) -> None:
        if self.device == "cpu" or self._model.solved:
            super()._solve()
        else:
            _on_device().solve_laes_on_device(self._model, self.device)

    def _finish(self) -> None:
        super()._finish()
        if self.mode == "residual" and self.rank_ < self.hidden:
            warnings.warn(
                f"LAES: {self.rank_} hidden units reconstruct these {self.n_sentences_} sentences exactly, "
                f"so that residuals are zero with hidden={self.hidden}: use fewer units or more sentences",
                UserWarning,
                stacklevel=4,
            )

    def _with_statistics(self) -> bool:
        return self.pickle_statistics or not self._model.solved

    def _facts(self) -> dict[str, str]:
        facts = super()._facts()
        if self.fitted:
            if hasattr(self, "n_sentences_"):
                facts["sentences"] = f"{self.n_sentences_:,}"
            facts["rank"] = str(self.rank_)
        return facts


def _on_device() -> Any:
    """The compiled module with torch."""
    require_nn()
    from .. import _nn

    return _nn
