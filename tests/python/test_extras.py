from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

import sentencode
from sentencode import _core, _extras

needs_nn = pytest.mark.skipif(not _extras.nn_folders(), reason="without the neural half")


@pytest.fixture
def unloaded(monkeypatch):
    """A process that has not loaded `_nn`."""
    monkeypatch.setitem(sys.modules, "sentencode._nn", None)  # undone even if a test loads it
    monkeypatch.setattr(sentencode, "_nn", None, raising=False)
    del sys.modules["sentencode._nn"]
    monkeypatch.setattr("sentencode.__path__", list(sentencode.__path__))
    return monkeypatch


@pytest.fixture
def nn_wheel(unloaded, tmp_path):
    """An installed sentencode-nn for torch 2.9 and 2.10, beside a sentencode without a neural half."""
    package = tmp_path / "sentencode_nn"
    for version in ("2.10", "2.9"):
        (package / f"torch_{version}").mkdir(parents=True)
        (package / f"torch_{version}" / "_nn.py").write_text(f"built_for = '{version}'", encoding="utf-8")
    (package / "__init__.py").touch()
    metadata = tmp_path / "sentencode_nn-1.2.3.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: sentencode-nn\nVersion: 1.2.3\n", encoding="utf-8")
    unloaded.syspath_prepend(tmp_path)
    unloaded.delitem(sys.modules, "sentencode_nn", raising=False)
    unloaded.setattr(_core, "build_info", lambda: {"torch": "", "version": "1.2.3"})
    # Without the module that a source build has in the package itself.
    unloaded.setattr("sentencode.__path__", [])
    unloaded.setattr("sentencode.threads.apply_to_torch", lambda: None)
    return unloaded


def with_torch(monkeypatch, version):
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(__version__=version))


def test_without_the_neural_half(unloaded):
    unloaded.setattr(_core, "build_info", lambda: {"torch": "", "version": "1.2.3"})
    unloaded.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=re.escape("neural half: pip install 'sentencode[nn]'")):
        _extras.require_nn()


def test_without_torch(nn_wheel):
    nn_wheel.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=re.escape("this needs torch: pip install 'sentencode[nn]'")):
        _extras.require_nn()


@pytest.mark.parametrize("version", ["2.9.0", "2.10.1+cu130"])
def test_a_wheel_has_a_module_for_each_torch(nn_wheel, version):
    with_torch(nn_wheel, version)
    _extras.require_nn()
    assert version.startswith(sys.modules["sentencode._nn"].built_for + ".")


def test_a_wheel_without_a_module_for_the_installed_torch(nn_wheel):
    with_torch(nn_wheel, "2.8.0+cu128")
    with pytest.raises(
        ImportError,
        match=r"compiled for torch 2\.9, 2\.10, but torch 2\.8\.0 is .*'torch==2\.10\.\*', or compile",
    ):
        _extras.require_nn()


def test_a_neural_half_of_another_version(nn_wheel):
    nn_wheel.setattr(_core, "build_info", lambda: {"torch": "", "version": "1.3.0"})
    with pytest.raises(
        ImportError, match=r"sentencode is 1\.3\.0, but sentencode-nn is 1\.2\.3: pip install"
    ):
        _extras.require_nn()


def test_another_torch_than_a_source_build_has(unloaded):
    unloaded.setattr(_core, "build_info", lambda: {"torch": "2.13.0+cpu"})
    with_torch(unloaded, "2.11.0+cu128")
    with pytest.raises(ImportError, match=r"compiled for torch 2\.13, but torch 2\.11\.0 is installed"):
        _extras.require_nn()


@needs_nn
def test_the_binary_matches_its_torch():
    torch = pytest.importorskip("torch")
    _extras.require_nn()
    from sentencode import _nn

    assert _extras._minor(_nn.torch_version) == _extras._minor(torch.__version__)


def test_versions_of_both_distributions_agree():
    root = Path(__file__).parents[2]
    version = re.search(r"project\(Sentencode VERSION (\S+)", (root / "CMakeLists.txt").read_text("utf-8"))[1]
    assert f'"sentencode-nn=={version}"' in (root / "pyproject.toml").read_text("utf-8")
    nn = (root / "tools/wheels/nn/pyproject.toml").read_text("utf-8")
    assert f'version = "{version}"' in nn
    assert f'"sentencode=={version}"' in nn


def test_a_module_that_lacks_something_of_its_own(monkeypatch, tmp_path):
    (tmp_path / "half_there.py").write_text("import something_else_entirely", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="something_else_entirely"):
        _extras.require("half_there", "plot")


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
