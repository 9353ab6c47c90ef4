"""Heads: losses compared with plain PyTorch, training of every network, labels, predictions, files."""

from __future__ import annotations

import dataclasses
import enum
import json
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

torch = pytest.importorskip("torch")
models = pytest.importorskip("sentencode.models")

import sentencode as se
from sentencode.models import HeadModule, Inputs, NeuralEncoder, SentenceTask, Words
from sentencode.models.held_out import held_out

from . import checks

WORDS = ["the", "cat", "dog", "sat", "on", "a", "mat", "ran"]
VECTORS = se.WordVectors.from_array(WORDS, np.random.default_rng(0).normal(size=(8, 6)).astype(np.float32))
PAIRS = [
    ("the cat sat", "a cat sat on a mat"), ("the dog ran", "the dog sat"), ("a zork sat", "the zork ran"),
    ("the cat ran", "a cat ran"), ("a dog sat on the mat", "a dog ran"), ("the zzz sat", "a zzz sat"),
]  # fmt: skip
SINGLE = [first for first, _ in PAIRS]
TRIPLES = [(*pair, "on a mat") for pair in PAIRS]
LABELS = ["yes", "no", "no", "yes", "no", "yes"]
SCORES = [5.0, 1.0, 0.0, 4.5, 2.0, 3.0]
ROWS = np.random.default_rng(1).normal(size=(6, 5)).astype(np.float32)
# Head, examples and labels.
CASES = {
    "pairs": (se.Classifier(hidden=5), PAIRS, LABELS),
    "sentences": (se.Classifier(hidden=5, layers=1, class_weight="balanced"), SINGLE, [3, 3, 3, 3, 9, 3]),
    "cosine": (se.CosineRegression(high=5.0), PAIRS, SCORES),
    "ranking": (se.MultipleNegatives(), PAIRS, None),
    "hard ranking": (se.MultipleNegatives(scale=5.0), TRIPLES, None),
    "triplet": (se.Triplet(), TRIPLES, None),
    "rows": (se.RowRegression(), SINGLE, ROWS),
}
each_case = pytest.mark.parametrize("case", CASES)


class Bag(torch.nn.Module):
    """The mean of the word vectors, through one layer. It has no loss."""

    def __init__(self, words, features, width=4, dropout=0.0):
        super().__init__()
        self.words, self.features, self.dim, self.dropout = words, features, width, dropout
        self.layer = torch.nn.Linear(features, width)

    def encode(self, inputs):
        mean = inputs.x.sum(1) / inputs.lengths.clamp_min(1)[:, None]
        return torch.nn.functional.dropout(torch.tanh(self.layer(mean)), self.dropout, self.training)


class Spelling(torch.nn.Module):
    """Trained word vectors and characters."""

    alphabet, max_characters = "abcdefghijklmnopqrstuvwxyz", 5

    def __init__(self, words, features):
        super().__init__()
        self.words, self.features, self.dim = words, features, 7
        self.table = torch.nn.Embedding(words, 4)
        self.letters = torch.nn.Embedding(28, 3, padding_idx=0)

    def word_rows(self, words: Words):
        return torch.cat([self.table(words.ids), self.letters(words.characters).sum(1)], 1)

    def encode(self, inputs: Inputs):
        return inputs.x.sum(1)


class EveryWord(SentenceTask):
    words_need_vectors = False


class BagForHeads(NeuralEncoder):
    network_class = Bag


class SpellingForHeads(NeuralEncoder):
    network_class, task_class = Spelling, EveryWord


SHARED = {
    "preset": "paper",
    "max_steps": 5,
    "max_epochs": None,
    "batch_size": 4,
    "device": "cpu",
    "learning_rate": 0.02,
}
GENERALIZED = {"hidden": 3, "layers": 1, "heads": 2, "attention_hidden": 3, "character_filters": 2}
ENCODERS = {
    "GeneralizedPooling": (se.GeneralizedPooling, GENERALIZED),
    "RNNCNN": (se.RNNCNN, {"hidden": 3, "channels": 4, "inner": 4, "following_words": 3}),
    "MeanMaxAAE": (se.MeanMaxAAE, {"hidden": 6, "heads": 2}),
    "LSTMSDAE": (se.LSTMSDAE, {"hidden": 5}),
    "SkipThoughts": (se.SkipThoughts, {"hidden": 3}),
    "FastSent": (se.FastSent, {}),
    "CompositeCNN": (se.CompositeCNN, {"hidden": 5, "filters": 3, "windows": (1, 2)}),
    "own": (BagForHeads, {"dropout": 0.1}),
    "own rows": (SpellingForHeads, {}),
}  # fmt: skip
each_encoder = pytest.mark.parametrize("kind", ENCODERS)


def unfitted(kind="own", case="pairs", vectors=VECTORS, **change):
    encoder_class, options = ENCODERS[kind]
    return encoder_class(vectors, **{**SHARED, **options, "head": CASES[case][0], **change})


def fitted(kind="own", case="pairs", **change):
    _, examples, labels = CASES[case]
    return unfitted(kind, case, **change).fit(examples, labels)


# --- Losses, against plain PyTorch --------------------------------------------------------------------------


