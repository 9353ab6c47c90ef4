"""Ctrl-C that waits for what must not be cut in two."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType, TracebackType
from typing import Any

__all__ = ["Interrupts"]


class Interrupts:
    """While it is entered, Ctrl-C waits for the functions of `whole`.

    It is raised behind one that runs, and at any other time at once. A second one never waits: it may be the
    function that does not end. Of two that are entered, the outer one decides. Only the main thread is
    interrupted: in others this does nothing.
    """

    def __init__(self) -> None:
        self._before: Callable[[int, FrameType | None], Any] | None = None
        self._pressed = self._waiting = False
        self._code: CodeType | None = None

    def whole(self, function: Callable[..., None]) -> Callable[..., None]:
        """The function, which one Ctrl-C does not cut in two."""

        def whole(*given: Any) -> None:
            try:
                function(*given)
            finally:
                self._raise()

        # Searched for on the stack: a mark that is set in the function would come too late.
        if self._code is None:
            self._code = whole.__code__.replace()  # another for each of us
        whole.__code__ = self._code
        return whole

    def __enter__(self) -> Interrupts:
        handler = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is threading.main_thread() and callable(handler):
            self._before = handler
            signal.signal(signal.SIGINT, self._came)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None and signal.getsignal(signal.SIGINT) == self._came:
            signal.signal(signal.SIGINT, self._before)
        self._raise()

    def _came(self, number: int, frame: FrameType | None) -> None:
        assert self._before is not None
        inner = frame
        while inner is not None and inner.f_code is not self._code:
            inner = inner.f_back
        first, self._pressed = not self._pressed, True
        self._waiting = first and inner is not None
        if not self._waiting:
            self._before(number, frame)

    def _raise(self) -> None:
        if self._waiting and self._before is not None:
            self._waiting = False
            self._before(signal.SIGINT, sys._getframe())
