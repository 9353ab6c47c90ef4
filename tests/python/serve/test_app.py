"""The ASGI application, without a server."""

from __future__ import annotations

import asyncio
import base64
import gc
import re
import threading
import tracemalloc

import numpy as np
import pytest

import sentencode as se

pytest.importorskip("orjson")
from asgi import Client, ask, request

TEXTS = ["A ship was lost in the storm.", "", "The vessel sank. \U0001f6a2", "qqqqq"]


@pytest.fixture
def app(encoder):
    return se.serve.App(encoder, name="m", max_body="100KB", max_inputs=5)


def rows_of(answer):
    """The embeddings of an answer, in either encoding."""
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json["object"] == "list"
    assert answer.json["usage"] == {"prompt_tokens": 0, "total_tokens": 0}
    for i, item in enumerate(answer.json["data"]):
        assert list(item) == ["object", "index", "embedding"]
        assert (item["object"], item["index"]) == ("embedding", i)
    rows = [item["embedding"] for item in answer.json["data"]]
    if isinstance(rows[0], str):
        return np.stack([np.frombuffer(base64.b64decode(row, validate=True), "<f4") for row in rows])
    return np.array(rows, np.float32)


@pytest.mark.parametrize("encoding", [None, "float", "base64"])
@pytest.mark.parametrize("dimensions", [None, 148, 3, 2, 1])
@pytest.mark.parametrize("normalize", [True, False])
def test_embeddings_have_the_bits_of_encode(encoder, encoding, dimensions, normalize):
    app = se.serve.App(encoder, name="m", normalize=normalize)
    content = {
        "model": "m",
        "input": TEXTS,
        "encoding_format": encoding,
        "dimensions": dimensions,
        "user": "x",
    }
    expected = encoder.encode(TEXTS, normalize_embeddings=normalize)[:, :dimensions].copy()
    if normalize and dimensions not in (None, 148):
        se._core.normalize_rows(expected)
    rows = rows_of(ask(app, content=content))
    np.testing.assert_array_equal(rows, expected)
    if normalize:
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [1, 0, 1, 0], atol=1e-6)


def test_one_string(app, encoder):
    rows = rows_of(ask(app, content={"model": "m", "input": TEXTS[0]}))
    np.testing.assert_array_equal(rows, encoder.encode(TEXTS[:1], normalize_embeddings=True))


ok = {"model": "m", "input": "a"}


@pytest.mark.parametrize(
    ("content", "status", "param", "message"),
    [
        (b"", 400, None, "the body is not valid JSON: Input is a zero-length"),
        (b"{", 400, None, "the body is not valid JSON"),
        (b"[" * 5000, 400, None, "the body is not valid JSON"),
        (b'{"input": "\xff"}', 400, None, "not valid UTF-8"),
        (b'{"input": "\\ud800"}', 400, None, "the body is not valid JSON"),
        ([1], 400, None, "the body must be a JSON object, got [1]"),
        (b'{"model":"m","input":["a",' + b"[" * 900 + b"]" * 900 + b"]}", 400, "input", "too many levels"),
        (ok | {"imput": 1}, 400, "imput", "unknown field 'imput'; expected input, model, encoding_format"),
        ({"input": "a"}, 400, "model", "model must be 'm', got nothing"),
        (ok | {"model": 3}, 400, "model", "model must be 'm', got 3"),
        (ok | {"model": "text-embedding-3-small"}, 404, "model", "does not exist; this server has 'm'"),
        ({"model": "m"}, 400, "input", "input must be a string or a list of at least one, got nothing"),
        (ok | {"input": []}, 400, "input", "at least one, got []"),
        (ok | {"input": {"a": 1}}, 400, "input", 'at least one, got {"a":1}'),
        (ok | {"input": [1, 2]}, 400, "input", "token ids are those of another model's tokenizer"),
        (ok | {"input": [[1, 2], [3]]}, 400, "input", "check_embedding_ctx_length=False"),
        (ok | {"input": ["a", None]}, 400, "input", "input[1] must be a string, got nothing"),
        (ok | {"input": ["a", 1.5]}, 400, "input", "input[1] must be a string, got 1.5"),
        (ok | {"input": ["a"] * 6}, 400, "input", "input must be at most 5 strings, got 6"),
        (ok | {"encoding_format": "hex"}, 400, "encoding_format", "must be 'float' or 'base64', got \"hex\""),
        (ok | {"encoding_format": ["float"]}, 400, "encoding_format", 'got ["float"]'),
        (ok | {"dimensions": 0}, 400, "dimensions", "a whole number from 1 to 148, got 0"),
        (ok | {"dimensions": 149}, 400, "dimensions", "got 149"),
        (ok | {"dimensions": 1.5}, 400, "dimensions", "got 1.5"),
        (ok | {"dimensions": True}, 400, "dimensions", "got true"),
        (ok | {"user": 1}, 400, "user", "user must be a string, got 1"),
    ],
)
def test_invalid_requests(app, content, status, param, message):
    answer = ask(app, content=content)
    assert (answer.status, answer.error["param"]) == (status, param)
    assert message in answer.error["message"]
    assert answer.error["type"] == "invalid_request_error"
    assert list(answer.error) == ["message", "type", "param", "code"]
    assert (answer.error["code"] == "model_not_found") == (status == 404)


