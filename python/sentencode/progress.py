"""Progress bars."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable
from typing import Any

__all__ = ["bar", "is_interactive", "progress", "say"]

_LOG = logging.getLogger("sentencode")
DELAY = 1.0  # seconds after which a bar that nobody has asked for appears


def is_interactive() -> bool:
    """Return whether somebody watches: standard error is a terminal, or this is a notebook."""
    isatty = getattr(sys.stderr, "isatty", None)
    return _is_notebook() or (callable(isatty) and bool(isatty()))


def say(show: bool, text: str) -> None:
    """Log a line as information, or, if the logger does not and `show` is set, write it above progress bars.

    Args:
        show: Whether progress is shown.
        text: The line.
    """
    if _LOG.isEnabledFor(logging.INFO):
        _LOG.info(text)
    elif show:
        _tqdm().write(text, file=_file())


def bar(**options: Any) -> Any:
    """Return a progress bar of tqdm, in a notebook one of ipywidgets where these are installed."""
    return _tqdm()(file=_file(), **options)


def _tqdm() -> Any:
    if "tqdm.auto" not in sys.modules:  # other threads share the filters of warnings: once is enough
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # in a notebook without ipywidgets, which `auto` does without
            import tqdm.auto  # noqa: F401
    return sys.modules["tqdm.auto"].tqdm


def _file() -> Any:
    return sys.stdout if _is_notebook() else sys.stderr  # which is red in notebooks


def _is_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


class progress:  # noqa: N801
    """A context with a callback (done, total) that moves a progress bar, or None without one.

    Args:
        show: Whether to show a bar. None: if the logger "sentencode" shows information.
        name: Name of the work.
        unit: Unit of `done` and `total`: "B" for bytes, or a plural noun, or "".
        interactive: Whether None also shows a bar to somebody who watches, after a second.

    Example:
        >>> with progress(False, "encode") as moved:
        ...     print(moved)
        None
    """

    def __init__(
        self, show: bool | None, name: str, unit: str = "sentences", *, interactive: bool = False
    ) -> None:
        self.show = _LOG.isEnabledFor(logging.INFO) if show is None else show
        self.delay = 0.0
        if show is None and not self.show and interactive and is_interactive():
            self.show, self.delay = True, DELAY
        self.name = name
        self.unit = unit
        self.bar: Any = None

    def __enter__(self) -> Callable[[int, int], None] | None:
        return self.update if self.show else None

    def update(self, done: int, total: int) -> None:
        """Moves the bar."""
        if self.bar is None:
            unit = self.unit if self.unit in ("", "B") else f" {self.unit}"
            self.bar = bar(desc=self.name, unit=unit, unit_scale=True, delay=self.delay)
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
