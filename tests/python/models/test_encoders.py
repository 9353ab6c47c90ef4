"""The autoencoders as encoders: training, encoding, files and parameters.

Tests of all neural encoders include the context encoders.
"""

from __future__ import annotations

import copy
import inspect
import json
import multiprocessing
import pickle
import random
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

torch = pytest.importorskip("torch")
models = pytest.importorskip("sentencode.models")

from eager.convolutional import Convolutional
from eager.denoising import Denoising
from eager.mean_max import MeanMax
from eager.recurrent_autoencoder import Recurrent
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sentencode as se
from sentencode import _nn, families
from sentencode.core_encoder import plain
from sentencode.models.encoder_class import shared_defaults
from sentencode.models.task import WordVectorsOf

from . import checks

WORDS = ["the", "cat", "dog", "sat", "on", "a", "mat", "ran", "."]
UNSEEN = ["ship", "sank", "ägäis"]  # have vectors, but are in no training sentence
ROWS = np.random.default_rng(0).normal(size=(len(WORDS) + len(UNSEEN), 6)).astype(np.float32)
VECTORS = se.WordVectors.from_array([*WORDS, *UNSEEN], ROWS)
TRAIN = [
    *("the cat sat on a mat .", "a dog ran on the mat .", "the dog sat .", "a cat ran on ."),
    *("the cat ran on a dog .", "the mat sat on the dog .", "a dog sat on a cat ."),
]
TEXTS = ["the cat sat .", "", "a ship sank", "zzz qqq", "dog", "the zzz dog ran on on on on the mat ."]
SMALL = {"preset": "paper", "max_steps": 4, "batch_size": 3, "device": "cpu"}
ATTENDING = {"hidden": 8, "inner": 10, "heads": 2, **SMALL}
CONVOLVING = {"hidden": 8, "filters": 5, "windows": (1, 3)}
# class, eager reference of its network, options
FAMILIES = {
    "MeanMaxAAE": (se.MeanMaxAAE, MeanMax, ATTENDING),
    "RAE": (se.RAE, Recurrent, ATTENDING),
    "LSTMSDAE": (se.LSTMSDAE, Denoising, {"hidden": 8, **SMALL}),
    "CNNLSTMAE": (se.CNNLSTMAE, Convolutional, {**CONVOLVING, **SMALL}),
}
ENCODERS = {
    **FAMILIES,
    "RNNCNN": (se.RNNCNN, None, {"hidden": 4, "following_words": 9, "channels": 7, "inner": 5, **SMALL}),
    "SkipThoughts": (se.SkipThoughts, None, {"hidden": 6, **SMALL}),
    "FastSent": (se.FastSent, None, SMALL),
    "CompositeCNN": (se.CompositeCNN, None, {**CONVOLVING, **SMALL}),
    "HierarchicalCNN": (se.HierarchicalCNN, None, {**CONVOLVING, "paragraph_length": 3, **SMALL}),
}
# Weights that soon get worse.
DIVERGING = {"learning_rate": 0.5, "clip_norm": None, "max_epochs": None}
TOLERANCE = {"atol": 1e-6, "rtol": 0}


def assert_same_row(row, expected):
    """Equal up to rounding, which depends on the sentence's position in the batch."""
    assert np.linalg.norm(row - expected) <= 1e-6 * np.linalg.norm(expected)


each_family = pytest.mark.parametrize("name", FAMILIES)
each_encoder = pytest.mark.parametrize("name", ENCODERS)
in_memory_or_folder = pytest.mark.parametrize("folder", [None, "run"])
each_attending = pytest.mark.parametrize("name", ["MeanMaxAAE", "RAE"])
quick = settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])


class Unread:
    """Training sentences that must not be read."""

    def __iter__(self):
        raise AssertionError("the sentences were read")


def unfitted(name, vectors=VECTORS, **change):
    encoder_class, _, options = ENCODERS[name]
    return encoder_class(vectors, **(options | change))


def fitted(name, vectors=VECTORS, **change):
    return unfitted(name, vectors, **change).fit(TRAIN)


FITTED = {}


def shared(name):
    """A fitted encoder that no test changes."""
    if name not in FITTED:
        FITTED[name] = fitted(name)
    return FITTED[name]


def same(a, b):
    np.testing.assert_array_equal(a.encode(TEXTS), b.encode(TEXTS))


@pytest.fixture(autouse=True)
def restored_threads():
    threads, torch_threads = se.num_threads(), torch.get_num_threads()
    yield
    se.set_num_threads(threads)
    torch.set_num_threads(torch_threads)


# --- Embeddings ---------------------------------------------------------------------------------------------


def reference(name, encoder, texts, max_words=512):
    """Embeddings of the eager network, one sentence at a time."""
    network = encoder.network
    config = {key: value for key, value in network._config.items() if key != "sampled_words"}
    twin = FAMILIES[name][1](**config).eval()
    state = network.state_dict()
    twin.load_state_dict({key: state[key] for key in twin.state_dict()})
    end = state["table.weight"][network._config["end"]]
    rows = np.zeros((len(texts), encoder.dim), np.float32)
    for row, text in zip(rows, texts, strict=True):
        words = [word for word in text.split() if word in encoder.vectors][:max_words]
        if not words:
            continue
        x = torch.tensor(np.stack([encoder.vectors[word] for word in words]))
        if encoder.unit_words:
            x = x / x.norm(dim=1, keepdim=True)
        x = torch.cat([x, end[None]])[None]
        with torch.no_grad():
            row[:] = twin.encode(x, torch.tensor([x.shape[1]]))[0]
    return rows


@each_family
@pytest.mark.parametrize("options", [{}, {"unit_words": True}, {"max_words": 3}], ids=str)
def test_embeddings_equal_those_of_the_eager_network(name, options):
    encoder = fitted(name, **options)
    rows = encoder.encode(TEXTS)
    expected = reference(name, encoder, TEXTS, encoder.max_words)
    np.testing.assert_allclose(rows, expected, **TOLERANCE)
    assert rows.dtype == np.float32
    assert rows.shape == (len(TEXTS), encoder.dim)
    assert not rows[[1, 3]].any()  # empty, and unknown
    assert rows[[0, 2, 4, 5]].any(1).all()
    np.testing.assert_allclose(encoder.encode("a ship sank"), expected[2], **TOLERANCE)


@each_family
@pytest.mark.parametrize("storage", ["float16", "int8"])
def test_embeddings_of_compressed_vectors(name, storage, tmp_path):
    lines = (f"{word} {' '.join(map(str, row))}" for word, row in zip([*WORDS, *UNSEEN], ROWS, strict=True))
    (tmp_path / "vectors.txt").write_text("\n".join(lines), encoding="utf-8")
    small = se.WordVectors.load(tmp_path / "vectors.txt", storage=storage)
    assert not np.array_equal(small["the"], ROWS[0])
    encoder = fitted(name, small, unit_words=True)
    np.testing.assert_allclose(encoder.encode(TEXTS), reference(name, encoder, TEXTS), **TOLERANCE)


@each_attending
@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_mean_or_max_pooling(name, pooling):
    encoder = fitted(name, pooling=pooling)
    assert encoder.dim == 8
    np.testing.assert_allclose(encoder.encode(TEXTS), reference(name, encoder, TEXTS), **TOLERANCE)


def test_reading_stops_after_max_words():
    encoder = fitted("RAE", max_words=2)
    assert_same_row(*encoder.encode(["the cat", "the cat sat on a mat"]))
    assert_same_row(*encoder.encode(["the cat", "zzz the zzz cat sat"]))  # counts known words


def test_tokens_have_the_embedding_of_their_text():
    encoder = shared("MeanMaxAAE")
    texts = [text for text in TEXTS if text]
    rows = encoder.encode([text.split() for text in texts])
    np.testing.assert_array_equal(rows, encoder.encode(texts))
    np.testing.assert_array_equal(encoder.encode(["The CAT sat"]), encoder.encode([["The", "CAT", "sat"]]))


def test_the_end_symbol_uses_its_word_vector():
    words = [*WORDS, "</s>", "<s>"]
    encoder = fitted("MeanMaxAAE", se.WordVectors.from_array(words, ROWS[: len(words)]))
    table = encoder.network.state_dict()["table.weight"].numpy()
    config = encoder.network._config
    np.testing.assert_array_equal(table[[config["end"], config["begin"]]], ROWS[len(WORDS) : len(words)])
    assert set(encoder.vocabulary_.words) == set(WORDS)


