"""Checks that the tests of several encoders share."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from sentencode.training import Callback


class Interrupt(Callback):
    """Raises KeyboardInterrupt after a step."""

    def __init__(self, step=2):
        self.step = step

    def on_step(self, trainer, step):
        if step.step == self.step:
            raise KeyboardInterrupt


def interrupt_and_resume(encoder, *examples, folder, step=2, **options):
    """Fit an encoder, interrupt it after a step, and resume it from its checkpoint."""
    with pytest.raises(KeyboardInterrupt):
        encoder.fit(*examples, checkpoints=folder, callbacks=[Interrupt(step)], **options)
    encoder.fit(*examples, checkpoints=folder, **options)
    assert encoder.history_.steps[0].step == step + 1
    return encoder


def assert_equal_weights(network, expected):
    weights = network.state_dict()
    for name, tensor in expected.state_dict().items():
        assert torch.equal(tensor, weights[name]), name


START = """
import sys
import numpy as np
import torch.distributed as dist
folder, rank, world = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if world > 1:
    store = f"file://{folder}/store"
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=world)
"""
STOP = """
if world > 1:
    dist.destroy_process_group()
"""


def run_in_processes(code, folder, world):
    """Run code in processes of one process group; it can use `folder`, `rank` and `world`."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", START + code + STOP, str(folder), str(rank), str(world)],
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        )
        for rank in range(world)
    ]
    for process in processes:
        errors = process.communicate(timeout=240)[1]
        assert process.returncode == 0, errors
