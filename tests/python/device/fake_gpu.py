"""A GPU that is not there: tensors of a device of its own whose numbers lie in the host's memory.

Everything that reaches torch's dispatcher, from Python or C++, is seen. What a GPU could not do is refused:
an operator on tensors of two devices. What would make the host wait for a GPU is counted, by what asked for
it: numbers that are read (`item`, shapes that depend on numbers) and copies that are not queued.
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
# Their results' shapes, or their results, are numbers that the host has to read.
READS = {
    *(aten._local_scalar_dense, aten.nonzero, aten.masked_select, aten._unique2, aten.unique_dim, aten.equal),
    *(aten.unique_consecutive, aten.bincount, aten.is_nonzero, aten._coalesce, aten.repeat_interleave),
}
# An argument of the host's memory that a GPU's kernels take as well.
MAY_BE_ON_HOST = {
    aten._pack_padded_sequence: (1,),
    aten._pack_padded_sequence_backward: (2,),
    aten._pad_packed_sequence: (1,),
}
COPIES = {aten._to_copy, aten.copy_, aten.copy}


class GpuTensor(torch.Tensor):
    """Of the fake device."""

    @staticmethod
    def __new__(cls, held):
        shape = {"strides": held.stride(), "storage_offset": held.storage_offset()}
        if held.is_sparse:
            shape = {}
        made = torch.Tensor._make_wrapper_subclass(
            cls, held.shape, dtype=held.dtype, device=DEVICE, requires_grad=False, **shape
        )
        made.held = held
        return made

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
    """While it is entered, the device is there."""

    current = None

    def __init__(self):
        super().__init__()
        self.waits = Counter()  # of an operator that made the host wait
        self.copies = Counter()  # to the device, from it
        self.launches = Counter()  # of operators on the device
        self.where = {}  # of each wait the last lines of Python
        self._makes = False

    def __enter__(self):
        FakeGpu.current = self
        return super().__enter__()

    @contextlib.contextmanager
    def makes(self):
        """What is made meanwhile without a word of a device is made there.

        C++ keeps the tensors of its modules: those of the host could not become others.
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
        if torch.is_inference_mode_enabled():  # operators that are made of others come here as they are
            with self:
                made = operator.decompose(*args, **kwargs)
            if made is not NotImplemented:
                return made
        leaves = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        there = [x for x in leaves if _on_gpu(x)]
        packet = operator.overloadpacket
        device = kwargs.get("device")
        wanted = None if device is None else torch.device(device)
        to_gpu = wanted is not None and wanted.type == NAME
        if not leaves and self._makes and (wanted is None or wanted.type == "cpu"):
            to_gpu = any(isinstance(r.type, torch.TensorType) for r in operator._schema.returns)
        if not there and not to_gpu:
            pinned = kwargs.pop("pin_memory", None)
            made = operator(*args, **kwargs)
            if pinned:
                made._pinned = True
            return made
        if packet in COPIES:
            return self._copy(operator, packet, args, kwargs, wanted)
        if packet in READS or self._masks(packet, args):
            self.wait(str(packet).removeprefix("aten."))
        for place, x in enumerate(args):
            for tensor in tree_leaves(x):
                if not isinstance(tensor, torch.Tensor) or _on_gpu(tensor) or tensor.dim() == 0:
                    continue
                if there and place not in MAY_BE_ON_HOST.get(packet, ()):
                    raise RuntimeError(
                        f"{operator}: argument {place} {list(tensor.shape)} is on the CPU, others on a GPU"
                    )
        if to_gpu:
            kwargs["device"] = torch.device("cpu")
        if not operator.is_view:
            self.launches[str(packet).removeprefix("aten.")] += 1
        return self._run(operator, packet, args, kwargs)

    @staticmethod
    def _masks(packet, args):
        """Rows that a mask names are counted first."""
        if packet not in (aten.index, aten.index_put, aten.index_put_, aten._index_put_impl_):
            return False
        return any(i is not None and i.dtype in (torch.bool, torch.uint8) for i in args[1])

    def _copy(self, operator, packet, args, kwargs, wanted):
        if packet is aten._to_copy:
            source = args[0]
            to_gpu = _on_gpu(source) if wanted is None else wanted.type == NAME
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
        if wanted is not None:
            kwargs["device"] = torch.device("cpu")
        kwargs.pop("pin_memory", None)
        made = operator(*tree_map(_held, args), **kwargs)
        if packet is aten.copy_:
            return args[0]
        if made is _held(source) or made.data_ptr() == _held(source).data_ptr():
            made = made.clone()
        return GpuTensor(made) if to_gpu else made

    def _run(self, operator, packet, args, kwargs):
        own = KERNELS.get(packet)
        made = (own or operator)(*tree_map(_held, args), **tree_map(_held, kwargs))
        if torch.Tag.inplace_view in operator.tags:
            with no_dispatch():  # the shape of ours changes as well
                operator(*args, **kwargs)
            return args[0]
        given = {id(x.held): x for x in tree_leaves((args, kwargs)) if _on_gpu(x)}

        def wrapped(x):
            if not isinstance(x, torch.Tensor):
                return x
            known = given.get(id(x))
            return GpuTensor(x) if known is None else known

        views = any(result.alias_info is not None for result in operator._schema.returns)
        if views and any(not x.is_inference() for x in given.values()):
            with torch.inference_mode(False):  # views of what can be trained are no tensors of inference
                return tree_map(wrapped, made)
        if packet is aten._pack_padded_sequence:
            return wrapped(made[0]), made[1]  # the sizes of steps are the host's
        return tree_map(wrapped, made)


