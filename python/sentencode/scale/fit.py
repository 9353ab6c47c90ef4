"""Fits linear encoders to files, on any engine."""

from __future__ import annotations

import os
import pickle
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from ..checks import checked_str
from ..encoder import in_blocks
from ..files import without_link
from ..linear import LAES
from ..linear.base import LinearEncoder
from ..progress import progress as progress_bar
from ..sizes import bytes_of
from ..vectors import WordVectors
from .engines import Engine, engine_of
from .folders import Folder
from .inputs import inputs_of
from .shards import Columns, shards_of
from .sums import Paths, add_sums, scratch_folder

__all__ = ["fit", "statistics_bytes"]

_Encoder = TypeVar("_Encoder", bound=LinearEncoder)

_SMALL = 1 << 26  # bytes of sums: of smaller ones there may be more than workers
_WORKER_BYTES = 1 << 28  # memory of a worker without its sums: Python, text, word vectors in use


def fit(
    encoder: _Encoder,
    inputs: Paths,
    *,
    engine: str | Engine = "local",
    workers: int | None = None,
    threads: int | None = None,
    column: str = "text",
    shard_size: int | str = "64MB",
    scratch: str | os.PathLike[str] | None = None,
    memory: int | str | None = None,
    shorten: bool = False,
    show_progress_bar: bool | None = None,
) -> _Encoder:
    r"""Fits a linear encoder to files, on this machine or on a cluster: as its `fit` does, but for rounding.

    Each task sums the statistics of some shards into a file; further tasks merge eight files at a time, and
    this process solves for the parameters. Shards, their order and the engine change the sums by rounding
    only: 1e-7 of them. The sums of a lost worker are computed again, and each file is merged once.

    Args:
        encoder: A `SIF`, `USIF` or `LAES`; earlier training is forgotten.
        inputs: As for `encode`.
        engine: As for `encode`.
        workers: Likewise.
        threads: Likewise.
        column: Likewise.
        shard_size: Likewise.
        scratch: Folder or URL for the sums, which all machines read and write. They are removed at the end,
            and those of stopped jobs of a machine with this name at the start. None: a temporary folder of
            this machine.
        memory: Memory of a worker, in bytes or as in "8GB"; it holds up to three sums of `statistics_bytes`.
            None: not limited.
        shorten: Whether to lower `max_length` of a LAES until it fits into `memory`, instead of an error.
        show_progress_bar: Whether to show one. None: if the logger "sentencode" shows information.

    Returns:
        The encoder itself, fitted.

    Raises:
        TypeError: `encoder` is another object.
        ValueError: There are no sentences, or the sums do not fit into `memory`.
        FormatError: An input cannot be read; the message says where.
        OSError: A file cannot be read or written.
        RuntimeError: A worker is lost again and again.

    Example:
        >>> import pathlib, tempfile, sentencode as se
        >>> vectors = se.WordVectors.from_dict({"the": [3, 1], "cat": [1, 2], "dog": [1, -2]})
        >>> path = pathlib.Path(tempfile.mkdtemp(), "in.txt")
        >>> _ = path.write_text("the cat\nthe dog\nthe\n")
        >>> sif = se.scale.fit(se.SIF(vectors, a=None), path, workers=1, shard_size=10)
        >>> sif.components_.round(2)
        array([[0.95, 0.31]], dtype=float32)
    """
    if not isinstance(encoder, LinearEncoder) or not encoder._learns:
        raise TypeError(f"fit: expected a SIF, USIF or LAES that learns, got {encoder!r:.60}")
    most = None if memory is None else bytes_of("memory", memory)
    if most is not None:
        _check_memory(encoder, most, shorten)
    columns = Columns(checked_str("column", column))
    shards, columns = shards_of(inputs_of(inputs), columns, bytes_of("shard_size", shard_size))
    device = getattr(encoder, "device", None)
    runner = engine_of(engine, workers=workers, threads=threads, device=device)
    fresh: Any = type(encoder)(**encoder.get_params(deep=False))
    fresh._forget()  # checks the parameters
    with scratch_folder(scratch) as folder, progress_bar(show_progress_bar, "fit", "B") as bar:
        new = _Template.of(fresh, folder)
        large = statistics_bytes(fresh) > _SMALL
        add_sums(_Statistics(fresh), new, runner, folder, shards, columns, bar, large=large)
    fresh._finish()
    encoder._take(fresh)
    return encoder


