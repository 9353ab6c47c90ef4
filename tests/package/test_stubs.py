"""Type checkers see what the compiled modules define."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

from sentencode import _core

# A wheel of the neural half has no stub: nothing in it is public.
MODULES = ["_core", "_nn"] if _core.build_info()["torch"] else ["_core"]


@pytest.mark.parametrize("name", MODULES)
def test_stub_names_every_class_and_function(name):
    if name == "_nn":
        importlib.import_module("sentencode.nn")  # loads torch first
    module = importlib.import_module(f"sentencode.{name}")
    public = {
        key for key, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__
    }
    stub = Path(module.__file__).with_name(f"{name}.pyi").read_text(encoding="utf-8")
    definitions = {getattr(statement, "name", "") for statement in ast.parse(stub).body}
    assert public
    assert public <= definitions
