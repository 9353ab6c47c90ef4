"""What is needed only by some, and how to get it."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

__all__ = ["require", "require_nn"]


def require(module: str, extra: str) -> ModuleType:
    """Imports an optional dependency, or says which extra installs it.

    Args:
        module: As in an import statement, "matplotlib.pyplot".
        extra: The extra of Sentencode that brings it, "plot".

    Returns:
        The module.

    Raises:
        ImportError: If it is not installed.

    Example:
        >>> require("json", "plot").dumps([1])
        '[1]'
        >>> require("no_such_module", "plot")
        Traceback (most recent call last):
        ImportError: this needs no_such_module: pip install 'sentencode[plot]'
    """
    try:
        with _threads_that_sleep():
            return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        root = module.partition(".")[0]
        if missing.name is None or missing.name.partition(".")[0] != root:
            raise  # the module is there, and lacks something of its own
        raise ImportError(f"this needs {root}: pip install 'sentencode[{extra}]'", name=root) from None


# What tells OpenMP how its threads wait. The second is that of GNU's alone, which torch's wheels bring: they
# look so often before they sleep. That takes as long as to be woken, and saves it where the work is short.
_WAITING = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "1000"}


@contextmanager
def _threads_that_sleep() -> Iterator[None]:
    """If torch is loaded here, OpenMP's threads soon sleep where they wait for each other.

    Else they spin, for milliseconds, and hinder whoever they wait for where other processes want the same
    processors: four times the processor time. OpenMP looks at the environment once, when torch loads it. The
    environment is as before afterwards, and what users have set there themselves holds. This and `cache_dir`
    are the only places where the package looks at it.
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
    """Loads torch and `_nn`, in this order, or says what is wrong and what to install.

    The versions are compared before `_nn` is loaded: built for another torch, it would fail by a missing
    symbol at best.
    """
    from . import _core
    from .threads import tell_neural_half

    built = _core.build_info()["torch"].partition("+")[0]
    if not built:
        raise ImportError(
            "this Sentencode was built without its neural half (SENTENCODE_NN=OFF): "
            "install it anew with SENTENCODE_NN=ON"
        )
    found = require("torch", "nn").__version__.partition("+")[0]
    if found != built:
        raise ImportError(
            f"Sentencode's neural half was built for torch {built}, and torch {found} is installed: "
            f"pip install 'torch=={built}', or build Sentencode anew against the torch that is there "
            "(SENTENCODE_TORCH=found pip install --no-build-isolation ...)"
        )
    if "sentencode._nn" not in sys.modules:
        importlib.import_module("sentencode._nn")
        tell_neural_half()
