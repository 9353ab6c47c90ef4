"""Where Sentencode keeps what it can make again, such as parsed word vectors."""

from __future__ import annotations

import os
from pathlib import Path

from .files import as_path

__all__ = ["cache_dir", "set_cache_dir"]

_chosen: Path | None = None


def cache_dir() -> Path:
    """The folder for what can be made again; all of it may be deleted at any time.

    It is `sentencode` in the folder that the variable `XDG_CACHE_HOME` names, or else in `~/.cache`, unless
    `set_cache_dir` has chosen another. It need not exist.

    Returns:
        The folder's path.

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
    """Chooses the folder that `cache_dir` gives, for this process.

    Args:
        path: A folder, made when it is first needed. None: the usual one again.

    Example:
        >>> import sentencode as se
        >>> se.set_cache_dir("/tmp/elsewhere")
        >>> se.cache_dir()
        PosixPath('/tmp/elsewhere')
        >>> se.set_cache_dir(None)
    """
    global _chosen
    _chosen = None if path is None else as_path(path).expanduser().absolute()
