"""Scores and shares of a student, its teacher and a control, on captions whose words are known."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sentencode as se
from sentencode.cli import main
from sentencode.reproduce import page, tasks

IMAGES = 60
WORDS = [f"w{i}x{k}" for i in range(IMAGES) for k in range(6)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Captions of each image have words of their own, which are near each other for the teacher."""
    folder = tmp_path_factory.mktemp("tasks")
    random = np.random.default_rng(3)
    (folder / "data" / "captions").mkdir(parents=True)
    captions = [f"w{i}x{k} w{i}x{k + 1}" for i in range(IMAGES) for k in range(5)]
    (folder / "data" / "captions" / "coco_5x5000.txt").write_text("\n".join(captions) + "\n")
    images = np.repeat(random.normal(size=(IMAGES, 16)), 6, axis=0)
    for name, noise in (("teacher", 0.3), ("student", 2)):
        table = (images + noise * random.normal(size=images.shape)).astype(np.float32)
        se.Average(se.WordVectors.from_array(WORDS, table)).save(folder / f"{name}.sentencode")
    return folder


ROWS = ["teacher", "student", "bm25", "random-vectors", "word-vectors-weighted-mean"]


def test_scores_and_shares(folder, capsys):
    out = folder / "out"
    argv = ["reproduce", "tasks", folder / "teacher.sentencode", "--student", folder / "student.sentencode"]
    argv += ["--data", folder / "data", "--out", out, "--rows", *ROWS, "--resamples", 50, "--limit", 50]
    assert main(list(map(str, argv))) == 0
    text = capsys.readouterr().out
    content = json.loads((out / "results.json").read_text())
    assert (content["family"], content["settings"]["limit"]) == ("tasks", 50)
    assert content["settings"]["tasks"] == {"COCOSearch": 250}
    scores = {row["row"]: row["scores"]["COCOSearch"]["value"] for row in content["rows"] if "scores" in row}
    assert list(scores) == ["teacher", "student", "BM25", "random vectors"]
    assert scores["teacher"] > 95 > scores["student"] > scores["random vectors"] + 10
    assert scores["BM25"] < 60  # a caption shares words with its neighbours only
    assert "Left out: word vectors, weighted mean (no word vectors were given)." in text
    report = tasks.FAMILY.report(content["rows"], content["settings"], ["shares"])
    _, header, lines = next(report.content())
    assert header == ["task", "student", "BM25"]
    low = scores["random vectors"]
    shares = [100 * (scores[name] - low) / (scores["teacher"] - low) for name in ("student", "BM25")]
    cells = [f"{share:.1f}" for share in shares]
    assert lines == [["COCOSearch, nDCG@10", *cells], ["all, without Spearman and translations", *cells]]
    assert "COCOSearch, nDCG@10" in page.markdown(content)
    with pytest.raises(FileExistsError, match="holds results"):
        tasks.reproduce(folder / "data", folder / "teacher.sentencode", out=out)
    with pytest.raises(FileNotFoundError, match="there are no files of a task"):
        tasks.reproduce(folder, folder / "teacher.sentencode", out=folder / "none")


def test_controls_have_the_words_of_the_student(folder):
    bench = tasks.Bench("teacher", (), None, None, False, False)
    control = tasks._Encoders(bench, folder / "student.sentencode").random()
    assert list(control.vectors.words) == WORDS
    assert control.vectors.dim == 16
