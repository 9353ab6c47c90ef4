from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")
nn = pytest.importorskip("sentencode.nn")

WORDS = torch.tensor([4, 2, 0, 3])
POSITIONS = torch.tensor([3, 5, 4, 0])
MASK = torch.arange(5) < POSITIONS[:, None]


def layer(seed=1):
    torch.manual_seed(seed)
    built = nn.ConditionalGRU(6, 3, memory_features=4, attention=2).double()
    for parameter in built.parameters():
        torch.nn.init.normal_(parameter)
    return built


def inputs(dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    shapes = ((4, 4, 6), (4, 3), (4, 5, 4))  # of words, states and memory
    return tuple(torch.randn(shape, generator=generator, dtype=dtype) for shape in shapes)


def gru(w, name, x, h):
    """The equations of a GRU, for one sentence."""
    a = w[f"{name}.weight_ih_l0"] @ x + w[f"{name}.bias_ih_l0"]
    b = w[f"{name}.weight_hh_l0"] @ h + w[f"{name}.bias_hh_l0"]
    (ar, az, an), (br, bz, bn) = a.chunk(3), b.chunk(3)
    r, z = (ar + br).sigmoid(), (az + bz).sigmoid()
    return (1 - z) * (an + r * bn).tanh() + z * h


def look(w, state, memory):
    """The attention of one state to the positions of one sentence."""
    scores = [
        w["attention.score.weight"][0]
        @ (
            w["attention.query.weight"] @ state + w["attention.key.weight"] @ value + w["attention.key.bias"]
        ).tanh()
        for value in memory
    ]
    if not scores:
        return torch.zeros(4, dtype=memory.dtype), torch.zeros(0, dtype=memory.dtype)
    p = torch.stack(scores).exp()
    p = p / p.sum()
    return sum(weight * row for weight, row in zip(p, memory, strict=True)), p


def reference(layer, x, state, memory, positions, words):
    """Sentence by sentence, word by word."""
    w = layer.state_dict()
    states, contexts, weights = (torch.zeros(4, 4, width, dtype=x.dtype) for width in (3, 4, 5))
    for b in range(4):
        h = state[b]
        for t in range(words[b]):
            s = gru(w, "word", x[b, t], h)
            contexts[b, t], weights[b, t, : positions[b]] = look(w, s, memory[b, : positions[b]])
            h = gru(w, "context", contexts[b, t], s)
            states[b, t] = h
    return states, contexts, weights


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("ragged", [False, True])
def test_equals_the_equations(masked, ragged):
    decoder, (x, state, memory) = layer(), inputs()
    outputs = decoder(x, state, memory, MASK if masked else None, WORDS if ragged else None)
    positions = POSITIONS if masked else torch.full((4,), 5)
    words = WORDS if ragged else torch.full((4,), 4)
    for ours, theirs in zip(outputs, reference(decoder, x, state, memory, positions, words), strict=True):
        torch.testing.assert_close(ours, theirs)
    assert torch.equal(outputs.contexts, outputs[1])


def test_transitions_are_torchs_cells():
    decoder, (x, state, memory) = layer(), inputs()
    words, contexts = torch.nn.GRUCell(6, 3).double(), torch.nn.GRUCell(4, 3).double()
    for cell, ours in ((words, decoder.word), (contexts, decoder.context)):
        cell.load_state_dict({name.removesuffix("_l0"): p for name, p in ours.state_dict().items()})
    outputs = decoder(x, state, memory)
    torch.testing.assert_close(outputs.states[:, 0], contexts(outputs.contexts[:, 0], words(x[:, 0], state)))


def test_gradient():
    decoder = layer()
    inside = [part.requires_grad_() for part in inputs()]
    assert torch.autograd.gradcheck(
        lambda x, state, memory, *_: tuple(decoder(x, state, memory, MASK, WORDS)),
        (*inside, *decoder.parameters()),
        fast_mode=True,
    )


def test_gradient_without_attention():
    torch.manual_seed(1)
    decoder = nn.ConditionalGRU(6, 3, memory_features=4, attention=0).double()
    x, state, memory = (part.requires_grad_() for part in inputs())
    assert torch.autograd.gradcheck(
        lambda x, state, memory, *_: tuple(decoder(x, state, memory, None, WORDS)),
        (x, state, memory.detach()[:, :1].requires_grad_(), *decoder.parameters()),
        fast_mode=True,
    )


def by_steps(decoder, x, state, memory, mask, lengths):
    """The same, of PyTorch's operators and their gradients."""
    keys, values = decoder.project(memory, mask)
    outputs = []
    for t in range(x.shape[1]):
        now = decoder.step(x[:, t], state, keys, values, mask)
        state = now.states
        there = (t < lengths).to(x.dtype)[:, None]
        outputs.append([part * there for part in now])
    return [torch.stack(parts, 1) for parts in zip(*outputs, strict=True)]


@pytest.mark.parametrize("attention", [20, 0])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_many_sentences_on_all_threads(attention, dtype):
    """Widths that no vector divides, and lengths from none to all."""
    torch.manual_seed(2)
    decoder = nn.ConditionalGRU(9, 21, memory_features=18, attention=attention).to(dtype)
    batch, time, positions = 37, 11, 6 if attention else 1
    x, state = torch.randn(batch, time, 9, dtype=dtype), torch.randn(batch, 21, dtype=dtype)
    memory, lengths = torch.randn(batch, positions, 18, dtype=dtype), torch.randint(0, time + 1, (batch,))
    mask = torch.arange(positions) < torch.randint(0, positions + 1, (batch, 1)) if attention else None
    inputs_ = [part.requires_grad_() for part in (x, state, memory)]
    parameters = [*inputs_, *decoder.parameters()]
    results = []
    for go in (decoder, by_steps):
        outputs = go(*inputs_, mask, lengths) if go is decoder else go(decoder, *inputs_, mask, lengths)
        loss = sum(
            (part * (1 + torch.arange(part.shape[2])).to(dtype).sin()).square().sum() for part in outputs
        )
        results.append([*outputs, *torch.autograd.grad(loss, parameters, allow_unused=True)])
    tolerance = {} if dtype == torch.float64 else {"rtol": 1e-3, "atol": 1e-3}  # sums over all words
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, **tolerance)


