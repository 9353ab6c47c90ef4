"""A server in a process of its own."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("orjson")
pytest.importorskip("uvicorn")

SERVE = [sys.executable, "-m", "sentencode", "serve"]


@contextmanager
def served(command, **environment):
    """A process that serves, and its port; it is asked to stop at the end."""
    env = {name: value for name, value in os.environ.items() if name != "SENTENCODE_API_KEY"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**env, **environment}) as process:
        try:
            line = process.stderr.readline()
            assert " at http://127.0.0.1:" in line, line + process.stderr.read()
            yield process, int(re.search(r":(\d+)/v1", line)[1])
        finally:
            process.terminate()
    assert process.returncode == 0


def get(port, path="/v1/models", body=None, **headers):
    """Status and JSON of a response."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET" if body is None else "POST", path, body, headers)
    response = connection.getresponse()
    answer = response.status, json.loads(response.read())
    connection.close()
    return answer


def embeddings(port, model, texts):
    status, answer = get(port, "/v1/embeddings", json.dumps({"model": model, "input": texts}))
    assert status == 200, answer
    return np.array([item["embedding"] for item in answer["data"]], np.float32)


def test_a_saved_encoder(encoder, tmp_path):
    encoder.save(tmp_path / "my.average.sentencode")
    texts = ["The ship sank.", "She smiled."]
    with served([*SERVE, tmp_path / "my.average.sentencode", "--port", "0", "--raw"]) as (_, port):
        np.testing.assert_array_equal(embeddings(port, "my.average", texts), encoder.encode(texts))


def test_a_folder_of_a_static_model(encoder, tmp_path):
    encoder.export(tmp_path / "potion-1.5")
    (tmp_path / "now-1.5").symlink_to("potion-1.5")
    texts = ["The ship sank.", "She smiled."]
    with served([*SERVE, tmp_path / "now-1.5", "--port", "0", "--raw"]) as (_, port):
        rows = embeddings(port, "now-1.5", texts)
    np.testing.assert_allclose(rows, encoder.encode(texts), atol=1e-5)


def test_responses_are_sent_at_once():
    """Not after the 40 ms for which a receiver delays its acknowledgment."""
    with served([*SERVE, "default", "--port", "0", "--name", "a/b"]) as (_, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        times = []
        for _ in range(20):
            begin = time.perf_counter()
            connection.request("GET", "/v1/models/a/b")
            assert json.loads(connection.getresponse().read())["id"] == "a/b"
            times.append(time.perf_counter() - begin)
        connection.close()
        assert min(times) < 0.03


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="sockets are read from /proc")
def test_only_this_machine_can_connect(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[1])
    from test_sockets import listening

    with served([*SERVE, "default", "--port", "0"]) as (process, port):
        assert listening(process.pid, alone=True) == [f"127.0.0.1 {port}"]


def test_a_thread_serves_localhost(monkeypatch):
    import queue
    import threading

    import sentencode as se

    addresses = [
        (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", 0, 0, 0)),
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0)),
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: addresses)
    urls = queue.SimpleQueue()
    app = se.serve.App(se.Average({"cat": [1.0, 0.0]}), name="pets")
    run = threading.Thread(
        target=se.serve.run, args=(app, "localhost", 0), kwargs={"on_start": urls.put}, daemon=True
    )
    run.start()
    url = urls.get(timeout=30)
    monkeypatch.undo()
    assert url.startswith("http://localhost:")
    assert embeddings(int(url.rpartition(":")[2]), "pets", ["cat"]).tolist() == [[1, 0]]


def test_keys(tmp_path):
    file = tmp_path / "keys"
    file.write_text("# of last year\nold\n\n new\n")
    with served([*SERVE, "default", "--port", "0", "--api-key-file", file], SENTENCODE_API_KEY="secret") as (
        _,
        port,
    ):
        assert get(port)[0] == 401
        for key in ("old", "new", "secret"):
            assert get(port, Authorization=f"Bearer {key}")[0] == 200
        for key in ("#", "of", "year"):
            assert get(port, Authorization=f"Bearer {key}")[0] == 401
        assert get(port, "/health") == (200, {"status": "ok", "model": "default", "dimensions": 148})


