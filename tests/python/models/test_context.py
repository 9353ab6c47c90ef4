"""The networks that learn from ordered text: comparison with eager references, and decoding."""

from __future__ import annotations

import copy
import math
import pickle

import pytest

torch = pytest.importorskip("torch")
models = pytest.importorskip("sentencode.models")

from eager.context import Context, FastSent, SkipThoughts
from eager.convolutional import Composite, Hierarchical
from hypothesis import given, settings
from hypothesis import strategies as st

from sentencode import nn

WORDS, FEATURES, BEGIN, END, PREDICT = 11, 6, 0, 1, 5
DECODERS = ["cnn", "rnn", "autoregressive_cnn", "autoregressive_rnn"]
AUTOREGRESSIVE = DECODERS[2:]
SIZES = {"words": WORDS, "features": FEATURES, "begin": BEGIN, "end": END}
CONTEXT = {"hidden": 4, "predict": PREDICT, "channels": 7, "inner": 5, "window": 3}
CONVOLVING = {"hidden": 8, "filters": 5, "windows": (1, 3, 7), "dropout": 0.0}
# our network, its eager reference, options of both, number of target fields
VARIANTS = {
    **{name: (models.ContextNetwork, Context, {**CONTEXT, "decoder": name}, 1) for name in DECODERS},
    **{
        f"cnn-{pooling}-{cell}": (
            models.ContextNetwork,
            Context,
            {**CONTEXT, "decoder": "cnn", "pooling": pooling, "cell": cell, "window": 2},
            1,
        )
        for pooling, cell in [("mean", "gru"), ("max", "lstm"), ("last", "gru"), ("last", "lstm")]
    },
    **{
        f"{decoder}-{layers}-layers": (
            models.ContextNetwork,
            Context,
            {**CONTEXT, "decoder": decoder, "decoder_layers": layers, "word_bias": False},
            1,
        )
        for decoder, layers in [("cnn", 2), ("cnn", 4), ("autoregressive_cnn", 2), ("autoregressive_cnn", 4)]
    },
    "cnn-untied": (models.ContextNetwork, Context, {**CONTEXT, "decoder": "cnn", "tied": False}, 1),
    **{
        f"skip-{bidirectional}-{tied}": (
            models.SkipThoughtsNetwork,
            SkipThoughts,
            {"hidden": 6, "bidirectional": bidirectional, "tied": tied},
            2,
        )
        for bidirectional in (False, True)
        for tied in (False, True)
    },
    **{
        f"skip-normalised-{bidirectional}": (
            models.SkipThoughtsNetwork,
            SkipThoughts,
            {"hidden": 6, "bidirectional": bidirectional, "tied": bidirectional, "layer_norm": True},
            2,
        )
        for bidirectional in (False, True)
    },
    "fast": (models.FastSentNetwork, FastSent, {}, 2),
    "fast-ae": (models.FastSentNetwork, FastSent, {"autoencode": True}, 2),
    "fast-tied": (models.FastSentNetwork, FastSent, {"tied": True, "word_bias": True}, 2),
    "composite": (models.CompositeCNNNetwork, Composite, CONVOLVING, 1),
    "hierarchical": (models.HierarchicalCNNNetwork, Hierarchical, CONVOLVING, 3),
    "hierarchical-2-sentences": (models.HierarchicalCNNNetwork, Hierarchical, CONVOLVING, 1),
}
each_variant = pytest.mark.parametrize("name", VARIANTS)
each_decoder = pytest.mark.parametrize("decoder", DECODERS)


def pair(name, seed=0, **change):
    """Our network and the eager one, with the same parameters, in double precision."""
    ours, twin, options, _ = VARIANTS[name]
    options = SIZES | options | change
    torch.manual_seed(seed)
    mine = ours(**options).double()
    theirs = twin(**options).double()
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    state = theirs.state_dict()
    if options.get("tied", ours not in (models.FastSentNetwork, models.SkipThoughtsNetwork)):
        del state["softmax.weight"]
    mine.load_state_dict({**dict(mine.named_buffers()), **state})  # the buffer of a sampled softmax
    return mine, theirs


def network(name="cnn", **change):
    return pair(name, **change)[0]


def batch(name="cnn", seed=0, lengths=(4, 6, 1, 2), following=(5, 2, 4, 1)):
    """Random ids and lengths of all fields, also in the padding."""
    generator = torch.Generator().manual_seed(seed)
    fields = []
    for number in range(1 + VARIANTS[name][3]):
        field_lengths = lengths if number == 0 else following[number - 1 :] + following[: number - 1]
        fields.append(torch.randint(2, WORDS, (len(field_lengths), max(field_lengths)), generator=generator))
        fields.append(torch.tensor(field_lengths))
    return fields