def test_models(app):
    (model,) = ask(app, "/v1/models").json["data"]
    assert (model["id"], model["object"], model["owned_by"]) == ("m", "model", "sentencode")
    assert ask(app, "/v1/models/m").json == model
    assert ask(app, "/v1/models/n").error["code"] == "model_not_found"


def test_paths_and_methods(app):
    assert ask(app, "/health").json == {"status": "ok", "model": "m", "dimensions": 148}
    assert ask(app, "/health", method="HEAD").status == 200
    answer = ask(app, "/embeddings")
    assert answer.status == 404
    assert "there is no '/embeddings'; there are /v1/embeddings, " in answer.error["message"]
    for path, method, allowed in (("/v1/embeddings", "GET", "POST"), ("/v1/models", "POST", "GET")):
        answer = ask(app, path, method=method)
        assert (answer.status, answer.headers["allow"]) == (405, allowed)
    mounted = ask(app, "/below/v1/models", root_path="/below")
    assert mounted.json["data"][0]["id"] == "m"
    with pytest.raises(NotImplementedError, match="not websocket"):
        asyncio.run(app({"type": "websocket"}, None, None))


def test_keys(encoder):
    app = se.serve.App(encoder, name="m", keys=["one", "zw\u00f6lf"])
    for path in ("/v1/embeddings", "/v1/models", "/metrics", "/nothing"):
        for headers in ({}, {"authorization": "Bearer two"}, {"authorization": "Basic one"}):
            answer = ask(app, path, headers=headers)
            assert (answer.status, answer.error["code"]) == (401, "invalid_api_key")
            assert answer.headers["www-authenticate"] == "Bearer"
            assert ("a key is required" in answer.error["message"]) == (not headers)
    assert ask(app, "/health").status == 200
    for key in ("Bearer one", "bearer  zw\u00f6lf"):
        assert ask(app, "/v1/models", headers={"authorization": key}).status == 200


def test_bodies_that_are_too_large(app):
    content = {"model": "m", "input": "a" * 100_000}
    for answer in (
        ask(app, content=content),
        ask(app, parts=[b"a" * 60_000] * 2),
        ask(app, client=(never := Client([])), headers={"content-length": str(10**12)}, parts=[]),
    ):
        assert (answer.status, answer.error["code"]) == (413, "request_too_large")
        assert "at most 100000 bytes" in answer.error["message"]
    assert len(never.messages) == 2
    rows_of(ask(app, parts=[b'{"model": "m",', b"", b' "input": "a"}']))


class Gated(se.Average):
    """An encoder that waits for a gate, and counts its batches."""

    def __init__(self, vectors):
        super().__init__(vectors)
        self._gate, self._sizes = threading.Event(), []

    def encode(self, sentences, *args, **options):
        self._sizes.append(len(sentences))
        assert self._gate.wait(20)
        if "fail" in sentences:
            raise RuntimeError("it fails")
        return super().encode(sentences, *args, **options)


