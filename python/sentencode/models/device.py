"""The device that an encoder computes on."""

from __future__ import annotations

import re
import warnings

import torch

from ..checks import checked_str

__all__ = ["replaced_device", "usable_device"]


def usable_device(name: str) -> torch.device:
    """The device of a name; "auto" is a GPU if there is one. ValueError if it cannot be used."""
    if checked_str("device", name) == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        if device.type == "meta":
            raise RuntimeError("nothing is computed there")
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # the latter where torch was built without CUDA
        why = re.split(r"\.\s|\n", str(error))[0]
        raise ValueError(f"device={name!r} cannot be used: {why}") from None
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
