"""Networks in Python: training, encoding and files."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import sentencode as se

torch = pytest.importorskip("torch")

from sentencode.models import Inputs, NeuralEncoder, SentenceTask, Words, neural_files, neural_training
from sentencode.models.held_out import held_out

from ..io import saved_files
from . import checks

SENTENCES = ["a good film", "a bad film", "very good", "very bad", "good good fun today", "bad bad plot"] * 10
LABELS = [1, 0, 1, 0, 1, 0] * 10


class Bag(torch.nn.Module):
    figures = ("size",)

    def __init__(self, words, features, hidden=8, classes=2, noise=0.5):
        super().__init__()
        self.words, self.features, self.dim = words, features, hidden
        self.table = torch.nn.Embedding(words, features)
        self.layer = torch.nn.Linear(features, hidden)
        self.scores = torch.nn.Linear(hidden, classes)
        self.drop = torch.nn.Dropout(noise)

    def load_words(self, rows):
        self.table.weight.copy_(rows)

    def encode(self, inputs):
        mean = inputs.x.sum(1) / inputs.lengths.clamp_min(1)[:, None]
        return torch.tanh(self.layer(self.drop(mean)))

    def loss(self, batch):
        from sentencode.training import Loss

        lengths, mask = batch.lengths["tokens"], batch.mask["tokens"]
        x = self.table(batch.ids["tokens"]) * mask[..., None]
        z = self.encode(Inputs(x, lengths, mask))
        scores = self.scores(z)
        loss = torch.nn.functional.cross_entropy(scores, batch.labels, reduction="sum")
        right = (scores.argmax(1) == batch.labels).sum()
        return Loss(loss, len(batch), right, {"size": (z.norm(dim=1).sum(), len(batch))})


class SmallEncoder(NeuralEncoder):
    network_class = Bag


@pytest.fixture(scope="module")
def vectors():
    words = sorted({word for text in SENTENCES for word in text.split()} | {"never", "trained"})
    rows = np.random.default_rng(0).standard_normal((len(words), 6)).astype(np.float32)
    return se.WordVectors.from_array(words, rows)


def encoder(vectors, **changes):
    options = {"max_steps": 40, "max_epochs": None, "learning_rate": 0.02, "device": "cpu", **changes}
    return SmallEncoder(vectors, **options)


@pytest.fixture(scope="module")
def fitted(vectors):
    return encoder(vectors, hidden=5).fit(SENTENCES, LABELS, valid=(SENTENCES[:6], LABELS[:6]))


def test_its_networks_arguments_are_its_parameters(vectors):
    unfitted = encoder(vectors, hidden=5)
    assert unfitted.get_params()["hidden"] == 5
    assert unfitted.get_params()["noise"] == 0.5
    assert "words" not in unfitted.get_params()
    assert "hidden=5" in repr(unfitted)
    with pytest.raises(TypeError, match="SmallEncoder has no parameter 'hiden'"):
        encoder(vectors, hiden=5)


def test_learns_and_encodes_without_noise(fitted):
    assert fitted.history_.steps[-1].accuracy > 0.9
    assert fitted.dim == 5
    rows = fitted.encode(SENTENCES)
    np.testing.assert_array_equal(fitted.encode(SENTENCES), rows)
    fitted.network.train()
    np.testing.assert_array_equal(fitted.encode(SENTENCES), rows)
    assert fitted.network.training
    assert fitted.network.drop.training
    # Words without training examples are read by their vectors.
    assert np.abs(fitted.encode(["never trained"])).min() > 0
    assert not fitted.encode(["", "unknown"]).any()
    x = np.stack([fitted.vectors[word] for word in SENTENCES[0].split()]).mean(0)
    layer = fitted.network.layer
    expected = torch.tanh(layer(torch.from_numpy(x))).detach().numpy()
    np.testing.assert_allclose(rows[0], expected, atol=1e-6)


def test_a_network_in_python_reports_figures(fitted, tmp_path):
    from sentencode.training import History

    steps, validations = fitted.history_.steps, fitted.history_.validations
    assert all(0 < event.figures["size"] < 5**0.5 for event in (*steps, *validations))
    log = se.training.CsvLog(tmp_path / "log.csv")
    for event in (steps[0], validations[0]):
        log._write(type("trainer", (), {"rank": 0})(), event)
    log.on_end(None)
    again = History.from_csv(tmp_path / "log.csv")
    assert again.steps[0].figures == steps[0].figures
    assert again.validations[0].figures == validations[0].figures


def test_is_saved_and_pickled(fitted, tmp_path):
    rows = fitted.encode(SENTENCES)
    fitted.save(tmp_path / "bag.sentencode")
    again = se.load(tmp_path / "bag.sentencode")
    assert type(again) is SmallEncoder
    assert again.get_params(deep=False)["hidden"] == 5
    assert again.fingerprint() == fitted.fingerprint()
    for other in (again, pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(other.encode(SENTENCES), rows)
    assert isinstance(again.network, Bag)
    # The error in a process without the class names it.
    code = f"import sentencode as se; se.load({str(tmp_path / 'bag.sentencode')!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "FormatError" in done.stderr
    assert "SmallEncoder" in done.stderr


def test_init_copies_words_and_freeze_keeps_weights(fitted, vectors):
    more = [*SENTENCES, "never trained before"]
    later = encoder(vectors, hidden=5, max_steps=5).fit(
        more, [*LABELS, 1], init=fitted, freeze=["layer", "table.*"]
    )
    for name in ("layer.weight", "layer.bias"):
        torch.testing.assert_close(
            later.network.state_dict()[name], fitted.network.state_dict()[name], rtol=0, atol=0
        )
    assert not torch.equal(later.network.scores.weight, fitted.network.scores.weight)
    # Rows are copied by word, although ids differ.
    ids = [one.vocabulary_.words.index("film") for one in (later, fitted)]
    assert torch.equal(later.network.table.weight[ids[0]], fitted.network.table.weight[ids[1]])
    with pytest.raises(ValueError, match=r"no weight is called .encoder.; there are table.weight"):
        encoder(vectors).fit(SENTENCES, LABELS, freeze=["encoder"])
    with pytest.raises(TypeError, match="init must be a neural encoder"):
        encoder(vectors).fit(SENTENCES, LABELS, init="bag.sentencode")


class FrozenBag(Bag):
    """Its word table is not trained, so that it has the vectors that encoding reads."""

    def __init__(self, words, features, hidden=8):
        super().__init__(words, features, hidden)
        self.table.weight.requires_grad_(False)


class FrozenBagEncoder(NeuralEncoder):
    network_class = FrozenBag


def test_init_leaves_words_that_are_not_trained(vectors):
    other = se.WordVectors.from_array(vectors.words, -vectors.matrix())
    options = {"hidden": 5, "max_steps": 5, "max_epochs": None, "device": "cpu"}
    first = FrozenBagEncoder(other, **options).fit(SENTENCES, LABELS)
    later = FrozenBagEncoder(vectors, **options).fit(SENTENCES, LABELS, init=first, freeze=["layer"])
    words = later.vocabulary_.words
    np.testing.assert_array_equal(later.network.table.weight[: len(words)], vectors.matrix(words))
    assert torch.equal(later.network.layer.weight, first.network.layer.weight)


@pytest.mark.parametrize("oov", ["skip", "mean"])
def test_init_copies_symbols_of_tables_that_are_not_trained(oov):
    def fitted(vectors, init=None):
        options = {"hidden": 4, "heads": 2, "max_steps": 3, "max_epochs": None, "device": "cpu"}
        texts = [f"{text} {other}" for text, other in itertools.pairwise(SENTENCES)]
        return se.MeanMaxAAE(vectors.with_oov(oov), **options).fit(texts, init=init)

    words = sorted({word for text in SENTENCES for word in text.split()} - {"fun"})
    rows = np.random.default_rng(0).standard_normal((len(words), 6)).astype(np.float32)
    first = fitted(se.WordVectors.from_array(words, 3 - rows))
    vectors = se.WordVectors.from_array(words, rows)
    plain, later = fitted(vectors), fitted(vectors, first)
    tables = [one.network.state_dict()["table.weight"] for one in (first, plain, later)]
    names = first.task_class.table_words(first, first.vocabulary_, first.network)["words"]
    copied = torch.tensor([isinstance(name, tuple) and name != ("<unk>",) for name in names])
    assert 0 < copied.sum() < 3
    assert torch.equal(tables[2][copied], tables[0][copied])
    assert torch.equal(tables[2][~copied], tables[1][~copied])
    assert not torch.equal(tables[0][copied], tables[1][copied])


class FixedRows(torch.nn.Module):
    """Random word vectors of its own, which are not trained."""

    def __init__(self, words, features):
        super().__init__()
        self.words, self.features, self.dim = words, features, 7
        self.table = torch.nn.Embedding(words, 7)
        self.table.weight.requires_grad_(False)
        self.layer = torch.nn.Linear(7, 7)

    def word_rows(self, words: Words):
        return self.table(words.ids)

    def encode(self, inputs):
        return self.layer(inputs.x.sum(1))


class FixedRowsEncoder(NeuralEncoder):
    network_class = FixedRows
    task_class = SentenceTask


def test_init_copies_own_word_rows(vectors):
    options = {"head": se.Classifier(hidden=8), "max_epochs": None, "device": "cpu"}
    first = FixedRowsEncoder(vectors, max_steps=9, **options).fit(SENTENCES, LABELS)
    later = FixedRowsEncoder(vectors, max_steps=1, learning_rate=1e-30, **options)
    later.fit(SENTENCES[::-1], LABELS[::-1], init=first)
    np.testing.assert_allclose(later.encode(SENTENCES), first.encode(SENTENCES), atol=1e-6)


def test_boolean_labels(vectors):
    named = encoder(vectors, max_steps=5).fit(SENTENCES, [label == 1 for label in LABELS])
    numbered = encoder(vectors, max_steps=5).fit(SENTENCES, LABELS)
    np.testing.assert_array_equal(named.encode(SENTENCES), numbered.encode(SENTENCES))


def test_equal_labelled_examples_are_not_on_both_sides(vectors, monkeypatch):
    parts = []

    def spy(*arguments, **options):
        parts.extend(held_out(*arguments, **options))
        return parts

    monkeypatch.setattr(neural_training, "held_out", spy)
    texts = [f"{a} {b} {c}" for a in ("good", "bad") for b in ("film", "plot") for c in vectors.words] * 3
    encoder(vectors, max_steps=5).fit(texts, [0, 1, 1] * (len(texts) // 3), valid=0.2)
    train, valid = ({example["tokens"].tobytes() for example in part} for part in parts)
    assert train
    assert valid
    assert not train & valid


class Mean(torch.nn.Module):
    """The mean of the word vectors: a network without parameters."""

    def __init__(self, words, features):
        super().__init__()
        self.words, self.features, self.dim = words, features, features

    def encode(self, inputs):
        return inputs.x.sum(1) / inputs.lengths.clamp_min(1)[:, None]


class MeanEncoder(NeuralEncoder):
    network_class = Mean


def test_a_head_on_a_network_without_parameters(vectors):
    options = {"head": se.Classifier(hidden=4), "max_steps": 400, "max_epochs": None, "learning_rate": 0.02}
    mean = MeanEncoder(vectors, device="cpu", **options).fit(SENTENCES, LABELS)
    assert mean.score(SENTENCES, LABELS) > 0.9
    again = pickle.loads(pickle.dumps(mean))
    np.testing.assert_array_equal(again.encode(SENTENCES), mean.encode(SENTENCES))


def test_buckets_have_no_bounds(vectors):
    with pytest.raises(ValueError, match="batching='buckets': encoders have no bounds"):
        encoder(vectors, batching="buckets").fit(SENTENCES, LABELS)


def test_an_interrupted_training_resumes(vectors, tmp_path):
    straight = encoder(vectors).fit(SENTENCES, LABELS)
    resumed = checks.interrupt_and_resume(encoder(vectors), SENTENCES, LABELS, folder=tmp_path, step=7)
    np.testing.assert_array_equal(resumed.encode(SENTENCES), straight.encode(SENTENCES))
    with pytest.raises(ValueError, match="different run"):
        encoder(vectors, noise=0.1).fit(SENTENCES, LABELS, checkpoints=tmp_path)


def test_missing_attributes_of_a_network_are_reported(vectors):
    class Dumb(torch.nn.Module):
        def __init__(self, words, features, hidden=2):
            super().__init__()
            self.words, self.features = words, features
            self.weight = torch.nn.Parameter(torch.zeros(hidden))

        def loss(self, batch):
            return self.weight.sum(), 1

    class DumbEncoder(NeuralEncoder):
        network_class = Dumb

    with pytest.raises(TypeError, match="DumbEncoder: the network Dumb has no dim"):
        DumbEncoder(vectors, max_steps=1, max_epochs=None, device="cpu").fit(SENTENCES)
    with pytest.raises(ValueError, match="there is an encoder named 'RAE' already"):
        type("RAE", (NeuralEncoder,), {"network_class": Dumb})

    class Shadows(Dumb):
        def __init__(self, words, features, dim=4):
            super().__init__(words, features)

    with pytest.raises(ValueError, match="the network's option 'dim' has the name of something"):
        type("ShadowsEncoder", (NeuralEncoder,), {"network_class": Shadows})


def test_classes_of_one_name_and_subclasses_are_distinguished(vectors, tmp_path):
    class Other(Bag):
        def encode(self, inputs):
            return 2 * super().encode(inputs)

    Other.__name__ = "Bag"
    other_encoder = type("OtherSmallEncoder", (NeuralEncoder,), {"network_class": Other})
    options = {"max_steps": 2, "max_epochs": None, "device": "cpu"}

    class Child(SmallEncoder):
        pass

    class OwnRAE(se.RAE):
        pass

    encoders = [
        kind(vectors, **options).fit(SENTENCES, LABELS) for kind in (SmallEncoder, other_encoder, Child)
    ]
    encoders.append(OwnRAE(vectors, hidden=8, heads=2, min_length=2, **options).fit(SENTENCES))
    for i, one in enumerate(encoders):
        one.save(tmp_path / f"{i}")
        again = se.load(tmp_path / f"{i}")
        assert type(again) is type(one)
        np.testing.assert_array_equal(again.encode(SENTENCES), one.encode(SENTENCES))


def test_networks_without_a_table_and_of_other_types_are_saved(vectors, tmp_path):
    class Plain(torch.nn.Module):
        def __init__(self, words, features, shift=-1):
            super().__init__()
            self.words, self.features, self.dim, self.shift = words, features, features, shift
            self.factor = torch.nn.Parameter(torch.ones(features, dtype=torch.float64))
            hidden = torch.full((3, 3), float("-inf")).triu(1)
            self.register_buffer("hidden", hidden, persistent=False)

        def encode(self, inputs):
            return inputs.x.sum(1) * self.factor + self.shift

        def loss(self, batch):
            return (self.factor - 2).square().sum() * len(batch), len(batch)

    class PlainEncoder(NeuralEncoder):
        network_class = Plain

    options = {"max_steps": 2, "max_epochs": None, "device": "cpu"}
    unfitted = PlainEncoder(vectors, **options).fit(SENTENCES)
    unfitted.save(tmp_path / "plain")
    np.testing.assert_allclose(
        se.load(tmp_path / "plain").encode(SENTENCES), unfitted.encode(SENTENCES), rtol=1e-6
    )
    with pytest.raises(TypeError, match="shift=<class 'int'> cannot be saved"):
        PlainEncoder(vectors, shift=int, **options).fit(SENTENCES)


def test_weights_that_are_no_word_tables_are_copied_by_position():
    from sentencode.models.transfer import copy_weights, word_tables

    class Two(torch.nn.Module):
        words = 4

        def __init__(self):
            super().__init__()
            self.table, self.layer = torch.nn.Embedding(4, 3), torch.nn.Linear(2, 8)

    one, other = Two(), Two()
    copy_weights(
        one,
        word_tables(one, {"words": ["x", "y", "z", ("<unk>",)]}),
        other,
        word_tables(other, {"words": ["z", "y", "x", ("<unk>",)]}),
    )
    assert torch.equal(one.layer.weight, other.layer.weight)
    assert torch.equal(one.table.weight, other.table.weight[[2, 1, 0, 3]])


def test_redefining_a_class_of_another_module_warns():
    def defined(module):
        type("TwiceEncoder", (NeuralEncoder,), {"network_class": Bag, "__module__": module})

    defined("one")
    defined("one")  # like a notebook cell that is run again
    with pytest.warns(UserWarning, match=r"two\.TwiceEncoder takes the place of one\.TwiceEncoder: files"):
        defined("two")


def test_invalid_labels(vectors):
    with pytest.raises(ValueError, match="y must be numbers, one for each sentence, got <U1"):
        encoder(vectors).fit(SENTENCES, ["a"] * len(SENTENCES))
    with pytest.raises(ValueError, match="y has 59 labels, but there are more sentences"):
        encoder(vectors).fit(SENTENCES, LABELS[:-1])
    with pytest.raises(ValueError, match="y has 61 labels, but there are 60 sentences"):
        encoder(vectors).fit(SENTENCES, [*LABELS, 1])


def redefined(source):
    """A class defined in a notebook cell, with this source."""
    names = {"Bag": Bag, "torch": torch, "NeuralEncoder": NeuralEncoder, "__name__": "notebook"}
    exec(source, names)
    return names["CellEncoder"]


CELL = """
class Net(Bag):
    def encode(self, inputs):
        return {factor} * super().encode(inputs)


