from __future__ import annotations

import copy
import math

import pytest

torch = pytest.importorskip("torch")
nn = pytest.importorskip("sentencode.nn")

LENGTHS = (5, 2, 0, 1)
MASK = torch.arange(5) < torch.tensor(LENGTHS)[:, None]


def layer(window, activation="tanh"):
    torch.manual_seed(window)
    built = nn.Convolution(3, 4, window, activation).double()
    torch.nn.init.normal_(built.bias)
    return built


def inputs():
    return torch.randn(4, 5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize("window", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("activation", ["tanh", "relu", "none"])
def test_equals_the_definition(window, activation):
    convolution, x = layer(window, activation), inputs()
    f = {"tanh": torch.tanh, "relu": torch.relu, "none": lambda x: x}[activation]
    found, windows = convolution(x, MASK)
    assert found.shape == (4, 5, 4)
    for row, length in enumerate(LENGTHS):
        count = max(length - window + 1, 1) if length else 0
        assert windows[row].tolist() == [True] * count + [False] * (5 - count)
        for t in range(count):
            total = convolution.bias.clone()
            for i in range(window):
                if t + i < length:
                    total += convolution.weight[:, :, i] @ x[row, t + i]
            torch.testing.assert_close(found[row, t], f(total))


@pytest.mark.parametrize("window", [2, 7])
def test_padding_is_nothing_whatever_it_holds(window):
    convolution, x = layer(window), inputs()
    expected = convolution(x, MASK)[0]
    x[~MASK] = math.nan
    x.requires_grad_()
    found = convolution(x, MASK)[0]
    assert torch.equal(found, expected)
    found.sum().backward()
    assert torch.isfinite(x.grad).all()
    assert torch.isfinite(convolution.weight.grad).all()


def test_gradient_and_copies():
    convolution, x = layer(3), inputs().requires_grad_()
    assert torch.autograd.gradcheck(lambda x, *_: convolution(x, MASK)[0], (x, *convolution.parameters()))
    assert torch.equal(copy.deepcopy(convolution)(x, MASK)[0], convolution(x, MASK)[0])


def test_wrong_arguments_are_value_errors():
    with pytest.raises(ValueError, match="at least 1, got 3, 4 and 0"):
        nn.Convolution(3, 4, 0)
    with pytest.raises(ValueError, match=r"\[batch, time, 3\], got double \[4, 5, 2\]"):
        layer(2)(inputs()[:, :, :2], MASK)
    with pytest.raises(ValueError, match=r"mask must be bool \[4, 5\], got float \[4, 5\]"):
        layer(2)(inputs(), MASK.float())
