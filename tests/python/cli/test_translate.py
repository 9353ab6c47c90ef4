"""`sentencode translate`: text in, text out."""

from __future__ import annotations

import subprocess
import sys

import pytest

import sentencode as se
from sentencode.cli import main

SOURCE = ["a dog runs", "a cat sleeps", "a cat runs", "a dog sleeps"]
TARGET = ["ein Hund rennt", "eine Katze schläft", "eine Katze rennt", "ein Hund schläft"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    nmt = se.CompoundNMT(
        **{"features": 16, "hidden": 12, "decoder_hidden": 24, "heads": 2, "attention": 12, "dropout": 0.0},
        **{"max_epochs": None, "max_steps": 120, "learning_rate": 0.02, "device": "cpu"},
    ).fit(SOURCE, TARGET)
    path = tmp_path_factory.mktemp("nmt") / "nmt.sentencode"
    nmt.save(path)
    return path


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.en"
    path.write_text("\n".join([SOURCE[0], "", *SOURCE[1:]]) + "\n", encoding="utf-8")
    return path


def test_a_line_is_a_line(model, text, tmp_path):
    out = tmp_path / "text.de"
    assert main(["translate", str(model), str(text), str(out)]) == 0
    assert out.read_text(encoding="utf-8").split("\n") == [TARGET[0], "", *TARGET[1:], ""]
    assert main(["translate", str(model), str(text), str(out)]) == 1  # it is there
    assert main(["translate", str(model), str(text), str(out), "--overwrite", "--beam", "1"]) == 0


def test_standard_output_and_many_lines(model, tmp_path, capfdbinary):
    text = tmp_path / "long.en"
    text.write_text("\n".join(SOURCE * 300), encoding="utf-8")
    assert main(["translate", str(model), "--beam", "1", str(text), "-"]) == 0
    assert capfdbinary.readouterr().out.decode().splitlines() == TARGET * 300


def test_scores_of_the_best(model, text, capfdbinary):
    assert main(["translate", str(model), "--best", "2", "--beam", "3", "--scores", str(text), "-"]) == 0
    lines = capfdbinary.readouterr().out.decode().split("\n")
    score, best, second, other = lines[0].split("\t")
    assert best == TARGET[0] != other
    assert float(second) <= float(score) <= 0
    nmt = se.load(model)
    assert float(score) == pytest.approx(nmt.score(SOURCE[:1], [best])[0], abs=1e-3)


def test_by_chance(model, text, capfdbinary):
    assert main(["translate", str(model), "--sample", "--top-k", "1", str(text), "-"]) == 0
    assert capfdbinary.readouterr().out.decode().split("\n")[0] == TARGET[0]


def test_another_encoder_is_refused(text, tmp_path, capsys):
    path = tmp_path / "average.sentencode"
    se.Average(se.WordVectors.from_dict({"a": [1.0]})).save(path)
    assert main(["translate", str(path), str(text), "-"]) == 2
    assert "Average does not translate" in capsys.readouterr().err
    assert main(["translate", str(tmp_path / "none"), str(text), "-"]) == 1


def test_an_interrupted_translation_leaves_no_file(model, text, tmp_path, monkeypatch):
    def interrupt(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("sentencode.models.CompoundNMT.translate", interrupt)
    assert main(["translate", str(model), str(text), str(tmp_path / "out")]) == 130
    assert [path.name for path in tmp_path.iterdir()] == ["text.en"]


def test_pipes(model):
    command = [sys.executable, "-m", "sentencode", "translate", str(model), "-", "-"]
    found = subprocess.run(command, input="\n".join(SOURCE), capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == TARGET


def test_raw_text_goes_in_and_comes_out(model, tmp_path, capfdbinary):
    pytest.importorskip("sacremoses")
    from sentencode.text import Moses

    files = []
    for language, line in (("en", "Now a dog, a cat sleeps."), ("de", "Nun rennt ein Hund, eine Katze.")):
        files.append(str(tmp_path / f"{language}.moses"))
        Moses(language).learn([line]).save(files[-1])
    text = tmp_path / "raw.en"
    text.write_text("A dog runs\n\nA  Cat sleeps\n", encoding="utf-8")
    command = ["translate", str(model), "--beam", "2", "--moses", *files, str(text)]
    assert main([*command, "-"]) == 0
    translated = ["Ein Hund rennt", "", "Eine Katze schläft"]
    assert capfdbinary.readouterr().out.decode().splitlines() == translated
    assert main([*command, "-", "--best", "2", "--scores"]) == 0
    lines = [line.split("\t") for line in capfdbinary.readouterr().out.decode().splitlines()]
    assert [line[1] for line in lines] == translated
    assert all(line[3][:1].isupper() for line in lines[::2])
    assert main([*command, files[1], "--overwrite"]) == 2  # it is read
    assert main(["translate", str(model), "--moses", files[0], str(model), str(text), "-"]) == 1
