from __future__ import annotations

import importlib
import inspect
import subprocess
import sys

import pytest

import sentencode as se

ROOMS = ("cli", "linear", "reproduce", "text", "vectors")
HEAVY = ("torch", "sklearn", "scipy", "matplotlib", "pandas", "tqdm")


def test_import_is_light():
    code = f"import sys, sentencode; print([m for m in {HEAVY!r} if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert shown.stdout.strip() == "[]"


@pytest.mark.parametrize("name", se.__all__)
def test_every_public_name_exists(name):
    assert getattr(se, name) is not None
    assert name in dir(se)


def public_modules():
    """Sentencode, its public modules and theirs, and packages that users import by name."""
    modules, left = {}, [se, *(importlib.import_module(f"sentencode.{name}") for name in ROOMS)]
    while left:
        module = left.pop()
        if module.__name__ not in modules:
            modules[module.__name__] = module
            left += [value for name in module.__all__ if inspect.ismodule(value := getattr(module, name))]
    return modules


def test_dir_lists_public_names():
    pytest.importorskip("torch")
    modules = public_modules()
    assert {"sentencode.nn", "sentencode.evaluation.report.plots", "sentencode.scale.ray"} <= set(modules)
    for name, module in modules.items():
        assert sorted(module.__all__) == dir(module), name


def test_errors_name_unknown_names():
    with pytest.raises(AttributeError, match="'sentencode' has no attribute 'nothing'"):
        se.nothing  # noqa: B018
