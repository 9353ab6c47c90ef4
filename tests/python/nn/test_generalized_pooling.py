from __future__ import annotations

import copy
import itertools

import pytest

torch = pytest.importorskip("torch")
nn = pytest.importorskip("sentencode.nn")

LENGTHS = (3, 5, 0, 1, 4)
KINDS = ("vector", "scalar")
NO_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
GPU = pytest.param("cuda", marks=[pytest.mark.gpu, NO_GPU])


def random_lengths(sentences):
    return tuple(torch.randint(0, 40, (sentences,), generator=torch.Generator().manual_seed(1)).tolist())


def layer(seed=1, features=6, hidden=4, heads=3, **options):
    torch.manual_seed(seed)
    built = nn.AttentionPooling(features, hidden, heads, **options).double()
    for parameter in built.parameters():
        torch.nn.init.normal_(parameter)
    return built


def inputs(lengths=LENGTHS, features=6, dtype=torch.float64, padding=float("nan")):
    generator = torch.Generator().manual_seed(0)
    h = torch.randn(len(lengths), max(lengths), features, generator=generator, dtype=dtype)
    for row, length in zip(h, lengths, strict=True):
        row[length:] = padding
    return h, torch.tensor(lengths)


def attention(pooling, h, lengths):
    """A, as in equation 5 and with b2, sentence by sentence and head by head."""
    w = pooling.state_dict()
    config = pooling._config
    heads, features, scalar = config["heads"], config["features"], config["scores"] == "scalar"
    f = torch.relu if config["activation"] == "relu" else torch.tanh
    b1 = w.get("hidden.bias", torch.zeros(len(w["hidden.weight"]), dtype=h.dtype))
    per_head = w["hidden.weight"].chunk(1 if scalar else heads)
    weights = []
    for sentence, length in zip(h, lengths, strict=True):
        words = sentence[:length]
        for i in range(heads):
            w1, b, w2 = per_head[0], b1, w["score.weight"][i : i + 1]
            if not scalar:
                w1, b, w2 = per_head[i], b1.chunk(heads)[i], w["score.weight"].chunk(heads)[i]
            b2 = torch.arange(1.0, len(w2) + 1, dtype=h.dtype)
            scores = (w2 @ f(w1 @ words.T + b[:, None]) + b2[:, None]).T  # [t, d], scalar [t, 1]
            weights.append(scores.softmax(0).expand(-1, features))
    return [weights[b * heads : (b + 1) * heads] for b in range(len(h))]


def reference(pooling, h, lengths):
    """v, as in equation 6."""
    rows = []
    for sentence, length, a in zip(h, lengths, attention(pooling, h, lengths), strict=True):
        rows.append(torch.cat([(weights * sentence[:length]).sum(0) for weights in a]))
    return torch.stack(rows)


@pytest.mark.parametrize("scores", KINDS)
@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("bias", [False, True])
def test_equals_the_definition(scores, activation, bias):
    pooling = layer(scores=scores, activation=activation, bias=bias)
    h, lengths = inputs()
    torch.testing.assert_close(pooling(h, lengths), reference(pooling, h, LENGTHS))
    full = h[1:2].contiguous()
    torch.testing.assert_close(pooling(full), reference(pooling, full, [5]))
    weights = pooling.weights(h, lengths)
    expected = attention(pooling, h, LENGTHS)
    for b, length in enumerate(LENGTHS):
        for i in range(3):
            ours = weights[b, i, :length]
            theirs = expected[b][i] if scores == "vector" else expected[b][i][:, 0]
            torch.testing.assert_close(ours, theirs)
        assert not weights[b, :, length:].any()


@pytest.mark.parametrize("scores", KINDS)
@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize(
    ("device", "kernel"),
    [
        ("cpu", False),
        pytest.param("cuda", False, marks=[pytest.mark.gpu, NO_GPU]),
        pytest.param("cuda", True, marks=[pytest.mark.gpu, NO_GPU]),
    ],
)
@pytest.mark.parametrize("lengths", [LENGTHS, (4, 4), (0, 0), None])
def test_composed_equals_the_operator(scores, activation, bias, heads, device, kernel, lengths):
    pooling = layer(scores=scores, activation=activation, bias=bias, heads=heads)
    h, sizes = inputs((*(lengths or (5, 5)), 5))
    h, sizes = h[:-1], sizes[:-1] if lengths else None
    if lengths is None:
        h = inputs((5, 5))[0]
    check_composed(pooling, h, sizes, device, kernel)


