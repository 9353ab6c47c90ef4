from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")
nn = pytest.importorskip("sentencode.nn")

POSITIONS = (3, 5, 0, 1)
MASK = torch.arange(5) < torch.tensor(POSITIONS)[:, None]


def inputs(dtype=torch.float64, rows=4):
    generator = torch.Generator().manual_seed(0)
    memory = torch.randn(4, 5, 4, generator=generator, dtype=dtype)
    return torch.randn(rows, 2, 6, generator=generator, dtype=dtype), memory


def layer(seed=1, **options):
    torch.manual_seed(seed)
    built = nn.AdditiveAttention(6, 4, 3, **options).double()
    for parameter in built.parameters():
        torch.nn.init.normal_(parameter)
    return built


def reference(attention, query, memory, mask):
    """The equations, for one query and one position at a time."""
    w = attention.state_dict()
    context = torch.zeros(*query.shape[:2], memory.shape[2], dtype=query.dtype)
    weights = torch.zeros(*query.shape[:2], memory.shape[1], dtype=query.dtype)
    for b in range(len(query)):
        for t in range(query.shape[1]):
            seen = [s for s in range(memory.shape[1]) if mask[b, s]]
            scores = []
            for s in seen:
                inside = w["query.weight"] @ query[b, t] + w["key.weight"] @ memory[b, s]
                scores.append(w["score.weight"][0] @ (inside + w.get("key.bias", 0)).tanh())
            total = sum(score.exp() for score in scores)
            for s, score in zip(seen, scores, strict=True):
                weights[b, t, s] = score.exp() / total
                context[b, t] += weights[b, t, s] * memory[b, s]
    return context, weights


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_equals_the_definition(bias, masked):
    attention = layer(bias=bias)
    query, memory = inputs()
    expected, shown = reference(attention, query, memory, MASK if masked else torch.ones_like(MASK))
    context, weights = attention(query, memory, key_mask=MASK if masked else None)
    torch.testing.assert_close(context, expected)
    torch.testing.assert_close(weights, shown)


def test_keys_need_not_be_at_the_left():
    attention = layer()
    query, memory = inputs()
    mask = torch.tensor(
        [[0, 1, 0, 1, 1], [1, 0, 0, 0, 1], [0, 0, 1, 0, 0], [1, 1, 1, 1, 1]], dtype=torch.bool
    )
    for actual, expected in zip(
        attention(query, memory, key_mask=mask), reference(attention, query, memory, mask), strict=True
    ):
        torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("masked", [False, True])
def test_gradient(masked):
    attention = layer()
    query, memory = (part.requires_grad_() for part in inputs())
    assert torch.autograd.gradcheck(
        lambda query, memory, *_: attention(query, memory, key_mask=MASK if masked else None),
        (query, memory, *attention.parameters()),
    )


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
@pytest.mark.parametrize("padding", [0.0, 1e30, float("inf"), float("nan")])
def test_sentences_without_keys_give_zeros(padding):
    attention = layer()
    query, memory = inputs()
    expected, shown = attention(query, memory, key_mask=MASK)
    memory[~MASK] = padding
    memory.requires_grad_()
    with torch.autograd.detect_anomaly(check_nan=True):
        context, weights = attention(query, memory, key_mask=MASK)
        assert torch.equal(context, expected)
        assert torch.equal(weights, shown)
        assert not context[2].any()
        assert not weights[2].any()
        (context.sum() + weights.square().sum()).backward()
    assert torch.isfinite(memory.grad).all()
    assert not memory.grad[~MASK].any()
    assert all(torch.isfinite(p.grad).all() for p in attention.parameters())


def test_a_sentence_does_not_depend_on_its_batch():
    attention = layer().float()
    query, memory = inputs(torch.float32)
    context, weights = attention(query, memory, key_mask=MASK)
    for i, positions in enumerate(POSITIONS):
        alone, alone_weights = attention(query[i : i + 1], memory[i : i + 1, :positions])
        torch.testing.assert_close(alone[0], context[i], rtol=0, atol=1e-6)
        torch.testing.assert_close(alone_weights[0], weights[i, :, :positions], rtol=0, atol=1e-6)


