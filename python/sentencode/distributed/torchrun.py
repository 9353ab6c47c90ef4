"""torchrun with reliable restarts and without open ports.

`python -m sentencode.distributed.torchrun` takes torchrun's arguments. It differs in two points.

- torch 2.13 uses one store of addresses until torchrun ends: `DynamicRendezvousHandler` makes its server
  once, although `_create_c10d_store` says "We create a new TCPStore for every retry". Restarted processes may
  read the address of one that has died, and wait for it (2 of 6 restarts over gloo). Here each restart has a
  new store.
- torch's stores listen on all addresses. Here, on one machine, they and the connections between processes use
  the loopback address.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs torchrun with its command-line arguments; None: those of this process."""
    from torch.distributed import run as torchrun
    from torch.distributed.elastic.multiprocessing.errors import record

    from .group import LOOPBACK, is_loopback, use_loopback_interface

    run: Any = torchrun
    options = run.parse_args(None if arguments is None else list(arguments))
    endpoint = options.rdzv_endpoint.rpartition(":")[0] or options.rdzv_endpoint
    alone = options.standalone or run.parse_min_max_nnodes(options.nnodes)[1] == 1
    if alone and (options.standalone or not endpoint or is_loopback(endpoint)):
        options.local_addr = options.local_addr or LOOPBACK
        use_loopback_interface()
    _use_new_stores()
    record(run.run)(options)


def _use_new_stores() -> None:
    """Makes torchrun create a store for each restart, on the loopback address if possible."""
    from torch.distributed.elastic.rendezvous import (
        c10d_rendezvous_backend,
        dynamic_rendezvous,
        static_tcp_rendezvous,
    )

    from .group import loopback_store

    # Otherwise the first of the processes makes the store, with torch's own code.
    os.environ.pop("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", None)
    handler: Any = dynamic_rendezvous.DynamicRendezvousHandler
    join = handler.next_rendezvous

    def next_rendezvous(self: Any) -> Any:
        self._shared_tcp_store_server = self._bootstrap_store_info = None
        return join(self)

    def server(_self: Any, host: str, port: int) -> Any:
        return loopback_store(host, port, is_master=True, multi_tenant=True)

    handler.next_rendezvous, handler._create_tcp_store_server = next_rendezvous, server
    for module in (c10d_rendezvous_backend, static_tcp_rendezvous):
        module.TCPStore = loopback_store  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
