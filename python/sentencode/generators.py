"""Torch's random number generators, and how to leave them unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["isolated_generators"]


@contextmanager
def isolated_generators(seed: int | None = None) -> Iterator[None]:
    """Restore torch's generators when the block ends: the CPU's, and those of all CUDA devices.

    CUDA is not initialised for it, because a process that has done so can no longer be forked. Nor may the
    block call `torch.manual_seed`, which seeds the GPUs of a process that has not used them yet at their
    first use, after the block.

    Args:
        seed: What the generators are seeded with at the beginning; by default they continue.

    Example:
        >>> import torch
        >>> state = torch.get_rng_state()
        >>> with isolated_generators(seed=1):
        ...     first = torch.rand(3)
        >>> with isolated_generators(seed=1):
        ...     print(torch.equal(torch.rand(3), first))
        True
        >>> torch.equal(torch.get_rng_state(), state)
        True
    """
    import torch

    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else range(0)  # type: ignore[no-untyped-call]
    with torch.random.fork_rng(devices=devices):
        if seed is not None:
            torch.default_generator.manual_seed(seed)
            for device in devices:
                torch.cuda.default_generators[device].manual_seed(seed)
        yield
