"""Models in Python, as the trainer in C++ calls them: their batches and losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._extras import require_nn

require_nn()

import torch  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from .. import _nn  # noqa: E402
from ..checks import checked_float, checked_str  # noqa: E402
from .history import COLUMNS  # noqa: E402

__all__ = ["Loss", "TensorBatch", "core_model"]


@dataclass(frozen=True)
class TensorBatch:
    """A batch on the device of a model in Python.

    Attributes:
        ids: For each field, ids [B, T] int64, padded to the longest example.
        lengths: For each field, the lengths without padding [B] int64.
        mask: For each field, [B, T] bool: false for padding.
        labels: Labels [B], or None.
    """

    ids: dict[str, Tensor]
    lengths: dict[str, Tensor]
    mask: dict[str, Tensor]
    labels: Tensor | None

    def __len__(self) -> int:
        return len(next(iter(self.ids.values())))


@dataclass(frozen=True)
class Loss:
    """The loss of a model for a batch. A tuple (sum, count) or (sum, count, right) will do as well.

    Losses are sums, not means, so that batches of different sizes, accumulated or of several processes, are
    weighted by their content.

    Attributes:
        sum: Scalar with a graph: the loss summed over words or sentences.
        count: Number of words or sentences in the sum.
        right: Number of correct predictions among them, or None.
        figures: Further values to report, by the names in the model's attribute `figures`: each a number, or
            a pair of a sum and a count. Their means are in the progress bar, in `History` and in logs.
    """

    sum: Tensor
    count: float | Tensor
    right: float | Tensor | None = None
    figures: Mapping[str, Any] | None = None


def core_model(model: Any, fields: tuple[str, ...]) -> _nn.Model:
    """The model that the trainer in C++ calls; `fields` are those of its batches."""
    cpp = getattr(model, "_cpp", model)
    # A subclass of one of this package's networks may override the loss in C++.
    if isinstance(cpp, _nn.Model) and (cpp is model or getattr(model.loss, "in_core", False)):
        return cpp
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    if not callable(getattr(model, "loss", None)):
        raise TypeError(f"model: {type(model).__name__} has no method loss(batch)")
    return _nn.PythonModel(ModuleParts(model, fields))


class ModuleParts:
    """A module in Python for C++ to call (`_nn.PythonModel`)."""

    def __init__(self, module: nn.Module, fields: tuple[str, ...]) -> None:
        self._module = module
        self._fields = fields
        self.figures = _checked_names(module)

    def loss(
        self, fields: list[tuple[Tensor, Tensor, Tensor]], labels: Tensor | None
    ) -> tuple[Tensor, float, Tensor | None, Tensor | None]:
        ids, lengths, mask = (
            dict(zip(self._fields, part, strict=True)) for part in zip(*fields, strict=True)
        )
        loss = self._module.loss(TensorBatch(ids, lengths, mask, labels))  # type: ignore[operator]
        what = f"{type(self._module).__name__}.loss(batch)"
        return *_checked_loss(loss, what), _checked_figures(loss, self.figures, what)

    def train(self, mode: bool) -> None:
        self._module.train(mode)

    def parameters(self) -> list[tuple[str, Tensor]]:
        return list(self._module.named_parameters())

    def buffers(self) -> list[tuple[str, Tensor]]:
        return list(self._module.named_buffers())


def _checked_loss(loss: Any, what: str) -> tuple[Tensor, float, Tensor | None]:
    parts: tuple[Any, ...] = (None,)
    if isinstance(loss, tuple):
        parts = loss
    elif not isinstance(loss, Tensor) and hasattr(loss, "sum") and hasattr(loss, "count"):
        parts = (loss.sum, loss.count, getattr(loss, "right", None))
    if len(parts) not in (2, 3) or not isinstance(parts[0], Tensor):
        shown = type(loss).__name__
        if isinstance(loss, tuple):
            shown = f"({', '.join(type(part).__name__ for part in loss)})"
        raise TypeError(f"{what} must return (sum, count) or (sum, count, right), or a Loss; got {shown}")
    total, count, right = (*parts, None)[:3]
    count = checked_float(f"{what}: count", count, 0)
    if total.numel() != 1 or not total.is_floating_point():
        raise ValueError(f"{what}: sum must be one number, got {tuple(total.shape)} {total.dtype}")
    if torch.is_grad_enabled() and not total.requires_grad:
        raise ValueError(f"{what}: sum has no graph: it does not depend on a parameter that is trained")
    if right is not None:
        right = _scalar(right, total.device).detach().reshape(())
    return total.reshape(()), count, right


def _scalar(value: Any, device: torch.device, dtype: torch.dtype | None = None) -> Tensor:
    """Return a number or tensor as a tensor on the device."""
    if isinstance(value, bool | int | float):
        return torch.full((), value, dtype=dtype, device=device)  # a copy of the number would synchronise
    return torch.as_tensor(value, dtype=dtype, device=device)


def _checked_names(module: nn.Module) -> list[str]:
    names = getattr(module, "figures", ())
    what = f"{type(module).__name__}.figures"
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise TypeError(f"{what} must be a tuple of names, got {names!r:.40}")
    for i, name in enumerate(names):
        if not checked_str(f"{what}[{i}]", name).isidentifier() or name in (*COLUMNS, *names[:i]):
            raise ValueError(f"{what}[{i}] must be the name of a new column of logs, got {name!r}")
    return list(names)


def _checked_figures(loss: Any, names: list[str], what: str) -> Tensor | None:
    """Return the sum and count of each figure [names, 2]."""
    figures = getattr(loss, "figures", None) or {}
    if set(figures) != set(names):
        raise ValueError(
            f"{what}: figures must be {names}, as the model's `figures` says, got {sorted(figures)}"
        )
    if not names:
        return None
    pairs = [pair if isinstance(pair := figures[name], tuple) else (pair, 1.0) for name in names]
    scalars = [_scalar(part, loss.sum.device, torch.float64).detach() for pair in pairs for part in pair]
    return torch.stack(scalars).view(-1, 2)
