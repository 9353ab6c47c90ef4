"""Solves many logistic regressions on the same features together. Needs torch, of the extra [nn]."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._extras import require, require_nn

__all__ = ["LogisticSolutions", "convergence", "fit_logistic"]


@dataclass(frozen=True, eq=False)
class LogisticSolutions:
    """Solutions of `fit_logistic`, one per problem.

    Attributes:
        weights: Weights `(problems, outputs, d)`; two classes have one output, for the second of them.
        intercepts: Intercepts `(problems, outputs)`; minus infinity for a class that the fold lacks.
        predictions: Predicted class of every row `(problems, n)`, training rows or not.
        objectives: Final objectives.
        gradients: Largest element of the final gradient, divided by C and the number of rows, computed in
            float64.
        gaps: Estimated relative distance of the objective to its minimum (Newton decrement).
        iterations: Number of iterations after those that all folds share.
        short: Whether the solver stopped before gradient and gap met their tolerances.
    """

    weights: NDArray[np.float32]
    intercepts: NDArray[np.float64]
    predictions: NDArray[np.int16]
    objectives: NDArray[np.float64]
    gradients: NDArray[np.float32]
    gaps: NDArray[np.float32]
    iterations: NDArray[np.int64]
    short: NDArray[np.bool_]


def fit_logistic(
    x: ArrayLike,
    targets: ArrayLike,
    folds: ArrayLike,
    problems: Sequence[tuple[int, float]],
    *,
    classes: int | None = None,
    indices: ArrayLike | None = None,
    pairs: tuple[ArrayLike, ArrayLike] | None = None,
    parts: Sequence[str] = (),
    tolerance: float = 1e-5,
    gap: float = 1e-7,
    max_iterations: int = 500,
    max_bytes: int | None = None,
    device: str = "cpu",
    on_progress: Callable[[int, int], None] | None = None,
    places: ArrayLike | None = None,
) -> LogisticSolutions:
    """Fit a logistic regression for each of several folds and penalties.

    Each minimises the objective of scikit-learn's `LogisticRegression(C=C)`, `C` times the sum of losses plus
    half the squared weights. Features are computed in float32. As in scikit-learn, a class without a training
    row in a fold is left out.

    Args:
        x: Feature rows `(n, d)`; or embeddings, which `indices` or `pairs` index.
        targets: Class of each row, from 0; or class probabilities `(n, classes)`.
        folds: Training rows of each fold, booleans `(folds, n)`.
        problems: Fold and C of each problem.
        classes: Number of classes. None: the number in `targets`.
        indices: Index of each row's embedding. None: row i is embedding i, or `pairs`.
        pairs: Indices of the embeddings u and v of each row. If all features would take more than
            `max_bytes`, they are computed block by block in each pass.
        parts: Features of a pair, concatenated: `"u"`, `"v"`, `"|u-v|"`, `"u*v"`.
        tolerance: Tolerance of the largest element of the gradient, divided by C and the number of rows, as
            scikit-learn's `tol`. The solver stops where float32 permits no progress, at about 1e-7; see the
            solutions' `gradients` and `short`.
        gap: Tolerance of the estimated distance of the objective to its minimum, relative to it; or relative
            to 1e-4 of the objective at zero weights, if that is more, as with separable classes.
        max_iterations: Maximum number of iterations; a problem that needs more is `short`.
        max_bytes: Memory for features and copies of some of them. None: 1 GiB for pairs, whose features are
            several times as large as their embeddings; 4 GiB otherwise.
        device: Device of torch.
        on_progress: Called with the number of solved problems, and of all.
        places: The old name of `indices`.

    Returns:
        The solutions, in the order of the problems.

    Raises:
        ValueError: Shapes do not fit, a feature is not finite, or a fold has training rows of one class only.

    Example:
        >>> import numpy as np
        >>> x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
        >>> solutions = fit_logistic(x, [0, 0, 1, 1], np.ones((1, 4), bool), [(0, 1.0), (0, 10.0)])
        >>> solutions.predictions.tolist()
        [[0, 0, 1, 1], [0, 0, 1, 1]]
        >>> solutions.weights.round(3).ravel()
        array([1.007, 2.277], dtype=float32)
    """
    torch = require("torch", "eval")
    require_nn()
    from ... import _nn

    if places is not None:
        warnings.warn("fit_logistic's places is now indices", DeprecationWarning, stacklevel=2)
        indices = places
    progress: Any = on_progress  # the stub's callback type is too strict

    def tensor(values: Any, dtype: Any) -> Any:
        # A value too large for float32 becomes infinity, which the solver refuses.
        with warnings.catch_warnings(), np.errstate(over="ignore"):
            warnings.filterwarnings("ignore", "The given NumPy array is not writable")
            return torch.as_tensor(np.ascontiguousarray(values, dtype=dtype), device=device)

    target_array = np.asarray(targets)
    soft = target_array.ndim == 2
    if classes is None:
        classes = target_array.shape[1] if soft else int(target_array.max(initial=1)) + 1
    rows = tensor(x, None if np.asarray(x).dtype in (np.float16, np.float32) else np.float32)
    if pairs is None:
        features = _nn.Features(rows)
        if indices is not None:
            features = features.part(tensor(indices, np.int64))
    else:
        first, second = (tensor(side, np.int64) for side in pairs)
        features = _nn.Features(rows, first, second, list(parts))
    arrays = _nn.fit_logistic(
        features,
        tensor(target_array, np.float32 if soft else np.int64),
        classes,
        tensor(folds, np.bool_),
        tensor([fold for fold, _ in problems], np.int64),
        tensor([c for _, c in problems], np.float64),
        tolerance,
        gap,
        max_iterations,
        ((4 if pairs is None else 1) << 30) if max_bytes is None else max_bytes,
        progress,
    )
    solutions = {name: values.cpu().numpy() for name, values in arrays.items()}
    gradients, gaps = solutions["gradients"], solutions["gaps"]
    # With a gradient of nearly 0, float32 resolves no smaller gap.
    short = ~(gradients <= tolerance) | (~(gaps <= gap) & (gradients > 1e-5 * tolerance))
    return LogisticSolutions(**solutions, short=short)


class _Converged(Protocol):
    @property
    def gaps(self) -> NDArray[np.floating[Any]] | None: ...
    @property
    def iterations(self) -> NDArray[np.int64] | None: ...
    @property
    def short(self) -> NDArray[np.bool_] | None: ...


def convergence(*solutions: _Converged) -> dict[str, float]:
    """Largest gap, most iterations, number of fits, and number of those that stopped short, for reports.

    Args:
        *solutions: `LogisticSolutions` or `Predictions`.

    Returns:
        The figures by name; empty if the solver does not report them.
    """
    gaps, iterations, short = (
        [values for solution in solutions if (values := getattr(solution, name)) is not None]
        for name in ("gaps", "iterations", "short")
    )
    if not short:
        return {}
    return {
        "gap": float(np.concatenate(gaps).max()),
        "iterations": int(np.concatenate(iterations).max()),
        "fits": sum(map(len, short)),
        "short": int(np.concatenate(short).sum()),
    }
