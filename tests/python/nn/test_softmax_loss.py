from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")
nn = pytest.importorskip("sentencode.nn")

from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional


def problem(rows=7, features=5, words=11, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    h, weight, bias = (
        torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()
        for shape in ((rows, features), (words, features), (words,))
    )
    targets = torch.randint(words, (rows,), generator=generator)
    return h, weight, bias, targets


def reference(h, weight, bias, targets, row_weights, smoothing, reduction):
    """Row by row, from the definition."""
    logits = h @ weight.T + (0 if bias is None else bias)
    log_p = logits - logits.exp().sum(1, keepdim=True).log()
    target_p = torch.full_like(log_p, smoothing / len(weight))
    target_p[torch.arange(len(h)), targets.clamp_min(0)] += 1 - smoothing
    row_weights = row_weights * (targets >= 0)
    total = (-(target_p * log_p).sum(1) * row_weights).sum()
    return total / row_weights.sum() if reduction == "mean" else total


@settings(deadline=None, max_examples=40)
@given(
    rows=st.integers(1, 9),
    words=st.integers(1, 12),
    chunk=st.integers(0, 10),
    smoothing=st.sampled_from([0.0, 0.1, 0.7]),
    reduction=st.sampled_from(["mean", "sum"]),
    biased=st.booleans(),
    ignored=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_equals_the_definition(rows, words, chunk, smoothing, reduction, biased, ignored, seed):
    h, weight, bias, targets = problem(rows, 4, words, seed=seed)
    if not biased:
        bias = None
    row_weights = torch.rand(rows, dtype=torch.float64) + 0.1
    if ignored and rows > 1:
        targets[0] = -100
        row_weights[-1] = 0 if rows > 2 else row_weights[-1]
    inputs = [t for t in (h, weight, bias) if t is not None]
    losses = nn.softmax_loss(
        h,
        weight,
        targets,
        bias,
        row_weights=row_weights,
        label_smoothing=smoothing,
        reduction=reduction,
        chunk_rows=chunk,
    )
    expected = reference(h, weight, bias, targets, row_weights, smoothing, reduction)
    torch.testing.assert_close(losses.loss, expected)
    torch.testing.assert_close(
        torch.autograd.grad(3 * losses.loss, inputs), torch.autograd.grad(3 * expected, inputs)
    )
    counts = (targets >= 0) & (row_weights > 0)
    logits = h @ weight.T + (0 if bias is None else bias)
    assert losses.tokens.item() == counts.sum().item()
    assert losses.correct.item() == (logits.argmax(1) == targets)[counts].sum().item()
    nll = functional.cross_entropy(logits, targets.clamp_min(0), reduction="none") * counts
    torch.testing.assert_close(losses.nll, nll.detach())
    assert not losses.nll.requires_grad


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize(
    "needs_grad", [(True, True, True), (True, False, False), (False, True, False), (False, False, True)]
)
def test_gradient(smoothing, needs_grad):
    h, weight, bias, targets = problem()
    for tensor, need in zip((h, weight, bias), needs_grad, strict=True):
        tensor.requires_grad_(need)
    targets[2] = -100
    assert torch.autograd.gradcheck(
        lambda *p: nn.softmax_loss(p[0], p[1], targets, p[2], label_smoothing=smoothing, chunk_rows=3).loss,
        (h, weight, bias),
    )


def test_tied_gradients_add_up():
    _, table, _, targets = problem(features=4, words=11)
    table.requires_grad_()
    ids = torch.tensor([3, 1, 1, 0, 10, 4, 2])

    def loss(table):
        return nn.softmax_loss(table[ids].tanh(), table, targets, label_smoothing=0.1, chunk_rows=2).loss

    assert torch.autograd.gradcheck(loss, (table,))


def test_equals_torch_in_float_with_large_logits():
    h, weight, bias, targets = problem(50, 20, 300, torch.float32)
    with torch.no_grad():
        h.mul_(30)
    losses = nn.softmax_loss(h, weight, targets, bias, label_smoothing=0.1, chunk_rows=16)
    expected = functional.cross_entropy(functional.linear(h, weight, bias), targets, label_smoothing=0.1)
    torch.testing.assert_close(losses.loss, expected)
    torch.testing.assert_close(
        torch.autograd.grad(losses.loss, (h, weight, bias)),
        torch.autograd.grad(expected, (h, weight, bias)),
        rtol=1e-4,
        atol=1e-5,
    )


@pytest.mark.parametrize("way", ["autocast", "parameters"])
def test_bfloat16_is_near_float(way):
    h, weight, bias, targets = problem(400, 64, 500, torch.float32)
    with torch.no_grad():
        weight.mul_(0.2)
    expected = functional.cross_entropy(functional.linear(h, weight, bias), targets, label_smoothing=0.1)
    expected_grads = torch.autograd.grad(expected, (h, weight, bias))
    if way == "autocast":
        with torch.autocast("cpu", torch.bfloat16):
            loss = nn.softmax_loss(h, weight, targets, bias, label_smoothing=0.1, chunk_rows=32).loss
        grads = torch.autograd.grad(loss, (h, weight, bias))
        assert {g.dtype for g in grads} == {torch.float32}
    else:
        low = [t.detach().bfloat16().requires_grad_() for t in (h, weight, bias)]
        loss = nn.softmax_loss(low[0], low[1], targets, low[2], label_smoothing=0.1, chunk_rows=32).loss
        grads = torch.autograd.grad(loss, low)
        assert {g.dtype for g in grads} == {torch.bfloat16}
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, expected, rtol=1e-3, atol=0)
    for grad, right in zip(grads, expected_grads, strict=True):
        assert (grad.float() - right).norm() < 0.01 * right.norm()


def test_backward_again_needs_the_graph():
    h, weight, bias, targets = problem()
    loss = nn.softmax_loss(h, weight, targets, bias).loss
    first = torch.autograd.grad(loss, (h, weight, bias), retain_graph=True)
    torch.testing.assert_close(torch.autograd.grad(2 * loss, (h, weight, bias)), tuple(2 * g for g in first))
    loss = nn.softmax_loss(h, weight, targets, bias).loss
    loss.backward()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        loss.backward()
    loss = nn.softmax_loss(h, weight, targets, bias).loss
    with pytest.raises(NotImplementedError, match="twice"):
        torch.autograd.grad(loss, h, create_graph=True)


def test_no_rows_that_count():
    h, weight, bias, targets = problem()
    losses = nn.softmax_loss(h, weight, targets, bias, row_weights=torch.zeros(7, dtype=torch.bool))
    losses.loss.backward()
    assert (losses.loss.item(), losses.correct.item(), losses.tokens.item()) == (0, 0, 0)
    assert not any(t.grad.any() for t in (h, weight, bias))


def test_rows_that_do_not_count_may_hold_anything():
    h, weight, bias, targets = problem()
    mask = torch.tensor([1, 1, 0, 1, 1, 0, 1], dtype=torch.bool)
    with torch.no_grad():
        h[~mask] = torch.nan
    targets[~mask] = 10**9
    losses = nn.softmax_loss(h, weight, targets, bias, row_weights=mask, chunk_rows=2)
    alone = nn.softmax_loss(h[mask], weight, targets[mask], bias)
    torch.testing.assert_close(losses.loss, alone.loss)
    losses.loss.backward()
    assert torch.equal(h.grad[~mask], torch.zeros_like(h.grad[~mask]))
    assert torch.isfinite(weight.grad).all()


def test_several_positions_and_no_gradient():
    h, weight, bias, targets = problem(24, dtype=torch.float32)
    flat = nn.softmax_loss(h, weight, targets, bias)
    with torch.no_grad():
        losses = nn.softmax_loss(h.view(2, 3, 4, 5), weight, targets.view(2, 3, 4), bias)
    assert not losses.loss.requires_grad
    assert losses.nll.shape == (2, 3, 4)
    torch.testing.assert_close(losses.loss, flat.loss.detach())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"targets": torch.tensor([0, 1, 2, 3, 4, 5, 11])}, "from 0 to 10 or ignore_index -100, got 11"),
        ({"targets": torch.tensor([0, 1, 2, 3, 4, 5, -1])}, "from 0 to 10 .*got -1"),
        ({"targets": torch.zeros(6, dtype=torch.int64)}, r"targets must be int64 \[7\], got long.* \[6\]"),
        ({"weight": torch.zeros(11, 6)}, r"weight must be \[words, 5\], got \[11, 6\]"),
        ({"weight": torch.zeros(11, 5, dtype=torch.float32)}, "type of h, double, got float"),
        ({"bias": torch.zeros(5)}, r"bias must be \[11\], got \[5\]"),
        ({"row_weights": torch.zeros(7, dtype=torch.int64)}, r"row_weights must be bool or floating"),
        ({"label_smoothing": 1.0}, r"must be in .*, got 1"),
        ({"reduction": "none"}, "'mean' or 'sum', got 'none'"),
    ],
)
def test_wrong_arguments_are_value_errors(change, message):
    h, weight, bias, targets = problem()
    arguments = {"h": h, "weight": weight, "bias": bias, "targets": targets} | change
    with pytest.raises(ValueError, match=message):
        nn.softmax_loss(**arguments)


