"""Progress of several stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from ..progress import progress as bar
from ..text.inputs import Progress

__all__ = ["StageProgress", "stage"]

StageProgress = Callable[[str, int, int], None]  # name of the stage, progress, total


@contextmanager
def stage(name: str, progress: bool | StageProgress | None, unit: str = "") -> Iterator[Progress | None]:
    """Yield a progress callback for a stage: the caller's, that of a bar with this unit, or None.

    None: a bar after a second in a terminal or a notebook.
    """
    if callable(progress):
        yield partial(progress, name)
    else:
        with bar(progress, name, unit, interactive=True) as update:
            yield update
