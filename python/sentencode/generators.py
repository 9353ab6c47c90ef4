"""torch's random number generators."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["isolated_generators"]


@contextmanager
def isolated_generators(seed: int | None = None) -> Iterator[None]:
    """Restores torch's generators after the block: those of the CPU and of all CUDA devices.

    It does not initialize CUDA, because the process could not be forked any more. The block must not call
    `torch.manual_seed`: it would seed uninitialized GPUs at their first use, after the block.

    Args:
        seed: Seed of the generators in the block. None: they continue.

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
