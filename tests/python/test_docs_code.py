"""README and the guide: their code runs, and prints what they say."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sklearn")  # a page shows a pipeline

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# A fence with what stands right above and right below it: a comment that it is not to be run, and its output.
FENCE = re.compile(
    r"(?P<skip><!-- not run: [^\n]+ -->\n)?^```(?P<kind>python|console)\n(?P<code>.*?)^```$"
    r"(\n\n^```text\n(?P<output>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
same = doctest.OutputChecker().check_output
LENIENT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def fences(page: Path) -> list[re.Match[str]]:
    return [fence for fence in FENCE.finditer(page.read_text(encoding="utf-8")) if not fence["skip"]]


def run_python(code: str, names: dict[str, object], where: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, where, "exec"), names)
    return printed.getvalue()


def run_console(fence: str) -> tuple[str, str]:
    """What the lines after "$ ", gone on with by "> ", print together; what the page says that they do."""
    lines = fence.splitlines()
    typed = ("$ ", "> ")
    commands = [line[2:] for line in lines if line.startswith(typed)]
    python = f'python() {{ {shlex.quote(sys.executable)} "$@"; }}'
    sentencode = 'sentencode() { python -m sentencode "$@"; }'
    script = "\n".join(["set -e", python, sentencode, *commands])
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout, "".join(f"{line}\n" for line in lines if not line.startswith(typed))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_runs_and_prints_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for fence in fences(page):
        if fence["kind"] == "python":
            found, expected = run_python(fence["code"], names, page.name), fence["output"]
        else:
            found, expected = run_console(fence["code"])
        if expected is not None:
            assert same(expected, found, LENIENT), f"{fence['code']}\nexpected:\n{expected}\ngot:\n{found}"


def test_nothing_is_left_out_by_a_slip():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert len(list(FENCE.finditer(text))) == len(
            re.findall(r"^```(?:python|console)$", text, re.MULTILINE)
        )