def test_halves_are_divided_by_their_lengths():
    encoder = shared("MeanMaxAAE")
    rows, halves = encoder.encode(TEXTS), encoder.encode(TEXTS, normalize="halves")
    known = rows.any(1)
    for part in (slice(0, 8), slice(8, 16)):
        lengths = np.linalg.norm(rows[known, part], axis=1, keepdims=True)
        np.testing.assert_allclose(halves[known, part], rows[known, part] / lengths, rtol=1e-5)
    assert not halves[~known].any()
    np.testing.assert_allclose(encoder.encode(TEXTS[0], normalize="halves"), halves[0], **TOLERANCE)
    strided = np.zeros((len(TEXTS), 2, encoder.dim), np.float32)[:, 1]
    assert encoder.encode(TEXTS, normalize="halves", out=strided) is strided
    np.testing.assert_allclose(strided, halves, **TOLERANCE)
    whole = shared("LSTMSDAE").encode(TEXTS[:1], normalize="halves")  # one pooling: the whole embedding
    np.testing.assert_allclose(np.linalg.norm(whole), 1, rtol=1e-5)
    with pytest.raises(ValueError, match="normalize must be None or 'halves', got 'thirds'"):
        encoder.encode(TEXTS, normalize="thirds")
    with pytest.raises(ValueError, match="normalize is for NumPy arrays alone"):
        encoder.encode(TEXTS, normalize="halves", convert_to_tensor=True)


SENTENCES = st.lists(
    st.lists(st.sampled_from([*WORDS, *UNSEEN, "zzz"]), max_size=12).map(" ".join), max_size=12
)


@each_encoder
@quick
@given(sentences=SENTENCES, size=st.integers(1, 13), data=st.data(), threads=st.sampled_from([1, 2, 5]))
def test_embeddings_do_not_depend_on_the_batch(name, sentences, size, data, threads):
    encoder = shared(name)
    se.set_num_threads(1)
    alone = [encoder.encode(text) for text in sentences]
    se.set_num_threads(threads)
    order = data.draw(st.permutations(range(len(sentences))))
    rows = encoder.encode([sentences[i] for i in order], size)
    assert rows.shape == (len(sentences), encoder.dim)
    assert np.isfinite(rows).all()
    for row, i in zip(rows, order, strict=True):
        assert_same_row(row, alone[i])


@each_encoder
def test_embeddings_of_a_large_network_do_not_depend_on_the_batch(name):
    """Rounding adds up in 512 units and 48 words; relative to the norm it stays below 1e-6."""
    options = {"max_steps": 1, "batch_size": 2, **({} if name == "FastSent" else {"hidden": 512})}
    options |= {"inner": 256, "heads": 8} if name in ("MeanMaxAAE", "RAE") else {}
    encoder = fitted(name, **options)
    random = np.random.default_rng(1)
    texts = [" ".join(random.choice(WORDS, length)) for length in (48, 1, 48, 7, 20, 48, 3, 33, 2, 47, 48)]
    se.set_num_threads(1)
    alone = [encoder.encode(text) for text in texts]
    for threads, size in [(1, 3), (2, 11), (3, 4), (3, 32)]:
        se.set_num_threads(threads)
        for row, expected in zip(encoder.encode(texts, size), alone, strict=True):
            assert_same_row(row, expected)


@each_encoder
@pytest.mark.parametrize("training", [False, True])
def test_many_sentences_on_many_threads(name, training):
    encoder = fitted(name)
    encoder.network.train(training)
    generator = random.Random(1)
    many = [" ".join(generator.choices(WORDS, k=generator.randrange(40))) for _ in range(3000)]
    se.set_num_threads(1)
    expected = encoder.encode(many)
    np.testing.assert_allclose(expected[:50], [encoder.encode(text) for text in many[:50]], **TOLERANCE)
    se.set_num_threads(4)
    np.testing.assert_allclose(encoder.encode(many), expected, **TOLERANCE)
    with ThreadPoolExecutor(4) as pool:
        for embeddings in pool.map(encoder.encode, [many] * 4):
            np.testing.assert_allclose(embeddings, expected, **TOLERANCE)
    assert all(part.training == training for part in encoder.network.modules())


# --- Learning -----------------------------------------------------------------------------------------------


@each_encoder
def test_lists_files_and_iterators_are_the_same(name, tmp_path):
    path = tmp_path / "train.txt"
    path.write_text("\n".join(TRAIN), encoding="utf-8")
    for sentences in (path, str(path), iter(TRAIN), [text.split() for text in TRAIN], np.array(TRAIN)):
        same(unfitted(name).fit(sentences), shared(name))


def test_vocabulary_of_the_targets():
    encoder = shared("MeanMaxAAE")
    assert set(encoder.vocabulary_.words) == set(WORDS)
    rare = fitted("MeanMaxAAE", vocabulary_size=7, min_count=3)
    assert len(rare.vocabulary_) == 7
    assert rare.network._config["words"] == 9
    encoder = fitted("MeanMaxAAE", vocabulary=se.Vocabulary(dict.fromkeys([*WORDS, "ship", "none"], 1)))
    assert set(encoder.vocabulary_.words) == {*WORDS, "ship"}  # the words that have vectors
    table = encoder.network.state_dict()["table.weight"].numpy()
    np.testing.assert_array_equal(table[: len(WORDS) + 1], VECTORS.matrix(encoder.vocabulary_.words))


def test_unit_words_have_unit_targets():
    encoder = fitted("RAE", unit_words=True)
    table = encoder.network.state_dict()["table.weight"].numpy()
    np.testing.assert_allclose(np.linalg.norm(table, axis=1), 1, rtol=1e-5)


def test_training_learns():
    encoder = fitted("MeanMaxAAE", max_steps=60, max_epochs=None, learning_rate=0.01, dropout=0.0)
    losses = [step.loss for step in encoder.history_.steps]
    assert losses[-1] < 0.7 * losses[0]
    assert encoder.network_parameters() == sum(
        p.numel() for name, p in encoder.network.named_parameters() if name != "table.weight"
    )


def test_sparse_rows_train_the_same_encoder(tmp_path):
    options = {"optimizer": "sgd", "learning_rate": 0.05, "sampled_words": 3}
    dense = fitted("MeanMaxAAE", **options)
    encoder = fitted("MeanMaxAAE", **options, sparse_rows=True)
    assert encoder.network.softmax.weight.grad.is_sparse
    np.testing.assert_allclose(encoder.encode(TEXTS), dense.encode(TEXTS), rtol=1e-4, atol=1e-6)
    encoder.save(tmp_path / "model")
    assert se.load(tmp_path / "model").sparse_rows is True
    with pytest.raises(ValueError, match="sparse_rows: no table of the model has a sparse gradient"):
        fitted("MeanMaxAAE", sparse_rows=True)


def test_training_on_a_sample_of_the_words(tmp_path):
    encoder = fitted("MeanMaxAAE", sampled_words=5, max_steps=20, max_epochs=None, learning_rate=0.01)
    encoder.save(tmp_path / "model")
    again = se.load(tmp_path / "model")
    checks.assert_equal_weights(again.network, encoder.network)
    with pytest.raises(ValueError, match=r"sampled_words must be from 0 \(all\) to 11, got 12"):
        fitted("MeanMaxAAE", sampled_words=12)
    assert np.isfinite([step.loss for step in encoder.history_.steps]).all()
    assert np.abs(encoder.encode(TEXTS) - shared("MeanMaxAAE").encode(TEXTS)).max() > 0.01


def test_a_seed_determines_the_training():
    same(fitted("RAE", seed=3), fitted("RAE", seed=3))
    assert np.abs(fitted("RAE", seed=3).encode(TEXTS) - shared("RAE").encode(TEXTS)).max() > 0.01


@pytest.mark.parametrize(
    "work",
    [
        lambda path: fitted("CNNLSTMAE"),
        lambda path: copy.deepcopy(shared("CNNLSTMAE")),
        lambda path: pickle.loads(pickle.dumps(shared("CNNLSTMAE").network)),
        lambda path: (shared("CNNLSTMAE").save(path / "model"), se.load(path / "model")),
    ],
    ids=["fit", "deepcopy", "pickle", "load"],
)
def test_global_random_states_are_unchanged(work, tmp_path):
    shared("CNNLSTMAE")
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    work(tmp_path)
    assert torch.equal(torch.rand(3), expected)


