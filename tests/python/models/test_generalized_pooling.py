"""Paper 002's encoder: comparison with an eager reference, attention weights, training on labels."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest

torch = pytest.importorskip("torch")
models = pytest.importorskip("sentencode.models")

from eager.generalized_pooling import Characters, Classifier, GeneralizedPooling

import sentencode as se
from sentencode import _core, _nn
from sentencode.models.core_model import read_sentence

from ..io import saved_files

FEATURES, HIDDEN = 6, 4
SMALL = {"hidden": HIDDEN, "layers": 2, "heads": 3, "attention_hidden": 5, "pooling": "generalized"}
VARIANTS = {
    **{
        pooling: {"pooling": pooling}
        for pooling in ("generalized", "scalar", "mean", "max", "mean_max", "last")
    },
    "1 layer": {"layers": 1},
    "3 layers": {"layers": 3},
    "all layers below": {"layers": 3, "shortcuts": "all"},
    "no shortcuts": {"layers": 2, "shortcuts": "none"},
    "one head": {"heads": 1},
    "tanh": {"pooling": "scalar", "attention_activation": "tanh"},
    **{
        f"{pooling}, boundaries": {"pooling": pooling, "boundaries": True}
        for pooling in ("generalized", "last")
    },
    **{
        f"{pooling}, sum of words": {
            "pooling": pooling,
            "boundaries": pooling == "mean_max",
            "word_sum": True,
        }
        for pooling in ("scalar", "mean_max")
    },
}
each_variant = pytest.mark.parametrize("name", VARIANTS)
LENGTHS = torch.tensor([5, 2, 4, 1])


def pair(name, seed=0, **change):
    """Our network and the eager one, with the same parameters, in double precision, without characters."""
    options = {**SMALL, "dropout": 0.0, **VARIANTS[name], **change}
    torch.manual_seed(seed)
    mine = models.GeneralizedPoolingNetwork(words=1, features=FEATURES, characters=False, **options).double()
    theirs = GeneralizedPooling(FEATURES, **options).double()
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    mine.load_state_dict(theirs.core_state())
    return mine, theirs


def inputs(seed=1):
    return torch.randn(4, 5, FEATURES, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


# --- The network --------------------------------------------------------------------------------------------


@each_variant
def test_embeddings_and_gradients_equal_the_twins(name):
    mine, theirs = pair(name)
    x, y = inputs().requires_grad_(), inputs().requires_grad_()
    z, expected = mine.encode(x, LENGTHS), theirs.encode(y, LENGTHS)
    torch.testing.assert_close(z, expected)
    assert z.shape == (4, mine.dim)
    weights = torch.randn_like(z)
    (z * weights).sum().backward()
    (expected * weights).sum().backward()
    there = torch.arange(5) < LENGTHS[:, None]
    torch.testing.assert_close(x.grad[there], y.grad[there])
    assert x.grad[~there].abs().sum() == 0
    state = theirs.core_state()
    gradients = {p.data_ptr(): p.grad for p in theirs.parameters()}
    for parameter_name, parameter in mine.named_parameters():
        torch.testing.assert_close(
            parameter.grad, gradients[state[parameter_name].data_ptr()], msg=parameter_name
        )


@pytest.mark.parametrize("name", ["generalized", "scalar", "max", "mean_max, sum of words"])
def test_gradcheck(name):
    mine, _ = pair(name)
    x = inputs().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: mine.encode(x, LENGTHS), (x,))


@each_variant
def test_an_embedding_depends_only_on_its_sentence(name):
    mine, _ = pair(name)
    x = inputs()
    rows = mine.encode(x, LENGTHS)
    for i, length in enumerate(LENGTHS.tolist()):
        alone = mine.encode(x[i : i + 1, :length], LENGTHS[i : i + 1])[0]
        torch.testing.assert_close(alone, rows[i])


def test_a_sentence_without_words_has_a_row_of_zeros_where_words_are_summed():
    for name in ("generalized", "scalar, sum of words", "mean", "max"):
        mine, _ = pair(name)
        assert mine.encode(inputs()[:1], torch.tensor([0])).abs().sum() == 0


@each_variant
def test_attention_weights_reproduce_the_embedding(name):
    mine, theirs = pair(name)
    x = inputs()
    a = mine.attention(x, LENGTHS)  # [B, I, T, D or 1]
    assert (a.sum(2) - 1).abs().max() < 1e-12
    x, lengths = theirs.bounded(x, LENGTHS)
    h, _ = theirs.states(x, lengths)
    rows = (a * h[:, None]).sum(2).flatten(1)
    torch.testing.assert_close(rows, mine.encode(inputs(), LENGTHS)[:, : rows.shape[1]])
    there = torch.arange(x.shape[1]) < lengths[:, None]
    assert a.transpose(1, 2)[~there].abs().sum() == 0


@pytest.mark.parametrize("pooling", ["generalized", "scalar", "scalar, sum of words"])
@pytest.mark.parametrize("penalty", ["parameters", "attention", "embeddings"])
@pytest.mark.parametrize("batch_distance", [False, True])
def test_penalties_are_added_to_the_loss_of_each_example(pooling, penalty, batch_distance):
    options = {"penalty": penalty, "mu": 0.3, "margin": 9.0, "batch_distance": batch_distance}
    mine, theirs = pair(pooling, **options)
    head = made_classifier(mine.dim, 2, sides=2)
    first, second = torch.tensor([[0, 1, 2], [3, 0, 0]]), torch.tensor([[2, 0], [1, 3]])
    lengths = torch.tensor([3, 1]), torch.tensor([1, 2])
    words = torch.randn(4, FEATURES, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    model = supervised(mine, head, words)
    losses = {}
    for mu, network in (
        (0.3, model),
        (0.0, supervised(pair(pooling, **options | {"mu": 0.0})[0], head, words)),
    ):
        losses[mu] = trained_loss(network, [(first, lengths[0]), (second, lengths[1])], [0, 1])
    expected = theirs.penalty(penalty, words[first], lengths[0], 9.0, batch_distance)
    if penalty != "parameters":
        expected = expected + theirs.penalty(penalty, words[second], lengths[1], 9.0, batch_distance)
    assert expected > 0.1
    np.testing.assert_allclose(losses[0.3] - losses[0.0], 0.3 * expected.item(), rtol=1e-6)


def test_penalties_include_boundary_symbols():
    mine, theirs = pair("generalized", boundaries=True, penalty="attention", mu=1.0, margin=9.0)
    head = made_classifier(mine.dim, 2, sides=2)
    words = inputs()[0]
    fields = [(torch.tensor([[0, 1, 2], [3, 0, 0]]), torch.tensor([3, 1]))] * 2
    expected = 2 * theirs.penalty("attention", words[fields[0][0]], fields[0][1], 9.0, False)
    without = pair("generalized", boundaries=True, penalty="none")[0]
    losses = [trained_loss(supervised(network, head, words), fields, [0, 1]) for network in (mine, without)]
    np.testing.assert_allclose(losses[0] - losses[1], expected.item(), rtol=1e-6)


def made_classifier(dim, classes, sides, **options):
    config = {"hidden": 7, "layers": 2, "shortcuts": True, "activation": "relu", "dropout": 0.0, **options}
    sizes = {"features": dim, "sentences": sides, "classes": classes}
    return models.HeadModule({"head": "Classifier", **sizes, **config}).double()


def supervised(network, head, words):
    from sentencode.models.supervised import SupervisedModel

    known, ids = torch.ones(len(words), dtype=torch.bool), torch.zeros(len(words), dtype=torch.int64)
    return SupervisedModel(network, network._cpp, head, (words, known, ids, None))


def trained_loss(model, fields, labels):
    """The mean loss of one batch, as the trainer sees it."""
    import tempfile

    from sentencode.training import Batcher, Examples, Trainer

    texts = [
        (*(" ".join("abcd"[i] for i in ids[row, : n[row]].tolist()) for ids, n in fields), label)
        for row, label in enumerate(labels)
    ]
    vocabulary = se.Vocabulary({"a": 4, "b": 3, "c": 2, "d": 1})
    with tempfile.TemporaryDirectory() as folder:
        examples = Examples.build(
            texts, vocabulary, "whitespace", fields=("first", "second"), labels="int64", path=f"{folder}/x"
        )
        batches = Batcher(examples, mode="plain", batch_size=len(labels))
        trainer = Trainer(model, batches, learning_rate=1e-12, max_steps=1, optimizer="sgd")
        return trainer.run().steps[0].loss


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize(
    "options",
    [{}, {"layers": 1}, {"layers": 0}, {"shortcuts": False}, {"activation": "none"}, {"pair_scale": 0.3}],
)
def test_the_classifier_equals_its_twin(sides, options):
    torch.manual_seed(0)
    mine = made_classifier(6, 3, sides, **options)
    sizes = {"hidden": 7, "layers": 2, "shortcuts": True, "activation": "relu", **options}
    f = sizes.pop("activation")
    theirs = Classifier(6 * (4 if sides == 2 else 1), 3, f=f, **sizes).double()
    mine.load_state_dict({**theirs.core_state(), "class_weights": torch.tensor([1.0, 2.0, 0.5])})
    rows = [torch.randn(5, 6, dtype=torch.float64, requires_grad=True) for _ in range(sides)]
    twins = [row.detach().clone().requires_grad_() for row in rows]
    labels = torch.tensor([0, 1, 2, 2, 1])
    total, count, right = mine.loss(rows, labels)
    scores = theirs(*twins)
    each = torch.nn.functional.cross_entropy(scores, labels, reduction="none")
    expected = (torch.tensor([1.0, 2.0, 0.5])[labels] * each).sum()
    torch.testing.assert_close(total, expected)
    assert count == 5
    assert right == (scores.argmax(1) == labels).sum()
    torch.testing.assert_close(mine.predict(rows), scores.softmax(1))
    total.backward()
    expected.backward()
    for row, twin in zip(rows, twins, strict=True):
        torch.testing.assert_close(row.grad, twin.grad)
    state, gradients = theirs.core_state(), {p.data_ptr(): p.grad for p in theirs.parameters()}
    for name, parameter in mine.named_parameters():
        torch.testing.assert_close(parameter.grad, gradients[state[name].data_ptr()], msg=name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pooling": "some"}, "pooling must be 'generalized', 'scalar', 'mean', 'max', 'mean_max' or 'last'"),
        ({"heads": 0}, "heads must be at least 1, got 0"),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\), got 1"),
        ({"mu": -1.0}, "mu must be at least 0, got -1"),
        ({"shortcuts": "most"}, "shortcuts must be"),
        ({"hidden": 0}, "hidden"),
        ({"alphabet": "aa", "characters": True}, "twice"),
        ({"alphabet": 3}, "alphabet must be a str"),
    ],
)
def test_wrong_options(change, message):
    with pytest.raises((ValueError, TypeError), match=message):
        models.GeneralizedPoolingNetwork(**{"words": 1, "features": 4, "characters": False, **change})


def test_copies():
    mine, _ = pair("generalized")
    for other in (copy.deepcopy(mine), pickle.loads(pickle.dumps(mine))):
        torch.testing.assert_close(other.encode(inputs(), LENGTHS), mine.encode(inputs(), LENGTHS))
    assert _nn.make_network(mine._cpp.config()).config() == mine._cpp.config()


# --- The encoder --------------------------------------------------------------------------------------------

WORDS = ["the", "cat", "dog", "sat", "on", "a", "mat", "ran"]
VECTORS = se.WordVectors.from_array(WORDS, np.random.default_rng(0).normal(size=(8, 6)).astype(np.float32))
PAIRS = [
    ("the cat sat", "a cat sat on a mat"), ("the dog ran", "the dog sat"), ("a zork sat", "the zork ran"),
    ("the cat ran", "a cat ran"), ("a dog sat on the mat", "a dog ran"), ("the zzz sat", "a zzz sat"),
]  # fmt: skip
LABELS = ["yes", "no", "no", "yes", "no", "yes"]
TINY = {
    "preset": "paper",
    **SMALL, "character_filters": 3, "character_features": 2, "max_steps": 6, "max_epochs": None,
    "batch_size": 4, "device": "cpu", "head": se.Classifier(hidden=6, dropout=0.2), "learning_rate": 0.01,
}  # fmt: skip


def fitted(**change):
    return se.GeneralizedPooling(VECTORS, **TINY | change).fit(PAIRS, LABELS)


def test_unknown_words_differ_by_their_characters():
    encoder = fitted()
    rows = encoder.encode(["the zork sat", "the blicket sat", "the sat"])
    assert np.abs(rows[0] - rows[1]).max() > 1e-5
    assert np.abs(rows[0] - rows[2]).max() > 1e-5
    assert encoder.attention("the zork sat")[0] == ["the", "zork", "sat"]
    without = fitted(characters=False)
    assert np.array_equal(*without.encode(["the zork sat", "the sat"]))
    assert len(encoder.vocabulary_) == 0  # nothing depends on which words were seen


def test_trained_words_have_rows():
    encoder = fitted(trainable_words=True, max_steps=30)
    assert sorted(encoder.vocabulary_.words) == sorted(
        {w for pair in PAIRS for text in pair for w in text.split()}
    )
    table = encoder.network.table.weight.detach().numpy()
    known = [i for i, word in enumerate(encoder.vocabulary_.words) if word in VECTORS]
    vectors = VECTORS.matrix([encoder.vocabulary_.words[i] for i in known])
    assert 1e-3 < np.abs(table[known] - vectors).max() < 0.6
    assert np.isfinite(encoder.encode(["zork blicket", "never seen"])).all()


def test_attention_has_no_dropout_on_any_thread_while_the_network_trains():
    encoder = fitted(dropout=0.5)
    expected = encoder.attention("the cat sat on a mat")[1]
    encoder.network.train()
    with ThreadPoolExecutor(4) as pool:
        for _, weights in pool.map(encoder.attention, ["the cat sat on a mat"] * 32):
            assert np.array_equal(weights, expected)
    assert all(part.training for part in encoder.network.modules())


def test_training_is_the_same_while_other_threads_encode():
    """Encoding consumes no random numbers of torch's generator, which all threads share."""

    def trained(looked_at):
        torch.manual_seed(3)
        network = models.GeneralizedPoolingNetwork(
            words=1, features=6, characters=False, dropout=0.5, **SMALL
        )
        steps = torch.optim.Adam(network.parameters(), lr=0.01)
        x, ended = torch.randn(4, 5, 6), Event()

        def look():
            count = 0
            while not ended.is_set():
                with torch.no_grad(), _nn.Evaluating():
                    network.attention(x, LENGTHS)
                    network.encode(x, LENGTHS)
                count += 1
            return count

        with ThreadPoolExecutor(2) as pool:
            looks = [pool.submit(look) for _ in range(2 if looked_at else 0)]
            for _ in range(30):
                steps.zero_grad()
                network.encode(x, LENGTHS).square().mean().backward()
                steps.step()
            ended.set()
        assert all(look.result() > 0 for look in looks)
        return network.state_dict()

    alone, observed = trained(False), trained(True)
    for name, tensor in alone.items():
        assert torch.equal(tensor, observed[name]), name


