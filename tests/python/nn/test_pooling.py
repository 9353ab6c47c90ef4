from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
nn = pytest.importorskip("sentencode.nn")

POOLINGS = ("mean", "max", "mean_max", "last")
LENGTHS = (3, 5, 1, 0, 2)


def ragged(features=4, dtype=torch.float64, seed=0):
    """Sentences of LENGTHS words, padded with what must never be seen."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(len(LENGTHS), max(LENGTHS), features, generator=generator, dtype=dtype)
    mask = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]
    return x, mask


def reference(x, mask, pooling):
    rows = []
    for sentence, shown in zip(x, mask, strict=True):
        words = sentence[shown]
        mean = words.mean(0) if len(words) else torch.zeros(x.shape[2], dtype=x.dtype)
        peak = words.max(0).values if len(words) else torch.zeros(x.shape[2], dtype=x.dtype)
        last = words[-1] if len(words) else torch.zeros(x.shape[2], dtype=x.dtype)
        rows.append({"mean": mean, "max": peak, "mean_max": torch.cat([mean, peak]), "last": last}[pooling])
    return torch.stack(rows)


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("padding", [0.0, 1e30, float("inf"), float("nan")])
def test_equals_the_reference_for_any_padding(pooling, padding):
    x, mask = ragged()
    x[~mask] = padding
    torch.testing.assert_close(nn.MaskedPooling(pooling)(x, mask), reference(x, mask, pooling))


@pytest.mark.parametrize("pooling", POOLINGS)
def test_gradient(pooling):
    x, mask = ragged()
    pool = nn.MaskedPooling(pooling)
    assert torch.autograd.gradcheck(lambda x: pool(x, mask), (x.requires_grad_(),))


@pytest.mark.parametrize("pooling", POOLINGS)
def test_padding_and_empty_sentences_get_no_gradient(pooling):
    x, mask = ragged()
    x[~mask] = float("inf")
    x.requires_grad_()
    nn.MaskedPooling(pooling)(x, mask).sum().backward()
    assert torch.equal(x.grad[~mask], torch.zeros_like(x.grad[~mask]))
    assert torch.isfinite(x.grad).all()
    assert (x.grad[mask] != 0).any()


@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_sentence_does_not_depend_on_its_batch(pooling):
    x, mask = ragged(dtype=torch.float32)
    pool = nn.MaskedPooling(pooling)
    together = pool(x, mask)
    for i, length in enumerate(LENGTHS):
        alone = pool(x[i : i + 1, :length], mask[i : i + 1, :length])
        torch.testing.assert_close(alone[0], together[i], rtol=0, atol=1e-6)


def test_no_words_at_all():
    empty = nn.MaskedPooling("mean_max")(torch.zeros(2, 0, 3), torch.zeros(2, 0, dtype=torch.bool))
    assert torch.equal(empty, torch.zeros(2, 6))


@pytest.mark.parametrize(
    ("x", "mask", "message"),
    [
        (torch.zeros(2, 3), torch.ones(2, 3, dtype=torch.bool), r"x must be .* got float \[2, 3\]"),
        (torch.zeros(2, 3, 4, dtype=torch.int64), torch.ones(2, 3, dtype=torch.bool), "floating point"),
        (torch.zeros(2, 3, 4), torch.ones(2, 3), r"mask must be bool \[2, 3\], got float \[2, 3\]"),
        (torch.zeros(2, 3, 4), torch.ones(3, 2, dtype=torch.bool), r"mask must be bool \[2, 3\].*\[3, 2\]"),
    ],
)
def test_wrong_tensors_are_value_errors(x, mask, message):
    # TORCH_CHECK_VALUE in C++: it arrives as a ValueError only when our pybind11 and torch's are the same.
    with pytest.raises(ValueError, match=message) as raised:
        nn.MaskedPooling()(x, mask)
    assert "Exception raised from" not in str(raised.value)


def test_unknown_pooling_is_a_value_error():
    with pytest.raises(ValueError, match="'mean', 'max', 'mean_max' or 'last', got 'median'"):
        nn.MaskedPooling("median")
