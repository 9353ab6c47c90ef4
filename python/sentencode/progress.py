"""Progress bars."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

__all__ = ["progress"]

_LOG = logging.getLogger("sentencode")


class progress:  # noqa: N801
    """A context with a callback (done, total) that moves a progress bar, or None without one.

    Args:
        show: Whether to show a bar. None: if the logger "sentencode" shows information.
        name: Name of the work.
        unit: Unit of `done` and `total`: "B" for bytes, or a plural noun, or "".

    Example:
        >>> with progress(False, "encode") as moved:
        ...     print(moved)
        None
    """

    def __init__(self, show: bool | None, name: str, unit: str = "sentences") -> None:
        self.show = _LOG.isEnabledFor(logging.INFO) if show is None else show
        self.name = name
        self.unit = unit
        self.bar: Any = None

    def __enter__(self) -> Callable[[int, int], None] | None:
        return self.update if self.show else None

    def update(self, done: int, total: int) -> None:
        """Moves the bar."""
        if self.bar is None:
            from tqdm.auto import tqdm

            unit = self.unit if self.unit in ("", "B") else f" {self.unit}"
            self.bar = tqdm(desc=self.name, unit=unit, unit_scale=True)
        self.bar.total = total or None
        self.bar.update(done - self.bar.n)

    def encoded(self, sentences: int) -> None:
        """Shows the number of sentences encoded per second, if the bar counts bytes."""
        if self.bar is not None and self.unit == "B":
            seconds = self.bar.format_dict["elapsed"]
            rate = self.bar.format_sizeof(sentences / seconds) if seconds > 0 else "?"
            self.bar.set_postfix_str(f"{rate} sentences/s")

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.close()
