"""Repairs of the original SentEval at run time, so that it need be neither changed nor copied."""

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
    """Makes the original SentEval run on today's Python, NumPy, SciPy, scikit-learn and PyTorch, CUDA or not.

    What is repaired, all of it in memory and at the caller's wish:

    - the classifiers' optimisers, which were looked up with a function that Python 3.11 removed;
    - STS12 to STS16 and image-caption retrieval, whose lists of sentences NumPy 1.24 refuses to turn into
      arrays;
    - every task with PyTorch classifiers, SICK-Relatedness and STSBenchmark, which asked for CUDA: without it
      they run on the CPU;
    - SNLI, whose labels PyTorch refused;
    - the logistic regression of `usepytorch=False`: see `solver`;
    - the results: plain numbers, lists and dictionaries, so that `json.dumps` takes them.

    The harness's protocol stays what it is: splits, seeds, grids, stopping rules.

    Args:
        senteval: The harness, or a fork of it with the same modules. None: `import senteval`.
        solver: Of scikit-learn's logistic regression. "liblinear" is what the harness ran, by default, when
            its figures were published: one class against the rest, intercept penalised. None leaves today's
            default.

    Returns:
        The harness. A second call changes nothing but the solver.

    Raises:
        ImportError: If the harness, or what it needs, is not installed.
        ValueError: If `solver` is something else.

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
            warnings.simplefilter("ignore")  # its string literals, as Python 3.12 sees them
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
    _repair_solver(validation, solver)
    if getattr(engine, "_repaired_by_sentencode", False):
        return senteval
    engine._repaired_by_sentencode = True  # type: ignore[attr-defined]

    utils.inspect = _Overlay(inspect, getargspec=inspect.getfullargspec)  # type: ignore[attr-defined]
    for module in (sts, rank):
        module.np = _Overlay(np, array=_array)  # type: ignore[attr-defined]
    _repair_labels(classifier.PyTorchClassifier)
    for module in (relatedness, ranking):
        _repair_cuda(module)
    engine.SE.eval = _repaired_eval(engine.SE.eval)
    return senteval


def _load(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"patch: cannot import {name} ({error}). SentEval is not on the package index: clone "
            "https://github.com/facebookresearch/SentEval and put it on the path; it needs torch, scipy and "
            "scikit-learn (pip install 'sentencode[eval]')."
        ) from error


class _Overlay:
    """A module as it was, but for some names."""

    def __init__(self, module: Any, **names: Any) -> None:
        self.__dict__.update(names, _module=module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def _array(values: Any, *args: Any, **kwargs: Any) -> Any:
    """`numpy.array`, but a list of sentences stays one: an array of lists, never a table of words."""
    if isinstance(values, list) and values and all(isinstance(v, list) for v in values):
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    return np.array(values, *args, **kwargs)


def _repair_labels(classifier: type) -> None:
    original: Any = classifier.prepare_split  # type: ignore[attr-defined]

    @functools.wraps(original)
    def prepare_split(
        self: Any, X: Any, y: Any, validation_data: Any = None, validation_split: Any = None
    ) -> Any:
        if validation_data is not None:
            validation_data = (validation_data[0], np.asarray(validation_data[1]))
        # "Efficient with CUDA" means: the data stay on the CPU until a batch is needed.
        self.cudaEfficient = self.cudaEfficient or not _cuda()
        return original(self, X, np.asarray(y), validation_data, validation_split)

    classifier.prepare_split = prepare_split  # type: ignore[attr-defined]


def _repair_cuda(module: Any) -> None:
    """Modules that ask whether there is CUDA, or build tensors there, are told what they want to hear."""
    torch = module.torch
    if not _cuda():
        cuda = _Overlay(torch.cuda, is_available=lambda: True, LongTensor=torch.LongTensor)
        module.torch = _Overlay(torch, cuda=cuda)


def _cuda() -> bool:
    import torch

    return torch.cuda.is_available()


@contextmanager
def _cuda_or_cpu() -> Iterator[None]:
    """Without CUDA, `.cuda()` of tensors and modules, which would fail, leaves them where they are."""
    import torch

    if _cuda():
        yield
        return
    torch.Tensor.cuda = lambda self, *args, **kwargs: self  # type: ignore[method-assign]
    try:
        yield
    finally:
        del torch.Tensor.cuda  # the inherited method is back


def _repaired_eval(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def evaluate(self: Any, name: Any) -> Any:
        if not isinstance(name, str):  # a list or a tuple of tasks: comes back here for each
            self.results = {task: self.eval(task) for task in name}
        else:
            with _cuda_or_cpu():
                self.results = _plain(original(self, name))
        return self.results

    return evaluate


def _plain(value: Any) -> Any:
    """NumPy's and SciPy's objects as Python's own."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):  # SciPy's results are tuples too
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value


def _repair_solver(validation: Any, solver: str | None) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    def one_against_the_rest(**kwargs: Any) -> Any:
        return OneVsRestClassifier(LogisticRegression(solver=solver, **kwargs))

    validation.LogisticRegression = LogisticRegression if solver is None else one_against_the_rest
