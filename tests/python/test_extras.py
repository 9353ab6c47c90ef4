from __future__ import annotations

import re
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


def test_another_torch_than_it_was_built_for(monkeypatch):
    with_build(monkeypatch, "2.13.0+cpu")
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(__version__="2.11.0+cu128"))
    with pytest.raises(
        ImportError, match=r"built for torch 2\.13\.0, and torch 2\.11\.0 .*'torch==2\.13\.0'"
    ):
        _extras.require_nn()


@needs_nn
def test_another_flavour_of_the_same_torch(monkeypatch):
    torch = pytest.importorskip("torch")
    with_build(monkeypatch, torch.__version__.partition("+")[0] + "+cu130")
    _extras.require_nn()


@needs_nn
def test_the_binary_is_for_the_torch_that_it_says():
    pytest.importorskip("torch")
    _extras.require_nn()
    from sentencode import _nn

    assert _nn.torch_version == _core.build_info()["torch"].partition("+")[0]


def test_a_module_that_lacks_something_of_its_own(monkeypatch, tmp_path):
    (tmp_path / "half_there.py").write_text("import something_else_entirely", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="something_else_entirely"):
        _extras.require("half_there", "plot")


def test_the_pin_of_torch_stands_in_one_place():
    root = Path(__file__).parents[2]
    version = re.search(r'nn = \["torch==([^"]+)"\]', (root / "pyproject.toml").read_text(encoding="utf-8"))[
        1
    ]
    places = [
        path.relative_to(root).as_posix()
        for pattern in ("*.toml", "*.txt", "Makefile", "cmake/*", "tools/*.py", ".ci/*", "python/**/*.py")
        for path in root.glob(pattern)
        if path.is_file() and version in path.read_text(encoding="utf-8")
    ]
    assert places == ["pyproject.toml"]
