"""Joins requests that wait for the encoder into batches."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["EncodingQueue"]

Rows = npt.NDArray[np.float32]
_Job = tuple[list[str], "asyncio.Future[Rows]"]
_BATCH = 4096  # texts; requests are joined up to this many


class EncodingQueue:
    """A queue in front of one thread that encodes.

    While it encodes, requests wait; the next batch has all of them, up to 4,096 texts. Nothing waits for a
    batch to fill.

    Args:
        encode: Function that returns the embeddings of texts.
    """

    def __init__(self, encode: Callable[[list[str]], Rows]) -> None:
        self._encode = encode
        self._thread = ThreadPoolExecutor(1, "sentencode-encode")
        self._waiting: deque[_Job] = deque()
        self._work: asyncio.Task[None] | None = None

    def submit(self, texts: list[str]) -> asyncio.Future[Rows]:
        """The embeddings of a request, later. A request that is cancelled before its turn is not encoded."""
        future: asyncio.Future[Rows] = asyncio.get_running_loop().create_future()
        self._waiting.append((texts, future))
        if self._work is None:
            self._work = asyncio.create_task(self._run())
        return future

    async def _run(self) -> None:
        try:
            while jobs := self._batch():
                await self._answer(jobs)
        finally:
            self._work = None

    def _batch(self) -> list[_Job]:
        jobs: list[_Job] = []
        size = 0
        while self._waiting and (not jobs or size + len(self._waiting[0][0]) <= _BATCH):
            texts, future = self._waiting.popleft()
            if not future.done():
                jobs.append((texts, future))
                size += len(texts)
        return jobs

    async def _answer(self, jobs: list[_Job]) -> None:
        texts = jobs[0][0] if len(jobs) == 1 else [text for texts, _ in jobs for text in texts]
        outcome: Any
        try:
            outcome = await asyncio.get_running_loop().run_in_executor(self._thread, self._encode, texts)
        except (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # also a panic of Rust, which is no Exception
            if len(jobs) > 1:  # the texts of one request must not fail the others
                for job in jobs:
                    await self._answer([job])
                return
            outcome = error if isinstance(error, Exception) else RuntimeError(repr(error))
        begin = 0
        for part, future in jobs:
            end = begin + len(part)
            if future.done():  # its client is gone
                pass
            elif isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome[begin:end])
            begin = end
