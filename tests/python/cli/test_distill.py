"""The command that makes students."""

from __future__ import annotations

import numpy as np
import pytest

import sentencode as se
from sentencode.cli import main


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A teacher and sentences."""
    folder = tmp_path_factory.mktemp("distill")
    random = np.random.default_rng(0)
    words = [f"w{i}" for i in range(40)]
    vectors = se.WordVectors.from_array(words, random.standard_normal((40, 6)).astype(np.float32))
    se.Average(vectors).save(folder / "teacher.sentencode")
    lines = [" ".join(random.choice(words, random.integers(2, 8))) for _ in range(400)]
    (folder / "text.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "words.txt").write_text("w1\nw2\nw3\nnew\n", encoding="utf-8")
    return folder


def test_makes_an_encoder(files, tmp_path, capsys):
    out = tmp_path / "student.sentencode"
    command = ["distill", str(files / "teacher.sentencode"), "--sentences", str(files / "text.txt")]
    command += ["--out", str(out), "--cache", str(tmp_path / "cache"), "--quiet"]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "40 words, 6 dimensions, from" in shown
    assert "lambda" in shown
    assert "its embeddings have a cosine of 1.00 with the teacher's on average" in shown
    assert f"Evaluate it: sentencode evaluate --encoder {out}" in shown
    student, teacher = se.load(out), se.load(files / "teacher.sentencode")
    lines = (files / "text.txt").read_text().splitlines()
    rows, truth = student.encode(lines), teacher.encode(lines)
    truth = truth - truth.mean(0)
    cosines = (rows * truth).sum(1) / np.linalg.norm(rows, axis=1) / np.linalg.norm(truth, axis=1)
    assert np.median(cosines) > 0.99
    assert student._known().keys() == {"sentences"}  # the fingerprint of the teacher is no name
    assert main(command) == 1  # it is there
    assert "--overwrite" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:.*have no vector")
def test_words_and_the_first_sentences(files, tmp_path, capsys):
    out = tmp_path / "student.sentencode"
    command = ["distill", str(files / "teacher.sentencode"), "--sentences", str(files / "text.txt")]
    command += ["--out", str(out), "--words", str(files / "words.txt"), "--limit", "100", "--quiet"]
    command += ["--penalty", "0.5", "--storage", "float16", "--cache", str(tmp_path)]
    with pytest.warns(se.errors.ZeroRowsWarning, match="zeros for 1 of 4 words.* the first is 'new'"):
        assert main(command) == 0
    shown = capsys.readouterr().out
    assert "4 words, 6 dimensions" in shown
    assert "cosine" not in shown  # lambda was given
    assert se.load(out).vectors.storage == "float16"


def test_folders_and_globs(files, tmp_path, capsys):
    (tmp_path / "texts").mkdir()
    lines = (files / "text.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    for i in range(2):
        (tmp_path / "texts" / f"{i}.txt").write_text("".join(lines[i::2]), encoding="utf-8")
    shown = []
    for inputs in [["texts"], ["texts/*.txt"], ["texts/0.txt", "texts/1.txt"]]:
        command = ["distill", str(files / "teacher.sentencode"), "--penalty", "0.1", "--overwrite", "--quiet"]
        command += ["--out", str(tmp_path / "s.sentencode"), "--cache", str(tmp_path / "new" / "cache")]
        assert main([*command, "--sentences", *(str(tmp_path / one) for one in inputs)]) == 0
        shown.append(capsys.readouterr().out)
    assert len(set(shown)) == 1
    assert f"from {len(set(lines)):,} sentences" in shown[0]


def test_a_teacher_that_is_not_there(files, tmp_path, fails, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    command = ["distill", "no/such-model", "--sentences", str(files / "text.txt")]
    fails([*command, "--out", str(tmp_path / "x.sentencode")], "no/such-model: there is no such file")


def test_teachers_without_pieces(files, tmp_path, fails):
    command = ["distill", str(files / "teacher.sentencode"), "--sentences", str(files / "text.txt")]
    command += ["--out", str(tmp_path / "out"), "--words", "wordpieces", "--quiet"]
    fails(command, "has no tokenizer of Hugging Face")


def test_the_teacher_is_not_replaced(files, tmp_path, fails):
    teacher, link = tmp_path / "teacher.sentencode", tmp_path / "link"
    teacher.write_bytes((files / "teacher.sentencode").read_bytes())
    link.symlink_to(teacher)
    for out in (teacher, link):
        command = ["distill", str(teacher), "--sentences", str(files / "text.txt"), "--out", str(out)]
        fails([*command, "--overwrite", "--quiet"], f"{out} is an input", 2)
