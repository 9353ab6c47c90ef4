"""Runs tasks in processes of this machine."""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from ..checks import checked_int
from ..threads import num_threads
from .engines import attempt

__all__ = ["LocalEngine"]

_TRIES = 3  # of a task whose workers are lost


class LocalEngine:
    """Runs tasks in processes of this machine, which share memory-mapped word vectors.

    Processes are spawned, not forked: threads of this process cannot harm them, and the main module needs no
    `if __name__ == "__main__"`. They end with this process, however it ends. A lost process is replaced, and
    its task repeated, at most three times.

    Args:
        workers: Number of processes. None: as many as `num_threads()` allows. One: this process itself.
        threads: Threads of each. None: one, or all for a single worker.
    """

    def __init__(self, workers: int | None = None, threads: int | None = None) -> None:
        threads = None if threads is None else checked_int("LocalEngine: threads", threads, 1)
        workers = None if workers is None else checked_int("LocalEngine: workers", workers, 1)
        self._workers = workers or max(1, num_threads() // (threads or 1))
        self.threads = threads if threads or self._workers == 1 else 1

    @property
    def workers(self) -> int:
        """Number of processes."""
        return self._workers

    def run(self, work: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """As `Engine.run`."""
        if self._workers == 1:
            for i, task in enumerate(tasks):
                yield i, attempt(work, task)
            return
        job = _Job(pickle.dumps(work), list(enumerate(tasks)))
        feeders = [
            threading.Thread(target=job.feed, daemon=True) for _ in range(min(self._workers, len(tasks)))
        ]
        for feeder in feeders:
            feeder.start()
        try:
            for _ in tasks:
                i, result, error = job.results.get()
                if error is not None:
                    raise error
                yield i, result
        finally:
            job.stop()
            for feeder in feeders:
                feeder.join()


class _Job:
    """Waiting tasks with their indices, results, and the processes; `work` is the pickled function."""

    def __init__(self, work: bytes, tasks: list[tuple[int, Any]]) -> None:
        self.work, self.waiting = work, tasks[::-1]
        self.results: queue.Queue[tuple[int, Any, Exception | None]] = queue.Queue()
        self.lock = threading.Lock()
        self.stopped = False
        self.processes: list[subprocess.Popen[bytes]] = []

    def stop(self) -> None:
        """Kills all processes."""
        with self.lock:
            self.stopped = True
            for process in self.processes:
                process.kill()

    def next(self) -> tuple[int, Any] | None:
        with self.lock:
            return self.waiting.pop() if self.waiting and not self.stopped else None

    def feed(self) -> None:
        """Runs tasks in a process, one after the other, and replaces a lost process."""
        process: subprocess.Popen[bytes] | None = None
        try:
            while (item := self.next()) is not None:
                i, task = item
                for lost in range(1, _TRIES + 1):
                    is_new = process is None
                    process = self._started() if process is None else process
                    if process is None:
                        return  # stopped
                    try:
                        if is_new:
                            _send(process.stdin, self.work)
                        _send(process.stdin, pickle.dumps(task))
                        result = pickle.loads(_receive(process.stdout))
                        self.results.put((i, result, None))
                        break
                    except (EOFError, OSError):
                        status = _status(process)
                        self._ended(process)
                        process = None
                        if self.stopped:
                            return
                        if lost == _TRIES:
                            why = f"signal {-status}" if status < 0 else f"status {status}"
                            hint = "; perhaps it ran out of memory" if status == -signal.SIGKILL else ""
                            raise RuntimeError(
                                f"{task}: {_TRIES} workers were lost on it, the last one with {why}{hint}"
                            ) from None
        except Exception as error:
            self.results.put((-1, None, error))
        finally:
            if process is not None:
                self._ended(process)

    def _started(self) -> subprocess.Popen[bytes] | None:
        with self.lock:
            if self.stopped:
                return None
            process = subprocess.Popen(
                [sys.executable, "-c", _START, *map(os.fspath, sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # only this process gets Ctrl-C
            )
            self.processes.append(process)
        return process

    def _ended(self, process: subprocess.Popen[bytes]) -> None:
        for pipe in (process.stdin, process.stdout):
            try:
                if pipe is not None:
                    pipe.close()
            except OSError:  # the process reads no more
                pass
        process.wait()
        with self.lock:
            self.processes.remove(process)


def _status(process: subprocess.Popen[bytes]) -> int:
    """The exit status of a process whose pipes are closed."""
    try:
        return process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


# Code of a worker process; it has the import path of this process.
_START = "import sys; sys.path[:] = sys.argv[1:]; from sentencode.scale.local import work; work()"


def work() -> None:
    """Main loop of a worker process: reads a function, then tasks, and writes results."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # printed text must not mix with answers
    pickled = _receive(sys.stdin.buffer)
    try:
        function = pickle.loads(pickled)
    except Exception as error:  # for example a tokenizer that is defined in a notebook
        function = partial(_refuse, error)
    tasks: queue.Queue[bytes] = queue.Queue()

    def listen() -> None:
        try:
            while True:
                tasks.put(_receive(sys.stdin.buffer))
        except EOFError:  # the parent process has ended
            os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    try:
        while True:
            _send(answers, pickle.dumps(attempt(function, pickle.loads(tasks.get()))))
    except SystemExit as leaving:  # a normal exit would wait for the listening thread
        os._exit(leaving.code if isinstance(leaving.code, int) else 1)


def _refuse(error: Exception, _: Any) -> Any:
    raise error


def _send(pipe: Any, content: bytes) -> None:
    pipe.write(len(content).to_bytes(8, "little"))
    pipe.write(content)
    pipe.flush()


def _receive(pipe: Any) -> bytes:
    return _exactly(pipe, int.from_bytes(_exactly(pipe, 8), "little"))


def _exactly(pipe: Any, size: int) -> bytes:
    content: bytes = pipe.read(size)
    if len(content) < size:
        raise EOFError
    return content


def __dir__() -> list[str]:
    return sorted(__all__)