def single(fields, i):
    """The batch of one sentence, without padding."""
    fields_of_one = []
    for ids, lengths in zip(fields[::2], fields[1::2], strict=True):
        fields_of_one += [ids[i : i + 1, : lengths[i]], lengths[i : i + 1]]
    return fields_of_one


@settings(deadline=None, max_examples=6)
@given(
    lengths=st.lists(st.tuples(st.integers(1, 7), st.integers(1, PREDICT)), min_size=1, max_size=4),
    seed=st.integers(0, 1000),
    train=st.booleans(),
)
@each_variant
def test_equals_its_eager_twin_with_all_gradients(name, lengths, seed, train):
    mine, theirs = pair(name, seed)
    mine.train(train)
    lengths, following = zip(*lengths, strict=True)
    fields = batch(name, seed, lengths, following)
    loss, tokens, right = mine.loss(*fields)
    expected, words = theirs.loss(*fields)
    torch.testing.assert_close(loss, expected)
    assert tokens == words
    assert 0 <= right <= tokens
    loss.backward()
    expected.backward()
    parameters = dict(mine.named_parameters())
    assert parameters.keys() == dict(theirs.named_parameters()).keys()
    for key, parameter in theirs.named_parameters():
        grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        torch.testing.assert_close(parameters[key].grad, grad, msg=lambda text, key=key: f"{key}: {text}")


@each_variant
def test_vectors_are_the_twins_in_any_batch(name):
    mine, theirs = pair(name)
    ids, lengths = batch(name)[:2]
    x = theirs.table(ids).detach()
    z = theirs.encode(x, lengths)
    assert mine.dim == z.shape[1]
    garbage = x.clone()
    garbage[torch.arange(x.shape[1]) >= lengths[:, None]] = math.nan
    torch.testing.assert_close(mine.encode(garbage, lengths), z)
    single_precision = copy.deepcopy(mine).float()
    embeddings = single_precision.encode(garbage.float(), lengths)
    for row, length in enumerate(lengths):
        alone = single_precision.encode(x[row : row + 1, :length].float(), length[None])
        torch.testing.assert_close(alone[0], embeddings[row], rtol=0, atol=1e-6)
        torch.testing.assert_close(embeddings[row].double(), z[row], rtol=0, atol=1e-6)


@each_variant
def test_gradcheck(name):
    mine = network(name)
    fields = batch(name, lengths=(3, 1), following=(2, 3))
    x = mine.table.weight.detach()[fields[0]].requires_grad_()
    parameters = list(mine.parameters())
    assert torch.autograd.gradcheck(lambda x, *_: mine.encode(x, fields[1]), (x, *parameters), fast_mode=True)
    assert torch.autograd.gradcheck(lambda *_: mine.loss(*fields).sum, parameters, fast_mode=True)


@each_variant
def test_a_loss_does_not_depend_on_the_batch(name):
    mine = network(name)
    fields = batch(name)
    alone = [mine.loss(*single(fields, i)) for i in range(len(fields[0]))]
    whole = mine.loss(*fields)
    torch.testing.assert_close(whole.sum, sum(loss.sum for loss in alone))
    assert whole.tokens == sum(loss.tokens for loss in alone)
    assert whole.right == sum(loss.right for loss in alone)


# --- Word by word -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decoder", [*DECODERS, "autoregressive_cnn-2-layers", "autoregressive_cnn-4-layers"])
def test_decoding_steps_equal_forward(decoder):
    # Steps cannot read later words, so if both are equal, the parallel pass does not either.
    mine = network(decoder).eval()
    fields = batch(decoder)
    z = mine.encode(mine.table.weight[fields[0]], fields[1]).detach()
    scores = nn.score(mine._cpp, [z], torch.zeros(4, dtype=torch.int64), *fields[2:])
    torch.testing.assert_close(-scores.sum(), mine.loss(*fields).sum.detach(), rtol=1e-6, atol=0)


@each_decoder
def test_following_has_a_prediction_for_each_position(decoder):
    mine = network(decoder).eval()
    z = torch.randn(3, mine.dim, dtype=torch.float64)
    predictions = mine.following(z)
    assert predictions.shape == (3, PREDICT, WORDS)
    torch.testing.assert_close(predictions.exp().sum(2), torch.ones(3, PREDICT, dtype=torch.float64))
    best, ids = predictions.max(2)
    first, lengths = torch.zeros(3, dtype=torch.int64), torch.full((3,), PREDICT)
    score = nn.score(mine._cpp, [z], first, ids, lengths)
    torch.testing.assert_close(score, best.sum(1), rtol=1e-6, atol=0)


