"""The programs in examples/ do what they say."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sentencode as se

ROOT = Path(__file__).parents[2]
STUB = ROOT / "tests" / "python" / "senteval" / "stub_senteval"


def run(folder, name, *arguments):
    return subprocess.run(
        [sys.executable, ROOT / "examples" / name, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_quickstart(tmp_path):
    done = run(tmp_path, "quickstart.py")
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    assert done.stdout.startswith("5 sentences, 175 numbers each, float32")
    best, second = done.stdout.splitlines()[3:5]
    assert "A ship was lost" in best
    assert "The vessel sank" in second
    assert isinstance(se.load(tmp_path / "quickstart.sentencode"), se.SIF)


def test_senteval_plugin_describes_itself(tmp_path):
    pytest.importorskip("torch")
    done = run(tmp_path, "senteval_plugin.py", "--help")
    assert done.returncode == 0, done.stderr
    assert "--tasks STS14 CR TREC" in done.stdout


def test_senteval_plugin_scores(tmp_path):
    for needed in ("torch", "sklearn", "scipy"):
        pytest.importorskip(needed)
    shutil.copytree(STUB, tmp_path / "clone" / "senteval")
    done = run(tmp_path, "senteval_plugin.py", "clone", "--tasks", "CR", "STS12", "--kfold", "2")
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [list(result) for result in results] == [["CR"], ["STS12"]]
    assert 0 <= results[0]["CR"]["acc"] <= 100


def test_senteval_plugin_without_senteval_says_what_to_do(tmp_path):
    for needed in ("torch", "sklearn", "scipy"):
        pytest.importorskip(needed)
    done = run(tmp_path, "senteval_plugin.py", tmp_path / "nothing")
    assert done.returncode != 0
    assert "clone https://github.com/facebookresearch/SentEval" in done.stderr
