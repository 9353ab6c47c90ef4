"""A small model, its examples and trainer, and a program that tests start, kill and resume."""

from __future__ import annotations

import argparse
import os
import signal
import sys

import torch
from torch import nn

import sentencode as se
from sentencode.nn import RecurrentStack
from sentencode.training import Batcher, Callback, CsvLog, Examples, Trainer

LETTERS = "abcdef"


def examples(path, count=61):
    """Sentences of one to five letters; the label is the last letter."""
    rows = []
    for i in range(count):
        letters = [LETTERS[(i * 7 + j * (i % 5 + 1)) % len(LETTERS)] for j in range(1 + i % 5)]
        rows.append((" ".join(letters), LETTERS.index(letters[-1])))
    vocabulary = se.Vocabulary({letter: len(LETTERS) - i for i, letter in enumerate(LETTERS)})
    return Examples.build(rows, vocabulary, "whitespace", path=path, fields=("tokens",), labels="int64")


class Reader(nn.Module):
    """A GRU in C++ between layers of torch, and two buffers: one changed in place, one replaced."""

    def __init__(self, dropout=0.3):
        super().__init__()
        generator = torch.Generator().manual_seed(1)
        self.table = nn.Embedding(len(LETTERS) + 1, 8)
        self.stack = RecurrentStack("gru", 8, 8)
        self.dropout = nn.Dropout(dropout)
        self.scores = nn.Linear(8, len(LETTERS))
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))
        self.register_buffer("mean", torch.zeros(()))
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.3)

    def forward(self, ids, lengths):
        x = self.dropout(self.table(ids))  # [B, T, 8]
        states, _ = self.stack(x, lengths)  # [B, T, 8]
        last = states[torch.arange(len(ids)), lengths - 1]
        return self.scores(last)  # [B, 6]

    def loss(self, batch):
        if self.training:
            self.seen += len(batch)
        scores = self(batch.ids["tokens"], batch.lengths["tokens"])
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * scores.detach().mean()
        total = nn.functional.cross_entropy(scores, batch.labels, reduction="sum")
        return total, len(batch), (scores.argmax(1) == batch.labels).sum()


class Do(Callback):
    """Calls function(step) after each step."""

    def __init__(self, function):
        self.function = function

    def on_step(self, trainer, step):
        self.function(step)


def trainer(path, model=None, valid=True, batch_size=6, count=61, **options):
    letters = examples(path, count)
    world = {"rank": int(os.environ.get("RANK", 0)), "world": int(os.environ.get("WORLD_SIZE", 1))}
    batches = Batcher(letters, mode="sorted_buffer", batch_size=batch_size, seed=2, **world)
    dev = Batcher(letters, mode="plain", batch_size=20, shuffle=False, **world) if valid else None
    options = {"learning_rate": 0.02, "validate_every": 5, **options}
    return Trainer(model or Reader(), batches, dev, **options)


def run(folder, steps, save_every=None, accumulate=1, after=None):
    """Train in a folder, with checkpoints and a log."""
    trainer(
        os.path.join(folder, "examples"),
        max_steps=steps,
        save_every=save_every,
        accumulate=accumulate,
        decay=0.5,
        checkpoints=os.path.join(folder, "checkpoints"),
        callbacks=[CsvLog(os.path.join(folder, "log.csv")), *([Do(after)] if after else [])],
    ).run()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--save-every", type=int)
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--kill-at", type=int)
    options = parser.parse_args()
    torch.set_num_threads(1)

    def after(step):
        if step.step == options.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    run(options.folder, options.steps, options.save_every, options.accumulate, after)
    return 0


if __name__ == "__main__":
    sys.exit(main())
