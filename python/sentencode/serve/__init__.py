"""An HTTP server of embeddings with the protocol of OpenAI; `sentencode serve` starts it.

Needs uvicorn and orjson: `pip install 'sentencode[serve]'`.
"""

from __future__ import annotations

from .app import App
from .server import run

__all__ = ["App", "run"]


def __dir__() -> list[str]:
    return sorted(__all__)
