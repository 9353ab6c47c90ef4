"""Linear encoders: averages of word vectors, common directions, the linear autoencoder for sequences."""

from __future__ import annotations

from .average import Average
from .dict_rep import DictRep
from .laes import LAES
from .selection import Selection
from .sif import SIF
from .trained_average import TrainedAverage
from .usif import USIF

__all__ = ["LAES", "SIF", "USIF", "Average", "DictRep", "Selection", "TrainedAverage"]


def __dir__() -> list[str]:
    return sorted(__all__)
