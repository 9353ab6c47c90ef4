"""Imports programs of examples/."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def example(name):
    """The module of a program."""
    path = Path(__file__).parents[3] / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
