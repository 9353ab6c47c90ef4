"""SIF's directions as its paper has them: of the very sentences that are encoded together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from ..errors import NotFittedError
from ..text.corpus import repeatable
from ..text.inputs import is_single
from .average import Average
from .base import LinearEncoder

__all__ = ["Evaluated"]


class Evaluated:
    """What `SIF(statistics="evaluated")` does in place of learning.

    Args:
        sif: The encoder whose parameters count; nothing in it changes.
    """

    def __init__(self, sif: LinearEncoder) -> None:
        self._sif = sif

    def together(self, sides: Sequence[Any]) -> tuple[LinearEncoder, tuple[Any, ...]]:
        """The encoder with the directions of some sentences, and these, which can be read again."""
        sides = tuple([side] if is_single(side) else repeatable(side, keep_empty=True) for side in sides)
        params = self._sif.get_params(deep=False)
        fitted = self._sif._sibling(type(self._sif), **{**params, "statistics": "fit"})
        fitted._forget()
        for side in sides:
            fitted.partial_fit(side)
        if fitted._model.statistics()["count"] > 0:
            return fitted, sides
        # No word is known: all rows are zero.
        del params["components"], params["statistics"]
        return self._sif._sibling(Average, **params), sides

    def refuse_streams(self) -> NoReturn:
        """Says that chunks of a stream would each have their own directions."""
        raise ValueError("SIF.encode_iter: statistics='evaluated' needs all sentences together; use encode")

    def refuse_selection(self) -> NoReturn:
        """Says that no number of components can be chosen."""
        raise ValueError("SIF.select: with statistics='evaluated' there is nothing to select from; use 'fit'")

    def refuse_learnt(self) -> NoReturn:
        """Says that nothing was learnt."""
        raise NotFittedError(
            "SIF with statistics='evaluated' learns nothing that could be saved, merged, identified or "
            "looked at: its directions are those of the sentences encoded together; use 'fit'"
        )
