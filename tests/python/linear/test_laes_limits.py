"""Memory and threads of LAES. Each test runs in its own process."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

HEAD = """
import threading, time
import numpy as np
import sentencode as se

def peak():  # in MiB. Not getrusage's: that of a child begins at its parent's size.
    (line,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    return int(line.split()[1]) / 2**10

def vectors_of(dim, words=500):
    rows = np.random.default_rng(3).normal(size=(words, dim)).astype(np.float32)
    return se.WordVectors.from_array([f"w{i}" for i in range(words)], rows)

def sentences_of(count, length, seed=4):
    ids = np.random.default_rng(seed).integers(0, 500, (count, length))
    return [" ".join(f"w{i}" for i in row) for row in ids]

se.set_num_threads(1)
"""


def output_of(script: str, seconds: float = 300) -> str:
    command = [sys.executable, "-c", HEAD + textwrap.dedent(script)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=seconds).stdout


@pytest.mark.parametrize(
    ("action", "megabytes"),
    [
        # 1,000 sentences of 1,500 words of 100 numbers: as float32 600 MB.
        ("laes.reconstruction_error(long, [1, 5])", 150),
        ("laes.select(list(zip(long[:500], long[500:])), np.arange(500) % 7)", 150),
        ("laes.encode(long)", 150),
        ("laes.partial_fit(long); laes.encode('w1')", 150),
        # One of 400,000 words: 160 MB.
        ("laes.reconstruction_error([' '.join(long[:267])], [1, 5])", 120),
        ("laes.select([(' '.join(long[:267]), 'w1'), ('w1', 'w2')], [1, 2])", 120),
    ],
    ids=["error", "select", "encode", "fit", "long error", "long select"],
)
def test_memory_is_bounded_by_words(action, megabytes):
    output = output_of(
        f"""
        laes = se.LAES(vectors_of(100), hidden=5, max_length=16).fit(sentences_of(3000, 12))
        laes.reconstruction_error(sentences_of(3000, 12), [1, 5])
        laes.select(list(zip(sentences_of(1000, 12), sentences_of(1000, 12, 5))), np.arange(1000) % 7)
        long = sentences_of(1000, 1500)
        before = peak()
        {action}
        print(peak() - before)
        """
    )
    assert float(output) < megabytes


def test_hidden_states_need_no_table_of_sums():
    script = """
        options = dict(hidden=400, mode="{mode}", direction="forward", max_length=64)
        laes = se.LAES(vectors_of(300), **options).fit(sentences_of(150, 4) + sentences_of(1, 64))
        before = peak()
        laes.encode(sentences_of(1, {length}))
        print(peak() - before)
        """
    table = 64 * 400 * 300 * 4 / 2**20
    hidden, residual, short = (
        float(output_of(script.format(mode=mode, length=length)))
        for mode, length in (("hidden", 64), ("residual", 64), ("residual", 4))
    )
    assert residual - hidden > 0.7 * table
    assert short < 0.5 * table  # tables are as long as the longest sentence


def test_threads_that_learn_first_at_the_same_time():
    output_of(
        """
        for _ in range(20):
            laes = se.LAES(vectors_of(5), hidden=2)
            texts = sentences_of(50, 5)
            threads = [threading.Thread(target=laes.partial_fit, args=(texts,)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert laes.n_sentences_ == 4 * len(texts), laes.n_sentences_
        """
    )
