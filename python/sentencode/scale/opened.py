"""Encoders in workers: sent as the path of a file, and loaded once per process."""

from __future__ import annotations

import hashlib
import inspect
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
from ..cache import cache_dir, limit_cache
from ..encoder import Encoder
from ..files import as_name, as_path, make_folder, whole_file, without_link
from ..saved import load
from ..static_models.hub import static_path
from ..threads import num_threads, set_num_threads
from .inputs import identity_at

__all__ = ["SavedEncoder", "computing", "use_threads", "worker_threads"]

_COPY_BYTES = 1 << 22  # at a time
_MOST_OPEN = 8

_open: dict[Any, Encoder] = {}  # the encoders of this process, by `SavedEncoder._key`
_opening = threading.Lock()
_turn = threading.Lock()  # threads of a Dask worker take turns, each with all threads of the worker


@dataclass(frozen=True)
class SavedEncoder:
    """The file of an encoder, and the encoder that it must hold. Its pickle has a few hundred bytes.

    Args:
        path: Path, or URL of fsspec.
        fingerprint: Fingerprint of the encoder.
        dim: Dimensions of an embedding.
        kind: Class of the encoder.
        options: Keywords of `sentencode.load`.
        device: Device of a neural encoder. None: as it was saved.
        made_with: Hash of the options; fingerprints do not cover the code of a tokenizer.
        computes_on: `device`, or where the encoder computes in the process that started the job.
    """

    path: str
    fingerprint: str
    dim: int
    kind: str
    options: dict[str, Any] = field(default_factory=dict, hash=False)
    device: str | None = None
    made_with: str = ""
    computes_on: str = "cpu"

    @classmethod
    def of(
        cls, encoder: Any, options: dict[str, Any] | None = None, device: str | None = None
    ) -> SavedEncoder:
        """The `SavedEncoder` of a file, or of an encoder, which is saved below `cache_dir()`.

        Args:
            encoder: Path or URL of a saved encoder, or a fitted encoder.
            options: Keywords of `sentencode.load`.
            device: Device of a neural encoder.

        Raises:
            TypeError: `encoder` is something else.
            FormatError: The file is not an encoder.
        """
        options = dict(options or {})
        if unknown := set(options) - set(inspect.signature(load).parameters):
            raise TypeError(
                f"unexpected keyword {min(unknown)!r}; those of sentencode.load are possible, too"
            )
        if isinstance(encoder, Encoder):
            tokenizer = getattr(encoder, "tokenizer_", None)
            if tokenizer is not None and tokenizer.split == "external":
                options.setdefault("tokenizer", tokenizer)
            path, loaded = _saved(encoder, options), encoder
        elif isinstance(encoder, (str, bytes, os.PathLike)):
            path = as_name(encoder)
            if "://" not in path:
                path = os.path.abspath(static_path(path) or path)
            loaded = load(_local(path), **options)
        else:
            raise TypeError(
                "encoder must be the path of a saved encoder, or one of Sentencode's encoders, "
                f"got a {type(encoder).__name__}"
            )
        if device is not None:
            _check_device(loaded, device)
        made_with = _digest(options)
        computes_on = device or _device_of(loaded)
        kind = type(loaded).__name__
        saved = cls(path, loaded.fingerprint(), loaded.dim, kind, options, device, made_with, computes_on)
        if loaded is not encoder and device is None:  # the user may fit `encoder` again
            with _opening:
                _keep(saved._key, loaded)
        return saved

    @property
    def _key(self) -> tuple[str, str, str | None, str]:
        return self.path, self.fingerprint, self.device, self.made_with

    def open(self) -> Any:
        """The encoder; the first call of a process loads it.

        Raises:
            FileNotFoundError: This machine does not have the file.
            ValueError: The file holds another encoder by now.
        """
        with _opening:
            if self._key in _open:
                return _open[self._key]
            loaded: Any  # without checksums, which were verified when the job was started
            try:
                loaded = load(_local(self.path), **{"verify": False, **self.options})
            except FileNotFoundError as error:
                raise FileNotFoundError(
                    2,
                    "a worker does not find the encoder; every machine must be able to read its file",
                    self.path,
                ) from error
            if loaded.fingerprint() != self.fingerprint:
                raise ValueError(
                    f"{self.path}: holds another encoder than when the job was started: fingerprint "
                    f"{loaded.fingerprint()[:12]}, expected {self.fingerprint[:12]}"
                )
            if self.device is not None:
                loaded.to(self.device)
            _keep(self._key, loaded)
            return loaded


