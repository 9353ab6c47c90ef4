from __future__ import annotations

import copy
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
nn = pytest.importorskip("sentencode.nn")

from hypothesis import given, settings
from hypothesis import strategies as st


def test_rows_of_the_table():
    embedding = nn.WordEmbedding(5, 3)
    ids = torch.tensor([[4, 0], [2, 4]])
    assert torch.equal(embedding(ids), embedding.weight[ids])


def test_gradient_is_summed_over_positions():
    embedding = nn.WordEmbedding(4, 3).double()
    ids = torch.tensor([[3, 1, 3]])
    assert torch.autograd.gradcheck(lambda _: embedding(ids), (embedding.weight,))
    embedding(ids).sum().backward()
    assert embedding.weight.grad.sum(1).tolist() == [0, 3, 0, 6]


@pytest.mark.parametrize("trainable", [False, True])
def test_from_vectors(trainable):
    vectors = np.arange(12.0).reshape(4, 3)
    embedding = nn.WordEmbedding.from_vectors(vectors, trainable=trainable)
    assert embedding.weight.dtype == torch.float32
    assert np.array_equal(embedding.weight.detach().numpy(), vectors)
    assert embedding.weight.requires_grad == trainable
    assert embedding(torch.tensor([1])).requires_grad == trainable
    assert copy.deepcopy(embedding).weight.requires_grad == trainable


def test_expanded_tables_keep_their_parameter():
    embedding = nn.WordEmbedding(4, 3)
    parameter, before = embedding.weight, embedding.weight.detach().clone()
    embedding(torch.tensor([1])).sum().backward()
    embedding.expand(np.ones((2, 3)))
    assert embedding.weight is parameter
    assert parameter.grad is None
    assert torch.equal(embedding.weight, torch.cat([before, torch.ones(2, 3)]))
    embedding(torch.tensor([5])).sum().backward()
    assert embedding.weight.grad.sum(1).tolist() == [0, 0, 0, 0, 0, 3]
    assert torch.equal(copy.deepcopy(embedding)(torch.tensor([5])), torch.ones(1, 3))
    other = nn.WordEmbedding(6, 3)
    other.load_state_dict(embedding.state_dict())
    assert torch.equal(other.weight, embedding.weight)


def test_tied_with_the_softmax():
    embedding, softmax = nn.WordEmbedding(7, 4).double(), nn.WordSoftmax(4, 7, tied=True).double()
    ids, targets = torch.tensor([0, 3, 3]), torch.tensor([3, 1, 0])

    def loss(*_):
        return softmax(embedding(ids).tanh(), targets, table=embedding.weight).loss

    assert torch.autograd.gradcheck(loss, (embedding.weight, softmax.bias))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e(torch.tensor([0, 4])), "ids must be from 0 to 3, got 4"),
        (lambda e: e(torch.tensor([0, -1])), "ids must be from 0 to 3, got -1"),
        (lambda e: e(torch.tensor([0.0])), "ids must be int64, got float"),
        (lambda e: e.expand(torch.ones(2, 2)), r"\[words, 3\], got \[2, 2\]"),
        (lambda _: nn.WordEmbedding(0, 3), "at least 1, got 0 and 3"),
        (lambda _: nn.WordEmbedding.from_vectors(np.ones(3)), r"\[words, features\], got \[3\]"),
    ],
)
def test_wrong_arguments_are_value_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call(nn.WordEmbedding(4, 3))


# --- Positions ----------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=30)
@given(features=st.integers(1, 9), time=st.integers(0, 6), begin=st.integers(0, 5000))
def test_sinusoids_are_those_of_the_paper(features, time, begin):
    actual = nn.Positions(features)(torch.zeros(2, time, features, dtype=torch.float64), begin=begin)
    expected = [
        [(math.cos if i % 2 else math.sin)(t / 10000 ** ((i - i % 2) / features)) for i in range(features)]
        for t in range(begin, begin + time)
    ]
    expected = torch.tensor(expected, dtype=torch.float64).view(time, features)
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-9)


def test_learnt_positions():
    positions = nn.Positions(3, "learnt", length=4).double()
    x = torch.zeros(1, 2, 3, dtype=torch.float64)
    assert torch.equal(positions(x, begin=2), positions.weight[2:])
    assert torch.autograd.gradcheck(lambda _: positions(x, begin=1), (positions.weight,))
    with pytest.raises(ValueError, match="a sentence has 5 words, but the table has 4 rows"):
        positions(x, begin=3)
    other = nn.Positions(3, "learnt", length=4, beyond="clamp").double()
    other.load_state_dict(positions.state_dict())
    assert torch.equal(other(x, begin=3), positions.weight[[3, 3]])
    assert torch.equal(copy.deepcopy(other)(x, begin=9), positions.weight[[3, 3]])


def test_positions_are_of_their_input():
    assert nn.Positions(4)(torch.zeros(2, 3, 4, dtype=torch.bfloat16)).dtype == torch.bfloat16
    assert not list(nn.Positions(4).parameters())
    with pytest.raises(ValueError, match=r"\[..., time, 4\], got float \[2, 3\]"):
        nn.Positions(4)(torch.zeros(2, 3))
    with pytest.raises(ValueError, match="'sinusoidal' or 'learnt', got 'rotary'"):
        nn.Positions(4, "rotary")
    with pytest.raises(ValueError, match="'refuse' or 'clamp', got 'wrap'"):
        nn.Positions(4, beyond="wrap")