def test_evaluating_must_be_left_by_the_thread_that_entered_it():
    evaluating = _nn.Evaluating()
    with evaluating:
        with pytest.raises(RuntimeError, match="entered already"):
            evaluating.__enter__()
        with ThreadPoolExecutor(1) as pool, pytest.raises(RuntimeError, match="by the thread that entered"):
            pool.submit(evaluating.__exit__).result()


@pytest.mark.parametrize("trainable", [True, False])
def test_word_rows_concatenates_vectors_and_characters(trainable):
    encoder = fitted(trainable_words=trainable, alphabet="acdeghnostz", max_characters=4)
    state = encoder.network.state_dict()
    twin = Characters(2 + 11, 2, 3, [1, 3, 5])
    letters = {name.removeprefix("characters."): t for name, t in state.items() if "characters." in name}
    twin.load_state_dict(letters)
    words, (rows,), _ = read_sentence(encoder, "the dog zork blicket ran")
    assert words == ["the", "dog", "zork", "blicket", "ran"]
    characters = torch.from_numpy(_core.characters_of(words, "acdeghnostz", 4))
    with torch.no_grad():
        torch.testing.assert_close(rows[:, FEATURES:], twin(characters))
    word_vectors = [VECTORS[word] if word in VECTORS else np.zeros(FEATURES, np.float32) for word in words]
    if trainable:  # "blicket" was never seen
        ids = {word: i for i, word in enumerate(encoder.vocabulary_.words)}
        table = state["table.weight"].numpy()
        word_vectors = [
            table[ids[word]] if word in ids else row for word, row in zip(words, word_vectors, strict=True)
        ]
        assert np.abs(word_vectors[2]).max() > 0
    np.testing.assert_allclose(rows[:, :FEATURES], np.stack(word_vectors), rtol=1e-6)


