"""SIF's directions as in its paper: computed from the sentences that are encoded together."""

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
    """The behaviour of `SIF(statistics="evaluated")`, which has no `fit`.

    Args:
        sif: The encoder with the parameters. It is not changed.
    """

    def __init__(self, sif: LinearEncoder) -> None:
        self._sif = sif

    def together(self, sides: Sequence[Any]) -> tuple[LinearEncoder, tuple[Any, ...]]:
        """Return an encoder with the directions of some sentences, and these, which can be read again."""
        sides = tuple([side] if is_single(side) else repeatable(side, keep_empty=True) for side in sides)
        params = self._sif.get_params(deep=False)
        fitted = self._sif._sibling(type(self._sif), **{**params, "statistics": "fit"})
        fitted._forget()
        for side in sides:
            fitted.partial_fit(side, show_progress_bar=False)
        if fitted._model.statistics()["count"] > 0:
            return fitted, sides
        # Without known words, all embeddings are zero.
        del params["components"], params["statistics"]
        return self._sif._sibling(Average, **params), sides

    def refuse_streams(self, what: str) -> NoReturn:
        """Raise an error, as each chunk of a stream would have its own directions."""
        raise ValueError(
            f"SIF.{what.partition(':')[0]}: statistics='evaluated' needs all sentences together; use encode, "
            "or statistics='fit'"
        )

    def refuse_selection(self) -> NoReturn:
        """Raise an error, as there is no fitted encoder to select from."""
        raise ValueError("SIF.select: with statistics='evaluated' there is nothing to select from; use 'fit'")

    def refuse_learnt(self) -> NoReturn:
        """Raise an error, as nothing was fitted."""
        raise NotFittedError(
            "SIF with statistics='evaluated' has nothing to save, merge, identify or inspect: its directions "
            "are those of the sentences that are encoded together; use 'fit'"
        )
