"""The device that an encoder computes on."""

from __future__ import annotations

import warnings
from typing import Any

import torch

from ..checks import checked_str
from ..encode_arguments import torch_device

__all__ = ["device_of", "replaced_device", "usable_device"]


def device_of(network: Any, head: Any) -> torch.device:
    """The device of a network's weights; of a network without weights, that of its `TrainedHead`, if any."""
    modules = [network] if head is None else [network, head.head]
    return next((weight.device for module in modules for weight in module.parameters()), torch.device("cpu"))


def usable_device(name: str) -> torch.device:
    """The device of a name; "auto" is a GPU if there is one. ValueError if it cannot be used."""
    if checked_str("device", name) == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    device: torch.device = torch_device(name)
    return device


def replaced_device(name: str, encoder: str) -> torch.device:
    """The device of an encoder from another machine; another one, with a warning, if it is not here."""
    try:
        return usable_device(name)
    except ValueError as error:
        try:
            torch.device(name)
        except RuntimeError:
            raise error from None
        device = usable_device("auto")
        warnings.warn(f"{encoder}: {error}; it computes on {device}", UserWarning, stacklevel=3)
        return device