def sentence_embeddings(count):
    """Random embeddings [5, 6] of each sentence of five examples."""
    generator = torch.Generator().manual_seed(0)
    return [
        torch.randn(5, 6, dtype=torch.float64, generator=generator, requires_grad=True) for _ in range(count)
    ]


def head(kind, **options):
    torch.manual_seed(1)
    return HeadModule({"head": kind, **options}).double()


def check(module, embeddings, labels, expected, expected_right=None):
    """Compare a loss, its count, and its gradients."""
    total, count, right = module.loss(embeddings, labels)
    torch.testing.assert_close(total, expected)
    assert count == 5
    assert right == expected_right
    gradients = torch.autograd.grad(total, embeddings, retain_graph=True)
    for gradient, other in zip(gradients, torch.autograd.grad(expected, embeddings), strict=True):
        torch.testing.assert_close(gradient, other)


def test_cosine_regression():
    embeddings, y = sentence_embeddings(2), torch.tensor([0.0, 1.0, 3.0, 5.0, 2.5])
    cosines = torch.nn.functional.cosine_similarity(*embeddings)
    module = head("CosineRegression", low=0.0, high=5.0)
    check(module, embeddings, y, (cosines - y / 5).square().sum())
    torch.testing.assert_close(module.predict(embeddings), 5 * cosines)


@pytest.mark.parametrize("count", [2, 3])
def test_ranking(count):
    embeddings = sentence_embeddings(count)
    unit = [torch.nn.functional.normalize(rows) for rows in embeddings]
    scores = 3 * unit[0] @ torch.cat(unit[1:]).T
    expected = torch.nn.functional.cross_entropy(scores, torch.arange(5), reduction="sum")
    module = head("MultipleNegatives", scale=3.0)
    check(module, embeddings, None, expected, (scores.argmax(1) == torch.arange(5)).sum())
    torch.testing.assert_close(module.predict(embeddings), (unit[0] * unit[1]).sum(1))


@pytest.mark.parametrize("distance", ["euclidean", "cosine"])
def test_triplets(distance):
    anchors, positives, negatives = embeddings = sentence_embeddings(3)
    d = {
        "euclidean": lambda x, y: torch.nn.functional.pairwise_distance(x, y),
        "cosine": lambda x, y: 1 - torch.nn.functional.cosine_similarity(x, y),
    }[distance]
    difference = d(anchors, negatives) - d(anchors, positives)
    module = head("Triplet", margin=0.7, distance=distance)
    check(module, embeddings, None, (0.7 - difference).relu().sum(), (difference > 0).sum())
    torch.testing.assert_close(module.predict(embeddings), difference)


@pytest.mark.parametrize("distance", ["euclidean", "cosine"])
@pytest.mark.parametrize("projection", [True, False])
def test_row_regression(distance, projection):
    embeddings = sentence_embeddings(1)
    width = 4 if projection else 6
    targets = torch.randn(9, width, dtype=torch.float64)
    module = head("RowRegression", features=6, targets=width, projection=projection, distance=distance)
    module._cpp.set_targets(targets)
    rows = torch.tensor([8, 0, 3, 3, 1])
    predictions = embeddings[0]
    if projection:
        predictions = predictions @ module.projection.weight.T + module.projection.bias
    if distance == "euclidean":
        expected = (predictions - targets[rows]).square().mean(1).sum()
    else:
        expected = (1 - torch.nn.functional.cosine_similarity(predictions, targets[rows])).sum()
    check(module, embeddings, rows, expected)
    torch.testing.assert_close(module.predict(embeddings), predictions)


# --- With every network -------------------------------------------------------------------------------------


@each_encoder
@each_case
def test_every_network_learns_with_every_head(kind, case, tmp_path):
    examples = CASES[case][1]
    encoder = fitted(kind, case, max_steps=40)
    losses = [step.loss for step in encoder.history_.steps]
    assert np.isfinite(losses).all()
    assert np.mean(losses[-10:]) < np.mean(losses[:10])
    predictions = encoder.predict(examples)
    assert predictions.shape == ((6, 5) if case == "rows" else (6,))
    encoder.save(tmp_path / "model")
    for again in (se.load(tmp_path / "model"), pickle.loads(pickle.dumps(encoder))):
        np.testing.assert_array_equal(again.predict(examples), predictions)
        np.testing.assert_array_equal(again.encode(SINGLE), encoder.encode(SINGLE))
        assert again.settings()["head"] == encoder.settings()["head"]
        assert again.fingerprint() == encoder.fingerprint()


