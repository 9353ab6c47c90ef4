"""A fake GPU: tensors of another device whose values are in host memory.

It intercepts all operators at torch's dispatcher, from Python and C++. Operators on tensors of two devices
raise an error. It counts synchronisations: reads of values (`item`, shapes that depend on values), and
blocking copies.
"""

from __future__ import annotations

import contextlib
import traceback
from collections import Counter

import torch
from torch.utils._mode_utils import no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

NAME = "fakegpu"
_setup_privateuseone_for_python_backend(NAME)
DEVICE = torch.device(NAME, 0)

aten = torch.ops.aten
# Operators whose results or shapes the host reads.
READS = {
    *(aten._local_scalar_dense, aten.nonzero, aten.masked_select, aten._unique2, aten.unique_dim, aten.equal),
    *(aten.unique_consecutive, aten.bincount, aten.is_nonzero, aten._coalesce, aten.repeat_interleave),
}
# Arguments in host memory that kernels of a GPU accept.
MAY_BE_ON_HOST = {
    aten._pack_padded_sequence: (1,),
    aten._pack_padded_sequence_backward: (2,),
    aten._pad_packed_sequence: (1,),
}
COPIES = {aten._to_copy, aten.copy_, aten.copy}


class GpuTensor(torch.Tensor):
    """A tensor of the fake device; `held` has its values."""

    @staticmethod
    def __new__(cls, held):
        if held.is_sparse:
            shape = {"_extra_dispatch_keys": torch._C.DispatchKeySet(torch._C.DispatchKey.Sparse)}
        else:
            shape = {"strides": held.stride(), "storage_offset": held.storage_offset()}
        tensor = torch.Tensor._make_wrapper_subclass(
            cls, held.shape, dtype=held.dtype, device=DEVICE, requires_grad=False, **shape
        )
        tensor.held = held
        return tensor

    def __repr__(self):
        return f"GpuTensor({self.held})"

    @classmethod
    def __torch_dispatch__(cls, operator, types, args=(), kwargs=None):
        with FakeGpu.current or contextlib.nullcontext():
            return operator(*args, **(kwargs or {}))


def _on_gpu(x):
    return isinstance(x, GpuTensor)


def _held(x):
    return x.held if _on_gpu(x) else x


