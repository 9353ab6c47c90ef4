"""Ctrl-C where it is ignored, as in what a shell starts in the background of a script."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

import sentencode as se

HERE = Path(__file__).parent


def ignore():
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.fixture
def _ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    signal.signal(signal.SIGINT, before)


def test_the_suite_handles_ctrl_c():
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_suite_runs_in_the_background():
    chosen = "test_the_suite_handles_ctrl_c or test_ctrl_c_ends_the_wait_for_a_writer"
    files = [HERE / "test_signals.py", HERE / "vectors" / "test_pipes.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen, *map(str, files)],
        preexec_fn=ignore,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout


@pytest.mark.usefixtures("_ignored")
def test_work_resumes():
    lines = (resources.files("sentencode") / "data/demo_sentences.txt").read_text("utf-8").splitlines()
    vectors = se.WordVectors.default()
    expected = se.SIF(vectors).fit(lines).encode(lines)
    done = threading.Event()

    def press():
        while not done.wait(0.002):
            os.kill(os.getpid(), signal.SIGINT)

    presses = threading.Thread(target=press)
    presses.start()
    try:
        for _ in range(3):
            np.testing.assert_array_equal(se.SIF(vectors).fit(lines).encode(lines), expected)
            se.semantic_search(expected, np.tile(expected, (20, 1)))
    finally:
        done.set()
        presses.join()


@pytest.mark.usefixtures("_ignored")
def test_training_resumes(tmp_path):
    pytest.importorskip("torch")
    sys.path.insert(0, str(HERE / "training"))
    import tiny

    class Press(se.training.Callback):
        def on_step(self, trainer, step):
            signal.raise_signal(signal.SIGINT)

    trainer = tiny.trainer(tmp_path / "file", max_steps=9, callbacks=[Press()])
    assert len(trainer.run().steps) == 9
