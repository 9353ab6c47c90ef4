"""What the parts of tools/gpu_check share: results that survive a killed process, the kit, devices."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
WORDS = 21_583  # of the paper's vocabulary
TOKENIZER = {"tokenizer": "words", "lowercase": True}
STOPPED = 124  # exit status of a part that is out of time, as timeout's


def write_json(path: Path, value: Any) -> None:
    """Replaces a file; after a crash there is the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def read_json(path: Path) -> Any:
    """What the file holds; None if it is missing or damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


class Facts:
    """The results of a part. Every change is on disk before the next line runs.

    Args:
        args: Options that the driver passes to every part.
        resume: Keep the successful cases that an earlier call has left in the file, and skip them.
    """

    def __init__(self, args: argparse.Namespace, resume: bool = True) -> None:
        self.path, self.end = args.facts, time.monotonic() + args.seconds
        cases = (read_json(self.path) or {}).get("cases", {}) if resume else {}
        self.values: dict[str, Any] = {
            "cases": {name: result for name, result in cases.items() if "error" not in result}
        }
        self.failures: dict[str, str] = {}

    def put(self, **values: Any) -> None:
        self.values.update(values)
        write_json(self.path, self.values)

    def attempt(self, name: str, work: Callable[[], Any]) -> bool:
        """Runs one case; its error is recorded, and does not stop the others. Exits if the time is over."""
        if name in self.values["cases"]:
            print(f"{name}: done in an earlier call", flush=True)
            return True
        if time.monotonic() > self.end:
            print(f"out of time before {name}", flush=True)
            sys.exit(STOPPED)
        begin = time.perf_counter()
        try:
            result = work()
        except Exception as error:
            lines = traceback.format_exc().splitlines()[-12:]
            result = {"error": f"{type(error).__name__}: {error}"[:2000], "traceback": lines}
        if isinstance(result, dict):
            if "error" in result:
                self.failures[name] = result["error"]
            result["took"] = round(time.perf_counter() - begin, 2)
        self.put(cases={**self.values["cases"], name: result})
        print(f"{name}: {json.dumps(result)[:600]}", flush=True)
        return name not in self.failures

    def finish(self) -> None:
        """Exits with 1 if a case failed."""
        sys.exit(bool(self.failures))


def options_of_part() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--facts", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--kit", type=Path, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--rehearse", action="store_true")
    return parser.parse_args()


def gpu(args: argparse.Namespace) -> str:
    """The device under test; a processor stands in for it in a rehearsal."""
    return "cpu" if args.rehearse else "cuda"


def synchronize(device: str) -> None:
    import torch

    if device.startswith("cuda"):
        torch.cuda.synchronize()


def text(args: argparse.Namespace, sentences: int | None = None) -> list[str]:
    """Sentences of the kit's books in their order; an empty line ends a book."""
    import itertools
    import lzma

    path = args.kit / "data" / "text" / "books.train.txt.xz"
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        return [line.rstrip("\n") for line in itertools.islice(lines, sentences)]


def word_vectors(args: argparse.Namespace) -> Any:
    import numpy as np

    import sentencode as se

    with np.load(args.kit / "data" / "vectors" / "glove.local.300d.f16.npz") as arrays:
        words = bytes(arrays["words"]).decode("utf-8").split("\n")
        rows = arrays["vectors"].astype(np.float32)
    return se.WordVectors.from_array(words, rows, storage="float16")