# --- Sampled ------------------------------------------------------------------------------------------------


def test_draws_have_the_words_as_often_as_they_are_expected():
    distribution = torch.tensor([8.0, 4.0, 2.0, 1.0, 1.0, 0.5])
    expected = nn.expected_counts(distribution, 3)
    torch.testing.assert_close(expected.sum(), torch.tensor(3.0))
    rate = -(-expected.double()).log1p() / distribution
    torch.testing.assert_close(rate, rate[:1].expand(6), rtol=1e-4, atol=0)
    generator = torch.Generator().manual_seed(1)
    seen = torch.zeros(6)
    for _ in range(4000):
        seen[nn.draw_negatives(expected, generator=generator).ids] += 1 / 4000
    torch.testing.assert_close(seen, expected, rtol=0, atol=0.03)


def test_draws_follow_their_generator():
    draw = lambda seed: nn.draw_negatives(  # noqa: E731
        nn.expected_counts(nn.log_uniform_distribution(100), 10),
        generator=torch.Generator().manual_seed(seed),
    ).ids.tolist()
    assert draw(1) == draw(1) != draw(2)


def test_sampling_all_words_is_the_full_softmax():
    h, weight, bias, targets = problem()
    targets[0] = -100
    negatives = nn.draw_negatives(nn.expected_counts(nn.log_uniform_distribution(11), 11))
    for reduction in ("mean", "sum"):
        actual = nn.sampled_softmax_loss(h, weight, targets, negatives, bias, reduction=reduction)
        expected = nn.softmax_loss(h, weight, targets, bias, reduction=reduction).loss
        torch.testing.assert_close(actual, expected)
        torch.testing.assert_close(
            torch.autograd.grad(actual, (h, weight, bias)), torch.autograd.grad(expected, (h, weight, bias))
        )


