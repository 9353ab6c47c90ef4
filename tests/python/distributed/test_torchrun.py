"""`sentencode.distributed.torchrun`: restarts share no addresses, on one machine and on several."""

from __future__ import annotations

import csv
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = r"""
import os, signal, sys
import torch, torch.distributed as dist
from sentencode.distributed import communicator
dist.init_process_group("gloo")
addresses = dist.distributed_c10d._get_default_store()
assert not addresses.check(["begun"])  # each start has a new table of addresses
dist.barrier()
addresses.set("begun", "yes")
mine = torch.tensor([float(dist.get_rank())])
communicator().all_reduce_mean([mine])
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and dist.get_rank() == dist.get_world_size() - 1:
    if sys.argv[1] == "die":
        os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1] == "die" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    communicator().all_reduce_mean([mine])  # waits for the one that has died
sys.stdout.write(f"mean {float(mine)} of {dist.get_world_size()}\n")  # in one piece: both write into one pipe
dist.destroy_process_group()
"""


def launched(options, program, *arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "sentencode.distributed.torchrun", *options, program, *arguments],
        env={**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def test_processes_that_are_started_anew_find_each_other(program):
    process = launched(["--standalone", "--nproc-per-node=2", "--max-restarts=1"], program, "die")
    output, error = process.communicate(timeout=200)
    assert process.returncode == 0, error
    assert output.count("mean 0.5 of 2") == 2


def steps_of(folder):
    """The loss of each step that was logged."""
    with open(folder / "log.csv", newline="", encoding="utf-8") as file:
        return [(int(row["step"]), float(row["loss"])) for row in csv.DictReader(file)]


@pytest.mark.slow
def test_a_machine_is_lost_and_returns(tmp_path):
    """Two of torchrun's agents are two machines; one is killed with what it runs, and started again."""
    psutil = pytest.importorskip("psutil")
    script = Path(__file__).parents[3] / "examples" / "train_distributed.py"
    if not script.exists():
        pytest.skip("the examples are not here")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    def agent(folder, host, *options):
        options = [
            *("--nnodes=2", "--nproc-per-node=1", "--max-restarts=5", "--local-addr=127.0.0.1"),
            *("--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port}", "--rdzv-id=run"),
            f"--rdzv-conf=timeout=200,is_host={int(host)}",
        ]
        return launched(options, script, folder, "--steps", "1000")

    first, second = agent(tmp_path / "two", True), agent(tmp_path / "two", False)
    log = tmp_path / "two" / "log.csv"
    deadline = time.monotonic() + 120
    while not (log.exists() and len(log.read_text().splitlines()) > 100):
        assert time.monotonic() < deadline
        assert first.poll() is None, first.communicate()[1]
        time.sleep(0.1)
    lost = psutil.Process(second.pid)
    for process in [lost, *lost.children(recursive=True)]:
        process.kill()
    second.communicate()
    assert first.poll() is None  # it waits
    again = agent(tmp_path / "two", False)
    outputs = [process.communicate(timeout=200) for process in (first, again)]
    assert [first.returncode, again.returncode] == [0, 0], outputs
    assert "2 processes, steps" in outputs[0][0] + outputs[1][0]
    steps = steps_of(tmp_path / "two")
    assert [step for step, _ in steps] == list(range(1, 1001))

    alone = launched(["--standalone", "--nproc-per-node=1"], script, tmp_path / "one", "--steps", "1000")
    alone.communicate(timeout=200)
    assert alone.returncode == 0
    assert steps[-1][1] == pytest.approx(steps_of(tmp_path / "one")[-1][1], rel=1e-3)
