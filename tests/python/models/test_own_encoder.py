"""A network in Python is a family of its own: trained, encoded, saved and evaluated like ours."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import sentencode as se

torch = pytest.importorskip("torch")

from sentencode.models import Inputs, NeuralEncoder
from sentencode.training import Callback

from ..io import saved_files

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
    made = encoder(vectors, hidden=5)
    assert made.get_params()["hidden"] == 5
    assert made.get_params()["noise"] == 0.5
    assert "words" not in made.get_params()
    assert "hidden=5" in repr(made)
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
    # Words that it was not trained with are read by their vectors.
    assert np.abs(fitted.encode(["never trained"])).min() > 0
    assert not fitted.encode(["", "unknown"]).any()
    x = np.stack([fitted.vectors[word] for word in SENTENCES[0].split()]).mean(0)
    layer = fitted.network.layer
    expected = torch.tanh(layer(torch.from_numpy(x))).detach().numpy()
    np.testing.assert_allclose(rows[0], expected, atol=1e-6)


def test_tells_its_own_figures(fitted, tmp_path):
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
    # A process that does not know the class says so.
    code = f"import sentencode as se; se.load({str(tmp_path / 'bag.sentencode')!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "FormatError" in done.stderr
    assert "SmallEncoder" in done.stderr


def test_begins_with_another_and_keeps_what_is_frozen(fitted, vectors):
    more = [*SENTENCES, "never trained before"]
    later = encoder(vectors, hidden=5, max_steps=5).fit(
        more, [*LABELS, 1], init=fitted, freeze=["layer", "table.*"]
    )
    for name in ("layer.weight", "layer.bias"):
        torch.testing.assert_close(
            later.network.state_dict()[name], fitted.network.state_dict()[name], rtol=0, atol=0
        )
    assert not torch.equal(later.network.scores.weight, fitted.network.scores.weight)
    # Words have other ids now, and their rows all the same.
    ids = [one.vocabulary_.words.index("film") for one in (later, fitted)]
    assert torch.equal(later.network.table.weight[ids[0]], fitted.network.table.weight[ids[1]])
    with pytest.raises(ValueError, match=r"no weight is called .encoder.; there are table.weight"):
        encoder(vectors).fit(SENTENCES, LABELS, freeze=["encoder"])
    with pytest.raises(TypeError, match="init must be a neural encoder"):
        encoder(vectors).fit(SENTENCES, LABELS, init="bag.sentencode")


def test_an_interrupted_training_resumes(vectors, tmp_path):
    class Stop(Callback):
        def on_step(self, trainer, step):
            if step.step == 7:
                raise KeyboardInterrupt

    straight = encoder(vectors).fit(SENTENCES, LABELS)
    with pytest.raises(KeyboardInterrupt):
        encoder(vectors).fit(SENTENCES, LABELS, checkpoints=tmp_path, callbacks=[Stop()])
    resumed = encoder(vectors).fit(SENTENCES, LABELS, checkpoints=tmp_path)
    np.testing.assert_array_equal(resumed.encode(SENTENCES), straight.encode(SENTENCES))
    with pytest.raises(ValueError, match="different run"):
        encoder(vectors, noise=0.1).fit(SENTENCES, LABELS, checkpoints=tmp_path)


def test_what_a_network_lacks_is_said(vectors):
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


def test_classes_of_one_name_and_subclasses_are_told_apart(vectors, tmp_path):
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

    made = [kind(vectors, **options).fit(SENTENCES, LABELS) for kind in (SmallEncoder, other_encoder, Child)]
    made.append(OwnRAE(vectors, hidden=8, heads=2, min_length=2, **options).fit(SENTENCES))
    for i, one in enumerate(made):
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
    made = PlainEncoder(vectors, **options).fit(SENTENCES)
    made.save(tmp_path / "plain")
    np.testing.assert_allclose(
        se.load(tmp_path / "plain").encode(SENTENCES), made.encode(SENTENCES), rtol=1e-6
    )
    with pytest.raises(TypeError, match="shift=<class 'int'> cannot be kept"):
        PlainEncoder(vectors, shift=int, **options).fit(SENTENCES)


def test_rows_that_are_no_words_keep_their_order():
    from sentencode.models.transfer import begin_with

    class Two(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.layer = torch.nn.Embedding(4, 3), torch.nn.Linear(2, 8)

    one, other = Two(), Two()
    begin_with(
        one, se.Vocabulary({"x": 3, "y": 2, "z": 1}), other, se.Vocabulary({"z": 3, "y": 2, "x": 1}), 1
    )
    assert torch.equal(one.layer.weight, other.layer.weight)
    assert torch.equal(one.table.weight[0], other.table.weight[2])
    assert torch.equal(one.table.weight[3], other.table.weight[3])


def test_a_class_that_takes_the_place_of_another_is_told_of():
    def defined(module):
        type("TwiceEncoder", (NeuralEncoder,), {"network_class": Bag, "__module__": module})

    defined("one")
    defined("one")  # as a cell that is run again
    with pytest.warns(UserWarning, match=r"two\.TwiceEncoder takes the place of one\.TwiceEncoder: files"):
        defined("two")


def test_labels_that_cannot_be(vectors):
    with pytest.raises(ValueError, match="y must be numbers, one for each sentence, got <U1"):
        encoder(vectors).fit(SENTENCES, ["a"] * len(SENTENCES))
    with pytest.raises(ValueError, match=r"shorter|longer"):
        encoder(vectors).fit(SENTENCES, LABELS[:-1])


def redefined(source):
    """`SmallEncoder` as a cell of a notebook defines it again, with other code."""
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


def test_other_code_is_another_encoder_and_another_run(vectors, tmp_path):
    options = {"max_steps": 4, "max_epochs": None, "device": "cpu"}
    first = redefined(CELL.format(factor=1))(vectors, **options)
    first.fit(SENTENCES, LABELS, checkpoints=tmp_path / "run")
    first.save(tmp_path / "cell")
    same = redefined(CELL.format(factor=1))
    assert se.load(tmp_path / "cell").fingerprint() == first.fingerprint()
    same(vectors, **options).fit(SENTENCES, LABELS, checkpoints=tmp_path / "run")
    other = redefined(CELL.format(factor=2))
    again = se.load(tmp_path / "cell")  # by the class as it is now: its rows are others, and it says so
    assert type(again) is other
    np.testing.assert_array_equal(again.encode(SENTENCES), 2 * first.encode(SENTENCES))
    assert again.fingerprint() != first.fingerprint()
    with pytest.raises(ValueError, match=r"different run: model\.network\.code was"):
        other(vectors, **options).fit(SENTENCES, LABELS, checkpoints=tmp_path / "run")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("too hot")], ids=["interrupt", "error"])
def test_what_encode_raises_comes_out_and_leaves_the_network_as_it_was(fitted, monkeypatch, error):
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


def test_threads_that_encode_together_see_no_noise(fitted):
    fitted.network.eval()
    rows = fitted.encode(SENTENCES)
    fitted.network.train()
    wrong = []

    def work():
        for _ in range(60):
            if not np.array_equal(fitted.encode(SENTENCES), rows):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert all(part.training for part in fitted.network.modules())


def test_damage_is_refused(fitted, tmp_path):
    path = tmp_path / "bag"
    fitted.save(path)
    content = bytearray(path.read_bytes())
    random = np.random.default_rng(0)
    for place in random.integers(8, len(content), 60):
        changed = bytearray(content)
        changed[place] ^= 1 << int(random.integers(8))
        (tmp_path / "changed").write_bytes(changed)
        with pytest.raises(se.FormatError):
            se.load(tmp_path / "changed")


def test_no_memory_is_taken_because_a_file_says_so(fitted, tmp_path):
    path = tmp_path / "bag"
    fitted.save(path)
    header, body = saved_files.parts(path.read_bytes())
    config = json.loads(header["__metadata__"]["config"])
    config["network"]["words"] = 10**12
    header["__metadata__"]["config"] = json.dumps(config)
    path.write_bytes(saved_files.with_checksums(header, body))
    with pytest.raises(se.FormatError, match="the file has not so many numbers"):
        se.load(path)


def test_labels_mean_nothing_to_an_autoencoder(vectors):
    long = ["a good film a bad film", "very good very bad", "good good fun today"]
    options = {"hidden": 8, "heads": 2, "max_steps": 2, "min_length": 2, "device": "cpu"}
    plain = se.RAE(vectors, **options).fit(long, valid=(long[0], long[1]))
    given = se.RAE(vectors, **options).fit(long, [1, 2, 3], valid=(long[0], long[1]))
    assert plain.fingerprint() == given.fingerprint()
    assert len(plain.history_.validations) == len(given.history_.validations) == 1
