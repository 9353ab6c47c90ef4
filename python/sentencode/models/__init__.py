"""The papers' networks as `torch.nn.Module`s. Needs torch: `pip install 'sentencode[nn]'`."""

from __future__ import annotations

from .._extras import require_nn

require_nn()

from .autoencoder import Autoencoder, Loss  # noqa: E402
from .autoencoders import CNNLSTMAE, LSTMSDAE, RAE, MeanMaxAAE  # noqa: E402
from .convolutional import ConvolutionalNetwork  # noqa: E402
from .denoising import DenoisingNetwork, noisy  # noqa: E402
from .mean_max import MeanMaxNetwork  # noqa: E402
from .neural import NeuralEncoder  # noqa: E402
from .recurrent_autoencoder import RecurrentNetwork  # noqa: E402

__all__ = [
    "CNNLSTMAE",
    "LSTMSDAE",
    "RAE",
    "Autoencoder",
    "ConvolutionalNetwork",
    "DenoisingNetwork",
    "Loss",
    "MeanMaxAAE",
    "MeanMaxNetwork",
    "NeuralEncoder",
    "RecurrentNetwork",
    "noisy",
]
