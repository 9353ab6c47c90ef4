"""A C++ project finds the installed core, loads what Python saved, and encodes alike."""

from __future__ import annotations

import json
import os
import shutil
import string
import subprocess
import sys
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


def built(folder, components, *settings):
    for component in components:
        run("cmake", "--install", BUILD, "--prefix", folder / "prefix", "--component", component)
    options = [f"-DCMAKE_PREFIX_PATH={folder / 'prefix'}", "-DCMAKE_BUILD_TYPE=Release", *settings]
    run("cmake", "-S", PROJECT, "-B", folder / "build", *options)
    run("cmake", "--build", folder / "build")
    return folder / "build" / "encode"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return built(tmp_path_factory.mktemp("consume"), ["core"])


@pytest.fixture(scope="module")
def neural_program(tmp_path_factory):
    pytest.importorskip("torch")
    if not se._core.build_info()["torch"]:
        pytest.skip("built without torch")
    python = f"-DPython_EXECUTABLE={sys.executable}"
    return built(tmp_path_factory.mktemp("neural"), ["core", "nn"], "-DNEURAL=ON", python)


def rows_of(program, encoder, path):
    encoder.save(path)
    shown = run(program, path, input="\n".join(SENTENCES) + "\n")
    return np.array([line.split() for line in shown.splitlines()], dtype=np.float32)


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
    rows = rows_of(program, encoder, tmp_path / "model.sentencode")
    np.testing.assert_allclose(rows, encoder.encode(SENTENCES), rtol=0, atol=1e-6)
    assert np.abs(rows[0]).max() > 0


def test_rows_of_word_pieces_are_those_of_python(program, tmp_path):
    pieces = ["[UNK]", *(f"{begin}{letter}" for letter in string.ascii_lowercase for begin in ("", "##"))]
    content = {
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": {piece: i for i, piece in enumerate(pieces)}},
        "added_tokens": [],
    }  # fmt: skip
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    rows = np.random.default_rng(0).normal(size=(len(pieces), 8)).astype(np.float32)
    vectors = se.WordVectors.from_array(pieces, rows)
    encoder = se.Average(vectors, tokenizer=f"hf:{tmp_path / 'tokenizer.json'}")
    assert encoder.tokenizer_.subwords is not None
    shown = rows_of(program, encoder, tmp_path / "model.sentencode")
    np.testing.assert_allclose(shown, encoder.encode(SENTENCES), rtol=0, atol=1e-6)
    assert np.abs(shown[0]).max() > 0


def test_neural_rows_are_those_of_python(neural_program, tmp_path):
    vectors = se.WordVectors.default()
    for encoder in (
        se.MeanMaxAAE(vectors, hidden=16, heads=4, max_steps=2, device="cpu", unit_words=True),
        se.CNNLSTMAE(vectors, hidden=16, filters=8, max_steps=2, device="cpu"),
        se.SIF(vectors),
    ):
        encoder.fit(["She wrote him a long letter .", "The vessel sank in a gale ."])
        rows = rows_of(neural_program, encoder, tmp_path / "model.sentencode")
        np.testing.assert_allclose(rows, encoder.encode(SENTENCES), rtol=0, atol=1e-6)
        assert np.abs(rows[0]).max() > 0


def test_the_core_needs_no_torch(program, tmp_path):
    cache = (program.parent / "CMakeCache.txt").read_text()
    assert "torch" not in cache.lower()
    done = subprocess.run(
        [
            "cmake",
            "-S",
            PROJECT,
            "-B",
            tmp_path,
            "-DNEURAL=ON",
            f"-DCMAKE_PREFIX_PATH={program.parents[1] / 'prefix'}",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "component nn is not installed" in " ".join(done.stderr.split())


def test_a_file_that_is_no_model_is_an_error(program, tmp_path):
    path = tmp_path / "none.sentencode"
    path.write_bytes(b"nothing")
    done = subprocess.run([program, path], capture_output=True, text=True, check=False, input="")
    assert done.returncode == 1
    assert str(path) in done.stderr
