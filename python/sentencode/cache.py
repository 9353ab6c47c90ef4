"""The cache folder, for example of parsed word vectors."""

from __future__ import annotations

import os
from pathlib import Path

from .files import as_path

__all__ = ["cache_dir", "set_cache_dir"]

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
