"""README and the guide: all their code runs and prints what they say; names and options in them exist."""

from __future__ import annotations

import argparse
import contextlib
import doctest
import importlib
import importlib.util
import io
import re
import shlex
import subprocess
import sys
import types
from pathlib import Path

import pytest

import sentencode as se
from sentencode.cli import _parser

sys.path.insert(0, str(Path(__file__).parent))
import docs_files

pytest.importorskip("sklearn")  # a page shows a pipeline

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# A fenced block, with the comment above it (a required package) and its output below.
# Commands that require a network, a GPU or several processes are in `sh` blocks, which are not run.
FENCE = re.compile(
    r"(<!-- needs (?P<needs>\w+) -->\n)?^```(?P<kind>python|console)\n(?P<code>.*?)^```$"
    r"(\n\n^```text\n(?P<output>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
same = doctest.OutputChecker().check_output
LENIENT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def fences(page: Path) -> list[re.Match[str]]:
    matches = list(FENCE.finditer(page.read_text(encoding="utf-8")))
    return [fence for fence in matches if not fence["needs"] or importlib.util.find_spec(fence["needs"])]


def run_python(code: str, names: dict[str, object], where: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, where, "exec"), names)
    return printed.getvalue()


def run_console(fence: str) -> tuple[str, str]:
    """Return what the commands after "$ " (continued after "> ") print, and what the page shows."""
    lines = fence.splitlines()
    typed = ("$ ", "> ")
    commands = [line[2:] for line in lines if line.startswith(typed)]
    python = f'python() {{ {shlex.quote(sys.executable)} "$@"; }}'
    sentencode = 'sentencode() { python -m sentencode "$@"; }'
    script = "\n".join(["set -e", python, sentencode, *commands])
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout, "".join(f"{line}\n" for line in lines if not line.startswith(typed))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where a page's code runs: with the files that pages name, and a stub of mteb, which fetches data."""
    docs_files.write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    mteb = types.ModuleType("mteb")
    mteb.get_tasks = lambda tasks: tasks
    mteb.evaluate = lambda model, tasks: model.encode([{"text": tasks}], task_metadata=None)
    monkeypatch.setitem(sys.modules, "mteb", mteb)
    cache = se.cache_dir()
    se.set_cache_dir(tmp_path / "cache")
    yield tmp_path
    se.set_cache_dir(cache)
    for name in [name for name in sys.modules if name.partition(".")[0] == "senteval"]:
        del sys.modules[name]


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")  # of sentence-transformers
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_prints_the_output_of_the_page(page, folder):
    if "cc.en.300.bin.gz" in page.read_text(encoding="utf-8"):
        pytest.importorskip("gensim")
        docs_files.write_fasttext(folder / "cc.en.300.bin.gz")
    names: dict[str, object] = {"__name__": "__main__"}
    for fence in fences(page):
        if fence["kind"] == "python":
            printed, expected = run_python(fence["code"], names, page.name), fence["output"]
        else:
            printed, expected = run_console(fence["code"])
        if expected is not None:
            assert same(expected, printed, LENIENT), (
                f"{fence['code']}\nexpected:\n{expected}\ngot:\n{printed}"
            )


def test_every_code_block_is_run():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert len(list(FENCE.finditer(text))) == len(
            re.findall(r"^```(?:python|console)$", text, re.MULTILINE)
        )
        assert "not run" not in text


def test_the_first_page_leads_everywhere():
    """The table names each page of the guide, the text each notebook; the code fits into the column."""
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    trees = re.findall(r"^```{toctree}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert all(tree.startswith(":hidden:\n") for tree in trees)  # the sidebar shows them
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"}
    assert pages <= set(re.findall(r"\]\((\w+)\.md\)", text))
    assert pages <= set("\n".join(trees).split())
    assert {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")} <= set(
        re.findall(r"`(\d\d_\w+)`", text)
    )
    assert max(len(line) for fence in FENCE.finditer(text) for line in fence["code"].splitlines()) <= 88


MODULES = (
    "",
    ".text",
    ".scale",
    ".evaluation",
    ".training",
    ".nn",
    ".models",
    ".senteval",
    ".mteb",
    ".distributed",
    ".errors",
)


def exists(name: str) -> bool:
    """Whether "se.a.b", "sentencode.a.b" or "Class.b" is there."""
    first, *rest = name.split(".")
    if first in ("se", "sentencode"):
        roots = [se]
    else:
        modules = [importlib.import_module(f"sentencode{module}") for module in MODULES]
        roots = [getattr(module, first) for module in modules if hasattr(module, first)]
    return any(has(root, rest) for root in roots)


def has(value: object, names: list[str]) -> bool:
    for i, name in enumerate(names):
        fields = getattr(value, "__dataclass_fields__", {}) | getattr(value, "__annotations__", {})
        if i == len(names) - 1 and name in fields:
            return True
        if not hasattr(value, name):
            try:  # a module of the package that is not imported yet
                importlib.import_module(f"{getattr(value, '__name__', '')}.{name}")
            except ImportError:
                return False
        value = getattr(value, name)
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_exist(page):
    pytest.importorskip("torch")
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    quoted = re.findall(r"`((?:se|sentencode)(?:\.\w+)+|[A-Z]\w+(?:\.[a-z_]\w*)+)", text)
    names = {name for name in quoted if not name.endswith((".md", ".txt", ".cmake", ".safetensors"))}
    assert not [name for name in sorted(names) if not exists(name)]


def options_of(parser: argparse.ArgumentParser) -> set[str]:
    options = {option for action in parser._actions for option in action.option_strings}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            options.update(*(options_of(command) for command in action.choices.values()))
    return options


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_options_exist(page):
    text = page.read_text(encoding="utf-8")
    commands = re.findall(r"(?:^|[$`] ?)sentencode (?:[^\n`]|\\\n)*", text, re.MULTILINE)
    commands += re.findall(r"`(--[^`]*)`", text)
    options = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", " ".join(commands)))
    # CMake's and torchrun's.
    others = {"--component", "--nproc-per-node", "--standalone", "--max-restarts", "--nnodes", "--rdzv-conf"}
    assert options <= options_of(_parser()) | others
