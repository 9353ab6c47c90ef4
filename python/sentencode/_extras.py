"""Optional dependencies."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

__all__ = ["require", "require_nn"]


def require(module: str, extra: str) -> ModuleType:
    """Imports an optional dependency.

    Args:
        module: Name of the module, such as "matplotlib.pyplot".
        extra: Extra of Sentencode that installs it, such as "plot".

    Raises:
        ImportError: It is not installed; the message names the extra.

    Example:
        >>> require("json", "plot").dumps([1])
        '[1]'
        >>> require("no_such_module", "plot")
        Traceback (most recent call last):
        ImportError: this needs no_such_module: pip install 'sentencode[plot]'
    """
    try:
        with _passive_openmp():
            return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        root = module.partition(".")[0]
        if missing.name is None or missing.name.partition(".")[0] != root:
            raise  # a dependency of the module is missing
        raise ImportError(f"this needs {root}: pip install 'sentencode[{extra}]'", name=root) from None


# How OpenMP's threads wait. GOMP_SPINCOUNT, of GNU's OpenMP in torch's wheels, is the number of polls before
# a thread sleeps: they take about as long as a wake-up, and save it when the work is short.
_WAITING = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "1000"}


@contextmanager
def _passive_openmp() -> Iterator[None]:
    """Makes OpenMP's waiting threads sleep soon, if torch is imported in this context.

    By default they spin for milliseconds; with other processes on the same processors, that takes four times
    the CPU time. OpenMP reads the environment once, when torch loads it. Variables that the user has set are
    respected, and the environment is restored.
    """
    if "torch" in sys.modules or any(name in os.environ for name in _WAITING):
        yield
        return
    os.environ.update(_WAITING)
    try:
        yield
    finally:
        for name in _WAITING:
            os.environ.pop(name, None)


def require_nn() -> None:
    """Imports torch and `_nn`, in this order; raises ImportError with the remedy.

    Versions are compared first: built for another torch, `_nn` fails with a missing symbol at best.
    """
    from . import _core
    from .threads import apply_to_torch

    built = _core.build_info()["torch"].partition("+")[0]
    if not built:
        raise ImportError(
            "this Sentencode was built without its neural half (SENTENCODE_NN=OFF): "
            "reinstall it with SENTENCODE_NN=ON"
        )
    installed = require("torch", "nn").__version__.partition("+")[0]
    if installed != built:
        raise ImportError(
            f"Sentencode's neural half was built for torch {built}, but torch {installed} is installed: "
            f"pip install 'torch=={built}', or rebuild Sentencode with the installed torch "
            "(SENTENCODE_TORCH=found pip install --no-build-isolation ...)"
        )
    if "sentencode._nn" not in sys.modules:
        importlib.import_module("sentencode._nn")
        apply_to_torch()