@each_encoder
def test_heads_are_trained_on_the_embeddings_of_encode(kind):
    """Compare the loss of the first step with the embeddings of `encode`."""
    encoder = unfitted(kind, "pairs", head=se.CosineRegression(high=5.0), learning_rate=1e-9, max_steps=1,
                       batch_size=6, batching="plain")  # fmt: skip
    for name in ("dropout", "drop_words", "swap_words"):
        if name in encoder.get_params(deep=False):
            encoder.set_params(**{name: 0.0})
    encoder.fit(PAIRS, SCORES)
    first, second = (encoder.encode([pair[i] for pair in PAIRS]) for i in range(2))
    cosines = (first * second).sum(1) / np.linalg.norm(first, axis=1) / np.linalg.norm(second, axis=1)
    expected = ((cosines - np.array(SCORES) / 5) ** 2).mean()
    np.testing.assert_allclose(encoder.history_.steps[0].loss, expected, rtol=1e-4)
    np.testing.assert_allclose(encoder.predict(PAIRS), 5 * cosines, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("oov", ["skip", "zero", "mean"])
@pytest.mark.parametrize("unit", [True, False])
def test_words_without_a_vector_are_read_as_encoding_reads_them(oov, unit):
    once = {"learning_rate": 1e-9, "max_steps": 1, "batch_size": 6, "batching": "plain", "unit_words": unit}
    encoder = unfitted("own", head=se.CosineRegression(), vectors=VECTORS.with_oov(oov), dropout=0.0, **once)
    scores = np.array(SCORES) / 5
    encoder.fit(PAIRS, scores)
    expected = np.mean((encoder.predict(PAIRS) - scores) ** 2)
    np.testing.assert_allclose(encoder.history_.steps[0].loss, expected, rtol=1e-4)


def test_words_of_validation_are_read_by_their_vectors():
    texts, labels = [("the cat", "a mat"), ("the dog", "on")], [1.0, 0.0]
    encoder = unfitted("own", head=se.CosineRegression(), dropout=0.0, validate_every=1, max_steps=1)
    encoder.fit(PAIRS[:1] * 4, [1.0] * 4, valid=(texts, labels))
    expected = np.mean((encoder.predict(texts) - labels) ** 2)
    np.testing.assert_allclose(encoder.history_.validations[-1].loss, expected, rtol=1e-4)


@pytest.mark.parametrize("kind", ["GeneralizedPooling", "RNNCNN", "own"])
@pytest.mark.parametrize("case", ["pairs", "rows", "ranking"])
def test_a_resumed_training_is_bit_equal(kind, case, tmp_path):
    _, examples, labels = CASES[case]
    encoder = checks.interrupt_and_resume(unfitted(kind, case), examples, labels, folder=tmp_path)
    straight = fitted(kind, case)
    checks.assert_equal_weights(encoder.network, straight.network)
    checks.assert_equal_weights(encoder.head_, straight.head_)


@pytest.mark.parametrize("kind", ["GeneralizedPooling", "RNNCNN", "own"])
def test_word_dropout(kind, tmp_path):
    encoder = checks.interrupt_and_resume(unfitted(kind, word_dropout=0.5), PAIRS, LABELS, folder=tmp_path)
    straight = fitted(kind, word_dropout=0.5)
    checks.assert_equal_weights(encoder.network, straight.network)
    assert straight.fingerprint() != fitted(kind).fingerprint()
    straight.save(tmp_path / "model")
    assert se.load(tmp_path / "model").word_dropout == 0.5
    with pytest.raises(ValueError, match=r"checkpoint.*word_dropout"):
        unfitted(kind, word_dropout=0.4).fit(PAIRS, LABELS, checkpoints=tmp_path)


def test_validation_has_no_word_dropout():
    still = {"learning_rate": 1e-12, "head": se.Classifier(dropout=0.0), "dropout": 0.0, "validate_every": 1}
    losses = [
        fitted(word_dropout=p, **still).fit(PAIRS, LABELS, valid=(PAIRS, LABELS)).history_ for p in (0.0, 0.5)
    ]
    without, with_dropout = ([event.loss for event in history.validations] for history in losses)
    np.testing.assert_allclose(with_dropout, without, rtol=1e-6)
    assert losses[0].steps[0].loss != losses[1].steps[0].loss


def test_word_dropout_needs_a_head():
    with pytest.raises(ValueError, match=r"word_dropout=0\.1 is for the training of a head"):
        se.RAE(VECTORS, hidden=4, device="cpu", word_dropout=0.1).fit(SINGLE)
    with pytest.raises(ValueError, match=r"word_dropout must be less than 1, got 1"):
        fitted(word_dropout=1)
    with pytest.raises(TypeError, match=r"word_dropout"):
        fitted(word_dropout="0.1")


def test_checkpoints_of_other_labels_and_heads_are_refused(tmp_path):
    encoder = unfitted("own", "pairs")
    encoder.fit(PAIRS, LABELS, checkpoints=tmp_path)
    for change, labels in [({"head": se.Classifier(hidden=6)}, LABELS), ({}, ["yes", "no", "nay"] * 2)]:
        with pytest.raises(ValueError, match="checkpoint"):
            unfitted("own", "pairs", **change).fit(PAIRS, labels, checkpoints=tmp_path)


PROCESSES = f"""
from {__name__} import fitted
from sentencode import Classifier
encoder = fitted("GeneralizedPooling", "pairs", dropout=0.0, head=Classifier(dropout=0.0, hidden=5))
if rank == 0:
    modules = encoder.network, encoder.head_
    weights = {{key: value.numpy() for module in modules for key, value in module.state_dict().items()}}
    losses = [step.loss for step in encoder.history_.steps]
    np.savez(f"{{folder}}/{{world}}.npz", losses=losses, **weights)
"""


def test_two_processes_learn_what_one_does(tmp_path):
    for world in (1, 2):
        checks.run_in_processes(PROCESSES, tmp_path, world)
    one, two = (np.load(tmp_path / f"{world}.npz") for world in (1, 2))
    for key in one.files:
        np.testing.assert_allclose(one[key], two[key], rtol=2e-4, atol=2e-5, err_msg=key)


# --- Predictions --------------------------------------------------------------------------------------------


def test_a_classifier_has_the_interface_of_scikit_learn():
    encoder = fitted("own", "pairs", max_steps=200, learning_rate=0.05)
    assert encoder.classes_.tolist() == ["no", "yes"]
    p = encoder.predict_proba(PAIRS)
    np.testing.assert_allclose(p.sum(1), 1, rtol=1e-6)
    predicted = encoder.predict(PAIRS)
    assert predicted.tolist() == encoder.classes_[p.argmax(1)].tolist()
    accuracy = np.mean(predicted == np.array(LABELS))
    assert encoder.score(PAIRS, LABELS) == accuracy > 0.8
    matrix = encoder.confusion_matrix(PAIRS, LABELS)
    assert matrix.sum() == 6
    assert np.trace(matrix) == 6 * accuracy
    assert matrix.sum(1).tolist() == [3, 3]


@pytest.mark.parametrize(
    ("labels", "classes"),
    [([1, 0] * 3, [0, 1]), ([True, False] * 3, [False, True]), (np.array([2, 7, 7] * 2), [2, 7]),
     (np.array(["b", "a"] * 3), ["a", "b"]), ([1.0, 2.0] * 3, [1, 2]),
     ([2**63 + 11, 5] * 3, [5, 2**63 + 11]), ([2**64 - 1, 2**63] * 3, [2**63, 2**64 - 1]),
     ([2**70 + 1, -5] * 3, [-5, 2**70 + 1]), ([2**53 + 1, 2**53] * 3, [2**53, 2**53 + 1]),
     (np.array([2**63 + 11, 5] * 3, np.uint64), [5, 2**63 + 11]),
     (np.array(["b", "a"] * 3, object), ["a", "b"])],
)  # fmt: skip
def test_classes_have_the_type_of_the_labels(labels, classes, tmp_path):
    encoder = unfitted("own", max_steps=60, learning_rate=0.05)
    encoder.fit(PAIRS, labels, checkpoints=tmp_path / "checkpoints")
    encoder.save(tmp_path / "x")
    for classifier in (encoder, se.load(tmp_path / "x")):
        assert classifier.classes_.tolist() == classes
        assert [type(name) for name in classifier.classes_.tolist()] == [type(name) for name in classes]
        predicted = classifier.predict(PAIRS).tolist()
        assert set(predicted) <= set(classes)
        right = np.mean([one == label for one, label in zip(predicted, list(labels), strict=True)])
        assert classifier.score(PAIRS, labels) == right > 0
    again = unfitted("own", max_steps=60, learning_rate=0.05)
    again.fit(PAIRS, labels, checkpoints=tmp_path / "checkpoints")  # resumes
    assert again.classes_.tolist() == classes


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        (["dog", 1] * 3, TypeError, r"y\[1\] is 1 \(int\), but y\[0\] is 'dog' \(str\)"),
        ([1, 2, 3, 4, "5", 6], TypeError, r"y\[4\] is '5' \(str\), but y\[0\] is 1 \(int\)"),
        ([0, True] * 3, TypeError, r"y\[1\] is True \(bool\), but y\[0\] is 0 \(int\)"),
        (np.array(["dog", 1] * 3, object), TypeError, r"y\[1\] is 1 \(int\)"),
        ([5, None] * 3, TypeError, r"y\[1\] must be a class's name"),
        (np.array([2**63 + 11, 5] * 3, np.float64), ValueError, r"y\[0\] is the float 9.2.*give an int"),
    ],
)
def test_classes_are_of_one_type_and_exact(labels, error, message):
    with pytest.raises(error, match=message):
        unfitted("own").fit(PAIRS, labels)
    encoder = unfitted("own").fit(PAIRS, LABELS)
    with pytest.raises(TypeError, match=r"y\[1\] is 1 \(int\)"):
        encoder.score(PAIRS, ["yes", 1, "no", "yes", "no", "no"])


