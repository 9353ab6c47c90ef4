"""Batches of examples, in an order that a seed chooses."""

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
    """Some examples, padded. Its arrays are its own: torch may take them over without a copy.

    Attributes:
        ids: For each field, ids [B, T], padded to the longest.
        lengths: For each field, how many of them are the example's [B].
        labels: Labels [B], or None.
        numbers: Which examples these are [B].
        epoch: The epoch, from 0.
        step: The batch's place in it, from 0.
        total: The examples in the batches of all processes together.
        tokens: For each field, the tokens in the batches of all processes together, without padding.
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
    """Cuts examples into batches, every example once in an epoch, in an order that a seed chooses.

    Which examples are in a batch is a pure function of the seed, the epoch and the step. So the position is
    two integers, and going on from it needs nothing else; nothing is held in memory that grows with the
    corpus.

    Args:
        examples: The examples.
        mode: Which of them share a batch. `"equal_length"`: those of one length, so that nothing is padded.
            `"buckets"`: those whose lengths are in one range. `"sorted_buffer"`: of so many batches of the
            shuffled order, those of similar length. `"token_budget"`: as many of similar length as fit into
            `max_tokens`. `"plain"`: as they come.
        length_fields: The fields whose lengths these are. Examples are sorted by the first of them, equally
            long ones by the next; examples of a batch have the same length, or one range, in each of them.
            Where it is not the first field alone, the order takes 4 bytes an example of a temporary file,
            beside the examples if that can be written. None: the first field.
        batch_size: Examples in a batch, of all processes together. For `"token_budget"` the most there may
            be, or None.
        bounds: For `"buckets"`, the longest length of each, rising; longer examples are in one more.
        buffer_batches: For `"sorted_buffer"`, how many batches' worth are sorted together.
        max_tokens: For `"token_budget"`, the tokens of these fields together, padding counted.
        shuffle: Whether there is any chance in the order. If not, every epoch is the same: the order of the
            file, or rising lengths.
        drop_short: Whether batches of less than `batch_size` are left out; other examples in each epoch.
        seed: Chooses the order, with the epoch.
        pad: The id behind an example's end.
        rank: Which one of several processes this is. It gets every `world`-th example of each batch, from the
            `rank`-th on, so that together they see what one process would; none, where the batch has too few.
        world: How many processes there are.
        threads: That make batches ahead of their use, where it is iterated over. A `Trainer` has one of its
            own, and begins at the step that it is at.
        ahead: How many batches are made ahead at most, likewise.

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
        )
        self._threads = checked_int("threads", threads, 1, 1024)
        self._ahead = checked_int("ahead", ahead, 1, 2**20)
        self._position = (0, 0)
        self._loader: _core.BatchLoader | None = None

    def __len__(self) -> int:
        """The batches of an epoch."""
        return self.core.steps

    @property
    def state(self) -> dict[str, int]:
        """The position of the batch that comes next: all that going on needs."""
        return dict(zip(("epoch", "step"), self._position, strict=True))

    def resume(self, state: Mapping[str, int]) -> None:
        """Goes to a position.

        Args:
            state: What `state` was there. A step behind an epoch's last one is refused: the examples or the
                options must be others.
        """
        if set(state) != {"epoch", "step"}:
            raise ValueError(f"state must have 'epoch' and 'step', got {sorted(state)}")
        step = checked_int("state['step']", state["step"], 0, len(self) - 1)
        self.close()
        self._position = (checked_int("state['epoch']", state["epoch"], 0), step)

    def batch(self, epoch: int, step: int) -> Batch:
        """Any batch, wherever the position is.

        Args:
            epoch: From 0.
            step: From 0 to `len(batcher) - 1`.
        """
        last = len(self) - 1
        return self._made(self.core.batch(checked_int("epoch", epoch, 0), checked_int("step", step, 0, last)))

    def __iter__(self) -> Iterator[Batch]:
        """The batches from the position to the end of its epoch; the position goes on with each."""
        epoch = self._position[0]
        while self._position[0] == epoch:
            if self._loader is None:
                self._loader = _core.BatchLoader(
                    self.core, *self._position, threads=self._threads, ahead=self._ahead
                )
            batch = self._made(self._loader.next())
            following = (batch.epoch, batch.step + 1)
            self._position = following if following[1] < len(self) else (batch.epoch + 1, 0)
            yield batch

    def close(self) -> None:
        """Ends the threads; iterating starts them again."""
        self._loader = None

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a Batcher has threads and cannot be pickled; save its state, two integers")

    def __repr__(self) -> str:
        return f"Batcher({self.examples!r}, {len(self):,} batches an epoch, at {self.state})"

    def _made(self, parts: tuple[Any, ...]) -> Batch:
        epoch, step, total, numbers, fields, int_labels, float_labels = parts
        kind = None if self.examples.labels is None else self.examples.labels.dtype
        names = self.examples.fields
        return Batch(
            ids={name: field[0] for name, field in zip(names, fields, strict=True)},
            lengths={name: field[1] for name, field in zip(names, fields, strict=True)},
            labels=None if kind is None else int_labels if kind == np.int64 else float_labels,
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