@each_encoder
def test_a_resumed_training_is_bit_equal(name, tmp_path):
    same(checks.interrupt_and_resume(unfitted(name), TRAIN, folder=tmp_path), shared(name))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pooling": "max"}, r'model.pooling was "mean" and is "max"$'),
        ({"heads": 4}, "model.heads was 2 and is 4$"),
        ({"dropout": 0.1}, "model.dropout was 0.5 and is 0.1$"),
        ({"projection": "relu"}, r'model.projection was "none" and is "relu"$'),
        ({"unit_words": True}, r"model.unit_words was false and is true; model.vectors was \S+ and is \S+$"),
        ({"batch_size": 4}, "batches.batch_size was 3 and is 4$"),
        ({"epsilon": 1e-3}, "model.epsilon was 1e-05 and is 0.001$"),
        ({"learning_rate": 0.1}, "learning_rate was 0.0002 and is 0.1$"),
        ({"seed": 3}, "batches.seed was 0 and is 3; seed was 0 and is 3$"),
        (
            {"vectors": se.WordVectors.from_array([*WORDS, *UNSEEN], ROWS[::-1].copy())},
            r"model.vectors was \S+",
        ),
        ({"sentences": [*TRAIN[:-1], "a dog sat on a mat ."]}, r"examples was .*; model.vocabulary was"),
        (
            {
                "sentences": [
                    " ".join({"cat": "dog", "dog": "cat"}.get(w, w) for w in t.split()) for t in TRAIN
                ]
            },
            "is",
        ),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_checkpoints_of_another_training_are_refused(tmp_path, change, message):
    fit = {"valid": TRAIN[:3], "checkpoints": tmp_path}
    options = {"pooling": "mean", "validate_every": 2}
    encoder = unfitted("MeanMaxAAE", **options).fit(TRAIN, **fit)
    other = unfitted("MeanMaxAAE", **options)
    sentences = change.pop("sentences", TRAIN) if "sentences" in change else TRAIN
    other.set_params(**change)
    with pytest.raises(ValueError, match=f"the checkpoint belongs to a different run: .*{message}"):
        other.fit(sentences, **fit)
    assert not other.fitted
    # Options that do not change the steps.
    free = {"max_steps": 6, "validate_every": 3, "stop_after": 50, "max_words": 9, "max_epochs": None}
    again = unfitted("MeanMaxAAE", **(options | free)).fit(TRAIN, **fit)
    assert [step.step for step in again.history_.steps] == [5, 6]
    assert encoder.fitted


def test_the_end_of_a_linear_schedule_is_fixed(tmp_path):
    unfitted("RAE", schedule="linear").fit(TRAIN, checkpoints=tmp_path)
    with pytest.raises(ValueError, match=r"schedule_steps was 4 and is 6$"):
        unfitted("RAE", schedule="linear", max_steps=6).fit(TRAIN, checkpoints=tmp_path)


def test_validation_by_accuracy_decay_and_accumulated_batches(tmp_path):
    diverging = {"learning_rate": 0.5, "clip_norm": None, "max_epochs": None, "max_steps": 30}
    options = {"metric": "accuracy", "decay": 0.5, "patience": 2, "reload_best": True, "accumulate": 2}
    encoder = unfitted("MeanMaxAAE", **diverging, **options, validate_every=1, stop_after=5, batch_size=2)
    encoder.fit(TRAIN, valid=TRAIN[:3], checkpoints=tmp_path)
    validations = encoder.history_.validations
    assert [v.score for v in validations] == [v.accuracy for v in validations]
    best = max(validations, key=lambda v: v.score)
    assert [v for v in validations if v.best][-1] == best
    assert validations[-1].step == best.step + 5
    assert any(v.decayed for v in validations)
    assert encoder.history_.steps[-1].learning_rate < 0.5
    assert encoder.history_.steps[0].examples > 2


@in_memory_or_folder
def test_a_metric_function_selects_the_best_weights(tmp_path, folder):
    embeddings = []

    def score(encoder):
        embeddings.append(encoder.encode(TEXTS))
        assert encoder.fitted
        return -abs(len(embeddings) - 2)

    encoder = unfitted("MeanMaxAAE", metric=score, validate_every=1, learning_rate=0.1)
    encoder.fit(TRAIN, checkpoints=folder and tmp_path / folder)
    assert len(embeddings) == 4
    np.testing.assert_array_equal(encoder.encode(TEXTS), embeddings[1])
    assert not np.array_equal(embeddings[0], embeddings[1])
    encoder.save(tmp_path / "model")
    again = se.load(tmp_path / "model")
    same(again, encoder)
    with pytest.raises(ValueError, match="metric must be 'loss', 'accuracy' or a function, got 'function'"):
        again.fit(TRAIN)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stop_after": 3}, "stop_after=3 needs validations: give fit valid="),
        ({"decay": 0.5}, "decay=0.5 needs validations"),
        ({"reload_best": True}, "reload_best=True needs validations"),
        ({"metric": "accuracy"}, "metric='accuracy' needs validations"),
    ],
    ids=str,
)
def test_options_that_require_validation(change, message):
    with pytest.raises(ValueError, match=message):
        unfitted("MeanMaxAAE", **change).fit(Unread())


def test_a_fit_that_fails_changes_nothing():
    encoder = fitted("MeanMaxAAE")
    before = encoder.encode(TEXTS)
    with pytest.raises(KeyboardInterrupt):
        encoder.fit(TRAIN[:3], callbacks=[checks.Interrupt(1)])
    np.testing.assert_array_equal(encoder.encode(TEXTS), before)
    with pytest.raises(ValueError, match="none of the 2 words of the sentences has a vector"):
        encoder.fit(["zzz qqq"])
    np.testing.assert_array_equal(encoder.encode(TEXTS), before)
    for nothing in ([], ["", "  "]):
        with pytest.raises(ValueError, match=r"MeanMaxAAE: there is no sentence that has a word$"):
            encoder.fit(nothing)
    with pytest.raises(ValueError, match="there is no sentence that has a word min_count=99 times"):
        unfitted("MeanMaxAAE", min_count=99).fit(TRAIN)
    encoder.fit(TRAIN)  # starts anew
    np.testing.assert_array_equal(encoder.encode(TEXTS), before)


@in_memory_or_folder
def test_the_best_weights_and_an_early_stop(tmp_path, folder):
    encoder = unfitted("MeanMaxAAE", **DIVERGING, max_steps=60, validate_every=1, stop_after=4)
    encoder.fit(TRAIN, valid=iter(TRAIN[:3]), checkpoints=folder and tmp_path / folder)
    validations = encoder.history_.validations
    best = [validation for validation in validations if validation.best][-1]
    assert len(validations) < 60
    assert validations[-1].step == best.step + 4
    same(encoder, fitted("MeanMaxAAE", **DIVERGING, max_steps=best.step))


@pytest.mark.parametrize(
    ("lose", "message"),
    [
        (lambda path: path.unlink(), r"best\.safetensors, the weights of the best validation, is missing"),
        (lambda path: path.write_bytes(path.read_bytes()[:-3]), r"cannot be read: .*best\.safetensors"),
        (lambda path: path.write_bytes(b""), r"cannot be read: .*best\.safetensors"),
    ],
    ids=["missing", "truncated", "empty"],
)
def test_losing_the_best_weights_keeps_the_last_ones(tmp_path, lose, message):
    options = {**DIVERGING, "max_steps": 12, "validate_every": 1}
    encoder = unfitted("MeanMaxAAE", **options).fit(TRAIN, valid=TRAIN[:3], checkpoints=tmp_path)
    assert encoder.history_.validations[-1].best is False
    lose(tmp_path / "best.safetensors")
    for _ in range(2):
        again = unfitted("MeanMaxAAE", **options)
        with pytest.warns(UserWarning, match=message) as warned:
            again.fit(TRAIN, valid=TRAIN[:3], checkpoints=tmp_path)
        assert warned[0].filename == __file__
        assert "the encoder has those of the last step, 12. Put the file back" in str(warned[0].message)
    same(again, unfitted("MeanMaxAAE", **DIVERGING, max_steps=12).fit(TRAIN))


