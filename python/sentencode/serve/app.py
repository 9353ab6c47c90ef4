"""The ASGI application."""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from .._extras import require
from ..checks import check_independent, checked_int
from ..encoder import Encoder
from ..sizes import bytes_of
from .metrics import Metrics
from .protocol import ApiError, check_model, json_bytes, parsed_request, response
from .queue import EncodingQueue

__all__ = ["App"]

_Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]
_JSON, _METRICS = "application/json", "text/plain; version=0.0.4; charset=utf-8"
_ROUTES = {"/v1/embeddings": "POST", "/v1/models": "GET", "/health": "GET", "/metrics": "GET"}
_TIMEOUT = 60.0  # seconds for a client to send its request, and to receive a part of the response
_PART = 1 << 18  # bytes of a response that are sent at once

# Estimated memory of a request; of a byte of its body, with its text; of a byte of its embeddings, with the
# response.
_REQUEST, _BODY, _BASE64, _NUMBERS = 1 << 14, 3, 4, 8

_log = logging.getLogger("sentencode.serve")


class App:
    """An ASGI application that serves the embeddings of an encoder with the protocol of OpenAI.

    It answers `POST /v1/embeddings`, `GET /v1/models`, `/health` and `/metrics`. One thread encodes; requests
    that arrive meanwhile are joined into one batch. `run` serves it, as does any ASGI server with one event
    loop per process; frameworks such as Starlette can mount it.

    Args:
        encoder: Fitted encoder.
        name: Name of the model.
        keys: Keys that clients may send. Empty: no key is required. `/health` never requires one.
        normalize: Whether embeddings have length 1, as OpenAI's have, also if they are truncated to the first
            `dimensions`. Otherwise they are those of `encode`.
        max_body: Largest body of a request, in bytes or as in "8MB".
        max_inputs: Largest number of texts of a request.
        max_memory: Estimated memory of all requests in progress; others are refused with status 429. A single
            request is always accepted.

    Raises:
        NotFittedError: The encoder is not fitted.
        ValueError: An argument is invalid, or embeddings depend on the other sentences of a call, as those of
            `SIF(statistics="evaluated")`.
        ImportError: orjson is missing.

    Example:
        >>> import sentencode as se
        >>> app = se.serve.App(se.Average(se.WordVectors.default()), name="average", max_body="1MB")
        >>> se.serve.run(app, port=8000)  # doctest: +SKIP
    """

    def __init__(
        self,
        encoder: Encoder,
        *,
        name: str = "default",
        keys: Iterable[str] = (),
        normalize: bool = True,
        max_body: int | str = "8MB",
        max_inputs: int = 2048,
        max_memory: int | str = "256MB",
    ) -> None:
        require("orjson", "serve")
        encoder._check_fitted()
        check_independent("App", encoder)
        self.encoder, self.name, self.normalize, self.metrics = encoder, name, normalize, Metrics()
        keys = [""] if isinstance(keys, str) else list(keys)
        if any(key.split() != [key] for key in keys):
            raise ValueError(
                "App: keys must be a list of nonempty strings without white space"
            )  # without the value: it is secret
        self._keys = [key.encode() for key in keys]
        self._max_body = bytes_of("max_body", max_body)
        self._max_inputs = checked_int("max_inputs", max_inputs, 1)
        self._max_memory = bytes_of("max_memory", max_memory)
        self._queue = EncodingQueue(self._encode)
        self._created = int(time.time())

    async def __call__(self, scope: _Message, receive: _Receive, send: _Send) -> None:
        """Answers a request."""
        if scope["type"] != "http":
            raise NotImplementedError(f"only HTTP is supported, not {scope['type']}")
        begin = time.perf_counter()
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        memory = _Memory(self.metrics, self._max_memory)
        try:
            status, headers, body = await self._answer(path, scope, receive, memory)
            start = {"type": "http.response.start", "status": status, "headers": _encoded(headers, body)}
            await send(start)
            await _send_body(send, body)
            known = path if path in _ROUTES else "other"
            self.metrics.add_request(known, status, time.perf_counter() - begin)
        except _DisconnectedError:
            pass
        finally:
            memory.release()

    async def _answer(
        self, path: str, scope: _Message, receive: _Receive, memory: _Memory
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of the response."""
        try:
            headers = {name: value for name, value in scope["headers"] if name in _HEADERS}
            self._check(path, scope["method"], headers.get(b"authorization", b""))
            if path == "/v1/embeddings":
                return 200, {"content-type": _JSON}, await self._embeddings(receive, headers, memory)
            if path == "/metrics":
                return 200, {"content-type": _METRICS}, self.metrics.text().encode()
            return 200, {"content-type": _JSON}, json_bytes(self._facts(path))
        except ApiError as error:
            answer = error
        except _DisconnectedError:
            raise
        except Exception:
            _log.exception("a request to %s failed", path)
            answer = ApiError(500, "the encoder failed; the server's log has the error")
        return answer.status, {"content-type": _JSON, **answer.headers}, answer.body

    def _check(self, path: str, method: str, authorization: bytes) -> None:
        """Raises an `ApiError` unless the path, the method and the key are right."""
        if self._keys and path != "/health":
            scheme, _, key = authorization.partition(b" ")
            # All keys are compared, in constant time.
            right = [hmac.compare_digest(key.strip(), one) for one in self._keys]
            if scheme.lower() != b"bearer" or not any(right):
                problem = "the key is wrong" if authorization else "a key is required"
                message = f"{problem}: send the header 'Authorization: Bearer KEY'"
                raise ApiError(401, message, code="invalid_api_key", headers={"www-authenticate": "Bearer"})
        expected = _ROUTES.get(path, "GET" if path.startswith("/v1/models/") else None)
        if expected is None:
            raise ApiError(404, f"there is no {path[:60]!r}; there are {', '.join(_ROUTES)}")
        if method != expected and (expected, method) != ("GET", "HEAD"):
            message = f"{path} requires {expected}, got {method:.20}"
            raise ApiError(405, message, headers={"allow": expected})

    def _facts(self, path: str) -> dict[str, Any]:
        """What /health and /v1/models say."""
        if path == "/health":
            return {"status": "ok", "model": self.name, "dimensions": self.encoder.dim}
        model = {"id": self.name, "object": "model", "created": self._created, "owned_by": "sentencode"}
        if path == "/v1/models":
            return {"object": "list", "data": [model]}
        check_model(path.removeprefix("/v1/models/"), self.name)
        return model

    async def _embeddings(self, receive: _Receive, headers: dict[bytes, bytes], memory: _Memory) -> bytes:
        length = headers.get(b"content-length", b"")
        size = int(length) if length.isdigit() else self._max_body
        if size > self._max_body:
            raise self._too_large()
        memory.add(_REQUEST)
        try:
            body = await asyncio.wait_for(self._body(receive, memory), _TIMEOUT)
        except asyncio.TimeoutError:  # the built-in one since Python 3.11
            raise ApiError(408, f"the body was not complete after {_TIMEOUT:g} seconds") from None
        request = parsed_request(body, self.name, self.encoder.dim, self._max_inputs)
        del body
        expansion = _BASE64 if request.base64 else _NUMBERS
        memory.add(4 * self.encoder.dim * len(request.texts) * expansion)
        rows = await self._rows(request.texts, receive)
        if request.dimensions < self.encoder.dim:
            rows = np.ascontiguousarray(rows[:, : request.dimensions])
            if self.normalize:
                _core.normalize_rows(rows)
        return response(rows, self.name, request.base64)

    async def _body(self, receive: _Receive, memory: _Memory) -> bytes:
        parts: list[bytes] = []
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _DisconnectedError
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._max_body:
                raise self._too_large()
            memory.add(_BODY * len(parts[-1]))
            more = message.get("more_body", False)
        return b"".join(parts)

    def _too_large(self) -> ApiError:
        message = f"the body must have at most {self._max_body} bytes; send fewer texts at a time"
        return ApiError(413, message, code="request_too_large")

    async def _rows(self, texts: list[str], receive: _Receive) -> npt.NDArray[np.float32]:
        """The embeddings of texts, unless the client closes its connection before."""
        rows = self._queue.submit(texts)
        disconnected = asyncio.ensure_future(_disconnect(receive))
        either: set[asyncio.Future[Any]] = {rows, disconnected}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if rows.done():
                return rows.result()
            raise _DisconnectedError
        finally:
            disconnected.cancel()
            rows.cancel()

    def _encode(self, texts: list[str]) -> npt.NDArray[np.float32]:
        begin = time.perf_counter()
        rows: npt.NDArray[np.float32] = self.encoder.encode(
            texts, normalize_embeddings=self.normalize, show_progress_bar=False
        )
        self.metrics.encode_seconds += time.perf_counter() - begin
        self.metrics.inputs += len(texts)
        self.metrics.batches += 1
        return rows


_HEADERS = (b"authorization", b"content-length")


class _DisconnectedError(Exception):
    """The client has closed its connection."""


class _Memory:
    """The estimated memory of one request, which is counted in the metrics."""

    def __init__(self, metrics: Metrics, most: int) -> None:
        self._metrics, self._most, self._held = metrics, most, 0
        metrics.in_progress += 1

    def add(self, size: int) -> None:
        """Adds bytes; raises an `ApiError` if there are other requests, and not enough memory for all."""
        total = self._metrics.memory + size
        if total > self._most and self._metrics.memory > self._held:
            raise ApiError(
                429,
                "too many requests are in progress; try again later",
                code="rate_limit_exceeded",
                headers={"retry-after": "1"},
            )
        self._held += size
        self._metrics.memory = total

    def release(self) -> None:
        self._metrics.in_progress -= 1
        self._metrics.memory -= self._held


async def _disconnect(receive: _Receive) -> None:
    """Returns when the client has closed its connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send_body(send: _Send, body: bytes) -> None:
    """Sends the body of a response in parts: a server buffers one, and waits before the next one.

    Raises:
        TimeoutError: The client did not receive a part in time.
    """
    view = memoryview(body)
    for begin in range(0, max(1, len(body)), _PART):
        end = begin + _PART
        message = {"type": "http.response.body", "body": bytes(view[begin:end]), "more_body": end < len(body)}
        await asyncio.wait_for(send(message), _TIMEOUT)


def _encoded(headers: dict[str, str], body: bytes) -> list[tuple[bytes, bytes]]:
    headers = {**headers, "content-length": str(len(body))}
    return [(name.encode(), value.encode()) for name, value in headers.items()]
