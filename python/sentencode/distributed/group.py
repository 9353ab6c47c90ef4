"""Process groups that only listen on the loopback address when all processes are on one machine."""

from __future__ import annotations

import os
import socket
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import TCPStore
from torch.distributed.constants import default_pg_timeout

__all__ = ["LOOPBACK", "init_process_group", "is_loopback", "loopback_store", "use_loopback_interface"]

LOOPBACK = "127.0.0.1"


def init_process_group(backend: str | None = None) -> None:
    """Joins the processes of torchrun, like `torch.distributed.init_process_group`.

    If all of them are on this machine, the store and the connections between processes use the loopback
    address. torch itself listens on all addresses, without authentication. With NCCL, the GPU of the number
    `LOCAL_RANK` becomes the current one.

    Args:
        backend: "gloo" for CPUs, "cpu:gloo,cuda:nccl" for GPUs: training sends what the host reads by gloo,
            so that no step waits for the GPU. With "nccl" alone each step does. None: torch's default.

    Example:
        ::

            # python -m sentencode.distributed.torchrun --standalone --nproc-per-node 2 program.py
            from sentencode.distributed import communicator, init_process_group

            init_process_group("gloo")
            print(communicator().rank)
    """
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    if "nccl" in (backend or "nccl") and local_rank < torch.cuda.device_count():
        torch.cuda.set_device(local_rank)
    size = int(os.environ["WORLD_SIZE"])
    if size != int(os.environ.get("LOCAL_WORLD_SIZE", "0")):
        dist.init_process_group(backend)
        return
    use_loopback_interface()
    rank, port = int(os.environ["RANK"]), int(os.environ["MASTER_PORT"])
    hosted = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"  # the store is in torchrun
    host = os.environ["MASTER_ADDR"] if hosted else LOOPBACK
    store = loopback_store(host, port, is_master=rank == 0 and not hosted, multi_tenant=True)
    dist.init_process_group(backend, store=store, rank=rank, world_size=size)


def loopback_store(
    host_name: str,
    port: int,
    world_size: int | None = None,
    is_master: bool = False,
    timeout: timedelta = default_pg_timeout,
    **options: Any,
) -> TCPStore:
    """Return a `torch.distributed.TCPStore` that listens on the loopback address if that is its host.

    Arguments are those of `TCPStore`.
    """
    if is_master and is_loopback(host_name):
        # torch listens on all addresses unless it gets a socket.
        with socket.create_server((LOOPBACK, port), backlog=1024) as server:
            host_name, port = server.getsockname()
            options["master_listen_fd"] = server.detach()
    return TCPStore(host_name, port, world_size, is_master, timeout, **options)


def is_loopback(host: str) -> bool:
    """Return whether a name or address is a loopback address."""
    return host in ("localhost", "::1") or host.startswith("127.")


def use_loopback_interface() -> None:
    """Makes gloo and NCCL use the loopback interface, unless the user has chosen one."""
    name = next((name for _, name in socket.if_nameindex() if name in ("lo", "lo0")), None)
    if name is not None:
        for variable in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"):
            os.environ.setdefault(variable, name)