def test_best_weights_of_another_network_are_not_loaded_partially(tmp_path):
    options = {"max_steps": 3, "validate_every": 1, "max_epochs": None}
    fit = {"valid": TRAIN[:3]}
    larger = {**options, "inner": 12}  # some of its tensors have the same shapes
    unfitted("MeanMaxAAE", **larger).fit(TRAIN, checkpoints=tmp_path / "larger", **fit)
    unfitted("MeanMaxAAE", **options).fit(TRAIN, checkpoints=tmp_path / "run", **fit)
    (tmp_path / "larger" / "best.safetensors").replace(tmp_path / "run" / "best.safetensors")
    encoder = unfitted("MeanMaxAAE", **options)
    encoder.fit(TRAIN, checkpoints=tmp_path / "run", **fit)  # the last step's checkpoint is the best one
    same(encoder, unfitted("MeanMaxAAE", max_steps=3, max_epochs=None).fit(TRAIN))


def test_progress_is_shown(capsys):
    unfitted("MeanMaxAAE").fit(TRAIN, show_progress_bar=True)
    assert "loss" in capsys.readouterr().err


def test_partial_fit_is_not_available():
    with pytest.raises(NotImplementedError, match="MeanMaxAAE has no partial_fit; fit"):
        unfitted("MeanMaxAAE").partial_fit(TRAIN)


# --- Parameters ---------------------------------------------------------------------------------------------


@each_family
def test_presets(name):
    paper, code = (unfitted(name, preset=preset).settings() for preset in ("paper", "reference"))
    assert (paper["betas"], paper["label_smoothing"]) == ((0.9, 0.999), 0.0)
    assert (code["betas"], code["label_smoothing"]) == ((0.9, 0.98), 0.1)
    if name in ("MeanMaxAAE", "RAE"):
        assert (paper["projection"], code["projection"]) == ("none", "relu")
        assert (paper["epsilon"], code["epsilon"]) == (1e-5, 1e-8)
    if name == "MeanMaxAAE":
        assert (paper["positions"], code["positions"]) == ("sinusoidal", "learnt")
    assert unfitted(name, preset="reference", label_smoothing=0.3).settings()["label_smoothing"] == 0.3
    assert {*paper, "preset"} == set(unfitted(name).get_params(deep=False))
    config = fitted(name, preset="reference").network._config
    assert all(config[option] == code[option] for option in set(config) & set(code))
    with pytest.raises(
        ValueError, match=r"preset must be one of \['paper', 'reference', 'small'\], got 'code'"
    ):
        unfitted(name, preset="code").settings()
    with pytest.raises(ValueError, match="preset must be one of"):
        unfitted(name, preset=["paper"]).fit(TRAIN)


def test_the_preset_of_the_paper_has_its_values():
    settings = se.MeanMaxAAE(VECTORS, preset="paper").settings()
    expected = {"hidden": 2048, "inner": 4096, "heads": 8, "dropout": 0.5, "learning_rate": 2e-4}
    assert {name: settings[name] for name in expected} == expected
    assert settings["vocabulary_size"] == 21_583
    assert settings["batch_size"] == 64
    assert settings["clip_norm"] == 5


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"heads": 3}, ValueError, "heads"),
        ({"hidden": 0}, ValueError, "hidden"),
        ({"hidden": "wide"}, (TypeError, ValueError), "hidden"),
        ({"pooling": "min"}, ValueError, "pooling"),
        ({"dropout": 1.5}, ValueError, "dropout"),
        ({"max_words": 0}, ValueError, "max_words must be at least 1"),
        ({"seed": -1}, ValueError, "seed"),
        ({"sampled_words": -1}, ValueError, "sampled_words"),
        ({"device": "cupboard"}, ValueError, "device='cupboard' cannot be used"),
        ({"device": 3}, TypeError, "device"),
        ({"device": "meta"}, ValueError, "device='meta' cannot be used: nothing is computed there"),
        ({"seed": True}, TypeError, "seed must be a whole number, got True"),
        ({"unit_words": "no"}, TypeError, "unit_words must be True or False, got 'no'"),
        ({"pooling": 3}, TypeError, "pooling must be a str, got 3"),
        ({"windows": 3}, TypeError, r"windows must be whole numbers, got 3 \(int\)"),
        ({"betas": 0.9}, TypeError, r"betas must be two numbers, got 0.9 \(float\)"),
        ({"metric": "bleu"}, ValueError, "metric must be 'loss', 'accuracy' or a function, got 'bleu'"),
        ({"reload_best": "no"}, TypeError, "reload_best must be True or False, got 'no'"),
        ({"tokenizer": "none"}, ValueError, "tokenizer"),
        ({"vocabulary": ["the"]}, TypeError, "vocabulary must be a Vocabulary, got list"),
        ({"vectors": {"the": 1}}, ValueError, r"the vector of 'the' must be numbers \[dim\]"),
    ],
    ids=str,
)
def test_wrong_parameters_are_reported_before_reading(change, error, message):
    with pytest.raises(error, match=message):
        unfitted("CNNLSTMAE" if "windows" in change else "MeanMaxAAE").set_params(**change).fit(Unread())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"learning_rate": 0}, "learning_rate"),
        ({"learning_rate": float("nan")}, "learning_rate"),
        ({"optimizer": "magic"}, "optimizer"),
        ({"schedule": "none"}, "schedule"),
        ({"clip_norm": -1}, "clip_norm"),
        ({"max_steps": 0}, "max_steps"),
        ({"batch_size": 0}, "batch_size"),
        ({"min_length": 9, "max_length": 3}, "min_length"),
        ({"min_length": 30}, "none of 7 rows can be used: 7 are too short"),
        ({"accumulate": 0}, "accumulate must be at least 1"),
    ],
    ids=str,
)
def test_wrong_parameters_of_training(change, message):
    with pytest.raises(ValueError, match=message):
        unfitted("MeanMaxAAE", **change).fit(TRAIN)


@pytest.mark.parametrize("policy", ["zero", "mean", "random"])
def test_words_without_vectors_follow_the_policy(policy):
    skipping = shared("RAE")
    assert not skipping.encode("zzz").any()
    np.testing.assert_array_equal(skipping.encode("the dog"), skipping.encode("the zzz dog"))
    table = VECTORS.with_oov(policy)
    encoder = fitted("RAE", table)
    np.testing.assert_array_equal(encoder.encode("the dog"), skipping.encode("the dog"))
    assert encoder.fingerprint() != skipping.fingerprint()
    # The network reads the policy's vector at the position of the unknown word.
    ids, _ = table._core.lookup(encoder.tokenizer_.core(), ["the zzz dog"])
    x = torch.cat([torch.from_numpy(table._core.rows(ids.astype(np.int64))), end_of(encoder)])[None]
    expected = encoder.network.encode(x, torch.tensor([4]))[0].detach().numpy()
    np.testing.assert_allclose(encoder.encode("the zzz dog"), expected, **TOLERANCE)


def test_subword_vectors_are_read(tmp_path):
    core = VECTORS._core.with_subwords(
        [2, 3], np.random.default_rng(1).normal(size=(50, 6)).astype(np.float32)
    )
    table = se.WordVectors(core).with_oov("subwords")
    encoder = fitted("RAE", table)
    words = ["the", "zzzq", "dog", "qqz"]
    x = torch.cat([torch.from_numpy(table.matrix(words)), end_of(encoder)])[None]
    expected = encoder.network.encode(x, torch.tensor([5]))[0].detach().numpy()
    texts = ["a", "qqz zzzq a mat", " ".join(words), "zzzq"]
    np.testing.assert_allclose(encoder.encode(texts)[2], expected, **TOLERANCE)
    encoder.save(tmp_path / "rae")
    np.testing.assert_array_equal(se.load(tmp_path / "rae").encode(texts), encoder.encode(texts))
    with pytest.raises(ValueError, match="RAE: unit_words=True and vectors with oov='subwords'"):
        unfitted("RAE", table, unit_words=True).fit(TRAIN)


# --- Trained word vectors -----------------------------------------------------------------------------------


def word_row(encoder, word):
    """The trained row of a word that has an id, otherwise its vector."""
    if word in encoder.vocabulary_.words:
        return encoder.network.table.weight[encoder.vocabulary_.words.index(word)].detach()
    vector = torch.from_numpy(np.asarray(encoder.words_[word]))
    return vector / vector.norm() if encoder.unit_words else vector


def end_of(encoder):
    """The row of the end symbol [1, E] for encoders that read it; no rows [0, E] for the others."""
    end = encoder.network.table.weight[encoder.network._config["end"]].detach()[None]
    return end[: encoder._reads_end]