class FakeGpu(TorchDispatchMode):
    """A context in which the device exists."""

    current = None

    def __init__(self):
        super().__init__()
        self.waits = Counter()  # operators that synchronise
        self.copies = Counter()  # to and from the device
        self.launches = Counter()  # operators on the device
        self.where = {}  # operator that synchronises -> Python stack
        self._makes = False

    def __enter__(self):
        FakeGpu.current = self
        return super().__enter__()

    @contextlib.contextmanager
    def makes(self):
        """Creates tensors without a given device on the fake device.

        C++ modules keep their tensors, so they cannot be moved there later.
        """
        before, self._makes = self._makes, True
        try:
            yield
        finally:
            self._makes = before

    def reset(self):
        for counter in (self.waits, self.copies, self.launches):
            counter.clear()

    def wait(self, what):
        self.waits[what] += 1
        self.where.setdefault(what, "".join(traceback.format_stack(limit=12)[:-2]))

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if torch.is_inference_mode_enabled():  # composite operators are not decomposed then
            with self:
                result = operator.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        leaves = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        there = [x for x in leaves if _on_gpu(x)]
        packet = operator.overloadpacket
        device = kwargs.get("device")
        requested = None if device is None else torch.device(device)
        to_gpu = requested is not None and requested.type == NAME
        if not leaves and self._makes and (requested is None or requested.type == "cpu"):
            to_gpu = any(isinstance(r.type, torch.TensorType) for r in operator._schema.returns)
        if not there and not to_gpu:
            pinned = kwargs.pop("pin_memory", None)
            result = operator(*args, **kwargs)
            if pinned:
                result._pinned = True
            return result
        if packet in COPIES:
            return self._copy(operator, packet, args, kwargs, requested)
        if packet in READS or self._masks(packet, args):
            self.wait(str(packet).removeprefix("aten."))
        for i, x in enumerate(args):
            for tensor in tree_leaves(x):
                if not isinstance(tensor, torch.Tensor) or _on_gpu(tensor) or tensor.dim() == 0:
                    continue
                if there and i not in MAY_BE_ON_HOST.get(packet, ()):
                    raise RuntimeError(
                        f"{operator}: argument {i} {list(tensor.shape)} is on the CPU, others on a GPU"
                    )
        if to_gpu:
            kwargs["device"] = torch.device("cpu")
        if not operator.is_view:
            self.launches[str(packet).removeprefix("aten.")] += 1
        return self._run(operator, packet, args, kwargs)

    @staticmethod
    def _masks(packet, args):
        """Whether an index is a mask, which requires counting its true elements."""
        if packet not in (aten.index, aten.index_put, aten.index_put_, aten._index_put_impl_):
            return False
        return any(i is not None and i.dtype in (torch.bool, torch.uint8) for i in args[1])

    def _copy(self, operator, packet, args, kwargs, requested):
        if packet is aten._to_copy:
            source = args[0]
            to_gpu = _on_gpu(source) if requested is None else requested.type == NAME
        else:
            source, to_gpu = args[1], _on_gpu(args[0])
        queued = bool(
            kwargs.get("non_blocking") or (packet is not aten._to_copy and len(args) > 2 and args[2])
        )
        if _on_gpu(source) != to_gpu:
            self.copies["to device" if to_gpu else "to host"] += 1
            if not to_gpu or not queued or not _pinned(source):
                self.wait(f"copy {'to device' if to_gpu else 'to host'}")
        elif not operator.is_view:
            self.launches[str(packet).removeprefix("aten.")] += 1
        if requested is not None:
            kwargs["device"] = torch.device("cpu")
        kwargs.pop("pin_memory", None)
        copy = operator(*tree_map(_held, args), **kwargs)
        if packet is aten.copy_:
            return args[0]
        if copy is _held(source) or copy.data_ptr() == _held(source).data_ptr():
            copy = copy.clone()
        return GpuTensor(copy) if to_gpu else copy

    def _run(self, operator, packet, args, kwargs):
        result = KERNELS.get(packet, operator)(*tree_map(_held, args), **tree_map(_held, kwargs))
        if torch.Tag.inplace_view in operator.tags:
            with no_dispatch():  # change the shape of the wrapper, too
                operator(*args, **kwargs)
            return args[0]
        wrappers = {id(x.held): x for x in tree_leaves((args, kwargs)) if _on_gpu(x)}

        def wrapped(x):
            if not isinstance(x, torch.Tensor):
                return x
            wrapper = wrappers.get(id(x))
            return GpuTensor(x) if wrapper is None else wrapper

        views = any(returned.alias_info is not None for returned in operator._schema.returns)
        if views and any(not x.is_inference() for x in wrappers.values()):
            with torch.inference_mode(False):  # views of trainable tensors
                return tree_map(wrapped, result)
        if packet is aten._pack_padded_sequence:
            return wrapped(result[0]), result[1]  # batch sizes stay on the host
        return tree_map(wrapped, result)


def _pinned(x):
    base = x
    while base is not None:
        if getattr(base, "_pinned", False):
            return True
        base = base._base
    return False


# Kernels that a CPU lacks.


def _mm(a, b, dtype=None, *, out=None):
    product = a.to(dtype) @ b.to(dtype) if isinstance(dtype, torch.dtype) else a @ b
    return product if out is None else out.copy_(product)


def _addmm(x, a, b, dtype=None, *, beta=1, alpha=1, out=None):
    total = beta * x + alpha * _mm(a, b, dtype)
    return total if out is None else out.copy_(total)


def _gates(x, h, bias_x, bias_h):
    if bias_x is not None:
        x, h = x + bias_x, h + bias_h
    return x, h


