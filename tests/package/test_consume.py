"""A C++ project finds the installed core, loads what Python saved, and encodes alike."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import sentencode as se

PROJECT = Path(__file__).parent / "consume"
BUILD = os.environ.get("SENTENCODE_BUILD")

pytestmark = [
    pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake"),
    pytest.mark.skipif(BUILD is None, reason="SENTENCODE_BUILD names no build folder to install from"),
]
SENTENCES = ["The old man sat by the fire.", "", "zzqx", "A ship was lost in the storm that night. " * 20]


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("consume")
    run("cmake", "--install", BUILD, "--prefix", folder / "prefix", "--component", "core")
    settings = [f"-DCMAKE_PREFIX_PATH={folder / 'prefix'}", "-DCMAKE_BUILD_TYPE=Release"]
    run("cmake", "-S", PROJECT, "-B", folder / "build", *settings)
    run("cmake", "--build", folder / "build")
    return folder / "build" / "encode"


@pytest.mark.parametrize(
    "encoder",
    [
        se.Average(se.WordVectors.default()),
        se.LAES(se.WordVectors.default(), hidden=12, mode="hidden"),
        se.LAES(se.WordVectors.default(), hidden=12, mode="residual", direction="both", combine="concat"),
    ],
    ids=["average", "hidden", "residual"],
)
def test_rows_are_those_of_python(encoder, program, tmp_path):
    encoder.fit(["She wrote him a long letter.", "The vessel sank in a gale.", *SENTENCES])
    encoder.save(tmp_path / "model.sentencode")
    shown = run(program, tmp_path / "model.sentencode", input="\n".join(SENTENCES) + "\n")
    rows = np.array([line.split() for line in shown.splitlines()], dtype=np.float32)
    np.testing.assert_allclose(rows, encoder.encode(SENTENCES), rtol=0, atol=1e-6)
    assert np.abs(rows[0]).max() > 0


def test_a_file_that_is_no_model_is_an_error(program, tmp_path):
    path = tmp_path / "none.sentencode"
    path.write_bytes(b"nothing")
    done = subprocess.run([program, path], capture_output=True, text=True, check=False, input="")
    assert done.returncode == 1
    assert str(path) in done.stderr
