"""The linear autoencoder for sequences, as a sentence encoder."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from .._extras import require_nn
from ..checks import checked_str
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

    The autoencoder reads a sentence's weighted word vectors x_1 ... x_l and can tell them again:

        h_t = A x_t + B h_(t-1)        x_t = A^T h_t,  h_(t-1) = B^T h_t

    A and B are found in closed form, from the leading eigenvectors of a matrix whose size does not depend on
    how many sentences there are: `fit` streams over any corpus. The embedding is the state after the last
    word (mode "hidden"), the mean of the words as told from it ("reconstruction"), or what the telling misses
    on average ("residual"): few hidden units tell only what sentences have in common, so the residual is what
    a sentence says itself. The residual is what the paper proposes for similarity, and the default.

    A residual of no more than 1e-6 of the mean's length, and the row of a sentence without known words, is
    zero. So are all residuals of the sentences fitted to where `hidden` exceeds the rank of the data, as it
    may with few sentences: `fit` then warns. Units beyond the rank are zero. Sentences longer than any that
    was fitted to are encoded whole.

    Args:
        vectors: Word vectors: `WordVectors`, the path of a file, a dict of a vector for each word, or
            gensim's `KeyedVectors`.
        hidden: The number of hidden units.
        mode: "residual", "hidden" or "reconstruction".
        direction: "forward" (first word first), "backward", or "both": two autoencoders.
        combine: Of both directions: "sum" (the mean of both rows, as the paper defines it) or "concat".
        a: A word of probability p(w) is weighted by a / (a + p(w)), as in SIF. None: all words weigh the
            same.
        center: Whether the mean word is taken away before, and given back when telling.
        state: "recursive": the paper's. "projection": the best that `hidden` numbers can say of the words so
            far.
        max_length: Sentences are fitted to up to this many words; time and memory grow with its square.
        tokenizer: "words", "punctuation", "whitespace", a `Tokenizer`, any callable, or a tokenizer of
            Hugging Face. "auto": "words" if the vectors hold words such as *n't*, else "punctuation".
        lowercase: Whether to lower-case. "auto": unless the vectors hold words with upper-case letters.
        frequencies: Where p(w) comes from: a `Frequencies`, a `Vocabulary`, a dict of counts,
            the path of a file of words and counts, or "zipf" (the order of the vectors). None: the counts
            that the vectors carry, or "zipf" where they carry none.
        device: Where `fit` computes: "cpu" is Sentencode itself; anything else is one of torch's devices, as
            in "cuda" or "cuda:1". Sentences are encoded by the processor in any case, and a saved encoder
            does not remember this. An interrupted `partial_fit` on a device has learnt nothing.

    Attributes:
        A_: [hidden, vectors.dim]; of the backward autoencoder with direction="backward", and `A_backward_`
            with "both".
        B_: [hidden, hidden]; likewise `B_backward_`.
        singular_values_: Of the data matrix, [hidden], falling.
        rank_: How many of them are above zero, at most `hidden`.
        n_sentences_: How many sentences were learnt from, those without known words left out.
        n_tokens_: How many words.
        pickle_statistics: Whether a pickle holds the sums that `partial_fit`, `merge` and larger sizes need.
            They may be gigabytes, and are left out unless this is set, or nothing was solved for yet: a
            worker that calls `partial_fit` alone sends back what it has counted. Copies always hold them.

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

    # What was learnt.

    @property
    def A_(self) -> Floats:  # noqa: N802
        """A of the forward autoencoder, or of the only one [hidden, vectors.dim]."""
        return cast("Floats", self._parameters()["A"])

    @property
    def B_(self) -> Floats:  # noqa: N802
        """B of the forward autoencoder, or of the only one [hidden, hidden]."""
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
        """Of the data matrix, falling [hidden]."""
        return cast("Floats", self._parameters()["singular_values"])

    @property
    def rank_(self) -> int:
        """How many singular values are above zero, at most `hidden`."""
        return int(min(self._parameters()["rank"], self._fitted_size()))

    @property
    def n_sentences_(self) -> int:
        """How many sentences were learnt from, those without known words left out."""
        self._check_learnt()
        return int(self._model.sentences_seen)

    @property
    def n_tokens_(self) -> int:
        """How many words were learnt from."""
        self._check_learnt()
        return int(self._model.tokens_seen)

    # The autoencoder itself.

    def states(self, sentence: Any, direction: Direction | None = None) -> Floats:
        """The state after each known word of a sentence.

        Args:
            sentence: One sentence: `str`, `bytes` or a list of tokens.
            direction: Which autoencoder. None: the only one, or the forward one.

        Returns:
            [words, hidden], in the order of reading; of the backward autoencoder, the last word's state comes
            first.

        Example:
            >>> import sentencode as se
            >>> vectors = se.WordVectors.from_dict({"cat": [1, 2], "dog": [1, -2]})
            >>> laes = se.LAES(vectors, hidden=4, mode="hidden", a=None).fit(["cat dog", "dog cat"])
            >>> laes.states("cat bird dog").shape
            (2, 4)
        """
        one = self._tokenizer().prepare([sentence], "sentence")[0]
        found: Floats = self._fitted_model().states(one, self._reading(direction))
        return found

    def decode(self, state: npt.ArrayLike, length: int, direction: Direction | None = None) -> Floats:
        """Tells the words again from the state after the last of them.

        Args:
            state: [hidden].
            length: How many words.
            direction: Which autoencoder. None: the only one, or the forward one.

        Returns:
            Weighted word vectors [length, vectors.dim], in the order of reading.

        Raises:
            ValueError: If the state has another length than `hidden`, or `length` is negative.
        """
        numbers = np.ascontiguousarray(state, dtype=np.float32)
        found: Floats = self._fitted_model().decode(numbers, length, self._reading(direction))
        return found

    def reconstruction_error(
        self, sentences: Any, sizes: Iterable[int] | None = None, direction: Direction | None = None
    ) -> npt.NDArray[np.float64]:
        """How much of some sentences cannot be told again: `|X - X~| / |X|`, for numbers of hidden units.

        Args:
            sentences: Many sentences.
            sizes: Numbers of hidden units, at most `hidden`. None: `hidden` alone.
            direction: Which autoencoder. None: the only one, or the forward one.

        Returns:
            [sizes]; 0 where the number reaches the rank, and the sentences are among those fitted to.

        Example:
            >>> import sentencode as se
            >>> vectors = se.WordVectors.from_dict({"cat": [1, 2], "dog": [1, -2]})
            >>> laes = se.LAES(vectors, hidden=4, mode="hidden", a=None).fit(["cat dog", "dog cat"])
            >>> laes.reconstruction_error(["cat dog", "dog cat"], sizes=[1, 2, 4]).round(2) + 0.0
            array([0.56, 0.38, 0.  ])
        """
        wanted = [self._fitted_size()] if sizes is None else self._sizes(sizes, "reconstruction_error")
        if is_single(sentences):
            sentences = [sentences]
        batch = self._tokenizer().prepare(sentences)
        return np.asarray(self._fitted_model().reconstruction_error(batch, wanted, self._reading(direction)))

    def select(self, pairs: Any, scores: Any, sizes: Iterable[int] | None = None) -> Selection:
        """Chooses the number of hidden units whose cosines agree best with people's scores.

        All numbers are tried with one decomposition: A and B for fewer units are corners of those for more.
        Of an encoder in both directions, sum and concatenation are tried as well.

        Args:
            pairs: Pairs of sentences.
            scores: How similar people found them, one number a pair.
            sizes: The numbers to try, at most `hidden`. None: all.

        Returns:
            The Pearson correlation for each, and the encoder with the best.

        Raises:
            NotFittedError: If the encoder was not fitted.
            ValueError: If pairs and scores do not go together, or a size is out of range.

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
        wanted = list(range(1, largest + 1)) if sizes is None else self._sizes(sizes, "select")
        first, second = (self._tokenizer().prepare(side) for side in split_pairs(pairs))
        curves = self._fitted_model().select(first, second, checked_scores(scores, len(first)), wanted)
        both = ("sum", "concat") if self.direction == "both" else None
        found = {curve["name"]: curve["pearson"] for curve in curves}
        return Selection.of("hidden", np.array(wanted), found, self._resized, candidates=both)

    def variant(
        self,
        *,
        hidden: int | None = None,
        mode: Literal["hidden", "reconstruction", "residual"] | None = None,
        direction: Literal["forward", "backward", "both"] | None = None,
        combine: Literal["sum", "concat"] | None = None,
    ) -> LAES:
        """The same encoder with other settings, without another look at the sentences.

        Args:
            hidden: Fewer units are corners of A and B; more are solved for, from the sums that are kept.
            mode: None: as it is; likewise the others.
            direction: One direction of an encoder in both.
            combine: How both are put together.

        Returns:
            A fitted encoder.

        Raises:
            NotFittedError: If the encoder was not fitted.
        """
        given = {"hidden": hidden, "mode": mode, "direction": direction, "combine": combine}
        changes = {name: value for name, value in given.items() if value is not None}
        encoder = self._sibling(LAES, **{**self.get_params(deep=False), **changes})
        model = self._fitted_model().variant(encoder.hidden, encoder.mode, encoder.direction, encoder.combine)
        encoder._adopt(model, self._cut)
        return encoder

    def _resized(self, variant: str, hidden: int) -> LAES:
        return self.variant(hidden=hidden, combine=variant if variant in ("sum", "concat") else None)  # type: ignore[arg-type]

    def _fitted_size(self) -> int:
        return int(self._fitted_model().options["hidden"])

    def _sizes(self, sizes: Iterable[int], name: str) -> list[int]:
        largest = self._fitted_size()
        wanted = sorted({int(size) for size in sizes})
        if not wanted or wanted[0] < 1 or wanted[-1] > largest:
            raise ValueError(
                f"LAES.{name}: sizes must be from 1 to {largest}, the units fitted, got {wanted}"
            )
        return wanted

    def _reading(self, direction: Direction | None) -> Direction:
        if direction is not None:
            return direction
        return "backward" if self.direction == "backward" else "forward"

    def _parameters(self, direction: Direction | None = None) -> dict[str, Any]:
        found: dict[str, Any] = self._fitted_model().parameters(self._reading(direction))
        return found

    def _options(self) -> dict[str, Any]:
        checked_str("device", self.device)
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                choices = " or ".join(map(repr, allowed))
                raise ValueError(f"LAES: {name} must be {choices}, got {getattr(self, name)!r}")
        for name in ("hidden", "max_length"):
            value = getattr(self, name)
            try:
                whole = operator.index(value)
            except TypeError:
                whole = 0
            if whole < 1:
                raise ValueError(f"LAES: {name} must be a whole number of at least 1, got {value!r}")
        if not isinstance(self.center, bool | np.bool_):
            raise ValueError(f"LAES: center must be True or False, got {self.center!r}")
        return {
            "hidden": operator.index(self.hidden),
            "mode": self.mode,
            "direction": self.direction,
            "combine": self.combine,
            "center": bool(self.center),
            "state": self.state,
            "max_length": operator.index(self.max_length),
        }

    def _weights(self) -> Floats | None:
        return smooth_weights("LAES", self._word_vectors, self.frequencies, self.a)

    def _changes(self) -> list[str]:
        return [name for name in super()._changes() if name != "device"]  # another one changes no result

    @contextmanager
    def _learning(self) -> Iterator[Callable[[Any], None]]:
        if self.device == "cpu":
            with super()._learning() as take:
                yield take
            return
        model, cut = self._current_model()
        sums = _on_device().LAESOnDevice(model, self.device)
        yield lambda block: sums.add(cut.prepare(block))
        sums.merge_into(model)
        self._keep(model, cut)

    def _solve(self) -> None:
        if self.device == "cpu" or self._model.solved:
            super()._solve()
        else:
            _on_device().solve_laes_on_device(self._model, self.device)

    def _finish(self) -> None:
        super()._finish()
        if self.mode == "residual" and self.rank_ < self.hidden:
            warnings.warn(
                f"LAES: {self.rank_} hidden units tell all that these {self.n_sentences_} sentences say, so "
                f"that with hidden={self.hidden} their residuals are zero: give fewer, or more sentences",
                UserWarning,
                stacklevel=3,
            )

    def _with_statistics(self) -> bool:
        return self.pickle_statistics or not self._model.solved

    def _facts(self) -> dict[str, str]:
        facts = super()._facts()
        if self.fitted:
            facts["sentences"] = f"{self.n_sentences_:,}"
            facts["rank"] = str(self.rank_)
        return facts


def _on_device() -> Any:
    """The half that computes with torch."""
    require_nn()
    from .. import _nn

    return _nn
