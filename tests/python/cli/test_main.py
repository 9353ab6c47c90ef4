from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sentencode as se
from sentencode.cli import main

COMMANDS = [
    ["encode"],
    ["serve"],
    ["train"],
    ["translate"],
    ["evaluate"],
    ["export"],
    ["decontaminate"],
    ["vectors"],
    ["vectors", "convert"],
    ["vectors", "info"],
    ["vectors", "train"],
    ["reproduce"],
    ["reproduce", "laes"],
    ["reproduce", "aae"],
    ["reproduce", "pooling"],
    ["demo"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_shows_an_example(command, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([*command, "--help"])
    assert stopped.value.code == 0
    shown = capsys.readouterr().out
    assert f"example:\n  sentencode {command[0]}" in shown
    assert shown.isascii()


def test_version(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    first, *facts = capsys.readouterr().out.splitlines()
    assert first == f"sentencode {se.__version__}"
    shown = dict(line.split(maxsplit=1) for line in facts)
    built = se._core.build_info()
    assert list(shown) == ["blas", "simd", "torch", "compiler"]
    assert built["blas_kernel"] in shown["blas"]
    assert ("several times slower" in shown["blas"]) == (built["blas"] == "eigen")
    assert (shown["simd"], shown["compiler"]) == (built["simd"], built["compiler"])
    assert shown["torch"] == (built["torch"] or "built without")


@pytest.mark.parametrize("arguments", [[], ["encode"], ["nothing"], ["demo", "--nothing"]], ids=" ".join)
def test_wrong_usage(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "usage: sentencode" in capsys.readouterr().err


def test_as_a_module():
    shown = subprocess.run(
        [sys.executable, "-m", "sentencode", "--help"], capture_output=True, text=True, check=True
    )
    assert "usage: sentencode" in shown.stdout


def test_help_is_quick():
    # Nothing heavy is loaded to print a text.
    code = (
        "import sys\nfrom sentencode.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'sklearn', 'scipy', 'matplotlib', 'pandas', 'tqdm'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_a_closed_pipe_is_no_error():
    shown = subprocess.run(
        f"{sys.executable} -m sentencode demo --help | true",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in shown.stderr


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("the cat\n\nthe dog\n")
    return path


def in_shell(redirected, *arguments):
    """Runs the command in a shell that closes or redirects its streams."""
    command = shlex.join([sys.executable, "-m", "sentencode", *map(str, arguments)])
    return subprocess.run(f"{command} {redirected}", shell=True, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("redirected", [">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-", "2>/dev/full"])
def test_closed_streams_do_not_change_how_a_command_ends(redirected, text, tmp_path):
    done = in_shell(redirected, "encode", "--kind", "average", text, tmp_path / "rows.npy")
    assert (done.returncode, done.stderr) == (0, "" if "2>" in redirected else done.stderr)
    assert "Error" not in done.stderr
    assert np.load(tmp_path / "rows.npy").shape == (3, 148)
    failed = in_shell(redirected, "encode", "--kind", "average", text, tmp_path / "rows.npy")
    assert failed.returncode == 1
    assert failed.stdout == ""  # not the error


@pytest.mark.parametrize("name", ["vectors info", "bleu", "compare", "translate"])
def test_closed_output_of_commands_that_print(name, text, tmp_path):
    default = Path(se.__file__).parent / "data/default_vectors.sentencode"
    arguments = {"vectors info": [default], "bleu": [text, text]}.get(name)
    if arguments is None:
        done = in_shell(">&-", name, "--help")
    else:
        done = in_shell(">&-", *name.split(), *arguments)
    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stderr


def test_warnings_are_one_line_without_source(tmp_path):
    (tmp_path / "text").write_text("zzqx\n" * 60)
    (tmp_path / "vectors.txt").write_text("cat 1 0\ndog 0 1\n")
    make = ["encode", "--kind", "average", "--vectors", tmp_path / "vectors.txt", "--quiet"]
    done = in_shell("", *make, tmp_path / "text", tmp_path / "rows.npy")
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert line.startswith("sentencode: warning: Average.encode: 60 of 60 rows")


def test_using_a_closed_stream_is_an_error(text, tmp_path):
    make = ["encode", "--kind", "average", "--quiet"]
    done = in_shell(">&-", *make, text, "-")
    assert (done.returncode, done.stderr) == (1, "sentencode: error: standard output: is closed\n")
    done = in_shell("<&-", *make, "-", tmp_path / "rows.npy")
    assert (done.returncode, done.stderr) == (1, "sentencode: error: standard input: is closed\n")
    done = in_shell("2>&- | wc -c", *make, text, "-")
    assert int(done.stdout) == 128 + 3 * 148 * 4  # and no message between the rows


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize(
    "arguments", [["--version"], ["demo", "--out", "OUT"], ["encode", "--kind", "average", "TEXT", "-"]]
)
def test_a_full_standard_output_is_reported_once(arguments, unbuffered, text, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    names = {"OUT": tmp_path / "demo", "TEXT": text}
    done = in_shell(">/dev/full", *(names.get(word, word) for word in arguments))
    assert done.returncode == 1
    assert "sentencode: error: standard output: No space left on device\n" in done.stderr
    assert "Exception ignored" not in done.stderr
    assert "Traceback" not in done.stderr


def test_demo(tmp_path, capsys, monkeypatch):
    image = pytest.importorskip("matplotlib.image")
    assert main(["demo", "--out", str(tmp_path / "demo")]) == 0
    shown = capsys.readouterr().out
    assert "The scores are cosines" in shown
    edge = image.imread(tmp_path / "demo" / "similarity.png")[..., :3].copy()
    edge[3:-3, 3:-3] = 1
    assert (edge == 1).all()  # no label is clipped
    # Another sentence of a shipwreck, not that of a miser, is most similar for every encoder.
    wrecks = ("  A great gale", "  The captain and his crew")
    ranked = [line for line in shown.splitlines() if line.startswith("  ") and any(w in line for w in wrecks)]
    assert len(ranked) == 7
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["demo", "--out", str(tmp_path / "none")]) == 0
    assert "No picture without matplotlib" in capsys.readouterr().out
    assert not (tmp_path / "none").exists()
