"""Ctrl-C that waits for what must not be interrupted."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType, TracebackType
from typing import Any

__all__ = ["Interrupts"]


class Interrupts:
    """Context in which Ctrl-C waits for `deferred` functions.

    Ctrl-C is raised after a deferred function that runs, and at once at any other time. A second one never
    waits, because the function may not end. Of nested contexts, the outer one decides. Only the main thread
    receives signals: in others this does nothing.
    """

    def __init__(self) -> None:
        self._previous: Callable[[int, FrameType | None], Any] | None = None
        self._pressed = self._pending = False
        self._code: CodeType | None = None

    def deferred(self, function: Callable[..., None]) -> Callable[..., None]:
        """Return the function such that a first Ctrl-C waits until it ends."""

        def deferred(*arguments: Any) -> None:
            try:
                function(*arguments)
            finally:
                self._raise()

        # The handler searches the stack for this code: a flag set in the function would come too late.
        if self._code is None:
            self._code = deferred.__code__.replace()  # a copy for each context
        deferred.__code__ = self._code
        return deferred

    def __enter__(self) -> Interrupts:
        handler = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is threading.main_thread() and callable(handler):
            self._previous = handler
            signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._previous is not None and signal.getsignal(signal.SIGINT) == self._handle:
            signal.signal(signal.SIGINT, self._previous)
        self._raise()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        assert self._previous is not None
        caller = frame
        while caller is not None and caller.f_code is not self._code:
            caller = caller.f_back
        first, self._pressed = not self._pressed, True
        self._pending = first and caller is not None
        if not self._pending:
            self._previous(number, frame)

    def _raise(self) -> None:
        if self._pending and self._previous is not None:
            self._pending = False
            self._previous(signal.SIGINT, sys._getframe())