def test_it_cannot_be_differentiated_twice():
    decoder, (x, state, memory) = layer(), inputs()
    with pytest.raises(NotImplementedError, match="ConditionalGRU cannot be differentiated twice"):
        torch.autograd.grad(decoder(x.requires_grad_(), state, memory).states.sum(), x, create_graph=True)


@pytest.mark.parametrize("attention", [5, 0])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_steps_are_the_same_without_gradients(attention, dtype):
    torch.manual_seed(3)
    decoder = nn.ConditionalGRU(6, 19, memory_features=4, attention=attention).to(dtype)
    x, state = torch.randn(40, 6, dtype=dtype), torch.randn(40, 19, dtype=dtype)
    memory = torch.randn(8, 7 if attention else 1, 4, dtype=dtype)  # shared by five hypotheses each
    mask = torch.arange(7) < torch.arange(8)[:, None] if attention else None
    keys, values = decoder.project(memory, mask)
    expected = decoder.step(x, state, keys, values, mask)
    assert expected.states.requires_grad
    with torch.no_grad():
        outputs = decoder.step(x, state, keys, values, mask)
    assert not outputs.states.requires_grad
    for ours, theirs in zip(outputs, expected, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("padding", [1e30, float("inf"), float("nan")])
def test_padding_is_ignored(padding):
    decoder, (x, state, memory) = layer(), inputs()
    expected = decoder(x, state, memory, MASK, WORDS)
    padding_mask = torch.arange(4) >= WORDS[:, None]
    x[padding_mask], memory[~MASK] = padding, padding
    x.requires_grad_()
    memory.requires_grad_()
    outputs = decoder(x, state, memory, MASK, WORDS)
    for ours, theirs in zip(outputs, expected, strict=True):
        assert torch.equal(ours, theirs)
        assert not ours[padding_mask].any()
    sum(part.square().sum() for part in outputs).backward()
    assert not x.grad[padding_mask].any()
    assert not memory.grad[~MASK].any()
    assert all(torch.isfinite(p.grad).all() for p in (x, memory, *decoder.parameters()))


def test_states_do_not_depend_on_later_words():
    decoder, (x, state, memory) = layer(), inputs()
    x.requires_grad_()
    for t in range(4):
        (seen,) = torch.autograd.grad(decoder(x, state, memory).states[:, t].sum(), x)
        assert seen[:, : t + 1].any(dim=2).all()
        assert not seen[:, t + 1 :].any()


def test_a_sentence_does_not_depend_on_its_batch():
    decoder, (x, state, memory) = layer().float(), inputs(torch.float32)
    together = decoder(x, state, memory, MASK, WORDS)
    for i, (words, positions) in enumerate(zip(WORDS.tolist(), POSITIONS.tolist(), strict=True)):
        one = slice(i, i + 1)
        states, contexts, weights = decoder(x[one, :words], state[one], memory[one, :positions])
        torch.testing.assert_close(states[0], together.states[i, :words], rtol=0, atol=1e-6)
        torch.testing.assert_close(contexts[0], together.contexts[i, :words], rtol=0, atol=1e-6)
        torch.testing.assert_close(weights[0], together.weights[i, :words, :positions], rtol=0, atol=1e-6)


def test_steps_equal_forward():
    decoder, (x, state, memory) = layer(), inputs()
    whole = decoder(x, state, memory, MASK)
    keys, values = decoder.project(memory, MASK)
    for t in range(4):
        now = decoder.step(x[:, t], state, keys, values, MASK)
        state = now.states
        for ours, theirs in zip(now, whole, strict=True):
            torch.testing.assert_close(ours, theirs[:, t])


def test_hypotheses_attend_to_the_memory_of_their_sentence():
    decoder, (_, _, memory) = layer(), inputs()
    x, state = (torch.randn(12, width, dtype=torch.float64) for width in (6, 3))  # three per sentence
    keys, values = decoder.project(memory, MASK)
    outputs = decoder.step(x, state, keys, values, MASK)
    copies = [part.repeat_interleave(3, 0) for part in (keys, values, MASK)]
    for ours, theirs in zip(outputs, decoder.step(x, state, *copies), strict=True):
        assert ours.shape == theirs.shape
        torch.testing.assert_close(ours, theirs)


class StateDecoder(nn.Decoder):
    """The states are the logits; memory and cache are separate."""

    def __init__(self, decoder):
        super().__init__()
        self.decoder = decoder

    def start(self, memory):
        vectors, mask, state = memory
        return [*self.decoder.project(vectors, mask), mask], [state]

    def step(self, ids, memory, cache):
        now = self.decoder.step(torch.eye(6, dtype=torch.float64)[ids], *cache, *memory)
        return now.states * 5, [now.states], now.weights


def test_scores_of_beam_search_equal_forward():
    decoder, (_, state, memory) = layer(), inputs()
    first = torch.tensor([1, 2, 1, 2])
    outputs = nn.beam_search(StateDecoder(decoder), [memory, MASK, state], first, end=0, max_length=4, beam=3)
    words = torch.cat([first[:, None], outputs.ids[:, 0]], 1)
    states, _, weights = decoder(torch.eye(6, dtype=torch.float64)[words], state, memory, MASK)
    log_p = (states * 5).float().log_softmax(2)
    for b, length in enumerate(outputs.lengths[:, 0].tolist()):
        following = [*outputs.ids[b, 0, :length].tolist(), 0]
        expected = sum(log_p[b, t, word].item() for t, word in enumerate(following) if t < log_p.shape[1])
        assert outputs.scores[b, 0].item() == pytest.approx(expected, abs=1e-5)
        torch.testing.assert_close(outputs.alignments[b, 0, :length], weights[b, :length].float())


def test_copies_and_state():
    decoder, other = layer(), layer(seed=2)
    arguments = inputs()
    expected = decoder(*arguments).states
    assert not torch.equal(other(*arguments).states, expected)
    other.load_state_dict(decoder.state_dict())
    for same in (other, copy.deepcopy(decoder)):
        assert torch.equal(same(*arguments).states, expected)
    assert [name for name, _ in decoder.named_children()] == ["word", "attention", "context"]
    assert nn.ConditionalGRU(6, 3, memory_features=4).attention.key.weight.shape == (3, 4)


def test_empty_inputs():
    decoder, (x, state, memory) = layer(), inputs()
    for words, positions in ((0, 5), (4, 0)):
        outputs = decoder(x[:, :words], state, memory[:, :positions])
        assert [tuple(part.shape) for part in outputs] == [
            (4, words, 3),
            (4, words, 4),
            (4, words, positions),
        ]
    assert decoder(x[:0], state[:0], memory[:0]).states.shape == (0, 4, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda d, x, s, m: d(x[:, :, :5], s, m),
            r"x must be floating point \[batch, time, 6\], got double \[4, 4, 5\]",
        ),
        (lambda d, x, s, m: d(x, s[:3], m), r"state must be \[4, 3\], got \[3, 3\]"),
        (lambda d, x, s, m: d(x, s, m[:3]), r"memory must be \[4, positions, 4\], got \[3, 5, 4\]"),
        (
            lambda d, x, s, m: d(x, s, m[:, :, :3]),
            r"memory must be \[4, positions, 4\], got \[4, 5, 3\]",
        ),
        (lambda d, x, s, m: d(x, s, m, MASK[:, :4]), r"key_mask must be bool \[4, 5\], got bool \[4, 4\]"),
        (lambda d, x, s, m: d(x, s, m, MASK, WORDS + 1), "lengths must be from 0 to 4, got 5"),
        (
            lambda d, x, s, m: d.step(x, s, *d.project(m)),
            r"x of a step must be floating point \[batch, 6\], got double \[4, 4, 6\]",
        ),
        (
            lambda d, x, s, m: d.step(x[:, 0], s[:, :2], *d.project(m)),
            r"state must be \[4, 3\], got \[4, 2\]",
        ),
        (lambda d, x, s, m: d.step(x[:3, 0], s[:3], *d.project(m)), "a multiple of the 4 sentences .* got 3"),
        (lambda *_: nn.ConditionalGRU(6, 0, 4), "at least 1, and attention at least 0, got 6, 0, 4 and 0"),
    ],
)
def test_wrong_arguments_are_value_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call(layer(), *inputs())
