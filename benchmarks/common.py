"""What the benchmarks share: environments of the peers, processes that take turns, the machine's floor."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent / "build" / "bench"
WORKERS = HERE / "workers"

Result = dict[str, Any]


def environment(name: str, requirements: Sequence[str], finish: Callable[[Path], None] | None = None) -> Path:
    """The Python of a virtual environment build/bench/<name>, made on the first call. Another list of
    requirements makes it anew."""
    folder = BUILD / name
    python = folder / "bin" / "python"
    mark = folder / "requirements.txt"
    wanted = "\n".join(requirements) + "\n"
    if mark.exists() and mark.read_text() == wanted:
        return python
    print(f"making {folder}", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    run([sys.executable, "-m", "venv", folder])
    run([python, "-m", "pip", "install", "--quiet", *requirements])
    if finish is not None:
        finish(python)
    mark.write_text(wanted)  # last: a half-made environment is made again
    return python


def gensim() -> Path:
    return environment("gensim", ["gensim==4.4.0"])


def model2vec() -> Path:
    return environment("model2vec", ["model2vec==0.10.0"])


def fse() -> Path:
    """fse 1.0.0, whose source package does not install as published (2022): see benchmarks/README.md."""
    requirements = [
        "pip<25",  # the last with --no-use-pep517, which a setup.py of its time needs
        "setuptools<65",
        "wheel",
        "Cython<3",
        "numpy<2",
        "scipy==1.12.0",
        "scikit-learn<1.6",
        "gensim==4.3.3",
        "wordfreq",
        "psutil",
        "requests",
        "huggingface-hub",
    ]
    return environment("fse", requirements, repair_fse)


def repair_fse(python: Path) -> None:
    folder = python.parents[1] / "source"
    pip = [python, "-m", "pip"]
    old_style = ["--no-use-pep517", "--no-build-isolation", "--no-deps"]
    run([*pip, "download", "--quiet", *old_style, "--no-binary", "fse", "--dest", folder, "fse==1.0.0"])
    with tarfile.open(folder / "fse-1.0.0.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    source = folder / "fse-1.0.0"
    # Sets a variable that is no longer needed, in a way that works in an interpreter's main module alone.
    setup = source / "setup.py"
    setup.write_text(setup.read_text().replace("__builtins__.__NUMPY_SETUP__ = False", "pass"))
    # Made by an old Cython, it does not compile for Python 3.11; without it, it is made anew.
    (source / "fse" / "models" / "average_inner.c").unlink()
    run([*pip, "install", "--quiet", *old_style, source])
    check = "from fse.models.average import FAST_VERSION as v; assert v == 1, 'its fast path is missing'"
    run([python, "-c", check], cwd=folder)


def run(command: Iterable[str | os.PathLike[str]], **options: Any) -> None:
    """Runs a command, and shows what it printed if it failed."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def take_turns(
    workers: dict[str, Sequence[str | os.PathLike[str]]], rounds: int, once: Collection[str] = ()
) -> dict[str, list[Result]]:
    """Runs every command `rounds` times, one after the other in each round, so that what else the machine
    does hits all of them alike; those named in `once` in the first round alone. A worker prints one line of
    JSON at its end."""
    results: dict[str, list[Result]] = {name: [] for name in workers}
    for i in range(rounds):
        for name, command in workers.items():
            if i > 0 and name in once:
                continue
            print(f"round {i + 1} of {rounds}: {name}", file=sys.stderr)
            done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True)
            if done.returncode != 0:
                raise SystemExit(f"{name} failed: {' '.join(map(str, command))}")
            results[name].append(json.loads(done.stdout.splitlines()[-1]))
    return results


