"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["whole_file"]


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Opens a file beside the path, which takes its place when it is written, and is removed if it is not.

    No other process or thread writes the same one: none reads half of it, and the last one stays.

    Args:
        path: Where it shall stand.

    Yields:
        The file, open to be written and read.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with whole_file(pathlib.Path(folder, "a")) as file:
        ...         _ = file.write(b"all")
        ...     [one.name for one in pathlib.Path(folder).iterdir()]
        ['a']
    """
    path = Path(path)
    part = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
    try:
        with open(part, "x+b") as file:
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
