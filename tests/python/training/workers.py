"""Trainings in several processes: a program that tests start, and its functions for a single process."""

from __future__ import annotations

import datetime
import json
import os
import resource
import sys

import pytest
import torch
import torch.distributed as dist
from torch.utils.checkpoint import checkpoint

try:
    from . import tiny
except ImportError:  # a program
    import tiny


def reader(path, folder, size, accumulate, by_function):
    """Trains with all options that processes share; returns weights, history and scores by name."""
    model = tiny.Reader(dropout=0.0).double()
    model.unused = torch.nn.Parameter(torch.ones(3).double())  # without a gradient there is no weight decay
    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    if rank != 0:
        with torch.no_grad():
            model.scores.bias.add_(1)  # replaced by the first process's weights
    calls = []

    def score(model):
        calls.append(1)
        return model.scores.weight.detach().sum().item()

    options = {"optimizer": "adamw", "weight_decay": 0.1, "clip_norm": 0.5, "decay": 0.5, "reload_best": True}
    options |= {"metric": score if by_function else "loss", "checkpoints": folder}
    trainer = tiny.trainer(path, model, max_steps=30, batch_size=size, accumulate=accumulate, **options)
    history = trainer.run()
    if world > 1:
        with pytest.raises(
            ValueError, match="sparse_rows: processes exchange dense gradients, and there are"
        ):
            tiny.trainer(path, model, sparse_rows=True)
    assert bool(calls) == (by_function and rank == 0), calls
    trainer.load_best()
    rows = [[s.loss, s.accuracy, s.norm, s.examples, s.tokens] for s in history.steps]
    scores = [v.score for v in history.validations]
    tensors = {name: tensor.detach() for name, tensor in model.named_parameters()}
    return {**tensors, "history": torch.tensor(rows).double(), "scores": torch.tensor(scores).double()}


class InParts(torch.nn.Module):
    """Has gradients that are accumulated in parts, and one that only some processes have."""

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(3, 3).double()
        self.outer = torch.nn.Linear(3, 3).double()
        self.sometimes = torch.nn.Parameter(torch.ones(3).double())

    def loss(self, batch):
        x = (batch.ids["tokens"][:, :1].double() / 9 + torch.arange(3)).requires_grad_()
        for _ in range(3):  # each has its own backward pass
            x = checkpoint(self.inner, x, use_reentrant=True).tanh()
        first = batch.ids["tokens"][:, :1] == 0
        if first.any():  # maybe in one process only
            x = torch.where(first, x * self.sometimes, x)
        return self.outer(x).square().sum(), len(batch)


def in_parts(path):
    torch.manual_seed(0)
    model = InParts()
    history = tiny.trainer(path, model, valid=False, max_steps=12, accumulate=2, clip_norm=0.5).run()
    tensors = {name: tensor.detach() for name, tensor in model.named_parameters()}
    return {**tensors, "norms": torch.tensor([step.norm for step in history.steps])}


def refusals(path, folder):
    """The errors of processes that differ, and of those that wait for a failing first process."""
    rank = int(os.environ["RANK"])
    words = tiny.Reader()
    words.table = torch.nn.Embedding(7 + rank, 8)  # of another vocabulary
    different = (
        (path, tiny.Reader(), {"learning_rate": 0.1 + rank}),
        (path, tiny.Reader(), {"higher_is_better": rank == 0, "metric": "accuracy"}),
        (path, words, {}),
        (f"{path}-of-{rank}", tiny.Reader(), {"count": 61 - rank}),
    )
    messages = []
    for file, model, options in different:
        with pytest.raises(ValueError) as refused:
            tiny.trainer(file, model, max_steps=3, **options)
        messages.append(str(refused.value))
    metric = (lambda model: 1.0) if rank == 1 else "loss"
    trainer = tiny.trainer(path, max_steps=3, metric=metric, higher_is_better=False)
    with pytest.raises(ValueError, match="metric is a function in some processes only"):
        trainer.run()

    def missing(model):
        raise OSError("the file of the metric is missing")

    with pytest.raises(OSError, match="metric") as failed:
        tiny.trainer(path, tiny.Reader(), max_steps=3, validate_every=1, metric=missing).run()

    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(step):
        if rank == 0:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, unlimited[1]))

    options = {"max_steps": 3, "save_every": 2, "checkpoints": folder, "callbacks": [tiny.Do(limit)]}
    try:
        with pytest.raises(OSError, match=r"folder|too large") as full:
            tiny.trainer(path, tiny.Reader(), **options).run()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    return [*messages, str(failed.value), str(full.value)]


def main():
    """Runs jobs, a JSON list of [name of a function, its arguments, file for the result without rank]."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=30))
    try:
        for function, arguments, out in json.loads(sys.argv[1]):
            torch.save(globals()[function](**arguments), f"{out}{dist.get_rank()}")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