def test_sampled_equals_the_definition_and_its_gradient():
    h, weight, bias, targets = problem()
    expected = nn.expected_counts(nn.log_uniform_distribution(11), 5)
    negatives = nn.draw_negatives(expected, generator=torch.Generator().manual_seed(3))
    assert set(negatives.ids.tolist()) & set(targets.tolist())
    logits = h @ weight.T + bias - negatives.expected.double().log()
    losses = []
    for i, target in enumerate(targets.tolist()):
        among = [target] + [w for w in negatives.ids.tolist() if w != target]
        losses.append(-(logits[i, target] - logits[i, among].logsumexp(0)))
    torch.testing.assert_close(
        nn.sampled_softmax_loss(h, weight, targets, negatives, bias), torch.stack(losses).mean()
    )
    assert torch.autograd.gradcheck(
        lambda h, w, b: nn.sampled_softmax_loss(h, w, targets, negatives, b), (h, weight, bias)
    )


def test_sampled_softmax_learns_the_frequencies():
    # With the correction, logits converge to log p for any sampling distribution.
    p = torch.tensor([0.4, 0.3, 0.15, 0.1, 0.05])
    generator = torch.Generator().manual_seed(0)
    targets = torch.multinomial(p, 4000, replacement=True, generator=generator)
    h, bias = torch.ones(4000, 1), torch.zeros(5, requires_grad=True)
    expected = nn.expected_counts(torch.tensor([8.0, 1.0, 1.0, 4.0, 2.0]), 2)
    steps = torch.optim.SGD([bias], lr=0.5)
    tail = []
    for step in range(600):
        steps.zero_grad()
        negatives = nn.draw_negatives(expected, generator=generator)
        nn.sampled_softmax_loss(h, torch.zeros(5, 1), targets, negatives, bias).backward()
        steps.step()
        if step >= 200:
            tail.append(bias.detach().softmax(0))
    torch.testing.assert_close(torch.stack(tail).mean(0), p, rtol=0.1, atol=0.02)


