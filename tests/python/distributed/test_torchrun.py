"""`sentencode.distributed.torchrun`: restarts share no addresses."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = r"""
import os, signal, sys
import torch, torch.distributed as dist
from sentencode.distributed import communicator
assert os.environ["TORCHELASTIC_USE_AGENT_STORE"] == "False"  # the table of addresses is this start's own
dist.init_process_group("gloo")
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


def launched(program, *arguments):
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    *options, what = arguments
    return subprocess.Popen(
        [sys.executable, "-m", "sentencode.distributed.torchrun", *options, program, what],
        env=environment,
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
    process = launched(program, "--standalone", "--nproc-per-node=2", "--max-restarts=1", "die")
    output, error = process.communicate(timeout=200)
    assert process.returncode == 0, error
    assert output.count("mean 0.5 of 2") == 2