def test_old_files_with_classes_of_several_types(tmp_path):
    """NumPy converts numbers to text in an array of text."""
    encoder = unfitted("own").fit(PAIRS, ["dog", "cat", "1"] * 2)
    encoder._trained_head.classes[0] = 1
    encoder.save(tmp_path / "file")
    loaded = se.load(tmp_path / "file")
    assert loaded.classes_.tolist() == [1, "cat", "dog"]
    assert set(loaded.predict(PAIRS).tolist()) <= {1, "cat", "dog"}


def test_fit_does_not_learn_from_a_damaged_cache(tmp_path):
    """The labels in the file of examples are zeroed."""
    se.set_cache_dir(tmp_path)
    try:
        expected = fitted("own", "sentences").encode(SINGLE)
        (path,) = (tmp_path / "examples").iterdir()
        content = bytearray(path.read_bytes())
        size = int.from_bytes(content[:8], "little")
        begin, end = json.loads(content[8 : 8 + size])["labels"]["data_offsets"]
        content[8 + size + begin : 8 + size + end] = bytes(end - begin)
        path.unlink()
        path.write_bytes(content)
        with pytest.warns(UserWarning, match="of tensor 'labels'.*the examples are built again"):
            embeddings = fitted("own", "sentences").encode(SINGLE)
        np.testing.assert_array_equal(embeddings, expected)
        np.testing.assert_array_equal(fitted("own", "sentences").encode(SINGLE), expected)
    finally:
        se.set_cache_dir(None)


