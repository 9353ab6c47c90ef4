"""Counters of a server, in the text format of Prometheus."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from contextlib import suppress
from pathlib import Path
from resource import getpagesize

__all__ = ["Metrics"]

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Counters of requests and of the encoder's work.

    Example:
        >>> metrics = Metrics()
        >>> metrics.add_request("/v1/embeddings", 200, seconds=0.003)
        >>> [line for line in metrics.text().splitlines() if line.startswith("sentencode_requests_total")]
        ['sentencode_requests_total{path="/v1/embeddings",status="200"} 1']
    """

    def __init__(self) -> None:
        self.in_progress = 0  # requests
        self.memory = 0  # bytes, estimated
        self.inputs = self.batches = 0
        self.encode_seconds = 0.0
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets = [0] * (len(_SECONDS) + 1)
        self._seconds = 0.0

    def add_request(self, path: str, status: int, seconds: float) -> None:
        """Counts an answered request; times are those of requests for embeddings that succeeded."""
        self._requests[path, status] += 1
        if path == "/v1/embeddings" and status == 200:
            self._buckets[bisect_left(_SECONDS, seconds)] += 1
            self._seconds += seconds

    def text(self) -> str:
        """All metrics."""
        lines: list[str] = []

        def add(name: str, kind: str, help: str, *samples: tuple[str, float]) -> None:
            lines.extend((f"# HELP {name} {help}", f"# TYPE {name} {kind}"))
            lines.extend(f"{name}{labels} {value}" for labels, value in samples)

        requests = sorted(self._requests.items())
        samples = [(f'{{path="{path}",status="{status}"}}', n) for (path, status), n in requests]
        add("sentencode_requests_total", "counter", "Answered requests.", *samples)
        count, buckets = 0, []
        for bound, n in zip((*_SECONDS, "+Inf"), self._buckets, strict=True):
            count += n
            buckets.append((f'_bucket{{le="{bound}"}}', count))
        totals = [("_sum", self._seconds), ("_count", count)]
        seconds = "Time of requests for embeddings that succeeded."
        add("sentencode_request_seconds", "histogram", seconds, *buckets, *totals)
        add("sentencode_inputs_total", "counter", "Encoded texts.", ("", self.inputs))
        add("sentencode_batches_total", "counter", "Batches of the encoder.", ("", self.batches))
        encoding = "Time in the encoder."
        add("sentencode_encode_seconds_total", "counter", encoding, ("", self.encode_seconds))
        add("sentencode_requests_in_progress", "gauge", "Requests in progress.", ("", self.in_progress))
        memory = "Estimated memory of the requests in progress."
        add("sentencode_request_memory_bytes", "gauge", memory, ("", self.memory))
        processor = "Processor time of the process."
        add("process_cpu_seconds_total", "counter", processor, ("", time.process_time()))
        with suppress(OSError):  # Linux only
            resident = int(Path("/proc/self/statm").read_text().split()[1]) * getpagesize()
            add("process_resident_memory_bytes", "gauge", "Memory of the process.", ("", resident))
        return "\n".join(lines) + "\n"
