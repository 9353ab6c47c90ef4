"""The two functions through which SentEval talks to an encoder."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import NotFittedError

__all__ = ["plugin"]

Rows = npt.NDArray[np.float32]
Sentence = str | tuple[str, ...]
Prepare = Callable[..., None]
Batcher = Callable[..., Rows]


class _Encoder(Protocol):
    """All that is asked of an encoder here; `get_params` and `fit` only with `fit_on_task`."""

    @property
    def dim(self) -> int: ...

    def encode(self, sentences: Any, /) -> Any: ...


def plugin(
    encoder: Any, *, fit_on_task: bool = False, cache_mb: float = 256.0, empty: str | None = None
) -> tuple[Prepare, Batcher]:
    """Makes the `prepare` and `batcher` functions that SentEval calls.

    The encoder is used as it is: nothing is learnt from the sentences of a task, which include its test
    sentences, unless `fit_on_task` asks for it. Every distinct sentence is encoded once as long as the cache
    can hold it: SICK, for one, repeats its captions many times.

    Args:
        encoder: A fitted encoder; anything that has `encode` and `dim`.
        fit_on_task: Fit a copy of the encoder on each task's sentences, test sentences included, before the
            task is run, as the paper of SIF did. The encoder itself stays untouched, and need not be fitted.
        cache_mb: How much memory the rows of sentences already seen may take. 0: no cache.
        empty: A token that stands for an empty sentence; SentEval's own examples take ".". None: an empty
            sentence is a row of zeros.

    Returns:
        `prepare(params, samples)` and `batcher(params, batch)`, to be given to `senteval.engine.SE`. The
        batcher takes lists or arrays of sentences, each a list of tokens (`str` or `bytes`) or a string, and
        any further arguments, and returns a C-contiguous float32 array with one row a sentence.

    Raises:
        NotFittedError: If the encoder has yet to be fitted and `fit_on_task` is not set.
        TypeError: If it is not an encoder.
        ValueError: If `cache_mb` is negative, or the encoder learns from what it encodes and `fit_on_task` is
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
            f"plugin: this {name} has not been fitted. Call fit with training sentences first; or, knowing "
            "that they include the test sentences, pass fit_on_task=True to fit on those of each task."
        )
    if not fit_on_task and getattr(encoder, "statistics", None) == "evaluated":
        raise ValueError(
            f"plugin: {name} with statistics='evaluated' learns from what is encoded together, and SentEval "
            "hands over small batches. Pass fit_on_task=True: it then learns from all of a task."
        )
    plug = _Plug(encoder, fit_on_task, int(cache_mb * 2**20), empty)
    return plug.prepare, plug.batcher


class _Plug:
    def __init__(self, encoder: Any, fit_on_task: bool, cache_bytes: int, empty: str | None) -> None:
        self.original = encoder
        self.encoder: _Encoder = encoder
        self.fit_on_task = fit_on_task
        self.cache_bytes = cache_bytes
        self.empty: Sentence = () if empty is None else (empty,)
        self.rows: OrderedDict[Sentence, Rows] = OrderedDict()  # least recently used first
        self.model: Any = None  # what they were made by: an encoder that is fitted again has another

    def prepare(self, params: Any, samples: Iterable[Any], *args: Any, **kwargs: Any) -> None:
        self.rows.clear()
        if not self.fit_on_task:
            return
        options = self.original.get_params(deep=False)
        if options.get("statistics") == "evaluated":  # what is evaluated is all here
            options["statistics"] = "fit"
        self.encoder = type(self.original)(**options).fit([_encodable(self.sentence(s)) for s in samples])

    def batcher(self, params: Any, batch: Sequence[Any], *args: Any, **kwargs: Any) -> Rows:
        model = getattr(self.encoder, "_model", None)
        if model is not self.model:
            self.rows.clear()
            self.model = model
        sentences = [self.sentence(s) for s in batch]
        found = {s: self.rows[s] for s in sentences if s in self.rows}
        new = list(dict.fromkeys(s for s in sentences if s not in found))
        if new:
            rows = np.asarray(self.encoder.encode([_encodable(s) for s in new]), dtype=np.float32)
            found.update(zip(new, rows, strict=True))
        self.remember(found)
        out = np.empty((len(sentences), self.encoder.dim), dtype=np.float32)
        for row, sentence in zip(out, sentences, strict=True):
            row[:] = found[sentence]
        return out

    def remember(self, found: dict[Sentence, Rows]) -> None:
        capacity = self.cache_bytes // (4 * self.encoder.dim)
        for sentence, row in found.items():
            if sentence in self.rows:
                self.rows.move_to_end(sentence)
            else:
                self.rows[sentence] = row.copy()  # not a view, which would keep the whole batch alive
        while len(self.rows) > capacity:
            self.rows.popitem(last=False)

    def sentence(self, given: Any) -> Sentence:
        if isinstance(given, str | bytes):
            return _text(given) or self.empty
        return tuple(_text(token) for token in given) or self.empty


def _text(token: str | bytes) -> str:
    """Image captions come as UTF-8 bytes, everything else as `str`."""
    return token.decode("utf-8", "replace") if isinstance(token, bytes) else str(token)


def _encodable(sentence: Sentence) -> str | list[str]:
    return sentence if isinstance(sentence, str) else list(sentence)
