"""C++ modules as Python's `torch.nn.Module`s."""

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
    """Marks a method that only calls C++: whoever finds it there may call C++ itself."""
    method.in_core = True  # type: ignore[attr-defined]
    return method


@contextmanager
def float32_default() -> Iterator[None]:
    """What torch creates without a dtype is float32: for modules in Python, which rarely name one.

    Torch has one default for the whole process; it is set only where it is another.
    """
    before = torch.get_default_dtype()
    if before == torch.float32:
        yield
        return
    torch.set_default_dtype(torch.float32)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


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
    """A tensor in a pickle: its bytes as an array, so that pickles of equal tensors are equal.

    torch's own pickles hold addresses of tensors, so that joblib's hashes of them differ.
    """

    content: npt.NDArray[np.uint8]
    dtype: str
    shape: tuple[int, ...]
    device: str
    requires_grad: bool
    parameter: bool

    @classmethod
    def of(cls, tensor: Tensor | None) -> _Values | Tensor | None:
        """Those of a dense tensor; anything else unchanged."""
        if tensor is None or tensor.layout != torch.strided:
            return tensor
        content = tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy()
        kind = str(tensor.dtype).removeprefix("torch.")
        parameter = isinstance(tensor, nn.Parameter)
        return cls(content, kind, tuple(tensor.shape), str(tensor.device), tensor.requires_grad, parameter)

    def tensor(self) -> Tensor:
        """The tensor again."""
        content = torch.from_numpy(self.content.copy()).view(getattr(torch, self.dtype))
        made = content.reshape(self.shape).to(self.device)
        return nn.Parameter(made, self.requires_grad) if self.parameter else made


class _Mirror(nn.Module):
    """Holds the very tensors that one C++ module holds: either side sees what the other does to them."""

    _node: Node
    _bound: frozenset[str] = frozenset()  # names of what C++ has, tensors and children
    _assigning = False

    def _bind(self, node: Node) -> None:
        """Takes over the tensors of `node`, and those below it.

        What this module holds already (it was copied, unpickled or moved) goes into the C++ tensors first.
        """
        self._node = node
        self._bound = frozenset()
        for kind, tensors in (("_parameters", node.parameters()), ("_buffers", node.buffers())):
            held = getattr(self, kind)
            for name, tensor in tensors:
                mine = held.get(name)
                if mine is not None and mine is not tensor:
                    tensor.data = mine.data
                    tensor.requires_grad_(mine.requires_grad)
                    tensor.grad = mine.grad
                if kind == "_parameters":
                    tensor._is_param = True  # what isinstance(tensor, nn.Parameter) looks at
                held[name] = tensor
        for name, child in node.children():
            if name not in self._modules:
                self._modules[name] = _Mirror()
            mirror = self._modules[name]
            assert isinstance(mirror, _Mirror)
            mirror._bind(child)
        theirs = (*node.parameters(), *node.buffers(), *node.children())
        self._bound = frozenset(name for name, _ in theirs)

    # C++ holds its tensors, and would not see others that stand here in their places. Where torch puts
    # others there all the same, what they hold goes into C++'s; elsewhere that is refused.

    def _check_not_bound(self, name: str) -> None:
        if name in self._bound and not self._assigning:
            raise AttributeError(
                f"{self._get_name()}.{name} is C++'s and cannot be replaced, parametrised or pruned; change "
                f"its values instead, by load_state_dict or, under torch.no_grad(), by {name}.copy_(values)"
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
                f"{self._get_name()} is computed in C++, which knows of no {name!r}: it cannot be given one"
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
        raise NotImplementedError(f"{self._get_name()} runs inside its C++ parent: call that")

    def _state(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in {"_node", "_cpp"}}

    def __getstate__(self) -> dict[str, Any]:
        state = self._state()
        for kind in _TENSORS:
            state[kind] = {name: _Values.of(tensor) for name, tensor in state[kind].items()}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        for kind in _TENSORS:
            held = state[kind].items()
            state[kind] = {
                name: value.tensor() if isinstance(value, _Values) else value for name, value in held
            }
        super().__setstate__(state)  # type: ignore[no-untyped-call]

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        copied.__setstate__(copy.deepcopy(self._state(), memo))  # with gradients
        return copied


class CppModule(_Mirror):
    """A module whose forward pass is written in C++.

    It does what a `torch.nn.Module` does: `state_dict`, optimisers of `torch.optim`, hooks, `.double()`,
    `.to()` any device that holds data (not "meta"), `copy.deepcopy`, pickling. Parameters are the same
    tensors on both sides; so they cannot be replaced, parametrised or pruned (`load_state_dict`, also with
    assign=True, and `.to()` put what they bring into them), and `torch.func.functional_call` has no effect.
    Children are there with their parameters; they run inside the C++ forward pass, so that hooks on them do
    not fire. Those on the module itself fire when it is called.

    Args:
        cpp_class: The bound C++ class.
        **config: Its constructor's arguments, by name.
    """

    def __init__(self, cpp_class: Callable[..., Any], **config: Any) -> None:
        super().__init__()
        self._cpp_class = cpp_class
        self._config = config
        self._build()

    @classmethod
    def of(cls, cpp: Any, config: dict[str, Any]) -> Self:
        """The face of a C++ module that is there already.

        Args:
            cpp: The module.
            config: Its constructor's arguments.

        Returns:
            A module that shares its tensors.
        """
        made = cls.__new__(cls)
        nn.Module.__init__(made)
        made._cpp_class, made._config, made._cpp = type(cpp), config, cpp
        made._bind(cpp.node())
        return made

    def _build(self) -> None:
        self._cpp = self._cpp_class(**self._config)
        self._bind(self._cpp.node())

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        with isolated_generators():  # what C++ draws is replaced at once: no chance is spent
            self._build()
        self.train(self.training)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Calls C++."""
        return self._cpp.forward(*args, **kwargs)

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """The configuration."""
        return ", ".join(f"{name}={value!r}" for name, value in self._config.items())