def _keep(key: Any, encoder: Encoder) -> None:
    """Keeps an encoder open, and closes those that were opened long before."""
    _open[key] = encoder
    while len(_open) > _MOST_OPEN:
        del _open[next(iter(_open))]


def _digest(options: dict[str, Any]) -> str:
    try:
        return hashlib.sha256(pickle.dumps(sorted(options.items()))).hexdigest()
    except Exception:  # a function of a notebook: unlike any other
        return uuid.uuid4().hex


def _saved(encoder: Encoder, options: dict[str, Any]) -> str:
    """The file of an encoder, named by its fingerprint, so that it is written once, unless it is damaged."""
    path = cache_dir() / "encoders" / f"{encoder.fingerprint()}.sentencode"
    with warnings.catch_warnings():  # the tokenizer is in the pickle
        warnings.simplefilter("ignore", UserWarning)
        try:
            load(path, **{**options, "verify": True})
        except (OSError, ValueError):
            make_folder(path.parent)
            encoder.save(without_link(path))  # type: ignore[attr-defined]
            limit_cache(path.parent, "*.sentencode")
    return str(path)


def _local(path: str) -> Path:
    """A local file: for a URL, a copy below `cache_dir()`, which all workers of this machine share."""
    if "://" not in path:
        return as_path(path)
    fsspec = require("fsspec", "scale")
    fs, inner = fsspec.core.url_to_fs(path)
    name = fsspec.utils.tokenize(path, identity_at(fs, inner))
    copy = cache_dir() / "encoders" / f"{name}.sentencode"
    if not copy.exists():
        make_folder(copy.parent)
        with fs.open(inner, "rb") as source, whole_file(copy) as target:
            while block := source.read(_COPY_BYTES):
                target.write(block)
    return copy


def _check_device(encoder: Any, device: str) -> None:
    if not hasattr(encoder, "to"):
        raise ValueError(f"device={device!r} is for a neural encoder, got a {type(encoder).__name__}")


def _device_of(encoder: Any) -> str:
    """Where an encoder computes, or one of those that it consists of."""
    parts = (encoder, getattr(encoder, "encoder", None), *getattr(encoder, "encoders", ()))
    devices = [str(getattr(part, "_device", "cpu")) for part in parts]
    return next((device for device in devices if device != "cpu"), "cpu")


def worker_threads() -> int | None:
    """The number of threads that an engine grants this worker; None outside of engines.

    It is Ray's `num_cpus` of the task or actor, `spark.task.cpus`, or the threads of Dask's worker.

    Example:
        >>> worker_threads() is None
        True
    """
    for module, share in _SHARES.items():
        if module in sys.modules and (threads := share(sys.modules[module])) is not None:
            return max(1, threads)
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
    except ValueError:  # not in a worker
        return None


# By a submodule of the engine: a user's folder may be called "ray" or "distributed".
_SHARES = {
    "ray.runtime_context": _ray_share,
    "pyspark.taskcontext": _spark_share,
    "distributed.worker": _dask_share,
}


def use_threads(threads: int | None) -> None:
    """Sets the number of threads; None: to the worker's share, or unchanged outside of engines."""
    threads = worker_threads() if threads is None else threads
    if threads is not None and threads != num_threads():
        set_num_threads(threads)


@contextmanager
def computing(threads: int | None) -> Iterator[None]:
    """Computes with `threads` threads, as for `use_threads`, while no other thread of this process does.

    Outside of engines, the number of threads is restored.
    """
    with _turn:
        before = num_threads()
        use_threads(threads)
        try:
            yield
        finally:
            if threads is not None and worker_threads() is None:
                use_threads(before)
