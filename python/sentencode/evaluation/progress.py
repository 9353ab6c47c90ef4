"""The bar of what is being judged."""

from __future__ import annotations

import logging
from typing import Any

__all__ = ["Bars"]

_LOG = logging.getLogger("sentencode")


class Bars:
    """A bar of tasks or sizes, which tells how many classifiers of what is being judged are trained."""

    def __init__(self, show: bool | None, total: int, desc: str, unit: str) -> None:
        self.wanted = _LOG.isEnabledFor(logging.INFO) if show is None else show
        self.given = {"total": total, "desc": desc, "unit": unit}
        self.bar: Any = None

    def __enter__(self) -> Bars:
        if self.wanted:
            from tqdm.auto import tqdm

            self.bar = tqdm(**self.given)
        return self

    def finish(self) -> None:
        """One more is done."""
        if self.bar is not None:
            self.bar.update()

    def show(self, name: str, done: int = 0, total: int = 0) -> None:
        """What is being judged, how many of its classifiers are trained, and of how many."""
        if self.bar is not None:
            self.bar.set_postfix_str(f"{name} {done}/{total}" if total else name)

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.close()
