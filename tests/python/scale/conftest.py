from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import sentencode as se

pytest.importorskip("pyarrow")

WORDS = ["the", "a", "man", "dog", "cat", "plays", "sleeps", "guitar", "house", "big", "small", "é", "."]


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory):
    """Encoders that tests pass as objects are saved there, and not in the user's cache."""
    before = se.cache_dir()
    se.set_cache_dir(tmp_path_factory.mktemp("cache"))
    yield
    se.set_cache_dir(before)


@pytest.fixture(scope="session")
def sentences():
    rng = np.random.default_rng(11)
    texts = [" ".join(rng.choice(WORDS, rng.integers(1, 12))) for _ in range(700)]
    texts[5] = texts[300] = ""
    texts[17] = "unknown words alone"
    return texts


@pytest.fixture(scope="session")
def vectors(tmp_path_factory):
    rng = np.random.default_rng(7)
    matrix = (rng.normal(size=(len(WORDS), 6)) + 0.5).astype(np.float32)
    counts = [1000 // (rank + 1) for rank in range(len(WORDS))]
    path = tmp_path_factory.mktemp("vectors") / "vectors.sentencode"
    se.WordVectors.from_array(WORDS, matrix, counts).save(path)
    return se.WordVectors.load(path)


@pytest.fixture(scope="session")
def encoder(vectors, sentences):
    return se.SIF(vectors).fit(sentences)


@pytest.fixture(scope="session")
def saved(encoder, tmp_path_factory):
    path = tmp_path_factory.mktemp("encoder") / "sif.sentencode"
    encoder.save(path)
    return path


@pytest.fixture(scope="session")
def expected(encoder, sentences):
    return encoder.encode(sentences)


@pytest.fixture
def lines(tmp_path, sentences):
    """A file of text with these sentences."""
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(sentences) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def workers_find_modules():
    """Workers of engines are other programs: they find Sentencode, and this folder, as this process does."""
    before = os.environ.get("PYTHONPATH")
    package = str(Path(se.__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join([package, str(Path(__file__).parent), before or ""])
    yield
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


@pytest.fixture(scope="session")
def ray(workers_find_modules):
    ray_module = pytest.importorskip("ray", reason="Ray is not installed")
    for left in reversed(range(5)):
        try:
            ray_module.init(num_cpus=2, include_dashboard=False, logging_level="error", log_to_driver=False)
            break
        except Exception:  # it gives itself 30 seconds, which are few on a busy machine
            ray_module.shutdown()
            if not left:
                raise
    yield ray_module
    ray_module.shutdown()


@pytest.fixture(scope="session")
def spark(workers_find_modules, tmp_path_factory):
    pytest.importorskip("pyspark", reason="Spark is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs a Java runtime, and there is no java")
    from pyspark.sql import SparkSession

    before = {name: os.environ.get(name) for name in ("PYSPARK_PYTHON", "SPARK_LOCAL_IP")}
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    builder = SparkSession.builder.master("local[2, 4]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("spark")))
    session = builder.config("spark.log.level", "ERROR").getOrCreate()
    yield session
    session.stop()
    for name, value in before.items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value


@pytest.fixture(scope="session")
def dask(workers_find_modules):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    with se.scale.dask.new_cluster(2) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(params=["ray", "spark", "dask"])
def engine(request):
    """The names of engines, each running."""
    request.getfixturevalue(request.param)
    return request.param
