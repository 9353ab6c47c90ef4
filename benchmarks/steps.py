"""Timing of training steps: of our Trainer, and of a loop in eager PyTorch."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Timing:
    """Measurements of the steps after the warm-up.

    Attributes:
        seconds: Time of these steps.
        examples: Number of examples.
        tokens: Number of tokens.
        losses: Loss of each step, warm-up included.
    """

    seconds: float = 0.0
    examples: int = 0
    tokens: int = 0
    losses: list[float] = field(default_factory=list)


def our_steps(network: Any, batches: Any, *, warm: int, steps: int, **options: Any) -> Timing:
    """Time training steps of the Trainer.

    Args:
        network: Network to train.
        batches: Batches of the Trainer.
        warm: Number of warm-up steps.
        steps: Number of timed steps.
        **options: Options of the Trainer.
    """
    from sentencode.training import Callback, Trainer

    timing = Timing()

    class Clock(Callback):
        begin = 0.0

        def on_step(self, trainer: Any, step: Any) -> None:
            timing.losses.append(step.loss)
            if step.step == warm:
                self.begin = time.perf_counter()
            elif step.step > warm:
                timing.seconds = time.perf_counter() - self.begin
                timing.examples += step.examples
                timing.tokens += step.tokens

    Trainer(network, batches, max_steps=warm + steps, callbacks=[Clock()], **options).run()
    return timing


def eager_steps(
    parameters: Iterable[Any],
    batches: Iterable[Any],
    loss_of: Callable[[Any], tuple[Any, int]],
    *,
    warm: int,
    steps: int,
    clip_norm: float,
    autocast: Callable[[], Any] = contextlib.nullcontext,
    **adam: Any,
) -> Timing:
    """Time training steps in eager PyTorch, with Adam.

    Args:
        parameters: Parameters to train.
        batches: Batches, repeated in the same order.
        loss_of: Returns the summed loss of a batch, and its number of tokens.
        warm: Number of warm-up steps.
        steps: Number of timed steps.
        clip_norm: Norm to which gradients are clipped.
        autocast: Returns the context manager of the forward pass.
        **adam: Options of Adam.
    """
    import torch

    trained = [p for p in parameters if p.requires_grad]
    optimizer = torch.optim.Adam(trained, **adam)
    timing, begin = Timing(), 0.0
    repeated = itertools.chain.from_iterable(itertools.repeat(batches))
    for number, batch in zip(range(1, warm + steps + 1), repeated, strict=False):
        optimizer.zero_grad()
        with autocast():
            total, tokens = loss_of(batch)
        (total / tokens).backward()
        torch.nn.utils.clip_grad_norm_(trained, clip_norm)
        optimizer.step()
        timing.losses.append(total.item() / tokens)
        if number == warm:
            begin = time.perf_counter()
        elif number > warm:
            timing.examples += len(batch)
            timing.tokens += tokens
    timing.seconds = time.perf_counter() - begin
    return timing
