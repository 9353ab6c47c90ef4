"""The command that removes sentences of tasks."""

from __future__ import annotations

from sentencode.cli import main


def test_command(tmp_path, capsys, fails):
    folder = tmp_path / "downstream" / "TREC"
    folder.mkdir(parents=True)
    for name in ("train_5500.label", "TREC_10.label"):
        (folder / name).write_text("DESC:def What is a whale ?\nLOC:city Which city is large ?\n" * 3)
    text, out = tmp_path / "text.txt", tmp_path / "clean.txt"
    text.write_text("No question .\nwhat is a WHALE\n", encoding="utf-8")
    command = ["decontaminate", str(text), "--data", str(tmp_path), "--out", str(out), "--quiet"]
    assert main([*command, "--tasks", "TREC"]) == 0
    assert out.read_text() == "No question .\n"
    assert capsys.readouterr().out == f"{out}: 1 of 2 lines\nTREC: 1 removed\n"
    fails(command, "--overwrite")
    assert main([*command, "--overwrite"]) == 0  # all tasks that are there
    printed = capsys.readouterr()
    assert "TREC: 1 removed" in printed.out
    assert printed.err.startswith("not compared, for lack of their files: MR, CR, ")
    more = tmp_path / "more.txt"
    more.write_text("One .\nTwo .\n \nwhich city is large\n\nThree .\n")
    several = [command[0], str(text), str(more), *command[2:], "--tasks", "TREC", "--overwrite"]
    capsys.readouterr()
    assert main(several) == 0
    # Documents keep their ends, also where a file ends.
    assert out.read_text() == "No question .\n\nOne .\nTwo .\n\n\nThree .\n"
    assert capsys.readouterr().out == f"{out}: 4 of 6 lines\nTREC: 2 removed\n"
    fails([*command, "--overwrite", "--tasks", "NoTask"], "NoTask")
    fails([*command, "--overwrite", "--tasks", "MR"], "MR")
    fails(["decontaminate", str(text), "--data", str(folder), "--out", str(tmp_path / "x")], "folder")


def test_the_output_is_not_read(tmp_path, fails):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("a line\n")
    command = ["decontaminate", str(tmp_path / "in"), "--data", str(tmp_path), "--quiet", "--out"]
    fails([*command, str(tmp_path / "in" / "clean.txt")], "is in the folder", 2)
