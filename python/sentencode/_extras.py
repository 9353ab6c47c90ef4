"""Optional dependencies."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

__all__ = ["nn_folders", "require", "require_nn"]


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

    `_nn` is compiled for one minor version of torch, whose C++ interface changes with the next. It is part of
    this package if that was compiled with SENTENCODE_NN=ON; the wheel of `sentencode-nn` has one for each
    of several versions. Versions are compared first: with another torch, `_nn` fails with a missing symbol.
    """
    if "sentencode._nn" in sys.modules:
        return
    from .threads import apply_to_torch

    folders = nn_folders()
    if not folders:
        raise ImportError("this needs Sentencode's neural half: pip install 'sentencode[nn]'")
    installed = require("torch", "nn").__version__.partition("+")[0]
    folder = folders.get(_minor(installed))
    if folder is None:
        versions = ", ".join(folders)
        raise ImportError(
            f"Sentencode's neural half is compiled for torch {versions}, but torch {installed} is installed: "
            f"pip install 'torch=={list(folders)[-1]}.*', or compile it for the installed torch: "
            "SENTENCODE_TORCH=found pip install --no-build-isolation --no-binary sentencode-nn sentencode-nn"
        )
    package = sys.modules[__package__]
    if str(folder) not in package.__path__:
        package.__path__.append(str(folder))
    importlib.import_module("sentencode._nn")
    apply_to_torch()


def nn_folders() -> dict[str, Path]:
    """The folders that contain an `_nn`, by the minor version of torch, such as "2.13"; oldest first."""
    from . import _core

    build = _core.build_info()
    if build["torch"]:
        return {_minor(build["torch"]): Path(_core.__file__).parent}
    spec = importlib.util.find_spec("sentencode_nn")
    if spec is None or spec.origin is None:
        return {}
    version = importlib.metadata.version("sentencode-nn")
    if version != build["version"]:
        raise ImportError(
            f"sentencode is {build['version']}, but sentencode-nn is {version}: "
            f"pip install 'sentencode-nn=={build['version']}'"
        )
    folders = {f.name.removeprefix("torch_"): f for f in Path(spec.origin).parent.glob("torch_*")}
    return dict(sorted(folders.items(), key=lambda item: [int(part) for part in item[0].split(".")]))


def _minor(version: str) -> str:
    """Major and minor version: "2.13" of "2.13.0+cpu"."""
    return ".".join(version.split(".")[:2])
