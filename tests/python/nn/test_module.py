"""A C++ module does all that a torch.nn.Module does."""

from __future__ import annotations

import copy
import pickle

import pytest

torch = pytest.importorskip("torch")
nn = pytest.importorskip("sentencode.nn")

from sentencode.nn.module import _Mirror


@pytest.fixture
def encoder():
    torch.manual_seed(0)
    return nn.FeedForward(3, 2, activation="tanh")


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(1)
    return (torch.randn(4, 5, 3, generator=generator),)


def test_is_a_module_with_named_parameters(encoder):
    assert isinstance(encoder, torch.nn.Module)
    assert all(isinstance(p, torch.nn.Parameter) for p in encoder.parameters())
    assert {name: tuple(p.shape) for name, p in encoder.named_parameters()} == {
        "inner.weight": (2, 3),
        "inner.bias": (2,),
        "outer.weight": (3, 2),
        "outer.bias": (3,),
    }
    assert [name for name, _ in encoder.named_modules()] == ["", "inner", "outer"]
    assert "features=3, hidden=2" in repr(encoder)
    assert "(inner): Linear()" in repr(encoder)


def test_both_sides_hold_the_same_tensors(encoder, batch):
    before = encoder(*batch)
    with torch.no_grad():
        encoder.outer.weight.mul_(2)
        encoder.outer.bias.mul_(2)
    torch.testing.assert_close(encoder(*batch), 2 * before)


def test_state_dict_round_trip(encoder, batch):
    other = nn.FeedForward(3, 2, activation="tanh")
    assert not torch.equal(other(*batch), encoder(*batch))
    other.load_state_dict(encoder.state_dict())
    assert torch.equal(other(*batch), encoder(*batch))


def test_state_dict_that_is_assigned(encoder, batch):
    other = nn.FeedForward(3, 2, activation="tanh")
    other.inner.weight.requires_grad_(False)
    other.load_state_dict(
        {name: tensor.clone() for name, tensor in encoder.state_dict().items()}, assign=True
    )
    assert torch.equal(other(*batch), encoder(*batch))
    assert not other.inner.weight.requires_grad
    before = other(*batch)
    optimiser = torch.optim.SGD([p for p in other.parameters() if p.requires_grad], lr=1.0)
    other(*batch).sum().backward()
    optimiser.step()
    assert not torch.allclose(other(*batch), before)
    assert [name for name, _ in other.named_parameters()] == [
        "inner.weight",
        "inner.bias",
        "outer.weight",
        "outer.bias",
    ]


def test_tensors_cannot_be_replaced(encoder, batch):
    prune = pytest.importorskip("torch.nn.utils.prune")
    before, state = encoder(*batch), copy.deepcopy(encoder.state_dict())
    linear = encoder.inner
    refused = r"Linear\.(weight|bias) belongs to C\+\+ and cannot be replaced, parametrised or pruned"
    attempts = {
        "parameter": lambda: setattr(linear, "bias", torch.nn.Parameter(torch.zeros(2))),
        "tensor": lambda: setattr(linear, "bias", torch.zeros(2)),
        "none": lambda: setattr(linear, "bias", None),
        "delete": lambda: delattr(linear, "bias"),
        "register": lambda: linear.register_parameter("bias", None),
        "parametrise": lambda: torch.nn.utils.parametrizations.weight_norm(linear, "weight"),
        "child": lambda: setattr(encoder, "inner", torch.nn.Linear(3, 2)),
    }
    for name, attempt in attempts.items():
        with pytest.raises(AttributeError, match=r"inner belongs to C\+\+" if name == "child" else refused):
            attempt()
    for attempt in (
        lambda: prune.l1_unstructured(linear, "weight", amount=1),
        lambda: linear.register_buffer("mask", torch.ones(2)),
        lambda: linear.add_module("inner", torch.nn.Linear(1, 1)),
        lambda: setattr(linear, "extra", torch.nn.Parameter(torch.ones(2))),
    ):
        with pytest.raises(AttributeError, match=r"Linear is computed in C.*, which would ignore"):
            attempt()
    assert torch.equal(encoder(*batch), before)
    assert encoder.state_dict().keys() == state.keys()


def test_hooks_of_a_module_fire(encoder, batch):
    calls = []
    encoder.register_forward_pre_hook(lambda *_: calls.append("before"))
    encoder.register_forward_hook(lambda *_: calls.append("after"))
    encoder(*batch)
    assert calls == ["before", "after"]


def test_gradcheck_through_parameters(batch):
    encoder = nn.FeedForward(3, 2, activation="tanh").double()
    (x,) = batch
    x = x.double().requires_grad_()
    assert torch.autograd.gradcheck(lambda x, *_: encoder(x), (x, *encoder.parameters()))


