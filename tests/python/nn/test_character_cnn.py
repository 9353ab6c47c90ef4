from __future__ import annotations

import copy
import pickle

import pytest

torch = pytest.importorskip("torch")
nn = pytest.importorskip("sentencode.nn")

from sentencode import _core

ALPHABET = "abcdeé😀"
WORDS = ["a", "bad", "cabbage", "", "dé😀x", "ee"]


def layer(windows=(1, 2, 5)):
    torch.manual_seed(0)
    built = nn.CharacterCnn(ALPHABET, features=3, filters=4, windows=windows).double()
    for parameter in built.parameters():
        torch.nn.init.normal_(parameter)
    return built


def characters(words=WORDS, most=7):
    return torch.from_numpy(_core.characters_of(words, ALPHABET, most))


def by_loop(built, word):
    """A word's row, window by window."""
    ids = [2 + ALPHABET.index(c) if c in ALPHABET else 1 for c in word][:7]
    maxima = []
    for window in (1, 2, 5):
        weight = built.get_parameter(f"convolution_{window}.weight")
        bias = built.get_parameter(f"convolution_{window}.bias")
        best = torch.zeros(4, dtype=torch.float64)
        for begin in range(max(len(ids) - window + 1, 1)) if ids else ():
            total = bias.clone()
            for i, character in enumerate(ids[begin : begin + window]):
                total = total + weight[:, :, i] @ built.table[character]
            best = torch.maximum(best, total.relu())
        maxima.append(best)
    return torch.cat(maxima)


def test_equals_a_loop_over_characters():
    built = layer()
    rows = built(characters())
    assert rows.shape == (len(WORDS), built.dim)
    for row, word in zip(rows, WORDS, strict=True):
        torch.testing.assert_close(row, by_loop(built, word))


def test_a_words_row_depends_on_no_other_word():
    built = layer()
    rows = built(characters())
    for i, word in enumerate(WORDS):
        torch.testing.assert_close(built(characters([word]))[0], rows[i], rtol=0, atol=0)
        if len(word) < 6:  # fewer positions for characters
            torch.testing.assert_close(built(characters([word], 6))[0], rows[i])


def test_gradients():
    built, ids = layer(), characters()
    parameters = list(built.parameters())

    assert torch.autograd.gradcheck(lambda *_: built(ids), parameters)
    built(ids).sum().backward()
    assert built.table.grad[0].abs().sum() == 0  # of padding


def test_begins_as_the_public_code_does():
    torch.manual_seed(0)
    built = nn.CharacterCnn(ALPHABET * 1, features=15, filters=100)
    assert 0.008 < built.table.std() < 0.012
    bound = (3 * 5 * 15) ** -0.5
    weight = built.get_parameter("convolution_5.weight")
    assert 0.95 * bound < weight.abs().max() <= bound
    assert built.get_parameter("convolution_5.bias").abs().max() == 0


def test_copies():
    built = layer()
    for other in (copy.deepcopy(built), pickle.loads(pickle.dumps(built))):
        torch.testing.assert_close(other(characters()), built(characters()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": 0}, "features, filters and windows must be at least 1, got 0"),
        ({"windows": []}, "got 15, 100 and 0 windows"),
        ({"windows": [3, 3]}, "windows must differ, got 3 twice"),
        ({"alphabet": "aa"}, "twice"),
    ],
)
def test_wrong_options(change, message):
    with pytest.raises(ValueError, match=message):
        nn.CharacterCnn(**({"alphabet": "ab"} | change))


def test_wrong_characters():
    with pytest.raises(ValueError, match="characters must be int64"):
        layer()(torch.zeros(2, 3))