def test_hypotheses_attend_to_the_memory_of_their_sentence():
    attention = layer()
    query, memory = inputs(rows=12)  # three of each
    expected = attention(query, memory.repeat_interleave(3, 0), key_mask=MASK.repeat_interleave(3, 0))
    actual = attention.attend(query, *attention.project(memory, MASK), key_mask=MASK)
    for ours, theirs in zip(actual, expected, strict=True):
        assert ours.shape == theirs.shape
        torch.testing.assert_close(ours, theirs)


def test_copies_and_state():
    attention, other = layer(), layer(seed=2)
    query, memory = inputs()
    expected = attention(query, memory)[0]
    assert not torch.equal(other(query, memory)[0], expected)
    other.load_state_dict(attention.state_dict())
    for same in (other, copy.deepcopy(attention)):
        assert torch.equal(same(query, memory)[0], expected)
    assert {name: tuple(p.shape) for name, p in attention.named_parameters()} == {
        "query.weight": (3, 6),
        "key.weight": (3, 4),
        "key.bias": (3,),
        "score.weight": (1, 3),
    }
    assert nn.AdditiveAttention(6).key.weight.shape == (6, 6)


def test_autocast():
    attention = layer().float()
    query, memory = inputs(torch.float32)
    expected = attention(query, memory, key_mask=MASK)
    with torch.autocast("cpu", torch.bfloat16):
        actual = attention(query, memory, key_mask=MASK)
    for ours, theirs in zip(actual, expected, strict=True):
        torch.testing.assert_close(ours.float(), theirs, rtol=0, atol=0.1)


def test_empty_inputs():
    attention = layer()
    for batch, time, positions in ((2, 3, 0), (2, 0, 5), (0, 3, 5)):
        query = torch.zeros(batch, time, 6, dtype=torch.float64)
        memory = torch.zeros(batch, positions, 4, dtype=torch.float64)
        for mask in (None, torch.ones(batch, positions, dtype=torch.bool)):
            context, weights = attention(query, memory, key_mask=mask)
            assert context.shape == (batch, time, 4)
            assert weights.shape == (batch, time, positions)
            assert not context.any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda a, q, m: a(q[:, :, :5], m),
            r"query must be floating point \[batch, time, 6\], got double \[4, 2, 5\]",
        ),
        (
            lambda a, q, m: a(q, m[:, :, :3]),
            r"memory must be floating point \[batch, positions, 4\], got double",
        ),
        (
            lambda a, q, m: a(q, m.long()),
            r"memory must be floating point \[batch, positions, 4\], got long int",
        ),
        (
            lambda a, q, m: a(q[:2], m),
            r"query and memory must be .* of one batch, got \[2, 2, 6\] and \[4, 5, 4\]",
        ),
        (lambda a, q, m: a(q, m, MASK[:, :4]), r"key_mask must be bool \[4, 5\], got bool \[4, 4\]"),
        (lambda a, q, m: a(q, m, MASK.float()), r"key_mask must be bool \[4, 5\], got float \[4, 5\]"),
        (lambda a, q, m: a.attend(q[:3], *a.project(m)), "a multiple of the 4 sentences .* got 3"),
        (lambda a, q, m: a.attend(q, *a.project(m[:0])), "a multiple of the 0 sentences .* got 4"),
        (lambda a, q, m: a.attend(q, m, m), r"keys must be \[batch, positions, 3\], got \[4, 5, 4\]"),
        (lambda a, q, m: a.attend(q, m[:, :, :3], m[:, :4]), r"values must be \[4, 5, 4\], got \[4, 4, 4\]"),
        (lambda *_: nn.AdditiveAttention(6, 4, 0), "at least 1, got 6, 4 and 0"),
    ],
)
def test_wrong_arguments_are_value_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call(layer(), *inputs())
