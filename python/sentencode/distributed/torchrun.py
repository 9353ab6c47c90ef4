"""torchrun whose processes find each other when they are started anew.

`python -m sentencode.distributed.torchrun` takes torchrun's arguments. torch 2.13 keeps one table of
addresses for as long as torchrun runs: `DynamicRendezvousHandler` makes its server once, and
`_create_c10d_store` says "We create a new TCPStore for every retry". So processes that are started anew may
read where one that has died was to be found, and wait for it: 2 of 6 restarts over gloo.
`TORCH_DISABLE_SHARE_RDZV_TCP_STORE` gives each start a table of its own. torchrun looks at it, not what it
starts, so that it has to be set here.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

__all__ = ["main"]

_VARIABLE = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs torchrun.

    Args:
        arguments: Those of torchrun. None: those of this process.
    """
    os.environ.setdefault(_VARIABLE, "1")
    from torch.distributed import run

    run.main(None if arguments is None else list(arguments))


if __name__ == "__main__":
    main()