def statistics_bytes(encoder: LinearEncoder) -> int:
    """The size in bytes of the sums that an encoder is fitted from: the most that one worker sends.

    SIF and uSIF: 8 n^2 bytes, for n-dimensional word vectors. LAES: 4 n^2 L (L + 1) per direction, where L is
    `max_length`, or the longest sentence if that is shorter.

    Example:
        >>> import sentencode as se
        >>> vectors = se.WordVectors.default()
        >>> from sentencode.scale import statistics_bytes
        >>> statistics_bytes(se.SIF(vectors)), statistics_bytes(se.LAES(vectors, max_length=64))
        (175232, 364482560)
    """
    n = encoder._word_vectors.dim
    if not isinstance(encoder, LAES):
        return 8 * n * n
    length, directions = encoder.max_length, 2 if encoder.direction == "both" else 1
    return directions * 4 * n * n * length * (length + 1)


def _check_memory(encoder: LinearEncoder, most: int, shorten: bool) -> None:
    """Raises ValueError if a worker cannot hold the sums, or lowers `max_length`."""
    # Three copies: the file, the sum that it holds, and the total.
    needed = _WORKER_BYTES + 3 * statistics_bytes(encoder)
    if needed <= most:
        return
    if not isinstance(encoder, LAES):
        raise ValueError(f"memory: a worker needs {needed:,} bytes for the sums, and may use {most:,}")
    max_length = encoder.max_length
    for length in range(max_length - 1, 0, -1):
        encoder.max_length = length
        if _WORKER_BYTES + 3 * statistics_bytes(encoder) <= most:
            break
    else:
        encoder.max_length = max_length
        raise ValueError(f"memory: a worker needs more than {most:,} bytes, even for sentences of one word")
    if not shorten:
        length, encoder.max_length = encoder.max_length, max_length
        raise ValueError(
            f"memory: with max_length={max_length} a worker needs {needed:,} bytes for the sums of a LAES, "
            f"and may use {most:,}; max_length={length} fits (shorten=True takes it)"
        )
    warnings.warn(f"max_length was {max_length}; with this memory it is {length}", UserWarning, stacklevel=3)


@dataclass
class _Statistics:
    """The sums of a linear encoder, a `Sum`."""

    encoder: Any

    @contextmanager
    def adding(self) -> Iterator[Callable[[Any], None]]:
        """A context with a function that adds sentences."""
        with self.encoder._learning() as take:
            yield partial(in_blocks, take=take, show_progress_bar=False)

    def add(self, content: bytes) -> None:
        """Adds the sums of another encoder."""
        self.encoder._add_statistics(content)

    def content(self) -> bytes:
        """The sums as bytes."""
        return bytes(self.encoder._statistics_to_bytes())


@dataclass(frozen=True)
class _Template:
    """Returns unfitted copies of an encoder, from a pickle in the scratch folder that a worker reads once.

    The pickle's name is unique: workers may outlive a job.
    """

    folder: Folder
    name: str

    @classmethod
    def of(cls, encoder: LinearEncoder, folder: Folder) -> _Template:
        table = encoder._word_vectors
        if table.path is None:  # otherwise the pickle would hold all vectors
            if not folder.is_local:
                raise ValueError(
                    "the word vectors are in memory alone: save them where every machine reads them, and "
                    "load them from there (WordVectors.save, load)"
                )
            path = without_link(folder.name_of("vectors.sentencode"))
            table.save(path)
            table = WordVectors.load(path)
        unfitted = type(encoder)(**{**encoder.get_params(deep=False), "vectors": table})
        name = f"encoder-{uuid.uuid4().hex}"
        try:
            content = pickle.dumps(unfitted)
        except (AttributeError, TypeError, pickle.PicklingError) as error:
            raise ValueError(
                f"workers cannot import the tokenizer, such as a lambda: define it in a module ({error})"
            ) from error
        folder.write(name, content)
        return cls(folder, name)

    def __call__(self) -> _Statistics:
        key = self.folder.name_of(self.name)
        if key not in _templates:
            _templates.clear()  # of earlier jobs
            _templates[key] = pickle.loads(self.folder.read(self.name))
        template = _templates[key]
        encoder = template._sibling(type(template), **template.get_params(deep=False))
        encoder._forget()
        return _Statistics(encoder)


_templates: dict[str, Any] = {}
