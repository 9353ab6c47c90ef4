"""`sentencode translate`: text in, text out."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import sentencode as se
from sentencode.cli import main, part_file, translate

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


def test_samples(model, text, capfdbinary):
    assert main(["translate", str(model), "--sample", "--top-k", "1", str(text), "-"]) == 0
    assert capfdbinary.readouterr().out.decode().split("\n")[0] == TARGET[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--temperature", "0.5"], "--temperature requires --sample"),
        (["--top-k", "3"], "--top-k requires --sample"),
        (["--seed", "1"], "--seed requires --sample"),
        (["--sample", "--beam", "3"], "--beam excludes --sample"),
        (["--sample", "--best", "2"], "--best excludes --sample"),
    ],
)
def test_options_of_samples_and_of_search(model, text, options, message, fails):
    fails(["translate", str(model), *options, str(text), "-"], message, 2)


def test_another_encoder_is_refused(text, tmp_path, fails):
    path = tmp_path / "average.sentencode"
    se.Average(se.WordVectors.from_dict({"a": [1.0]})).save(path)
    fails(["translate", str(path), str(text), "-"], "Average does not translate", status=2)
    assert main(["translate", str(tmp_path / "none"), str(text), "-"]) == 1


MANY = [SOURCE[i % 4] if i % 7 else "" for i in range(61)]
SAMPLED = ["--sample", "--seed", "3", "--scores"]


@pytest.fixture
def many(tmp_path, monkeypatch):
    """A text of 13 groups of lines."""
    monkeypatch.setattr(translate, "_LINES", 5)
    path = tmp_path / "many.en"
    path.write_text("\n".join(MANY) + "\n", encoding="utf-8")
    return path


def interrupt_after(monkeypatch, groups, error=KeyboardInterrupt):
    """Has a translation interrupted after some groups of lines; returns all lines that are translated."""
    whole, lines = se.CompoundNMT.translate, []

    def interrupted(self, sentences, **options):
        nonlocal groups
        if groups == 0:
            raise error
        groups -= 1
        lines.extend(sentences)
        return whole(self, sentences, **options)

    monkeypatch.setattr("sentencode.models.CompoundNMT.translate", interrupted)
    return lines


@pytest.mark.parametrize("options", [["--beam", "1"], SAMPLED, ["--best", "2", "--beam", "2"]], ids=" ".join)
@pytest.mark.parametrize("groups", [0, 1, 6])
def test_an_interrupted_translation_continues(model, many, tmp_path, monkeypatch, options, groups):
    out = tmp_path / "out.de"
    command = ["translate", str(model), str(many), str(out), *options]
    assert main(["translate", str(model), str(many), str(tmp_path / "whole.de"), *options]) == 0
    with monkeypatch.context() as patch:
        interrupt_after(patch, groups)
        assert main(command) == 130
    assert not out.exists()
    done = (tmp_path / "out.de.part").read_bytes()
    assert done.count(b"\n") == 5 * groups
    with monkeypatch.context() as patch:
        translated = interrupt_after(patch, -1)
        assert main(command) == 0
    assert translated == MANY[5 * groups :]  # finished lines are not translated again
    assert out.read_bytes() == (tmp_path / "whole.de").read_bytes()
    assert out.read_bytes().startswith(done)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["many.en", "out.de", "whole.de"]


def test_lines_that_did_not_reach_the_disk_are_translated_again(model, many, tmp_path, monkeypatch):
    """In the middle of a group: all of it is sampled again, with the same words."""
    out, whole = tmp_path / "out.de", tmp_path / "whole.de"
    assert main(["translate", str(model), str(many), str(whole), *SAMPLED]) == 0
    with monkeypatch.context() as patch:
        interrupt_after(patch, 6)
        assert main(["translate", str(model), str(many), str(out), *SAMPLED]) == 130
    part = tmp_path / "out.de.part"
    os.truncate(part, len(b"".join(whole.read_bytes().splitlines(keepends=True)[:27])) + 3)
    translated = interrupt_after(monkeypatch, -1)
    assert main(["translate", str(model), str(many), str(out), *SAMPLED]) == 0
    assert translated == MANY[25:]
    assert out.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("change", ["text", "option", "seed", "ensemble", "note"])
def test_another_translation_is_not_continued(model, many, tmp_path, monkeypatch, change, capsys):
    command = ["translate", str(model), str(many), str(tmp_path / "out.de"), *SAMPLED]
    with monkeypatch.context() as patch:
        interrupt_after(patch, 2)
        assert main(command) == 130
    if change == "text":
        many.write_text("\n".join(MANY[1:]), encoding="utf-8")
    elif change == "note":
        (tmp_path / "out.de.part.json").write_text("[")
    else:
        more = {"option": ["--top-k", "2"], "seed": ["--seed", "4"], "ensemble": ["--ensemble", str(model)]}
        command += more[change]
    capsys.readouterr()
    assert main(command) == 1
    error = capsys.readouterr().err
    assert "--overwrite starts over" in error
    assert error.count("\n") == 1
    assert main([*command, "--overwrite"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["many.en", "out.de"]


LIMITED = """
import resource, signal, sys
from sentencode.cli import main, translate
translate._LINES = 5
if sys.argv[1] != "0":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
sys.exit(main(sys.argv[2:]))
"""


def test_a_full_disk_loses_little(model, tmp_path):
    text, out, whole = (tmp_path / name for name in ("text.en", "out.de", "whole.de"))
    text.write_text("\n".join(SOURCE * 400), encoding="utf-8")
    command = [sys.executable, "-c", LIMITED]
    arguments = ["translate", str(model), "--beam", "1", str(text)]
    assert main([*arguments, str(whole)]) == 0
    size = whole.stat().st_size
    assert size > 20_000
    full = subprocess.run(
        [*command, "20000", *arguments, str(out)], capture_output=True, text=True, check=False
    )
    assert full.returncode == 1
    assert full.stderr == f"sentencode: error: {out}.part: File too large\n"
    assert not out.exists()
    part = (tmp_path / "out.de.part").read_bytes()
    assert 10_000 < len(part) < 20_000
    assert json.loads((tmp_path / "out.de.part.json").read_text())["rows"] == part.count(b"\n")
    assert whole.read_bytes().startswith(part)
    subprocess.run([*command, "0", *arguments, str(out)], check=True)
    assert out.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize(("rows", "size"), [(0, 99), (2, 99), (3, 99), (9, 99), (9, 4), (1, 0)])
@pytest.mark.parametrize("block", [1, 3, 99])
def test_whole_lines(tmp_path, monkeypatch, rows, size, block):
    monkeypatch.setattr(part_file, "_BLOCK", block)
    path = tmp_path / "lines"
    path.write_bytes(b"ab\n\ncde\nf")
    expected = [line for line in path.read_bytes()[:size].splitlines(keepends=True) if line.endswith(b"\n")]
    with open(path, "rb", buffering=0) as file:
        count = part_file.whole_lines(file, rows, min(size, 9))
    assert count == (len(expected[:rows]), len(b"".join(expected[:rows])))


def test_pipes(model):
    command = [sys.executable, "-m", "sentencode", "translate", str(model), "-", "-"]
    translated = subprocess.run(command, input="\n".join(SOURCE), capture_output=True, text=True, check=True)
    assert translated.stdout.splitlines() == TARGET


def test_raw_text_to_raw_text(model, tmp_path, capfdbinary):
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
