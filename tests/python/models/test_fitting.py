"""How `fit` behaves: time limits, held-out examples, messages, warnings, checkpoints, and Ctrl-C."""

from __future__ import annotations

import itertools
import json
import logging
import os
import pickle
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
models = pytest.importorskip("sentencode.models")

import sentencode as se
from sentencode import errors, progress
from sentencode.models.fit_report import FitReport
from sentencode.models.held_out import held_out
from sentencode.training import Callback, Examples
from sentencode.training.advice import raised_loss, recent_gain
from sentencode.training.history import History, Step

WORDS = ["the", "a", "cat", "dog", "sat", "ran", "good", "bad", "fine", "poor"]
VECTORS = se.WordVectors.from_array(WORDS, np.random.default_rng(0).normal(size=(10, 8)).astype(np.float32))
# 240 sentences whose class is one of their words.
SENTENCES = [
    f"{article} {animal} {verb} {mood}"
    for article, animal, verb, mood in itertools.product(
        ["the", "a"], ["cat", "dog", "cat dog", "dog cat", "cat cat"], ["sat", "ran", "sat ran", "ran sat",
        "sat sat", "ran ran"], ["good", "fine", "bad", "poor"]
    )
]  # fmt: skip
LABELS = ["yes" if text.split()[-1] in ("good", "fine") else "no" for text in SENTENCES]
NETWORK = {"hidden": 6, "layers": 1, "pooling": "max", "characters": False, "dropout": 0.0, "device": "cpu"}
TRAINING = {
    "preset": "paper",
    "max_epochs": 8,
    "batch_size": 16,
    "learning_rate": 0.02,
    "decay": 1.0,
    "least_rate": None,
}


def unfitted(**change):
    return se.GeneralizedPooling(
        VECTORS, **{"head": se.Classifier(hidden=8, dropout=0.5), **NETWORK, **TRAINING, **change}
    )


def fitted(*examples, fit=(), **change):
    return unfitted(**change).fit(*(examples or (SENTENCES, LABELS)), **dict(fit))


class Slow(Callback):
    """Makes each step last."""

    def __init__(self, seconds):
        self.seconds = seconds

    def on_step(self, trainer, step):
        time.sleep(self.seconds)


# --- Time ---------------------------------------------------------------------------------------------------


def test_a_time_limit_ends_the_training_with_a_validation_and_a_checkpoint(tmp_path):
    options = {"max_minutes": 1 / 60, "max_epochs": None, "schedule": "linear"}
    fit = {"valid": 0.2, "checkpoints": tmp_path, "callbacks": [Slow(0.1)]}
    history = fitted(fit=fit, **options).history_
    steps, rates = len(history.steps), [step.learning_rate for step in history.steps]
    assert 1 <= steps <= 11
    assert rates == sorted(rates, reverse=True)
    assert steps == 1 or 0 < rates[-1] < rates[0]
    assert history.validations[-1].step == steps
    assert (tmp_path / f"step-{steps:09}.safetensors").exists()
    again = fitted(fit=fit, **options)  # the time is over
    assert not again.history_.steps
    with pytest.raises(KeyboardInterrupt):  # more time, and more steps
        fitted(fit={**fit, "callbacks": [Stop(steps + 1)]}, **{**options, "max_minutes": 9})
    with pytest.raises(ValueError, match="max_minutes must be more than 0, got 0"):
        fitted(max_minutes=0)


def test_warmup_may_be_a_fraction_of_the_training():
    assert [f"{step.learning_rate:.4f}" for step in fitted(warmup=0.1, max_steps=20).history_.steps[:3]] == [
        "0.0100", "0.0200", "0.0200"
    ]  # fmt: skip


@pytest.mark.parametrize("epochs", [None, 10**6])
def test_warmup_ends_with_its_fraction_of_the_time(epochs):
    options = {"max_minutes": 1 / 60, "max_epochs": epochs, "schedule": "linear", "warmup": 0.1}
    rates = [step.learning_rate for step in fitted(**options).history_.steps]
    peak = max(rates)  # of 0.02 at most, if no pause skips it; by steps it would stay below 1e-4
    assert rates[0] < 0.001 < peak <= 0.02
    assert rates[-1] < peak


