"""All autoencoders: comparison with eager references, decoding, and the interface of modules."""

from __future__ import annotations

import copy
import math
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
models = pytest.importorskip("sentencode.models")

from eager.convolutional import Convolutional
from eager.denoising import Denoising
from eager.mean_max import MeanMax
from eager.recurrent_autoencoder import Recurrent
from hypothesis import given, settings
from hypothesis import strategies as st

from sentencode import _nn, nn

WORDS, FEATURES, BEGIN, END = 11, 6, 0, 1

ATTENDING = {"hidden": 8, "inner": 10, "heads": 2}
CONVOLVING = {"hidden": 8, "filters": 5, "windows": (1, 3, 7)}
# name: our network, its eager reference, options of both
NETWORKS = {
    "mean_max": (models.MeanMaxNetwork, MeanMax, ATTENDING),
    "recurrent": (models.LSTMAutoencoderNetwork, Recurrent, ATTENDING),
    "denoising": (models.DenoisingNetwork, Denoising, {"hidden": 8, "drop_words": 0.0, "swap_words": 0.0}),
    "convolutional": (models.CNNLSTMAutoencoderNetwork, Convolutional, CONVOLVING),
}
each_network = pytest.mark.parametrize("name", NETWORKS)


def pair(name, seed=0, **change):
    """Our network and the eager one, with the same parameters, in double precision."""
    ours, twin, options = NETWORKS[name]
    options = (
        {"words": WORDS, "features": FEATURES, "begin": BEGIN, "end": END, "dropout": 0.0} | options | change
    )
    torch.manual_seed(seed)
    mine = ours(**options).double()
    options.pop("sampled_words", None)
    theirs = twin(**options).double()
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    buffers = {"expected": mine.expected} if "sampled_words" in change else {}
    mine.load_state_dict(theirs.state_dict() | buffers)
    return mine, theirs


def network(name, **change):
    return pair(name, **change)[0]


