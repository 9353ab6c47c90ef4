"""Calls an ASGI application as a server would."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        return self.json["error"]


@dataclass
class Client:
    """A connection: sends a request in parts, and collects the response."""

    parts: list[bytes]
    messages: list[dict] = field(default_factory=list)
    stays: bool = True  # whether it waits for the response

    def __post_init__(self):
        self.left = asyncio.Event()

    async def receive(self):
        if self.parts:
            return {"type": "http.request", "body": self.parts.pop(0), "more_body": bool(self.parts)}
        if self.stays:
            await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message):
        self.messages.append(message)


async def request(app, path="/v1/embeddings", content=None, *, method=None, parts=None, client=None, **scope):
    """The answer to a request; None if the application does not respond.

    Args:
        content: JSON value, or bytes.
        parts: The body in parts, without a content-length.
        scope: More of the ASGI scope; `headers` as a dict of str.
    """
    headers = [(name.encode(), value.encode()) for name, value in scope.pop("headers", {}).items()]
    if parts is None:
        body = (
            content
            if isinstance(content, bytes)
            else b""
            if content is None
            else json.dumps(content).encode()
        )
        parts = [body]
        headers.append((b"content-length", str(len(body)).encode()))
    method = method or ("POST" if path == "/v1/embeddings" else "GET")
    client = client or Client(list(parts))
    await app(
        {"type": "http", "path": path, "method": method, "headers": headers, **scope},
        client.receive,
        client.send,
    )
    if not client.messages:
        return None
    start, *rest = client.messages
    fields = {name.decode(): value.decode() for name, value in start["headers"]}
    body = b"".join(message["body"] for message in rest)
    assert fields["content-length"] == str(len(body))
    return Answer(start["status"], fields, body)


def ask(app, *arguments, **options):
    """`request`, in an event loop of its own."""
    return asyncio.run(request(app, *arguments, **options))