@pytest.fixture
def gated():
    return Gated(se.WordVectors.default())


async def until(condition):
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it does not happen")


def test_waiting_requests_are_joined(gated, encoder):
    app = se.serve.App(gated, name="m")

    async def run():
        texts = [[f"the ship {i}", "storm " * i] for i in range(6)]
        asked = [asyncio.ensure_future(request(app, content=ok | {"input": part})) for part in texts]
        await until(lambda: gated._sizes and app.metrics.in_progress == 6)
        gated._gate.set()
        for part, answer in zip(texts, await asyncio.gather(*asked), strict=True):
            expected = encoder.encode(part, normalize_embeddings=True)
            np.testing.assert_allclose(rows_of(answer), expected, atol=1e-6)

    asyncio.run(run())
    assert sum(gated._sizes) == 12
    assert len(gated._sizes) <= 2
    assert (app.metrics.batches, app.metrics.inputs, app.metrics.memory) == (len(gated._sizes), 12, 0)


def test_batches_have_an_upper_size(gated):
    app = se.serve.App(gated, name="m")
    gated._gate.set()

    async def run():
        await asyncio.gather(*[request(app, content=ok | {"input": ["a"] * 2000}) for _ in range(4)])

    asyncio.run(run())
    assert sorted(gated._sizes)[-1] <= 4096
    assert sum(gated._sizes) == 8000


def test_a_request_that_fails_does_not_fail_others(gated, caplog):
    app = se.serve.App(gated, name="m")

    async def run():
        asked = [asyncio.ensure_future(request(app, content=ok | {"input": t})) for t in ("a", "fail", "b")]
        await until(lambda: app.metrics.in_progress == 3)
        gated._gate.set()
        return await asyncio.gather(*asked)

    first, failed, last = asyncio.run(run())
    assert (first.status, last.status) == (200, 200)
    assert (failed.status, failed.error["type"]) == (500, "server_error")
    assert "it fails" not in failed.body.decode()  # clients need not know
    assert "RuntimeError: it fails" in caplog.text


def test_a_client_that_leaves_is_not_encoded(gated):
    app = se.serve.App(gated, name="m")

    async def run():
        stays = asyncio.ensure_future(request(app, content=ok))
        await until(lambda: gated._sizes)
        leaver = Client([b'{"model": "m", "input": ["a", "b"]}'])
        leaves = asyncio.ensure_future(request(app, client=leaver, parts=[]))
        await until(lambda: app.metrics.in_progress == 2 and not leaver.parts)
        leaver.left.set()
        assert await leaves is None
        gated._gate.set()
        assert (await stays).status == 200
        assert await request(app, client=Client([b"{"], stays=False), parts=[]) is not None  # complete
        half = Client([b"{", b"}"], stays=False)
        half.receive = iter([half.receive(), _gone()]).__next__
        assert await request(app, client=half, parts=[]) is None

    asyncio.run(run())
    assert gated._sizes == [1]
    assert app.metrics.memory == app.metrics.in_progress == 0


async def _gone():
    return {"type": "http.disconnect"}


def test_too_many_requests(gated):
    app = se.serve.App(gated, name="m", max_memory="40KB")

    async def run():
        # Alone, a request may need more than is allowed for all.
        asked = asyncio.ensure_future(request(app, content=ok | {"input": ["a"] * 100}))
        await until(lambda: gated._sizes)
        assert app.metrics.memory > 40_000
        refused = await request(app, content=ok)
        assert (refused.status, refused.error["code"]) == (429, "rate_limit_exceeded")
        assert refused.error["type"] == "rate_limit_error"
        assert refused.headers["retry-after"] == "1"
        assert (await request(app, "/health")).status == 200
        gated._gate.set()
        assert (await asked).status == 200
        assert (await request(app, content=ok)).status == 200

    asyncio.run(run())
    assert app.metrics.memory == 0