@pytest.mark.parametrize("scores", KINDS)
@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("device", ["cpu", GPU])
def test_composed_equals_the_operator_at_a_large_size(scores, activation, dtype, device):
    pooling = layer(scores=scores, activation=activation, features=150, hidden=37).to(dtype)
    for parameter in pooling.parameters():
        parameter.data *= 0.1
    check_composed(pooling, *inputs(random_lengths(33), 150, dtype), device)


def check_composed(pooling, h, sizes, device, kernel=False):
    """Compare outputs and gradients of the operator with those of the composition."""
    gradients = []
    for composed in (False, True):
        x = h.clone().requires_grad_()
        pooling.zero_grad()
        if composed:
            pooling.to(device)
            there = None if sizes is None else sizes.to(device)
            out = pooling._cpp.composed(x.to(device), there, kernel)
        else:
            out = pooling(x, sizes)
        (out * torch.linspace(-1, 1, out.numel(), dtype=h.dtype).to(out).view_as(out)).sum().backward()
        gradients.append(
            [part.cpu() for part in (out.detach(), x.grad, *(p.grad for p in pooling.parameters()))]
        )
    for ours, theirs in zip(*gradients, strict=True):
        tolerance = 1e-11 if h.dtype == torch.float64 else 1e-5
        torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance * max(1, float(theirs.abs().max())))


@pytest.mark.parametrize("scores", KINDS)
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_gradcheck_of_composed(scores, activation):
    pooling = layer(scores=scores, activation=activation)
    h, lengths = inputs(padding=0.0)
    h.requires_grad_()
    pooled = lambda h, *_: pooling._cpp.composed(h, lengths)  # noqa: E731
    assert torch.autograd.gradcheck(pooled, (h, *pooling.parameters()))
    if activation == "tanh":
        assert torch.autograd.gradgradcheck(pooled, (h, *pooling.parameters()))


