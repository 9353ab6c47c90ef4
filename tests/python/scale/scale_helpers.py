"""What workers of engines run in tests: in a module, so that it crosses by name."""

from __future__ import annotations

import json
import os
import signal
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq


def content_of(folder: Path) -> dict[str, bytes]:
    """The files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def check_true(folder: Path) -> tuple[int, int]:
    """Whatever the manifest calls finished is there, whole; returns what it says."""
    manifest = json.loads((folder / "manifest.json").read_text())
    for part in manifest["parts"]:
        if "rows" in part:
            content = (folder / part["file"]).read_bytes()
            assert len(content) == part["bytes"]
            assert zlib.crc32(content) == part["crc32"]
            assert pq.read_metadata(folder / part["file"]).num_rows == part["rows"]
    finished = ["rows" in part for part in manifest["parts"]]
    assert manifest["complete"] == all(finished)
    assert manifest["rows"] == sum(part.get("rows", 0) for part in manifest["parts"])
    return sum(finished), len(finished)


def die_once(mark: Path) -> None:
    """Kills this process, if no process was here before."""
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class Dying:
    """Work whose worker is killed once during a task."""

    work: Any
    mark: Path
    task: int

    def __call__(self, task: Any) -> Any:
        if task.number == self.task:
            result = self.work(task)  # its file is there; who made it is lost before it can say so
            die_once(self.mark)
            return result
        return self.work(task)


@dataclass
class DyingAlways:
    """Work that no worker survives."""

    work: Any

    def __call__(self, task: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)


class DyingEngine:
    """An engine one of whose workers is killed once."""

    def __init__(self, engine: Any, mark: Path, task: int = 1) -> None:
        self.engine, self.mark, self.task = engine, mark, task
        self.threads = engine.threads

    @property
    def workers(self) -> int:
        return int(self.engine.workers)

    def run(self, work: Any, tasks: Any) -> Any:
        if tasks and hasattr(tasks[0], "number"):
            work = Dying(work, self.mark, self.task)
        return self.engine.run(work, tasks)


def threads_seen(task: Any) -> int:
    """How many threads this worker would encode with."""
    from sentencode.scale.opened import use_threads
    from sentencode.threads import num_threads

    use_threads(None)
    return num_threads()
