from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")
nn = pytest.importorskip("sentencode.nn")

from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

LENGTHS = (3, 5, 0, 1)


def inputs(dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(4, 5, 6, generator=generator, dtype=dtype)
    memory = torch.randn(4, 5, 4, generator=generator, dtype=dtype)
    return query, memory, torch.arange(5) < torch.tensor(LENGTHS)[:, None]


def layer(seed=1, **options):
    torch.manual_seed(seed)
    built = nn.MultiHeadAttention(6, 4, 8, heads=2, **options).double()
    for parameter in built.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return built


def reference(attention, query, key, value, mask, causal, activation="none", scale=None):
    """Query by query, head by head."""
    weights = attention.state_dict()

    def project(name, x):
        x = functional.linear(x, weights[f"{name}.weight"], weights.get(f"{name}.bias"))
        return x if activation == "none" else getattr(torch, activation)(x)

    q, k, v = project("query", query), project("key", key), project("value", value)
    out = torch.zeros(*query.shape[:2], 8, dtype=query.dtype)
    shown = torch.zeros(len(query), 2, query.shape[1], key.shape[1], dtype=query.dtype)
    for b in range(len(query)):
        for t in range(query.shape[1]):
            seen = [s for s in range(key.shape[1]) if mask[b, s] and (not causal or s <= t)]
            for head in range(2):
                part = slice(4 * head, 4 * head + 4)
                if seen:
                    scores = (k[b, seen, part] @ q[b, t, part]) * (scale or 0.5)
                    p = scores.exp() / scores.exp().sum()
                    shown[b, head, t, seen] = p
                    out[b, t, part] = p @ v[b, seen, part]
    if "output.weight" in weights:
        out = functional.linear(out, weights["output.weight"], weights.get("output.bias"))
    return out, shown


@settings(deadline=None, max_examples=40)
@given(
    activation=st.sampled_from(["none", "relu", "tanh"]),
    output_projection=st.booleans(),
    bias=st.booleans(),
    scale=st.sampled_from([None, 1.5]),
    causal=st.booleans(),
    masked=st.booleans(),
)
def test_equals_the_definition(activation, output_projection, bias, scale, causal, masked):
    attention = layer(activation=activation, output_projection=output_projection, bias=bias, scale=scale)
    query, memory, mask = inputs()
    value = memory.flip(0)
    given_mask = mask if masked else None
    mask = mask if masked else torch.ones_like(mask)
    expected, shown = reference(attention, query, memory, value, mask, causal, activation, scale)
    actual = attention(query, memory, value, key_mask=given_mask, causal=causal)
    torch.testing.assert_close(actual, expected)
    actual, weights = attention.with_weights(query, memory, value, key_mask=given_mask, causal=causal)
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(weights, shown)


@pytest.mark.parametrize("causal", [False, True])
def test_gradient(causal):
    attention = layer(activation="tanh")
    query, memory, mask = inputs()
    inside = [query.requires_grad_(), memory.requires_grad_(), *attention.parameters()]
    assert torch.autograd.gradcheck(
        lambda query, memory, *_: attention(query, memory, memory, key_mask=mask, causal=causal), inside
    )


@pytest.mark.parametrize("padding", [0.0, 1e30, float("inf"), float("nan")])
def test_sentences_without_keys_give_zeros(padding):
    attention = layer(output_projection=False)
    query, memory, mask = inputs()
    expected = attention(query, memory, memory, key_mask=mask)
    memory[~mask] = padding
    memory.requires_grad_()
    actual = attention(query, memory, memory, key_mask=mask)
    assert torch.equal(actual, expected)
    assert not actual[2].any()
    actual.sum().backward()
    assert torch.isfinite(memory.grad).all()
    assert not memory.grad[~mask].any()
    assert all(torch.isfinite(p.grad).all() for p in attention.parameters())


def test_a_sentence_does_not_depend_on_its_batch():
    attention = layer().float()
    query, memory, mask = inputs(torch.float32)
    together = attention(query, memory, memory, key_mask=mask)
    for i, length in enumerate(LENGTHS):
        if length:
            keys = memory[i : i + 1, :length]
            alone = attention(query[i : i + 1, :length], keys, keys)
            torch.testing.assert_close(alone[0], together[i, :length], rtol=0, atol=1e-6)


def test_a_decoder_goes_step_by_step():
    torch.manual_seed(0)
    attention = nn.MultiHeadAttention(6, heads=3).double()
    x = torch.randn(2, 5, 6, dtype=torch.float64)
    whole = attention(x, x, x, causal=True)
    keys = values = torch.zeros(2, 3, 0, 2, dtype=torch.float64)
    for t in range(5):
        now = x[:, t : t + 1]
        key, value = attention.project(now, now)
        keys, values = torch.cat([keys, key], 2), torch.cat([values, value], 2)
        torch.testing.assert_close(attention.attend(now, keys, values), whole[:, t : t + 1])


def test_dropout_of_weights_in_training_depends_on_the_seed():
    attention = layer(dropout=0.5, output_projection=False)
    query, memory, mask = inputs()
    plain = layer(output_projection=False)(query, memory, memory, key_mask=mask)

    def run():
        torch.manual_seed(3)
        return attention(query, memory, memory, key_mask=mask)

    assert torch.equal(run(), run())
    assert not torch.allclose(run(), plain)
    total = sum(attention(query, memory, memory, key_mask=mask) for _ in range(3000)) / 3000
    torch.testing.assert_close(total, plain, rtol=0, atol=0.25)
    shown = attention.with_weights(query, memory, memory, key_mask=mask)[1]
    torch.testing.assert_close(shown[0].sum(-1), torch.ones(2, 5, dtype=torch.float64))
    torch.testing.assert_close(attention.eval()(query, memory, memory, key_mask=mask), plain)


def test_copies_and_state():
    attention, other = layer(), layer(seed=2)
    query, memory, mask = inputs()
    expected = attention(query, memory, memory, key_mask=mask)
    assert not torch.equal(other(query, memory, memory, key_mask=mask), expected)
    other.load_state_dict(attention.state_dict())
    for same in (other, copy.deepcopy(attention)):
        assert torch.equal(same(query, memory, memory, key_mask=mask), expected)
    assert sorted(attention.state_dict()) == sorted(
        f"{name}.{kind}" for name in ("query", "key", "value", "output") for kind in ("weight", "bias")
    )


def test_autocast():
    attention = layer().float()
    query, memory, mask = inputs(torch.float32)
    expected = attention(query, memory, memory, key_mask=mask)
    with torch.autocast("cpu", torch.bfloat16):
        actual = attention(query, memory, memory, key_mask=mask)
    assert actual.dtype == torch.bfloat16
    torch.testing.assert_close(actual.float(), expected, rtol=0.05, atol=0.05)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query": torch.zeros(4, 5, 7)}, r"query must be \[4, time, 6\], got \[4, 5, 7\]"),
        ({"key": torch.zeros(4, 5, 6)}, r"key must be \[batch, time, 4\], got \[4, 5, 6\]"),
        ({"value": torch.zeros(4, 6, 4)}, r"value must be \[4, 5, 4\], got \[4, 6, 4\]"),
        ({"key_mask": torch.ones(4, 5)}, r"key_mask must be bool \[4, 5\], got float \[4, 5\]"),
        ({"query": torch.zeros(4, 3, 6), "causal": True}, "as many keys as queries, got 5 and 3"),
    ],
)
def test_wrong_tensors_are_value_errors(change, message):
    query, memory, _ = inputs(torch.float32)
    with pytest.raises(ValueError, match=message):
        layer().float()(**{"query": query, "key": memory, "value": memory} | change)


