"""A data set of Ray with a column of embeddings, and a fit on Ray: python examples/scale_ray.py FOLDER.

Needs `pip install 'sentencode[ray]'`. On a cluster, FOLDER and the encoder are where all machines
read them.
"""

from __future__ import annotations

import sys
from importlib import resources
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import ray

import sentencode as se


def main(folder: Path) -> None:
    """Writes a table, fits to it, encodes it, and reads what came out."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = (resources.files("sentencode") / "data/demo_sentences.txt").read_text("utf-8").splitlines()
    pq.write_table(
        pa.table({"id": range(len(lines)), "text": lines}), folder / "in.parquet", row_group_size=400
    )

    ray.init(num_cpus=2, include_dashboard=False, logging_level="error", log_to_driver=False)
    # Tasks of Ray read the file; their sums are merged.
    sif = se.scale.fit(
        se.SIF(se.WordVectors.default()), folder / "in.parquet", engine="ray", shard_size="50KB"
    )
    sif.save(folder / "sif.sentencode")

    # Actors of Ray, each with the encoder open, encode the batches of a data set.
    data = ray.data.read_parquet(str(folder / "in.parquet"))
    made = se.scale.ray.encode(data, folder / "sif.sentencode", num_cpus=1)
    made.write_parquet(str(folder / "out"))

    table = pq.read_table(folder / "out").sort_by("id")
    print(f"{table.num_rows} rows, {table.schema.field('embedding').type}")
    ray.shutdown()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "scale-ray"))
