"""C++ modules as `torch.nn.Module`s."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from ..generators import isolated_generators

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["CppModule", "float32_default", "in_core"]


_Method = TypeVar("_Method", bound=Callable[..., Any])


def in_core(method: _Method) -> _Method:
    """Mark a method that only calls C++: its callers may call C++ directly."""
    method.in_core = True  # type: ignore[attr-defined]
    return method


@contextmanager
def float32_default() -> Iterator[None]:
    """Make float32 the default dtype, for modules in Python that are created without a dtype.

    The default is global, so that it is only set if it differs.
    """
    previous = torch.get_default_dtype()
    if previous == torch.float32:
        yield
        return
    torch.set_default_dtype(torch.float32)
    try:
        yield
    finally:
        torch.set_default_dtype(previous)


class Node(Protocol):
    """One module of a C++ tree (`_nn.ModuleNode`)."""

    @property
    def name(self) -> str: ...
    def parameters(self) -> list[tuple[str, Tensor]]: ...
    def buffers(self) -> list[tuple[str, Tensor]]: ...
    def children(self) -> list[tuple[str, Any]]: ...
    def train(self, mode: bool) -> None: ...


_TENSORS = ("_parameters", "_buffers")


@dataclass
class _Values:
    """A tensor in a pickle, as bytes: pickles of equal tensors are equal.

    torch's pickles contain addresses of tensors, so that joblib's hashes of them differ.
    """

    content: npt.NDArray[np.uint8]
    dtype: str
    shape: tuple[int, ...]
    device: str
    requires_grad: bool
    parameter: bool

    @classmethod
    def of(cls, tensor: Tensor | None) -> _Values | Tensor | None:
        """Convert a dense tensor; return anything else unchanged."""
        if tensor is None or tensor.layout != torch.strided:
            return tensor
        content = tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy()
        kind = str(tensor.dtype).removeprefix("torch.")
        parameter = isinstance(tensor, nn.Parameter)
        return cls(content, kind, tuple(tensor.shape), str(tensor.device), tensor.requires_grad, parameter)

    def tensor(self) -> Tensor:
        """Convert back to a tensor."""
        content = torch.from_numpy(self.content.copy()).view(getattr(torch, self.dtype))
        tensor = content.reshape(self.shape).to(self.device)
        return nn.Parameter(tensor, self.requires_grad) if self.parameter else tensor


class _Mirror(nn.Module):
    """A module that shares its tensors with a C++ module."""

    _node: Node
    _bound: frozenset[str] = frozenset()  # names of C++'s tensors and children
    _assigning = False

    def _bind(self, node: Node) -> None:
        """Share the tensors of `node` and its descendants.

        Tensors that this module has already, because it was copied, unpickled or moved, are first assigned to
        the C++ tensors.
        """
        self._node = node
        self._bound = frozenset()
        for kind, tensors in (("_parameters", node.parameters()), ("_buffers", node.buffers())):
            entries = getattr(self, kind)
            for name, tensor in tensors:
                old = entries.get(name)
                if old is not None and old is not tensor:
                    tensor.data = old.data
                    tensor.requires_grad_(old.requires_grad)
                    tensor.grad = old.grad
                if kind == "_parameters":
                    tensor._is_param = True  # read by isinstance(tensor, nn.Parameter)
                entries[name] = tensor
        for name, child in node.children():
            if name not in self._modules:
                self._modules[name] = _Mirror()
            mirror = self._modules[name]
            assert isinstance(mirror, _Mirror)
            mirror._bind(child)
        entries = (*node.parameters(), *node.buffers(), *node.children())
        self._bound = frozenset(name for name, _ in entries)

    # C++ would not see tensors that replace its own. Replacing them is therefore an error, except where torch
    # does it, in _load_from_state_dict and _apply: there _bind assigns their values to the C++ tensors.

    def _check_not_bound(self, name: str) -> None:
        if name in self._bound and not self._assigning:
            raise AttributeError(
                f"{self._get_name()}.{name} belongs to C++ and cannot be replaced, parametrised or pruned; "
                f"change its values by load_state_dict or, under torch.no_grad(), by {name}.copy_(values)"
            )

    def __setattr__(self, name: str, value: Any) -> None:
        self._check_not_bound(name)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self._check_not_bound(name)
        super().__delattr__(name)

    def _check_new(self, name: str) -> None:
        self._check_not_bound(name)
        if type(self) is _Mirror and not self._assigning:
            raise AttributeError(
                f"{self._get_name()} is computed in C++, which would ignore {name!r}: it cannot be added"
            )

    def register_parameter(self, name: str, param: nn.Parameter | None) -> None:
        self._check_new(name)
        super().register_parameter(name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        self._check_new(name)
        super().register_buffer(name, tensor, persistent)

    def add_module(self, name: str, module: nn.Module | None) -> None:
        self._check_new(name)
        super().add_module(name, module)

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        self._assigning = True
        try:
            super()._load_from_state_dict(*args, **kwargs)
        finally:
            del self._assigning
            self._bind(self._node)  # with assign=True, tensors were replaced

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> _Mirror:
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self._bind(self._node)  # torch replaces buffers, and parameters that it cannot change in place
        return self

    def train(self, mode: bool = True) -> _Mirror:
        super().train(mode)
        self._node.train(mode)
        return self

    def _get_name(self) -> str:
        return self._node.name.rpartition("::")[2].removesuffix("Impl")

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{self._get_name()} runs inside its C++ parent: call the parent")

    def _state(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in {"_node", "_cpp"}}

    def __getstate__(self) -> dict[str, Any]:
        state = self._state()
        for kind in _TENSORS:
            state[kind] = {name: _Values.of(tensor) for name, tensor in state[kind].items()}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        for kind in _TENSORS:
            state[kind] = {
                name: value.tensor() if isinstance(value, _Values) else value
                for name, value in state[kind].items()
            }
        super().__setstate__(state)  # type: ignore[no-untyped-call]

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        copied.__setstate__(copy.deepcopy(self._state(), memo))  # with gradients
        return copied


class CppModule(_Mirror):
    """A module whose forward pass is written in C++.

    It supports what a `torch.nn.Module` does: `state_dict`, optimisers of `torch.optim`, hooks, `.double()`,
    `.to()` all devices but "meta", `copy.deepcopy`, pickling. Python and C++ share the parameters. They can
    therefore not be replaced, parametrised or pruned, and `torch.func.functional_call` has no effect;
    `load_state_dict`, also with assign=True, and `.to()` assign their values. Children have their parameters,
    but run inside the C++ forward pass, so that their hooks do not fire. Hooks of the module itself do.

    Args:
        cpp_class: Bound C++ class.
        **config: Arguments of its constructor.
    """

    def __init__(self, cpp_class: Callable[..., Any], **config: Any) -> None:
        super().__init__()
        self._cpp_class = cpp_class
        self._config = config
        self._build()

    @classmethod
    def of(cls, cpp: Any, config: dict[str, Any]) -> Self:
        """Return a module for an existing C++ module, which shares its tensors.

        Args:
            cpp: C++ module.
            config: Arguments of its constructor.
        """
        module = cls.__new__(cls)
        nn.Module.__init__(module)
        module._cpp_class, module._config, module._cpp = type(cpp), config, cpp
        module._bind(cpp.node())
        return module

    def _build(self) -> None:
        self._cpp = self._cpp_class(**self._config)
        self._bind(self._cpp.node())

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        with isolated_generators():  # initial values are replaced: keep the generators' states
            self._build()
        self.train(self.training)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call C++."""
        return self._cpp.forward(*args, **kwargs)

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return the configuration."""
        return ", ".join(f"{name}={value!r}" for name, value in self._config.items())