@pytest.mark.parametrize("pooling", ["generalized", "scalar", "max", "mean", "last", "mean_max"])
def test_explanations(pooling):
    encoder = fitted(pooling=pooling, characters=False)
    words, weights = encoder.attention("the dog sat on the mat")
    assert words == ["the", "dog", "sat", "on", "the", "mat"]
    heads = {"generalized": 3, "scalar": 3, "mean_max": 2}.get(pooling, 1)
    assert weights.shape[:2] == (heads, 6)
    np.testing.assert_allclose(weights.sum(1), 1, rtol=1e-5)
    shares = encoder.explain("the dog sat on the mat")
    assert [word for word, _ in shares] == words
    np.testing.assert_allclose(np.sum([share for _, share in shares], axis=0), 1, rtol=1e-5)
    if pooling == "mean":
        np.testing.assert_allclose([share[0] for _, share in shares], 1 / 6, rtol=1e-5)
    assert (encoder.head_distance("the dog sat") > 0) == (heads > 1)
    with pytest.raises(ValueError, match="no word that is read"):
        encoder.attention("zork")


def test_boundaries_add_two_words():
    encoder = fitted(boundaries=True, dropout=0.1)
    bare = fitted(boundaries=True, dropout=0.1, max_steps=1, learning_rate=1e-12)
    begun, symbols = (e.network.boundaries.detach() for e in (bare, encoder))
    assert begun.shape == (2, FEATURES + 9)
    assert begun.std() < 0.03
    assert (symbols - begun).abs().max() > 1e-3  # they are learnt
    x = read_sentence(encoder, "the zork sat")[1][0]
    without = models.GeneralizedPoolingNetwork(
        words=1, features=FEATURES, character_filters=3, character_features=2, dropout=0.0, **SMALL
    )
    state = {name: t for name, t in encoder.network.state_dict().items() if name != "boundaries"}
    without.load_state_dict(state)
    between = torch.cat([symbols[:1], x, symbols[1:]])[None]  # [1, 5, F]
    with torch.no_grad():
        expected = without.encode(between, torch.tensor([5]))[0]
    np.testing.assert_allclose(encoder.encode("the zork sat"), expected, rtol=1e-5, atol=1e-6)
    shown, weights = encoder.attention("the zork sat")
    assert shown == ["<s>", "the", "zork", "sat", "</s>"]
    np.testing.assert_allclose(weights.sum(1), 1, rtol=1e-5)
    with torch.no_grad():
        np.testing.assert_allclose(weights, without.attention(between, torch.tensor([5]))[0], rtol=1e-4)
    assert not encoder.encode("").any()