@pytest.mark.parametrize("optimiser", [torch.optim.SGD, torch.optim.AdamW])
def test_optimisers_learn(encoder, batch, optimiser):
    (x,) = batch
    target = torch.randn(4, 5, 3, generator=torch.Generator().manual_seed(2))
    steps = optimiser(encoder.parameters(), lr=0.1)
    losses = []
    for _ in range(60):
        steps.zero_grad()
        loss = torch.nn.functional.mse_loss(encoder(x), target)
        loss.backward()
        steps.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_dtype(encoder, batch, dtype):
    (x,) = batch
    expected = encoder(x)
    assert encoder.to(dtype) is encoder
    assert {p.dtype for p in encoder.parameters()} == {dtype}
    shown = encoder(x.to(dtype))
    assert shown.dtype == dtype
    torch.testing.assert_close(shown.float(), expected, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("swap", [False, True])
def test_moves_that_replace_parameters(encoder, batch, swap):
    before = torch.__future__.get_overwrite_module_params_on_conversion()
    torch.__future__.set_overwrite_module_params_on_conversion(swap)
    try:
        expected = encoder(*batch)
        encoder.double()
        torch.testing.assert_close(encoder(batch[0].double()).float(), expected)
        torch.optim.SGD(encoder.parameters(), lr=0.1)
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(before)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_cuda(encoder, batch):
    expected = encoder(*batch)
    encoder.cuda()
    torch.testing.assert_close(encoder(*(t.cuda() for t in batch)).cpu(), expected)


def copies(module):
    yield copy.deepcopy(module)
    yield pickle.loads(pickle.dumps(module))


def test_copies_share_no_memory(encoder, batch):
    encoder.double().eval()
    encoder.inner.bias.requires_grad_(False)
    (x,) = batch
    expected = encoder(x.double())
    for other in copies(encoder):
        assert not other.training
        assert [p.requires_grad for p in other.parameters()] == [True, False, True, True]
        assert all(isinstance(p, torch.nn.Parameter) for p in other.parameters())
        assert torch.equal(other(x.double()), expected)
        with torch.no_grad():
            other.inner.weight.zero_()
        assert not torch.equal(other(x.double()), expected)
        assert torch.equal(encoder(x.double()), expected)


def test_copies_inside_other_modules(encoder, batch):
    class Classifier(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = encoder
            self.head = torch.nn.Linear(3, 2)

        def forward(self, x):
            return self.head(self.encoder(x))

    model = Classifier()
    other = copy.deepcopy(model)
    assert torch.equal(other(*batch), model(*batch))
    assert list(other.state_dict()) == [
        "encoder.inner.weight",
        "encoder.inner.bias",
        "encoder.outer.weight",
        "encoder.outer.bias",
        "head.weight",
        "head.bias",
    ]


def test_hooks(encoder, batch):
    seen = []
    encoder.register_forward_hook(lambda module, args, output: seen.append(("forward", output.shape)))
    encoder.register_full_backward_hook(
        lambda module, inputs, outputs: seen.append(("backward", outputs[0].shape))
    )
    encoder.inner.weight.register_hook(lambda gradient: seen.append(("weight", gradient.shape)))
    (x,) = batch
    encoder(x.requires_grad_()).sum().backward()
    assert sorted(seen) == [("backward", (4, 5, 3)), ("forward", (4, 5, 3)), ("weight", (2, 3))]


def test_train_and_eval_reach_cpp(encoder):
    class Recorded:
        def __init__(self, node):
            self.node, self.modes = node, []

        def train(self, mode):
            self.modes.append(mode)
            self.node.train(mode)

    encoder._node = recorded = Recorded(encoder._node)
    encoder.eval()
    encoder.train()
    assert recorded.modes == [False, True]
    assert not encoder.eval().inner.training


def test_children_cannot_be_called(encoder):
    with pytest.raises(NotImplementedError, match="Linear runs inside its C"):
        encoder.inner(torch.zeros(1, 3))


class Fake:
    """A C++ tree made in Python: one parameter, one buffer, one child like it."""

    name = "Fake"

    def __init__(self, depth=1):
        self.weight, self.count = torch.zeros(2, requires_grad=True), torch.zeros(2)
        self.child = Fake(depth - 1) if depth else None

    def parameters(self):
        return [("weight", self.weight)]

    def buffers(self):
        return [("count", self.count)]

    def children(self):
        return [("child", self.child)] if self.child else []

    def train(self, mode):
        pass


def test_buffers_stay_the_same_tensors_when_they_move():
    tree, mirror = Fake(), _Mirror()
    mirror._bind(tree)
    assert list(mirror.state_dict()) == ["weight", "count", "child.weight", "child.count"]
    mirror.double()
    assert tree.child.count.dtype == torch.float64
    tree.child.count.add_(1)  # as C++ does in its forward pass
    assert mirror.state_dict()["child.count"].tolist() == [1, 1]
    mirror.load_state_dict({name: torch.full((2,), 7.0) for name in mirror.state_dict()})
    assert tree.count.tolist() == tree.weight.tolist() == [7, 7]
