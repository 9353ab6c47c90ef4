"""The autoencoders whose decoder attends to the sentence embedding."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
models = pytest.importorskip("sentencode.models")

from eager.mean_max import MeanMax
from eager.recurrent_autoencoder import Recurrent

SMALL = {"words": 9, "features": 6, "hidden": 8, "inner": 10, "heads": 2, "dropout": 0.0}
TWINS = [(models.MeanMaxNetwork, MeanMax), (models.LSTMAutoencoderNetwork, Recurrent)]
IDS, LENGTHS = torch.tensor([[5, 3, 8, 1], [4, 1, 0, 0]]), torch.tensor([4, 2])


@pytest.mark.parametrize(("ours", "twin"), TWINS)
@pytest.mark.parametrize("pooling", ["mean", "max", "mean_max"])
def test_attention_is_that_of_the_reconstruction(ours, twin, pooling):
    torch.manual_seed(0)
    mine, theirs = ours(**SMALL, pooling=pooling).double(), twin(**SMALL, pooling=pooling).double()
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    mine.load_state_dict(theirs.state_dict())
    weights = mine.attention(mine.table.weight[IDS], LENGTHS)
    rows = 2 if pooling == "mean_max" else 1
    assert weights.shape == (2, 2, 4, rows)
    torch.testing.assert_close(weights.sum(3), torch.ones(2, 2, 4, dtype=torch.float64))
    expected = theirs.attention(IDS, LENGTHS)
    for row, length in enumerate(LENGTHS):
        torch.testing.assert_close(weights[row, :, :length], expected[row, :, :length])
    if rows == 2:
        assert weights.std() > 0.01


def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


def test_the_public_codes_size():
    # As the public code: encoder 18.65M, decoder 31.24M, softmax 44.2M of 21,583 words.
    network = models.MeanMaxNetwork(
        words=21583,
        features=300,
        hidden=2048,
        inner=4096,
        heads=8,
        positions="learnt",
        places=34,
        projection="relu",
        projection_bias=True,
        epsilon=1e-8,
    )
    assert round(count(network.encoder) / 1e6, 2) == 18.65
    assert round(count(network.decoder) / 1e6, 2) == 31.24
    assert round(count(network.softmax) / 1e6, 1) == 44.2
    assert network.dim == 4096


def test_twins_have_codes_of_the_same_width():
    for pooling in ("mean", "max", "mean_max"):
        widths = {ours(**SMALL, pooling=pooling).dim for ours, _ in TWINS}
        assert widths == {16 if pooling == "mean_max" else 8}


def test_positions_beyond_the_table_have_its_last_row():
    network = models.MeanMaxNetwork(**SMALL, positions="learnt", places=3).double().eval()
    x = torch.randn(1, 6, 6, dtype=torch.float64)
    z = network.encode(x, torch.tensor([6]))
    longer = models.MeanMaxNetwork(**SMALL, positions="learnt", places=6).double().eval()
    state = network.state_dict()
    for part in ("encoder", "decoder"):
        rows = state[f"{part}.positions.weight"]
        state[f"{part}.positions.weight"] = torch.cat([rows, rows[-1:].expand(3, -1)])
    longer.load_state_dict(state)
    torch.testing.assert_close(longer.encode(x, torch.tensor([6])), z)
    # Reconstructions may be longer than the table, too.
    written = network.reconstruct(z, max_length=8)
    torch.testing.assert_close(longer.reconstruct(z, max_length=8).scores, written.scores)


def test_the_order_of_words_matters():
    network = models.MeanMaxNetwork(**SMALL).eval()
    x = torch.randn(1, 5, 6)
    apart = network.encode(x, torch.tensor([5])) - network.encode(x.flip(1), torch.tensor([5]))
    assert apart.abs().max() > 1e-3


def test_mean_and_maximum_of_one_word_are_equal():
    network = models.MeanMaxNetwork(**SMALL).eval()
    mean, top = network.encode(torch.randn(1, 1, 6), torch.tensor([1])).chunk(2, 1)
    assert torch.equal(mean, top)