def test_plot_attention_of_each_head():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    encoder = fitted()
    axes = encoder.plot_attention("the dog sat")
    assert len(axes) == 3
    assert [label.get_text() for label in axes[0].get_yticklabels()] == ["the", "dog", "sat"]
    with pytest.raises(ValueError, match="axes must be 3, one for each head, got 1"):
        encoder.plot_attention("the dog sat", axes=axes[0])
    pyplot.close("all")


def test_earlier_files_of_the_default_head_keep_its_features(tmp_path):
    examples = PAIRS[:4] * 4
    sizes = {"hidden": 4, "characters": False, "max_steps": 2, "device": "cpu"}
    encoder = se.GeneralizedPooling(VECTORS, **sizes).fit(examples, [0, 1, 1, 0] * 4)
    encoder.save(tmp_path / "now")
    encoder.save(tmp_path / "earlier")
    saved_files.changed(tmp_path / "earlier", lambda config, _: config["head"].pop("pair_scale"))
    now, earlier = se.load(tmp_path / "now"), se.load(tmp_path / "earlier")
    assert now.head is None
    assert earlier.head == se.Classifier()
    np.testing.assert_array_equal(now.predict_proba(examples), encoder.predict_proba(examples))
    assert np.abs(earlier.predict_proba(examples) - now.predict_proba(examples)).max() > 1e-5
    earlier.save(tmp_path / "again")
    assert se.load(tmp_path / "again").head == se.Classifier()


