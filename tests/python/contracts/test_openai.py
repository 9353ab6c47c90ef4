"""The clients of docs/serve.md with a server; `make test-contracts` installs them."""

from __future__ import annotations

import asyncio
import re
import threading
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import sentencode as se

pytest.importorskip("orjson")
pytest.importorskip("uvicorn")
openai = pytest.importorskip("openai")

TEXTS = ["A ship was lost.", "", "The vessel sank. \U0001f6a2"]


@contextmanager
def served(app):
    """The base URL of a server in a thread."""
    import uvicorn

    config = uvicorn.Config(app, port=0, lifespan="off", ws="none", log_config=None, access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/v1"
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def encoder():
    return se.Average(se.WordVectors.default())


@pytest.fixture(scope="module")
def url(encoder):
    with served(se.serve.App(encoder, keys=["secret"])) as url:
        yield url


@pytest.fixture
def client(url):
    with openai.OpenAI(base_url=url, api_key="secret", max_retries=0) as client:
        yield client


@pytest.mark.parametrize("encoding", [{}, {"encoding_format": "float"}, {"encoding_format": "base64"}])
@pytest.mark.parametrize("dimensions", [{}, {"dimensions": 5}])
def test_embeddings(client, encoder, encoding, dimensions):
    answer = client.embeddings.create(model="default", input=TEXTS, user="me", **encoding, **dimensions)
    assert (answer.object, answer.model, answer.usage.total_tokens) == ("list", "default", 0)
    assert [(item.object, item.index) for item in answer.data] == [("embedding", i) for i in range(3)]
    rows = [item.embedding for item in answer.data]
    if encoding.get("encoding_format") == "base64":  # only without the option, the client decodes
        import base64

        rows = [np.frombuffer(base64.b64decode(row), "<f4") for row in rows]
    expected = encoder.encode(TEXTS)[:, : dimensions.get("dimensions")]
    expected = expected / np.maximum(np.linalg.norm(expected, axis=1, keepdims=True), 1e-9)
    np.testing.assert_allclose(rows, expected, atol=1e-6)


def test_models(client):
    assert [model.id for model in client.models.list()] == ["default"]
    assert client.models.retrieve("default").owned_by == "sentencode"


def test_errors_have_the_classes_of_the_client(client, url):
    with pytest.raises(openai.BadRequestError, match="token ids") as error:
        client.embeddings.create(model="default", input=[[1, 2]])
    assert error.value.param == "input"
    with pytest.raises(openai.NotFoundError) as error:
        client.embeddings.create(model="text-embedding-3-small", input="a")
    assert error.value.code == "model_not_found"
    with (
        openai.OpenAI(base_url=url, api_key="guess", max_retries=0) as wrong,
        pytest.raises(openai.AuthenticationError),
    ):
        wrong.models.list()
    with pytest.raises(openai.APIStatusError) as error:
        client.embeddings.create(model="default", input="a" * 9_000_000)
    assert error.value.status_code == 413


def test_the_client_repeats_requests_that_are_refused(encoder):
    app = se.serve.App(encoder)
    refused = []

    async def refusing(scope, receive, send):
        if not refused:
            refused.append(app.metrics.memory)
            app.metrics.memory = 10**9  # as if other requests had it
            asyncio.get_running_loop().call_later(0.5, setattr, app.metrics, "memory", 0)
        await app(scope, receive, send)

    with served(refusing) as url, openai.OpenAI(base_url=url, api_key="none") as client:
        assert len(client.embeddings.create(model="default", input="a").data) == 1
    assert refused


def blocks():
    """The code of the page's section about clients."""
    page = (Path(__file__).parents[3] / "docs" / "serve.md").read_text(encoding="utf-8")
    return re.findall(
        r"^```py\n(.*?)^```", page.partition("\n## What it answers")[0], re.MULTILINE | re.DOTALL
    )


@pytest.mark.parametrize(("i", "printed"), [(0, "2 148\n"), (1, "148\n")])
def test_the_page(encoder, capsys, i, printed):
    if i == 1:
        pytest.importorskip("langchain_openai")
    with served(se.serve.App(encoder)) as url:
        exec(blocks()[i].replace("http://127.0.0.1:8000/v1", url), {})
    assert capsys.readouterr().out == printed


def test_langchain(encoder, url):
    langchain = pytest.importorskip("langchain_openai")
    embeddings = langchain.OpenAIEmbeddings(
        base_url=url, api_key="secret", model="default", check_embedding_ctx_length=False, dimensions=32
    )
    rows = np.array(embeddings.embed_documents(TEXTS))
    expected = encoder.encode(TEXTS)[:, :32]
    expected = expected / np.maximum(np.linalg.norm(expected, axis=1, keepdims=True), 1e-9)
    np.testing.assert_allclose(rows, expected, atol=1e-6)
    np.testing.assert_allclose(embeddings.embed_query(TEXTS[0]), expected[0], atol=1e-6)
