"""Progress bar of an evaluation."""

from __future__ import annotations

import logging
from typing import Any

from ..progress import bar

__all__ = ["ProgressBar"]

_LOG = logging.getLogger("sentencode")


class ProgressBar:
    """A bar over tasks or sizes that shows the number of trained classifiers of the current one."""

    def __init__(self, show: bool | None, total: int, desc: str, unit: str) -> None:
        self._enabled = _LOG.isEnabledFor(logging.INFO) if show is None else show
        self._options = {"total": total, "desc": desc, "unit": unit}
        self._bar: Any = None

    def __enter__(self) -> ProgressBar:
        if self._enabled:
            self._bar = bar(**self._options)
        return self

    def finish(self) -> None:
        """Advance by one."""
        if self._bar is not None:
            self._bar.update()

    def show(self, name: str, done: int = 0, total: int = 0) -> None:
        """Show the current task, and how many of its classifiers are trained."""
        if self._bar is not None:
            self._bar.set_postfix_str(f"{name} {done}/{total}" if total else name)

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()