def test_words_keep_their_lengths_unless_a_classifier_reads_the_sentences():
    def scaled(encoder):
        return encoder.settings()["unit_words"]

    assert scaled(se.GeneralizedPooling(VECTORS))
    assert scaled(se.GeneralizedPooling(VECTORS, head=se.Classifier(hidden=5)))
    for head in (se.CosineRegression(), se.MultipleNegatives(), se.Triplet(), se.RowRegression()):
        assert not scaled(se.GeneralizedPooling(VECTORS, head=head))
        assert scaled(se.GeneralizedPooling(VECTORS, head=head, unit_words=True))


TEXTS = ["the cat sat", "a dog ran", "the dog sat", "a cat ran"]


def briefly_trained(head, labels, init=None, encoder=None, rate=0.01, **options):
    options = {"hidden": 4, "max_steps": 2, "max_epochs": None, "device": "cpu", **options}
    encoder = encoder or se.GeneralizedPooling(VECTORS, head=head, **options)
    return encoder.set_params(learning_rate=rate).fit(TEXTS, labels, init=init, valid=None)


def test_init_decides_the_lengths_of_words(tmp_path):
    classes = [0, 1, 0, 1]
    first = briefly_trained(se.RowRegression(), se.Average(VECTORS).encode(TEXTS))
    other = briefly_trained(se.Classifier(hidden=4), classes)
    second = briefly_trained(se.Classifier(hidden=4), classes, init=first, rate=1e-30)
    assert (first.settings()["unit_words"], second.settings()["unit_words"]) == (False, False)
    assert second.unit_words is None
    np.testing.assert_allclose(second.encode(TEXTS), first.encode(TEXTS), atol=1e-6)
    second.save(tmp_path / "second")
    for again in (se.load(tmp_path / "second"), pickle.loads(pickle.dumps(second))):
        np.testing.assert_array_equal(again.encode(TEXTS), second.encode(TEXTS))
    briefly_trained(None, classes, init=other, encoder=second, rate=1e-30)
    np.testing.assert_allclose(second.encode(TEXTS), other.encode(TEXTS), atol=1e-6)
    assert briefly_trained(None, classes, encoder=second).settings()["unit_words"]
    given = briefly_trained(se.Classifier(hidden=4), classes, init=first, unit_words=True)
    assert given.settings()["unit_words"]


