"""Layers and their C++ halves as real `torch.nn.Module`s. Needs torch: `pip install 'sentencode[nn]'`."""

from __future__ import annotations

from .._extras import require_nn

require_nn()

from .module import CppModule  # noqa: E402
from .pooling import MaskedPooling, ProjectedPooling  # noqa: E402

__all__ = ["CppModule", "MaskedPooling", "ProjectedPooling"]