@pytest.mark.parametrize("decoder", [*AUTOREGRESSIVE, "autoregressive_cnn-4-layers"])
def test_predictions_depend_only_on_previous_words(decoder):
    mine = network(decoder)
    ids, lengths, following, _ = batch(decoder, lengths=(4,), following=(PREDICT,))
    other = following.clone()
    other[0, 3] = (other[0, 3] - 1) % 9 + 2

    def costs(words):
        sums = [mine.loss(ids, lengths, words[:, :n], torch.tensor([n])).sum.item() for n in range(1, 6)]
        return [after - before for before, after in zip([0.0, *sums[:-1]], sums, strict=True)]

    original, changed = costs(following), costs(other)
    assert original[:3] == changed[:3]
    assert original[3] != changed[3]
    assert original[4] != changed[4]  # but by those before


@each_decoder
def test_several_hypotheses_per_sentence(decoder):
    mine = network(decoder).eval()
    z, first = torch.randn(3, mine.dim, dtype=torch.float64), torch.zeros(3, dtype=torch.int64)
    greedy = nn.greedy_search(mine._cpp, [z], first, end=END, max_length=PREDICT)
    beam = nn.beam_search(mine._cpp, [z], first, end=END, max_length=PREDICT, beam=4, best=2)
    for row in range(3):
        alone = nn.beam_search(
            mine._cpp, [z[row : row + 1]], first[:1], end=END, max_length=PREDICT, beam=4, best=2
        )
        torch.testing.assert_close(alone.scores[0], beam.scores[row])
        length = int(beam.lengths[row, 0])
        words = torch.tensor([[*beam.ids[row, 0, :length].tolist(), END]])
        score = nn.score(mine._cpp, [z[row : row + 1]], first[:1], words, torch.tensor([length + 1]))
        torch.testing.assert_close(beam.scores[row, 0], score[0], rtol=0, atol=1e-5)
    assert greedy.ids.shape[0] == 3


# Decoder inputs


def loss_of_inputs(mine, fields, inputs):
    """The cost where the words before are these, by the eager twin."""
    twin = Context(**SIZES, **CONTEXT, decoder=mine._config["decoder"]).double()
    state = mine.state_dict()
    twin.load_state_dict({**state, "softmax.weight": state["table.weight"]})
    twin.shifted_right = lambda ids: inputs
    return twin.loss(*fields)[0].detach()


@pytest.mark.parametrize("decoder", AUTOREGRESSIVE)
def test_uniform_sampling_takes_any_words(decoder):
    mine = network(decoder, feeding="uniform_sampling")
    fields = batch(decoder)
    torch.manual_seed(3)
    loss = mine.loss(*fields).sum.detach()
    torch.manual_seed(3)
    sampled = torch.randint(WORDS, fields[2].shape)
    inputs = torch.cat([torch.zeros_like(sampled[:, :1]), sampled[:, :-1]], 1)
    torch.testing.assert_close(loss, loss_of_inputs(mine, fields, inputs))


@pytest.mark.parametrize("decoder", AUTOREGRESSIVE)
def test_always_sampling_feeds_back_sampled_words(decoder):
    mine = network(decoder, feeding="always_sampling")
    # One word is by far the most likely after any word, so it is sampled.
    with torch.no_grad():
        mine.softmax.bias.zero_()
        mine.softmax.bias[7] = 1000
    fields = batch(decoder)
    inputs = torch.full_like(fields[2], 7)
    inputs[:, 0] = BEGIN
    torch.testing.assert_close(mine.loss(*fields).sum.detach(), loss_of_inputs(mine, fields, inputs))
    # Otherwise samples differ, by torch's random numbers.
    with torch.no_grad():
        mine.softmax.bias.zero_()
    losses = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        losses.append(mine.loss(*fields).sum)
    assert losses[0] == losses[1] != losses[2]
    losses[0].backward()
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in mine.parameters())


@pytest.mark.parametrize("feeding", ["always_sampling", "uniform_sampling"])
@pytest.mark.parametrize("decoder", ["cnn", "rnn"])
def test_feeding_requires_an_autoregressive_decoder(decoder, feeding):
    with pytest.raises(ValueError, match=f"feeding='{feeding}' is for autoregressive .*decoder='{decoder}'"):
        network(decoder, feeding=feeding)


# --- Modules ------------------------------------------------------------------------------------------------


def test_cnn_and_rnn_decoders_have_about_as_many_parameters():
    def size(decoder):
        sizes = {"hidden": 300, "channels": 600, "inner": 300}  # the paper's
        network = models.ContextNetwork(words=50, features=300, decoder=decoder, **sizes)
        return sum(p.numel() for name, p in network.named_parameters() if name.startswith("decoder"))

    assert abs(size("cnn") / size("rnn") - 1) < 0.01


@pytest.mark.parametrize(("hidden", "pooling", "dim"), [(300, "mean_max", 1200), (1200, "max", 2400)])
def test_sizes(hidden, pooling, dim):
    network = models.ContextNetwork(words=9, features=8, hidden=hidden, pooling=pooling, channels=4, inner=4)
    assert network.dim == dim


