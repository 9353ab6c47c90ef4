"""A training is interrupted, or killed, at every call that changes a file of its folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("sentencode.nn")

HERE = Path(__file__).parent
COMPILER = shutil.which("cc")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("library") / "cuts.so"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", "-o", path, HERE / "cuts.c", "-ldl"], check=True)
    return path


@pytest.mark.skipif(COMPILER is None or sys.platform != "linux", reason="needs a C compiler and LD_PRELOAD")
@pytest.mark.parametrize(
    "how",
    [
        [],
        ["--same", "--save-every", "5"],
        ["--presses", "2", "--save-every", "5"],
        ["--kill"],
        ["--kill", "--save-every", "5"],
    ],
    ids=lambda how: "-".join(how).replace("--", "") or "interrupted",
)
def test_a_training_interrupted_at_any_write_is_the_same(tmp_path, library, how):
    environment = {**os.environ, "LD_PRELOAD": str(library), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, HERE / "cuts.py", library, tmp_path / "folder", *how]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    calls = json.loads(done.stdout)
    assert calls["calls"] > 90
    assert calls["rename"] >= 7