def by_hand(encoder, text):
    rows = torch.stack([word_row(encoder, word) for word in text.split()]).float()
    x = torch.cat([rows, end_of(encoder)])[None]
    return encoder.network.encode(x, torch.tensor([x.shape[1]]))[0].detach().numpy()


@each_encoder
@pytest.mark.parametrize("unit_words", [False, True])
def test_encoding_reads_trained_rows(name, unit_words, tmp_path):
    errors = []

    def score(encoder):
        errors.append(np.abs(encoder.encode("the cat") - by_hand(encoder, "the cat")).max())
        return 0.0

    options = {"unit_words": unit_words, "learning_rate": 0.05, "validate_every": 2}
    encoder = unfitted(name, metric=score, trainable_words=True, **options).fit(TRAIN)
    assert len(errors) > 1
    assert max(errors) < 1e-6  # in the middle of the training, too
    before = WordVectorsOf(VECTORS, unit=encoder.unit_words).weights()
    start = ROWS * (1 if before is None else before[:, None])
    table = encoder.network.table.weight.detach().numpy()
    assert np.abs(table[encoder.vocabulary_.words.index("cat")] - start[WORDS.index("cat")]).max() > 1e-3
    text = "a cat sank on the ship ."
    np.testing.assert_allclose(encoder.encode(text), by_hand(encoder, text), **TOLERANCE)
    encoder.save(tmp_path / "file")
    loaded = se.load(tmp_path / "file")
    assert loaded.trainable_words is True
    assert loaded.fingerprint() == encoder.fingerprint()
    for other in (loaded, pickle.loads(pickle.dumps(loaded)), copy.deepcopy(encoder)):
        same(other, encoder)
    assert not hasattr(encoder, "attention") or encoder.attention("a ship zzz")[0] == ["a", "ship", "</s>"]


def test_untrained_tables_are_not_read():
    np.testing.assert_array_equal(
        shared("RAE").encode(TEXTS), fitted("RAE", trainable_words=False).encode(TEXTS)
    )
    with pytest.raises(ValueError, match="its network has no trained word table"):
        shared("RAE").expand_vocabulary(VECTORS)
    with pytest.raises(TypeError, match="trainable_words"):
        unfitted("RAE", trainable_words=1).fit(TRAIN)