class CellEncoder(NeuralEncoder):
    network_class = Net
"""


def test_changed_code_changes_fingerprint_and_checkpoints(vectors, tmp_path):
    options = {"max_steps": 4, "max_epochs": None, "device": "cpu"}
    first = redefined(CELL.format(factor=1))(vectors, **options)
    first.fit(SENTENCES, LABELS, checkpoints=tmp_path / "run")
    first.save(tmp_path / "cell")
    same = redefined(CELL.format(factor=1))
    assert se.load(tmp_path / "cell").fingerprint() == first.fingerprint()
    same(vectors, **options).fit(SENTENCES, LABELS, checkpoints=tmp_path / "run")
    other = redefined(CELL.format(factor=2))
    again = se.load(tmp_path / "cell")  # loaded with the current class, whose embeddings differ
    assert type(again) is other
    np.testing.assert_array_equal(again.encode(SENTENCES), 2 * first.encode(SENTENCES))
    assert again.fingerprint() != first.fingerprint()
    with pytest.raises(ValueError, match=r"different run: model\.network\.code was"):
        other(vectors, **options).fit(SENTENCES, LABELS, checkpoints=tmp_path / "run")


def test_code_without_a_digest_is_unique(vectors, monkeypatch):
    monkeypatch.setattr(neural_files, "code_digest", lambda of: None)
    options = {"max_steps": 1, "max_epochs": None, "device": "cpu"}
    first, other = (
        redefined(CELL.format(factor=factor))(vectors, **options).fit(SENTENCES, LABELS) for factor in (1, 1)
    )
    assert first.fingerprint() == first.fingerprint() != other.fingerprint()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("too hot")], ids=["interrupt", "error"])
def test_errors_of_encode_leave_the_network_unchanged(fitted, monkeypatch, error):
    rows = fitted.encode(SENTENCES)
    fitted.network.train()

    def encode(self, inputs):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Bag, "encode", encode)
        with pytest.raises(type(error)) as raised:
            fitted.encode(SENTENCES)
        assert raised.value.args == error.args
        patch.setattr(Bag, "encode", lambda self, inputs: inputs.x.sum(1))
        with pytest.raises(ValueError, match=r"encode must return \[\d+, 5\], got \[\d+, 6\]"):
            fitted.encode(SENTENCES)
    assert all(part.training for part in fitted.network.modules())
    np.testing.assert_array_equal(fitted.encode(SENTENCES), rows)


def test_concurrent_encoding_has_no_dropout(fitted):
    fitted.network.eval()
    rows = fitted.encode(SENTENCES)
    fitted.network.train()
    with ThreadPoolExecutor(4) as pool:
        for embeddings in pool.map(fitted.encode, [SENTENCES] * 240):
            np.testing.assert_array_equal(embeddings, rows)
    assert all(part.training for part in fitted.network.modules())


def test_damaged_files_do_not_allocate_memory(fitted, tmp_path):
    path = tmp_path / "bag"
    fitted.save(path)
    header, body = saved_files.parts(path.read_bytes())
    config = json.loads(header["__metadata__"]["config"])
    config["network"]["words"] = 10**12
    header["__metadata__"]["config"] = json.dumps(config)
    path.write_bytes(saved_files.with_checksums(header, body))
    with pytest.raises(se.FormatError, match="the file has too little data"):
        se.load(path)


def test_autoencoders_ignore_labels(vectors):
    long = ["a good film a bad film", "very good very bad", "good good fun today"]
    options = {"hidden": 8, "heads": 2, "max_steps": 2, "min_length": 2, "device": "cpu"}
    plain = se.RAE(vectors, **options).fit(long, valid=(long[0], long[1]))
    labelled = se.RAE(vectors, **options).fit(long, [1, 2, 3], valid=(long[0], long[1]))
    assert plain.fingerprint() == labelled.fingerprint()
    assert len(plain.history_.validations) == len(labelled.history_.validations) == 1


# --- Networks with word_rows --------------------------------------------------------------------------------

ALPHABET = "abdefgilmnotuyßä"


class Spelling(torch.nn.Module):
    """Frozen word vectors, a trained table, and characters."""

    alphabet, max_characters = ALPHABET, 4

    def __init__(self, words, features, letters=3, classes=2):
        super().__init__()
        self.words, self.features, self.dim = words, features, 2 * features + letters
        self.table = torch.nn.Embedding(words, features)
        self.letters = torch.nn.Embedding(2 + len(self.alphabet), letters, padding_idx=0)
        self.scores = torch.nn.Linear(self.dim, classes)
        self.register_buffer("vectors", torch.zeros(words, features))
        self.register_buffer("characters", torch.zeros(words, self.max_characters, dtype=torch.int64))

    def load_words(self, rows):
        self.vectors.copy_(rows)

    def load_characters(self, characters):
        self.characters.copy_(characters)

    def word_rows(self, words):
        letters = self.letters(words.characters).sum(1)
        return torch.cat([words.vectors, self.table(words.ids), letters], 1)

    def encode(self, inputs):
        return inputs.x.sum(1)

    def loss(self, batch):
        ids, positions = batch.ids["tokens"].unique(return_inverse=True)
        words = Words(self.vectors[ids], ids >= 0, ids, self.characters[ids])
        mask = batch.mask["tokens"]
        x = self.word_rows(words)[positions] * mask[..., None]
        scores = self.scores(self.encode(Inputs(x, batch.lengths["tokens"], mask)))
        loss = torch.nn.functional.cross_entropy(scores, batch.labels, reduction="sum")
        return loss, len(batch), (scores.argmax(1) == batch.labels).sum()


class AllWords(SentenceTask):
    words_need_vectors = False


class SpeltEncoder(NeuralEncoder):
    network_class = Spelling
    task_class = AllWords


SPELT = ["a good film", "a bad unseen film", "very Mäßig 映画 good", "bad bad plot unseen"] * 15
TEXTS = ["a good film", "", "never unseen", "Mäßig 映画 𝔘nicode plot", "zebra zebra", "trained zebra bad"]


def spelt_by_hand(encoder, texts):
    """Word by word, in Python alone."""
    network, ids, rows = encoder.network, encoder.vocabulary_.words, []
    for text in texts:
        row = np.zeros(encoder.dim)
        for word in encoder.tokenizer_([text])[0]:
            policy = encoder.words_.oov
            if word not in encoder.words_ and word not in ids and policy == "skip":
                continue
            vector = encoder.words_[word] if word in encoder.words_ else np.zeros(6)
            if word not in encoder.words_ and policy == "mean":
                vector = encoder.words_.matrix().mean(0)
            row_id = ids.index(word) if word in ids else len(ids)
            letters = [ALPHABET.index(c) + 2 if c in ALPHABET else 1 for c in word[:4]]
            parts = vector, network.table.weight[row_id], network.letters.weight[letters].sum(0)
            row += np.concatenate([np.asarray(torch.as_tensor(part).detach()) for part in parts])
        rows.append(row)
    return np.stack(rows)


@pytest.fixture(scope="module", params=["skip", "mean"])
def spelling(vectors, request):
    encoder = SpeltEncoder(
        vectors.with_oov(request.param), max_steps=30, max_epochs=None, learning_rate=0.05, device="cpu"
    )
    return encoder.fit(SPELT, [1, 0, 1, 0] * 15)


def test_word_rows_gets_ids_and_characters(spelling):
    assert spelling.history_.steps[-1].accuracy == 1
    assert {"unseen", "mäßig"} <= set(spelling.vocabulary_.words) - set(spelling.words_.words)
    np.testing.assert_allclose(spelling.encode(TEXTS), spelt_by_hand(spelling, TEXTS), atol=1e-5)
    zebra = spelling.encode("zebra")
    assert zebra.any() == (spelling.words_.oov == "mean")
    np.testing.assert_allclose(spelling.encode("zebra zebra"), 2 * zebra, atol=1e-5)


def test_rows_of_words_are_the_same_in_any_batch_and_on_any_threads(spelling):
    texts = [*TEXTS * 700, "a bad unseen film " * 200]
    expected = np.concatenate([spelling.encode([text]) for text in texts[: len(TEXTS)]])
    before = se.num_threads()
    try:
        for threads in (1, 3):
            se.set_num_threads(threads)
            rows = spelling.encode(texts)
            np.testing.assert_allclose(rows[: len(TEXTS) * 700], np.tile(expected, (700, 1)), atol=1e-5)
    finally:
        se.set_num_threads(before)
    tokens = spelling.tokenizer_(TEXTS)
    np.testing.assert_allclose(spelling.encode(tokens), expected, atol=1e-5)


def test_character_features_follow_word_vectors(spelling):
    network, words = spelling.network, spelling.vocabulary_.words
    expected = [[ALPHABET.index(c) + 2 if c in ALPHABET else 1 for c in word[:4]] for word in words]
    expected = [[*row, 0, 0, 0, 0][:4] for row in expected]
    assert network.characters[:-1].tolist() == expected
    assert network.characters[-1].tolist() == [0] * 4  # unknown words


def test_networks_with_word_rows_are_saved(spelling, vectors, tmp_path):
    path = tmp_path / "spelling"
    spelling.save(path)
    again = se.load(path)
    for other in (again, pickle.loads(pickle.dumps(again)), copy.deepcopy(spelling)):
        np.testing.assert_array_equal(other.encode(TEXTS), spelling.encode(TEXTS))
        assert other.fingerprint() == spelling.fingerprint()
    header, body = saved_files.parts(path.read_bytes())
    config = json.loads(header["__metadata__"]["config"])
    one = config["ids"]["words"][0]
    for change, why in [
        ({"words": [*config["ids"]["words"], "more", "yet more"]}, "the network has"),
        ({"words": [one, one]}, "distinct words"),
        ({"words": [one, 1]}, "distinct words"),
        ({"words": config["ids"]["words"][::-1]}, "the ids are not those of the vocabulary"),
        ({"unknown": -1}, "the ids are not those of the vocabulary"),
        ({"unknown": 10**6}, "the network has"),
        ({"unknown": 0.5}, "words and unknown"),
        ({"colour": 1}, "words and unknown"),
    ]:
        changed = {**config, "ids": {**config["ids"], **change}}
        header["__metadata__"]["config"] = json.dumps(changed)
        path.write_bytes(saved_files.with_checksums(header, body))
        with pytest.raises(se.FormatError, match=why):
            se.load(path)
    del config["ids"]
    header["__metadata__"]["config"] = json.dumps(config)
    path.write_bytes(saved_files.with_checksums(header, body))
    with pytest.raises(se.FormatError, match="the ids are not those of the vocabulary"):
        se.load(path)


def test_another_process_loads_networks_with_word_rows(spelling, tmp_path):
    spelling.save(tmp_path / "spelling")
    code = (
        f"from {__name__} import TEXTS; import sentencode as se, sys\n"
        f"se.load({str(tmp_path / 'spelling')!r}).encode(TEXTS).tofile({str(tmp_path / 'rows')!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = np.fromfile(tmp_path / "rows", np.float32).reshape(len(TEXTS), -1)
    np.testing.assert_allclose(rows, spelling.encode(TEXTS), atol=1e-6)


def test_a_resumed_training_of_words_is_bit_equal(vectors, tmp_path):
    labels = [1, 0, 1, 0] * 15
    straight, resumed = (SpeltEncoder(vectors, max_steps=12, max_epochs=None, device="cpu") for _ in range(2))
    checks.interrupt_and_resume(resumed, SPELT, labels, folder=tmp_path, step=7)
    np.testing.assert_array_equal(resumed.encode(TEXTS), straight.fit(SPELT, labels).encode(TEXTS))


def test_wrong_results_of_word_rows_are_reported(spelling, vectors, monkeypatch):
    rows = spelling.encode(TEXTS)
    with monkeypatch.context() as patch:
        patch.setattr(Spelling, "word_rows", lambda self, words: 1)
        with pytest.raises(TypeError, match=r"Spelling\.word_rows must return a tensor, got int"):
            spelling.encode(TEXTS)
        patch.setattr(Spelling, "word_rows", lambda self, words: words.vectors[1:])
        with pytest.raises(ValueError, match=r"word_rows must return \[\d+, features\], got \[\d+, 6\]"):
            spelling.encode(TEXTS)
    np.testing.assert_array_equal(spelling.encode(TEXTS), rows)
    for alphabet, most, error, why in [
        (b"abc", 4, TypeError, r"Spelling\.alphabet must be a str"),
        ("abc", 0, ValueError, r"Spelling\.max_characters must be"),
        ("abca", 4, ValueError, "'a' occurs twice"),
    ]:
        with monkeypatch.context() as patch:
            patch.setattr(Spelling, "alphabet", alphabet)
            patch.setattr(Spelling, "max_characters", most)
            with pytest.raises(error, match=why):
                SpeltEncoder(vectors, max_steps=1, device="cpu").fit(SPELT, [1, 0, 1, 0] * 15)


class Tabled(torch.nn.Module):
    """A trained table, initialised independently of the word vectors."""

    def __init__(self, words, features):
        super().__init__()
        self.words, self.features, self.dim = words, features, features
        self.table = torch.nn.Embedding(words, features)

    def learnt_words(self):
        return self.table.weight

    def word_rows(self, words):
        other = words.known & (words.ids == self.words - 1)
        return torch.where(other[:, None], words.vectors, self.table(words.ids))

    def encode(self, inputs):
        return inputs.x.sum(1)

    def loss(self, batch):
        return self.table(batch.ids["tokens"]).square().sum(), len(batch)


class OwnSpace(SentenceTask):
    words_need_vectors = reads_other_words = False


class TabledEncoder(NeuralEncoder):
    network_class = Tabled
    task_class = OwnSpace


def test_expand_vocabulary_of_a_network_in_python(vectors):
    options = {"max_steps": 2, "max_epochs": None, "device": "cpu", "vocabulary_size": 6}
    encoder = TabledEncoder(vectors.with_oov("zero"), **options).fit(SENTENCES)
    table, words = encoder.network.table.weight.detach().numpy(), encoder.vocabulary_.words
    other = next(word for word in vectors.words if word not in words)
    np.testing.assert_array_equal(encoder.encode(words), table[:-1])
    np.testing.assert_array_equal(encoder.encode([other, "zebra"]), table[[-1, -1]])  # both unknown
    assert encoder.expand_vocabulary(vectors) is encoder
    np.testing.assert_array_equal(encoder.encode(words), table[:-1])
    np.testing.assert_array_equal(encoder.encode(other), encoder.words_[other])
    assert not encoder.encode("zebra").any()  # the policy of `vectors` for unknown words
    assert encoder.vectors is not encoder.words_
    # Without vectors, ids are enough.
    empty = se.WordVectors.from_array([], np.zeros((0, 3), np.float32))
    bare = TabledEncoder(empty, **options).fit(SENTENCES)
    np.testing.assert_array_equal(
        bare.encode("good"), bare.network.table.weight[bare.vocabulary_.words.index("good")].detach().numpy()
    )
