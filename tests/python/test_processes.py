"""Processes that are forked or started after a computation neither hang nor use too many threads."""

from __future__ import annotations

import multiprocessing
import os
import warnings

import numpy as np
import pytest

import sentencode as se
from sentencode import _core

WORKERS = 2
pytestmark = pytest.mark.timeout(120)


def work(seed=0):
    """Products over BLAS, and a loop of ours over its threads."""
    random = np.random.default_rng(seed)
    queries = random.standard_normal((300, 64), dtype=np.float32)
    nearest = _core.NearestRows(queries, 3, "dot")
    for _ in range(3):
        nearest.add(random.standard_normal((4000, 64), dtype=np.float32))
    indices, scores = nearest.result()
    return int(indices.sum()), float(scores.sum()), se.num_threads()


def same(done, threads):
    expected = work()
    for indices, scores, used in done:
        assert indices == expected[0]
        assert scores == pytest.approx(expected[1], rel=1e-5)
        assert 1 <= used <= threads


def fair_share():
    return max(1, len(os.sched_getaffinity(0)) // WORKERS)


@pytest.fixture(autouse=True)
def _busy_before(monkeypatch):
    before = se.num_threads()
    se.set_num_threads(4)
    work()  # OpenBLAS has its threads by now
    # Python 3.12 warns of every fork of a process with threads, which is what these tests are about.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
        yield
    se.set_num_threads(before)


def test_forked_pool():
    with multiprocessing.get_context("fork").Pool(WORKERS) as pool:
        same(pool.map_async(work, [0] * 4).get(timeout=60), threads=1)
    same([work()], threads=4)  # the parent is as it was
    assert se.num_threads() == 4


def test_a_forked_child_may_ask_for_more():
    with multiprocessing.get_context("fork").Pool(1) as pool:
        pool.apply_async(se.set_num_threads, (2,)).get(timeout=60)
        same([pool.apply_async(work).get(timeout=60)], threads=2)
        assert pool.apply_async(se.num_threads).get(timeout=60) == 2


@pytest.mark.parametrize("backend", ["loky", "multiprocessing"])
def test_joblib(backend):
    joblib = pytest.importorskip("joblib")
    done = joblib.Parallel(n_jobs=WORKERS, backend=backend, timeout=60)(
        joblib.delayed(work)(0) for _ in range(4)
    )
    same(done, threads=fair_share())
    if backend == "loky":
        joblib.externals.loky.get_reusable_executor().shutdown(wait=True)


def test_data_loader():
    torch = pytest.importorskip("torch")
    loader = torch.utils.data.DataLoader(
        [0] * 4,
        batch_size=1,
        num_workers=WORKERS,
        collate_fn=lambda seeds: work(seeds[0]),
        multiprocessing_context="fork",
        timeout=60,
    )
    same(list(loader), threads=1)