def test_a_training_with_more_time_continues(tmp_path):
    options = {"max_epochs": None, "schedule": "linear", "warmup": 0.1}
    fit = {"checkpoints": tmp_path}
    steps = len(fitted(fit=fit, **options, max_minutes=1 / 120).history_.steps)
    with pytest.raises(KeyboardInterrupt):
        fitted(fit={**fit, "callbacks": [Stop(steps + 1)]}, **options, max_minutes=9)
    with pytest.raises(ValueError, match=r"warmup was 0.1 and is 0.2"):
        fitted(fit=fit, **{**options, "warmup": 0.2}, max_minutes=9)


# --- Held-out examples --------------------------------------------------------------------------------------


def examples_of(count, labels, folder):
    vocabulary = se.Vocabulary(dict.fromkeys("0123456789", 1))
    rows = [(" ".join(str(i)), label) for i, label in zip(range(count), labels, strict=True)]
    return Examples.build(rows, vocabulary, path=folder / "file", fields=("tokens",), labels="int64")


def test_each_class_gets_its_share(tmp_path):
    labels = [0] * 900 + [1] * 90 + [2] * 9 + [3]
    examples = examples_of(1000, labels, tmp_path)
    train, valid = held_out(examples, 0.1, seed=0, stratify=True)
    assert np.bincount(valid.labels).tolist() == [90, 9, 1]
    assert np.bincount(train.labels).tolist() == [810, 81, 8, 1]
    assert sorted([*train.numbers, *valid.numbers]) == list(range(1000))
    again = held_out(examples, 0.1, seed=0, stratify=True)[1]
    other = held_out(examples, 0.1, seed=1, stratify=True)[1]
    assert again.numbers.tolist() == valid.numbers.tolist() != other.numbers.tolist()
    assert valid[3]["tokens"].tolist() == [int(digit) for digit in str(valid.numbers[3])]
    assert valid[3]["label"] == valid.labels[3]


