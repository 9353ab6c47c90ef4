"""From Parquet files to Parquet files with embeddings, in one process and with each engine on all processors.

Each system reads, encodes and writes the same rows in its own process. Rates exclude the time to start an
engine and to open the encoder, which a small job measures first. Also: the cost of a shard, the memory of a
worker, and fitting LAES over 8 shards.

Engines that are not installed are skipped: `make test-scale` makes an environment that has them.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import machine, processors, verdict, write_json

import sentencode as se

ENGINES = {"local": "sentencode", "ray": "ray", "spark": "pyspark", "dask": "distributed"}
SHARE = 0.9  # of the rate of one process
FIT = 1.2  # times the time of one process
ROWS = 1 << 14


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="not needed: sentences are those that come with the package")
    parser.add_argument("--sentences", type=int, default=10_000_000)
    parser.add_argument("--shards", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=1, help="of which the best is taken")
    parser.add_argument("--only", nargs="*", default=[*ENGINES, "overhead", "fit"])
    parser.add_argument("--fitted", type=int, default=200_000, help="sentences of the fit")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--folder", type=Path, help="where files are made, and removed (default: temporary)")
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        print(json.dumps(JOBS[args.run[0]](Path(args.run[1]), int(args.run[2]))))
        return
    print(machine(), flush=True)
    facts: dict[str, object] = {"sentences": args.sentences, "shards": args.shards}
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        folder = Path(name)
        se.Average(se.WordVectors.default()).save(folder / "average.sentencode")
        engines = [one for one in ENGINES if one in args.only and importlib.util.find_spec(ENGINES[one])]
        if engines:
            make(folder / "in", args.sentences, args.shards)
            for _ in range(args.rounds):
                for one in ["one process", *engines]:
                    figures = child(one, folder, args.shards)
                    best = facts.get(one)
                    facts[one] = max(best or figures, figures, key=lambda x: x["rate"])  # type: ignore[index]
            whole = facts["one process"]["rate"]  # type: ignore[index]
            print(f"{'one process':12} {whole:10,.0f} sentences a second")
            for one in engines:
                figures = facts[one]
                share = figures["rate"] / whole  # type: ignore[index]
                print(
                    f"{one:12} {figures['rate']:10,.0f}  {share:5.0%} {verdict(share, SHARE)}  "  # type: ignore[index]
                    f"start {figures['start']:.1f} s, memory of a worker {figures['memory'] / 1e6:.0f} MB"  # type: ignore[index]
                )
        if "overhead" in args.only:
            facts["overhead"] = child("overhead", folder, 0)
            print(json.dumps(facts["overhead"]))
        if "fit" in args.only:
            make(folder / "fit", args.fitted, 8)
            figures = facts["fit"] = child("fit", folder, 8)
            ratio = figures["many"] / figures["one"]  # type: ignore[index]
            print(
                f"LAES over 8 shards: {figures['many']:.1f} s, "  # type: ignore[index]
                f"one process {figures['one']:.1f} s: {ratio:.2f} x "  # type: ignore[index]
                f"{verdict(ratio, FIT, at_least=False)}, difference {figures['difference']:.1e}"  # type: ignore[index]
            )
    write_json(args.json, **facts)


def make(folder: Path, sentences: int, files: int) -> None:
    """Files of Parquet with the sentences of the package again and again, each with its number."""
    folder.mkdir()
    lines = (resources.files("sentencode") / "data/demo_sentences.txt").read_text("utf-8").splitlines()
    position = 0
    for i in range(files):
        end = sentences * (i + 1) // files
        with pq.ParquetWriter(
            folder / f"{i:04d}.parquet", pa.schema([("id", pa.int64()), ("text", pa.string())])
        ) as file:
            while position < end:
                ids = np.arange(position, min(position + 100_000, end))
                texts = [lines[j % len(lines)] for j in ids]
                file.write_table(pa.table({"id": ids, "text": texts}))
                position = int(ids[-1]) + 1


def child(job: str, folder: Path, shards: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--run", job, str(folder), str(shards)]
    figures: dict[str, float] = json.loads(
        subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.splitlines()[-1]
    )
    print(job, figures, file=sys.stderr, flush=True)
    return figures


# --- jobs, each in a process of its own


def one_process(folder: Path, shards: int) -> dict[str, float]:
    """What users write who have one machine: read, encode on all threads, write."""
    encoder = se.load(folder / "average.sentencode")
    encoder.encode(["warm"])
    (folder / "out").mkdir()
    begin, rows = time.perf_counter(), 0
    kind = pa.list_(pa.float32(), encoder.dim)
    for path in sorted((folder / "in").iterdir()):
        schema = pa.schema([("id", pa.int64()), ("embedding", kind)])
        with pq.ParquetWriter(
            folder / "out" / path.name,
            schema,
            use_dictionary=False,
            compression="none",
            write_statistics=False,
        ) as file:
            for batch in pq.ParquetFile(path).iter_batches(ROWS, columns=["id", "text"]):
                embeddings = encoder.encode(batch["text"])
                column = pa.FixedSizeListArray.from_arrays(pa.array(embeddings.reshape(-1)), encoder.dim)
                file.write_batch(pa.record_batch([batch["id"], column], schema=schema))
                rows += len(batch)
    seconds = time.perf_counter() - begin
    shutil.rmtree(folder / "out")
    return {"rate": rows / seconds, "seconds": seconds}


def engine_job(name: str) -> Callable[[Path, int], dict[str, float]]:
    def job(folder: Path, shards: int) -> dict[str, float]:
        begin = time.perf_counter()
        connect(name)
        engine = se.scale.engines.engine_of(name, **({"workers": processors()} if name == "local" else {}))
        small = folder / "small"
        small.mkdir()
        for i in range(2 * processors()):
            pq.write_table(pa.table({"id": [i], "text": ["warm"]}), small / f"{i}.parquet")
        options = {"engine": engine, "id": "id", "shard_size": "1GB"}
        se.scale.encode(folder / "average.sentencode", small, folder / "out", **options)
        start = time.perf_counter() - begin
        shutil.rmtree(folder / "out")
        shutil.rmtree(small)
        watch = Memory()
        begin = time.perf_counter()
        rows = se.scale.encode(folder / "average.sentencode", folder / "in", folder / "out", **options)
        seconds = time.perf_counter() - begin
        shutil.rmtree(folder / "out")
        return {"rate": rows / seconds, "seconds": seconds, "start": start, "memory": watch.most()}

    return job


def connect(name: str) -> None:
    """As many workers of one thread as there are processors."""
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(se.__file__).parents[1]), *sys.path])
    if name == "ray":
        import ray

        ray.init(num_cpus=processors(), include_dashboard=False, logging_level="error", log_to_driver=False)
    elif name == "spark":
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = SparkSession.builder.master(f"local[{processors()}]").config("spark.ui.enabled", "false")
        builder.config("spark.log.level", "ERROR").getOrCreate()


class Memory:
    """The largest memory of a child process, without memory-mapped files."""

    def __init__(self) -> None:
        self._most, self._ended = 0, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        import psutil

        me = psutil.Process()
        while not self._ended.wait(0.3):
            for process in me.children(recursive=True):
                try:
                    if "python" in process.name() or "ray::" in process.name():
                        rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
                        kilobytes = next(
                            line.split()[1] for line in rollup.splitlines() if "Anonymous" in line
                        )
                        self._most = max(self._most, 1024 * int(kilobytes))
                except (psutil.Error, OSError, StopIteration):
                    continue

    def most(self) -> int:
        self._ended.set()
        self._thread.join()
        return self._most


def overhead(folder: Path, _: int) -> dict[str, float]:
    """The cost of a shard, from the same rows in 20 and in 1,000 shards."""
    lines = folder / "lines.txt"
    books = (resources.files("sentencode") / "data/demo_sentences.txt").read_text("utf-8")
    lines.write_text(books * 64, "utf-8")
    figures: dict[str, float] = {}
    seconds = {}
    for shards in (20, 1000):
        size = -(-lines.stat().st_size // shards)
        watch = Memory()
        begin = time.perf_counter()
        se.scale.encode(
            folder / "average.sentencode",
            lines,
            folder / f"out{shards}",
            workers=processors(),
            shard_size=size,
        )
        seconds[shards] = time.perf_counter() - begin
        figures[f"memory of a worker, {shards} shards, MB"] = round(watch.most() / 1e6, 1)
        shutil.rmtree(folder / f"out{shards}")
    figures["milliseconds of a worker for a shard"] = round(
        1000 * processors() * (seconds[1000] - seconds[20]) / 980, 2
    )
    return figures


def fit(folder: Path, shards: int) -> dict[str, float]:
    """A LAES on all threads, and by as many workers of one thread."""
    texts = [
        text
        for path in sorted((folder / "fit").iterdir())
        for text in pq.read_table(path)["text"].to_pylist()
    ]

    def laes() -> se.LAES:
        return se.LAES(se.WordVectors.default(), hidden=100, max_length=40)

    begin = time.perf_counter()
    one = laes().fit(texts)
    first = time.perf_counter() - begin
    begin = time.perf_counter()
    many = se.scale.fit(laes(), folder / "fit", workers=processors(), shard_size="1GB")
    second = time.perf_counter() - begin
    difference = float(np.abs(one.encode(texts[:2000]) - many.encode(texts[:2000])).max())
    return {"one": first, "many": second, "difference": difference}


JOBS = {"one process": one_process, "overhead": overhead, "fit": fit}
JOBS |= {name: engine_job(name) for name in ENGINES}


if __name__ == "__main__":
    main()
