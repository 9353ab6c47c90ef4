"""Reproducible batches of examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sentencode import _core

from ..checks import checked_bool, checked_int, checked_str
from .examples import Examples

__all__ = ["Batch", "Batcher"]

Mode = Literal["plain", "equal_length", "buckets", "sorted_buffer", "token_budget"]


@dataclass(frozen=True)
class Batch:
    """A batch of padded examples. It owns its arrays, so torch can use them without a copy.

    Attributes:
        ids: For each field, ids [B, T], padded to the longest example.
        lengths: For each field, the lengths without padding [B].
        labels: Labels [B], or None.
        numbers: Indices of the examples in their file [B].
        epoch: Epoch, from 0.
        step: Number of the batch in the epoch, from 0.
        total: Number of examples in all processes.
        tokens: For each field, the number of tokens in all processes, without padding.
    """

    ids: dict[str, npt.NDArray[np.int64]]
    lengths: dict[str, npt.NDArray[np.int64]]
    labels: npt.NDArray[np.int64] | npt.NDArray[np.float32] | None
    numbers: npt.NDArray[np.int64]
    epoch: int
    step: int
    total: int
    tokens: dict[str, int]

    def __len__(self) -> int:
        return len(self.numbers)


class Batcher:
    """Data loader: groups examples into shuffled batches, every example once in an epoch.

    A batch is a pure function of the seed, the epoch and the step. A position is therefore two integers,
    from which iteration can be resumed, and memory does not grow with the corpus.

    Args:
        examples: Examples.
        mode: How examples are grouped. `"equal_length"`: by their length, without any padding. `"buckets"`:
            by ranges of lengths. `"sorted_buffer"`: by similar length within `buffer_batches` batches of the
            shuffled order. `"token_budget"`: by similar length, as many as fit into `max_tokens`.
            `"plain"`: not at all.
        length_fields: Fields whose lengths count. Examples are sorted by the first of them, then by the next;
            those of a batch have the same length, or range, in each. None: the first field. Otherwise, the
            order takes 4 bytes an example in a temporary file, in the folder of the examples if possible.
        batch_size: Number of examples in a batch, in all processes. For `"token_budget"` the maximum, or
            None.
        bounds: For `"buckets"`, the maximum length of each bucket, ascending; longer examples are in one
            more.
        buffer_batches: For `"sorted_buffer"`, the number of batches that are sorted together.
        max_tokens: For `"token_budget"`, the number of tokens in these fields, including padding.
        shuffle: Whether to shuffle. If False, every epoch has the order of the file, or ascending lengths.
        drop_short: Whether to drop batches of less than `batch_size`; they differ from epoch to epoch.
        seed: Seed of the order, together with the epoch.
        pad: Id of padding.
        rank: Rank of this process. It gets every `world`-th example of each batch, from the `rank`-th on, so
            that together, processes see the batches of a single one; a small batch may have none for it.
        world: Number of processes.
        threads: Threads that prefetch batches in an iteration. A `Trainer` has one of its own.
        ahead: Maximum number of prefetched batches.

    Raises:
        ValueError: The options contradict each other, or make no batch.

    Example:
        >>> import tempfile, os
        >>> from sentencode import Vocabulary
        >>> from sentencode.training import Batcher, Examples
        >>> folder = tempfile.TemporaryDirectory()
        >>> sentences = ["a", "b c", "a b", "c", "a a"]
        >>> vocabulary = Vocabulary({"a": 3, "b": 2, "c": 1})
        >>> examples = Examples.build(sentences, vocabulary, path=os.path.join(folder.name, "file"))
        >>> batcher = Batcher(examples, batch_size=2, shuffle=False)
        >>> len(batcher)
        3
        >>> for batch in batcher:
        ...     print(batch.step, batch.ids["tokens"].tolist(), batcher.state)
        0 [[0], [2]] {'epoch': 0, 'step': 1}
        1 [[1, 2], [0, 1]] {'epoch': 0, 'step': 2}
        2 [[0, 0]] {'epoch': 1, 'step': 0}
        >>> batcher.resume({"epoch": 7, "step": 1})
        >>> [(batch.epoch, batch.step) for batch in batcher]
        [(7, 1), (7, 2)]
        >>> batcher.close()
        >>> folder.cleanup()
    """

    def __init__(
        self,
        examples: Examples,
        *,
        mode: Mode = "equal_length",
        length_fields: Sequence[str] | None = None,
        batch_size: int | None = 64,
        bounds: Sequence[int] | None = None,
        buffer_batches: int = 100,
        max_tokens: int | None = None,
        shuffle: bool = True,
        drop_short: bool = False,
        seed: int = 0,
        pad: int = 0,
        rank: int = 0,
        world: int = 1,
        threads: int = 1,
        ahead: int = 8,
    ) -> None:
        if not isinstance(examples, Examples):
            raise TypeError(f"examples must be Examples, got {type(examples).__name__}")
        if batch_size is None and mode != "token_budget":
            raise ValueError(f"batch_size may be None for the mode 'token_budget' alone, not {mode!r}")
        self.examples = examples
        self.core = _core.Batcher(
            examples.core,
            mode=checked_str("mode", mode),
            length_fields=_checked_fields(length_fields, examples),
            batch_size=0 if batch_size is None else checked_int("batch_size", batch_size, 1),
            bounds=[checked_int(f"bounds[{i}]", bound, 0) for i, bound in enumerate(bounds or ())],
            buffer_batches=checked_int("buffer_batches", buffer_batches, 1),
            max_tokens=0 if max_tokens is None else checked_int("max_tokens", max_tokens, 1),
            shuffle=checked_bool("shuffle", shuffle),
            drop_short=checked_bool("drop_short", drop_short),
            seed=checked_int("seed", seed, 0, 2**64 - 1),
            pad=checked_int("pad", pad, -(2**63)),
            rank=checked_int("rank", rank, 0),
            world=checked_int("world", world, 1),
            numbers=examples.numbers,
        )
        self._threads = checked_int("threads", threads, 1, 1024)
        self._ahead = checked_int("ahead", ahead, 1, 2**20)
        self._position = (0, 0)
        self._loader: _core.BatchLoader | None = None

    def __len__(self) -> int:
        """Number of batches in an epoch."""
        return self.core.steps

    @property
    def state(self) -> dict[str, int]:
        """Position of the next batch, for `resume`."""
        return dict(zip(("epoch", "step"), self._position, strict=True))

    def resume(self, state: Mapping[str, int]) -> None:
        """Continues from a position.

        Args:
            state: Value of `state` there. A step beyond the end of an epoch is refused: the examples or the
                options must be different.
        """
        if set(state) != {"epoch", "step"}:
            raise ValueError(f"state must have 'epoch' and 'step', got {sorted(state)}")
        step = checked_int("state['step']", state["step"], 0, len(self) - 1)
        self.close()
        self._position = (checked_int("state['epoch']", state["epoch"], 0), step)

    def batch(self, epoch: int, step: int) -> Batch:
        """Return any batch, independently of the position.

        Args:
            epoch: Epoch, from 0.
            step: Step, from 0 to `len(batcher) - 1`.
        """
        last = len(self) - 1
        return self._to_batch(
            self.core.batch(checked_int("epoch", epoch, 0), checked_int("step", step, 0, last))
        )

    def __iter__(self) -> Iterator[Batch]:
        """Yields the batches from the position to the end of the epoch, and advances the position."""
        epoch = self._position[0]
        while self._position[0] == epoch:
            if self._loader is None:
                self._loader = _core.BatchLoader(
                    self.core, *self._position, threads=self._threads, ahead=self._ahead
                )
            batch = self._to_batch(self._loader.next())
            is_last = batch.step + 1 == len(self)
            self._position = (batch.epoch + 1, 0) if is_last else (batch.epoch, batch.step + 1)
            yield batch

    def close(self) -> None:
        """Stops the threads; an iteration starts them again."""
        self._loader = None

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a Batcher has threads and cannot be pickled; save its state, two integers")

    def __repr__(self) -> str:
        return f"Batcher({self.examples!r}, {len(self):,} batches an epoch, at {self.state})"

    def _to_batch(self, parts: tuple[Any, ...]) -> Batch:
        epoch, step, total, numbers, fields, int_labels, float_labels = parts
        dtype = None if self.examples.labels is None else self.examples.labels.dtype
        names = self.examples.fields
        return Batch(
            ids={name: field[0] for name, field in zip(names, fields, strict=True)},
            lengths={name: field[1] for name, field in zip(names, fields, strict=True)},
            labels=None if dtype is None else int_labels if dtype == np.int64 else float_labels,
            numbers=numbers,
            epoch=epoch,
            step=step,
            total=total,
            tokens={name: field[2] for name, field in zip(names, fields, strict=True)},
        )


def _checked_fields(names: Sequence[str] | None, examples: Examples) -> list[str]:
    if names is None:
        return []
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise TypeError(f"length_fields must be a sequence of names, got {names!r:.40}")
    if not names:
        raise ValueError("length_fields must name a field, got none")
    for i, name in enumerate(names):
        if checked_str(f"length_fields[{i}]", name) not in examples.fields or name in names[:i]:
            shown = ", ".join(map(repr, examples.fields))
            raise ValueError(f"length_fields must be some of {shown}, each once; got {name!r} at {i}")
    return list(names)