@pytest.mark.parametrize("name", ["cnn", "skip-True-False", "composite", "hierarchical"])
def test_overfits_one_batch(name):
    ours, _, options, _ = VARIANTS[name]
    options = options | ({"channels": 64, "inner": 32} if name == "cnn" else {}) | {"hidden": 32}
    torch.manual_seed(0)
    mine = ours(words=WORDS, features=16, **options)
    fields = batch(name, following=(5, 2, 4, 3))
    optimiser = torch.optim.Adam(mine.parameters(), lr=0.01)
    for _ in range(150):
        optimiser.zero_grad()
        loss = mine.loss(*fields)
        (loss.sum / loss.tokens).backward()
        optimiser.step()
    assert loss.sum / loss.tokens < 0.05
    assert loss.right == loss.tokens


@each_variant
def test_copies_share_no_memory(name):
    mine = network(name).float().eval()
    fields = batch(name)
    loss = mine.loss(*fields).sum
    for other in (copy.deepcopy(mine), pickle.loads(pickle.dumps(mine))):
        assert torch.equal(other.loss(*fields).sum, loss)
        with torch.no_grad():
            for parameter in other.parameters():
                parameter.zero_()
        assert torch.equal(mine.loss(*fields).sum, loss)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"decoder": "lstm"}, "decoder must be 'cnn', 'rnn', 'autoregressive_cnn' or 'autoregressive_rnn'"),
        ({"feeding": "some"}, "feeding must be 'teacher_forcing', 'always_sampling' or 'uniform_sampling'"),
        ({"predict": 0}, "predict must be at least 1, got 0"),
        ({"decoder_layers": 1}, "decoder_layers must be at least 2, got 1"),
        ({"decoder": "rnn", "features": 7}, "requires even features.* got 7"),
        ({"hidden": 0}, "at least 1"),
    ],
)
def test_wrong_options(change, message):
    with pytest.raises(ValueError, match=message):
        models.ContextNetwork(**(SIZES | CONTEXT | change))


@pytest.mark.parametrize("name", ["fast", "fast-ae", "fast-tied"])
def test_options_of_the_softmax_of_fastsent(name):
    """Each target is a row of the softmax, whose state is the embedding of its sentence."""
    fields = batch(name)
    targets = fields[2:] + (fields[:2] if name == "fast-ae" else [])
    smooth, sampled = network(name, label_smoothing=0.3), network(name, sampled_words=WORDS)
    z = smooth.encode(smooth.table.weight[fields[0]], fields[1])
    weight = smooth.table.weight if name == "fast-tied" else smooth.softmax.weight
    logits = torch.nn.functional.linear(z, weight, smooth.softmax.bias if name == "fast-tied" else None)
    expected = sum(
        torch.nn.functional.cross_entropy(
            logits[i].expand(n, -1), ids[i, :n], reduction="sum", label_smoothing=0.3
        )
        for ids, lengths in zip(targets[::2], targets[1::2], strict=True)
        for i, n in enumerate(lengths.tolist())
    )
    torch.testing.assert_close(smooth.loss(*fields).sum, expected)
    # All words are sampled: the full softmax.
    torch.testing.assert_close(sampled.loss(*fields).sum, network(name).loss(*fields).sum)
    assert sampled.loss(*fields).right is None
    for mine in (smooth, sampled):  # neither in evaluation
        torch.testing.assert_close(mine.eval().loss(*fields).sum, network(name).loss(*fields).sum)


def test_wrong_batches():
    mine, skip = network(), network("skip-True-False")
    ids, lengths, following, following_lengths = batch()
    with pytest.raises(ValueError, match="at most predict=5 words are predicted, got 6"):
        mine.loss(ids, lengths, ids, lengths)
    with pytest.raises(ValueError, match=r"a batch has 3 fields .* got 2"):
        skip._loss(ids, lengths, following, following_lengths)
    with pytest.raises(ValueError, match=r"a batch has 2 fields \(sentences, the next ones\); got 1"):
        network("composite")._loss(ids, lengths)
    with pytest.raises(ValueError, match=r"two or more fields \(consecutive sentences\); got 1"):
        network("hierarchical").loss(ids, lengths)
    with pytest.raises(ValueError, match="windows must differ, got 3 twice"):
        network("composite", windows=(3, 3))
    with pytest.raises(ValueError, match="ids of all fields must be of 4 sentences, got 3"):
        mine.loss(ids, lengths, following[:3], following_lengths[:3])
    with pytest.raises(ValueError, match="hidden must be even, half of it for each direction, got 5"):
        models.SkipThoughtsNetwork(**SIZES, hidden=5, bidirectional=True)