def _pinned(x):
    base = x
    while base is not None:
        if getattr(base, "_pinned", False):
            return True
        base = base._base
    return False


# What a CPU has no kernels of, or none that a GPU's program reaches.


def _mm(a, b, dtype=None, *, out=None):
    made = a.to(dtype) @ b.to(dtype) if isinstance(dtype, torch.dtype) else a @ b
    return made if out is None else out.copy_(made)


def _addmm(x, a, b, dtype=None, *, beta=1, alpha=1, out=None):
    made = beta * x + alpha * _mm(a, b, dtype)
    return made if out is None else out.copy_(made)


def _gates(x, h, bias_x, bias_h):
    if bias_x is not None:
        x, h = x + bias_x, h + bias_h
    return x, h


def _lstm_cell(x, h, c, bias_x=None, bias_h=None):
    x, h = _gates(x, h, bias_x, bias_h)
    i, f, g, o = (x + h).chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    after = f * c + i * g
    return o * after.tanh(), after, torch.cat([i, f, g, o], 1)


def _lstm_cell_backward(grad_h, grad_c, c, after, kept, biased):
    i, f, g, o = kept.chunk(4, 1)
    grad_h = torch.zeros_like(c) if grad_h is None else grad_h
    all_c = grad_h * o * (1 - after.tanh() ** 2) + (0 if grad_c is None else grad_c)
    gates = torch.cat(
        [
            all_c * g * i * (1 - i),
            all_c * c * f * (1 - f),
            all_c * i * (1 - g * g),
            grad_h * after.tanh() * o * (1 - o),
        ],
        1,
    )
    return gates, all_c * f, gates.sum(0) if biased else None


def _gru_cell(x, h, state, bias_x=None, bias_h=None):
    x, h = _gates(x, h, bias_x, bias_h)
    (xr, xz, xn), (hr, hz, hn) = x.chunk(3, 1), h.chunk(3, 1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    return n + z * (state - n), torch.cat([r, z, n, state, hn], 1)


def _gru_cell_backward(grad, kept, biased):
    r, z, n, state, hn = kept.chunk(5, 1)
    grad_n = grad * (1 - z) * (1 - n * n)
    grad_z = grad * (state - n) * z * (1 - z)
    grad_r = grad_n * hn * r * (1 - r)
    x, h = torch.cat([grad_r, grad_z, grad_n], 1), torch.cat([grad_r, grad_z, grad_n * r], 1)
    return x, h, grad * z, *((x.sum(0), h.sum(0)) if biased else (None, None))


KERNELS = {
    aten.mm: _mm,
    aten.addmm: _addmm,
    aten._thnn_fused_lstm_cell: _lstm_cell,
    aten._thnn_fused_lstm_cell_backward_impl: _lstm_cell_backward,
    aten._thnn_fused_gru_cell: _gru_cell,
    aten._thnn_fused_gru_cell_backward: _gru_cell_backward,
}
