"""The cache folder, for example of parsed word vectors."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from . import _core
from .files import as_path

__all__ = ["cache_dir", "limit_cache", "set_cache_dir"]

_MOST_BYTES = 16 << 30  # of a folder of the cache

_chosen: Path | None = None


def cache_dir() -> Path:
    """The cache folder, which may be deleted at any time and need not exist.

    It is `sentencode` in `$XDG_CACHE_HOME` or `~/.cache`, unless `set_cache_dir` has set another.

    Example:
        >>> import sentencode as se
        >>> se.cache_dir().name
        'sentencode'
    """
    if _chosen is not None:
        return _chosen
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "sentencode"


def set_cache_dir(path: str | os.PathLike[str] | None) -> None:
    """Sets the cache folder of this process.

    Args:
        path: Folder, created when it is needed. None: the default again.

    Example:
        >>> import sentencode as se
        >>> se.set_cache_dir("/tmp/elsewhere")
        >>> se.cache_dir()
        PosixPath('/tmp/elsewhere')
        >>> se.set_cache_dir(None)
    """
    global _chosen
    _chosen = None if path is None else as_path(path).expanduser().absolute()


def limit_cache(folder: Path, pattern: str) -> None:
    """Removes the oldest files of a folder of the cache above 16 GiB, unless they are in use."""
    entries = []
    for file in folder.glob(pattern):
        with suppress(FileNotFoundError):  # another process cleans, too
            info = file.stat()
            entries.append((info.st_mtime_ns, info.st_size, file))
    total = sum(size for _, size, _ in entries)
    for _, size, file in sorted(entries):
        if total > _MOST_BYTES and _core.remove_unused(file):
            total -= size