def test_earlier_files_have_words_of_length_one_with_every_head(monkeypatch, tmp_path):
    with monkeypatch.context() as earlier:
        earlier.setattr(
            se.GeneralizedPooling, "_completed", lambda _, settings: {**settings, "metric": "loss"}
        )
        encoder = briefly_trained(se.RowRegression(), se.Average(VECTORS).encode(TEXTS))
        assert encoder.settings()["unit_words"]
        encoder.save(tmp_path / "earlier")
        pickled = pickle.dumps(encoder)
    for again in (se.load(tmp_path / "earlier"), pickle.loads(pickled)):
        np.testing.assert_array_equal(again.encode(TEXTS), encoder.encode(TEXTS))
        again.save(tmp_path / "again")
        np.testing.assert_array_equal(se.load(tmp_path / "again").encode(TEXTS), encoder.encode(TEXTS))


def test_presets():
    assert se.GeneralizedPooling(VECTORS).settings()["head"].pair_scale == 0.1
    reference = se.GeneralizedPooling(VECTORS, preset="reference").settings()
    assert all(reference[name] for name in ("boundaries", "orthogonal", "batch_distance"))
    paper = se.GeneralizedPooling(VECTORS, preset="paper").settings()
    assert (paper["hidden"], paper["layers"], paper["heads"], paper["learning_rate"]) == (600, 3, 5, 4e-4)
    assert not paper["boundaries"]
    assert not paper["orthogonal"]
    assert paper["head"] == se.Classifier(hidden=600, dropout=0.5, pair_scale=1)
    assert paper["metric"] == "accuracy"
    assert se.GeneralizedPooling(VECTORS, head=se.Triplet()).settings()["metric"] == "loss"
    infersent = se.GeneralizedPooling(VECTORS, preset="infersent").settings()
    assert (infersent["hidden"], infersent["layers"], infersent["pooling"]) == (2048, 1, "max")
    assert (infersent["optimizer"], infersent["learning_rate"], infersent["decay"]) == ("sgd", 0.1, 0.2)
    small = se.GeneralizedPooling(
        VECTORS, preset="infersent", hidden=4, head=se.Classifier(hidden=5), max_steps=2, device="cpu"
    )
    assert small.fit(PAIRS, LABELS).dim == 8


