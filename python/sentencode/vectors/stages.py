"""Progress of long work in several stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from ..progress import progress as bar
from ..text.inputs import Progress

__all__ = ["StageProgress", "stage"]

StageProgress = Callable[[str, int, int], None]  # what is being done, how much of it is done, and the whole


@contextmanager
def stage(name: str, progress: bool | StageProgress | None, unit: str = "") -> Iterator[Progress | None]:
    """A callback for one part of the work: the caller's, one that moves a bar of this unit, or None."""
    if callable(progress):
        yield partial(progress, name)
    else:
        with bar(bool(progress), name, unit) as moved:
            yield moved