def test_class_weights():
    labels = [1, 1, 1, 1, 0, 1]
    weights = se.Classifier(class_weight="balanced").weights(np.array(labels), [0, 1])
    np.testing.assert_allclose(weights, [6 / 2, 6 / 10])
    assert se.Classifier(class_weight={0: 4.0}).weights(np.array(labels), [0, 1]).tolist() == [4.0, 1.0]
    plain, balanced = (
        unfitted("own", head=se.Classifier(hidden=5, class_weight=weight), max_steps=1).fit(PAIRS, labels)
        for weight in (None, {1: 0.0, 0: 0.0})
    )
    assert plain.history_.steps[0].loss > 0 == balanced.history_.steps[0].loss
    with pytest.raises(ValueError, match="class_weight: 5 is none of the classes"):
        unfitted("own", head=se.Classifier(class_weight={5: 1.0})).fit(PAIRS, labels)


def test_scores_are_compared_by_their_ranks():
    encoder = fitted("own", "cosine", max_steps=100)
    from scipy.stats import spearmanr

    expected = spearmanr(encoder.predict(PAIRS), SCORES).statistic
    assert encoder.score(PAIRS, SCORES) == pytest.approx(expected)
    with pytest.raises(NotImplementedError, match="Triplet predicts neither classes nor scores"):
        fitted("own", "triplet").score(TRIPLES, None)


def test_a_small_encoder_imitates_a_large_one():
    teacher = se.Average(VECTORS)
    targets = teacher.encode(SINGLE)
    options = {"learning_rate": 0.05, "dropout": 0.0, "validate_every": 50}
    student = unfitted("own", head=se.RowRegression(), max_steps=400, **options)
    student.fit(SINGLE, targets, valid=(SINGLE, targets))
    error = np.mean((student.predict(SINGLE) - targets) ** 2)
    assert error < 0.3 * np.mean((targets - targets.mean(0)) ** 2)
    assert student.history_.validations[-1].loss < student.history_.validations[0].loss


class Stop(se.training.Callback):
    """Presses Ctrl-C after a step."""

    def __init__(self, step):
        self.step = step

    def on_step(self, trainer, step):
        if step.step == self.step:
            raise KeyboardInterrupt


@pytest.mark.parametrize("case", ["cosine", "ranking", "triplet", "rows"])
def test_training_with_too_high_a_rate_keeps_the_initial_weights(case, tmp_path):
    head, examples, labels = CASES[case]
    given = {} if labels is None else {"y": labels}
    options = {"head": head, "max_steps": 8, "validate_every": 2, "learning_rate": 100.0, "stop_after": None}
    initial = unfitted("own", **{**options, "max_steps": 1, "learning_rate": 1e-9}).fit(examples, **given)
    scores = initial.predict(examples) if case == "cosine" else labels
    valid = examples if labels is None else (examples, scores)
    folders = [None, tmp_path / "whole", tmp_path / "parts"]
    for folder in folders:
        encoder = unfitted("own", **options)
        if folder == folders[-1]:
            with pytest.raises(KeyboardInterrupt):
                encoder.fit(examples, **given, valid=valid, checkpoints=folder, callbacks=[Stop(3)])
            encoder.fit(examples, **given, valid=valid, checkpoints=folder)
        else:
            with pytest.warns(
                se.errors.LearningRateWarning, match="no validation was better than that before"
            ):
                encoder.fit(examples, **given, valid=valid, checkpoints=folder)
            losses = [(validation.step, validation.loss) for validation in encoder.history_.validations]
            assert [step for step, _ in losses] == [0, 2, 4, 6, 8]
            assert losses[0] == min(losses, key=lambda one: one[1])
        np.testing.assert_allclose(encoder.encode(SINGLE), initial.encode(SINGLE), atol=1e-6)
    encoder = unfitted("own", **options, validate_first=False).fit(examples, **given, valid=valid)
    assert encoder.history_.validations[0].step == 2
    assert not np.allclose(encoder.encode(SINGLE), initial.encode(SINGLE), atol=1e-2)


def test_a_classifier_that_is_trained_further_does_not_become_worse():
    before = unfitted("own", max_steps=60, learning_rate=0.05).fit(PAIRS, LABELS)
    options = {"max_steps": 4, "validate_every": 2, "learning_rate": 100.0, "metric": "accuracy"}
    with pytest.warns(se.errors.LearningRateWarning, match="so the initial weights are kept"):
        after = unfitted("own", **options).fit(PAIRS, LABELS, valid=(PAIRS, LABELS), init=before)
    np.testing.assert_array_equal(after.predict_proba(PAIRS), before.predict_proba(PAIRS))


