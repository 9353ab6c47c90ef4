"""Throughput of `sentencode serve`, compared with `encode` alone; its memory after many requests.

The server is a process with the built-in vectors, the client another one on the same processors: it sends
prepared requests over several connections and reads the responses. `encode` alone gets the same batches.
They take turns.
"""

from __future__ import annotations

import argparse
import base64
import http.client
import itertools
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from common import arguments_of, best_seconds, data_argument, machine, sentences_of, verdict, write_json

BATCH, BATCHES = 1000, 20  # texts of a request; different requests
TARGET = 0.3  # of the rate of encode alone, with base64
GROWTH = 4  # MiB after all requests of the memory test, at most


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data_argument(parser)
    arguments_of(parser, rounds=5)
    parser.add_argument("--seconds", type=float, default=3, help="of each measurement of the server")
    parser.add_argument(
        "--requests", type=int, default=100_000, help="of the memory test, which alone runs with --rounds 0"
    )
    args = parser.parse_args()
    if args.requests <= 1000:
        parser.error(f"--requests must be more than 1,000, got {args.requests}")

    import sentencode as se

    encoder = se.Average(se.WordVectors.default())
    text = sentences_of(args.data / "text" / "wikipedia.txt.xz", BATCH * BATCHES)
    lines = text.read_text(encoding="utf-8").splitlines()
    batches = [lines[i : i + BATCH] for i in range(0, len(lines), BATCH)]

    cases = {  # name: requests, connections
        "base64, 1,000 texts, 2 connections": ([body(batch, "base64") for batch in batches], 2),
        "base64, 1,000 texts, 1 connection": ([body(batch, "base64") for batch in batches], 1),
        "numbers, 1,000 texts, 2 connections": ([body(batch, "float") for batch in batches], 2),
        "base64, 1 text, 32 connections": ([body([line], "base64") for line in lines[:500]], 32),
        "base64, 1 text, 1 connection": ([body([line], "base64") for line in lines[:500]], 1),
    }
    rates: dict[str, list[float]] = {name: [] for name in ("encode", *cases)}
    with server() as (process, port):
        check(port, batches[0], encoder)
        for i in range(args.rounds):
            print(f"round {i + 1} of {args.rounds}", file=sys.stderr)
            seconds = best_seconds(lambda: [encoder.encode(batch) for batch in batches])
            rates["encode"].append(len(lines) / seconds)
            for name, (bodies, connections) in cases.items():
                requests = send(port, bodies, connections, seconds=args.seconds)
                rates[name].append(requests * (BATCH if len(bodies) == BATCHES else 1) / args.seconds)
        memory = after_requests(process, port, cases["base64, 1 text, 32 connections"][0], args.requests)

    print(machine())
    if args.rounds > 0:
        title = f"{BATCH * BATCHES:,} sentences of {text.name}, medians of {args.rounds} rounds"
        print_rates(rates, title, next(iter(cases)))
    print("requests of one text, 8 connections: memory of the server in MiB")
    for count, mebibytes in memory.items():
        print(f"{count:>10,} {mebibytes:8.1f}")
    *_, before, last = memory.values()
    print(f"the last 90 %: {last - before:+.1f} {verdict(last - before, GROWTH, at_least=False)}")
    write_json(args.json, rates=rates, memory=memory)


def print_rates(rates: dict[str, list[float]], title: str, judged: str) -> None:
    print(f"{title}\n\n{'texts per second':38} {'rate':>9} {'of encode':>9}")
    medians = {name: statistics.median(values) for name, values in rates.items()}
    for name, rate in medians.items():
        aim = verdict(rate / medians["encode"], TARGET) if name == judged else ""
        print(f"{name:38} {rate:9,.0f} {rate / medians['encode']:9.2f} {aim}".rstrip())
    print()


def body(texts: list[str], encoding: str) -> bytes:
    return json.dumps({"model": "default", "input": texts, "encoding_format": encoding}).encode()


@contextmanager
def server() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server's process and port; it must end well."""
    command = [sys.executable, "-m", "sentencode", "serve", "default", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        line = process.stderr.readline() if process.stderr else ""
        match = re.search(r":(\d+)/v1", line)
        if match is None:
            raise SystemExit(f"the server did not start: {line}")
        try:
            yield process, int(match[1])
        finally:
            process.send_signal(signal.SIGTERM)
        if process.wait(60) != 0:
            raise SystemExit(f"the server ended with status {process.returncode}")


def post(connection: http.client.HTTPConnection, content: bytes) -> bytes:
    connection.request("POST", "/v1/embeddings", content)
    response = connection.getresponse()
    answer = response.read()
    if response.status != 200:
        raise SystemExit(f"status {response.status}: {answer[:200]!r}")
    return answer


def check(port: int, batch: list[str], encoder: object) -> None:
    """The embeddings of the server must be those of encode."""
    data = json.loads(post(http.client.HTTPConnection("127.0.0.1", port), body(batch, "base64")))["data"]
    rows = np.stack([np.frombuffer(base64.b64decode(one["embedding"]), np.float32) for one in data])
    np.testing.assert_array_equal(rows, encoder.encode(batch, normalize_embeddings=True))  # type: ignore[attr-defined]


def send(
    port: int, bodies: list[bytes], connections: int, *, seconds: float = np.inf, most: float = np.inf
) -> int:
    """Number of requests that all connections together have sent in some seconds, or `most`."""
    counts = [0] * connections
    end = time.perf_counter() + seconds

    def requests(i: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        while time.perf_counter() < end and counts[i] < most / connections:
            post(connection, bodies[(i + counts[i]) % len(bodies)])
            counts[i] += 1
        connection.close()

    threads = [threading.Thread(target=requests, args=(i,)) for i in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts)


def after_requests(
    process: subprocess.Popen[str], port: int, bodies: list[bytes], count: int
) -> dict[int, float]:
    """Memory of the server in MiB after 1,000 requests, ten times as many, and so on up to `count`."""
    page = os.sysconf("SC_PAGE_SIZE") / 2**20
    memory: dict[int, float] = {}
    sent = 0
    for total in [*itertools.takewhile(lambda n: n < count, (10**i for i in itertools.count(3))), count]:
        sent += send(port, bodies, 8, most=total - sent)
        memory[sent] = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * page
        print(f"{sent:,} requests: {memory[sent]:.1f} MiB", file=sys.stderr)
    return memory


if __name__ == "__main__":
    main()
