"""Layers and their C++ halves as real `torch.nn.Module`s. Needs torch: `pip install 'sentencode[nn]'`."""

from __future__ import annotations

from .._extras import require_nn

require_nn()

from .add_norm import AddNorm  # noqa: E402
from .additive_attention import AdditiveAttention  # noqa: E402
from .attention import FeedForward, MultiHeadAttention  # noqa: E402
from .character_cnn import CharacterCnn  # noqa: E402
from .conditional_gru import ConditionalGRU, ConditionalStates  # noqa: E402
from .convolution import Convolution  # noqa: E402
from .decoding import Decoded, Decoder, beam_search, greedy_search, sample, score  # noqa: E402
from .embedding import Positions, WordEmbedding  # noqa: E402
from .generalized_pooling import AttentionPooling, HeadPenalty, head_penalty  # noqa: E402
from .module import CppModule  # noqa: E402
from .pooling import MaskedPooling  # noqa: E402
from .recurrent import RecurrentStack  # noqa: E402
from .softmax_loss import (  # noqa: E402
    Negatives,
    SoftmaxLoss,
    WordSoftmax,
    draw_negatives,
    expected_counts,
    log_uniform_distribution,
    sampled_softmax_loss,
    softmax_loss,
)

__all__ = [
    "AddNorm",
    "AdditiveAttention",
    "AttentionPooling",
    "CharacterCnn",
    "ConditionalGRU",
    "ConditionalStates",
    "Convolution",
    "CppModule",
    "Decoded",
    "Decoder",
    "FeedForward",
    "HeadPenalty",
    "MaskedPooling",
    "MultiHeadAttention",
    "Negatives",
    "Positions",
    "RecurrentStack",
    "SoftmaxLoss",
    "WordEmbedding",
    "WordSoftmax",
    "beam_search",
    "draw_negatives",
    "expected_counts",
    "greedy_search",
    "head_penalty",
    "log_uniform_distribution",
    "sample",
    "sampled_softmax_loss",
    "score",
    "softmax_loss",
]


def __dir__() -> list[str]:
    return sorted(__all__)
