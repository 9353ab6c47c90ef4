"""Damages saved files of every kind, reads each in a process of its own, and counts what happens.

usage: python tools/fuzz_files.py [--seconds 60] [--seed 1] [--state build/fuzz-files] [--kinds sif,laes]

A damaged file must be refused by an error that names it, or give what the whole one gave. Half of the files
get new checksums after the damage, so that what lies behind these is reached: of those, rows may differ. A
process that dies, hangs, takes more memory than --memory, or raises what is no ValueError or OSError, has
failed; the file then lies in the state's folder. The same command goes on where the last one stopped.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import resource
import select
import struct
import subprocess
import sys
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

TEXTS = [
    "the cat sat on the mat",
    "a big dog ran",
    "the red cat",
    "a dog sat",
    "the big mat",
    "no such words",
]
WORDS = ["the", "cat", "sat", "on", "mat", "a", "big", "dog", "ran", "red"]
NUMBERS = (0, 1, 2, 3, 7, 255, 4096, 65537, 1 << 20, 1 << 31, (1 << 31) - 1, 1 << 40, 1 << 62, (1 << 63) - 1)
FAILED = ("silent", "unnamed", "memory", "hang", "crash", "odd")
_ROUND = 500
COLUMNS = ("files", "refused", "same", "changed", *FAILED)
TENSOR, HEADER = "checksum.tensor.", "checksum.header"


# --- files that are whole, and what is read of them


def make(folder: Path) -> list[str]:
    """Writes a file of each kind that can be made here, and gives the kinds."""
    import numpy as np

    import sentencode as se
    from sentencode.evaluation import Report, TaskResult

    rows = np.random.default_rng(1).normal(size=(len(WORDS), 4)).astype(np.float32)
    counts = list(range(10 * len(WORDS), 0, -10))
    tables = {
        storage: se.WordVectors.from_array(WORDS, rows, counts, storage=storage)
        for storage in ("float32", "float16", "int8")
    }
    for storage, table in tables.items():
        table.save(folder / f"vectors-{storage}")
    np.savez(folder / "archive", words=np.array(WORDS), vectors=rows, counts=np.array(counts))
    os.rename(folder / "archive.npz", folder / "archive")
    words = tables["float32"]
    laes: dict[str, Any] = {"hidden": 4, "max_length": 4}
    encoders = {
        "average": se.Average(tables["float16"]),
        "sif": se.SIF(words, components=1).fit(TEXTS),
        "usif": se.USIF(tables["int8"], components=2).fit(TEXTS),
        "laes-hidden": se.LAES(words, mode="hidden", **laes).fit(TEXTS),
        "laes-residual": se.LAES(words, mode="residual", **laes).fit(TEXTS),
    }
    for name, encoder in encoders.items():
        encoder.save(folder / name)
    encoders["laes-hidden"].save(folder / "laes-statistics", statistics=True)
    report = Report("one", {"mine": TaskResult("mine", {"acc": 61.5, "ntest": 3}, {})}, {"other": "no files"})
    report.to_json(folder / "report")
    _make_neural(folder, words)
    return sorted(path.name for path in folder.iterdir())


def _make_neural(folder: Path, words: Any) -> None:
    try:
        from sentencode import models
    except ImportError:
        return
    attending = {"hidden": 8, "inner": 8, "heads": 2}
    small: dict[str, dict[str, Any]] = {
        "CNNLSTMAE": {"hidden": 8, "filters": 4, "windows": (1, 2)},
        "LSTMSDAE": {"hidden": 8},
        "MeanMaxAAE": attending,
        "RAE": attending,
    }
    for kind, options in small.items():
        encoder = getattr(models, kind)(words, **options, max_steps=4, batch_size=3, device="cpu")
        encoder.fit(TEXTS * 4).save(folder / kind.lower())


def read(kind: str, path: str) -> str:
    """Reads a file, uses it, and tells what came out from anything else."""
    import numpy as np

    import sentencode as se
    from sentencode.evaluation import Report

    if kind == "report":
        return Report.load(path).to_json()
    if kind.startswith("vectors") or kind == "archive":
        table = se.WordVectors.load(path, verify=True)
        found = [table.matrix(), np.array(list(table.words)), np.array([word in table for word in WORDS])]
    else:
        found = [se.load(path).encode(TEXTS)]
    digest = hashlib.sha256()
    for array in found:
        digest.update(str((array.dtype, array.shape)).encode() + array.tobytes())
    return digest.hexdigest()


# --- damage


def damaged(content: bytes, chance: random.Random) -> bytes:
    """The content with one kind of damage."""
    data = bytearray(content)
    place = chance.randrange(len(data))
    header = min(len(data), 8 + struct.unpack("<Q", data[:8])[0]) if data[8:9] == b"{" else len(data)
    what = chance.choice(
        ("bit", "bit", "header bit", "bits", "cut", "insert", "remove", "size", "number", "copy")
    )
    if what == "bit":
        data[place] ^= 1 << chance.randrange(8)
    elif what == "header bit":
        data[chance.randrange(header)] ^= 1 << chance.randrange(8)
    elif what == "bits":
        for _ in range(chance.randrange(2, 9)):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif what == "cut":
        del data[place:]
    elif what == "insert":
        data[place:place] = chance.randbytes(chance.randrange(1, 17))
    elif what == "remove":
        del data[place : place + chance.randrange(1, 17)]
    elif what == "size":
        data[:8] = struct.pack(
            "<Q", chance.choice((*NUMBERS, header - 8 + chance.randrange(-8, 9))) % (1 << 64)
        )
    elif what == "number":
        return _other_number(bytes(data), header, chance)
    else:
        begin = chance.randrange(len(data))
        data[place : place + 64] = data[begin : begin + 64]
    return bytes(data)


def _other_number(data: bytes, header: int, chance: random.Random) -> bytes:
    """Another number for one that stands in the header."""
    import re

    places = [match.span() for match in re.finditer(rb"[0-9]+", data[8:header])]
    if not places:
        return data
    begin, end = chance.choice(places)
    new = str(chance.choice(NUMBERS)).encode()
    text = data[8 : 8 + begin] + new + data[8 + end : header]
    if data[8:9] != b"{":
        return data[:8] + text + data[header:]
    return struct.pack("<Q", len(text)) + text + data[header:]


def with_new_checksums(data: bytes) -> bytes:
    """The same file as if it had been written so; as it is where its header cannot be read."""
    try:
        size = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8 : 8 + size])
        metadata = header["__metadata__"]
        body, tensors = (
            data[8 + size :],
            {name: one for name, one in header.items() if name != "__metadata__"},
        )
        metadata = {key: value for key, value in metadata.items() if not key.startswith("checksum.")}
        for name, one in tensors.items():
            begin, end = one["data_offsets"]
            metadata[TENSOR + name] = f"{zlib.crc32(body[begin:end]):08x}"
        said = [text for key in sorted(metadata, key=str.encode) for text in (key, metadata[key])]
        for name in sorted(tensors, key=str.encode):
            one = tensors[name]
            said += [name, one["dtype"], *map(str, one["shape"]), *map(str, one["data_offsets"])]
        metadata[HEADER] = f"{zlib.crc32(b''.join(text.encode() + bytes(1) for text in said)):08x}"
        text = json.dumps({"__metadata__": metadata, **tensors}, ensure_ascii=False).encode()
    except (ValueError, KeyError, TypeError, AttributeError, struct.error):
        return data
    text += b" " * (-(8 + len(text)) % 64)
    return struct.pack("<Q", len(text)) + text + body


# --- the process that reads


def serve(memory: int) -> None:
    """Reads what it is told to, one line each, and answers with what happened."""
    import sentencode as se  # before memory is bounded

    se.set_num_threads(1)
    for kind, path in map(str.split, sys.stdin):
        if kind == "load":  # what a kind needs is loaded once
            with contextlib.suppress(Exception):
                read(*path.split(":", 1))
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + memory, resource.RLIM_INFINITY))
            answer = ["ready", ""]
        else:
            answer = _outcome(kind, path)
        print(json.dumps(answer), flush=True)


def _outcome(kind: str, path: str) -> list[str]:
    try:
        return ["read", read(kind, path)]
    except MemoryError as error:
        return ["memory", repr(error)]
    except (ValueError, OSError) as error:
        return ["refused" if path in str(error) else "unnamed", repr(error)]
    except BaseException as error:
        return ["odd", repr(error)]


class Reader:
    """A process that serves; a new one after each that died."""

    def __init__(self, memory: int, seconds: float) -> None:
        self._command = [sys.executable, __file__, "--serve", str(memory)]
        self._seconds = seconds
        self._process: subprocess.Popen[str] | None = None

    def __call__(self, kind: str, path: Path, whole: Path) -> tuple[str, str]:
        if self._process is None:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            self._ask(f"load {kind}:{whole}", 300)
        return self._ask(f"{kind} {path}", self._seconds)

    def _ask(self, line: str, seconds: float) -> tuple[str, str]:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            print(line, file=process.stdin, flush=True)
        ready, _, _ = select.select([process.stdout], [], [], seconds)
        answer = process.stdout.readline() if ready else ""
        if answer:
            what, why = json.loads(answer)
            return what, why
        self.close()
        return ("crash", f"exit status {process.returncode}") if ready else ("hang", f"{seconds} seconds")

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process = None


# --- the run


def mutants(seed: int, kind: str, content: bytes, first: int) -> Iterator[tuple[int, bool, bytes]]:
    """Endless damaged files, from a number on: the number, whether checksums are kept, the file."""
    number = first
    while True:
        chance = random.Random(f"{seed} {kind} {number}")
        data = damaged(content, chance)
        kept = number % 2 == 0
        yield number, kept, data if kept else with_new_checksums(data)
        number += 1


def judge(answer: tuple[str, str], whole: str, may_change: bool) -> str:
    """The column of an answer."""
    if answer[0] != "read":
        return answer[0]
    return "same" if answer[1] == whole else "changed" if may_change else "silent"


def table(counts: dict[str, Counter[str]]) -> str:
    """What happened, a kind a line."""
    lines = [("kind", *COLUMNS)]
    for kind, found in [*sorted(counts.items()), ("all", sum(counts.values(), Counter()))]:
        lines.append((kind, *(f"{found[column]:,}" for column in COLUMNS)))
    text = [f"| {' | '.join(line)} |" for line in lines]
    text.insert(1, "| --- |" + " ---: |" * len(COLUMNS))
    return "\n".join(text)


def run(folder: Path, seed: int, seconds: float, memory: int, only: list[str]) -> int:
    """Reads damaged files for some time; gives how many failed, in earlier runs too."""
    whole, state = folder / "whole", folder / f"seed-{seed}.json"
    if not whole.is_dir():
        whole.mkdir(parents=True)
        make(whole)
    kinds = [path.name for path in sorted(whole.iterdir()) if not only or path.name in only]
    known = json.loads(state.read_text()) if state.exists() else {}
    counts = {kind: Counter(known.get(kind, {})) for kind in kinds}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for kind in kinds:
            _round(folder, whole / kind, seed, memory, counts[kind], end)
            state.write_text(json.dumps({**known, **counts}))
    print(table(counts))
    return sum(found[column] for found in counts.values() for column in FAILED)


def _round(folder: Path, whole: Path, seed: int, memory: int, counts: Counter[str], end: float) -> None:
    """Reads some damaged files of one kind, in one process unless they end it."""
    kind, mutant = whole.name, folder / "mutant"
    reader = Reader(memory, 60)
    what, before = reader(kind, whole, whole)
    if what != "read":
        raise SystemExit(f"{kind}: the whole file is not read: {what}, {before}")
    for number, kept, data in islice(mutants(seed, kind, whole.read_bytes(), counts["files"]), _ROUND):
        mutant.write_bytes(data)
        answer = reader(kind, mutant, whole)
        # A report is a text without checksums.
        found = judge(answer, before, may_change=not kept or kind == "report")
        counts.update(["files", found])
        if found in FAILED:
            failed = folder / f"{found}-{kind}-{seed}-{number}"
            mutant.replace(failed)
            print(f"{found}: {failed}: {answer[1]:.200}", file=sys.stderr)
        if time.monotonic() > end:
            break
    reader.close()


def main() -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--state", type=Path, default=Path("build/fuzz-files"))
    parser.add_argument("--kinds", default="")
    parser.add_argument(
        "--memory", type=int, default=256, metavar="MB", help="above what the whole file takes"
    )
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        serve(options.serve)
        return 0
    only = [kind for kind in options.kinds.split(",") if kind]
    failed = run(options.state.absolute(), options.seed, options.seconds, options.memory << 20, only)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