@pytest.mark.parametrize("scores", KINDS)
def test_composed_does_not_read_lengths(scores):
    """On a GPU the host would wait for them."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Recorder(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            called.add(func.overloadpacket.__name__)
            return func(*args, **(kwargs or {}))

    called = set()
    pooling, (h, lengths) = layer(scores=scores), inputs()
    with Recorder():
        pooling._cpp.composed(h.requires_grad_(), lengths).sum().backward()
    assert "_softmax" in called
    assert not called & {"_local_scalar_dense", "nonzero", "masked_select", "item", "is_nonzero", "equal"}


@pytest.mark.parametrize("scores", KINDS)
@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_composed_computes_half_precision_in_float(scores, half):
    pooling = layer(scores=scores).float()
    h, lengths = inputs(dtype=torch.float32)
    expected = pooling(h, lengths)
    with torch.autocast("cpu", half):
        v = pooling._cpp.composed(h, lengths)
    torch.testing.assert_close(v, expected, rtol=1e-5, atol=1e-5)
    halved = copy.deepcopy(pooling).to(half)._cpp.composed(h.to(half), lengths)
    assert halved.dtype == half
    torch.testing.assert_close(halved.float(), expected, rtol=0, atol=0.2)


def test_one_word_has_no_gradient_of_scores():
    pooling = layer(scores="scalar", heads=7, features=50).float()
    h = torch.randn(9, 1, 50, requires_grad=True)
    out = pooling(h, torch.ones(9, dtype=torch.int64))
    torch.testing.assert_close(out, h.detach()[:, 0].repeat(1, 7))
    out.backward(torch.randn_like(out))
    assert not any(parameter.grad.any() for parameter in pooling.parameters())


@pytest.mark.parametrize("scores", KINDS)
@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("bias", [False, True])
def test_gradcheck(scores, activation, bias):
    pooling = layer(scores=scores, activation=activation, bias=bias)
    h, lengths = inputs(padding=0.0)
    h.requires_grad_()
    assert torch.autograd.gradcheck(lambda h, *_: pooling(h, lengths), (h, *pooling.parameters()))
    assert torch.autograd.gradcheck(lambda h, *_: pooling.weights(h, lengths), (h, *pooling.parameters()))


@pytest.mark.parametrize("scores", KINDS)
def test_double_backward_is_refused(scores):
    pooling = layer(scores=scores)
    h, lengths = inputs(padding=0.0)
    with pytest.raises(NotImplementedError, match="attention_pooling cannot be differentiated twice"):
        torch.autograd.grad(pooling(h.requires_grad_(), lengths).sum(), h, create_graph=True)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")  # opcheck of torch 2.15 itself
@pytest.mark.parametrize("scores", KINDS)
@pytest.mark.parametrize("bias", [False, True])
def test_opcheck(scores, bias):
    pooling = layer(scores=scores, bias=bias, activation="tanh")
    h = torch.randn(13, 6, dtype=torch.float64, requires_grad=True)
    offsets = torch.tensor([0, 3, 8, 8, 9, 13])
    weights = [p.detach().requires_grad_() for p in pooling.parameters()]
    w1, b1, w2 = weights if bias else (weights[0], None, weights[1])
    arguments = (h, offsets, w1, b1, w2, 3, scores, "tanh")
    torch.library.opcheck(torch.ops.sentencode.attention_pooling.default, arguments)
    with torch.no_grad():
        torch.library.opcheck(torch.ops.sentencode.attention_pooling.default, (*arguments, True))


def test_scores_and_the_hidden_layer_are_saved_only_for_gradients():
    pooling = layer()
    h, offsets = torch.randn(7, 6, dtype=torch.float64), torch.tensor([0, 3, 7])

    def saved(*weights, scores="vector"):
        _, z, _, s = torch.ops.sentencode.attention_pooling(h, offsets, *weights, 3, scores, "relu")
        return tuple(z.shape), tuple(s.shape)

    width = pooling.hidden.weight.shape[0]
    assert saved(*pooling.parameters()) == ((7, width), (3, 7, 6))
    assert saved(*layer(scores="scalar").parameters(), scores="scalar") == ((7, width // 3), (1, 7, 3))
    nothing = ((0, width), (3, 0, 6))
    assert saved(*(p.detach() for p in pooling.parameters())) == nothing
    with torch.no_grad():
        assert saved(*pooling.parameters()) == nothing


@pytest.mark.parametrize("scores", KINDS)
def test_without_scores_it_is_the_mean(scores):
    pooling = layer(scores=scores)
    torch.nn.init.zeros_(pooling.score.weight)
    h, lengths = inputs()
    mean = nn.MaskedPooling("mean")(torch.nan_to_num(h), torch.arange(5) < lengths[:, None])
    torch.testing.assert_close(pooling(h, lengths), mean.repeat(1, 3))


def test_scores_of_the_vectors_themselves_tend_to_the_maximum():
    pooling = layer(hidden=12, heads=1, bias=False)
    one = torch.eye(6, dtype=torch.float64)
    h, lengths = inputs()
    most = nn.MaskedPooling("max")(torch.nan_to_num(h), torch.arange(5) < lengths[:, None])
    distances = []
    for beta in (1, 10, 100, 10000):
        pooling.hidden.weight.data.copy_(torch.cat([one, -one]))  # relu(h) - relu(-h) = h
        pooling.score.weight.data.copy_(beta * torch.cat([one, -one], 1))
        distances.append(float((pooling(h, lengths) - most).detach().abs().max()))
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < 1e-9


def test_equal_vector_scores_are_scalar_scores():
    vector, scalar = layer(heads=1), layer(heads=1, scores="scalar")
    vector.hidden.weight.data.copy_(scalar.hidden.weight)
    vector.hidden.bias.data.copy_(scalar.hidden.bias)
    vector.score.weight.data.copy_(scalar.score.weight.expand(6, -1))
    h, lengths = inputs()
    torch.testing.assert_close(vector(h, lengths), scalar(h, lengths))


@pytest.mark.parametrize("scores", KINDS)
def test_large_scores_do_not_overflow(scores):
    pooling = layer(scores=scores).float()
    h, lengths = inputs(dtype=torch.float32)
    pooling.score.weight.data *= 1e6
    v = pooling(h, lengths)
    assert torch.isfinite(v).all()
    torch.testing.assert_close(v, reference(pooling, h, LENGTHS), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("scores", KINDS)
def test_a_sentence_does_not_depend_on_its_batch_or_the_threads(scores):
    lengths = random_lengths(40)
    pooling = layer(scores=scores, features=300, hidden=64).float()
    for parameter in pooling.parameters():
        parameter.data *= 0.05
    h, sizes = inputs(lengths, 300, torch.float32)
    before = torch.get_num_threads()
    try:
        batches = []
        for threads in (1, 3):
            torch.set_num_threads(threads)
            batches.append(pooling(h, sizes))
    finally:
        torch.set_num_threads(before)
    torch.testing.assert_close(*batches, rtol=0, atol=1e-6)
    for i, length in enumerate(lengths):
        alone = pooling(h[i : i + 1, :length])
        torch.testing.assert_close(alone[0], batches[0][i], rtol=0, atol=1e-6)


@pytest.mark.parametrize("scores", KINDS)
@pytest.mark.parametrize("lengths", [LENGTHS, (0, 2, 1), (0, 0)])
def test_padding_is_not_read_and_has_no_gradient(scores, lengths):
    pooling = layer(scores=scores)
    outputs = []
    for padding in (float("nan"), float("inf"), 7.0):
        h = inputs((*lengths, 5), padding=padding)[0][:-1].requires_grad_()
        v = pooling(h, torch.tensor(lengths))
        pooling.zero_grad()
        v.square().sum().backward()
        outputs.append([v.detach(), h.grad, *(p.grad for p in pooling.parameters())])
        for b, length in enumerate(lengths):
            assert not h.grad[b, length:].any()
        assert not v[torch.tensor(lengths) == 0].any()
        assert all(torch.isfinite(part).all() for part in outputs[-1])
    for one, other in itertools.pairwise(outputs):
        assert all(map(torch.equal, one, other))


@pytest.mark.parametrize("scores", KINDS)
def test_arguments_need_not_be_contiguous(scores):
    pooling = layer(scores=scores).float()
    h, lengths = inputs((120, 80, 100), dtype=torch.float32, padding=0.0)
    expected = pooling(h, lengths)
    offsets = torch.tensor([0, 120, 200, 300])
    flat = torch.cat([row[:n] for row, n in zip(h, lengths, strict=True)])

    def strided(x):
        return torch.stack([x, torch.full_like(x, 7)], -1)[..., 0]

    weights = [strided(p.detach()) for p in pooling.parameters()]
    assert not any(w.is_contiguous() for w in weights)
    v = torch.ops.sentencode.attention_pooling(strided(flat), strided(offsets), *weights, 3, scores, "relu")[
        0
    ]
    torch.testing.assert_close(v, expected)
    with torch.no_grad():
        pooling.hidden.bias.data = strided(pooling.hidden.bias)
    torch.testing.assert_close(pooling(h, lengths), expected)


@pytest.mark.parametrize("scores", KINDS)
def test_arguments_of_backward_are_checked(scores):
    pooling = layer(scores=scores)
    h, offsets = torch.randn(7, 6).double(), torch.tensor([0, 3, 7])
    w1, b1, w2 = pooling.parameters()
    options = (3, scores, "relu")
    v, z, norms, s = torch.ops.sentencode.attention_pooling(h, offsets, w1, b1, w2, *options)
    for name, (grad_v, *saved) in {
        "grad_v": (v[:0], v, z, norms, s),
        "v": (v, v[:, :5], z, norms, s),
        "z": (v, v, z.float(), norms, s),
        "norms": (v, v, z, norms[0], s),
        "s": (v, v, z, norms, s[1:]),
    }.items():
        with pytest.raises(ValueError, match=f"attention_pooling_backward: {name} must be double"):
            torch.ops.sentencode.attention_pooling_backward(grad_v, h, offsets, w1, w2, *saved, *options)


@pytest.mark.parametrize("scores", KINDS)
def test_float_equals_double_with_any_number_of_threads(scores):
    """Sizes are no multiples of a vector register, and one sentence is far longer than the others."""
    torch.manual_seed(1)
    pooling = nn.AttentionPooling(53, 131, 3, scores=scores)
    for p in pooling.parameters():
        torch.nn.init.normal_(p, std=0.2)
    h = torch.randn(40, 1100, 53)
    lengths = torch.randint(1, 46, (40,))
    lengths[7] = 1100

    def outputs(layer, h):
        h = h.clone().requires_grad_()
        v = layer(h, lengths)
        return [v.detach(), *torch.autograd.grad(v.square().sum(), [h, *layer.parameters()])]

    expected, threads = outputs(copy.deepcopy(pooling).double(), h.double()), torch.get_num_threads()
    for count in (1, 3, 16):
        torch.set_num_threads(count)
        try:
            ours = outputs(pooling, h)
        finally:
            torch.set_num_threads(threads)
        for one, exact in zip(ours, expected, strict=True):
            torch.testing.assert_close(one.double(), exact, rtol=1e-4, atol=2e-5 * float(exact.abs().max()))


@pytest.mark.parametrize("scores", KINDS)
@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0)])
def test_empty_inputs(scores, shape):
    pooling = layer(scores=scores)
    h = torch.zeros(*shape, 6, dtype=torch.float64, requires_grad=True)
    for lengths in (None, torch.zeros(shape[0], dtype=torch.int64)):
        v = pooling(h, lengths)
        assert v.shape == (shape[0], 18)
        assert not v.any()
        v.sum().backward()
        assert not h.grad.any()


@pytest.mark.parametrize("scores", KINDS)
def test_backward_twice_with_retain_graph(scores):
    pooling = layer(scores=scores).float()
    h, lengths = inputs(dtype=torch.float32, padding=0.0)
    v = pooling(h.requires_grad_(), lengths)
    once, again = (torch.autograd.grad(v.sum(), [h, *pooling.parameters()], retain_graph=True) for _ in "ab")
    assert all(map(torch.equal, once, again))


def slow_penalty(heads, lambda_, batch_distance):
    """Equations 7 to 9, pair by pair."""
    batch = heads[None] if heads.dim() == 2 else heads
    hinges = []
    for i, j in itertools.combinations(range(batch.shape[1]), 2):
        distances = [(sentence[i] - sentence[j]).square().sum() for sentence in batch]
        if batch_distance:
            distances = [sum(distances) / len(distances)]
        hinges.append([(lambda_ - distance).clamp_min(0) for distance in distances])
    loss = sum(sum(pair) / len(pair) for pair in hinges)
    flat = [float(h > 0) for pair in hinges for h in pair]
    return loss, sum(flat) / len(flat)


@pytest.mark.parametrize("batch_distance", [False, True])
@pytest.mark.parametrize("lambda_", [1.0, 3.0, 8.0])
def test_head_penalty(lambda_, batch_distance):
    for shape in ((4, 3), (5, 4, 3)):
        heads = torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        penalty = nn.head_penalty(heads, lambda_, batch_distance)
        loss, active = slow_penalty(heads, lambda_, batch_distance)
        torch.testing.assert_close(penalty.loss, loss)
        assert float(penalty.active) == pytest.approx(active)
        heads.requires_grad_()
        assert torch.autograd.gradcheck(lambda x: nn.head_penalty(x, lambda_, batch_distance).loss, heads)
    assert nn.head_penalty(torch.ones(1, 3)).loss.item() == 0
    assert float(nn.head_penalty(torch.ones(0, 4, 3)).active) == 0


def test_penalties_of_similar_heads_are_precise_in_half_precision():
    generator = torch.Generator().manual_seed(1)
    heads = torch.randn(600, generator=generator) + 0.03 * torch.randn(32, 3, 600, generator=generator)
    expected = nn.head_penalty(heads.double(), 1.5)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        penalty = nn.head_penalty(heads, 1.5)
    assert float(penalty.loss) == pytest.approx(float(expected.loss), rel=1e-4)
    assert float(penalty.active) == float(expected.active)
    half = nn.head_penalty(heads.bfloat16(), 1.5)
    expected = nn.head_penalty(heads.bfloat16().double(), 1.5)
    assert half.loss.dtype == torch.float32
    assert float(half.loss) == pytest.approx(float(expected.loss), rel=2e-3)


@pytest.mark.parametrize("scores", KINDS)
def test_penalties_of_no_sentences(scores):
    pooling = layer(scores=scores)
    h, lengths = torch.zeros(0, 3, 6).double(), torch.zeros(0, dtype=torch.int64)
    for name in ("attention", "embeddings"):
        assert pooling.penalty(name, h, lengths, pooling(h, lengths)).loss.item() == 0


def test_nan_reaches_all_gradients():
    pooling = layer()
    h = torch.full((1, 3, 6), torch.nan).double()
    pooling(h, torch.tensor([3])).sum().backward()
    assert all(p.grad.isnan().all() for p in pooling.parameters())


@pytest.mark.parametrize("scores", KINDS)
@pytest.mark.parametrize("batch_distance", [False, True])
def test_penalties_of_the_layer(scores, batch_distance):
    pooling = layer(scores=scores)
    h, lengths = inputs()
    v = pooling(h, lengths)
    parameters = pooling.hidden.weight.view(3, -1) if scores == "vector" else pooling.score.weight
    weights = torch.zeros(5, 3, 5, 6 if scores == "vector" else 1, dtype=torch.float64)
    for b, (length, a) in enumerate(zip(LENGTHS, attention(pooling, h, LENGTHS), strict=True)):
        weights[b, :, :length] = torch.stack(a)[:, :, : weights.shape[3]]
    expected = {
        "parameters": parameters,
        "attention": weights.flatten(2),
        "embeddings": v.view(5, 3, 6),
    }
    for name, heads in expected.items():
        penalty = pooling.penalty(name, h, lengths, v, lambda_=20.0, batch_distance=batch_distance)
        loss, active = slow_penalty(heads, 20.0, batch_distance)
        torch.testing.assert_close(penalty.loss, loss)
        assert float(penalty.active) == pytest.approx(active)
        assert penalty.loss.requires_grad
        assert not penalty.active.requires_grad
    assert pooling.penalty("none").loss.item() == 0


def test_the_penalty_of_parameters_is_inactive_initially():
    penalty = nn.AttentionPooling(600, 300, 5).penalty("parameters")
    assert penalty.loss.item() == 0
    assert float(penalty.active) == 0


def test_heads_are_initialised_separately():
    torch.manual_seed(0)
    one, five = nn.AttentionPooling(60, 30, 1), nn.AttentionPooling(60, 30, 5)
    for name in ("hidden", "score"):
        single, several = getattr(one, name).weight, getattr(five, name).weight
        assert several.shape[0] == 5 * single.shape[0]
        assert several.std().item() == pytest.approx(single.std().item(), rel=0.05)
    assert nn.AttentionPooling(60, 30, 5, scores="scalar").hidden.weight.shape == (30, 60)


@pytest.mark.parametrize("scores", KINDS)
def test_half_precision_is_computed_in_float(scores):
    pooling = layer(scores=scores).float()
    h, lengths = inputs(dtype=torch.float32)
    expected = pooling(h, lengths)
    with torch.autocast("cpu", torch.bfloat16):
        torch.testing.assert_close(pooling(h, lengths), expected, rtol=0, atol=0)
        v = pooling(h.bfloat16(), lengths)
    torch.testing.assert_close(v, expected, rtol=0, atol=0.1)
    halved = copy.deepcopy(pooling).bfloat16()(h.bfloat16(), lengths)
    assert halved.dtype == torch.bfloat16
    torch.testing.assert_close(halved.float(), expected, rtol=0, atol=0.2)


@pytest.mark.parametrize("scores", KINDS)
@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_weights_of_half_precision_are_normalised_in_float(scores, half):
    pooling = layer(scores=scores).float()
    h, lengths = inputs(dtype=torch.float32, padding=0.0)
    weights, penalty = (
        pooling.weights(h, lengths),
        pooling.penalty("attention", h, lengths, lambda_=20.0).loss,
    )
    actual = copy.deepcopy(pooling).to(half).weights(h.to(half), lengths)
    assert actual.dtype == torch.float32
    torch.testing.assert_close(actual, weights, rtol=0, atol=0.05)
    with torch.autocast("cpu", half):
        torch.testing.assert_close(pooling.weights(h, lengths).float(), weights, rtol=0, atol=0.05)
        loss = pooling.penalty("attention", h, lengths, lambda_=20.0).loss
    torch.testing.assert_close(loss.float(), penalty, rtol=0.02, atol=0)


def test_copies_and_state():
    pooling, other = layer(), layer(seed=2)
    h, lengths = inputs()
    expected = pooling(h, lengths)
    other.load_state_dict(pooling.state_dict())
    for same in (other, copy.deepcopy(pooling)):
        assert torch.equal(same(h, lengths), expected)
    assert {name: tuple(p.shape) for name, p in pooling.named_parameters()} == {
        "hidden.weight": (12, 6),
        "hidden.bias": (12,),
        "score.weight": (18, 4),
    }


def op(*changed):
    """Calls the operator with some arguments changed."""
    pooling = layer().float()
    arguments = {
        "h": torch.zeros(7, 6),
        "offsets": torch.tensor([0, 3, 7]),
        "w1": pooling.hidden.weight,
        "b1": None,
        "w2": pooling.score.weight,
        "heads": 3,
        "scores": "vector",
        "activation": "relu",
    }
    return torch.ops.sentencode.attention_pooling(**{**arguments, **dict(changed)})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda p, h, n: p(h[:, :, :5], n),
            r"h must be floating point \[batch, time, 6\], got double \[5, 5, 5\]",
        ),
        (lambda p, h, n: p(h.float(), n), "h must be double, as the weights, got float"),
        (lambda p, h, n: p(h, n[:4]), r"lengths must be int64 \[5\], got long int \[4\]"),
        (lambda p, h, n: p(h, n.int()), r"lengths must be int64 \[5\], got int \[5\]"),
        (lambda p, h, n: p(h, n + 1), "lengths must be from 0 to 5, got 6"),
        (lambda p, h, n: p(h, n - 1), "lengths must be from 0 to 5, got -1"),
        (lambda p, h, n: p.weights(h, n + 1), "lengths must be from 0 to 5, got 6"),
        (lambda p, *_: p.penalty("words"), "penalty must be 'none', .* or 'embeddings', got 'words'"),
        (
            lambda p, *_: p.penalty("embeddings"),
            r"pooled must be floating point \[batch, 18\], got no tensor",
        ),
        (lambda p, *_: p.penalty("attention"), r"h must be floating point \[batch, time, 6\]"),
        (lambda *_: nn.head_penalty(torch.zeros(3)), r"heads must be floating point \[heads, features\] or"),
        (lambda *_: nn.AttentionPooling(6, 0), "at least 1, got 6, 0 and 1"),
        (lambda *_: nn.AttentionPooling(6, 4, scores="matrix"), "'vector' or 'scalar', got 'matrix'"),
        (lambda *_: nn.AttentionPooling(6, 4, activation="gelu"), "'relu' or 'tanh', got 'gelu'"),
        (lambda *_: op(("offsets", torch.tensor([0, 3, 8]))), "offsets must ascend from 0 to 7, got"),
        (lambda *_: op(("offsets", torch.tensor([0, 3, 2]))), "offsets must ascend from 0 to 7, got"),
        (lambda *_: op(("offsets", torch.tensor([1, 3, 7]))), "offsets must ascend from 0 to 7, got"),
        (lambda *_: op(("offsets", torch.tensor([0.0, 7.0]))), "offsets must be int64"),
        (lambda *_: op(("heads", 4)), r"w2 must be float \[24, 3\] on cpu, got float \[18, 4\] on cpu"),
        (lambda *_: op(("heads", 0)), "heads must be at least 1, got 0"),
        (
            lambda *_: op(("h", torch.zeros(7, 5))),
            r"w1 must be float \[heads \* hidden, 5\] on cpu, got float \[12, 6\] on cpu",
        ),
        (lambda *_: op(("h", torch.zeros(7, 6).half())), r"h must be float or double \[words, features\]"),
        (lambda *_: op(("b1", torch.zeros(3))), r"b1 must be float \[12\]"),
        (lambda *_: op(("activation", "none")), "activation must be 'relu' or 'tanh', got 'none'"),
        (lambda *_: op(("activation", "xyz")), "activation must be 'relu' or 'tanh', got 'xyz'"),
        (lambda *_: op(("scores", "matrix")), "scores must be 'vector' or 'scalar', got 'matrix'"),
        (
            lambda *_: op(("w1", torch.zeros(0, 6)), ("w2", torch.zeros(18, 0))),
            "w1 must have a positive multiple of 3 rows",
        ),
        (lambda *_: op(("h", torch.zeros(7, 0)), ("w1", torch.zeros(12, 0))), "at least 1 column"),
    ],
)
def test_wrong_arguments_are_value_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call(layer(), *inputs())