def sentences(seed=0, lengths=(4, 6, 1, 2)):
    """Random ids, with the end symbol and any words in the padding, and lengths."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(2, WORDS, (len(lengths), max(lengths)), generator=generator)
    for row, length in zip(ids, lengths, strict=True):
        row[length - 1] = END
    return ids, torch.tensor(lengths)


def with_garbage(x, lengths):
    """The same tensor with NaN in the padding."""
    x = x.clone()
    x[torch.arange(x.shape[1]) >= lengths[:, None]] = math.nan
    return x


# --- Twins --------------------------------------------------------------------------------------------------


VARIANTS = [
    ("mean_max", {}),
    ("mean_max", {"pooling": "mean"}),
    ("mean_max", {"pooling": "max", "positions": "learnt", "places": 4}),
    ("mean_max", {"projection": "relu", "projection_bias": True, "positions": "learnt", "epsilon": 1e-8}),
    ("mean_max", {"output_projection": True, "heads": 4}),
    ("recurrent", {}),
    ("recurrent", {"pooling": "mean", "projection": "relu", "projection_bias": True}),
    ("recurrent", {"pooling": "max", "output_projection": True}),
    ("denoising", {}),
    ("convolutional", {}),
    ("convolutional", {"windows": (2,)}),
]


@settings(deadline=None, max_examples=8)
@given(
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=4),
    seed=st.integers(0, 1000),
    smoothing=st.sampled_from([0.0, 0.2]),
    train=st.booleans(),
)
@pytest.mark.parametrize(("name", "change"), VARIANTS)
def test_equals_its_eager_twin_with_all_gradients(name, change, lengths, seed, smoothing, train):
    mine, theirs = pair(name, seed, trainable_words=True, label_smoothing=smoothing, **change)
    mine.train(train)
    theirs.train(train)
    ids, lengths = sentences(seed, tuple(lengths))
    loss, count, right = mine.loss(ids, lengths)
    expected, words, expected_right = theirs.loss(ids, lengths)
    torch.testing.assert_close(loss, expected)
    assert count == words == lengths.sum()
    assert right == expected_right
    loss.backward()
    expected.backward()
    parameters = dict(mine.named_parameters())
    assert parameters.keys() == dict(theirs.named_parameters()).keys()
    for key, parameter in theirs.named_parameters():
        torch.testing.assert_close(
            parameters[key].grad, parameter.grad, msg=lambda text, key=key: f"{key}: {text}"
        )


@pytest.mark.parametrize(("name", "change"), VARIANTS)
def test_embeddings_and_states_equal_the_twins(name, change):
    mine, theirs = pair(name, **change)
    ids, lengths = sentences()
    x, y = theirs.table(ids), theirs.table(theirs.shifted_right(ids))
    z = theirs.encode(x, lengths)
    assert mine.dim == z.shape[1]
    torch.testing.assert_close(mine.encode(x, lengths), z)
    torch.testing.assert_close(mine(x, lengths), z)
    states, expected = mine.decode(z, y, lengths), theirs.decode(z, y, lengths)
    for row, length in enumerate(lengths):
        torch.testing.assert_close(states[row, :length], expected[row, :length])


@each_network
@pytest.mark.parametrize("dropout_place", ["weights", "sublayers"])
def test_dropout_has_the_twins_mean(name, dropout_place):
    # Random numbers differ: their effect on the first layer is compared on average.
    change = {"dropout_place": dropout_place} if "heads" in NETWORKS[name][2] else {}
    mine, theirs = pair(name, dropout=0.3, **change)
    ids, lengths = sentences()
    x = theirs.table(ids).detach()
    torch.manual_seed(1)
    with torch.no_grad():
        ours = torch.stack([mine.encode(x, lengths) for _ in range(1500)])
        twins = torch.stack([theirs.encode(x, lengths) for _ in range(1500)])
        apart = ours.mean(0) - theirs.eval().encode(x, lengths)
    error = ((ours.var(0) + twins.var(0)) / 1500).sqrt()
    assert ((ours.mean(0) - twins.mean(0)).abs() < 5 * error + 1e-9).all()
    torch.testing.assert_close(ours.std(0), twins.std(0), rtol=0.2, atol=0.02)
    assert apart.abs().max() > 1e-3  # it does something
    mine.eval()
    assert torch.equal(mine.encode(x, lengths), mine.encode(x, lengths))


@each_network
def test_gradcheck(name):
    mine = network(name, trainable_words=True, label_smoothing=0.1)
    ids, lengths = sentences(lengths=(3, 1))
    x = mine.table.weight.detach()[ids].requires_grad_()
    parameters = list(mine.parameters())
    assert torch.autograd.gradcheck(lambda x, *_: mine.encode(x, lengths), (x, *parameters), fast_mode=True)
    assert torch.autograd.gradcheck(lambda *_: mine.loss(ids, lengths).sum, parameters, fast_mode=True)


# --- Batches ------------------------------------------------------------------------------------------------


@each_network
@pytest.mark.parametrize("train", [True, False])
def test_a_sentence_does_not_depend_on_its_batch(name, train):
    mine = network(name, trainable_words=True).float().train(train)
    ids, lengths = sentences()
    words = mine.table.weight.detach()
    x, y = words[ids], words[torch.cat([torch.zeros_like(ids[:, :1]), ids[:, :-1]], 1)]
    z = mine.encode(with_garbage(x, lengths), lengths)
    states = mine.decode(z, with_garbage(y, lengths), lengths)
    close = {"rtol": 0, "atol": 1e-6}
    for row, length in enumerate(lengths.tolist()):
        row_length = torch.tensor([length])
        alone = mine.encode(x[row : row + 1, :length], row_length)
        torch.testing.assert_close(alone[0], z[row], **close)
        alone = mine.decode(alone, y[row : row + 1, :length], row_length)
        torch.testing.assert_close(alone[0], states[row, :length], **close)
    whole = mine.loss(ids, lengths).sum
    single = sum(mine.loss(ids[i : i + 1, :n], lengths[i : i + 1]).sum for i, n in enumerate(lengths))
    torch.testing.assert_close(whole, single, rtol=1e-6, atol=0)


@each_network
def test_padding_has_no_gradient(name):
    mine = network(name)
    ids, lengths = sentences()
    x = with_garbage(mine.table.weight.detach()[ids], lengths).requires_grad_()
    z = mine.encode(x, lengths)
    mine.decode(z, x, lengths)[torch.arange(ids.shape[1]) < lengths[:, None]].sum().backward()
    assert torch.isfinite(x.grad).all()
    assert not x.grad[torch.arange(ids.shape[1]) >= lengths[:, None]].any()
    for key, parameter in mine.named_parameters():
        assert parameter.grad is None or torch.isfinite(parameter.grad).all(), key


# --- Learning and writing -----------------------------------------------------------------------------------


def trained(name, **change):
    torch.manual_seed(0)
    ours, _, options = NETWORKS[name]
    options = options | {"hidden": 32, "inner": 32} if "inner" in options else options | {"hidden": 32}
    mine = ours(words=WORDS, features=16, dropout=0.0, **(options | change))
    ids, lengths = sentences(lengths=(5, 7, 3, 2, 6, 4))
    optimiser = torch.optim.Adam([p for p in mine.parameters() if p.requires_grad], lr=0.01)
    for _ in range(200):
        optimiser.zero_grad()
        loss = mine.loss(ids, lengths)
        (loss.sum / loss.tokens).backward()
        optimiser.step()
    return mine.eval(), ids, lengths


@each_network
def test_overfits_and_reconstructs_one_batch(name):
    mine, ids, lengths = trained(name)
    loss = mine.loss(ids, lengths)
    assert loss.sum / loss.tokens < 0.05
    assert loss.right == loss.tokens
    z = mine.encode(mine.table.weight[ids], lengths)
    for reconstruction in (mine.reconstruct(z), mine.reconstruct(z, beam=4, best=2)):
        for row, length in enumerate(lengths.tolist()):
            assert reconstruction.lengths[row, 0] == length - 1
            assert reconstruction.ids[row, 0, : length - 1].tolist() == ids[row, : length - 1].tolist()


def log_p(mine, z, ids):
    """Log probabilities of a sentence with its end, by teacher forcing."""
    before = torch.tensor([[BEGIN, *ids[:-1]]])
    states = mine.decode(z, mine.table.weight[before].detach(), torch.tensor([len(ids)]))
    return torch.nn.functional.linear(states[0], mine.softmax.weight, mine.softmax.bias).log_softmax(1)


@each_network
@pytest.mark.parametrize("seed", range(3))
def test_decoding_steps_equal_teacher_forcing(name, seed):
    mine = network(name, seed=seed).eval()
    ids, lengths = sentences(seed)
    z = mine.encode(mine.table.weight[ids].detach(), lengths)
    greedy = mine.reconstruct(z, max_length=9)
    beam = mine.reconstruct(z, max_length=9, beam=4, best=3)
    assert (beam.scores[:, 0] >= beam.scores[:, 1]).all()
    for row in range(len(ids)):
        row_z, length = z[row : row + 1], int(greedy.lengths[row, 0])
        words = greedy.ids[row, 0, :length].tolist() + [END] * (length < 9)
        p = log_p(mine, row_z, words)
        assert p.argmax(1).tolist() == words
        score = p[range(len(words)), words].sum()
        torch.testing.assert_close(greedy.scores[row, 0], score, rtol=0, atol=1e-5)
        for n in range(3):
            words = [*beam.ids[row, n, : beam.lengths[row, n]].tolist(), END]
            score = log_p(mine, row_z, words)[range(len(words)), words].sum()
            torch.testing.assert_close(beam.scores[row, n], score, rtol=0, atol=1e-5)


@each_network
def test_is_a_decoder_for_every_search(name):
    mine = network(name).eval()
    z, first = torch.randn(3, mine.dim, dtype=torch.float64), torch.full((3,), BEGIN)
    assert isinstance(mine._cpp, _nn.Model)
    greedy = nn.greedy_search(mine._cpp, [z], first, end=END, max_length=5)
    assert torch.equal(greedy.ids, mine.reconstruct(z, max_length=5).ids)
    samples = nn.sample(mine._cpp, [z], first, end=END, max_length=5, seed=1)
    assert samples.ids.shape[:2] == (3, 1)


# --- The words ----------------------------------------------------------------------------------------------


@each_network
def test_words_are_loaded_and_frozen(name):
    mine = network(name)
    rows = torch.randn(WORDS, FEATURES)
    mine.load_words(rows.numpy())
    assert torch.equal(mine.table.weight, rows.double())
    ids, lengths = sentences()
    mine.loss(ids, lengths).sum.backward()
    assert mine.table.weight.grad is None
    with pytest.raises(ValueError, match=r"vectors must be \[11, 6\], got \[3, 6\]"):
        mine.load_words(rows[:3])


def test_words_are_sampled_only_in_training():
    ids, lengths = sentences()
    full, same = network("mean_max"), network("mean_max", sampled_words=WORDS)
    few = network("mean_max", sampled_words=3)
    expected = full.loss(ids, lengths)
    # If all words are sampled, it is the full softmax.
    loss = same.loss(ids, lengths)
    torch.testing.assert_close(loss.sum, expected.sum, rtol=1e-6, atol=0)
    assert loss.right is None
    torch.manual_seed(1)
    assert few.loss(ids, lengths).sum != few.loss(ids, lengths).sum
    torch.testing.assert_close(few.eval().loss(ids, lengths).sum, expected.sum)
    assert few.loss(ids, lengths).right == expected.right


def test_word_counts_set_sampling_probabilities():
    mine = network("denoising", sampled_words=3)
    before = mine.expected.clone()
    mine.set_word_counts(torch.tensor([0, 0, 100, 1, 1, 1, 1, 1, 1, 1, 1]))
    assert mine.expected[2] > 0.99 > before[2]
    assert (mine.expected > 0).all()
    torch.testing.assert_close(mine.expected.sum().item(), 3.0, rtol=1e-5, atol=0)
    assert "expected" in mine.state_dict()
    with pytest.raises(ValueError, match=r"word counts must be \[11\], got \[3\]"):
        mine.set_word_counts([1, 2, 3])
    with pytest.raises(ValueError, match=r"word counts must be \[11\], got \[3\]"):
        network("denoising").set_word_counts([1, 2, 3])


# --- Modules ------------------------------------------------------------------------------------------------


@each_network
def test_copies_share_no_memory(name):
    mine = network(name, sampled_words=4).float().eval()
    ids, lengths = sentences()
    x = mine.table.weight.detach()[ids]
    expected, loss = mine.encode(x, lengths), mine.loss(ids, lengths).sum
    loaded = network(name, seed=3, sampled_words=4).float().eval()
    assert not torch.equal(loaded.encode(x, lengths), expected)
    loaded.load_state_dict(mine.state_dict())
    for other in (copy.deepcopy(mine), pickle.loads(pickle.dumps(mine)), loaded):
        assert not other.training
        assert torch.equal(other.encode(x, lengths), expected)
        assert torch.equal(other.loss(ids, lengths).sum, loss)
        with torch.no_grad():
            for parameter in other.parameters():
                parameter.zero_()
        assert torch.equal(mine.encode(x, lengths), expected)


@each_network
def test_bfloat16_autocast(name):
    mine = network(name).float()
    ids, lengths = sentences()
    expected = mine.loss(ids, lengths).sum
    with torch.autocast("cpu", torch.bfloat16):
        loss = mine.loss(ids, lengths).sum
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, expected, rtol=0.05, atol=0)
    loss.backward()


@each_network
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda n: n.encode(torch.zeros(2, 3, 5).double(), torch.tensor([3, 1])), r"6\], got .*\[2, 3, 5\]"),
        (lambda n: n.encode(torch.zeros(2, 3, 6).double(), torch.tensor([4, 1])), "from 0 to 3, got 4"),
        (
            lambda n: n.encode(torch.zeros(2, 3, 6).double(), torch.tensor([3])),
            r"int64 \[2\], got long int \[1\]",
        ),
        (
            lambda n: n.decode(torch.zeros(2, 3).double(), torch.zeros(2, 3, 6), torch.tensor([3, 1])),
            "z must be",
        ),
        (lambda n: n.reconstruct(torch.zeros(2, 3).double()), r"z must be \[batch, \d+\], got \[2, 3\]"),
        (
            lambda n: n.loss(torch.zeros(2, 3), torch.tensor([3, 1])),
            r"ids must be int64 \[batch, time\], got",
        ),
        (lambda n: n.loss(torch.full((1, 2), 11), torch.tensor([2])), "ids must be from 0 to 10, got 11"),
    ],
)
def test_wrong_tensors_are_value_errors(name, call, message):
    with pytest.raises(ValueError, match=message):
        call(network(name))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("mean_max", {"hidden": 9}, "hidden must be a multiple of heads, got 9 and 2"),
        ("mean_max", {"pooling": "sum"}, "'mean', 'max', 'mean_max' or 'last', got 'sum'"),
        ("mean_max", {"positions": "odd"}, "'sinusoidal' or 'learnt', got 'odd'"),
        ("mean_max", {"dropout_place": "input"}, "'weights' or 'sublayers', got 'input'"),
        ("mean_max", {"dropout": 1.0}, r"dropout must be in \[0, 1\), got 1"),
        ("mean_max", {"end": 0}, "begin and end must be different ids below 11, got 0 and 0"),
        ("mean_max", {"sampled_words": 12}, r"from 0 \(all\) to 11, got 12"),
        ("mean_max", {"sampled_words": 3, "label_smoothing": 0.1}, "cannot be combined"),
        ("recurrent", {"hidden": 9, "heads": 3}, "hidden must be even"),
        ("denoising", {"drop_words": 1.5}, r"drop_words must be in \[0, 1\], got 1.5"),
        ("convolutional", {"windows": ()}, "windows must be one or more widths"),
        ("convolutional", {"windows": (3, 3)}, "windows must differ, got 3 twice"),
        ("convolutional", {"windows": (0,)}, r"windows\[0\] must be at least 1, got 0"),
    ],
)
def test_wrong_options_are_value_errors(name, change, message):
    ours, _, options = NETWORKS[name]
    with pytest.raises(ValueError, match=message):
        ours(**({"words": WORDS, "features": FEATURES} | options | change))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pooling": None}, r"pooling must be a str, got None \(NoneType\)"),
        ({"output_projection": "no"}, r"output_projection must be True or False, got 'no' \(str\)"),
        ({"output_projection": 1}, "output_projection must be True or False, got 1"),
        ({"hidden": True}, "hidden must be a whole number, got True"),
        ({"hidden": 3.5}, "hidden must be a whole number, got 3.5"),
        ({"dropout": "half"}, "dropout must be a number, got 'half'"),
        ({"windows": [3.5]}, r"windows must be whole numbers, got \(3.5,\)"),
        ({"windows": "345"}, "windows must be whole numbers, got '345'"),
    ],
)
def test_options_of_another_type_are_named(change, message):
    network_class = models.CNNLSTMAutoencoderNetwork if "windows" in change else models.MeanMaxNetwork
    with pytest.raises(TypeError, match=message):
        network_class(words=9, features=4, **change)


def test_unknown_options_are_type_errors():
    with pytest.raises(TypeError, match="DenoisingNetwork has no option 'layers'"):
        models.DenoisingNetwork(words=WORDS, features=FEATURES, layers=2)


@each_network
def test_sentences_without_words_and_batches_without_sentences(name):
    mine = network(name)
    x = torch.randn(2, 3, FEATURES, dtype=torch.float64, requires_grad=True)
    z = mine.encode(x, torch.tensor([0, 3]))
    assert not z[0].any()
    z.sum().backward()
    assert torch.isfinite(x.grad).all()
    assert not x.grad[0].any()
    assert all(torch.isfinite(p.grad).all() for p in mine.parameters() if p.grad is not None)
    nothing = torch.zeros(0, dtype=torch.int64)
    assert mine.encode(x[:0], nothing).shape == (0, mine.dim)
    assert mine.reconstruct(z[:0]).ids.shape == (0, 1, 0)


@pytest.mark.parametrize("beam", [1, 2])
def test_ctrl_c_ends_a_search_between_words(beam):
    script = f"""
        import os, signal, threading
        import torch
        from sentencode.models import MeanMaxNetwork
        network = MeanMaxNetwork(words=9, features=4, hidden=4, inner=4, heads=2).eval()
        with torch.no_grad():
            network.get_parameter("softmax.bias")[1] = -1e9  # it has no end
        z = torch.randn(2, network.dim)
        network.reconstruct(z, max_length=2, beam={beam})  # everything is loaded
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            network.reconstruct(z, max_length=1_000_000, beam={beam})
        except KeyboardInterrupt:
            print("stopped")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "stopped\n", done.stderr


MANY_SHAPES = """
import resource
import torch
from sentencode.models import ContextNetwork, MeanMaxNetwork

def taken():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20

networks = [
    MeanMaxNetwork(words=20, features=64, hidden=256, inner=512, heads=4).eval(),
    ContextNetwork(words=20, features=64, hidden=128, predict=2, channels=4, inner=4).eval(),
]
x = torch.randn(64, 60, 64)
with torch.inference_mode():
    for i in range(220):
        batch, time = 8 + i * 7 % 57, 3 + i * 11 % 58
        for network in networks:
            network.encode(x[:batch, :time].contiguous(), torch.full((batch,), time))
        if i == 20:
            before = taken()
print(taken() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_memory_does_not_grow_with_the_shapes_of_batches():
    """Libraries keep a program for each shape of a product: text brings thousands of shapes."""
    command = [sys.executable, "-c", MANY_SHAPES]
    shown = subprocess.run(command, check=True, capture_output=True, text=True)
    assert float(shown.stdout) < 150  # MiB; a program for each takes hundreds
