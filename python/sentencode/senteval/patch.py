"""Patches the original SentEval at run time."""

from __future__ import annotations

import functools
import importlib
import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Literal

import numpy as np

__all__ = ["patch"]


def patch(
    senteval: ModuleType | None = None, *, solver: Literal["liblinear"] | None = "liblinear"
) -> ModuleType:
    """Make the original SentEval run on today's Python, NumPy, SciPy, scikit-learn and PyTorch.

    It fixes, in memory only:

    - the classifiers' optimisers, which use a function that Python 3.11 removed;
    - STS12 to STS16 and image-caption retrieval, whose lists of sentences NumPy 1.24 does not convert to
      arrays;
    - all tasks with PyTorch classifiers, SICK-Relatedness and STSBenchmark, which require CUDA: without it
      they run on the CPU;
    - SNLI, whose labels PyTorch does not accept;
    - the logistic regression of `usepytorch=False`: see `solver`;
    - the results, which become numbers, lists and dictionaries that `json.dumps` accepts.

    SentEval's protocol does not change: splits, seeds, grids, stopping rules.

    Args:
        senteval: SentEval, or a fork with the same modules. None: `import senteval`.
        solver: Solver of scikit-learn's logistic regression. "liblinear" was the default when SentEval's
            scores were published: one-vs-rest, intercept penalised. None: today's default.

    Returns:
        SentEval. A second call changes only the solver.

    Raises:
        ImportError: SentEval, or a package that it needs, is not installed.
        ValueError: `solver` is invalid.

    Example:
        Where SentEval was cloned, with its data::

            senteval = se.senteval.patch()
            prepare, batcher = se.senteval.plugin(encoder)
            engine = senteval.engine.SE({"task_path": "data", "kfold": 10}, batcher, prepare)
            engine.eval(["STS14", "MR"])
    """
    if solver not in ("liblinear", None):
        raise ValueError(f"patch: solver must be 'liblinear' or None, got {solver!r}")
    if senteval is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in its string literals
            senteval = _load("senteval")
    name = senteval.__name__
    engine, utils, sts, rank, classifier, relatedness, ranking, validation = (
        _load(f"{name}.{module}")
        for module in (
            "engine",
            "utils",
            "sts",
            "rank",
            "tools.classifier",
            "tools.relatedness",
            "tools.ranking",
            "tools.validation",
        )
    )
    _patch_solver(validation, solver)
    if getattr(engine, "_patched_by_sentencode", False):
        return senteval
    engine._patched_by_sentencode = True  # type: ignore[attr-defined]

    utils.inspect = _Overlay(inspect, getargspec=inspect.getfullargspec)  # type: ignore[attr-defined]
    for module in (sts, rank):
        module.np = _Overlay(np, array=_array)  # type: ignore[attr-defined]
    _patch_labels(classifier.PyTorchClassifier)
    for module in (relatedness, ranking):
        _patch_cuda(module)
    engine.SE.eval = _patched_eval(engine.SE.eval)
    return senteval


def _load(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"patch: cannot import {name} ({error}). SentEval is not on the package index: clone "
            "https://github.com/facebookresearch/SentEval and put it on the path; it needs torch, scipy and "
            "scikit-learn (pip install 'sentencode[nn,eval]')."
        ) from error


class _Overlay:
    """A module with some names replaced."""

    def __init__(self, module: Any, **names: Any) -> None:
        self.__dict__.update(names, _module=module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def _array(values: Any, *args: Any, **kwargs: Any) -> Any:
    """`numpy.array`, but a list of sentences becomes an array of lists, never a matrix of words."""
    if isinstance(values, list) and values and all(isinstance(v, list) for v in values):
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    return np.array(values, *args, **kwargs)


def _patch_labels(classifier: type) -> None:
    original: Any = classifier.prepare_split  # type: ignore[attr-defined]

    @functools.wraps(original)
    def prepare_split(
        self: Any, X: Any, y: Any, validation_data: Any = None, validation_split: Any = None
    ) -> Any:
        if validation_data is not None:
            validation_data = (validation_data[0], np.asarray(validation_data[1]))
        # With `cudaEfficient`, data stay on the CPU until a batch is needed.
        self.cudaEfficient = self.cudaEfficient or not _cuda()
        return original(self, X, np.asarray(y), validation_data, validation_split)

    classifier.prepare_split = prepare_split  # type: ignore[attr-defined]


def _patch_cuda(module: Any) -> None:
    """Without CUDA, make a module believe that it is available, and build its tensors on the CPU."""
    torch = module.torch
    if not _cuda():
        cuda = _Overlay(torch.cuda, is_available=lambda: True, LongTensor=torch.LongTensor)
        module.torch = _Overlay(torch, cuda=cuda)


def _cuda() -> bool:
    import torch

    return torch.cuda.is_available()


@contextmanager
def _cuda_or_cpu() -> Iterator[None]:
    """Without CUDA, make `.cuda()` of tensors and modules a no-op."""
    import torch

    if _cuda():
        yield
        return
    torch.Tensor.cuda = lambda self, *args, **kwargs: self  # type: ignore[method-assign]
    try:
        yield
    finally:
        del torch.Tensor.cuda  # restores the inherited method


def _patched_eval(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def evaluate(self: Any, name: Any) -> Any:
        if not isinstance(name, str):  # a list or a tuple of tasks
            self.results = {task: self.eval(task) for task in name}
        else:
            with _cuda_or_cpu():
                self.results = _plain(original(self, name))
        return self.results

    return evaluate


def _plain(value: Any) -> Any:
    """Objects of NumPy and SciPy as Python objects."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):  # SciPy's results are tuples too
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value


def _patch_solver(validation: Any, solver: str | None) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    def one_against_the_rest(**kwargs: Any) -> Any:
        return OneVsRestClassifier(LogisticRegression(solver=solver, **kwargs))

    validation.LogisticRegression = LogisticRegression if solver is None else one_against_the_rest