def _lstm_cell(x, h, c, bias_x=None, bias_h=None):
    x, h = _gates(x, h, bias_x, bias_h)
    i, f, g, o = (x + h).chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    c = f * c + i * g
    return o * c.tanh(), c, torch.cat([i, f, g, o], 1)


def _lstm_cell_backward(grad_h, grad_c, c, c_next, gates, biased):
    i, f, g, o = gates.chunk(4, 1)
    grad_h = torch.zeros_like(c) if grad_h is None else grad_h
    grad_c_next = grad_h * o * (1 - c_next.tanh() ** 2) + (0 if grad_c is None else grad_c)
    grad_gates = torch.cat(
        [
            grad_c_next * g * i * (1 - i),
            grad_c_next * c * f * (1 - f),
            grad_c_next * i * (1 - g * g),
            grad_h * c_next.tanh() * o * (1 - o),
        ],
        1,
    )
    return grad_gates, grad_c_next * f, grad_gates.sum(0) if biased else None


def _gru_cell(x, h, state, bias_x=None, bias_h=None):
    x, h = _gates(x, h, bias_x, bias_h)
    (xr, xz, xn), (hr, hz, hn) = x.chunk(3, 1), h.chunk(3, 1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    return n + z * (state - n), torch.cat([r, z, n, state, hn], 1)


def _gru_cell_backward(grad, gates, biased):
    r, z, n, state, hn = gates.chunk(5, 1)
    grad_n = grad * (1 - z) * (1 - n * n)
    grad_z = grad * (state - n) * z * (1 - z)
    grad_r = grad_n * hn * r * (1 - r)
    x, h = torch.cat([grad_r, grad_z, grad_n], 1), torch.cat([grad_r, grad_z, grad_n * r], 1)
    return x, h, grad * z, *((x.sum(0), h.sum(0)) if biased else (None, None))


# Autocast by the lists of CUDA: what computes in the lower precision, in float32, or in the wider type.
LOWER = (
    "conv1d",
    "convolution",
    "mm",
    "addmm",
    "bmm",
    "baddbmm",
    "addmv",
    "linear",
    "matmul",
    "scaled_dot_product_attention",
)
FLOAT = (
    "native_layer_norm",
    "layer_norm",
    "softmax.int",
    "log_softmax.int",
    "sum",
    "exp",
    "log",
    "pow.Tensor_Scalar",
)
WIDEST = ("cat", "stack", "addcmul", "addcdiv", "dot", "index_put", "scatter_add")
_autocast = torch.library.Library("aten", "IMPL", "AutocastPrivateUse1")
_others = torch.library.Library("_", "IMPL", "AutocastPrivateUse1")
_others.fallback(torch.library.fallthrough_kernel)


def _cast(operator, type_of):
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)

    def function(*args, **kwargs):
        types = [x.dtype for x in tree_leaves(args) if isinstance(x, torch.Tensor) and x.is_floating_point()]
        dtype = type_of(types)
        FakeGpu.current.launches["autocast"] += 1

        def cast(x):
            return (
                x.to(dtype)
                if isinstance(x, torch.Tensor) and x.dtype in (torch.float32, torch.bfloat16)
                else x
            )

        with torch._C._ExcludeDispatchKeyGuard(keys):
            return operator(*tree_map(cast, args), **kwargs)

    return function


def _widest(types):
    return torch.float32 if torch.float32 in types else types[0] if types else torch.float32


for names, type_of in (
    (LOWER, lambda _: torch.bfloat16),
    (FLOAT, lambda _: torch.float32),
    (WIDEST, _widest),
):
    for name in names:
        packet, _, overload = name.partition(".")
        _autocast.impl(name, _cast(getattr(getattr(aten, packet), overload or "default"), type_of))

KERNELS = {
    aten.mm: _mm,
    aten.addmm: _addmm,
    aten._thnn_fused_lstm_cell: _lstm_cell,
    aten._thnn_fused_lstm_cell_backward_impl: _lstm_cell_backward,
    aten._thnn_fused_gru_cell: _gru_cell,
    aten._thnn_fused_gru_cell_backward: _gru_cell_backward,
}