class PanicException(BaseException):
    """As that of Rust libraries."""


def test_a_panic_is_an_error_of_its_request(encoder, caplog):
    class Panics(se.Average):
        def encode(self, sentences, *args, **options):
            if "fail" in sentences:
                raise PanicException("it panics")
            return super().encode(sentences, *args, **options)

    app = se.serve.App(Panics(se.WordVectors.default()), name="m")
    assert ask(app, content=ok | {"input": "fail"}).status == 500
    assert "it panics" in caplog.text
    assert ask(app, content=ok).status == 200


def test_slow_clients(app, monkeypatch):
    monkeypatch.setattr("sentencode.serve.app._TIMEOUT", 0.05)
    answer = ask(app, client=Client([]), parts=[])
    assert (answer.status, answer.error["type"]) == (408, "invalid_request_error")
    assert "not complete after 0.05 seconds" in answer.error["message"]

    async def stuck(message):
        if message["type"] == "http.response.body":
            await asyncio.sleep(60)

    client = Client([b'{"model": "m", "input": "a"}'])
    client.send = stuck
    with pytest.raises(asyncio.TimeoutError):
        ask(app, client=client, parts=[])
    assert app.metrics.memory == app.metrics.in_progress == 0


def test_metrics(app):
    for content in (ok, ok | {"input": ["a", "b"]}, {}):
        ask(app, content=content)
    ask(app, "/random/1")
    ask(app, "/random/2")
    answer = ask(app, "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    text = answer.body.decode()
    for line in text.splitlines():
        assert re.fullmatch(r'# (HELP|TYPE) \w+ .+|\w+({\w+="[^"]*"(,\w+="[^"]*")*})? [\d.e+-]+', line), line
    shown = dict(line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#")
    assert shown['sentencode_requests_total{path="/v1/embeddings",status="200"}'] == "2"
    assert shown['sentencode_requests_total{path="/v1/embeddings",status="400"}'] == "1"
    assert shown['sentencode_requests_total{path="other",status="404"}'] == "2"
    assert shown["sentencode_inputs_total"] == "3"
    assert shown['sentencode_request_seconds_bucket{le="+Inf"}'] == shown["sentencode_request_seconds_count"]
    assert shown["sentencode_request_seconds_count"] == "2"
    assert shown["sentencode_requests_in_progress"] == "1"
    assert float(shown["process_resident_memory_bytes"]) > 1e6


def test_memory_does_not_grow(app):
    async def run(count):
        for i in range(count):
            await request(app, content=ok | {"encoding_format": ("float", "base64")[i % 2]})
            await request(app, f"/{i}")

    asyncio.run(run(200))
    tracemalloc.start()
    try:
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        asyncio.run(run(1000))
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 20_000  # 20 bytes a request
    finally:
        tracemalloc.stop()


def test_arguments(encoder):
    with pytest.raises(se.NotFittedError):
        se.serve.App(se.SIF(se.WordVectors.default()))
    evaluated = se.SIF(se.WordVectors.default(), statistics="evaluated")
    with pytest.raises(ValueError, match=r"App: SIF has statistics='evaluated'.* depend on the other"):
        se.serve.App(evaluated)
    for keys in ("secret", [""], ["secret\n"], ["sec ret"]):
        with pytest.raises(ValueError, match="keys must be a list of nonempty strings"):
            se.serve.App(encoder, keys=keys)
    for name, value in (("max_body", "8"), ("max_inputs", 0), ("max_memory", "a lot")):
        with pytest.raises(ValueError, match=name):
            se.serve.App(encoder, **{name: value})


def test_a_body_that_does_not_arrive_holds_no_memory(gated):
    app = se.serve.App(gated, name="m", max_memory="40KB")
    gated._gate.set()

    async def run():
        client = Client([])
        stalled = asyncio.ensure_future(
            request(app, client=client, parts=[], headers={"content-length": "8000000"})
        )
        await until(lambda: app.metrics.in_progress == 1)
        assert (await request(app, content=ok)).status == 200
        client.left.set()
        assert await stalled is None

    asyncio.run(run())
