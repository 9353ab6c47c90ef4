"""Encoders that cross to workers: by the name of their file, opened once in each process."""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
import threading
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._extras import require
from ..cache import cache_dir
from ..encoder import Encoder
from ..files import as_name, as_path, make_folder, whole_file, without_link
from ..linear.base import LinearEncoder
from ..saved import load
from ..threads import num_threads, set_num_threads
from .inputs import identity_at

__all__ = ["SavedEncoder", "computing", "use_threads", "worker_threads"]

_COPIED = 1 << 22  # bytes at a time

# Of this process: the encoders that are open, by what they were opened from, and who may compute: threads of
# one worker (Dask's) take turns, each with all threads of the worker.
_open: dict[Any, Encoder] = {}
_opening = threading.Lock()
_turn = threading.Lock()


@dataclass(frozen=True)
class SavedEncoder:
    """The file of an encoder, and what it must hold. A pickle of it is a few hundred bytes.

    Args:
        path: The file, or a URL of it that fsspec knows.
        fingerprint: That of the encoder.
        dim: The length of its rows.
        kind: Its class.
        options: For `sentencode.load`: a tokenizer, say.
        device: Where it computes, if it is a neural one. None: as it was saved.
        made_with: Tells options apart: fingerprints do not see the code of a tokenizer.
    """

    path: str
    fingerprint: str
    dim: int
    kind: str
    options: dict[str, Any] = field(default_factory=dict, hash=False)
    device: str | None = None
    made_with: str = ""

    @classmethod
    def of(
        cls, encoder: Any, options: dict[str, Any] | None = None, device: str | None = None
    ) -> SavedEncoder:
        """Of a file, or of an encoder, which is then saved below `cache_dir()`.

        Args:
            encoder: The path or URL of a file, or a fitted encoder.
            options: For `sentencode.load`.
            device: As above.

        Returns:
            What workers open.

        Raises:
            TypeError: If it is neither.
            FormatError: If the file is no encoder.
        """
        options = dict(options or {})
        if isinstance(encoder, Encoder):
            path, found = _saved(encoder), encoder
            cut = getattr(encoder, "tokenizer_", None)
            if cut is not None and cut.split == "external":
                options.setdefault("tokenizer", cut)
        elif isinstance(encoder, (str, bytes, os.PathLike)):
            path = as_name(encoder)
            if "://" not in path:
                path = os.path.abspath(path)
            found = load(_local(path, None), **options)
        else:
            raise TypeError(
                "encoder must be the path of a saved encoder, or one of Sentencode's encoders, "
                f"got a {type(encoder).__name__}"
            )
        if device is not None:
            _check_device(found, device)
        made_with = _digest(options)
        saved = cls(path, found.fingerprint(), found.dim, type(found).__name__, options, device, made_with)
        if found is not encoder and device is None:  # a user's own may be fitted anew
            with _opening:
                _open[saved._key] = found
        return saved

    @property
    def _key(self) -> tuple[str, str, str | None, str]:
        return self.path, self.fingerprint, self.device, self.made_with

    def open(self) -> Any:
        """The encoder; the first call of a process opens it, and maps its word vectors.

        Raises:
            FileNotFoundError: If this machine does not have the file.
            ValueError: If it holds another encoder by now.
        """
        with _opening:
            if self._key in _open:
                return _open[self._key]
            # Checksums were looked at where the job was started; mapped vectors are read when words are.
            found: Any
            try:
                found = load(_local(self.path, self.fingerprint), **{"verify": False, **self.options})
            except FileNotFoundError as error:
                raise FileNotFoundError(
                    2,
                    "a worker does not find the encoder; its file must be where every machine can read it",
                    self.path,
                ) from error
            if found.fingerprint() != self.fingerprint:
                raise ValueError(
                    f"{self.path}: holds another encoder than when the job was started: fingerprint "
                    f"{found.fingerprint()[:12]}, expected {self.fingerprint[:12]}"
                )
            if self.device is not None:
                found.set_params(device=self.device)
            _open[self._key] = found
            return found


