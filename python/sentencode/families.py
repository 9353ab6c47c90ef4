"""The neural families; a new one is registered here, and in `cpp/include/sentencode/models/networks.h`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .models.autoencoders import CNNLSTMAE, LSTMSDAE, RAE, MeanMaxAAE
    from .models.compound_nmt import CompoundNMT
    from .models.context_encoders import RNNCNN, CompositeCNN, FastSent, HierarchicalCNN, SkipThoughts
    from .models.generalized_pooling import GeneralizedPooling

# Class -> its module in `models`. It is public as `sentencode.<class>`.
FAMILIES = {
    "CNNLSTMAE": "autoencoders",
    "CompositeCNN": "context_encoders",
    "CompoundNMT": "compound_nmt",
    "FastSent": "context_encoders",
    "GeneralizedPooling": "generalized_pooling",
    "HierarchicalCNN": "context_encoders",
    "LSTMSDAE": "autoencoders",
    "MeanMaxAAE": "autoencoders",
    "RAE": "autoencoders",
    "RNNCNN": "context_encoders",
    "SkipThoughts": "context_encoders",
}

__all__ = [
    "CNNLSTMAE",
    "LSTMSDAE",
    "RAE",
    "RNNCNN",
    "CompositeCNN",
    "CompoundNMT",
    "FastSent",
    "GeneralizedPooling",
    "HierarchicalCNN",
    "MeanMaxAAE",
    "SkipThoughts",
]
