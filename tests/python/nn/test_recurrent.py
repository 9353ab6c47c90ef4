from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")
nn = pytest.importorskip("sentencode.nn")

from hypothesis import given, settings
from hypothesis import strategies as st

LENGTHS = torch.tensor([3, 5, 0, 1])


KINDS = ["gru", "lstm", "normalised gru"]


def stack(kind="gru", dtype=torch.float64, seed=1, **options):
    torch.manual_seed(seed)
    layer = nn.RecurrentStack(kind[-4:].strip(), 4, 3, layer_norm=kind.startswith("norm"), **options)
    for name, gain in layer.named_parameters():
        if name.startswith("gain"):
            torch.nn.init.normal_(gain, 1)
    return layer.to(dtype)


def inputs(dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(4, 5, 4, generator=generator, dtype=dtype)


def normalised(product):
    """Mean 0 and variance 1, of both gates together and of the candidate."""
    parts = product[:6], product[6:]
    return torch.cat([(part - part.mean()) / (part.var(correction=0) + 1e-5).sqrt() for part in parts])


def cell_step(kind, x, h, c, weights):
    """The equations, of one sentence."""
    w_ih, w_hh, b_ih, b_hh, *gains = weights
    a, b = w_ih @ x, w_hh @ h
    if gains:
        a, b = gains[0] * normalised(a), gains[1] * normalised(b)
    a, b = a + b_ih, b + b_hh
    if kind != "lstm":
        (ar, az, an), (br, bz, bn) = a.chunk(3), b.chunk(3)
        r, z = (ar + br).sigmoid(), (az + bz).sigmoid()
        return (1 - z) * (an + r * bn).tanh() + z * h, c
    i, f, g, o = (a + b).chunk(4)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def reference(layer, kind, layers, directions, shortcuts, x, length, h0, c0):
    """One sentence, word by word: x [T, D], h0 and c0 [layers * directions, H]."""
    weights = layer.state_dict()
    words = [x[t] for t in range(length)]
    below, ends_h, ends_c = [], [], []
    for number in range(layers):
        if number == 0:
            inside = words
        elif shortcuts == "none":
            inside = below[-1]
        elif shortcuts == "input":
            inside = [torch.cat([w, b]) for w, b in zip(words, below[-1], strict=True)]
        else:
            inside = [torch.cat([w, *bs]) for w, *bs in zip(words, *below, strict=True)]
        sides = []
        for direction in range(directions):
            suffix = f"_l{number}" + ("_reverse" if direction else "")
            own_weights = [weight for name, weight in weights.items() if name.endswith(suffix)]
            h, c = h0[number * directions + direction], c0[number * directions + direction]
            side = []
            for word in inside[::-1] if direction else inside:
                h, c = cell_step(kind, word, h, c, own_weights)
                side.append(h)
            sides.append(side[::-1] if direction else side)
            ends_h.append(h)
            ends_c.append(c)
        below.append([torch.cat(parts) for parts in zip(*sides, strict=True)])
    output = torch.zeros(len(x), directions * 3, dtype=x.dtype)
    for t, row in enumerate(below[-1]):
        output[t] = row
    return output, torch.stack(ends_h), torch.stack(ends_c)


@settings(deadline=None, max_examples=60)
@given(
    kind=st.sampled_from(KINDS),
    layers=st.integers(1, 3),
    bidirectional=st.booleans(),
    shortcuts=st.sampled_from(["none", "input", "all"]),
    ragged=st.booleans(),
    with_state=st.booleans(),
)
def test_equals_the_equations(kind, layers, bidirectional, shortcuts, ragged, with_state):
    layer = stack(kind, layers=layers, bidirectional=bidirectional, shortcuts=shortcuts)
    x, directions = inputs(), 1 + bidirectional
    h0, c0 = torch.zeros(2, 4, layers * directions, 3, dtype=torch.float64)
    if with_state:
        h0, c0 = torch.randn(
            2, 4, layers * directions, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(5)
        )
    state = ((h0, c0) if kind == "lstm" else (h0,)) if with_state else ()
    output, last = layer(x, lengths=LENGTHS if ragged else None, state=state)
    assert len(last) == (2 if kind == "lstm" else 1)
    for b in range(4):
        length = LENGTHS[b].item() if ragged else 5
        expected, h, c = reference(layer, kind, layers, directions, shortcuts, x[b], length, h0[b], c0[b])
        torch.testing.assert_close(output[b], expected)
        torch.testing.assert_close(last[0][b], h)
        if kind == "lstm":
            torch.testing.assert_close(last[1][b], c)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_gradient(kind, lengths):
    layer = stack(kind, layers=2, bidirectional=True, shortcuts="all")
    x = inputs()[:, :, :].requires_grad_()
    state = [s.clone().requires_grad_() for s in layer.zero_state(4)]

    def run(x, *rest):
        output, last = layer(x, lengths=lengths, state=rest[: len(state)])
        return (output, *last)

    assert torch.autograd.gradcheck(run, (x, *state, *layer.parameters()), fast_mode=True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("padding", [1e30, float("nan")])
def test_padding_is_ignored(kind, padding):
    layer = stack(kind, layers=2, bidirectional=True)
    x = inputs()
    expected = layer(x, lengths=LENGTHS)[0]
    hidden = torch.arange(5) >= LENGTHS[:, None]
    x[hidden] = padding
    x[2] = 0
    x.requires_grad_()
    actual = layer(x, lengths=LENGTHS)[0]
    assert torch.equal(actual, expected)
    assert not actual[hidden].any()
    actual.sum().backward()
    assert not x.grad[hidden].any()
    assert all(torch.isfinite(p.grad).all() for p in layer.parameters())


@pytest.mark.parametrize("kind", KINDS)
def test_a_sentence_does_not_depend_on_its_batch(kind):
    layer = stack(kind, torch.float32, layers=2, bidirectional=True, shortcuts="input")
    x = inputs(torch.float32)
    together, last = layer(x, lengths=LENGTHS)
    for i, length in enumerate(LENGTHS.tolist()):
        alone, final_state = layer(x[i : i + 1, :length])
        torch.testing.assert_close(alone[0], together[i, :length], rtol=0, atol=1e-6)
        for a, b in zip(final_state, last, strict=True):
            torch.testing.assert_close(a[0], b[i], rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shortcuts", ["none", "input", "all"])
def test_steps_equal_forward(kind, shortcuts):
    layer = stack(kind, layers=3, shortcuts=shortcuts)
    x = inputs()
    whole, last = layer(x)
    state = layer.zero_state(4)
    for t in range(5):
        output, state = layer.step(x[:, t], state)
        torch.testing.assert_close(output, whole[:, t])
    for a, b in zip(state, last, strict=True):
        torch.testing.assert_close(a, b)


def test_equals_torch():
    ours = stack("lstm", torch.float32, layers=2, bidirectional=True)
    theirs = torch.nn.LSTM(4, 3, num_layers=2, bidirectional=True, batch_first=True)
    theirs.load_state_dict(ours.state_dict())
    x = inputs(torch.float32)
    output, (h, c) = ours(x)
    expected, (expected_h, expected_c) = theirs(x)
    torch.testing.assert_close(output, expected)
    torch.testing.assert_close(h.transpose(0, 1), expected_h)
    torch.testing.assert_close(c.transpose(0, 1), expected_c)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_gradients_equal_torch(kind, bidirectional, threads):
    """With enough sentences for several parts."""
    torch.manual_seed(3)
    options = {"bidirectional": bidirectional, "batch_first": True}
    theirs = (torch.nn.GRU if kind == "gru" else torch.nn.LSTM)(20, 17, num_layers=2, **options)
    ours = nn.RecurrentStack(kind, 20, 17, layers=2, bidirectional=bidirectional)
    ours.load_state_dict(theirs.state_dict())
    lengths = torch.randint(1, 30, (45,))
    directions = 1 + bidirectional
    x = torch.randn(45, 30, 20)
    initial = [torch.randn(45, 2 * directions, 17) for _ in range(1 if kind == "gru" else 2)]
    factors = torch.randn(45, 30, 17 * directions), torch.randn(45, 2 * directions, 17)

    def results(module, forward):
        inputs_ = [part.clone().requires_grad_() for part in (x, *initial)]
        output, last = forward(*inputs_)
        loss = (output * factors[0]).sum() + sum((part * factors[1]).sum() for part in last)
        return [output.detach(), *torch.autograd.grad(loss, [*inputs_, *module.parameters()])]

    def by_torch(x, *state):
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, True, enforce_sorted=False)
        state = [part.transpose(0, 1).contiguous() for part in state]
        output, last = theirs(packed, state[0] if kind == "gru" else tuple(state))
        padded = torch.nn.utils.rnn.pad_packed_sequence(output, True, total_length=30)[0]
        return padded, [part.transpose(0, 1) for part in ([last] if kind == "gru" else last)]

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        mine = results(ours, lambda x, *state: ours(x, lengths=lengths, state=state))
    finally:
        torch.set_num_threads(before)
    for one, other in zip(mine, results(theirs, by_torch), strict=True):
        # Sums of up to 700 words in another order.
        torch.testing.assert_close(one, other, rtol=0, atol=2e-5 * max(1, float(other.abs().max())))


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_backward_twice_with_retain_graph_but_no_second_derivatives(kind):
    layer = stack(kind, torch.float32, layers=2, bidirectional=True)
    x = inputs(torch.float32).requires_grad_()
    output = layer(x, lengths=LENGTHS)[0]
    tensors = [x, *layer.parameters()]
    once, again = (torch.autograd.grad(output.sum(), tensors, retain_graph=True) for _ in "ab")
    assert all(map(torch.equal, once, again))
    with pytest.raises(NotImplementedError, match="a recurrent layer cannot be differentiated twice"):
        torch.autograd.grad(output.sum(), x, create_graph=True)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_outputs_are_the_same_without_gradients(kind):
    layer = stack(kind, torch.float32, layers=2, bidirectional=True, shortcuts="all")
    x = inputs(torch.float32)
    output, last = layer(x, lengths=LENGTHS)
    with torch.no_grad():
        expected, final_state = layer(x, lengths=LENGTHS)
    assert torch.equal(output, expected)
    assert all(map(torch.equal, last, final_state))


def test_dropout_is_between_layers_in_training():
    layer = stack(layers=2, dropout=0.5)
    x = inputs()

    def run():
        torch.manual_seed(7)
        return layer(x, lengths=LENGTHS)[0]

    assert torch.equal(run(), run())
    plain = stack(layers=2)(x, lengths=LENGTHS)[0]
    assert not torch.equal(run(), plain)
    assert torch.equal(layer.eval()(x, lengths=LENGTHS)[0], plain)
    one = stack(dropout=0.5)
    assert torch.equal(one(x)[0], one(x)[0])


def test_gradients_in_evaluation():
    layer = stack("lstm", torch.float32).eval()
    x = inputs(torch.float32).requires_grad_()
    layer(x)[0].sum().backward()
    assert x.grad.any()


def test_copies_and_state():
    layer, other = stack("lstm", layers=2), stack("lstm", seed=2, layers=2)
    x = inputs()
    expected = layer(x)[0]
    assert not torch.equal(other(x)[0], expected)
    other.load_state_dict(layer.state_dict())
    for same in (other, copy.deepcopy(layer)):
        assert torch.equal(same(x)[0], expected)
        # A product of 4 rows instead of 20: kernels may sum in another order.
        torch.testing.assert_close(same.step(x[:, 0], same.zero_state(4))[0], expected[:, 0])


def test_empty_inputs():
    layer = stack()
    output, (h,) = layer(torch.zeros(2, 0, 4, dtype=torch.float64))
    assert output.shape == (2, 0, 3)
    assert not h.any()
    assert layer(torch.zeros(0, 5, 4, dtype=torch.float64), lengths=LENGTHS[:0])[0].shape == (0, 5, 3)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_orthogonal_weights(cell):
    torch.manual_seed(1)
    square = nn.RecurrentStack(
        cell, 30, 30, layers=2, bidirectional=True, shortcuts="input", orthogonal=True
    )  # the first layer's input has as many dimensions as its states
    matrices = []
    for name, weight in square.named_parameters():
        weight = weight.detach()
        if weight.dim() == 1:
            assert not weight.any(), name
        elif weight.shape[1] != 30:
            assert 0.009 < weight.std() < 0.011, name
        else:
            for gate in weight.split(30):
                torch.testing.assert_close(gate @ gate.T, torch.eye(30), atol=1e-5, rtol=0)
                matrices.append(gate)
    gates = 3 if cell == "gru" else 4
    assert len(matrices) == gates * (4 + 2)  # four recurrent matrices, and the first layer's two
    assert len({matrix.numpy().tobytes() for matrix in matrices}) == len(matrices)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s, x: s(x[:, :, :3]), r"x must be \[batch, time, 4\], got \[4, 5, 3\]"),
        (lambda s, x: s(x, lengths=LENGTHS + 1), "lengths must be from 0 to 5, got 6"),
        (lambda s, x: s(x, lengths=LENGTHS[:3]), r"lengths must be int64 \[4\], got .* \[3\]"),
        (lambda s, x: s(x, state=[torch.zeros(4, 2, 3)]), r"state must be \[4, 1, 3\], got \[4, 2, 3\]"),
        (lambda s, x: s.step(x[:, 0], []), "state must have 1 tensors, got 0"),
        (
            lambda _, x: stack(bidirectional=True).step(x[:, 0], []),
            "a bidirectional stack has no steps",
        ),
        (lambda *_: nn.RecurrentStack("rnn", 4, 3), "'gru' or 'lstm', got 'rnn'"),
        (lambda *_: nn.RecurrentStack("gru", 4, 3, shortcuts="some"), "got 'some'"),
        (
            lambda *_: nn.RecurrentStack("lstm", 4, 3, layer_norm=True),
            "layer_norm requires the cell 'gru', got",
        ),
        (lambda *_: nn.RecurrentStack("gru", 4, 0), "at least 1, got 4, 0 and 1"),
    ],
)
def test_wrong_arguments_are_value_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call(stack(), inputs())
