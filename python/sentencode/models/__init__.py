"""The papers' networks as `torch.nn.Module`s. Needs torch: `pip install 'sentencode[nn]'`."""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Any

from .. import families
from .._extras import require_nn

require_nn()

if TYPE_CHECKING:
    from ..families import *

from .autoencoder import Autoencoder  # noqa: E402
from .cnn_lstm_autoencoder import CNNLSTMAutoencoderNetwork  # noqa: E402
from .cnn_lstm_context import CompositeCNNNetwork, HierarchicalCNNNetwork  # noqa: E402
from .context import ContextNetwork  # noqa: E402
from .denoising import DenoisingNetwork, noisy  # noqa: E402
from .ensemble import EnsembleDecoder, average_checkpoints, average_weights  # noqa: E402
from .fast_sent import FastSentNetwork  # noqa: E402
from .heads import (  # noqa: E402
    Classifier,
    CosineRegression,
    Head,
    HeadModule,
    MultipleNegatives,
    RowRegression,
    Triplet,
)
from .lstm_autoencoder import LSTMAutoencoderNetwork  # noqa: E402
from .mean_max import MeanMaxNetwork  # noqa: E402
from .neural_encoder import NeuralEncoder  # noqa: E402
from .python_network import Inputs, Words  # noqa: E402
from .skip_thoughts import SkipThoughtsNetwork  # noqa: E402
from .task import SentenceTask, Task  # noqa: E402
from .writing_network import Loss, WritingNetwork  # noqa: E402

__all__ = [
    "Autoencoder",
    "CNNLSTMAutoencoderNetwork",
    "Classifier",
    "CompositeCNNNetwork",
    "ContextNetwork",
    "CosineRegression",
    "DenoisingNetwork",
    "EnsembleDecoder",
    "FastSentNetwork",
    "Head",
    "HeadModule",
    "HierarchicalCNNNetwork",
    "Inputs",
    "LSTMAutoencoderNetwork",
    "Loss",
    "MeanMaxNetwork",
    "MultipleNegatives",
    "NeuralEncoder",
    "RowRegression",
    "SentenceTask",
    "SkipThoughtsNetwork",
    "Task",
    "Triplet",
    "Words",
    "WritingNetwork",
    "average_checkpoints",
    "average_weights",
    "noisy",
]
__all__ += families.__all__
for _name, _module in families.FAMILIES.items():
    _encoder = getattr(importlib.import_module(f"{__name__}.{_module}"), _name)
    for _public in (_encoder, _encoder.network_class):
        globals()[_public.__name__] = _public

_FORMERLY = {
    "ConvolutionalNetwork": "CNNLSTMAutoencoderNetwork",
    "RecurrentNetwork": "LSTMAutoencoderNetwork",
}


def __getattr__(name: str) -> Any:
    if name not in _FORMERLY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    now = _FORMERLY[name]
    warnings.warn(f"{__name__}.{name} is now called {now}", DeprecationWarning, stacklevel=2)
    return getattr(importlib.import_module(__name__), now)


def __dir__() -> list[str]:
    return sorted(__all__)
