"""A data frame of Spark with embeddings, and a fit on Spark: python examples/scale_spark.py FOLDER.

Needs `pip install 'sentencode[spark]'` and a Java runtime. On a cluster, FOLDER and the encoder are where
all machines read them.
"""

from __future__ import annotations

import os
import sys
from importlib import resources
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import sentencode as se


def main(folder: Path) -> None:
    """Writes a table, fits to it, encodes it, and reads what came out."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = (resources.files("sentencode") / "data/demo_sentences.txt").read_text("utf-8").splitlines()
    pq.write_table(
        pa.table({"id": range(len(lines)), "text": lines}), folder / "in.parquet", row_group_size=400
    )

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.log.level", "ERROR").getOrCreate()
    # Tasks of Spark read the file; their sums are merged.
    sif = se.scale.fit(
        se.SIF(se.WordVectors.default()), folder / "in.parquet", engine="spark", shard_size="50KB"
    )
    sif.save(folder / "sif.sentencode")

    frame = spark.read.parquet(str(folder / "in.parquet"))
    made = se.scale.spark.encode(frame, folder / "sif.sentencode")  # by mapInArrow
    made.write.mode("overwrite").parquet(str(folder / "out"))
    print(made.schema.simpleString())

    embed = se.scale.spark.udf(folder / "sif.sentencode")  # by predict_batch_udf: in expressions and SQL
    row = frame.select("text", embed("text").alias("embedding")).first()
    print(f"{frame.count()} rows; {row['text']!r:.40}: {len(row['embedding'])} dimensions")
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "scale-spark"))
