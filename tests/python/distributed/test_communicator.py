from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap

import pytest

torch = pytest.importorskip("torch")
distributed = pytest.importorskip("sentencode.distributed")


def test_a_single_process():
    alone = distributed.communicator()
    tensor = torch.tensor([1.0, 2.0])
    alone.all_reduce_mean([tensor])
    alone.broadcast([tensor])
    alone.barrier()
    (gathered,) = alone.all_gather(tensor)
    assert (alone.rank, alone.size) == (0, 1)
    assert torch.equal(tensor, torch.tensor([1.0, 2.0]))
    assert torch.equal(gathered, tensor)
    assert gathered.data_ptr() != tensor.data_ptr()


def test_errors_of_a_single_process():
    alone = distributed.communicator()
    with pytest.raises(ValueError, match=r"tensor 1 must be floating point, got .*(long|int)"):
        alone.all_reduce_mean([torch.zeros(1), torch.zeros(1, dtype=torch.int64)])
    with pytest.raises(ValueError, match=r"root must be in 0\.\.0, got 1"):
        alone.broadcast([torch.zeros(1)], root=1)
    with pytest.raises(TypeError):
        distributed.communicator("not a group")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run(body, world=2, timeout=90):
    """Runs `body` in `world` processes over gloo; each has rank, world, torch and talk (its communicator)."""
    script = textwrap.dedent(
        """
        import datetime, os, sys, torch, torch.distributed as dist
        from sentencode.distributed import communicator
        torch.set_num_threads(1)
        dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
        talk = communicator()
        rank, world = talk.rank, talk.size
        try:
            {body}
        finally:
            dist.destroy_process_group()
        """
    ).format(body=textwrap.indent(textwrap.dedent(body), " " * 4).strip())
    environment = {
        **os.environ,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "WORLD_SIZE": str(world),
        "GLOO_SOCKET_IFNAME": "lo",
    }
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script],
            env={**environment, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(world)
    ]
    try:
        shown = [process.communicate(timeout=timeout) for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, (_, errors) in zip(processes, shown, strict=True):
        assert process.returncode == 0, errors
    return [output.split() for output, _ in shown]


@pytest.mark.parametrize("world", [2, 3])
def test_several_processes(world):
    shown = run(
        """
        assert world == dist.get_world_size() and rank == dist.get_rank()
        # Several buckets, two types, a scalar, an empty tensor, one that is not contiguous, a parameter.
        large = torch.full((3_000_000,), float(rank))
        wide = torch.full((2, 5), float(rank), dtype=torch.float64)
        scalar = torch.tensor(float(rank))
        strided = torch.full((4, 6), float(rank)).t()[::2]
        parameter = torch.nn.Parameter(torch.full((7,), float(rank)))
        mixed = [large, wide, scalar, torch.zeros(0), strided, parameter, large.clone(), large.clone()]
        talk.all_reduce_mean(mixed)
        mean = (world - 1) / 2
        assert all(torch.equal(t, torch.full_like(t, mean)) for t in mixed), mixed
        for root in range(world):
            words = torch.full((3,), rank, dtype=torch.int64)
            talk.broadcast([words, scalar], root=root)
            assert words.tolist() == [root] * 3
        talk.barrier()
        rows = talk.all_gather(torch.full((2, 2), float(rank)))
        assert [row.unique().item() for row in rows] == list(range(world))
        dist.destroy_process_group()
        try:
            talk.barrier()
        except ValueError as error:
            assert "its process group was destroyed" in str(error)
            print("done", rank)
        dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())  # `run` destroys it
        """,
        world,
    )
    assert shown == [["done", str(rank)] for rank in range(world)]


def test_a_lost_rank_is_an_error():
    body = """
    if rank == 1:
        os._exit(0)
    try:
        talk.all_reduce_mean([torch.zeros(3)])
    except RuntimeError as error:
        print("failed")
    """
    assert run(body)[0] == ["failed"]