def test_wrong_options_are_value_errors():
    with pytest.raises(ValueError, match="multiple of heads, got 6 and 4"):
        nn.MultiHeadAttention(6, heads=4)
    with pytest.raises(ValueError, match=r"must be in .*, got 1"):
        nn.MultiHeadAttention(6, heads=2, dropout=1.0)
    with pytest.raises(ValueError, match="got 'swish'"):
        nn.FeedForward(6, 8, "swish")


# --- Feed-forward -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("activation", ["relu", "gelu", "tanh", "none"])
def test_feed_forward(activation):
    torch.manual_seed(0)
    layer = nn.FeedForward(4, 7, activation).double()
    x = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    hidden = functional.linear(x, layer.inner.weight, layer.inner.bias)
    hidden = hidden if activation == "none" else getattr(functional, activation)(hidden)
    torch.testing.assert_close(layer(x), functional.linear(hidden, layer.outer.weight, layer.outer.bias))
    assert torch.autograd.gradcheck(lambda x, *_: layer(x), (x, *layer.parameters()))
    assert torch.equal(copy.deepcopy(layer)(x), layer(x))


def test_feed_forward_drops_hidden_units_only_in_training():
    layer = nn.FeedForward(4, 64, dropout=0.5)
    x = torch.randn(3, 4)
    assert not torch.equal(layer(x), layer(x))
    assert torch.equal(layer.eval()(x), layer(x))