@pytest.mark.parametrize(
    "name", ["RAE", "RNNCNN", "SkipThoughts", "FastSent", "CompositeCNN", "HierarchicalCNN"]
)
@pytest.mark.parametrize("unit_words", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_expansion_is_the_linear_regression(name, ridge, unit_words, tmp_path):
    linear_model = pytest.importorskip("sklearn.linear_model")
    encoder = fitted(name, trainable_words=True, unit_words=unit_words, learning_rate=0.05)
    random = np.random.default_rng(3)
    words = [*WORDS[1:], "boat", "sailed", "ship"]
    for dim in (4, 20):  # fewer dimensions than words, and more
        rows = random.normal(size=(len(words), dim)).astype(np.float32)
        encoder.expand_vocabulary(se.WordVectors.from_array(words, rows), ridge=ridge)
        ids = [encoder.vocabulary_.words.index(word) for word in WORDS[1:]]
        learnt = encoder.network.table.weight.detach().numpy()[ids]
        kind = linear_model.Ridge(alpha=ridge) if ridge else linear_model.LinearRegression()
        model = kind.fit(rows[: len(ids)].astype(np.float64), learnt.astype(np.float64))
        expected = model.predict(rows[len(ids) :].astype(np.float64))
        np.testing.assert_allclose(encoder.words_.matrix(words[len(ids) :]), expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(encoder.words_.matrix(WORDS[1:]), learnt)
    the = encoder.network.table.weight[encoder.vocabulary_.words.index("the")].detach()  # not in the file
    x = torch.cat([the[None], torch.from_numpy(expected[:2].astype(np.float32)), end_of(encoder)])[None]
    row = encoder.network.encode(x, torch.tensor([x.shape[1]]))[0].detach().numpy()
    np.testing.assert_allclose(encoder.encode("the boat sank sailed"), row, atol=1e-5)  # sank: unknown now
    encoder.save(tmp_path / "file")
    loaded = se.load(tmp_path / "file")
    texts = [*TEXTS, "the boat sank sailed"]
    for other in (loaded, pickle.loads(pickle.dumps(loaded)), copy.deepcopy(encoder)):
        np.testing.assert_array_equal(other.encode(texts), encoder.encode(texts))
        assert other.fingerprint() == encoder.fingerprint()
    with pytest.raises(ValueError, match="none of the trained words has one"):
        encoder.expand_vocabulary({"boat": [1.0]})


def test_unknown_parameters():
    with pytest.raises(TypeError, match=r"no parameter 'hiden'; its parameters are .*'hidden'"):
        unfitted("MeanMaxAAE", hiden=3)
    with pytest.raises(ValueError, match="MeanMaxAAE has no parameter 'hiden'"):
        unfitted("MeanMaxAAE").set_params(hiden=3)


@each_encoder
def test_scikit_learn_clones_it(name):
    base = pytest.importorskip("sklearn.base")
    encoder = shared(name)
    twin = base.clone(encoder)
    assert not twin.fitted
    params, cloned = (e.get_params(deep=False) for e in (encoder, twin))
    assert list(cloned) == list(params)
    assert all(cloned[key] == params[key] for key in params if key != "vectors")
    same(twin.fit(TRAIN), encoder)
    assert repr(base.clone(unfitted(name, clip_norm=1.5)).get_params()["clip_norm"]) == "1.5"


def test_it_is_a_step_of_pipelines():
    linear_model = pytest.importorskip("sklearn.linear_model")
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline

    pipeline = make_pipeline(unfitted("MeanMaxAAE"), linear_model.LogisticRegression())
    labels = ["cat" in text for text in TRAIN * 2]
    search = GridSearchCV(pipeline, {"meanmaxaae__hidden": [8, 16]}, cv=2).fit(TRAIN * 2, labels)
    assert search.predict(TRAIN).shape == (len(TRAIN),)
    assert len(shared("RAE").get_feature_names_out()) == 16


def test_the_network_cannot_be_replaced():
    encoder = fitted("MeanMaxAAE")
    with pytest.raises(AttributeError, match=r"network|set attribute"):
        encoder.network = shared("MeanMaxAAE").network
    with pytest.raises(se.NotFittedError, match="this MeanMaxAAE has no network yet: call fit first"):
        _ = unfitted("MeanMaxAAE").network


def test_without_bounds_training_is_one_epoch():
    assert len(unfitted("RAE", max_steps=None, max_epochs=None).fit(TRAIN).history_.steps) == len(
        unfitted("RAE", max_steps=None, max_epochs=1).fit(TRAIN).history_.steps
    )


def test_changed_parameters_require_fit():
    encoder = fitted("CNNLSTMAE")
    rows = encoder.encode(TEXTS)
    for change, back in [({"hidden": 9}, {"hidden": 8}), ({"windows": [1, 3]}, {"windows": (1, 3)})]:
        encoder.set_params(**change)
        if "hidden" in change:
            with pytest.raises(se.NotFittedError, match=r"have changed since it was fitted \(hidden\)"):
                encoder.encode(TEXTS)
            with pytest.raises(se.NotFittedError, match="hidden"):
                encoder.save("nowhere")
            with pytest.raises(se.NotFittedError, match="hidden"):
                encoder.reconstruct(TEXTS)
        assert encoder.fitted == ("windows" in change)  # equal values in another sequence type
        encoder.set_params(**back)
        np.testing.assert_array_equal(encoder.encode(TEXTS), rows)
    encoder.set_params(windows=np.array([1, 3, 5]))
    assert not encoder.fitted
    encoder.set_params(windows=np.array([1, 3]), clip_norm=float("nan"))
    assert not encoder.fitted
    encoder.set_params(clip_norm=np.float64(5))
    assert encoder.fitted


def test_unfitted_encoders_raise():
    encoder = unfitted("MeanMaxAAE")
    for call in (
        lambda: encoder.encode("the cat"),
        lambda: encoder.dim,
        lambda: encoder.save("nowhere"),
        lambda: encoder.reconstruct("the cat"),
        lambda: encoder.attention("the cat"),
        lambda: encoder.network_parameters(),
        lambda: encoder.fingerprint(),
    ):
        with pytest.raises(se.NotFittedError, match="this MeanMaxAAE has not been fitted"):
            call()
    assert "fitted" in encoder._repr_html_()
    assert "no" in encoder._facts()["fitted"]


# --- The network as a module of torch -----------------------------------------------------------------------


@each_family
def test_encoding_has_no_dropout_in_training_mode(name):
    encoder = fitted(name)
    rows = encoder.encode(TEXTS)
    parts = list(encoder.network.modules())
    encoder.network.train()
    parts[-1].eval()
    modes = [part.training for part in parts]
    np.testing.assert_array_equal(encoder.encode(TEXTS), rows)
    reconstructed = encoder.reconstruct(TEXTS, max_length=5)
    assert [part.training for part in parts] == modes
    encoder.network.eval()
    assert encoder.reconstruct(TEXTS, max_length=5) == reconstructed
    for part in parts[1:]:  # all but the network itself
        part.train()
    np.testing.assert_array_equal(encoder.encode(TEXTS), rows)
    # Losses still have dropout.
    encoder.network.train()
    ids = torch.tensor([[0, 1, encoder.network._config["end"]]])
    losses = set()
    for _ in range(4):
        loss = encoder.network.loss(ids, torch.tensor([3])).sum
        loss.backward()
        losses.add(loss.item())
    assert len(losses) > 1


def test_encoding_reads_weights_that_an_optimizer_of_torch_has_changed():
    encoder = fitted("MeanMaxAAE")
    before = encoder.encode(TEXTS)
    optimizer = torch.optim.SGD([p for p in encoder.network.parameters() if p.requires_grad], lr=0.1)
    ids = torch.tensor([[0, 1, 2, encoder.network._config["end"]]])
    encoder.network.loss(ids, torch.tensor([4])).sum.backward()
    optimizer.step()
    assert np.abs(encoder.encode(TEXTS) - before).max() > 1e-4
    np.testing.assert_allclose(encoder.encode(TEXTS), reference("MeanMaxAAE", encoder, TEXTS), **TOLERANCE)


@each_family
def test_encoding_reads_assigned_weights(name):
    encoder, other = fitted(name), fitted(name, seed=5)
    state = {key: tensor.clone() for key, tensor in other.network.state_dict().items()}
    encoder.network.load_state_dict(state, assign=True)
    same(encoder, other)
    with pytest.raises(AttributeError, match=r"bias belongs to C.*cannot be replaced"):
        encoder.network.softmax.bias = torch.nn.Parameter(torch.zeros(11))
    with pytest.raises(AttributeError, match=r"weight belongs to C.*cannot be replaced, parametrised"):
        torch.nn.utils.parametrizations.weight_norm(encoder.network.softmax)
    same(encoder, other)


@each_encoder
def test_hooks_fire_where_the_network_is_called(name):
    network, shapes = shared(name).network, []
    x, lengths = torch.tensor(ROWS[None, :3]), torch.tensor([3])
    handle = network.register_forward_pre_hook(lambda module, inputs: shapes.append(inputs[0].shape))
    try:
        rows = network.encode(x, lengths)
        assert torch.equal(rows, network(x, lengths))
    finally:
        handle.remove()
    assert shapes == [x.shape] * 2


@each_family
def test_double_precision(name, tmp_path):
    encoder = fitted(name)
    rows = encoder.encode(TEXTS)
    encoder.network.double()
    np.testing.assert_allclose(encoder.encode(TEXTS), rows, atol=1e-5)
    assert encoder.encode(TEXTS).dtype == np.float32
    encoder.reconstruct(TEXTS, max_length=3)
    encoder.save(tmp_path / "model")
    np.testing.assert_array_equal(se.load(tmp_path / "model").encode(TEXTS), rows)
    encoder.network.bfloat16()
    np.testing.assert_allclose(encoder.encode(TEXTS), rows, atol=0.1)


def test_nan_weights_are_not_saved(tmp_path):
    encoder = fitted("RAE")
    with torch.no_grad():
        next(p for p in encoder.network.parameters() if p.requires_grad).fill_(float("nan"))
    with pytest.raises(ValueError, match="must be finite to be saved"):
        encoder.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


# --- Files --------------------------------------------------------------------------------------------------


@each_encoder
@pytest.mark.parametrize("again", [lambda e: pickle.loads(pickle.dumps(e)), copy.deepcopy])
def test_copies(name, again):
    encoder = fitted(name, unit_words=True)
    other = again(encoder)
    same(other, encoder)
    assert repr(other) == repr(encoder)
    assert other.fitted
    assert other.fingerprint() == encoder.fingerprint()
    with torch.no_grad():  # the copy does not share tensors
        for parameter in other.network.parameters():
            parameter.zero_()
    assert encoder.encode(TEXTS).any()
    assert other.fingerprint() != encoder.fingerprint()
    changed = again(encoder.set_params(seed=9))
    assert not changed.fitted
    same(changed.set_params(seed=0), encoder.set_params(seed=0))
    assert not again(unfitted(name)).fitted
    same(again(unfitted(name, unit_words=True)).fit(TRAIN), encoder)


OPTIONS = [
    {},
    {"unit_words": True, "max_words": 7, "preset": "reference", "lowercase": False},
    {"tokenizer": "whitespace", "betas": (0.8, 0.9), "clip_norm": None, "hidden": np.int64(16)},
]


@each_family
@pytest.mark.parametrize("options", OPTIONS, ids=range(len(OPTIONS)))
@pytest.mark.parametrize("embedded", [True, False], ids=["embedded", "referred to"])
def test_save_and_load(name, options, embedded, tmp_path):
    vectors = VECTORS
    if not embedded:
        VECTORS.save(tmp_path / "vectors")
        vectors = se.WordVectors.load(tmp_path / "vectors")
    encoder = fitted(name, vectors, **options)
    encoder.save(tmp_path / "model", vectors=embedded)
    other = se.load(tmp_path / "model")
    assert type(other) is type(encoder)
    assert other.fitted
    assert not other.network.training
    same(other, encoder)
    assert other.fingerprint() == encoder.fingerprint()
    assert other.vocabulary_.words == encoder.vocabulary_.words
    assert other.reconstruct(TEXTS, max_length=4) == encoder.reconstruct(TEXTS, max_length=4)
    assert other.network_parameters() == encoder.network_parameters()
    for key, value in encoder.get_params(deep=False).items():
        if key not in ("vectors", "tokenizer"):
            assert other.get_params(deep=False)[key] == plain(value), key
    other.save(tmp_path / "again")
    same(se.load(tmp_path / "again"), encoder)
    same(pickle.loads(pickle.dumps(other)), encoder)
    same(copy.deepcopy(other).fit(TRAIN), encoder)  # the parameters are all there


def test_vectors_that_changed_are_refused(tmp_path):
    VECTORS.save(tmp_path / "vectors")
    fitted("RAE", se.WordVectors.load(tmp_path / "vectors")).save(tmp_path / "model", vectors=False)
    with pytest.raises(ValueError, match="only vectors that were opened from a native file"):
        shared("RAE").save(tmp_path / "other", vectors=False)
    se.WordVectors.from_array(WORDS, ROWS[: len(WORDS)]).save(tmp_path / "vectors")
    with pytest.raises(se.FormatError, match="other word vectors"):
        se.load(tmp_path / "model")


def own_split(text):
    return text.split()


def test_a_user_defined_tokenizer(tmp_path):
    encoder = fitted("MeanMaxAAE", tokenizer=own_split)
    same(encoder, fitted("MeanMaxAAE", tokenizer="whitespace"))
    encoder.save(tmp_path / "model")
    with pytest.raises(ValueError, match="own_split"):
        se.load(tmp_path / "model")
    same(se.load(tmp_path / "model", tokenizer=own_split), encoder)
    nameless = fitted("MeanMaxAAE", tokenizer=lambda text: text.split())
    with pytest.warns(UserWarning, match="no name that identifies it") as warned:
        nameless.save(tmp_path / "model")
    assert warned[0].filename == __file__
    same(se.load(tmp_path / "model", tokenizer=str.split), encoder)


def test_the_table_of_families_is_complete():
    classes = {
        name
        for name, kind in vars(models).items()
        if isinstance(kind, type) and hasattr(kind, "network_class") and name[0] != "_"
    }
    others = {*ENCODERS, "CompoundNMT", "GeneralizedPooling"}
    assert classes == others == set(families.FAMILIES)


@pytest.mark.parametrize("name", sorted(families.FAMILIES))
def test_options_and_defaults_equal_those_of_cpp(name):
    kind = getattr(models, name)
    network = kind.network_class
    options = {option["name"]: option for option in json.loads(_nn.described_options(network.__name__))}
    parameters = inspect.signature(network).parameters
    assert list(parameters) == list(options)
    for option, parameter in parameters.items():
        required = option in ("words", "features", "source_words")
        assert (parameter.default is parameter.empty) == required
        assert required or plain(parameter.default) == options[option]["default"]
        assert f"\n        {option}: {options[option]['text'][:20]}" in network.__doc__
    # The encoder's are the same, or the preset's.
    shown = inspect.signature(kind).parameters
    for option in kind._network_options:
        parameter = kind._renamed.get(option, option)
        default = kind._defaults()[parameter]
        assert default is None or plain(default) == options[option]["default"], option
        if parameter not in shared_defaults(kind):
            assert shown[parameter].default == default
            assert f"\n        {parameter}: " in kind.__doc__
    assert "{" not in kind.__doc__.partition("Example:")[0] + network.__doc__.partition("Example:")[0]
    with pytest.raises(TypeError, match=f"{network.__name__} has no option 'hiden'"):
        network(words=5, features=4, hiden=3)
    with pytest.raises(TypeError, match=f"{network.__name__}: option 'words' is missing"):
        network(features=4)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model"
    shared("MeanMaxAAE").save(path)
    return path


def rewritten(path, change):
    """A copy of a model file with another header."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    metadata = header["__metadata__"]
    for key in [key for key in metadata if key.startswith("checksum.")]:
        del metadata[key]
    metadata["format_version"] = "1"  # as before there were checksums
    config, params = json.loads(metadata["config"]), json.loads(metadata["params"])
    change(metadata, config, params)
    if metadata["config"] is not None:
        metadata.update(config=json.dumps(config), params=json.dumps(params))
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    out = path.with_name("changed")
    out.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + size :])
    return out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m, c, p: m.update(kind="Oracle"), "unknown kind 'Oracle'"),
        (lambda m, c, p: m.update(kind="RAE"), "unknown 'places', 'positions' of RAE"),
        (lambda m, c, p: m.update(kind="SIF"), "components is missing"),
        (lambda m, c, p: m.update(format_version="3"), "format version '3'"),
        (lambda m, c, p: c.update(colour="red"), "unknown key 'colour'"),
        (lambda m, c, p: c.pop("max_words"), "max_words is missing"),
        (lambda m, c, p: c.update(max_words=0), "max_words must be an integer of at least 1"),
        (lambda m, c, p: c.update(max_words=9), "max_words=512, but config has 9"),
        (lambda m, c, p: c["network"].update(colour="red"), "unknown option 'colour'"),
        (lambda m, c, p: c["network"].pop("heads"), "heads is missing"),
        (lambda m, c, p: c["network"].update(network="Oracle"), 'unknown kind "Oracle"'),
        (lambda m, c, p: c["network"].update(network=3), "network must be a JSON object"),
        (lambda m, c, p: c.update(network=[]), "network must be a JSON object"),
        (lambda m, c, p: c["network"].update(heads=3), "heads"),
        (lambda m, c, p: c["network"].update(heads=True), "heads cannot be true"),
        (lambda m, c, p: c["network"].update(heads=2.5), "heads cannot be 2.5"),
        (lambda m, c, p: c["network"].update(hidden=16), "the file has too little data"),
        (lambda m, c, p: c["network"].update(hidden=1 << 40), "hidden is 1099511627776"),
        (lambda m, c, p: c["network"].update(words=1 << 62), "words is"),
        (lambda m, c, p: c["network"].update(features=7), "7"),
        (lambda m, c, p: c["network"].update(dropout=-1), "dropout"),
        (lambda m, c, p: c["network"].update(pooling="least"), "pooling"),
        (lambda m, c, p: c["network"].update(end=99), "end"),
        (lambda m, c, p: p["params"].update(colour="red"), "unknown 'colour' of MeanMaxAAE"),
        (lambda m, c, p: p["params"].pop("heads"), "missing 'heads' of MeanMaxAAE"),
        (lambda m, c, p: p["params"].update(heads=4), "heads=4, but config has 2"),
        (lambda m, c, p: p["params"].update(pooling="mean"), "pooling='mean', but config has 'mean_max'"),
        (lambda m, c, p: p["params"].update(unit_words=True), "unit_words=True, but config has False"),
        (lambda m, c, p: p["params"].update(preset="code"), "preset must be one of"),
        (lambda m, c, p: p["params"].update(tokenizer="words"), "tokenizer must be a JSON object"),
        (
            lambda m, c, p: p["params"]["tokenizer"].update(split="whitespace"),
            "another split",
        ),
        (lambda m, c, p: p["params"].update(device="cupboard"), "cupboard"),
        (lambda m, c, p: p.update(other=1), "expected a JSON object with params, vocabulary and origin"),
        (lambda m, c, p: p.update(more=1), "more: expected nothing, got 1"),
        (lambda m, c, p: p.update(params=[]), "expected a JSON object"),
        (lambda m, c, p: p["vocabulary"].pop("words"), "words"),
        (lambda m, c, p: p["vocabulary"]["words"].pop(), "."),
        (
            lambda m, c, p: p["vocabulary"].update(words=["a"], counts=[1]),
            "by its vocabulary of 1 words it must be",
        ),
    ],
)
def test_files_that_contradict_themselves_are_refused(file, change, message):
    with pytest.raises(se.FormatError, match=message) as error:
        se.load(rewritten(file, change))
    assert "changed" in str(error.value)  # the file's name


def test_params_must_be_json(file):
    with pytest.raises(se.FormatError):
        se.load(rewritten(file, lambda m, c, p: m.update(params="{", config=None) or c.clear()))


# --- Reconstruction -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def overfitted():
    options = {"hidden": 32, "inner": 32, "dropout": 0.0, "learning_rate": 0.01, "max_steps": 300}
    return fitted("MeanMaxAAE", **options, max_epochs=None)


def test_reconstruct(overfitted):
    assert overfitted.reconstruct(TRAIN) == TRAIN
    assert overfitted.reconstruct(TRAIN[0]) == TRAIN[0]
    assert overfitted.reconstruct([text.split() for text in TRAIN[:2]]) == TRAIN[:2]
    assert overfitted.reconstruct(TRAIN, beam=3) == TRAIN
    best = overfitted.reconstruct(TRAIN, beam=4, best=3, length_penalty=0.5)
    assert [texts[0] for texts in best] == TRAIN
    assert all(len(texts) == len(set(texts)) == 3 for texts in best)
    assert overfitted.reconstruct(["", "zzz"]) == ["", ""]
    assert overfitted.reconstruct(["zzz", TRAIN[1]], beam=2, best=2)[0] == ["", ""]
    assert overfitted.reconstruct([]) == []
    assert overfitted.reconstruct(TRAIN[0], max_length=2) == " ".join(TRAIN[0].split()[:2])
    assert len(overfitted.reconstruct(TRAIN * 50)) == len(TRAIN) * 50


@each_family
def test_every_family_reconstructs(name):
    texts = shared(name).reconstruct([*TRAIN, "a ship sank"], beam=2, max_length=6)
    assert len(texts) == len(TRAIN) + 1
    for text in texts:
        assert set(text.split()) <= set(WORDS)
        assert len(text.split()) <= 6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"beam": 0}, "beam"),
        ({"beam": 2, "best": 3}, "best must be at most 2"),
        ({"max_length": 0}, "max_length"),
        ({"beam": 2, "length_penalty": float("nan")}, "length_penalty must be finite, got nan"),
        ({"beam": 2, "length_penalty": "a"}, "length_penalty must be a number, got 'a'"),
    ],
)
def test_wrong_arguments_of_reconstruct(change, message):
    with pytest.raises((ValueError, TypeError), match=message):
        shared("RAE").reconstruct(TRAIN, **change)


@each_attending
@pytest.mark.parametrize("pooling", ["mean", "max", "mean_max"])
def test_attention(name, pooling):
    encoder = fitted(name, pooling=pooling, unit_words=True)
    words, weights = encoder.attention("The cat zzz sank")
    assert words == ["the", "cat", "sank", "</s>"]
    assert weights.shape == (2, 4, 2 if pooling == "mean_max" else 1)
    np.testing.assert_allclose(weights.sum(2), 1, rtol=1e-5)
    for sentence in (["The", "cat", "zzz", "sank"], b"The cat zzz sank"):
        again, same_weights = encoder.attention(sentence)
        assert again == words
        np.testing.assert_array_equal(same_weights, weights)
    # The network's weights for the inputs of encode.
    x = np.stack([VECTORS[word] / np.linalg.norm(VECTORS[word]) for word in words[:-1]])
    x = torch.cat([torch.tensor(x), end_of(encoder)])
    expected = encoder.network.attention(x[None], torch.tensor([4]))
    np.testing.assert_allclose(weights, expected[0].detach().numpy(), **TOLERANCE)
    for nothing in ("zzz", ["zzz", "qqq"]):
        with pytest.raises(ValueError, match=r"sentence has no word that is read$"):
            encoder.attention(nothing)
    with pytest.raises(ValueError, match="a list is the tokens of one sentence, and these look like texts"):
        encoder.attention(["the cat", "a dog"])


@each_attending
def test_plot_attention(name):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    encoder = shared(name)
    words, weights = encoder.attention("the cat sat .")
    for heads, shown, title in [
        ("mean", weights.mean(0), "mean of 2 heads"),
        ("max", weights.max(0), "max of 2 heads"),
        (1, weights[1], "head 1"),
        (np.int64(0), weights[0], "head 0"),
    ]:
        ax = encoder.plot_attention("the cat sat .", heads=heads)
        np.testing.assert_allclose(ax.images[0].get_array(), shown.T)
        assert [label.get_text() for label in ax.get_xticklabels()] == words
        assert [label.get_text() for label in ax.get_yticklabels()] == ["mean", "max"]
        assert title in ax.get_title()
        pyplot.close(ax.figure)
    _, mine = pyplot.subplots()
    assert encoder.plot_attention("the cat", ax=mine) is mine
    for heads in (2, -1, "some", True):
        with pytest.raises(ValueError, match="heads must be 'mean', 'max' or from 0 to 1, got"):
            encoder.plot_attention("the cat", heads=heads)
    pyplot.close("all")


# --- Other interfaces ---------------------------------------------------------------------------------------


@each_encoder
def test_senteval_plugin(name):
    prepare, batcher = se.senteval.plugin(shared(name))

    class Params(dict):
        __getattr__, __setattr__ = dict.__getitem__, dict.__setitem__

    params = Params()
    batch = [text.split() for text in TRAIN]
    prepare(params, batch)
    rows = batcher(params, batch)
    np.testing.assert_allclose(rows, shared(name).encode(batch), **TOLERANCE)


def test_it_is_evaluated(tmp_path):
    pytest.importorskip("sklearn")
    folder = tmp_path / "downstream" / "CR"
    folder.mkdir(parents=True)
    generator = random.Random(2)
    for name, word in (("custrev.pos", "cat"), ("custrev.neg", "dog")):
        lines = [" ".join([*generator.choices(WORDS, k=generator.randrange(2, 7)), word]) for _ in range(30)]
        (folder / name).write_text("\n".join(lines) + "\n")
    options = {"partial": True, "protocol": "fast", "resamples": 20, "cache": False}
    report = se.evaluate(shared("MeanMaxAAE"), tasks=["CR"], data=tmp_path, **options)
    assert report["CR"].error is None
    assert 0 <= report["CR"]["acc"] <= 100


def encode_and_count(path):
    """In a child process."""
    return se.load(path).encode(TEXTS), _nn.num_threads(), torch.get_num_threads()


@pytest.mark.parametrize("name", ["MeanMaxAAE", "RNNCNN"])
def test_forked_children_encode(name, tmp_path):
    se.set_num_threads(4)
    shared(name).save(tmp_path / "model")
    shared(name).encode(TRAIN * 200)  # starts threads
    with multiprocessing.get_context("fork").Pool(2) as pool:
        files = [str(tmp_path / "model")] * 4
        for rows, threads, torch_threads in pool.map_async(encode_and_count, files).get(timeout=60):
            np.testing.assert_allclose(rows, shared(name).encode(TEXTS), **TOLERANCE)
            assert threads == torch_threads == 1


def test_set_num_threads_applies_to_torch():
    for threads in (3, 1):
        se.set_num_threads(threads)
        assert se.num_threads() == _nn.num_threads() == torch.get_num_threads() == threads


@pytest.mark.parametrize("chosen", [True, False])
def test_threads_that_were_set_before_torch_is_loaded(chosen):
    code = f"""
        import torch, sentencode as se
        torch.set_num_threads(5)
        if {chosen}:
            se.set_num_threads(3)
        se.models
        print(torch.get_num_threads())
    """
    shown = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], check=True, capture_output=True, text=True
    )
    assert int(shown.stdout) == (3 if chosen else 5)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer")
@pytest.mark.parametrize("name", ["RAE", "RNNCNN", "SkipThoughts"])
def test_encoding_can_be_interrupted(name):
    encoder = shared(name)
    many = [" ".join(WORDS * 50)] * 20_000
    before = signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            encoder.encode(many)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert encoder.encode(TEXTS).any()


def test_devices_of_networks_and_tensors():
    encoder = shared("MeanMaxAAE")
    rows = encoder.encode(TEXTS, convert_to_tensor=True)
    assert isinstance(rows, torch.Tensor)
    with pytest.raises(ValueError, match="it does not change where MeanMaxAAE computes"):
        encoder.encode(TEXTS, device="cuda")
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="device='cuda' cannot be used"):
            unfitted("MeanMaxAAE", device="cuda").fit(TRAIN)
        with pytest.raises(ValueError, match="device='cuda' cannot be used"):
            encoder.to("cuda")
        before = fitted("MeanMaxAAE", device="auto")
        fingerprint = before.fingerprint()
        moved = before.to(torch.device("cpu"))
        assert moved.fingerprint() == fingerprint
        assert moved.network.table.weight.device.type == "cpu"
        assert moved.fitted
        assert moved.device == "cpu"
        same(moved, encoder)
    with pytest.raises(se.errors.NotFittedError):
        unfitted("MeanMaxAAE").to("cpu")


def test_pickles_of_earlier_versions():
    renamed = {
        "_fitted_tokenizer": "_cut",
        "_fitted_vectors": "_made_with",
        "_fitted_params": "_made_of",
        "_trained_head": "_learnt",
        "_word_weights": "_weighted",
    }
    for encoder in (shared("MeanMaxAAE"), se.SIF(VECTORS, a=None).fit(TRAIN)):
        state = {renamed.get(name, name): value for name, value in encoder.__getstate__().items()}
        again = type(encoder).__new__(type(encoder))
        again.__setstate__(state)
        same(again, encoder)
        assert again.fingerprint() == encoder.fingerprint()


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_encoders_of_a_gpu_load_without_one(file):
    path = rewritten(file, lambda m, c, p: p["params"].update(device="cuda"))
    with pytest.warns(UserWarning, match="device='cuda' cannot be used: .*; it computes on cpu"):
        encoder = se.load(path)
    same(encoder, shared("MeanMaxAAE"))
    assert encoder.device == "cuda"
    # Pickled on a machine with a GPU.
    pickled = copy.deepcopy(shared("MeanMaxAAE").__getstate__() | {"_network_device": "cuda:0"})
    other = unfitted("MeanMaxAAE")
    with pytest.warns(UserWarning, match="computes on cpu"):
        other.__setstate__(pickled)
    same(other, encoder)
    assert other.fitted
    assert other.device == "cpu"


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@each_family
def test_on_a_gpu(name, tmp_path):
    encoder = fitted(name, device="cuda")
    assert encoder.network.table.weight.is_cuda
    there = encoder.encode(TEXTS)
    assert not encoder.to("cpu").network.table.weight.is_cuda
    np.testing.assert_allclose(encoder.encode(TEXTS), there, atol=1e-2)
    assert encoder.to(torch.device("cuda")).network.table.weight.is_cuda
    np.testing.assert_allclose(encoder.encode(TEXTS), there, **TOLERANCE)
    np.testing.assert_allclose(encoder.encode(TEXTS), shared(name).encode(TEXTS), atol=1e-2)
    assert len(encoder.reconstruct(TRAIN)) == len(TRAIN)
    encoder.save(tmp_path / "model")
    np.testing.assert_allclose(se.load(tmp_path / "model").encode(TEXTS), encoder.encode(TEXTS), **TOLERANCE)
    copied = pickle.loads(pickle.dumps(encoder))
    np.testing.assert_allclose(copied.encode(TEXTS), encoder.encode(TEXTS), **TOLERANCE)
