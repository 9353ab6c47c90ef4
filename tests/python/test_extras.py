from __future__ import annotations

import os
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

from sentencode import _core, _extras

needs_nn = pytest.mark.skipif(not _core.build_info()["torch"], reason="built without torch")


def with_build(monkeypatch, torch):
    monkeypatch.setattr(_core, "build_info", lambda: {"torch": torch})


def test_without_the_neural_half(monkeypatch):
    with_build(monkeypatch, "")
    with pytest.raises(ImportError, match="built without its neural half"):
        _extras.require_nn()


def test_without_torch(monkeypatch):
    with_build(monkeypatch, "9.9.0")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=re.escape("this needs torch: pip install 'sentencode[nn]'")):
        _extras.require_nn()


def test_a_different_torch_is_refused(monkeypatch):
    with_build(monkeypatch, "2.13.0+cpu")
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(__version__="2.11.0+cu128"))
    with pytest.raises(
        ImportError, match=r"built for torch 2\.13\.0, but torch 2\.11\.0 .*'torch==2\.13\.0'"
    ):
        _extras.require_nn()


@needs_nn
def test_another_flavour_of_the_same_torch(monkeypatch):
    torch = pytest.importorskip("torch")
    with_build(monkeypatch, torch.__version__.partition("+")[0] + "+cu130")
    _extras.require_nn()


@needs_nn
def test_the_binary_matches_its_torch():
    pytest.importorskip("torch")
    _extras.require_nn()
    from sentencode import _nn

    assert _nn.torch_version == _core.build_info()["torch"].partition("+")[0]


def test_a_module_that_lacks_something_of_its_own(monkeypatch, tmp_path):
    (tmp_path / "half_there.py").write_text("import something_else_entirely", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="something_else_entirely"):
        _extras.require("half_there", "plot")


def test_the_pinned_torch_is_the_same_everywhere():
    root = Path(__file__).parents[2]
    version = re.search(r'nn = \["torch==([^"]+)"\]', (root / "pyproject.toml").read_text(encoding="utf-8"))[
        1
    ]
    pins = [
        path.relative_to(root).as_posix()
        for pattern in ("*.toml", "*.txt", "Makefile", "cmake/*", "tools/*.py", ".ci/*", "python/**/*.py")
        for path in root.glob(pattern)
        if path.is_file() and version in path.read_text(encoding="utf-8")
    ]
    assert pins == ["pyproject.toml"]


def policy_of_openmp(code, **environment):
    """How OpenMP says that its threads wait, in a process that runs this code; and what the code prints."""
    inherited = {name: value for name, value in os.environ.items() if name not in _extras._WAITING}
    shown = subprocess.run(
        [sys.executable, "-c", code],
        env={**inherited, **environment, "OMP_DISPLAY_ENV": "true"},
        check=True,
        capture_output=True,
        text=True,
    )
    policies = re.findall(r"OMP_WAIT_POLICY *= *'(\w+)'", shown.stderr)
    if not policies:
        pytest.skip("torch brings another OpenMP here, which does not tell")
    return policies[0], shown.stdout


LOAD = "from sentencode._extras import require; require('torch', 'nn')"


def test_threads_of_openmp_sleep_where_they_wait_and_the_environment_is_as_before():
    pytest.importorskip("torch")
    tell = f"import os; {LOAD}; print([name for name in os.environ if name in {list(_extras._WAITING)}])"
    assert policy_of_openmp(tell) == ("PASSIVE", "[]\n")


@pytest.mark.parametrize("first", ["import torch", "pass"])
def test_openmp_settings_of_the_user_are_respected(first):
    pytest.importorskip("torch")
    assert policy_of_openmp(f"{first}; {LOAD}", OMP_WAIT_POLICY="active")[0] == "ACTIVE"


@needs_nn
@pytest.mark.parametrize(
    "module", ["models", "training.trainer", "nn", "distributed", "evaluation.metrics.solver"]
)
def test_every_module_that_loads_torch_sets_the_wait_policy(module):
    pytest.importorskip("torch")
    use = f"sentencode.{module}.require_nn()" if "solver" in module else ""
    assert policy_of_openmp(f"import sentencode.{module}; {use}")[0] == "PASSIVE"
