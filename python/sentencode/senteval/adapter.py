"""SentEval's two functions of an encoder, `prepare` and `batcher`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import NotFittedError

__all__ = ["plugin"]

Embeddings = npt.NDArray[np.float32]
Sentence = str | tuple[str, ...]
Prepare = Callable[..., None]
Batcher = Callable[..., Embeddings]


class _Encoder(Protocol):
    """Required attributes of an encoder; with `fit_on_task` also `get_params` and `fit`."""

    @property
    def dim(self) -> int: ...

    def encode(self, sentences: Any, /) -> Any: ...


def plugin(
    encoder: Any, *, fit_on_task: bool = False, cache_mb: float = 256.0, empty: str | None = None
) -> tuple[Prepare, Batcher]:
    """Make the `prepare` and `batcher` functions that SentEval calls.

    Nothing is fitted to the sentences of a task, which include its test sentences, unless `fit_on_task` is
    set. Distinct sentences are encoded once, within the limits of the cache.

    Args:
        encoder: A fitted encoder; any object with `encode` and `dim`.
        fit_on_task: Fit a copy of the encoder on each task's sentences, test sentences included, before the
            task is run, as the paper of SIF did. The encoder itself is not changed, and need not be fitted.
        cache_mb: Memory for cached embeddings. 0: no cache.
        empty: Token that replaces an empty sentence; SentEval's own examples use ".". None: the embedding of
            an empty sentence is zero.

    Returns:
        `prepare(params, samples)` and `batcher(params, batch)`, for `senteval.engine.SE`. The batcher takes
        lists or arrays of sentences, each a list of tokens (`str` or `bytes`) or a string, ignores further
        arguments, and returns a C-contiguous float32 array with one row per sentence.

    Raises:
        NotFittedError: The encoder is not fitted and `fit_on_task` is not set.
        TypeError: It is not an encoder.
        ValueError: `cache_mb` is negative, or the encoder learns from encoded sentences and `fit_on_task` is
            not set.

    Example:
        >>> import numpy as np, sentencode as se
        >>> vectors = se.WordVectors.from_array(["cat", "dog"], np.eye(2, dtype=np.float32))
        >>> prepare, batcher = se.senteval.plugin(se.Average(vectors))
        >>> params = {"task_path": "data"}
        >>> prepare(params, [["cat", "dog"], []])
        >>> batcher(params, [["cat", "dog"], []])
        array([[0.5, 0.5],
               [0. , 0. ]], dtype=float32)
    """
    if not cache_mb >= 0:
        raise ValueError(f"plugin: cache_mb must be at least 0, got {cache_mb!r}")
    name = type(encoder).__name__
    missing = [what for what in ("encode", "fit" if fit_on_task else "dim") if not hasattr(encoder, what)]
    if missing and getattr(encoder, "fitted", True):
        raise TypeError(f"plugin: expected an encoder, but this {name} has no {' and no '.join(missing)}")
    if not (fit_on_task or getattr(encoder, "fitted", True)):
        raise NotFittedError(
            f"plugin: this {name} has not been fitted. Call fit with training sentences first; or pass "
            "fit_on_task=True to fit on the sentences of each task, which include the test sentences."
        )
    if not fit_on_task and getattr(encoder, "statistics", None) == "evaluated":
        raise ValueError(
            f"plugin: {name} with statistics='evaluated' learns from all sentences of a call, and SentEval "
            "passes small batches. Pass fit_on_task=True: it then learns from all sentences of a task."
        )
    adapter = _Adapter(encoder, fit_on_task, int(cache_mb * 2**20), empty)
    return adapter.prepare, adapter.batcher


class _Adapter:
    def __init__(self, encoder: Any, fit_on_task: bool, cache_bytes: int, empty: str | None) -> None:
        self.original = encoder
        self.encoder: _Encoder = encoder
        self.fit_on_task = fit_on_task
        self.cache_bytes = cache_bytes
        self.empty: Sentence = () if empty is None else (empty,)
        self.cache: OrderedDict[Sentence, Embeddings] = OrderedDict()  # least recently used first
        self.model: Any = None  # of the cached embeddings; a refitted encoder has another

    def prepare(self, params: Any, samples: Iterable[Any], *args: Any, **kwargs: Any) -> None:
        self.cache.clear()
        if not self.fit_on_task:
            return
        options = self.original.get_params(deep=False)
        if options.get("statistics") == "evaluated":  # all evaluated sentences are here
            options["statistics"] = "fit"
        self.encoder = type(self.original)(**options).fit([_encodable(self.sentence(s)) for s in samples])

    def batcher(self, params: Any, batch: Sequence[Any], *args: Any, **kwargs: Any) -> Embeddings:
        model = getattr(self.encoder, "_model", None)
        if model is not self.model:
            self.cache.clear()
            self.model = model
        sentences = [self.sentence(s) for s in batch]
        by_sentence = {s: self.cache[s] for s in sentences if s in self.cache}
        new = list(dict.fromkeys(s for s in sentences if s not in by_sentence))
        if new:
            rows = np.asarray(self.encoder.encode([_encodable(s) for s in new]), dtype=np.float32)
            by_sentence.update(zip(new, rows, strict=True))
        self.remember(by_sentence)
        out = np.empty((len(sentences), self.encoder.dim), dtype=np.float32)
        for row, sentence in zip(out, sentences, strict=True):
            row[:] = by_sentence[sentence]
        return out

    def remember(self, by_sentence: dict[Sentence, Embeddings]) -> None:
        capacity = self.cache_bytes // (4 * self.encoder.dim)
        for sentence, row in by_sentence.items():
            if sentence in self.cache:
                self.cache.move_to_end(sentence)
            else:
                self.cache[sentence] = row.copy()  # a view would keep the whole batch
        while len(self.cache) > capacity:
            self.cache.popitem(last=False)

    def sentence(self, sample: Any) -> Sentence:
        if isinstance(sample, str | bytes):
            return _text(sample) or self.empty
        return tuple(_text(token) for token in sample) or self.empty


def _text(token: str | bytes) -> str:
    """A token as `str`; image captions are UTF-8 bytes."""
    return token.decode("utf-8", "replace") if isinstance(token, bytes) else str(token)


def _encodable(sentence: Sentence) -> str | list[str]:
    return sentence if isinstance(sentence, str) else list(sentence)
