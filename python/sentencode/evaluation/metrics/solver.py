"""Many logistic regressions on the same rows, solved together. Needs torch, of the extra [eval]."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._extras import require, require_nn

__all__ = ["LogisticSolutions", "ends", "fit_logistic"]


@dataclass(frozen=True, eq=False)
class LogisticSolutions:
    """What `fit_logistic` found; everything has one entry a problem.

    Attributes:
        weights: `(problems, outputs, d)`; two classes have one output, for the second of them.
        intercepts: `(problems, outputs)`; minus infinity for a class that the fold lacks.
        predictions: `(problems, n)`, the class of every row, also of those that were not trained on.
        objectives: What was minimised, at the end.
        gradients: The largest element of the gradient, divided by C and the number of rows; computed in
            float64, of these weights and the features as they were given.
        gaps: How far, relative to it, the objective can be above its least value, by Newton's estimate.
        iterations: How many there were, after those that all folds share.
        short: Whether the problem was given up before gradient and gap were as small as was asked for.
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
    places: ArrayLike | None = None,
    pairs: tuple[ArrayLike, ArrayLike] | None = None,
    parts: Sequence[str] = (),
    tolerance: float = 1e-5,
    gap: float = 1e-7,
    max_iterations: int = 500,
    max_bytes: int | None = None,
    device: str = "cpu",
    on_progress: Callable[[int, int], None] | None = None,
) -> LogisticSolutions:
    """Fits a logistic regression for each of many choices of training rows and penalty.

    Each minimises what scikit-learn's `LogisticRegression(C=C)` does, `C` times the sum of losses and half
    the squared weights, to its optimum. Features are computed in float32. A class that no training row of a
    fold has is left out, as scikit-learn does.

    Args:
        x: Rows `(n, d)`; or embeddings, of which `places` or `pairs` makes rows.
        targets: The class of each row, from 0; or `(n, classes)`, how much of it belongs to each.
        folds: Booleans `(folds, n)`: the rows that each fold trains on.
        problems: The fold and the C of each problem.
        classes: How many there are; None: as many as are seen.
        places: Numbers of embeddings that are the rows; None: all of them, or `pairs`.
        pairs: Two lists of numbers of embeddings: row i is made of the embeddings u and v of its pair; block
            by block in each pass over them, where all would take more than `max_bytes`.
        parts: What stands side by side in such a row: `"u"`, `"v"`, `"|u-v|"`, `"u*v"`.
        tolerance: For the largest element of the gradient, divided by C and the number of rows: what
            scikit-learn's `tol` is compared with. What float32 cannot reach, about 1e-7, is not waited for:
            the solutions' `gradients` and `short` tell.
        gap: For the distance of the objective to its least value, relative to it, as estimated; or relative
            to a ten-thousandth of what it is at zero weights, where that is more, as with separable classes.
        max_iterations: After so many a problem is given up: it is `short`.
        max_bytes: Features that take more are not held in memory, nor are copies of some of them. None: 1 GiB
            for pairs, whose rows are several times as long as what they are made of; 4 GiB for others.
        device: Where torch computes.
        on_progress: Called with the number of problems that are solved, and of all.

    Returns:
        The solutions, in the order of the problems.

    Raises:
        ValueError: Shapes do not fit, a feature is not finite, or a fold trains on one class alone.

    Example:
        >>> import numpy as np
        >>> x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
        >>> found = fit_logistic(x, [0, 0, 1, 1], np.ones((1, 4), bool), [(0, 1.0), (0, 10.0)])
        >>> found.predictions.tolist()
        [[0, 0, 1, 1], [0, 0, 1, 1]]
        >>> found.weights.round(3).ravel()
        array([1.007, 2.277], dtype=float32)
    """
    torch = require("torch", "eval")
    require_nn()
    from ... import _nn

    progress: Any = on_progress  # the stub of a callback is stricter than what it is called with

    def tensor(values: Any, dtype: Any) -> Any:
        # Too large a number becomes infinity, and is refused then.
        with warnings.catch_warnings(), np.errstate(over="ignore"):
            warnings.filterwarnings("ignore", "The given NumPy array is not writable")  # nobody writes
            return torch.as_tensor(np.ascontiguousarray(values, dtype=dtype), device=device)

    right = np.asarray(targets)
    soft = right.ndim == 2
    if classes is None:
        classes = right.shape[1] if soft else int(right.max(initial=1)) + 1
    rows = tensor(x, None if np.asarray(x).dtype in (np.float16, np.float32) else np.float32)
    if pairs is None:
        features = _nn.Features(rows)
        if places is not None:
            features = features.part(tensor(places, np.int64))
    else:
        first, second = (tensor(side, np.int64) for side in pairs)
        features = _nn.Features(rows, first, second, list(parts))
    found = _nn.fit_logistic(
        features,
        tensor(right, np.float32 if soft else np.int64),
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
    solutions = {name: values.cpu().numpy() for name, values in found.items()}
    gradients, gaps = solutions["gradients"], solutions["gaps"]
    # Where the gradient is as good as nothing, float32 cannot say more of the objective.
    short = ~(gradients <= tolerance) | (~(gaps <= gap) & (gradients > 1e-5 * tolerance))
    return LogisticSolutions(**solutions, short=short)


class _Ended(Protocol):
    @property
    def gaps(self) -> NDArray[np.floating[Any]] | None: ...
    @property
    def iterations(self) -> NDArray[np.int64] | None: ...
    @property
    def short(self) -> NDArray[np.bool_] | None: ...


def ends(*found: _Ended) -> dict[str, float]:
    """How near to their optimum all of them ended, for reports; nothing where a solver does not tell.

    Args:
        found: `LogisticSolutions`, or what else has their gaps, iterations and `short`.

    Returns:
        The largest gap, the most iterations, how many fits there are, and how many ended short.

    Example:
        >>> import numpy as np
        >>> x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
        >>> told = ends(fit_logistic(x, [0, 0, 1, 1], np.ones((1, 4), bool), [(0, 1.0), (0, 10.0)]))
        >>> told["fits"], told["short"]
        (2, 0)
    """
    gaps, iterations, short = (
        [values for one in found if (values := getattr(one, name)) is not None]
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