@pytest.mark.parametrize("rows", [5, 200])
def test_gradients_and_their_gradients_whichever_library_multiplies(rows):
    """float32 on the CPU: where rows are many, some processors' products are oneDNN's."""
    torch.manual_seed(0)
    layer = nn.FeedForward(16, 24, "tanh")
    weights = tuple(layer.parameters())
    x = torch.randn(2, 16, rows).transpose(1, 2).requires_grad_()  # not contiguous

    def plain(x):
        hidden = functional.linear(x, layer.inner.weight, layer.inner.bias).tanh()
        return functional.linear(hidden, layer.outer.weight, layer.outer.bias)

    def both_orders(compute):
        first = torch.autograd.grad(compute(x).pow(3).sum(), (x, *weights), create_graph=True)
        return first, torch.autograd.grad(first[0].pow(2).sum(), (x, *weights), allow_unused=True)

    torch.testing.assert_close(layer(x), plain(x), rtol=1e-4, atol=1e-5)
    for ours, theirs in zip(both_orders(layer), both_orders(plain), strict=True):
        for one, other in zip(ours, theirs, strict=True):
            assert (one is None) == (other is None)
            if one is not None:
                torch.testing.assert_close(
                    one, other, rtol=1e-3, atol=1e-4 * float(other.detach().abs().max())
                )
    alone = torch.autograd.grad(layer(x).sum(), weights)  # inputs that require no gradient
    torch.testing.assert_close(alone, torch.autograd.grad(plain(x).sum(), weights), rtol=1e-3, atol=1e-3)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("enabled", [False, True])
def test_a_gpu_compiles_nothing_for_a_length(enabled):
    # cuDNN's attention would: half a second for each length of a sentence.
    before = torch.backends.cuda.cudnn_sdp_enabled()
    torch.backends.cuda.enable_cudnn_sdp(enabled)
    try:
        attention = nn.MultiHeadAttention(64, heads=2).cuda()
        with torch.profiler.profile() as recording, torch.autocast("cuda", torch.bfloat16):
            for length in (3, 17):
                x = torch.randn(5, length, 64, device="cuda")
                for causal, mask in ((True, None), (False, torch.ones(5, length, device="cuda").bool())):
                    attention(x, x, x, key_mask=mask, causal=causal).sum().backward()
        names = {event.key for event in recording.key_averages()}
        assert torch.backends.cuda.cudnn_sdp_enabled() == enabled
    finally:
        torch.backends.cuda.enable_cudnn_sdp(before)
    assert any("attention" in name for name in names)
    assert not any("cudnn" in name for name in names)