def test_large_bodies_are_refused_and_the_connection_stays():
    with served([*SERVE, "default", "--port", "0", "--max-body", "10KB"]) as (_, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        for body, status in ((b"a" * 3_000_000, 413), (b'{"model": "default", "input": "a"}', 200)):
            connection.request("POST", "/v1/embeddings", body)
            response = connection.getresponse()
            response.read()
            assert response.status == status
        connection.close()


SLOW = """
import sys, time
import sentencode as se

class Slow(se.Average):
    def encode(self, *args, **options):
        print("encoding", file=sys.stderr, flush=True)
        time.sleep(1)
        return super().encode(*args, **options)

app = se.serve.App(Slow(se.WordVectors.default()))
se.serve.run(app, port=0, on_start=lambda url: print("serves at", url + "/v1", file=sys.stderr, flush=True))
print("stopped", file=sys.stderr)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_requests_in_progress_are_answered_after_a_signal(number):
    with served([sys.executable, "-c", SLOW]) as (process, port):
        idle = socket.create_connection(("127.0.0.1", port))
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("POST", "/v1/embeddings", b'{"model": "default", "input": "a"}')
        assert process.stderr.readline() == "encoding\n"
        process.send_signal(number)
        response = connection.getresponse()
        assert response.status == 200
        assert len(json.loads(response.read())["data"][0]["embedding"]) == 148
        assert process.wait(20) == 0
        assert process.stderr.read() == "stopped\n"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))
        connection.close()
        idle.close()


TIMEOUTS = """
import sys
import sentencode as se
from sentencode.serve import server
server._TIMEOUT, server._IDLE = 5, 5
app = se.serve.App(se.Average(se.WordVectors.default()))
se.serve.run(app, port=0, on_start=lambda url: print("serves at", url + "/v1", file=sys.stderr, flush=True))
"""


def until(condition):
    """Waits for a condition, for 20 seconds."""
    for _ in range(200):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("it does not happen")


def test_a_slow_client_gets_everything():
    """It receives a part of the response within the time limit, but not the whole response."""
    body = json.dumps({"model": "default", "input": ["a ship"] * 2048}).encode()
    with served([sys.executable, "-c", TIMEOUTS.replace("= 5, 5", "= 1, 5")]) as (_, port):
        with socket.socket() as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
            one.connect(("127.0.0.1", port))
            head = b"POST /v1/embeddings HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
            one.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            one.settimeout(20)
            answer, begin = b"", time.monotonic()
            while part := one.recv(1 << 16):
                answer += part
                if time.monotonic() - begin < 3:
                    time.sleep(0.05)
        assert len(json.loads(answer.partition(b"\r\n\r\n")[2])["data"]) == 2048


def test_clients_that_do_not_send_or_read_are_closed():
    body = json.dumps({"model": "default", "input": [f"ship {i}" for i in range(2048)]}).encode()
    head = b"POST /v1/embeddings HTTP/1.1\r\nHost: a\r\n"
    whole = head + b"Content-Length: %d\r\n\r\n" % len(body) + body
    ask = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
    with served([sys.executable, "-c", TIMEOUTS]) as (_, port):

        def memory():
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("GET", "/metrics")
            text = connection.getresponse().read().decode()
            connection.close()
            return float(re.search(r"^sentencode_request_memory_bytes (.*)$", text, re.M)[1])

        sockets = []
        for before, sent in ((b"", b""), (b"", b"\r\n"), (b"", head), (ask, head), (b"", whole)):
            one = socket.socket()
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.connect(("127.0.0.1", port))
            if before:
                one.sendall(before)
                assert one.recv(1000)
            one.sendall(sent)
            sockets.append(one)
        until(lambda: memory() > 1e6)  # until the client has read
        assert get(port)[0] == 200
        for one in sockets[:4]:
            one.settimeout(20)
            with suppress(ConnectionResetError):
                while one.recv(1000):
                    pass
        until(lambda: memory() == 0)
        for one in sockets:
            one.close()


def test_wrong_usage(tmp_path, monkeypatch, capsys):
    from sentencode.cli import main

    def fails(message, *options):
        assert main(["serve", "default", *map(str, options)]) in (1, 2)
        assert message in capsys.readouterr().err

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        fails(f"127.0.0.1:{port}: Address already in use", "--port", port)
    fails("port must be at most 65535", "--port", 70_000)
    fails("max_body must be a size with a unit", "--max-body", "8")
    (tmp_path / "keys").write_text(" \n")
    fails("keys: expected a key, the file has none", "--api-key-file", tmp_path / "keys")
    (tmp_path / "keys").write_text("abc # of last year\n")
    fails("keys: a key has white space; comments are lines of their own", "--api-key-file", tmp_path / "keys")
    monkeypatch.setenv("SENTENCODE_API_KEY", " ")
    fails("SENTENCODE_API_KEY is empty")
