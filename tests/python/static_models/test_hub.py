"""Downloads from and uploads to a local server that speaks the Hub's protocol."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import sentencode as se

from .hub_server import hub
from .parts import TEXTS, write_model2vec, write_sentence_transformers

pytest.importorskip("huggingface_hub")


def files_of(folder):
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def run(code, endpoint, tmp_path, **variables):
    """The output of a program; the client reads its settings when it is imported."""
    environment = {**os.environ, "HF_ENDPOINT": endpoint, "HF_HOME": str(tmp_path / "home"), **variables}
    environment |= {"HF_TOKEN": "token", "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [*sys.path, os.environ.get("PYTHONPATH")]))
    program = [sys.executable, "-c", "import sentencode as se, numpy as np\n" + code]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["model2vec", "sentence-transformers"])
def test_models_are_downloaded_once(tmp_path, kind):
    write = write_model2vec if kind == "model2vec" else write_sentence_transformers
    part = () if kind == "model2vec" else ("0_StaticEmbedding",)
    folder = write(tmp_path / "model", *part)
    expected = se.load(folder).encode(TEXTS)
    rows = tmp_path / "rows.npy"
    code = f"np.save({str(rows)!r}, se.load('me/tiny').encode({TEXTS!r}))"
    repositories = {
        "me/tiny": {**files_of(folder), "pytorch_model.bin": b"large", "onnx/model.onnx": b"large"}
    }
    with hub(repositories) as (endpoint, requests):
        for _ in range(2):
            assert run(code, endpoint, tmp_path) == ""
            np.testing.assert_array_equal(np.load(rows), expected)
        weights = [line for line in requests if line.startswith("GET") and line.endswith("model.safetensors")]
        assert len(weights) == 1
        assert not [line for line in requests if line.endswith((".bin", ".onnx"))]
    rows.unlink()
    assert run(code, "http://127.0.0.1:9", tmp_path) == ""  # from the cache
    np.testing.assert_array_equal(np.load(rows), expected)


def test_other_models_are_refused_before_their_weights_are_downloaded(tmp_path):
    files = {"config.json": json.dumps({"model_type": "bert"}).encode(), "model.safetensors": b"large"}
    with hub({"me/bert": files}) as (endpoint, requests):
        assert "model_type is 'bert'" in run("se.load('me/bert')", endpoint, tmp_path)
        assert not [line for line in requests if "safetensors" in line]
        missing = run("se.load('me/other')", endpoint, tmp_path)
        assert "FileNotFoundError" in missing
        assert "Hugging Face Hub does not give such a model" in missing


def test_names_of_files_are_not_those_of_models(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for name in ("folder/missing", "folder/a.sentencode", "none/a.sentencode", "a/b/c", "missing"):
        with pytest.raises(FileNotFoundError, match="No such file"):
            se.load(name)


def test_push_to_hub(tmp_path):
    repositories = {}
    encoder = "se.Average({'cat': [1.0, 0.0], 'dog': [0.0, 1.0]})"
    code = f"print({encoder}.push_to_hub('me/pets', card={{'license': 'mit'}}))"
    code += "\nprint(se.load('me/pets').encode('cat dog'))"
    with hub(repositories) as (endpoint, _):
        assert run(code, endpoint, tmp_path) == f"{endpoint}/me/pets\n[0.5 0.5]\n"
    assert sorted(repositories["me/pets"]) == sorted(
        ["README.md", "config.json", "model.safetensors", "modules.json", "tokenizer.json"]
    )
    readme = repositories["me/pets"]["README.md"].decode()
    repositories["me/pets"] |= {"0_StaticEmbedding/model.safetensors": b"", "1_Normalize/x": b"", "mine": b""}
    code = code.replace("{'license'", "{'language': 'en', 'license'").replace("card=", "format=FORMAT, card=")
    code = code.replace("FORMAT", "'sentence-transformers'")
    with hub(repositories) as (endpoint, _):
        assert run(code, endpoint, tmp_path) == f"{endpoint}/me/pets\n[0.5 0.5]\n"
    left = ["README.md", "config_sentence_transformers.json", "mine", "model.safetensors", "modules.json"]
    assert sorted(repositories["me/pets"]) == [*left, "tokenizer.json"]
    assert 'license: "mit"' in readme
    assert 'StaticModel.from_pretrained("me/pets")' in readme