class Contestants:
    """Functions that are measured, each call in a process of its own that runs the same script.

    Args:
        script: The script.
        functions: What is called there, by name; it returns what it wants to tell as JSON.
    """

    def __init__(self, script: str, *functions: Callable[..., Result]) -> None:
        self.script, self.functions = script, {function.__name__: function for function in functions}
        self.options: list[str | os.PathLike[str]] = []  # that the script needs in the child as well
        self.everything: list[Result] = []  # that was measured

    def argument(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--child", help=argparse.SUPPRESS)

    def run_child(self, given: argparse.Namespace) -> bool:
        """In a child does what it was started for, and is true."""
        if not given.child:
            return False
        name, *details = json.loads(given.child)
        print(json.dumps(self.functions[name](*details)))
        return True

    def measure(self, rounds: int, *cases: Sequence[Any], once: Collection[str] = ()) -> list[list[Result]]:
        """Lets functions take turns: a case is a name and its arguments. One list of results a case."""
        commands = {
            case[0]: [sys.executable, self.script, *self.options, "--child", json.dumps(case)]
            for case in cases
        }
        results = take_turns(commands, rounds, once)
        self.everything.extend({"case": case, "runs": results[case[0]]} for case in cases)
        return [results[case[0]] for case in cases]


class Clock:
    """Seconds, processors at work and memory of what a worker does in its `with` block."""

    def __enter__(self) -> Clock:
        self._begin, self._work = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._begin
        self.cores = (time.process_time() - self._work) / self.seconds

    def facts(self, **more: object) -> dict:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return dict(seconds=self.seconds, cores=self.cores, mebibytes=round(peak), **more)


def median(results: list[Result], key: str) -> float:
    return float(statistics.median(result[key] for result in results))


def spread(results: list[Result], key: str) -> str:
    values = sorted(result[key] for result in results)
    return f"{values[0]:.3g} to {values[-1]:.3g}"


def forward_seconds(rows: int, inner: int, outer: int) -> float:
    """Of one product [rows, inner] [inner, outer] by torch."""
    import torch

    x, w = torch.randn(rows, inner), torch.randn(inner, outer)
    return best_seconds(lambda: x @ w)


def best_seconds(run: Callable[[], Any]) -> float:
    """The least of five times."""
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return float(min(times))


def memory(field: str) -> float:
    """A field of this process's memory in MiB, such as VmRSS or VmHWM."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field + ":"))


def copy_bandwidth(threads: int, megabytes: int = 512, rounds: int = 5) -> float:
    """Bytes read and written a second when `threads` threads copy memory that no cache holds: the best of
    some rounds, for the machine's floor is what it can do undisturbed."""
    size = megabytes * 2**20 // threads
    blocks = [(np.ones(size, np.uint8), np.empty(size, np.uint8)) for _ in range(threads)]
    best = float("inf")
    for _ in range(rounds):
        team = [threading.Thread(target=np.copyto, args=(out, block)) for block, out in blocks]
        begin = time.perf_counter()
        for thread in team:
            thread.start()
        for thread in team:
            thread.join()
        best = min(best, time.perf_counter() - begin)
    return 2 * size * threads / best


def processors() -> int:
    return len(os.sched_getaffinity(0))


def machine() -> str:
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{processors()} cores of {name}, Python {platform.python_version()}"


def arguments_of(parser: argparse.ArgumentParser, rounds: int) -> None:
    """What all benchmarks can be told."""
    parser.add_argument("--rounds", type=int, default=rounds, help="of which medians are taken")
    parser.add_argument("--json", type=Path, help="where all measurements are written")


def say(line: str) -> None:
    """Prints a line at once, also into a pipe."""
    print(line, flush=True)


def write_json(path: Path | None, **facts: Any) -> None:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"machine": machine(), **facts}, indent=1) + "\n", encoding="utf-8")


def verdict(value: float, target: float, at_least: bool = True) -> str:
    """A target and whether it is met."""
    met = value >= target if at_least else value <= target
    return f"(target {'>=' if at_least else '<='} {target:g}: {'met' if met else 'MISSED'})"


def data_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("SENTENCODE_DATA"),
        required="SENTENCODE_DATA" not in os.environ,
        help="the folder of real data (or set SENTENCODE_DATA)",
    )


def digest(path: Path) -> str:
    """Tells whether a file that was derived from another is still what it was made from."""
    status = path.stat()
    return hashlib.sha256(f"{path.resolve()} {status.st_size} {status.st_mtime_ns}".encode()).hexdigest()[:16]


def unpacked_vectors(path: Path) -> Path:
    """A folder with `words.json`, `vectors.npy` (float32) and `counts.npy` of an .npz with arrays `words`,
    `vectors` and `counts`: what every peer can read quickly."""
    folder = BUILD / "data" / f"vectors-{digest(path)}"
    if not (folder / "words.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        with np.load(path) as arrays:
            np.save(folder / "vectors.npy", arrays["vectors"].astype(np.float32))
            np.save(folder / "counts.npy", arrays["counts"])
            words = bytes(arrays["words"]).decode("utf-8").split("\n")
        (folder / "words.json").write_text(json.dumps(words), encoding="utf-8")
    return folder


def sentences_of(path: Path, count: int) -> Path:
    """A plain file with the first `count` sentences of a compressed one."""
    import lzma

    out = BUILD / "data" / f"sentences-{digest(path)}-{count}.txt"
    if not out.exists():
        out.parent.mkdir(parents=True, exist_ok=True)
        part = out.with_suffix(".part")
        with (
            lzma.open(path, "rt", encoding="utf-8", newline="\n") as source,
            part.open("w", encoding="utf-8") as target,
        ):
            written = 0
            for line in source:
                if line.strip():
                    target.write(line)
                    written += 1
                    if written == count:
                        break
            else:
                raise SystemExit(f"{path} holds only {written} sentences")
        part.rename(out)
    return out
