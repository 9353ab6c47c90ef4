"""Selection of a parameter by the correlation of cosines with human scores."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from ..text.inputs import one_column

__all__ = ["Selection", "checked_scores", "split_pairs"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Selection:
    """Result of `LAES.select` and `SIF.select`.

    Attributes:
        parameter: The selected parameter: "hidden" or "components".
        settings: The evaluated values, ascending [k].
        curves: Pearson correlations [k] (NaN if all cosines are equal) of each variant: "SIF"; "forward" or
            "backward"; with both directions also "sum" and "concat".
        variant: The best variant.
        setting: The best value, the smallest of equals.
        score: Its correlation.
        encoder: The encoder with it.
    """

    parameter: str
    settings: npt.NDArray[np.int64]
    curves: Mapping[str, Floats]
    variant: str
    setting: int
    score: float
    encoder: Any

    @classmethod
    def of(
        cls,
        parameter: str,
        settings: npt.NDArray[np.int64],
        curves: Mapping[str, Floats],
        make: Callable[[str, int], Any],
        candidates: Sequence[str] | None = None,
    ) -> Selection:
        """Select from curves, or from the `candidates` among them.

        Raises:
            ValueError: All correlations are NaN.
        """
        best = {name: int(_comparable(curves[name]).argmax()) for name in candidates or curves}
        variant = max(best, key=lambda name: float(_comparable(curves[name])[best[name]]))
        index = best[variant]
        if np.isnan(curves[variant][index]):
            raise ValueError(
                f"select: no number of {parameter} has a correlation, as the cosines of all pairs are equal; "
                "perhaps no word is known"
            )
        setting = int(settings[index])
        score = float(curves[variant][index])
        return cls(parameter, settings, dict(curves), variant, setting, score, make(variant, setting))

    @property
    def hidden(self) -> int:
        """The best number of hidden units of LAES."""
        return self._of("hidden")

    @property
    def components(self) -> int:
        """The best number of components of SIF."""
        return self._of("components")

    def _of(self, parameter: str) -> int:
        if parameter != self.parameter:
            raise AttributeError(f"this selection is of {self.parameter}, not of {parameter}")
        return self.setting

    def encode(self, sentences: Any, *args: Any, **kwargs: Any) -> Any:
        """Encode with the best encoder, see `Encoder.encode`."""
        return self.encoder.encode(sentences, *args, **kwargs)

    def save(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Save the best encoder, see its `save`."""
        self.encoder.save(path, **options)

    def plot(self, ax: Any = None) -> Any:
        """Plot the curves and mark the best value. Returns the axes.

        Args:
            ax: Axes of matplotlib. None: new ones.

        Raises:
            ImportError: matplotlib is not installed.
        """
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError:
                raise ImportError("plots need matplotlib: pip install 'sentencode[plot]'") from None
            _, ax = plt.subplots()
        for name, curve in self.curves.items():
            ax.plot(self.settings, 100 * curve, label=name)
        ax.plot(
            self.setting,
            100 * self.score,
            "o",
            color="black",
            fillstyle="none",
            label=f"best: {self.setting}",
        )
        ax.set_xlabel(self.parameter)
        ax.set_ylabel("Pearson correlation, %")
        ax.legend()
        return ax

    def __repr__(self) -> str:
        return (
            f"Selection({self.parameter}={self.setting}, variant={self.variant!r}, score={self.score:.4f}, "
            f"of {len(self.settings)} values)"
        )

    def _repr_html_(self) -> str:
        """Table of the best value of every curve, for notebooks."""
        rows = "".join(
            f"<tr><td>{escape(name)}{' &larr;' if name == self.variant else ''}</td>"
            f"<td>{int(self.settings[_comparable(curve).argmax()])}</td>"
            f"<td>{100 * _comparable(curve).max():.2f}</td></tr>"
            for name, curve in self.curves.items()
        )
        return (
            f"<table><thead><tr><th></th><th>best {escape(self.parameter)}</th><th>Pearson, %</th></tr>"
            f"</thead><tbody>{rows}</tbody></table>"
        )


def _comparable(curve: Floats) -> Floats:
    """The curve with -inf in place of NaN, which is never the best."""
    return np.where(np.isnan(curve), -np.inf, curve)


def split_pairs(pairs: Any) -> tuple[list[Any], list[Any]]:
    """Return the first and the second sentences of pairs."""
    values = pairs.values.tolist() if hasattr(pairs, "columns") else list(pairs)
    for i, pair in enumerate(values):
        if isinstance(pair, str | bytes) or len(pair) != 2:
            raise ValueError(f"pairs[{i}] must be a pair of sentences, got {pair!r:.60}")
    return [first for first, _ in values], [second for _, second in values]


def checked_scores(scores: Any, count: int) -> Floats:
    """Check for one finite number per pair, not all equal."""
    gold = np.ascontiguousarray(one_column(scores, "scores"), dtype=np.float64)
    if gold.shape != (count,):
        raise ValueError(
            f"scores must contain a number for each of the {count} pairs, got shape {list(gold.shape)}"
        )
    if not np.isfinite(gold).all():
        raise ValueError(f"scores[{int(np.argmin(np.isfinite(gold)))}] is not a finite number")
    if count < 2:
        raise ValueError(f"select: a correlation needs at least two pairs, got {count}")
    if (gold == gold[0]).all():
        raise ValueError(f"select: all scores are {gold[0]:g}, so that there is no correlation")
    return gold
