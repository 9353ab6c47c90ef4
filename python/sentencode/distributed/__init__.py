"""Training in several processes. Needs torch: `pip install 'sentencode[nn]'`."""

from __future__ import annotations

from .._extras import require_nn

require_nn()

from .communicator import Communicator, communicator  # noqa: E402
from .group import init_process_group  # noqa: E402

__all__ = ["Communicator", "communicator", "init_process_group"]


def __dir__() -> list[str]:
    return sorted(__all__)
