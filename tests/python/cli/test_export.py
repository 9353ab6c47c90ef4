"""The command that exports encoders, and commands that accept the folders."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sentencode as se
from sentencode.cli import main

from ..static_models.parts import tokenizer_json, write_model2vec

LINES = ["the whale", "", "a ship sank"]


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "sif.sentencode"
    se.SIF(se.WordVectors.default()).fit([*LINES, "the sea", "she smiled"]).save(path)
    return path


def test_exported_folders_are_encoders(saved, tmp_path, capsys, fails):
    folder, rows = tmp_path / "sif", tmp_path / "rows.npy"
    command = ["export", str(saved), str(folder), "--license", "mit", "--language", "en"]
    assert main(command) == 0
    assert capsys.readouterr().out == f"{folder}: SIF of 148 dimensions for model2vec\n"
    assert 'license: "mit"' in (folder / "README.md").read_text()
    fails(command, f"{folder}: exists already; --overwrite replaces it")
    assert main([*command, "--overwrite", "--dtype", "float16"]) == 0
    assert se.load(folder).vectors.storage == "float16"
    (tmp_path / "in.txt").write_text("\n".join(LINES) + "\n")
    assert main(["encode", "--encoder", str(folder), str(tmp_path / "in.txt"), str(rows), "--quiet"]) == 0
    np.testing.assert_array_equal(np.load(rows), se.load(folder).encode(LINES))
    again = tmp_path / "again"
    assert main(["export", str(folder), str(again), "--format", "sentence-transformers"]) == 0
    assert json.loads((again / "modules.json").read_text())[0]["type"].endswith("StaticEmbedding")


def test_folders_are_evaluated(saved, tmp_path, capsys):
    folder, task = tmp_path / "sif", tmp_path / "mine.tsv"
    assert main(["export", str(saved), str(folder)]) == 0
    task.write_text(
        "".join(f"{score}\tthe whale\t{other}\n" for score, other in enumerate(["sea", "ship", "she"]))
    )
    command = ["evaluate", "--encoder", str(folder), "--tsv", f"similarity={task}", "--resamples", "10"]
    assert main([*command, "--quiet"]) == 0
    assert "mine" in capsys.readouterr().out


def test_the_model_card_has_the_scores_of_a_report(saved, tmp_path, fails):
    report, task, other = tmp_path / "report.json", tmp_path / "mine.tsv", tmp_path / "other.sentencode"
    task.write_text("".join(f"{i}\tthe whale\t{w}\n" for i, w in enumerate(["sea", "ship", "she", "storm"])))
    evaluate = ["evaluate", "--encoder", str(saved), "--tsv", f"similarity={task}", "--out", str(report)]
    assert main([*evaluate, "--quiet", "--resamples", "50"]) == 0
    command = ["export", str(saved), str(tmp_path / "sif"), "--scores", str(report)]
    assert main(command) == 0
    ((_, key, score, interval),) = se.evaluation.Report.load(report).rows()
    text = (tmp_path / "sif" / "README.md").read_text()
    value, low, high = (f"{round(number, 2):g}" for number in (score, interval.low, interval.high))
    assert f"| mine, {key} | {value} (95 % interval {low} to {high}) |" in text
    se.Average(se.WordVectors.default()).save(other)
    fails(["export", str(other), str(tmp_path / "b"), "--scores", str(report)], "of another encoder", 2)


def test_other_encoders_are_refused(tmp_path, fails):
    laes = tmp_path / "laes.sentencode"
    se.LAES(se.WordVectors.default(), hidden=4).fit(LINES).save(laes)
    fails(["export", str(laes), str(tmp_path / "out")], "LAES is not an average of rows")


def test_tokenizers_of_unbounded_time_require_trust(tmp_path, fails, capsys):
    pytest.importorskip("tokenizers")
    split = {"type": "Split", "pattern": {"Regex": "(?:a|aa)+b| "}, "behavior": "Removed", "invert": False}
    folder = write_model2vec(tmp_path / "model", tokenizer=tokenizer_json(pre_tokenizer=split))
    (tmp_path / "in.txt").write_text("the dog\n")
    (tmp_path / "mine.tsv").write_text("".join(f"{i}\tthe\t{w}\n" for i, w in enumerate(["cat", "dog", "a"])))
    encode = ["encode", "--encoder", str(folder), str(tmp_path / "in.txt")]
    evaluate = ["evaluate", "--encoder", str(folder), "--tsv", f"similarity={tmp_path / 'mine.tsv'}"]
    (tmp_path / "text.txt").write_text("".join(f"the {w} and the dog\n" for w in ("cat", "dog", "a") * 9))
    sentences = ["--sentences", str(tmp_path / "text.txt"), "--words", "words", "--penalty", "0.1"]
    commands = [
        [*encode, str(tmp_path / "rows.npy"), "--quiet"],
        [*encode, "--output", str(tmp_path / "rows"), "--quiet"],
        [*evaluate, "--quiet", "--resamples", "10"],
        ["distill", str(folder), *sentences, "--out", str(tmp_path / "student"), "--quiet"],
    ]
    for command in commands:
        fails(command, "trust_tokenizer=True")
        assert main([*command, "--trust-tokenizer"]) == 0
    serve = ["serve", str(folder), "--port", "70000"]
    fails(serve, "trust_tokenizer=True")
    fails([*serve, "--trust-tokenizer"], "port must be")
    fails(
        ["encode", "--kind", "sif", "--trust-tokenizer", "a", "b.npy"],
        "--trust-tokenizer requires --encoder",
        2,
    )
