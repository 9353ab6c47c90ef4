"""Timed training steps: ours with the Trainer, and a peer's loop in eager PyTorch."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Timing:
    """The steps after the warm-up.

    Attributes:
        seconds: Their time.
        examples: Their examples.
        tokens: Their tokens.
        losses: The loss of every step, warm-up included.
    """

    seconds: float = 0.0
    examples: int = 0
    tokens: int = 0
    losses: list[float] = field(default_factory=list)


def our_steps(network: Any, batches: Any, *, warm: int, steps: int, **options: Any) -> Timing:
    """Times steps of the Trainer.

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
    """Times steps of Adam in eager PyTorch, over the batches again and again.

    Args:
        parameters: Parameters to train.
        batches: Batches.
        loss_of: Returns the summed loss of a batch, and its number of tokens.
        warm: Number of warm-up steps.
        steps: Number of timed steps.
        clip_norm: Largest norm of the gradients.
        autocast: Makes the context of the forward pass.
        **adam: Options of Adam.
    """
    import torch

    trained = [p for p in parameters if p.requires_grad]
    optimizer = torch.optim.Adam(trained, **adam)
    timing, begin = Timing(), 0.0
    forever = itertools.chain.from_iterable(itertools.repeat(batches))
    for number, batch in zip(range(1, warm + steps + 1), forever, strict=False):
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