@pytest.mark.parametrize(
    ("count", "expected"), [(5, 0), (9, 0), (10, 2), (60, 12), (250, 50), (2000, 200)], ids=str
)
def test_small_sets_hold_out_a_larger_share(count, expected, tmp_path):
    parts = held_out(examples_of(count, [0, 1] * (count // 2) + [0] * (count % 2), tmp_path), 0.1, seed=0)
    assert (0 if parts is None else len(parts[1])) == expected


def test_equal_examples_are_held_out_together(tmp_path):
    rows = [(" ".join(str(i % 40)), i % 40 % 2) for i in range(400)]
    options = {"fields": ("tokens",), "labels": "int64", "path": tmp_path / "file"}
    examples = Examples.build(rows, se.Vocabulary(dict.fromkeys("0123456789", 1)), **options)
    train, valid = held_out(examples, 0.1, seed=0, stratify=True)
    assert len(valid) == 80  # a fifth of 40 different ones, ten of each
    assert not {i % 40 for i in train.numbers} & {i % 40 for i in valid.numbers}
    (tmp_path / "few").mkdir()
    assert held_out(examples_of(12, range(12), tmp_path / "few"), 0.1, seed=0, stratify=True) is None


def test_consecutive_sentences_are_held_out_together(tmp_path):
    _, valid = held_out(examples_of(5000, [0] * 5000, tmp_path), 0.1, seed=0, blocks=True)
    assert len(valid) == 500
    assert np.count_nonzero(np.diff(valid.numbers.astype(int)) > 1) < 20
    _, valid = held_out(examples_of(5000, [0] * 5000, tmp_path), 0.5, seed=0, blocks=True)
    assert len(valid) == 2000  # a validation takes seconds on any corpus


def test_fit_stops_early_by_held_out_examples(tmp_path):
    options = {"validation_fraction": 0.2, "stop_after": 2, "max_epochs": 200, "learning_rate": 0.05}
    encoder = fitted(**options)
    history = encoder.history_
    assert sum(step.examples for step in history.steps[:12]) == 192  # an epoch
    best = [validation for validation in history.validations if validation.best][-1]
    assert history.validations[-1].step == best.step + 2 * 12
    assert best.accuracy == 1
    # The same with an interruption, and not with another share.
    fit = {"checkpoints": tmp_path}
    with pytest.raises(KeyboardInterrupt):
        fitted(fit={**fit, "callbacks": [Stop(30)]}, **options)
    again = fitted(fit=fit, **options)
    np.testing.assert_array_equal(again.encode(SENTENCES), encoder.encode(SENTENCES))
    with pytest.raises(ValueError, match=r"batches.numbers was \S+ and is \S+"):
        fitted(fit={**fit, "valid": 0.3}, **options)


@pytest.mark.parametrize(
    ("change", "least", "most", "steps"),
    [
        ({}, 1, 500, [11, 22, 33]),  # epochs of 11 batches
        ({}, 1, 10, [10, 20, 30, 33]),
        ({}, 20, 500, [20, 33]),
        ({"accumulate": 2}, 1, 500, [5, 10, 15, 17]),
        ({"validate_every": None}, 20, 500, [11, 22, 33]),
        ({"validate_every": 15}, 1, 500, [15, 30, 33]),
    ],
)
def test_encoders_of_text_validate_about_once_in_an_epoch(monkeypatch, change, least, most, steps):
    monkeypatch.setattr("sentencode.models.neural_training._INTERVALS", (least, most))
    options = {"hidden": 4, "heads": 1, "min_length": 1, "batch_size": 18, "max_epochs": 3, "device": "cpu"}
    encoder = se.MeanMaxAAE(VECTORS, **options, **change).fit(SENTENCES)
    assert [one.step for one in encoder.history_.validations] == steps


def test_the_interval_of_validations_is_checked_before_the_text_is_read():
    def text():
        raise AssertionError
        yield ""

    with pytest.raises(ValueError, match="validate_every must be a number of steps, None or 'auto', got 'of"):
        se.MeanMaxAAE(VECTORS, validate_every="often").fit(text())


class Stop(Callback):
    """Presses Ctrl-C after a step."""

    def __init__(self, step):
        self.step = step

    def on_step(self, trainer, step):
        if step.step == self.step:
            raise KeyboardInterrupt


@pytest.mark.parametrize("nothing", [None, 0, 0.0])
def test_validation_can_be_turned_off(nothing):
    assert not fitted(fit={"valid": nothing}, validation_fraction=0.2).history_.validations
    assert fitted(fit={"valid": 0.2}).history_.validations
    with pytest.raises(ValueError, match="stop_after=2 needs validations"):
        fitted(fit={"valid": nothing}, validation_fraction=0.2, stop_after=2)


@pytest.mark.parametrize(("share", "name"), [(0.7, "valid"), (-0.1, "valid"), (0.6, "validation_fraction")])
def test_wrong_shares(share, name):
    fit, change = ({"valid": share}, {}) if name == "valid" else ({}, {name: share})
    with pytest.raises(ValueError, match=f"^{name} must be .*{share}"):
        fitted(fit=fit, **change)


def test_few_examples_are_all_trained_on():
    few = fitted(SENTENCES[:8], LABELS[:8], validation_fraction=0.1, max_steps=2)
    assert not few.history_.validations


@pytest.mark.parametrize(
    ("change", "fit", "head", "validates"),
    [
        ({}, {}, None, False),
        ({}, {"valid": 0.2}, None, True),
        ({"validation_fraction": 0.2}, {}, None, True),
        ({"stop_after": 3}, {}, None, True),
        ({"metric": "accuracy"}, {}, None, True),
        ({"validate_every": 5}, {}, None, False),
        ({}, {}, "RowRegression", True),
    ],
)
def test_classifiers_of_few_examples_learn_from_all(change, fit, head, validates):
    encoder = se.GeneralizedPooling(VECTORS, head=head, **NETWORK, max_steps=10, **change)
    targets = (
        LABELS if head is None else np.eye(2, dtype=np.float32)[[int(label == "yes") for label in LABELS]]
    )
    assert bool(encoder.fit(SENTENCES, targets, **fit).history_.validations) == validates


def test_classifiers_of_2000_examples_hold_a_tenth_out():
    for count, validates in ((1_999, False), (2_000, True)):
        texts, labels = (9 * SENTENCES)[:count], (9 * LABELS)[:count]
        encoder = se.GeneralizedPooling(VECTORS, **NETWORK, max_steps=2).fit(texts, labels)
        assert bool(encoder.history_.validations) == validates


@pytest.mark.parametrize("kind", [se.MeanMaxAAE, se.RNNCNN, se.SkipThoughts, se.FastSent, se.CompositeCNN])
def test_text_is_held_out_too(kind):
    small = {se.MeanMaxAAE: {"hidden": 6, "heads": 2}, se.FastSent: {}}.get(kind, {"hidden": 6})
    options = {"max_steps": 4, "validate_every": 2, "batch_size": 8, "device": "cpu", "min_length": 1}
    encoder = kind(VECTORS, **small, **options, validation_fraction=0.1).fit(SENTENCES)
    assert [validation.step for validation in encoder.history_.validations] == [2, 4]
    translation = se.CompoundNMT(
        features=6, hidden=4, decoder_hidden=6, heads=2, attention=4, **options, validation_fraction=0.1
    )
    assert translation.fit(SENTENCES, SENTENCES[::-1]).history_.validations


# --- Messages -----------------------------------------------------------------------------------------------


def test_fit_says_what_it_does_and_how_good_it_is(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("sentencode.models.fit_report.DELAY", 0.1)
    fit = {"show_progress_bar": True, "valid": 0.2, "callbacks": [Slow(0.04)]}
    fitted(fit={**fit, "checkpoints": tmp_path}, max_epochs=2)
    shown = capsys.readouterr().err
    assert "GeneralizedPooling: 192 examples, 48 for validation; up to 24 steps, about " in shown
    assert f"; checkpoints in {tmp_path}: the same call continues a stopped run\n" in shown
    assert "GeneralizedPooling: validation accuracy " in shown
    assert " (majority class 0.5), the best of 2 validations; 24 steps, " in shown
    fitted(fit={**fit, "valid": None}, max_epochs=1)
    shown = capsys.readouterr().err
    assert "240 examples; up to 15 steps, about" in shown
    assert "no checkpoints: checkpoints=FOLDER makes a stopped run continue\n" in shown
    assert "GeneralizedPooling: training accuracy 0." in shown
    assert " (majority class 0.5), not validated; 15 steps" in shown
    autoencoder = se.MeanMaxAAE(VECTORS, preset="paper", hidden=6, heads=2, max_steps=3, device="cpu")
    autoencoder.fit(SENTENCES, valid=0.1, show_progress_bar=True)
    assert " (untrained " in capsys.readouterr().err


@pytest.mark.parametrize("interactive", [True, False])
def test_who_sees_messages(interactive, capsys, monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 0.05)
    monkeypatch.setattr(progress, "is_interactive", lambda: interactive)
    fit = {"callbacks": [Slow(0.02)]}
    fitted(fit=fit, max_epochs=1)
    shown = capsys.readouterr().err
    assert ("GeneralizedPooling: training accuracy" in shown) == interactive
    assert ("train:" in shown) == interactive
    fitted(fit={**fit, "show_progress_bar": False}, max_epochs=1)
    monkeypatch.setattr(progress, "DELAY", 60)
    fitted(max_steps=1)  # it is fast
    assert not capsys.readouterr().err


def test_the_logger_gets_messages(caplog):
    with caplog.at_level(logging.INFO, "sentencode"):
        fitted(max_epochs=1)
    assert "GeneralizedPooling: training accuracy" in caplog.text


def test_terminals_and_notebooks_are_interactive(monkeypatch, capsys):
    class Terminal:
        def isatty(self):
            return True

    assert not progress.is_interactive()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", Terminal())
        assert progress.is_interactive()
    shell = type("Shell", (), {"kernel": object()})()
    monkeypatch.setitem(sys.modules, "IPython", type("IPython", (), {"get_ipython": lambda: shell}))
    assert progress.is_interactive()
    progress.bar(total=2, desc="train").close()
    progress.say(True, "loss 0.5")
    shown = capsys.readouterr()
    assert not shown.err  # red in notebooks
    assert "train:" in shown.out
    assert "loss 0.5" in shown.out


# --- Ctrl-C -------------------------------------------------------------------------------------------------

CHILD = """
import sys
import numpy as np
sys.path.insert(0, {tests!r})
from models.test_fitting import LABELS, SENTENCES, Slow, unfitted
class Report(Slow):
    def on_step(self, trainer, step):
        super().on_step(trainer, step)
        if step.step == 40:
            print("ready", flush=True)
unfitted(max_epochs=1000).fit(SENTENCES, LABELS, valid=0.2, callbacks=[Report(0.01)], {arguments})
"""


def interrupted(folder):
    """The standard error of a process that fits and gets Ctrl-C."""
    arguments = "" if folder is None else f"checkpoints={os.fspath(folder)!r}"
    tests = os.path.dirname(os.path.dirname(__file__))
    code = CHILD.format(tests=tests, arguments=arguments)
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n", process.stderr.read()
            process.send_signal(signal.SIGINT)
            _, shown = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode != 0
    return shown


def test_ctrl_c_says_how_to_continue_and_stop_now_makes_the_encoder(tmp_path):
    shown = interrupted(tmp_path / "run").splitlines()[-1]
    assert shown.startswith("KeyboardInterrupt: GeneralizedPooling: stopped after step ")
    assert f'which is saved in {tmp_path / "run"}. The same call continues there; with stop="now" it' in shown
    fit = {"valid": 0.2, "checkpoints": tmp_path / "run"}
    encoder = fitted(fit={**fit, "stop": "now"}, max_epochs=1000)
    assert encoder.history_.steps == []
    assert encoder.score(SENTENCES, LABELS) > 0.9
    assert encoder.predict(["the cat sat good"]).tolist() == ["yes"]
    # The same weights as those of a run that ends there.
    data = (tmp_path / "run" / "best.safetensors").read_bytes()
    step = int(json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]["step"])
    straight = fitted(fit={"valid": 0.2}, max_epochs=None, max_steps=step, validate_every=step)
    np.testing.assert_allclose(encoder.encode(SENTENCES), straight.encode(SENTENCES), atol=1e-6)
    assert 'fit(..., stop="now") makes the encoder of the weights so far; with checkp' in interrupted(None)


@pytest.mark.parametrize("valid", [0.2, None])
def test_stop_now_after_ctrl_c_without_checkpoints(valid):
    encoder = unfitted(max_epochs=None, max_steps=100, validate_every=4)
    before = vars(encoder).copy()
    with pytest.raises(KeyboardInterrupt, match=r"stopped after step 10\. In this process"):
        encoder.fit(SENTENCES, LABELS, valid=valid, callbacks=[Stop(10)])
    assert {**vars(encoder), "_stopped": None} == {**before, "_stopped": None}
    restored = pickle.loads(pickle.dumps(encoder))
    encoder.set_params(hidden=7, head=None)
    with pytest.raises(ValueError, match="stop='now': hidden changed after Ctrl-C: restore the old values"):
        encoder.fit(SENTENCES, LABELS, stop="now")
    encoder.set_params(hidden=6, head=before["head"])
    encoder.fit(SENTENCES, LABELS, stop="now")
    assert [step.step for step in encoder.history_.steps] == list(range(1, 11))
    options = {"max_epochs": None, "max_steps": 10, "validate_every": 4}
    straight = fitted(fit={"valid": valid}, **options)
    assert encoder.history_.validations == straight.history_.validations[: 2 if valid else 0]
    if valid is None:
        np.testing.assert_array_equal(encoder.encode(SENTENCES), straight.encode(SENTENCES))
    assert encoder.predict(SENTENCES[:3]).shape == (3,)
    for other in (encoder, restored):  # neither has a stopped training now
        with pytest.raises(ValueError, match="stop='now': Ctrl-C has stopped no fit of this Generalized"):
            other.fit(SENTENCES, LABELS, stop="now")


def test_ctrl_c_before_the_first_step():
    def sentences():
        yield from SENTENCES[:3]
        signal.raise_signal(signal.SIGINT)

    encoder = unfitted()
    with pytest.raises(KeyboardInterrupt, match="GeneralizedPooling: stopped before the first step"):
        encoder.fit(sentences(), LABELS)


@pytest.mark.parametrize(
    ("stop", "folder", "message"),
    [
        ("now", None, "stop='now': Ctrl-C has stopped no fit .* of checkpoints, give checkpoints=FOLDER"),
        ("now", "empty", "stop='now': .*empty holds no checkpoint of a step yet"),
        ("later", "empty", "stop must be None or 'now', got 'later'"),
    ],
)
def test_stop_now_needs_checkpoints(stop, folder, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        fitted(fit={"stop": stop, "checkpoints": folder and tmp_path / folder})


# --- Warnings -----------------------------------------------------------------------------------------------


def kinds(*examples, fit=(), **change):
    """The classes of the warnings of a training."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted(*examples, fit=fit, **change)
    assert all(warning.filename == __file__ for warning in caught)
    return {warning.category for warning in caught}


def test_training_accuracies_count_examples_and_only_those_of_classifiers():
    report = FitReport("", {}, False, 0, None, 20, 0, classifies=True)
    parts = [(0.5, 30), (1.0, 10), (0.0, 10)]
    history = History([Step(i + 1, 0, 1.0, a, 1e-3, 1.0, n, n, 0.1) for i, (a, n) in enumerate(parts)])
    assert report._training_accuracy(history) == (0.0, 10)
    assert report._training_accuracy(History(4 * history.steps)) == (0.5, 20)
    report.classifies = False
    assert np.isnan(report._training_accuracy(history)[0])


def test_no_better_than_the_majority_class():
    skewed = ["yes" if i % 4 else "no" for i in range(len(SENTENCES))]
    options = {"fit": {"valid": (SENTENCES[::5], skewed[::5])}, "max_epochs": 1, "learning_rate": 1e-5}
    assert kinds(SENTENCES, skewed, **options, seed=1) == {errors.MajorityWarning}
    assert kinds(fit={"valid": 0.2}) == set()
    assert kinds(SENTENCES, skewed, max_epochs=4, learning_rate=1e-5, seed=1) == {errors.MajorityWarning}


def test_the_majority_class_and_a_validated_loss():
    skewed = ["yes" if i % 4 else "no" for i in range(len(SENTENCES))]
    options = {"fit": {"valid": (SENTENCES[::5], skewed[::5])}, "max_epochs": 1, "learning_rate": 1e-5}
    options |= {"seed": 1, "metric": "loss"}
    assert kinds(SENTENCES, skewed, **options) == {errors.MajorityWarning}
    weighted = se.Classifier(class_weight="balanced")
    assert errors.MajorityWarning not in kinds(SENTENCES, skewed, head=weighted, **options)


def test_weighted_classes_are_validated_by_the_weighted_loss():
    weighted = se.GeneralizedPooling(VECTORS, head=se.Classifier(class_weight="balanced"))
    assert weighted.settings()["metric"] == "loss"
    assert se.GeneralizedPooling(VECTORS).settings()["metric"] == "accuracy"


def test_a_rate_that_is_too_high():
    for rate in (1.0, 30.0):
        seen = kinds(learning_rate=rate, clip_norm=None)
        assert seen - {errors.MajorityWarning} == {errors.LearningRateWarning}
    with pytest.warns(
        errors.LearningRateWarning, match=r"was 0.7\d* at the start, then up to 1\.\d*, and is 0"
    ):
        fitted(optimizer="sgd", learning_rate=3.0, clip_norm=None)
    assert kinds() == set()


def test_stopped_while_still_improving_after_one_epoch():
    options = {"max_epochs": None, "batch_size": 4, "learning_rate": 2e-3}  # no limit: one epoch
    with pytest.warns(errors.StillImprovingWarning, match="give max_epochs=2"):
        fitted(**options)


def test_fit_ignores_no_grad():
    with torch.no_grad():
        encoder = fitted(max_epochs=1)
    np.testing.assert_array_equal(encoder.encode(SENTENCES), fitted(max_epochs=1).encode(SENTENCES))


def test_stopped_while_still_improving(monkeypatch):
    with pytest.warns(errors.StillImprovingWarning, match=r"training loss .*: give max_epochs=16"):
        fitted(learning_rate=3e-3)
    with pytest.warns(errors.StillImprovingWarning, match=r"validation loss .*: give max_steps=120"):
        fitted(fit={"valid": 0.2}, learning_rate=1e-3, max_steps=60, validate_every=10, metric="loss")
    assert kinds(fit={"valid": 0.2}, metric="loss", max_epochs=40, learning_rate=0.05) == set()
    learnt = {"learning_rate": 3e-3, "max_epochs": 12}  # nearly all of the training examples
    assert kinds(**learnt) == set()
    monkeypatch.setattr("sentencode.models.fit_report._LEARNT", 2.0)
    assert kinds(**learnt) == {errors.StillImprovingWarning}


def steps(losses):
    return History([Step(i + 1, 0, loss, 0.5, 1e-3, 1.0, 8, 8, 0.1) for i, loss in enumerate(losses)])


def test_signs_in_a_history():
    random = np.random.default_rng(0)
    falling = 2 - np.arange(200) / 200 + random.normal(0, 0.05, 200)
    flat = 1 + 1.5 * np.exp(-np.arange(200) / 20) + random.normal(0, 0.05, 200)
    rising = 0.7 + np.arange(200) / 200 + random.normal(0, 0.05, 200)
    chance = 0.69 + random.normal(0, 0.05, 200)
    assert recent_gain(steps(falling), [], np.nan) is not None
    for losses in (flat, chance, falling[:40]):
        assert recent_gain(steps(losses), [], np.nan) is None
    assert recent_gain(steps(falling), [3.0, 2.0, 1.0], 4.0) == (2.0, 1.0)
    assert recent_gain(steps(falling), [0.5, 0.6, 0.7], 0.4, True) == (0.6, 0.7)
    for scores in ([3.0, 1.0, 2.0], [2.0, 1.0, 0.99], [3.0, 2.0], [3.0, 1.0, np.nan], [5.0, 6.0, 7.0]):
        assert recent_gain(steps(falling), scores, 4.0) is None
    assert recent_gain(steps(falling), [0.7, 0.8, 0.9], np.nan) is None  # overfitting
    assert raised_loss(steps(rising), np.nan) is not None
    for losses in (falling, flat, chance, rising[:40]):
        assert raised_loss(steps(losses), np.nan) is None
    weighted = np.concatenate([[0.37], chance])  # without an example of the rare class in the first batch
    assert raised_loss(steps(weighted), np.nan) is not None
    assert raised_loss(steps(weighted), 0.69) is None
    resumed = steps(rising)
    resumed.steps = resumed.steps[1:]
    assert raised_loss(resumed, np.nan) is None
    satisfied = np.concatenate([[0.0], rising])  # triplets of the first batch
    assert raised_loss(steps(satisfied), np.nan) is None


# --- Checkpoints --------------------------------------------------------------------------------------------


def test_checkpoints_are_few_and_small(tmp_path):
    many = [f"w{i}" for i in range(3000)]
    vectors = se.WordVectors.from_array(
        [*WORDS, *many], np.random.default_rng(0).normal(size=(3010, 20)).astype(np.float32)
    )
    encoder = se.MeanMaxAAE(
        vectors, hidden=6, heads=2, max_steps=12, validate_every=3, max_epochs=None, device="cpu"
    )
    texts = [" ".join(many[i : i + 5]) for i in range(0, 3000, 5)]
    encoder.fit([*SENTENCES, *texts], valid=0.1, checkpoints=tmp_path)
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir() if path.suffix == ".safetensors"}
    last, best = sizes.pop("step-000000012.safetensors"), sizes.pop("best.safetensors")
    assert not sizes
    trained = 4 * encoder.network_parameters()
    assert best < trained + 10_000 < 120_000
    assert last < 3 * trained + 30_000  # and the moments of Adam


@pytest.mark.parametrize(("count", "size"), [(40, 16), (4000, 64), (100_000, 128)])
def test_batches_grow_with_the_examples(count, size):
    texts, labels = list(itertools.islice(itertools.cycle(SENTENCES), count)), ["yes", "no"] * (count // 2)
    encoder = fitted(texts, labels, batch_size="auto", batching="plain", max_steps=1)
    assert encoder.history_.steps[0].examples == size


def test_trained_word_vectors_stay_near_their_initial_values():
    def distance(anchor):
        encoder = fitted(trainable_words=True, anchor=anchor)
        rows = encoder.network.table.weight.detach()[:-1].numpy()
        return np.linalg.norm(rows - VECTORS.matrix(encoder.vocabulary_.words))

    assert distance(5.0) < 0.5 * distance(0.0)
    with pytest.raises(ValueError, match="anchor=1: no word table is trained"):
        fitted(anchor=1.0)


class Published(se.GeneralizedPooling):
    """An encoder with a preset that does not say when to stop."""

    _presets = {**se.GeneralizedPooling._presets, "mine": {"head": se.Classifier(hidden=8)}}  # noqa: RUF012


def test_presets_stop_early_unless_they_are_those_of_papers():
    assert Published(VECTORS, preset="mine").settings()["validation_fraction"] == 0.1
    assert Published(VECTORS, preset="mine").settings()["stop_after"] == 5
    for kind in (
        se.GeneralizedPooling,
        se.MeanMaxAAE,
        se.RNNCNN,
        se.SkipThoughts,
        se.FastSent,
        se.CompositeCNN,
        se.HierarchicalCNN,
        se.CompoundNMT,
    ):
        for preset in kind._presets:
            settings = kind(VECTORS, preset=preset).settings()
            expected = (0.1, 5) if preset == "small" else (None, None)
            assert (settings["validation_fraction"], settings["stop_after"]) == expected
