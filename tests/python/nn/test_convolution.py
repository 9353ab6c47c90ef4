from __future__ import annotations

import copy
import math

import pytest

torch = pytest.importorskip("torch")
nn = pytest.importorskip("sentencode.nn")

LENGTHS = (5, 2, 0, 1)
MASK = torch.arange(5) < torch.tensor(LENGTHS)[:, None]


def layer(window, activation="tanh", padding="valid"):
    torch.manual_seed(window)
    built = nn.Convolution(3, 4, window, activation, padding).double()
    torch.nn.init.normal_(built.bias)
    return built


def inputs():
    return torch.randn(4, 5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize("window", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("activation", ["tanh", "relu", "none"])
def test_equals_the_definition(window, activation):
    convolution, x = layer(window, activation), inputs()
    f = {"tanh": torch.tanh, "relu": torch.relu, "none": lambda x: x}[activation]
    actual, windows = convolution(x, MASK)
    assert actual.shape == (4, 5, 4)
    for row, length in enumerate(LENGTHS):
        count = max(length - window + 1, 1) if length else 0
        assert windows[row].tolist() == [True] * count + [False] * (5 - count)
        for t in range(count):
            total = convolution.bias.clone()
            for i in range(window):
                if t + i < length:
                    total += convolution.weight[:, :, i] @ x[row, t + i]
            torch.testing.assert_close(actual[row, t], f(total))


# Words anywhere: for windows around words, or at them, it does not matter where they are.
HOLES = torch.tensor([[1, 1, 1, 1, 1], [0, 1, 0, 0, 1], [0, 0, 0, 0, 0], [1, 0, 1, 1, 0]], dtype=torch.bool)


@pytest.mark.parametrize("window", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("padding", ["same", "causal"])
@pytest.mark.parametrize("mask", [None, MASK, HOLES])
def test_whole_sequences_equal_the_definition(window, padding, mask):
    convolution, x = layer(window, "relu", padding), inputs()
    actual, windows = convolution(x, mask)
    mask = torch.ones(4, 5, dtype=torch.bool) if mask is None else mask
    assert torch.equal(windows, mask)
    before = window - 1 if padding == "causal" else (window - 1) // 2
    for row in range(4):
        for t in range(5):
            total = convolution.bias.clone()
            for i in range(window):
                position = t - before + i
                if 0 <= position < 5 and mask[row, position]:
                    total += convolution.weight[:, :, i] @ x[row, position]
            torch.testing.assert_close(actual[row, t], total.relu())


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")
@pytest.mark.parametrize("window", [2, 3])
def test_same_is_that_of_torch(window):
    ours = layer(window, "none", "same")
    theirs = torch.nn.Conv1d(3, 4, window, padding="same").double()
    theirs.load_state_dict(ours.state_dict())
    torch.testing.assert_close(ours(inputs())[0], theirs(inputs().transpose(1, 2)).transpose(1, 2))


@pytest.mark.parametrize("window", [1, 2, 4, 8])
def test_causal_windows_do_not_see_the_future(window):
    convolution, x = layer(window, padding="causal"), inputs().requires_grad_()
    for t in range(5):
        (seen,) = torch.autograd.grad(convolution(x)[0][:, t].sum(), x)
        assert not seen[:, t + 1 :].any()
        assert seen[:, max(t - window + 1, 0) : t + 1].all()
    other = x.detach().clone()
    other[:, 3:] = math.inf
    assert torch.equal(convolution(other)[0][:, :3], convolution(x)[0][:, :3])


@pytest.mark.parametrize("window", [1, 2, 3, 8])
def test_steps_are_the_whole(window):
    convolution, x = layer(window, padding="causal"), inputs()
    whole, _ = convolution(x)
    cache = convolution.empty_cache(4)
    assert cache.shape == (4, window - 1, 3)
    assert cache.dtype == torch.float64
    assert not cache.requires_grad
    for t in range(5):
        h, cache = convolution.step(x[:, t], cache)
        torch.testing.assert_close(h, whole[:, t])
    assert torch.equal(cache, torch.nn.functional.pad(x, (0, 0, 9, 0))[:, 15 - window :])
    assert convolution.empty_cache(2, like=torch.zeros(1, dtype=torch.bfloat16)).dtype == torch.bfloat16


@pytest.mark.parametrize("padding", ["valid", "same", "causal"])
def test_a_sentence_does_not_depend_on_its_batch(padding):
    convolution, x = layer(3, padding=padding).float(), inputs().float()
    together, windows = convolution(x, MASK)
    for row, length in enumerate(LENGTHS):
        if length:
            alone, alone_windows = convolution(x[row : row + 1, :length])
            assert torch.equal(alone_windows[0], windows[row, :length])
            torch.testing.assert_close(alone[alone_windows], together[row][windows[row]], rtol=0, atol=1e-6)


@pytest.mark.parametrize("padding", ["valid", "same", "causal"])
def test_empty_inputs(padding):
    convolution = layer(3, padding=padding)
    for shape in ((0, 5, 3), (2, 0, 3), (0, 0, 3)):
        h, windows = convolution(torch.zeros(shape, dtype=torch.float64))
        assert h.shape == (*shape[:2], 4)
        assert windows.shape == shape[:2]


@pytest.mark.parametrize("window", [2, 7])
@pytest.mark.parametrize("padding", ["valid", "same", "causal"])
def test_padding_is_not_read(window, padding):
    convolution, x = layer(window, padding=padding), inputs()
    expected = convolution(x, MASK)[0]
    x[~MASK] = math.nan
    x.requires_grad_()
    actual = convolution(x, MASK)[0]
    assert torch.equal(actual, expected)
    actual.sum().backward()
    assert torch.isfinite(x.grad).all()
    assert torch.isfinite(convolution.weight.grad).all()


def test_gradient_of_steps():
    convolution, x = layer(3, padding="causal"), inputs()[:, 0].requires_grad_()
    cache = inputs()[:, 1:3].requires_grad_()
    assert torch.autograd.gradcheck(
        lambda *_: convolution.step(x, cache), (x, cache, *convolution.parameters())
    )


@pytest.mark.parametrize("padding", ["valid", "same", "causal"])
def test_gradient_and_copies(padding):
    convolution, x = layer(3, padding=padding), inputs().requires_grad_()
    assert torch.autograd.gradcheck(lambda x, *_: convolution(x, MASK)[0], (x, *convolution.parameters()))
    assert torch.equal(copy.deepcopy(convolution)(x, MASK)[0], convolution(x, MASK)[0])


def test_wrong_arguments_are_value_errors():
    with pytest.raises(ValueError, match="at least 1, got 3, 4 and 0"):
        nn.Convolution(3, 4, 0)
    with pytest.raises(ValueError, match=r"\[batch, time, 3\], got double \[4, 5, 2\]"):
        layer(2)(inputs()[:, :, :2], MASK)
    with pytest.raises(ValueError, match=r"mask must be bool \[4, 5\], got float \[4, 5\]"):
        layer(2)(inputs(), MASK.float())
    with pytest.raises(ValueError, match="'valid', 'same' or 'causal', got 'full'"):
        nn.Convolution(3, 4, 2, padding="full")
    causal = layer(3, padding="causal")
    with pytest.raises(
        ValueError, match=r"x of a step must be floating point \[batch, 3\], got double \[4, 2\]"
    ):
        causal.step(inputs()[:, 0, :2], causal.empty_cache(4))
    with pytest.raises(ValueError, match=r"cache must be \[4, 2, 3\], got \[5, 2, 3\]"):
        causal.step(inputs()[:, 0], causal.empty_cache(5))
    with pytest.raises(ValueError, match="batch must be at least 0, got -1"):
        causal.empty_cache(-1)
    for other in (layer(3), layer(3, padding="same")):
        for call in (lambda c: c.empty_cache(4), lambda c: c.step(inputs()[:, 0], causal.empty_cache(4))):
            with pytest.raises(ValueError, match=r"steps require padding 'causal', got '(valid|same)'"):
                call(other)
