"""`sentencode vectors`: what it reads, and what it does not write over."""

from __future__ import annotations

import zipfile

import pytest

import sentencode as se
from sentencode.cli import main

TABLE = "the 1 0\ncaf\u00e9 0 1\nat name@domain.com 1 1\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "glove.txt").write_text(TABLE, encoding="utf-8")
    (tmp_path / "books").mkdir()
    (tmp_path / "books" / "one.txt").write_text("the cat sat\nthe dog sat\n" * 5)
    return tmp_path


def test_convert_requires_overwrite(folder, capsys, fails):
    glove, out = str(folder / "glove.txt"), str(folder / "glove.sentencode")
    for more in ([], ["--overwrite"]):
        assert main(["vectors", "convert", glove, glove, "--quiet", *more]) == 2
    assert (folder / "glove.txt").read_text(encoding="utf-8") == TABLE
    assert main(["vectors", "convert", glove, out, "--quiet"]) == 0
    capsys.readouterr()
    fails(["vectors", "convert", glove, out, "--quiet"], f"{out}: exists already; --overwrite replaces it")
    assert main(["vectors", "convert", glove, out, "--quiet", "--limit", "1", "--overwrite"]) == 0
    assert len(se.WordVectors.load(out)) == 1


def test_train_requires_overwrite(folder, capsys, fails):
    text, out = folder / "books" / "one.txt", str(folder / "books.sentencode")
    before = text.read_text()
    train = ["vectors", "train", str(folder / "books"), "--dim", "2", "--min-count", "1", "--quiet"]
    assert main([*train, str(text), "--overwrite"]) == 2
    assert text.read_text() == before
    for more, status in (([], 0), ([], 1), (["--overwrite"], 0)):
        assert main([*train, out, *more]) == status
    assert "--overwrite replaces it" in capsys.readouterr().err
    fails([*train, str(folder / "none" / "x")], "none: there is no such folder")


@pytest.mark.parametrize(
    "content",
    [
        "the\ncaf\u00e9".encode(),
        "\ufeffthe\r\ncaf\u00e9\r\n".encode(),
        "  the \n\n\tcaf\u00e9\n".encode(),
    ],
)
def test_words_files_of_every_kind(folder, content):
    (folder / "words.txt").write_bytes(content)
    arguments = [str(folder / "glove.txt"), str(folder / "out"), "--words", str(folder / "words.txt")]
    assert main(["vectors", "convert", *arguments, "--quiet"]) == 0
    assert list(se.WordVectors.load(folder / "out")) == ["the", "caf\u00e9"]


def test_words_of_another_encoding_are_named(folder, fails):
    (folder / "words.txt").write_bytes("caf\u00e9".encode("latin-1"))
    arguments = [str(folder / "glove.txt"), str(folder / "out"), "--words", str(folder / "words.txt")]
    fails(
        ["vectors", "convert", *arguments, "--quiet"],
        f"{folder / 'words.txt'}, line 1: byte 3 is not UTF-8: 0xe9",
    )


def test_errors_name_arguments(folder, capsys):
    train = ["vectors", "train", str(folder / "books"), str(folder / "out"), "--quiet", "--seed", "-5"]
    assert main(train) == 1
    assert capsys.readouterr().err == "sentencode: error: seed must be at least 0, got -5\n"


def test_a_file_of_a_zip_archive(folder, fails):
    with zipfile.ZipFile(folder / "two.zip", "w") as archive:
        archive.writestr("one.txt", "a 1\n")
        archive.writestr("glove.txt", TABLE)
    convert = ["vectors", "convert", str(folder / "two.zip"), str(folder / "out"), "--quiet"]
    fails(convert, "several files; choose one as its member: 'one.txt', 'glove.txt'")
    assert main([*convert, "--member", "glove.txt"]) == 0
    assert len(se.WordVectors.load(folder / "out")) == 3


def test_vectors_are_not_written_into_the_text(tmp_path, fails):
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "a.txt").write_text("a cat\n")
    train = ["vectors", "train", str(tmp_path / "text"), str(tmp_path / "text" / "rows.sentencode")]
    fails(train, "is in the folder", 2)
