from __future__ import annotations

import collections

import pytest

torch = pytest.importorskip("torch")
models = pytest.importorskip("sentencode.models")

from eager.denoising import noisy as eager_noisy
from hypothesis import given, settings
from hypothesis import strategies as st


def words(*sentences):
    """Sentences of ids as vectors of one dimension."""
    longest = max(map(len, sentences))
    rows = [[*sentence, *[-7] * (longest - len(sentence))] for sentence in sentences]
    return torch.tensor(rows, dtype=torch.float32)[:, :, None], torch.tensor([len(s) for s in sentences])


def back(x, lengths):
    return [row[:n, 0].int().tolist() for row, n in zip(x, lengths, strict=True)]


@settings(deadline=None, max_examples=60)
@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    drop=st.sampled_from([0.0, 0.3, 1.0]),
    swap=st.sampled_from([0.0, 0.5, 1.0]),
    seed=st.integers(0, 2**32),
)
def test_effects_of_noise(lengths, drop, swap, seed):
    before = [[*range(10, 9 + n), 1] for n in lengths]
    torch.manual_seed(seed)
    x, left = models.noisy(*words(*before), drop, swap)
    torch.manual_seed(seed)
    again, _ = models.noisy(*words(*before), drop, swap)
    assert torch.equal(x, again)
    assert not x[torch.arange(x.shape[1]) >= left[:, None]].any()
    for old, new in zip(before, back(x, left), strict=True):
        assert new[-1] == 1
        assert set(new) <= set(old)
        assert len(set(new)) == len(new)
        if drop == 0:
            assert sorted(new) == sorted(old)
        if drop == 1:
            assert new == [1]
        if swap == 0:
            assert new == [word for word in old if word in new]
        unswapped = sorted(new[:-1])  # before words were swapped
        for i, word in enumerate(new[:-1]):
            pair = unswapped[i - i % 2 : i - i % 2 + 2]
            assert word in pair
            if swap == 1 and len(pair) == 2:
                assert word != unswapped[i]


def test_noise_has_the_distribution_of_the_eager_network():
    sentence = [5, 6, 7, 8, 9]
    count = 20000
    x, lengths = words(*[[*sentence, 1]] * count)
    torch.manual_seed(1)
    ours = collections.Counter(tuple(s[:-1]) for s in back(*models.noisy(x, lengths, 0.3, 0.4)))
    theirs = collections.Counter(tuple(eager_noisy(sentence, 0.3, 0.4)) for _ in range(count))
    for outcome in ours | theirs:
        p = (ours[outcome] + theirs[outcome]) / (2 * count)
        assert abs(ours[outcome] - theirs[outcome]) <= 6 * (2 * count * p * (1 - p)) ** 0.5 + 1, outcome


def test_noise_is_added_only_in_training():
    network = models.DenoisingNetwork(
        words=30, features=6, hidden=8, dropout=0.0, drop_words=0.5, swap_words=0.5
    )
    ids = torch.tensor([[*range(4, 20), 1]])
    lengths = torch.tensor([17])
    x = network.table.weight[ids]
    assert torch.equal(network.encode(x, lengths), network.encode(x, lengths))

    def loss(seed):
        torch.manual_seed(seed)
        return network.loss(ids, lengths).sum

    assert torch.equal(loss(1), loss(1))
    assert not torch.equal(loss(1), loss(2))
    network.eval()
    assert torch.equal(loss(1), loss(2))


def test_all_words_may_be_lost():
    network = models.DenoisingNetwork(words=30, features=6, hidden=8, drop_words=1.0)
    loss = network.loss(torch.tensor([[5, 6, 1]]), torch.tensor([3])).sum
    loss.backward()
    assert torch.isfinite(loss)


def test_wrong_probabilities_are_value_errors():
    with pytest.raises(ValueError, match=r"swap_words must be in \[0, 1\], got -1"):
        models.noisy(*words([5, 1]), 0.1, -1.0)