def test_the_rate_is_halved_and_the_best_weights_are_reloaded():
    encoder = se.GeneralizedPooling(
        VECTORS, **TINY | {"max_steps": 40, "learning_rate": 0.3, "least_rate": 0.03}
    )
    encoder.fit(PAIRS, LABELS, valid=(PAIRS, LABELS))
    rates = [step.learning_rate for step in encoder.history_.steps]
    missed = [v.step for v in encoder.history_.validations if v.decayed]
    assert missed
    for before, after in itertools.pairwise(rates):
        assert after in (before, before / 2)
    assert len(encoder.history_.steps) < 40  # it ends where the rate is small
    best = max(v.accuracy for v in encoder.history_.validations)
    assert encoder.score(PAIRS, LABELS) == pytest.approx(best)


def test_figures_report_penalty_and_active_pairs():
    steps = fitted(penalty="parameters", margin=1e-6).history_.steps
    assert {step.figures["active"] for step in steps} == {0.0}
    steps = fitted(penalty="attention", margin=100.0).history_.steps
    assert {step.figures["active"] for step in steps} == {1.0}
    assert steps[0].figures["penalty"] > 100
    assert fitted(penalty="none").history_.steps[0].figures == {}


def test_files(tmp_path):
    encoder = fitted(trainable_words=True)
    encoder.save(tmp_path / "model")
    for again in (se.load(tmp_path / "model"), pickle.loads(pickle.dumps(encoder))):
        texts = ["the dog sat", "a zork ran"]
        np.testing.assert_array_equal(again.encode(texts), encoder.encode(texts))
        np.testing.assert_array_equal(again.predict_proba(PAIRS), encoder.predict_proba(PAIRS))
        assert again.classes_.tolist() == ["no", "yes"]
        assert again.fingerprint() == encoder.fingerprint()


NEWER = ("boundaries", "orthogonal", "word_sum")


