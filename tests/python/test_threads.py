from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys

import numpy as np
import pytest

import sentencode as se


@pytest.fixture(autouse=True)
def restore_threads():
    before = se.num_threads()
    yield
    se.set_num_threads(before)


def test_set_num_threads():
    se.set_num_threads(3)
    assert se.num_threads() == 3


def test_threads_must_be_positive():
    with pytest.raises(ValueError, match="threads must be at least 1, got 0"):
        se.set_num_threads(0)


@pytest.mark.parametrize(
    ("threads", "error", "message"),
    [
        (1.5, TypeError, r"threads must be a whole number, got 1.5 \(float\)"),
        ("2", TypeError, r"threads must be a whole number, got '2' \(str\)"),
        (2**40, ValueError, "threads must be at most 2147483647"),
    ],
)
def test_threads_must_be_a_number(threads, error, message):
    with pytest.raises(error, match=message):
        se.set_num_threads(threads)


def test_numpy_counts_threads_too():
    se.set_num_threads(np.int8(2))
    assert se.num_threads() == 2


def test_starts_with_the_processors_of_the_process():
    code = "import sentencode as se; print(se.num_threads())"
    free = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=free)
    assert int(shown.stdout) == len(os.sched_getaffinity(0))


def test_threadpoolctl_limits_everything():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    se.set_num_threads(4)
    with threadpoolctl.threadpool_limits(2):
        if se._core.build_info()["blas"] == "eigen":
            pytest.skip("this build has no BLAS to be limited")
        assert se.num_threads() == 2
    assert se.num_threads() == 4


def test_the_environment_of_openblas_limits_everything():
    if se._core.build_info()["blas"] == "eigen":
        pytest.skip("this build has no BLAS to be limited")
    code = "import sentencode as se; print(se.num_threads())"
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    shown = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment
    )
    assert int(shown.stdout) == 1


def test_a_forked_child_has_one_thread():
    se.set_num_threads(4)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.starmap_async(se.num_threads, [()] * 4).get(timeout=30) == [1] * 4
    assert se.num_threads() == 4
