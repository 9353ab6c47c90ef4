"""Ray, Spark and Dask: jobs, columns, lost workers. `make test-scale` installs what they need."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sentencode as se
from sentencode.scale import BatchEncoder, Embeddings, encode, fit
from sentencode.scale.engines import Failure, engine_of

sys.path.insert(0, str(Path(__file__).parent))
import scale_helpers
from scale_helpers import DyingEngine

pytestmark = [
    pytest.mark.engine,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    # Of the engines themselves.
    *(pytest.mark.filterwarnings(f"ignore:{text}") for text in (".*:DeprecationWarning", ".*:FutureWarning")),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def content_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# --- jobs


def test_files_equal_one_process(engine, saved, lines, tmp_path, expected):
    assert encode(saved, lines, tmp_path / "out", engine=engine, shard_size=2000) == 700
    encode(saved, lines, tmp_path / "one", workers=1, shard_size=2000)
    assert content_of(tmp_path / "out") == content_of(tmp_path / "one")
    np.testing.assert_array_equal(Embeddings(tmp_path / "out").to_numpy(), expected)


@pytest.mark.parametrize("precision", ["int8", "ubinary"])
def test_precisions_equal_one_process(engine, saved, lines, tmp_path, precision):
    options = {"precision": precision, "truncate_dim": 5, "shard_size": 2000}
    if precision == "int8":
        options["calibrate"] = lines
    encode(saved, lines, tmp_path / "out", engine=engine, **options)
    encode(saved, lines, tmp_path / "one", workers=1, **options)
    assert content_of(tmp_path / "out") == content_of(tmp_path / "one")


def test_a_lost_worker_of_a_job(engine, saved, lines, tmp_path):
    dying = DyingEngine(engine_of(engine), tmp_path / "mark", task=3)
    assert encode(saved, lines, tmp_path / "out", engine=dying, shard_size=2000) == 700
    assert (tmp_path / "mark").exists()
    encode(saved, lines, tmp_path / "one", workers=1, shard_size=2000)
    assert content_of(tmp_path / "out") == content_of(tmp_path / "one")


def test_an_error_of_a_job(engine, saved, lines, tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"text": "the"}\n{"text": 5}')
    with pytest.raises(se.FormatError, match=r"bad\.jsonl: line 2: 'text': expected text, got 5"):
        encode(saved, [lines, tmp_path / "bad.jsonl"], tmp_path / "out", engine=engine, shard_size=9000)


@pytest.mark.parametrize("family", ["sif", "usif", "laes"])
def test_fits_equal_one_process(engine, vectors, sentences, lines, tmp_path, family):
    make = {
        "sif": lambda: se.SIF(vectors, components=2),
        "usif": lambda: se.USIF(vectors, components=3, sentence_length=3),
        "laes": lambda: se.LAES(vectors, hidden=7, direction="both", center=True, max_length=6),
    }[family]
    one = make().fit(sentences)
    dying = DyingEngine(engine_of(engine), tmp_path / "mark", task=1)
    many = fit(make(), lines, engine=dying, shard_size=1500)
    assert (tmp_path / "mark").exists()
    assert many.n_sentences_ == one.n_sentences_
    np.testing.assert_allclose(many.encode(sentences), one.encode(sentences), atol=1e-6)


def test_words_are_counted_exactly(engine, sentences, lines):
    many = se.scale.count_words(lines, "whitespace", engine=engine, shard_size=2000)
    assert many == se.Vocabulary.from_corpus(sentences, "whitespace")


def test_each_result_is_yielded_once(engine):
    runner = engine_of(engine)
    assert runner.workers >= 1
    results = list(runner.run(str, list(range(25))))
    assert sorted(results) == [(i, str(i)) for i in range(25)]
    ((_, failed),) = runner.run(int, ["no number"])
    assert isinstance(failed, Failure)
    assert isinstance(failed.error, ValueError)
    assert list(runner.run(str, [])) == []


def test_dask_releases_results(dask):
    """Else it would do all of them again where the worker is lost that has them."""
    results = engine_of("dask").run(str, list(range(20)))
    for _ in range(15):
        next(results)
    deadline, held = time.monotonic() + 30, 20
    while held > 5 and time.monotonic() < deadline:
        held = dask.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
        time.sleep(0.05)
    assert held <= 5
    results.close()


def test_dask_waits_for_running_tasks(dask, tmp_path):
    def slow(number):  # crosses by its value
        (tmp_path / f"begun-{number}").touch()
        time.sleep(1)
        (tmp_path / f"ended-{number}").touch()

    results = engine_of("dask").run(slow, list(range(9)))
    next(results)
    results.close()
    begun, ended = (len(list(tmp_path.glob(f"{what}-*"))) for what in ("begun", "ended"))
    assert 1 < begun == ended < 9


def test_a_cluster_of_another_program_is_not_joined(ray):
    """It ends with its program, and its workers have that program's path and environment."""
    program = """
import ray
from sentencode.scale.engines import engine_of

engine_of("ray", workers=1)
print("cluster", ray.get_runtime_context().gcs_address)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    (line,) = [one for one in done.stdout.splitlines() if one.startswith("cluster ")]
    assert line.split()[1] != ray.get_runtime_context().gcs_address


# --- threads are the worker's share


def test_threads_of_ray(ray):
    for cpus in (1, 2):
        engine = engine_of("ray", threads=cpus)
        assert [result for _, result in engine.run(scale_helpers.threads_seen, [0])] == [cpus]


def test_threads_of_spark(spark):
    cpus = int(spark.sparkContext.getConf().get("spark.task.cpus", "1"))
    assert [r for _, r in engine_of("spark").run(scale_helpers.threads_seen, [0])] == [cpus]


def test_threads_of_dask(dask):
    assert [r for _, r in engine_of("dask").run(scale_helpers.threads_seen, [0])] == [1]


# --- columns


@pytest.fixture
def table(sentences):
    return pa.table(
        {"id": range(700), "text": [text if i != 300 else None for i, text in enumerate(sentences)]}
    )


def test_a_data_set_of_ray(ray, saved, table, expected, tmp_path):
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=100)
    data = ray.data.read_parquet(str(tmp_path / "in.parquet"), override_num_blocks=5)
    encoded = se.scale.ray.encode(data, saved, batch_size=64)
    encoded.write_parquet(str(tmp_path / "out"))
    output_table = pq.read_table(tmp_path / "out").sort_by("id")
    assert output_table.schema.field("embedding").type == pa.list_(pa.float32(), 6)
    assert output_table["id"].to_pylist() == list(range(700))
    np.testing.assert_array_equal(np.array(output_table["embedding"].to_pylist(), np.float32), expected)


def test_map_batches_of_ray(ray, saved, table, expected):
    """`BatchEncoder` itself, as a class, with any format of batches."""
    data = ray.data.from_arrow(table)
    for batch_format in ("numpy", "pandas", "pyarrow"):
        embedded = data.map_batches(
            BatchEncoder,
            fn_constructor_args=(str(saved),),
            batch_format=batch_format,
            compute=ray.data.ActorPoolStrategy(size=1),
        )
        rows = sorted(embedded.take_all(), key=lambda row: row["id"])
        np.testing.assert_array_equal(np.stack([row["embedding"] for row in rows]), expected)


def test_a_data_frame_of_spark(spark, saved, table, expected, tmp_path):
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=100)
    frame = spark.read.parquet(str(tmp_path / "in.parquet")).repartition(3)
    encoded = se.scale.spark.encode(frame, saved)
    assert encoded.schema.simpleString() == "struct<id:bigint,text:string,embedding:array<float>>"
    encoded.write.parquet(str(tmp_path / "out"))
    output_table = pq.read_table(tmp_path / "out").sort_by("id")
    assert output_table["id"].to_pylist() == list(range(700))
    np.testing.assert_array_equal(np.array(output_table["embedding"].to_pylist(), np.float32), expected)
    nulls = se.scale.spark.encode(frame, saved, missing="null").where("embedding is null").collect()
    assert sorted(row["id"] for row in nulls) == [5, 300]
    bits = se.scale.spark.encode(frame, saved, precision="binary").orderBy("id")
    assert bits.schema["embedding"].dataType.simpleString() == "array<tinyint>"
    signs = np.array([row["embedding"] for row in bits.collect()], np.int8)
    np.testing.assert_array_equal(signs, se.quantize_embeddings(expected, "binary"))
    with pytest.raises(ValueError, match="Spark has no float16"):
        se.scale.spark.encode(frame, saved, precision="float16")


def test_a_function_of_spark(spark, saved, table, expected, tmp_path):
    pq.write_table(table, tmp_path / "in.parquet")
    frame = spark.read.parquet(str(tmp_path / "in.parquet"))
    ranges = np.stack([expected.min(axis=0), expected.max(axis=0)])
    embed = se.scale.spark.udf(saved, precision="int8", ranges=ranges)
    rows = frame.select("id", embed("text").alias("row")).orderBy("id").collect()
    int8 = se.quantize_embeddings(expected, "int8", ranges)
    np.testing.assert_array_equal(np.array([row["row"] for row in rows], np.int8), int8)
    embed = se.scale.spark.udf(saved)
    rows = frame.select("id", embed("text").alias("row")).orderBy("id").collect()
    np.testing.assert_array_equal(np.array([row["row"] for row in rows], np.float32), expected)


def test_a_data_frame_of_dask(dask, saved, table, expected, tmp_path):
    frames = pytest.importorskip("dask.dataframe")
    frame = frames.from_pandas(table.to_pandas(), npartitions=4)
    encoded = se.scale.dask.encode(frame, saved)
    assert list(encoded.columns) == ["id", "text", "embedding"]
    computed = encoded.compute()
    assert computed.dtypes["embedding"] == encoded.dtypes["embedding"]
    assert computed["id"].tolist() == list(range(700))
    np.testing.assert_array_equal(np.stack(computed["embedding"]), expected)
    encoded.to_parquet(str(tmp_path / "out"))
    output_table = pq.read_table(tmp_path / "out").sort_by("id")
    assert output_table.schema.field("embedding").type == pa.list_(pa.float32(), 6)
    threads = encoded.compute(scheduler="threads")  # of this process
    np.testing.assert_array_equal(np.stack(threads["embedding"]), expected)
