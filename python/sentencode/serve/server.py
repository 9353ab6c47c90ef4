"""Serves an application until it is stopped."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable
from typing import Any

from .._extras import require
from ..checks import checked_int

__all__ = ["run"]

_BACKLOG = 1024  # connections that wait to be accepted
_GRACE = 30  # seconds for requests in progress after a signal to stop
_TIMEOUT = 60.0  # seconds for a client to send the head of a request, and to go on reading a response
_IDLE = 75  # seconds until an idle connection is closed: longer than those of proxies, which reuse them


def run(
    app: Any,
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    on_start: Callable[[str], object] | None = None,
) -> None:
    """Serves an application with uvicorn until SIGTERM or Ctrl-C; requests in progress are answered first.

    In a notebook, whose main thread has an event loop, call it in a daemon thread, which serves until the end
    of the process.

    Args:
        app: An `App`, or one that wraps it.
        host: Address to listen on. "0.0.0.0": all, so that other machines can connect.
        port: Port. 0: any that is free.
        on_start: Called with the URL when connections are accepted.

    Raises:
        OSError: The address cannot be used.
        TypeError: The port is not a whole number.
        ValueError: It is not in 0 to 65535.
        ImportError: uvicorn is missing.
    """
    uvicorn: Any = require("uvicorn", "serve")
    checked_int("port", port, 0, 65535)
    config = uvicorn.Config(
        app,
        http=_protocol(),
        lifespan="off",
        ws="none",
        log_config=None,
        log_level="critical",  # the application logs its own errors
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE,
        timeout_keep_alive=_IDLE,
    )
    server = uvicorn.Server(config)

    def stop(*_: object) -> None:
        server.should_exit = True

    # uvicorn replaces these handlers while it runs, and raises its signal again for them when it has stopped:
    # the default ones would end the process with the status of a signal.
    in_main_thread = threading.current_thread() is threading.main_thread()
    signals = (signal.SIGINT, signal.SIGTERM) if in_main_thread else ()
    with _listening(host, port) as listener:
        before = [signal.signal(number, stop) for number in signals]
        try:
            if on_start is not None:
                shown = f"[{host}]" if ":" in host else host
                on_start(f"http://{shown}:{listener.getsockname()[1]}")
            server.run(sockets=[listener])
        finally:
            for number, handler in zip(signals, before, strict=True):
                signal.signal(number, handler)


def _protocol() -> Any:
    """The protocol of uvicorn, which also closes connections that are stuck at a head or at a response."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Protocol(H11Protocol):
        """A connection with two timers: while a head is incomplete, and while the client does not read."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self._timers: dict[str, asyncio.TimerHandle] = {}

        def _start(self, name: str, seconds: float = _TIMEOUT) -> None:
            if name not in self._timers:
                self._timers[name] = self.loop.call_later(seconds, self.transport.abort)

        def _stop(self, name: str) -> None:
            if (timer := self._timers.pop(name, None)) is not None:
                timer.cancel()

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._start("idle", _IDLE)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._stop("idle")
            if self.cycle is None or self.cycle.response_complete:  # between requests
                self._start("head", _TIMEOUT if self.conn.trailing_data[0] else _IDLE)
            else:
                self._stop("head")

        def pause_writing(self) -> None:
            super().pause_writing()
            self._start("reading")

        def resume_writing(self) -> None:
            super().resume_writing()
            self._stop("reading")

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            for name in list(self._timers):
                self._stop(name)

    return Protocol


def _listening(host: str, port: int) -> socket.socket:
    """A socket that accepts connections; errors have the address."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        # Of a name, as localhost, the address of IPv4, which more clients try.
        family, kind, protocol, _, address = min(found, key=lambda one: one[0] != socket.AF_INET)
        # With the protocol: otherwise asyncio does not set TCP_NODELAY, and small responses take 40 ms.
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(_BACKLOG)
        except BaseException:
            listener.close()
            raise
        return listener
    except OSError as error:
        raise OSError(error.errno, error.strerror, f"{host}:{port}") from None
