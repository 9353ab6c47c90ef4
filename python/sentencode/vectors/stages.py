"""Progress of long work in several stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from ..text.inputs import Progress

__all__ = ["StageProgress", "stage"]

StageProgress = Callable[[str, int, int], None]  # what is being done, how much of it is done, and the whole


@contextmanager
def stage(name: str, progress: bool | StageProgress | None) -> Iterator[Progress | None]:
    """A callback for one part of the work: the caller's, one that moves a bar, or None."""
    if callable(progress):
        yield partial(progress, name)
    elif progress:
        from tqdm.auto import tqdm

        with tqdm(desc=name, unit_scale=True) as bar:

            def move(done: int, total: int) -> None:
                bar.total = total or None
                bar.update(done - bar.n)

            yield move
    else:
        yield None
