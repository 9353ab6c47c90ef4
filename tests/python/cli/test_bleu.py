"""`sentencode bleu`: files in, a line out."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sentencode.cli import main
from sentencode.evaluation import bleu

pytest.importorskip("sacrebleu")

OUT = ["The dog runs.", "", "Two children play in a park.", "it rains a lot here"]
REFERENCES = ["The dog runs.", "A cat.", "Two kids play in the park.", "It rains a lot here."]


@pytest.fixture
def files(tmp_path):
    for name, lines in (("out", OUT), ("ref", REFERENCES), ("other", OUT[::-1])):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    return [str(tmp_path / name) for name in ("out", "ref", "other")]


def test_a_line_is_printed(files, capsys):
    assert main(["bleu", *files[:2]]) == 0
    assert capsys.readouterr().out == f"{bleu(OUT, REFERENCES)}\n"
    chosen = {"lowercase": True, "tokenize": "none", "resamples": 50, "confidence": 0.5}
    options = ["--lowercase", "--tokenize", "none", "--resamples", "50", "--confidence", "0.5"]
    assert main(["bleu", *files, *options]) == 0
    assert capsys.readouterr().out == f"{bleu(OUT, REFERENCES, OUT[::-1], **chosen)}\n"


def test_from_standard_input(files):
    with open(files[0]) as source:
        run = [sys.executable, "-m", "sentencode", "bleu", "-", files[1]]
        shown = subprocess.run(run, stdin=source, capture_output=True, text=True, check=True)
    assert shown.stdout == f"{bleu(OUT, REFERENCES)}\n"


def test_errors(files, tmp_path, fails):
    fails(["bleu", "-", "-"], "only one file can be -", status=2)
    fails(["bleu", files[0], str(tmp_path / "none")], "none")
    (tmp_path / "ref").write_text("one line\n")
    fails(["bleu", *files[:2]], "there are 4 translations and 1 references")
    fails(["bleu", *files[:2], "--tokenize", "words"], "tokenize must be one of")