def test_examples_may_be_arrays_frames_and_tokens():
    pandas = pytest.importorskip("pandas")
    embeddings = [fitted("own").encode("the cat")]
    frame = pandas.DataFrame(PAIRS, columns=["a", "b"])
    tokens = [(first.split(), second.split()) for first, second in PAIRS]
    for pairs in (np.array(PAIRS, object), np.array(PAIRS), frame, tokens, iter(PAIRS), tuple(PAIRS)):
        labels = pandas.Series(LABELS) if pairs is frame else LABELS
        embeddings.append(unfitted("own").fit(pairs, labels).encode("the cat"))
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"a": [first for first, _ in PAIRS], "b": [second for _, second in PAIRS]})
    embeddings.append(unfitted("own").fit(table, arrow.array(LABELS)).encode("the cat"))
    for embedding in embeddings:
        np.testing.assert_array_equal(embedding, embeddings[0])
    for column in (arrow.array(SINGLE), arrow.chunked_array([SINGLE[:2], SINGLE[2:]])):
        encoder = unfitted("own", "sentences").fit(column, [0, 1] * 3)
        np.testing.assert_array_equal(encoder.predict(column), encoder.predict(SINGLE))
    single = [text.split() for text in SINGLE]
    assert unfitted("own", "sentences").fit(single, [0, 1] * 3).predict(single).shape == (6,)


def test_a_pair_in_the_other_order_is_not_held_out():
    rng = np.random.default_rng(0)
    first, second = ([" ".join(rng.choice(WORDS, 8)) for _ in range(100)] for _ in range(2))
    pairs = [*zip(first, second, strict=True), *zip(second, first, strict=True)]
    examples = se.training.Examples.build(
        [(*pair, 0) for pair in pairs], se.Vocabulary(dict.fromkeys(WORDS, 1)), "whitespace",
        fields=("first", "second"), labels="int64",
    )  # fmt: skip
    train, valid = held_out(examples, 0.2, seed=0)
    keys = [
        {frozenset(one[side].tobytes() for side in ("first", "second")) for one in part}
        for part in (train, valid)
    ]
    assert len(valid) >= 20
    assert not keys[0] & keys[1]


@pytest.mark.parametrize("y", [set(LABELS), dict.fromkeys(range(6)), "yynnyn", b"yynnyn"])
def test_labels_are_a_list(y):
    with pytest.raises(TypeError, match=f"y must be a list of labels, got {type(y).__name__}"):
        unfitted("own").fit(PAIRS, y)


def test_labels_are_no_times():
    with pytest.raises(TypeError, match=r"y must be classes, got timedelta64\[ns\]"):
        unfitted("own").fit(PAIRS, np.array([1, 2] * 3, "m8[ns]"))


@pytest.mark.parametrize("name", ["word_dropout", "preset", "seed", "fit"])
def test_networks_have_no_options_of_encoders(name):
    scope = {"Bag": Bag}
    exec(f"class Other(Bag):\n def __init__(self, words, features, {name}=0.2): pass", scope)
    with pytest.raises(ValueError, match=f"option '{name}' has the name of something that every encoder has"):
        type("OtherForHeads", (NeuralEncoder,), {"network_class": scope["Other"]})