def _digest(options: dict[str, Any]) -> str:
    try:
        return hashlib.sha256(pickle.dumps(sorted(options.items()))).hexdigest()
    except Exception:  # a function of a notebook: no two are known to be the same
        return uuid.uuid4().hex


def _saved(encoder: Encoder) -> str:
    """The file of an encoder, named by its content, so that it is written once."""
    path = cache_dir() / "encoders" / f"{encoder.fingerprint()}.sentencode"
    if not path.exists():
        make_folder(path.parent)
        with warnings.catch_warnings():  # the tokenizer crosses in the pickle
            warnings.simplefilter("ignore", UserWarning)
            encoder.save(without_link(path))  # type: ignore[attr-defined]
    return str(path)


def _local(path: str, fingerprint: str | None) -> str | Path:
    """A file of this machine: of a URL, a copy below `cache_dir()`, which all its workers share."""
    if "://" not in path:
        return as_path(path)
    fsspec = require("fsspec", "scale")
    fs, inner = fsspec.core.url_to_fs(path)
    name = fsspec.utils.tokenize(path, identity_at(fs, inner))
    kept = cache_dir() / "encoders" / f"{name}.sentencode"
    if not kept.exists():
        make_folder(kept.parent)
        with fs.open(inner, "rb") as source, whole_file(kept) as target:
            while block := source.read(_COPIED):
                target.write(block)
    return kept


def _check_device(encoder: Any, device: str) -> None:
    # A LAES has one, where it is fitted.
    if isinstance(encoder, LinearEncoder) or "device" not in encoder.get_params(deep=False):
        raise ValueError(f"device={device!r}: a {type(encoder).__name__} computes on the processor alone")


def worker_threads() -> int | None:
    """How many threads the engine that runs this process has given its worker; None outside of engines.

    Ray's `num_cpus` of the task or actor, Spark's `spark.task.cpus`, the threads of Dask's worker.

    Example:
        >>> worker_threads() is None
        True
    """
    for module, share in _SHARES.items():
        if module in sys.modules and (found := share(sys.modules[module])) is not None:
            return max(1, found)
    return None


def _ray_share(runtime_context: Any) -> int | None:
    ray: Any = sys.modules["ray"]
    if not ray.is_initialized():
        return None
    context = runtime_context.get_runtime_context()
    if context.worker.mode != ray.WORKER_MODE:
        return None  # the driver
    return int(context.get_assigned_resources().get("CPU", 1))


def _spark_share(taskcontext: Any) -> int | None:
    context = taskcontext.TaskContext.get()
    return None if context is None else int(context.cpus())


def _dask_share(worker: Any) -> int | None:
    try:
        return int(worker.get_worker().state.nthreads)
    except ValueError:  # of no worker
        return None


# By a module of the engine's own that was imported: somebody's folder "ray" or "distributed" is none.
_SHARES = {
    "ray.runtime_context": _ray_share,
    "pyspark.taskcontext": _spark_share,
    "distributed.worker": _dask_share,
}


def use_threads(threads: int | None) -> None:
    """Lets this process compute with its share of a machine.

    Args:
        threads: How many. None: what the engine has given this worker; outside of engines, as it is.
    """
    wanted = worker_threads() if threads is None else threads
    if wanted is not None and wanted != num_threads():
        set_num_threads(wanted)


@contextmanager
def computing(threads: int | None) -> Iterator[None]:
    """Waits until no other thread of this process computes, and does so with so many threads.

    Args:
        threads: As for `use_threads`. Outside of engines, there are as many as before at the end.
    """
    with _turn:
        before = num_threads()
        use_threads(threads)
        try:
            yield
        finally:
            if threads is not None and worker_threads() is None:
                use_threads(before)