def test_words_with_zero_probability_are_refused():
    with pytest.raises(ValueError, match="must be positive"):
        nn.expected_counts(torch.tensor([1.0, 0.0]), 1)
    with pytest.raises(ValueError, match="count must be from 1 to 3, got 4"):
        nn.expected_counts(torch.ones(3), 4)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("words", [1, 11, 63, 64, 65, 200])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("chunk", [0, 5])
def test_half_precision_on_a_gpu(words, biased, smoothing, chunk):
    # There, words are added so that rows of logits are aligned; they must have no effect.
    h, weight, bias, targets = problem(13, 16, words, dtype=torch.bfloat16)
    row_weights = torch.linspace(0.0, 1.0, 13, dtype=torch.float64)
    exact = [t.detach().double().requires_grad_() for t in (h, weight, bias)]
    there = [t.detach().float().cuda().requires_grad_() for t in (h, weight, bias)]
    expected = reference(
        *exact[:2], exact[2] if biased else None, targets, row_weights, smoothing, reduction="sum"
    )
    with torch.autocast("cuda", torch.bfloat16):
        losses = nn.softmax_loss(
            *(there[0], there[1], targets.cuda(), there[2] if biased else None),
            row_weights=row_weights.cuda(),
            label_smoothing=smoothing,
            reduction="sum",
            chunk_rows=chunk,
        )
    torch.testing.assert_close(losses.loss.cpu().double(), expected.detach(), rtol=1e-5, atol=1e-5)
    expected.backward()
    losses.loss.backward()
    for mine, true in list(zip(there, exact, strict=True))[: 3 if biased else 2]:
        assert mine.grad.shape == true.shape
        error = (mine.grad.cpu().double() - true.grad).norm() / true.grad.norm().clamp_min(1e-6)
        assert error < 1e-2 or (words == 1 and mine.grad.norm() < 1e-2)


# --- Layer --------------------------------------------------------------------------------------------------


def test_label_smoothing_is_applied_only_in_training():
    h, _, _, targets = problem(dtype=torch.float32)
    layer = nn.WordSoftmax(5, 11, label_smoothing=0.3)
    logits = functional.linear(h, layer.weight, layer.bias)
    torch.testing.assert_close(layer.logits(h), logits)
    for smoothing in (0.3, 0.0):
        layer.train(smoothing > 0)
        expected = functional.cross_entropy(logits, targets, label_smoothing=smoothing)
        torch.testing.assert_close(layer(h, targets).loss, expected)


def test_tied_layer_is_given_its_table():
    h, table, _, targets = problem(dtype=torch.float32)
    layer = nn.WordSoftmax(5, 11, bias=False, tied=True)
    assert list(layer.parameters()) == []
    torch.testing.assert_close(layer(h, targets, table=table).loss, nn.softmax_loss(h, table, targets).loss)
    negatives = nn.draw_negatives(torch.ones(11))
    torch.testing.assert_close(
        layer.sampled_loss(h, targets, negatives, table=table), layer(h, targets, table=table).loss
    )
    with pytest.raises(ValueError, match="table is required if it is tied"):
        layer(h, targets)


def test_layer_copies_and_loads():
    h, _, _, targets = problem(dtype=torch.float32)
    layer, other = nn.WordSoftmax(5, 11), nn.WordSoftmax(5, 11)
    assert layer(h, targets).loss != other(h, targets).loss
    other.load_state_dict(layer.state_dict())
    assert layer(h, targets).loss == other(h, targets).loss == copy.deepcopy(layer)(h, targets).loss