def test_training_reads_as_many_words_as_encoding():
    """The last word decides the class, and is beyond the words that encoding reads."""
    texts = [f"{'the cat ' * 4}{word}" for word in ("sat", "ran") * 30]
    options = {"hidden": 4, "character_filters": 2, "max_steps": 40, "learning_rate": 0.05, "device": "cpu"}
    for max_words, expected in ((8, 0.5), (9, 1.0)):
        encoder = se.GeneralizedPooling(VECTORS, max_words=max_words, stop_after=None, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", se.errors.TrainingWarning)
            encoder.fit(texts, ["a", "b"] * 30, valid=(texts, ["a", "b"] * 30))
        assert encoder.score(texts, ["a", "b"] * 30) == expected
        assert max(one.accuracy for one in encoder.history_.validations) == expected


def test_examples_without_known_words_are_counted():
    options = {"hidden": 4, "max_steps": 3, "device": "cpu", "head": "Classifier"}
    labels = ["yes", "no"] * 20
    texts = ["the cat", "a dog"] * 18 + ["@", "#"] * 2
    with pytest.warns(UserWarning, match="4 of 40 training examples are left out"):
        se.RNNCNN(VECTORS, **options).fit(texts, labels)
    labels[-4:] = ["maybe"] * 4
    with pytest.raises(ValueError, match="no example of the class 'maybe' has known words"):
        se.RNNCNN(VECTORS, **options).fit(texts, labels)


class Kind(str, enum.Enum):
    """Labels as some libraries have them."""

    good, bad = "fine", "poor"


@pytest.mark.parametrize("labels", [[Kind.good, Kind.bad] * 3, torch.tensor([1, 2] * 3), iter("ab" * 3)])
def test_kinds_of_labels(labels):
    encoder = unfitted("own", "sentences").fit(SINGLE, labels)
    expected = {"Tensor": [1, 2], "list": ["fine", "poor"]}.get(type(labels).__name__, ["a", "b"])
    assert encoder.classes_.tolist() == expected


def test_labels_are_counted():
    encoder = unfitted("own", "sentences").fit(SINGLE, LABELS)
    for method in (encoder.score, encoder.confusion_matrix):
        with pytest.raises(ValueError, match="y must have a label for each of 6 examples, got 1"):
            method(SINGLE, LABELS[:1])
    assert encoder.predict([]).tolist() == []
    assert encoder.predict_proba([]).shape == (0, 2)


def test_long_texts_are_truncated():
    long = [("the cat " * 100, "a mat"), *PAIRS[1:]]
    encoder = unfitted("own", max_length=3)
    encoder.fit(long, LABELS)
    assert {step.examples for step in encoder.history_.steps} <= {4, 2}
    assert sum(step.examples for step in encoder.history_.steps[:2]) == 6
    assert max(step.tokens for step in encoder.history_.steps) <= 4 * 6


def test_fit_sets_the_parameter_head():
    encoder = BagForHeads(VECTORS, **SHARED)
    assert encoder.fit(PAIRS, LABELS, head=se.Classifier(hidden=5)) is encoder
    assert encoder.head == se.Classifier(hidden=5)
    assert encoder.fitted
    again = unfitted("own", dropout=0.0)
    np.testing.assert_array_equal(again.fit(PAIRS, LABELS).encode(SINGLE), encoder.encode(SINGLE))
    encoder.set_params(head=se.Classifier(hidden=6))
    assert not encoder.fitted


@pytest.mark.parametrize("head", ["Classifier", {"kind": "Classifier", "hidden": 5}])
def test_heads_by_name(head):
    encoder = unfitted("own", head=head).fit(PAIRS, LABELS)
    assert isinstance(encoder.settings()["head"], se.Classifier)


def test_init_copies_network_and_head():
    first = fitted("own", max_steps=50)
    same = unfitted("own", learning_rate=1e-9, max_steps=1).fit(PAIRS, LABELS, init=first)
    np.testing.assert_allclose(same.predict_proba(PAIRS), first.predict_proba(PAIRS), atol=1e-4)
    other = unfitted("own", "cosine", learning_rate=1e-9, max_steps=1).fit(PAIRS, SCORES, init=first)
    np.testing.assert_allclose(other.encode(SINGLE), first.encode(SINGLE), atol=1e-5)


def test_an_autoencoder_is_tuned_to_labels():
    aae = se.MeanMaxAAE(VECTORS, hidden=6, heads=2, min_length=1, **SHARED).fit(SINGLE)
    tuned = se.MeanMaxAAE(VECTORS, hidden=6, heads=2, **SHARED | {"max_steps": 30})
    tuned.fit(PAIRS, LABELS, head=se.Classifier(hidden=5), init=aae, freeze=["decoder"])
    before, after = (e.network.state_dict() for e in (aae, tuned))
    frozen = [name for name in before if name.startswith("decoder.")]
    assert frozen
    assert all(torch.equal(before[name], after[name]) for name in frozen)
    assert np.abs(tuned.encode(SINGLE) - aae.encode(SINGLE)).max() > 1e-4


def test_predictions_have_no_dropout_while_the_head_trains():
    encoder = fitted(head=se.Classifier(hidden=16, dropout=0.9))
    expected = encoder.predict_proba(PAIRS)
    encoder.head_.train()
    with ThreadPoolExecutor(4) as pool:
        for probabilities in pool.map(lambda _: encoder.predict_proba(PAIRS), range(40)):
            np.testing.assert_array_equal(probabilities, expected)
    assert encoder.head_.training


def test_predict_requires_a_head():
    class Whole(Bag):
        def loss(self, batch):
            return self.layer.weight.square().sum(), 1

    class WholeForHeads(NeuralEncoder):
        network_class = Whole

    encoder = WholeForHeads(VECTORS, **SHARED).fit(SINGLE)
    with pytest.raises(AttributeError, match="has no head to predict with"):
        encoder.predict(SINGLE)
    with pytest.raises(AttributeError, match="has no classes_: its head is no Classifier"):
        fitted("own", "cosine").predict_proba(PAIRS)
    with pytest.raises(TypeError, match="has no loss"):
        BagForHeads(VECTORS, **SHARED).fit(SINGLE)


@pytest.mark.parametrize(
    ("head", "examples", "y", "message"),
    [
        (se.Classifier(), PAIRS, None, "Classifier requires y to be passed, but the target y is None"),
        (se.Classifier(), PAIRS, LABELS[:4], "y must have a label for each of 6 examples, got 4"),
        (se.Classifier(), PAIRS, [1] * 6, "y must have two classes or more"),
        (se.Classifier(), TRIPLES, LABELS, "examples of 1 or 2 sentences, got 3"),
        (se.Classifier(), [*PAIRS, ("one",)], [*LABELS, "no"], r"sentences\[6\] is .*expected a tuple of 2"),
        (se.Classifier(), [list(pair) for pair in PAIRS], LABELS, "a list is the tokens of one sentence"),
        (
            se.CosineRegression(),
            SINGLE,
            SCORES,
            "examples of 2 sentences, got 1: pairs and triples are tuples",
        ),
        (se.CosineRegression(), PAIRS, LABELS, "y must be a number for each example"),
        (se.CosineRegression(), PAIRS, [np.nan] * 6, "y must be finite"),
        (se.MultipleNegatives(), PAIRS, LABELS, "is trained without labels: y must be None"),
        (se.RowRegression(), SINGLE, SCORES, "y must be a row of numbers for each sentence"),
        (se.RowRegression(projection=False), SINGLE, ROWS, "must have the same dimensions, got 4 and 5"),
        ("Classify", PAIRS, LABELS, "kind must be one of Classifier, CosineRegression"),
        ({"kind": "Triplet", "size": 3}, TRIPLES, None, "Triplet has no option 'size'"),
    ],
)
def test_mismatched_examples_are_reported(head, examples, y, message):
    with pytest.raises(ValueError, match=message):
        unfitted("own", head=head).fit(examples, y)


def test_pairs_are_ranked_among_pairs_of_other_lengths():
    """Batches of equal length would have one pair each, which is always right."""
    pairs = [(" ".join(["cat"] * n), " ".join(["dog"] * n)) for n in range(1, 13)]
    losses = []

    class Losses(se.training.Callback):
        def on_step(self, trainer, step):
            losses.append((step.loss, step.examples))

        def on_validation(self, trainer, validation):
            losses.append((validation.loss, 4))

    options = {**SHARED, "batch_size": 4, "max_steps": 3, "validate_every": 3}
    encoder = BagForHeads(VECTORS, head=se.MultipleNegatives(), batching="equal_length", **options)
    encoder.fit(pairs, valid=pairs, callbacks=[Losses()])
    assert len(losses) == 5  # three steps, and validations before and after them
    assert all(loss > 0 and count == 4 for loss, count in losses)


def test_label_smoothing_of_a_head_is_refused():
    encoder = se.RAE(VECTORS, hidden=4, head=se.Classifier(), device="cpu", label_smoothing=0.1)
    with pytest.raises(ValueError, match=r"label_smoothing=0\.1 has no effect on the training of a head"):
        encoder.fit(PAIRS, LABELS)


def test_labels_of_validation_must_be_known():
    with pytest.raises(TypeError, match=r"valid must be a tuple \(sentences, labels\), got a list"):
        unfitted("own").fit(PAIRS, LABELS, valid=[PAIRS[:2], LABELS[:2]])
    with pytest.raises(ValueError, match=r"the y of valid\[1\] is 'maybe', none of the classes 'no', 'yes'"):
        unfitted("own").fit(PAIRS, LABELS, valid=(PAIRS[:2], ["no", "maybe"]))
    with pytest.raises(ValueError, match=r"valid must be a tuple \(sentences, labels\), got 3 values"):
        unfitted("own").fit(PAIRS, LABELS, valid=(PAIRS[:2], LABELS[:2], 3))
    with pytest.raises(ValueError, match="valid has examples of 1 sentences, the training data of 2"):
        unfitted("own").fit(PAIRS, LABELS, valid=(SINGLE, LABELS))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: se.Classifier(hidden=0), "hidden must be at least 1"),
        (lambda: se.Classifier(class_weight="some"), "class_weight must be None, 'balanced' or a dict"),
        (lambda: se.Classifier(class_weight=np.ones(2)), "class_weight must be None, 'balanced' or a dict"),
        (lambda: se.CosineRegression(low=2.0), "high must be more than low=2, got 1"),
        (lambda: se.MultipleNegatives(scale=0.0), "scale must be more than 0"),
        (lambda: se.Triplet(distance="far"), "distance must be 'euclidean' or 'cosine'"),
        (lambda: se.Classifier(activation="swish"), "activation must be 'none', 'relu', 'gelu' or 'tanh'"),
        (lambda: se.Classifier(dropout=1), r"dropout must be in \[0, 1\), got 1"),
    ],
)
def test_wrong_heads(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: se.Classifier(hidden=2.5), r"hidden must be a whole number, got 2.5 \(float\)"),
        (lambda: se.Classifier(shortcuts=1), r"shortcuts must be True or False, got 1 \(int\)"),
        (lambda: se.Triplet(margin="1"), r"margin must be a number, got '1' \(str\)"),
        (lambda: se.RowRegression(projection="no"), "projection must be True or False"),
        (lambda: se.Classifier(classes=2), "classes"),  # set by training
    ],
)
def test_options_of_wrong_types(make, message):
    with pytest.raises(TypeError, match=message):
        make()


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (
            "Classifier",
            "Classifier(hidden=128, layers=2, shortcuts=True, activation='relu', dropout=0.1, "
            "pair_scale=1.0, class_weight=None)",
        ),
        ("CosineRegression", "CosineRegression(low=0.0, high=1.0)"),
        ("MultipleNegatives", "MultipleNegatives(scale=20.0)"),
        ("RowRegression", "RowRegression(projection=None, distance='euclidean')"),
        ("Triplet", "Triplet(margin=0.2, distance='cosine')"),
    ],
)
def test_heads_have_the_options_of_cpp(name, shown):
    kind = getattr(se, name)
    head = kind()
    assert repr(head) == shown
    assert head == kind(*vars(head).values()) == pickle.loads(pickle.dumps(head))
    assert hash(head) == hash(kind())
    assert "pair_scale" not in head.to_config()  # which earlier files lack
    assert "{options}" not in kind.__doc__
    for option in vars(head):
        assert f"\n        {option}: " in kind.__doc__
    with pytest.raises(dataclasses.FrozenInstanceError):
        head.scale = 2.0


def test_clone_and_search():
    sklearn = pytest.importorskip("sklearn.base")
    encoder = unfitted("own")
    assert sklearn.clone(encoder).get_params(deep=False)["head"] == encoder.head
