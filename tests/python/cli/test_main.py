from __future__ import annotations

import subprocess
import sys

import pytest

import sentencode as se
from sentencode.cli import main

COMMANDS = [
    ["encode"],
    ["train"],
    ["translate"],
    ["evaluate"],
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


def test_demo(tmp_path, capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    assert main(["demo", "--out", str(tmp_path / "demo")]) == 0
    shown = capsys.readouterr().out
    assert "It measures nothing" in shown
    assert (tmp_path / "demo" / "similarity.png").read_bytes().startswith(b"\x89PNG")
    # Another sentence of a shipwreck, not that of a miser, is most similar for every encoder.
    wrecks = ("  A great gale", "  The captain and his crew")
    ranked = [line for line in shown.splitlines() if line.startswith("  ") and any(w in line for w in wrecks)]
    assert len(ranked) == 7
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["demo", "--out", str(tmp_path / "none")]) == 0
    assert "No picture without matplotlib" in capsys.readouterr().out
    assert not (tmp_path / "none").exists()