@pytest.mark.parametrize("preset", ["paper", "reference", "small"])
def test_files_without_newer_options(tmp_path, preset):
    encoder = fitted(preset=preset, **dict.fromkeys(NEWER, False))
    encoder.save(tmp_path / "model")
    header, body = saved_files.parts((tmp_path / "model").read_bytes())
    metadata = header["__metadata__"]
    config, params = json.loads(metadata["config"]), json.loads(metadata["params"])
    for name in NEWER:
        del config["network"][name], params["params"][name]
    metadata.update(config=json.dumps(config), params=json.dumps(params))
    (tmp_path / "old").write_bytes(saved_files.with_checksums(header, body))
    old = se.load(tmp_path / "old")
    assert [getattr(old, name) for name in NEWER] == [False] * 3
    assert old.fingerprint() == encoder.fingerprint()
    np.testing.assert_array_equal(old.encode(["the dog sat"]), encoder.encode(["the dog sat"]))


def test_pickles_without_newer_options():
    encoder = fitted(preset="small", **dict.fromkeys(NEWER, False))
    state = copy.deepcopy(encoder).__getstate__()
    for name in NEWER:
        del state[name], state["_network"]._config[name]
    state["_fitted_params"] = {k: v for k, v in state["_fitted_params"].items() if k not in NEWER}
    old = object.__new__(se.GeneralizedPooling)
    old.__setstate__(pickle.loads(pickle.dumps(state)))
    assert old.word_sum is False  # the preset's is True
    np.testing.assert_array_equal(old.encode(["the dog sat"]), encoder.encode(["the dog sat"]))
    assert old.fingerprint() == encoder.fingerprint()


def test_the_default_appends_the_sum_of_the_words():
    encoder = se.GeneralizedPooling(VECTORS, hidden=4, max_steps=2, device="cpu").fit(PAIRS, LABELS)
    vectors = [row / np.linalg.norm(row) for row in VECTORS.matrix(["the", "dog"])]
    row = encoder.encode(["the dog"])[0]
    assert len(row) == encoder.dim == 2 * 8 + VECTORS.dim
    np.testing.assert_allclose(row[16:], sum(vectors) / 2**0.5, rtol=1e-5)
    halves = encoder.encode(["the dog"], normalize="halves")[0]
    lengths = [np.linalg.norm(part) for part in np.split(halves, [8, 16])]
    np.testing.assert_allclose(lengths, 1, rtol=1e-6)
    assert not se.GeneralizedPooling(VECTORS, preset="paper").settings()["word_sum"]


def test_heads_that_compare_embeddings_have_a_small_rate():
    def rate(**options):
        return se.GeneralizedPooling(VECTORS, **options).settings()["learning_rate"]

    assert (rate(), rate(head="Triplet"), rate(head="Triplet", learning_rate=0.1)) == (1e-3, 3e-4, 0.1)
    assert rate(head="Triplet", preset="paper") == 4e-4


def test_the_least_rate_of_a_preset_is_relative():
    def least(preset, **options):
        return se.GeneralizedPooling(VECTORS, preset=preset, **options).settings()["least_rate"]

    assert least("paper") == pytest.approx(4e-4 * 0.5**7.5)
    assert least("paper", learning_rate=2e-3) == pytest.approx(2e-3 * 0.5**7.5)
    assert least("infersent", learning_rate=1e-5) == pytest.approx(1e-9)
    assert least("infersent", learning_rate=1e-5, least_rate=0) == 0
    assert least("small") is None


def test_wrong_types_of_completed_settings():
    vectors = se.WordVectors.from_dict({"a": np.ones(4)})
    with pytest.raises(TypeError, match=r"learning_rate must be a number, got '0.1'"):
        se.GeneralizedPooling(vectors, preset="paper", learning_rate="0.1").settings()
    with pytest.raises(TypeError, match="max_length must be a whole number, got '32'"):
        se.MeanMaxAAE(vectors, max_length="32").settings()
